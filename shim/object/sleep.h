// SPDX-License-Identifier: MIT
/*
 * Sleeping on an object until another thread acts on the sleeper's behalf: what
 * all calls that do so have in common. A facility's struct sleep_class has
 * functions to take its lock, to remove a waiter from its queue, and to finish
 * a call with a final result.
 *
 * The waiter is queued by the caller under the object's lock, and the same hold
 * of the lock ends with sleep_arm: from then on the sleeper is taken out of its
 * queue before a signal handler of the application runs, as in the kernel.
 *
 * Before that it may pay to watch the object for a while without its lock
 * (sleep_spin): a partner that runs on another CPU is most often just about to
 * do what we wait for, and then neither side needs the queue of sleepers.
 *
 * A thread that may let sleepers through arms wait_crash_guard before its
 * commit: if it dies, one of them is woken and finishes. In case that one dies
 * with it (a process group is killed), the others sleep in slices, after each
 * of which they check whether the lock's owner died or the object is being
 * removed; a load each, without the lock. A sleeper that came when nobody slept
 * is the oldest, so the crash guard, and sleeps without slices, which cost a
 * tenth of a hand-over on one CPU. But a kernel before 6.2 does not wake for a
 * dead waker's pending word that is not 0, as a sleeper's is between DONE and
 * the wake-up: there it has slices too (sleep_slice).
 *
 * Nor does the kernel mark or wake for a waker that is refused robust lists, nor,
 * between DONE and the wake-up, for one in a handler that has interrupted a robust
 * mutex operation of its application: the one pending entry is taken. Such a
 * thread stores header.unmarked before it can let anybody through
 * (sleep_need_timers). From then on all sleep in slices, for good: the registry is
 * then used in a sandbox, mostly by all.
 *   0                  no such thread yet
 *   UNMARKED_SOME      by compare-and-swap: who comes to sleep now reads it, under
 *                      the object's lock or later, and sets a timer; those that
 *                      sleep without one are being told, each under its object's
 *                      lock. Whoever finds this tells them too: the first one may
 *                      have died.
 *   UNMARKED_TOLD      all were
 * Not among these, since nothing tells beforehand: an application that has broken
 * its robust list itself (it unmapped a locked robust mutex), and a process whose
 * memory is taken before it ends (process_mrelease(2), an out-of-memory kill).
 */
#ifndef IPCLIFT_OBJECT_SLEEP_H
#define IPCLIFT_OBJECT_SLEEP_H

#include "registry/cancel.h"
#include "registry/lock.h"
#include "registry/spin.h"
#include "registry/wait.h"

/* The length of a slice. Arbitrary: long enough to cost nothing noticeable, short
 * enough for a case that needs two deaths at one moment. */
#define SLEEP_SLICE_NS 1000000000ULL

/* The slice of a new sleeper, in ns, 0 = none; first: nobody else sleeps. */
u64 sleep_slice(int first);

enum {
	UNMARKED_SOME = 1,
	UNMARKED_TOLD = 2,
};

/* caller.h, caller_unmarked. No lock may be held. Cost: once in the life of a
 * registry the lock of each object with a sleeper without a timer. */
void sleep_need_timers(struct caller *c);

/* At the end of a slice of the caller's sleep on s: did the owner of the
 * object's lock die, or a thread that was removing the object before it had
 * woken all, or is a waker's tid in the caller's word? Then take the lock, and
 * wait_recheck. */
int sleep_pending(const struct caller *c, const struct slot *s, u64 ident);

/* Result of a sleeper that was only woken to try again; not an errno. */
#define SLEEP_RETRY (-4095)
/* Result of one that was stopped: its call restarts. All errors are above. */
#define SLEEP_ANEW (-4094)

struct sleeper;

