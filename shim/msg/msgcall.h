// SPDX-License-Identifier: MIT
/*
 * What msgsnd and msgrcv have in common. In both the caller's memory is read
 * before and written after the queue's lock, never under it: small payloads go
 * through a buffer on the stack, large ones from and to a block that the thread
 * owns (msgmem.c).
 */
#ifndef IPCLIFT_MSG_MSGCALL_H
#define IPCLIFT_MSG_MSGCALL_H

#include "msg/msglease.h"
#include "object/sleep.h"

#define TYPE_SIZE 8u

/* mtype, wherever the caller's buffer begins. */
typedef s64 __attribute__((aligned(1), may_alias)) user_type;

/*
 * A sender and a receiver that use one queue without pause, each on its own
 * CPU, would take its cache lines from each other at every message. A sender
 * that streams (so many messages in a row, none received) and its receiver take
 * turns instead: the receiver waits while the queue fills, the sender while it
 * empties, and each then has the queue for some dozens of messages. The
 * arbitrary bounds of a turn are eighths of the queue; it also ends if the
 * queue does not change between two reads (sleep_batch).
 */
#define STREAM_FROM 8u

/* Result of a try by the bias: the queue is not biased to this thread, or the
 * operation needs the lock; nothing was done. Not the number of an error. */
#define NOT_BIASED 2

/* sleep_class.remove of both. */
static inline void msgcall_remove(
	struct caller *c, struct slot *s, struct waiter *w, s32 result)
{
	struct msgqueue *q = msg_body(c, s);

	if (q)
		msgqueue_dequeue(c, q, w, result);
}

/* Queue this thread's waiter and arm the sleep; the lock is held. */
static inline void msgcall_enqueue(struct caller *c, struct slot *s,
	struct msgqueue *q, u32 kind, const struct msg_wait *wait,
	struct sleeper *sl)
{
	u64 slice = sleep_slice(!q->receivers.head && !q->senders.head);

	if (unlikely(q->leasing) && kind == MSG_Q_RECEIVER)
		slice = LEASE_SLICE_NS;
	sleep_slice_set(c, sl, slice);
	msgqueue_enqueue(c, s, q, kind, wait);
	sleep_arm(c, sl);
}

/* q: NULL if it was removed in a wake pass. A queue with leases is never
 * biased. */
static inline void msgcall_release(
	struct caller *c, struct slot *s, struct msgqueue *q)
{
	if (likely(q && !q->receivers.head && !q->senders.head && !q->pending &&
		    !msglease_concerns(c, q)))
		users_bias_consider(c, s, &q->users);
	lock_release(c, &s->lock);
}

#endif
