// SPDX-License-Identifier: MIT
/*
 * Leases of POSIX queues (object/lease.h): the record keeps a copy of the
 * message, or its block, so its place in the queue is free for others.
 */
#ifndef IPCLIFT_MQ_MQLEASE_H
#define IPCLIFT_MQ_MQLEASE_H

#include "mq/mqueue.h"
#include "object/lease.h"

/* Does this call lease what it gets? And has it to look at the leases of
 * others, or of its own? */
static inline int mqlease_wanted(const struct caller *c, const struct mqueue *q)
{
	return lease_wanted(c, q->leasing, FAC_MQ);
}
static inline int mqlease_concerns(
	const struct caller *c, const struct mqueue *q)
{
	return unlikely(q->leasing | (c->leasing >> FAC_MQ & 1));
}

/*
 * With the queue's lock, nothing journaled; operations of their own. Begin: this
 * thread receives again, so acknowledge what it has, and put back what exited
 * processes had. Look: only the latter, as thoroughly as `look` says; returns the
 * number of messages put back. mqlease_settle follows when the lock is released.
 */
void mqlease_begin(struct caller *c, const struct mq_desc *d, struct mqueue *q);
u32 mqlease_reclaim(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	enum task_look look);
static inline void mqlease_settle(struct caller *c)
{
	mq_notify_end(c);
	heap_settle(c);
}
/* This thread's record for the next message, with space for a small one; NULL: no
 * memory. */
struct lease *mqlease_ready(struct caller *c, struct mqueue *q);

/* mq_next_waiter of the receivers; one that leases what it gets, but has no usable
 * record, restarts its call. */
struct waiter *mqlease_next_waiter(struct caller *c, struct mqueue *q);

/* Parts of an operation. Taken: the item leaves the queue; if l is not NULL it is
 * the item's lease now, and keeps its place in the order. Hold: l is now the lease
 * of m, whose bytes are at m->small, or whose block l has already. */
void mqlease_taken(
	struct caller *c, struct mqueue *q, u32 idx, struct lease *l);
void mqlease_hold(struct caller *c, struct mqueue *q, struct lease *l,
	const struct mq_msg *m);

/* Copy a large message that this thread has on lease by that record (its offset)
 * into the thread's own block: 0; -ENOMEM, and it is in the queue again; -EBADF,
 * -EIO. No lock is held. */
int mqlease_fetch(
	struct caller *c, const struct mq_desc *d, u64 record, u32 len);
/* A sleeper was handed a message on lease by that record: fetch it if it is large,
 * as mqlease_fetch. */
static inline int mqlease_handed(
	struct caller *c, const struct mq_desc *d, struct ref record, u32 len)
{
	const struct lease *l = lease_at(c, record);

	c->lease_stamp = l ? l->stamp : 0;
	return len > MQ_COPY_MAX ? mqlease_fetch(c, d, record.off, len) : 0;
}
/* This thread is cancelled: put back what it has on lease by that record. No lock
 * is held. */
void mqlease_give_back(struct caller *c, const struct mq_desc *d, u64 record);

/* Before the caller polls the queue: mqlease_reclaim. No lock is held. */
void mqlease_polled(struct caller *c, const struct mq_desc *d);

/* As those of msg/msg.h. */
int mq_set_leasing(struct caller *c, const struct mq_desc *d, int on);
int mq_acknowledge(struct caller *c, const struct mq_desc *d);
int mq_give_back(struct caller *c, const struct mq_desc *d);
void mq_acknowledge_all(struct caller *c);
void mq_leases_reclaim(struct caller *c);

#endif
