// SPDX-License-Identifier: MIT
/*
 * Waiting for an object until somebody acts on one's behalf: what is the same
 * for every call that does so. A facility says how its lock is taken, how a
 * waiter leaves its queue, and what a final result means, as a struct
 * sleep_class.
 *
 * The waiter is queued by the caller under the object's lock, and the same hold
 * of the lock ends with sleep_arm: from then on a signal handler of the
 * application first takes the sleeper out of its queue, as the kernel does.
 *
 * Before that it may pay to look from outside for a while (sleep_spin): the
 * partner that runs on another CPU is most often just about to do what we wait
 * for, and then neither side needs the waiting list.
 *
 * Whoever may let sleepers through arms wait_crash_guard before the commit: if
 * he dies, one of them is woken and finishes. If that one dies with him (a
 * process group is killed), the others look for themselves: each sleeps in
 * slices, after which it asks whether the lock's owner died or the object is
 * being removed; a load each, without the lock. Only who came when nobody slept
 * has no slices, which cost a tenth of a hand-over on one CPU: the crash guard
 * is always the oldest sleeper. It has them too on a kernel before 6.2, which
 * at the death of a waker does not wake for a pending word that is not 0, as a
 * sleeper's is between DONE and the wake-up (sleep_slice).
 */
#ifndef IPCLIFT_OBJECT_SLEEP_H
#define IPCLIFT_OBJECT_SLEEP_H

#include "registry/cancel.h"
#include "registry/lock.h"
#include "registry/spin.h"
#include "registry/wait.h"

/* How long a slice may be. Arbitrary: late enough not to be felt, soon enough
 * for what needs two deaths in one moment. */
#define SLEEP_SLICE_NS 1000000000ULL

/* The slice of somebody who begins to sleep; first: nobody slept before. In ns,
 * 0 = none. */
u64 sleep_slice(int first);

/* The slice is over: did somebody die with the object's lock, or before all
 * were told of its removal? */
int sleep_pending(const struct caller *c, const struct slot *s, u64 ident);

/* Result of a sleeper that was only woken to try again; no error's number. */
#define SLEEP_RETRY (-4095)
/* Result of one that was stopped: its call begins anew. All others are above. */
#define SLEEP_ANEW (-4094)

struct sleeper;

struct sleep_class {
	/* Take the lock of the slot, whatever stands in it, with repair. */
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
	void (*look_again)(struct caller *c, struct sleeper *sl);
	/* A signal is to end the sleep: do first what came before it. As
	 * look_again; may run in front of a signal handler. */
	void (*signalled)(struct caller *c, struct sleeper *sl);
	/* The record is final and still ours: the call's result. In a section,
	 * no lock held; may run in front of a signal handler. */
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
	/* CLOCK_REALTIME, or NULL; only where the class has restart. */
	const struct sys_timespec *deadline;
	u64 slice_ns;
	/* As wait_sleep's, only where it has not; look: at the first sleep. */
	u64 deadline_ns;
	enum wait_look look;
	struct wait_watch *watch;
	int cancellable;
	int stay; /* sleep_run returns in a section, to be ended by the caller
		   */
	int finished; /* by an interrupt, with this result */
	s32 result;
	struct cancel_scope scope;
};

/* Under the lock, before the sleep and in it. */
static inline void sleep_slice_set(
	const struct caller *c, struct sleeper *sl, u64 slice_ns)
{
	if (unlikely(atom_load_acquire(&wait_own(c)->moving)))
		slice_ns = slice_ns ? slice_ns : SLEEP_SLICE_NS;
	sl->slice_ns = slice_ns;
	atom_store_release(&wait_own(c)->timed, slice_ns != 0);
}

/* With the waiter queued and the lock still held. */
void sleep_arm(struct caller *c, struct sleeper *sl);
/* With the lock released: sleep until done. What finish says: -EINTR for a
 * signal, -ETIMEDOUT, SLEEP_RETRY, or what the waker gave. */
s32 sleep_run(struct caller *c, struct sleeper *sl);

/*
 * Take a thread that was killed in its sleep out of its queue, so that its
 * record (by index) can be had by others. No lock may be held. The
 * object's lock says whether it still stands there: a record in a queue is
 * nobody else's, whoever looks without the lock may see a mixture of two owners.
 */
void sleep_remove_dead(struct caller *c, u32 idx);

/* Supplied by the facilities, for that: of msg, lock and remove are the same
 * for senders. */
extern const struct sleep_class sem_sleep_class, msg_receiver_class,
	mq_sleep_class;

/* What a look from outside waits for. */
struct sleep_look {
	const u64 *word; /* of the object; a hint */
	u64 seen;	 /* what it was under the lock */
	/* 1 if a word like this is worth a try. */
	int (*enough)(u64 word, u64 arg);
	u64 arg;
	/* Somebody is at it without pause: go on waiting as sleep_batch does.
	 * Else any change is. */
	int batch;
};

/*
 * Look as long as the spin that was begun lasts; no lock is held. 1 if
 * something came (a try under the lock tells whether it was what is wanted:
 * then spin_found, else look again), 0 if it is time to sleep. Only worth it if
 * the partner runs on another CPU.
 */
int sleep_spin(struct spin *spin, const struct sleep_look *look);
/* Let somebody go on as long as the word changes, until it is enough; a tenth
 * of a millisecond at most. */
void sleep_batch(const struct sleep_look *look);

#endif
