// SPDX-License-Identifier: MIT
/*
 * Between the files of the message module: what is on lease (object/lease.h).
 * The queue's lock is held unless it says otherwise.
 */
#ifndef IPCLIFT_MSG_MSGLEASE_H
#define IPCLIFT_MSG_MSGLEASE_H

#include "msg/msgqueue.h"
#include "object/lease.h"
#include "object/perm.h"
#include "registry/journal/reserve.h"

/* Does this call lease what it gets? */
static inline int msglease_wanted(
	const struct caller *c, const struct msgqueue *q)
{
	return lease_wanted(c, q->leasing, FAC_MSG);
}
/* Must it look at the records of others, since there may be leases at all? */
static inline int msglease_concerns(
	const struct caller *c, const struct msgqueue *q)
{
	return unlikely(q->leasing | (c->leasing >> FAC_MSG & 1));
}

/* The thread receives again: what it has on lease is acknowledged, and what a
 * thread of this process that has ended had goes back. 1 as of msglease_reclaim.
 * Operations of their own; msglease_trim follows. */
int msglease_acknowledge(struct caller *c, struct slot *s, struct msgqueue *q);

/* What exited processes had on lease goes back into the queue, as far as `look`
 * goes. 1 if there was any: the caller begins again, for the queue may be gone
 * (msgqueue_wake). Operations of their own. */
int msglease_reclaim(struct caller *c, struct slot *s, struct msgqueue *q,
	enum task_look look);

/* The own record for what comes next, or NULL: no memory. */
struct lease *msglease_ready(struct caller *c, struct msgqueue *q);

/* The text of a large message that is on lease to this thread into its own
 * block, which is there; no lock is held. 0, -EIDRM, -EIO. */
int msglease_fetch(
	struct caller *c, struct slot *s, u64 ident, const struct parcel *p);

/* The message with this stamp that this thread has on lease goes back, and
 * others are woken; no lock is held. */
void msglease_give_back(struct caller *c, struct slot *s, u64 ident, u64 stamp);

/* Of a queue that nobody finds any more: free a record and what it has. 0 if
 * there was none. */
int msglease_dispose(struct caller *c, struct msgqueue *q);

/* msgrecv.c: what msgmem_trim has left to do, without the lock. */
void msglease_trim(struct caller *c, struct slot *s, u64 ident);

/* ---- for others ---- */

/* Leases (object/lease.h); no lock may be held. */
/* Switch them on or off for a queue, as its owner or root: 0, -EINVAL,
 * -EPERM. */
int msg_set_leasing(struct caller *c, s32 id, int on);
/* What this thread has received from the queue is acknowledged, or goes back to
 * it: 0, -EINVAL, -EIDRM. */
int msg_acknowledge(struct caller *c, s32 id);
int msg_give_back(struct caller *c, s32 id);
/* This process ends in order: what it has of any queue is acknowledged. */
void msg_acknowledge_all(struct caller *c);
/* What exited processes had of any queue goes back. */
void msg_leases_reclaim(struct caller *c);

#endif
