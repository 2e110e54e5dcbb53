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

/* Does this call lease what it gets? And has it to look at the leases of
 * others? */
static inline int msglease_wanted(
	const struct caller *c, const struct msgqueue *q)
{
	return lease_wanted(c, q->leasing, FAC_MSG);
}
static inline int msglease_concerns(
	const struct caller *c, const struct msgqueue *q)
{
	return unlikely(q->leasing | (c->leasing >> FAC_MSG & 1));
}

/* The thread receives again: what it has on lease is acknowledged. Operations
 * of their own. As msglease_look, for a thread of ours that is gone. Then
 * msglease_trim. */
int msglease_acknowledge(struct caller *c, struct slot *s, struct msgqueue *q);

/* What exited processes had on lease goes back into the queue, as far as `look`
 * goes. 1 if there was any: the caller begins again, for the queue may be gone
 * (msgqueue_wake). Operations of their own. */
int msglease_look(struct caller *c, struct slot *s, struct msgqueue *q,
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

/*
 * Leases (object/lease.h). Of one queue on or off: its owner, or root. 0,
 * -EINVAL, -EPERM. Acknowledge, or give back, what this thread has received from
 * it: 0, -EINVAL, -EIDRM. All: what this process has of any queue, at its end in
 * order. Look: give back what exited processes had, of any queue. No lock may be
 * held.
 */
int msg_set_leasing(struct caller *c, s32 id, int on);
int msg_acknowledge(struct caller *c, s32 id);
int msg_give_back(struct caller *c, s32 id);
void msg_acknowledge_all(struct caller *c);
void msg_leases_look(struct caller *c);

#endif
