// SPDX-License-Identifier: MIT
/*
 * A growing text: the content of a file of the mount, made at once and then
 * read in pieces, and what the command prints in the same words. Lack of memory
 * is reported once, at the end.
 */
#ifndef IPCLIFT_INSPECT_TEXT_H
#define IPCLIFT_INSPECT_TEXT_H

#include <stddef.h>

struct text {
	char *buf;
	size_t len, cap;
	int failed; /* out of memory: what follows is lost */
};

/* Space for n more bytes at buf + len, or NULL. Cost: amortised constant. */
char *text_reserve(struct text *t, size_t n);
void text_add(struct text *t, const char *s, size_t n);
__attribute__((format(printf, 2, 3))) void text_print(
	struct text *t, const char *fmt, ...);
/* Local time, "2026-11-21 20:47:15", or "-" for 0. */
void text_time(struct text *t, long long sec);
/* The name of a process, "?" if it has exited. */
#define PROCESS_NAME_CAP 32
void process_name_read(unsigned pid, char name[PROCESS_NAME_CAP]);
/* Its arguments with blanks between them, cut to cap; 0 if it has none. */
int process_arguments_read(unsigned pid, char *args, size_t cap);
/* Its name as one word: blanks in it become '_'. */
void text_process(struct text *t, unsigned pid);
/*
 * Copy `from` so that a terminal or a reader of UTF-8 gets characters only:
 * each byte of anything else, and of control characters, becomes \xHH. Names of
 * queues and processes may be any bytes. Cut to cap.
 */
void text_visible(const char *from, char *to, size_t cap);
/* The same for a format with an escape of its own for ASCII control characters,
 * which are copied unchanged. */
void text_characters(const char *from, char *to, size_t cap);
/* Free the memory; the text is then empty. */
void text_deinit(struct text *t);

#endif
