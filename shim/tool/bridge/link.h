// SPDX-License-Identifier: MIT
/*
 * ipclift bridge (doc/bridge.md): what the parts share.
 *
 * bridge.c    the command: its lines, a process for each, progress, metrics
 * out.c       queue to stream
 * in.c        stream to queue
 * queue.c     a queue of either kind, as both ends use it
 * redis.c     the connection: URL, errors, trying again
 * tls.c       TLS below it
 * idset.c     the last N ids
 */
#ifndef IPCLIFT_TOOL_BRIDGE_LINK_H
#define IPCLIFT_TOOL_BRIDGE_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "registry/caller.h"

/* What became of a step. */
enum outcome {
	DONE,
	AGAIN,	/* Redis had trouble: redis_ready, then once more */
	STOP,	/* a signal asked for the end */
	GONE,	/* the queue was removed; with --wait */
	FAILED, /* trying again mends nothing; a message was printed */
};

enum waits_for {
	WAITS_NOT,
	WAITS_MESSAGE,
	WAITS_REDIS,
	WAITS_SPACE, /* in a full queue */
	WAITS_QUEUE, /* that is not there */
};

/* Memory that the line's process writes and the command reads: plain counters,
 * one writer. They stay when the process is started again. */
struct counters {
	uint64_t messages, bytes, duplicates, rejected, claimed, reconnects;
	uint32_t connected, waits;
};

/* Where Redis is, and who we are there. */
struct redis_url {
	char *host, *path; /* path: a unix socket */
	int port;
	char *user, *password;
	int db, tls;
	char *cacert, *cert, *key; /* files; NULL: the system's, none */
};

/* A line: all strings are its own. */
struct link {
	int in; /* stream to queue */
	enum facility kind;
	char *queue, *stream;
	struct redis_url url;
	unsigned batch;
	uint64_t maxlen, count; /* 0: no end */
	int wait; /* for a queue that is not there, or not any more */
	/* of `in` */
	char *group, *consumer, *dedup_file, *dead_letter;
	int create;
	unsigned claim; /* seconds, 0: never */
	unsigned dedup; /* ids, 0: none */
	struct counters *counters;
	char name[400]; /* "out msg 5 jobs", for messages */
};

/* Carry until the end: an exit status, or EXIT_AGAIN to be started again. */
#define EXIT_AGAIN 3
int link_out(struct link *l, struct caller *c);
int link_in(struct link *l, struct caller *c);

/* Set by SIGINT, SIGTERM, SIGHUP. */
extern volatile int link_stops;
/* SIGALRM each so many ms from now on, 0 = none: it only ends calls that sleep.
 * Once the end is asked for it comes often, whatever is said here: a signal
 * does not end a call that is about to sleep, or awake between two slices of
 * its sleep. */
void link_ticks(unsigned ms);

/* "ipclift bridge: LINE: MESSAGE"; FAILED. */
__attribute__((format(printf, 2, 3))) enum outcome link_failed(
	const struct link *l, const char *fmt, ...);
/* The queue was removed: GONE or FAILED. */
enum outcome link_gone(const struct link *l);
static inline int link_status(enum outcome e)
{
	return e == FAILED ? 1 : e == GONE ? EXIT_AGAIN : 0;
}
/* The same, for what goes on. */
__attribute__((format(printf, 2, 3))) void link_says(
	const struct link *l, const char *fmt, ...);

static inline void link_waits(struct link *l, enum waits_for what)
{
	__atomic_store_n(&l->counters->waits, (uint32_t)what, __ATOMIC_RELAXED);
}
static inline void link_adds(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

#endif