struct sleep_class {
	/* Lock the slot, whatever object it holds by now, and repair it. */
	void (*lock)(struct caller *c, struct slot *s);
	/* Take the queued waiter out with a result; part of an operation.
	 * Slot lock held; the object is the one it was queued on. */
	void (*remove)(
		struct caller *c, struct slot *s, struct waiter *w, s32 result);
	/* Finish a removal that its dead owner began. No lock is held. NULL
	 * where an object with sleepers is never removed. */
	void (*finish_removal)(struct caller *c);
	/* A watched word changed, the slice is over, or a spurious wake came.
	 * In a section, no lock held. NULL if there is nothing to do then. */
	void (*recheck)(struct caller *c, struct sleeper *sl);
	/* A signal ends the sleep: first act on what happened before it. As
	 * recheck; may run just before a signal handler. */
	void (*signalled)(struct caller *c, struct sleeper *sl);
	/* The record is final and still ours: the call's result. In a section,
	 * no lock held; may run just before a signal handler. */
	s32 (*finish)(struct caller *c, struct sleeper *sl, s32 result);
	/* The same for a thread that is being cancelled; NULL where it never is
	 * in its sleep. */
	void (*abandon)(struct caller *c, struct sleeper *sl, s32 result);
	/* Result where a handler with SA_RESTART ran, or the process was
	 * stopped and continued; 0: -EINTR for any handler, and SLEEP_ANEW
	 * where the process was stopped and continued. */
	s32 restart;
};

/* On the sleeper's stack, as the first member of what finish needs. */
struct sleeper {
	const struct sleep_class *k;
	struct slot *slot;
	struct caller *c;
	/* CLOCK_REALTIME, or NULL; only if the class has `restart`. */
	const struct sys_timespec *deadline;
	u64 slice_ns;
	/* Arguments of wait_sleep, only if the class has no `restart`; first: for
	 * the first sleep. */
	u64 deadline_ns;
	enum wait_first first;
	struct wait_watch *watch;
	int cancellable;
	int stay;     /* sleep_run returns in a section that the caller ends */
	int finished; /* by a signal or cancellation, with this result */
	s32 result;
	struct cancel_scope scope;
};

/* Under the lock, before the sleep and in it. */
static inline void sleep_slice_set(
	const struct caller *c, struct sleeper *sl, u64 slice_ns)
{
	if (unlikely(atom_load_acquire(&wait_own(c)->n_requeuers)))
		slice_ns = slice_ns ? slice_ns : SLEEP_SLICE_NS;
	sl->slice_ns = slice_ns;
	atom_store_release(&wait_own(c)->has_timer, slice_ns != 0);
}

/* With the waiter queued and the lock still held. */
void sleep_arm(struct caller *c, struct sleeper *sl);
/* With the lock released: sleep until done. What finish says: -EINTR for a
 * signal, -ETIMEDOUT, SLEEP_RETRY, or what the waker gave. */
s32 sleep_run(struct caller *c, struct sleeper *sl);

/*
 * Take a thread that was killed in its sleep out of its queue, so that its
 * record (idx) can be reused. No lock may be held. Whether it is still queued is
 * decided under the object's lock: a queued record is not reused, while one read
 * without the lock may be a mixture of two owners' fields.
 */
void sleep_remove_dead(struct caller *c, u32 idx);

/* Supplied by the facilities, for sleep_remove_dead: msg's senders have the same
 * lock and remove as its receivers. */
extern const struct sleep_class sem_sleep_class, msg_receiver_class,
	mq_sleep_class;

/* What sleep_spin waits for, without the lock. */
struct sleep_poll {
	const u64 *word; /* of the object; a hint */
	u64 seen;	 /* what it was under the lock */
	/* 1 if with this word a try under the lock is worthwhile. */
	int (*enough)(u64 word, u64 arg);
	u64 arg;
	/* The partner changes the word in rapid succession: after the first
	 * change call sleep_batch, and do not call `enough` again. */
	int batch;
};

/*
 * Poll the word until the spin ends, which the caller has begun; no lock is
 * held. 1 if it changed (try under the lock: if that succeeds call spin_found,
 * else call this again), 0 if it is time to sleep. Only worthwhile if the
 * partner runs on another CPU.
 */
int sleep_spin(struct spin *spin, const struct sleep_poll *poll);
/* Wait while the word keeps changing and is not `enough`, so that a stream of
 * messages is taken in batches; a tenth of a millisecond at most. */
void sleep_batch(const struct sleep_poll *poll);

#endif
