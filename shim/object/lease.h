// SPDX-License-Identifier: MIT
/*
 * Leases: what somebody has received from a queue stays in the registry until
 * it is acknowledged. Opt-in, by queue (`ipclift set lease:KIND/NAME=on`) or by
 * receiver (IPCLIFT_LEASE); both kinds of queue have them, by these rules.
 *
 * A record (struct lease) is one message of one receiver, which is a thread:
 *
 *   from    to      who, in which operation
 *   FREE    READY   a receiver, before it takes or sleeps
 *   READY   HELD    the operation by which it gets the message: its own, or the
 *                   sender's that hands it over
 *   HELD    READY   acknowledged: it receives again (unless caller.lease_batch), or
 *                   ipclift_ack; not by a handler that interrupted the very call
 *                   which is about to return it
 *   HELD    DONE    the same, of a message with a large block; the block goes
 *   DONE    READY   next, as operations of their own
 *   any     FREE    the holder's process ended in order (HELD, DONE), or is gone
 *                   (READY, DONE), or the queue is removed
 *   HELD    FREE    the holder is gone: the message is in the queue again
 *   HELD    BACK    the same of POSIX queues, where the record tells later ones
 *                   the message's place in the order
 *   BACK    FREE    the message is received
 *
 * Each is a journaled operation under the queue's lock; whoever dies beside it
 * is rolled back or has done it. Only the holder's thread, its process once the
 * thread is gone, or the process's end in order acknowledges; anybody gives a
 * message back, once the holder's process is gone by task.h's rules. So no
 * store of the living is raced: the holder itself does nothing to its record
 * without the lock, and what it has received it reads under the lock, or has
 * copied.
 *
 * Who looks for exited holders: every call that receives from the queue, before
 * it takes a message; who sleeps there, each LEASE_SLICE_NS; poll and select,
 * before they sleep; `ipclift gc`. Who is asleep in them already, or in
 * epoll_wait, is told when somebody looks. Cost: one look at each record of the
 * queue in a call that receives.
 *
 * What is on lease counts neither as a message of the queue nor against its
 * size; one that comes back may go beyond the size.
 */
#ifndef IPCLIFT_OBJECT_LEASE_H
#define IPCLIFT_OBJECT_LEASE_H

#include "registry/damage.h"
#include "registry/task.h"

/* How long a message of a receiver that was killed may lie while all others
 * sleep. Arbitrary: a look is some microseconds. */
#define LEASE_SLICE_NS 100000000ULL

static inline struct lease *lease_at(const struct caller *c, struct ref ref)
{
	return ref_at(c, ref);
}

/* The process that has a record, or had: its pid, 0 = none. A fork child finds
 * its parent's. Of what was received before exec it says nothing. */
extern u32 lease_holder;

/* May somebody have something on lease here? May process pid? */
static inline int lease_may_hold(void)
{
	return (atom_load_relaxed(&lease_holder) |
		       atom_load_relaxed(&task_next_image)) != 0;
}
static inline int lease_may_hold_as(u32 pid)
{
	return atom_load_relaxed(&lease_holder) == pid ||
	       atom_load_relaxed(&task_next_image) == pid;
}

/* A walk along records: for (at = &leases->used; (l = lease_step(c, &w, *at));
 * at = &l->next). */
static inline struct lease *lease_step(
	const struct caller *c, struct walk *w, struct ref ref)
{
	struct lease *l = lease_at(c, ref);

	return l && walk_goes_on(c, w, ref.off) ? l : NULL;
}

/* Does this thread lease what it receives from a queue whose `leasing` says so?
 */
static inline int lease_wanted(
	const struct caller *c, u32 leasing, enum facility f)
{
	return (leasing & LEASES_ON) || (c->leasing >> f & 1);
}

/* The record is this thread's; this process's. */
static inline int lease_is_own(const struct caller *c, const struct lease *l)
{
	return l->tid == c->tid && l->pid == c->pid && l->task == c->task;
}
static inline int lease_is_ours(const struct caller *c, const struct lease *l)
{
	return l->pid == c->pid && l->task == c->task;
}

/*
 * The waiter's name for it, of a receiver that takes the message itself: noted
 * under the queue's lock before that, gone where the call returns. (A sleeper's
 * is noted as it falls asleep, after lease_keep.) Only the thread stores there.
 * What a handler's call displaces is kept beside until the call that it
 * interrupts returns, which says so with what it was given, not 0. One that a
 * handler has left by siglongjmp stays: it goes back as the process ends.
 */
u32 lease_note(struct caller *c, enum facility f, const struct lease *l);
void lease_note_end(struct caller *c, enum facility f, u32 note);
/* What lease_note_end is to be told less one. */
u32 lease_keep(struct caller *c);

/* The own record that is READY, made if there is none; cap: with a block of at
 * least so many bytes at data, 0 for none. NULL: no memory. Operations of their
 * own; the queue's lock is held, nothing journaled. */
struct lease *lease_ready(
	struct caller *c, struct leases *ls, u32 *leasing, u64 cap);

/* Parts of an operation. A READY record gets a message; what is special to a
 * kind of queue is stored beside. */
void lease_hold(struct caller *c, struct lease *l, u64 stamp);
/* at: where the record stands in the list of used ones. */
void lease_free(struct caller *c, struct leases *ls, struct ref *at);

/*
 * Many at once: what `decide` says of each record is done, by operations of
 * their own; the queue's lock is held. The number of messages that are back, of
 * which the first to be received went first.
 *   lease_own      what this thread has is acknowledged; and of one other thread of
 *                  ours, by turns, if that is gone
 *   lease_ours     what this process has, at its end
 *   lease_orphans  what processes had that are gone, as far as `look` goes, goes back
 *   lease_return   what this thread has goes back
 * Undelivered is what was handed to a sleeper whose call has not returned: the
 * waiter names the record until then. It is not acknowledged, but kept by its own
 * thread, and else put back.
 */
enum lease_ending {
	LEASE_KEEP,
	LEASE_END,	/* acknowledged */
	LEASE_PUT_BACK, /* into the queue */
	LEASE_DROP,	/* a record without a message */
};
/* n: counts, from 0 in each walk. */
typedef enum lease_ending lease_decide(
	struct caller *c, const struct lease *l, enum task_look look, u32 *n);
lease_decide lease_own, lease_ours, lease_orphans, lease_return;

/* What a kind of queue does, with its own `arg`; at: where the record stands.
 */
struct lease_ends {
	void (*end)(struct caller *c, void *arg, struct ref *at);
	int (*put_back)(struct caller *c, void *arg, struct ref *at);
};
/* So many go back in one hold; if LEASE_MOST did there may be others, which
 * come after these in the order. Arbitrary: each takes a walk along the
 * records. */
#define LEASE_MOST 16u
u32 lease_walk(struct caller *c, struct leases *ls, lease_decide *decide,
	enum task_look look, const struct lease_ends *ends, void *arg);

/* Of a queue that nobody finds any more: free one record, with its data. 0 if
 * there was none. `drop` first, for what else it has. Operations of their own.
 */
int lease_dispose(struct caller *c, struct leases *ls,
	void (*drop)(struct caller *c, struct lease *l));

#endif
