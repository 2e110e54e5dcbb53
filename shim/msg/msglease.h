// SPDX-License-Identifier: MIT
/*
 * Leases (object/lease.h), for the files of the message module. The queue's
 * lock is held unless stated otherwise.
 */
#ifndef IPCLIFT_MSG_MSGLEASE_H
#define IPCLIFT_MSG_MSGLEASE_H

#include "msg/msgqueue.h"
#include "object/lease.h"
#include "object/perm.h"
#include "registry/journal/reserve.h"

/* Does this call lease what it receives? */
static inline int msglease_wanted(
	const struct caller *c, const struct msgqueue *q)
{
	return lease_wanted(c, q->leasing, FAC_MSG);
}
/* May there be leases, so that records of other threads must be checked? */
static inline int msglease_concerns(
	const struct caller *c, const struct msgqueue *q)
{
	return unlikely(q->leasing | (c->leasing >> FAC_MSG & 1));
}

/* This thread receives again: its leases are acknowledged, and those of exited
 * threads of this process go back to the queue. 1 as msglease_reclaim.
 * Operations of their own; msglease_trim follows. */
int msglease_acknowledge(struct caller *c, struct slot *s, struct msgqueue *q);

/* What exited processes had on lease goes back into the queue; look: how
 * thoroughly to check for them. 1 if there was any: the caller begins again,
 * for the queue may be gone (msgqueue_wake). Operations of their own. */
int msglease_reclaim(struct caller *c, struct slot *s, struct msgqueue *q,
	enum task_look look);

/* This thread's record for its next lease, or NULL: no memory. */
struct lease *msglease_ready(struct caller *c, struct msgqueue *q);

/* Copy the text of a large message on lease to this thread into its own block,
 * which exists; no lock is held. 0, -EIDRM, -EIO. */
int msglease_fetch(
	struct caller *c, struct slot *s, u64 ident, const struct parcel *p);

/* The message with this stamp, on lease to this thread, goes back into the
 * queue, and its receivers are woken; no lock is held. */
void msglease_give_back(struct caller *c, struct slot *s, u64 ident, u64 stamp);

/* Of a removed queue: free a record and its message. 0 if there was none. */
int msglease_dispose(struct caller *c, struct msgqueue *q);

/* msgrecv.c: do what msgmem_trim has left to do; no lock is held. */
void msglease_trim(struct caller *c, struct slot *s, u64 ident);

/* ---- for other layers; no lock may be held ---- */

/* Switch them on or off for a queue, as its owner or root: 0, -EINVAL,
 * -EPERM. */
int msg_set_leasing(struct caller *c, s32 id, int on);
/* What this thread has received from the queue is acknowledged, or goes back to
 * it: 0, -EINVAL, -EIDRM. */
int msg_acknowledge(struct caller *c, s32 id);
int msg_give_back(struct caller *c, s32 id);
/* This process ends in order: all its leases are acknowledged. */
void msg_acknowledge_all(struct caller *c);
/* What exited processes had on lease goes back to its queues. */
void msg_leases_reclaim(struct caller *c);

#endif
