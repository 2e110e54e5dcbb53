// SPDX-License-Identifier: MIT
/*
 * A connection to Redis that comes back: libhiredis, and what its users do
 * themselves.
 */
#ifndef IPCLIFT_TOOL_BRIDGE_REDIS_H
#define IPCLIFT_TOOL_BRIDGE_REDIS_H

#include <hiredis/hiredis.h>

#include "tool/bridge/link.h"

/* A command that grows word by word; what it points to stays the caller's. */
struct redis_words {
	const char **word;
	size_t *len;
	int n, cap;
	int failed; /* out of memory */
};
void words_begin(struct redis_words *w);
void words_add(struct redis_words *w, const char *word, size_t len);
void words_say(struct redis_words *w, const char *word);

struct redis {
	struct link *link;
	redisContext *at; /* NULL: not connected */
	struct redis_words words;
	int n_sent;  /* commands whose answers are awaited */
	int before;  /* it was connected once */
	int trouble; /* said, and not over: redis_fine */
	unsigned pause_ms;
	/* Silence after which a connection is given up: see redis_fine. The
	 * longest one before an answer since then. 0: none yet. */
	unsigned patience_ms, longest_ms;
};

/* A URL into its parts: 0, or EXIT_USAGE after a message that does not repeat
 * it. From the command line no password may be in it. */
int redis_parse(const char *text, int on_command_line, struct redis_url *ret);

/* Connected, logged in. Waits as long as it takes. DONE, STOP, FAILED. */
enum outcome redis_ready(struct redis *r);

/* Send what `words` says; redis_answer has its answers in order. AGAIN: the
 * connection is lost, and with it all that was sent. */
enum outcome redis_send(struct redis *r);
/* The next answer as it is, an error too. DONE, AGAIN. */
enum outcome redis_reply(struct redis *r, void **ret);
/* The next answer, which freeReplyObject ends. An answer that is an error
 * becomes an outcome, and is NULL; so do errors in an EXEC. `what`: for the
 * message. */
enum outcome redis_answer(struct redis *r, const char *what, redisReply **ret);
/* One command and its answer. */
enum outcome redis_ask(struct redis *r, const char *what, redisReply **ret);
/* What an error answer means; its message is said. */
enum outcome redis_error(struct redis *r, const char *what, const char *error);
/* Drop the connection, with a message if it is the first trouble. */
enum outcome redis_lost(struct redis *r, const char *why);
void redis_close(struct redis *r);
/* What was to be done is done: if there was trouble it is over. Patience, which
 * grows each time that no answer comes, is what it was if none took long: a
 * Redis that is slow is not told the same again and again. */
void redis_fine(struct redis *r);

/* tls.c, in the module TLS_MODULE: take over a connected socket and give
 * another, whose bytes it encrypts by a thread of its own; -1 with why. */
#define TLS_MODULE "ipclift-tls.so"
int tls_over(int fd, const struct redis_url *url, char *why, size_t cap);

#endif
