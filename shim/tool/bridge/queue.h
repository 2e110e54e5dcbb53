// SPDX-License-Identifier: MIT
/*
 * A queue of either kind as a bridge uses it: received with leases that are
 * kept until they are acknowledged together (caller.lease_batch).
 */
#ifndef IPCLIFT_TOOL_BRIDGE_QUEUE_H
#define IPCLIFT_TOOL_BRIDGE_QUEUE_H

#include "mq/mqueue.h"
#include "tool/bridge/link.h"

struct carried {
	char *data; /* its own, of cap bytes: 8 for the queue, then the text */
	size_t cap;
	size_t len;
	int64_t type;	/* POSIX: the priority */
	uint64_t stamp; /* which message of its queue it is */
};

struct queue {
	struct link *link;
	struct caller *c;
	s32 id; /* System V */
	/* POSIX: two descriptions, of which `now` is O_NONBLOCK. */
	struct mq_desc wait, now;
	uint64_t ident; /* which queue of the registry it is, for ever */
	uint64_t registry;
	int short_of; /* memory: it was said */
};

/* DONE or FAILED. */
enum outcome queue_open(struct queue *q, struct link *l, struct caller *c);

/* The next message on lease. 0; -EAGAIN: there is none, wait or not (with wait
 * it was waited for about a second); -EIDRM: the queue is gone; or another
 * -errno. */
int queue_take(struct queue *q, struct carried *m, int wait);
/* Into the queue, as queue_take; -EAGAIN: it is full. -EMSGSIZE, -EINVAL: it
 * never takes this. -EIDRM of a POSIX queue: it may have it all the same. */
int queue_put(struct queue *q, struct carried *m, int wait);

/* What was taken: out of the queue for good, or back in it. 0 or -errno. */
int queue_acknowledge(struct queue *q);
void queue_give_back(struct queue *q);

/* Space for n bytes in m: its text, or NULL. */
char *carried_text(struct carried *m, size_t n);

#endif
