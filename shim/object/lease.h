// SPDX-License-Identifier: MIT
/*
 * Leases: a message that was received from a queue stays in the registry until
 * it is acknowledged. Opt-in, by queue (`ipclift set lease:KIND/NAME=on`) or by
 * receiver (IPCLIFT_LEASE); both kinds of queue have them, by these rules.
 *
 * A record (struct lease) is one message of one receiver, which is a thread:
 *
 *   from    to      who, in which operation
 *   FREE    READY   a receiver, before it takes a message or sleeps
 *   READY   HELD    the operation by which it gets the message: its own, or that
 *                   of the sender which hands it over
 *   HELD    READY   acknowledged: it receives again (unless caller.lease_batch), or
 *                   ipclift_ack; not by a handler that interrupted the very call
 *                   which is about to return it
 *   HELD    DONE    the same, of a message with a large block, which is freed
 *   DONE    READY   after that, as operations of their own
 *   any     FREE    the holder's process ended in order (HELD, DONE), or was killed
 *                   (READY, DONE), or the queue is removed
 *   HELD    FREE    the holder was killed: the message is in the queue again
 *   HELD    BACK    the same of POSIX queues, where the record tells the place in
 *                   the order of messages that are put back later
 *   BACK    FREE    the message is received
 *
 * Each is a journaled operation under the queue's lock: if the thread dies, it
 * is rolled back or done. Only the holder's thread, its process once that
 * thread has exited, or the process's exit in order acknowledges; any thread
 * puts a message back once the holder's process has exited by task.h's rules.
 * So there is no race with a living holder: it changes its record only under
 * the lock, and it reads what it received under the lock, or has copied it.
 *
 * Exited holders are looked for by every call that receives from the queue,
 * before it takes a message; by its sleepers, each LEASE_SLICE_NS; by poll and
 * select, before they sleep; by `ipclift gc`. A thread that is asleep in poll
 * or select already, or in epoll_wait, is woken when one of these finds
 * something. Cost: a call that receives reads each record of the queue once.
 *
 * A message on lease counts neither as a message of the queue nor against its
 * size; one that is put back may exceed the size.
 */
#ifndef IPCLIFT_OBJECT_LEASE_H
#define IPCLIFT_OBJECT_LEASE_H

#include "registry/damage.h"
#include "registry/identity.h"
#include "registry/task.h"

/* How long a message of a killed receiver may stay on lease while all others
 * sleep. Arbitrary: a check takes some microseconds. */
#define LEASE_SLICE_NS 100000000ULL

static inline struct lease *lease_at(const struct caller *c, struct ref ref)
{
	return ref_at(c, ref);
}

/* The process that has or had a record: its pid, 0 = none. In a fork child it
 * is the parent's. Leases from before exec are not covered. */
extern u32 lease_holder;

/* May this process have leases? May process pid? */
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

/* The record is this process's; this thread's. By birth, too: of an exited process
 * with our number whose task we have taken over there may be leases, which go
 * back. */
static inline int lease_is_ours(const struct caller *c, const struct lease *l)
{
	return l->pid == c->pid && l->task == c->task &&
	       identity_same(task_own(c)->start, l->start);
}
static inline int lease_is_own(const struct caller *c, const struct lease *l)
{
	return l->tid == c->tid && lease_is_ours(c, l);
}

/*
 * The waiter's reference to the record of a receiver that takes the message
 * itself: set under the queue's lock before that, cleared when the call
 * returns. (A sleeper's is set as it falls asleep, after lease_keep.) Only the
 * thread itself stores it. If a handler's call displaces one, that is kept
 * aside until the interrupted call returns and passes the token that it got
 * here, which is then not 0. If the handler leaves by siglongjmp it stays: the
 * message is put back when the process exits.
 */
u32 lease_note(struct caller *c, enum facility f, const struct lease *l);
void lease_note_end(struct caller *c, enum facility f, u32 note);
/* Returns the token for lease_note_end, less one. */
u32 lease_keep(struct caller *c);

/* This thread's READY record, made if there is none; cap: the least size of its
 * block at data, 0 for none. NULL: no memory. Operations of their
 * own; the queue's lock is held, nothing journaled. */
struct lease *lease_ready(
	struct caller *c, struct leases *ls, u32 *leasing, u64 cap);

/* Parts of an operation. A READY record gets a message; the caller stores what
 * only its kind of queue has. */
void lease_hold(struct caller *c, struct lease *l, u64 stamp);
/* at: the reference to the record in the list of used ones. */
void lease_free(struct caller *c, struct leases *ls, struct ref *at);

/*
 * Many at once: each record is ended as `decide` says, by operations of their
 * own; the queue's lock is held. Returns the number of messages put back, in
 * the order in which they were received.
 *   lease_own      this thread's leases are acknowledged; and those of one other
 *                  thread of this process, in turn, if it has exited
 *   lease_ours     this process's, at its exit, are acknowledged
 *   lease_orphans  those of exited processes are put back; look: how thoroughly to
 *                  check
 *   lease_return   this thread's are put back
 * A message is undelivered if it was handed to a sleeper whose call has not
 * returned: the waiter refers to the record until then. It is not acknowledged,
 * but kept by its own thread, or else put back.
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

/* What a kind of queue does, with its own `arg`; at: the reference to the
 * record. */
struct lease_ends {
	void (*end)(struct caller *c, void *arg, struct ref *at);
	int (*put_back)(struct caller *c, void *arg, struct ref *at);
};
/* Most messages put back in one hold; if it was so many there may be more,
 * which follow these in the order. Arbitrary: each takes a walk along the
 * records. */
#define LEASE_MOST 16u
u32 lease_walk(struct caller *c, struct leases *ls, lease_decide *decide,
	enum task_look look, const struct lease_ends *ends, void *arg);

/* Of a removed queue: free one record, with its data. 0 if there was none.
 * `drop` is called first, for what else it has. Operations of their own. */
int lease_dispose(struct caller *c, struct leases *ls,
	void (*drop)(struct caller *c, struct lease *l));

#endif
