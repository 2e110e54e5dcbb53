// SPDX-License-Identifier: MIT
/*
 * A text that grows: what a file of the mount says, made in one go and then
 * read in pieces, and what the command prints in the same words. A text that
 * could not grow says so once, at the end.
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
/* The name of a process, "?" where it is gone. */
#define PROCESS_NAME_CAP 32
void process_name_read(unsigned pid, char name[PROCESS_NAME_CAP]);
/* Its arguments with blanks between them, cut to cap; 0 if it has none. */
int process_arguments_read(unsigned pid, char *args, size_t cap);
/* Its name as one word: blanks in it become '_'. */
void text_process(struct text *t, unsigned pid);
/*
 * from, so that neither a terminal nor a reader of UTF-8 meets anything else
 * than characters: of what is none, or a control, each byte as \xHH. Names of
 * queues and processes are any bytes that somebody chose. Cut to cap.
 */
void text_visible(const char *from, char *to, size_t cap);
/* The same for a reader who has an escape of his own for ASCII's controls: they
 * stay as they are. */
void text_characters(const char *from, char *to, size_t cap);
/* Empty, the memory given back. */
void text_deinit(struct text *t);

#endif
