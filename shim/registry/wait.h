// SPDX-License-Identifier: MIT
/*
 * Sleeping on an object until the operation slept for is granted.
 *
 * A sleeper's record (struct waiter, in its struct thread) is in a queue of the
 * object. Whoever makes the operation possible performs it on the sleeper's
 * behalf, under the object's lock and journal, and wakes it: direct hand-off,
 * as in the kernel. doc/design.md has the states as a picture.
 *
 * waiter.word
 *   0                awake: about to sleep, or spinning
 *   WAITERS          asleep in a futex
 *   tid | WAITERS    the waker tid is granting: it has decided to and has not
 *                    woken the sleeper yet; or it may be about to
 *                    (wait_crash_guard)
 *   RECHECK          the sleeper must take the object's lock and check whether it
 *                    is still queued: the waker died, or another thread wants it
 *                    to (wait_spurious_wake)
 *   DONE             state and result are final, no lock needed
 *
 * Who may store to it:
 *   from          to       who, and what entitles it
 *   any but tid   0        the sleeper, before it is queued: the record is idle,
 *                          nobody can reach it (wait_begin)
 *   0             WAITERS  the sleeper, by compare-and-swap
 *   WAITERS       0        the sleeper, by compare-and-swap, when it was woken and
 *                          nothing else had changed: it spins
 *   any but tid   tid      a waker under the object's lock, while the sleeper is
 *                          queued; it puts the word on its robust list first
 *   0, WAITERS    RECHECK  the owner of the object's lock, while the sleeper is
 *                          queued, by compare-and-swap (wait_spurious_wake)
 *   tid           was      that waker, still under the lock: the value before; but
 *                          RECHECK if a spurious wake came meanwhile
 *                          (wait_crash_guard_end), or if the lock is given up
 *                          before the pass is done (wait_pause_begin)
 *   tid           DONE     that waker, once the grant is committed and the lock
 *                          released: its last store (wait_flush)
 *   tid           RECHECK  that waker, likewise, if other sleepers that it has
 *                          granted were requeued to this word (below)
 *   tid           RECHECK  the kernel, when that waker dies; or another thread that
 *                          has made sure that it is gone, if the kernel did not
 *   RECHECK       0, DONE  the sleeper under the object's lock, by
 *                          compare-and-swap: 0 if it is still queued, else DONE
 *                          (wait_recheck)
 *   any but tid   DONE     the sleeper, having taken itself out of its queue under
 *                          the lock (wait_dequeued); or the owner of an idle record
 * So a word with a tid belongs to that waker alone until the waker's last store
 * or its death, and everybody else, the sleeper too, waits for that
 * (wait_for_waker). Whoever holds the object's lock and finds another's tid in
 * the word of a queued sleeper knows that this thread has exited and that the
 * kernel has not walked its robust list yet: a living waker has its tid in such
 * a word only while it holds the lock, and those that it keeps over a
 * lock_pause are of sleepers already granted. Such a word must not be pushed
 * onto a list again: the kernel's walk would continue on that list and never
 * mark what follows in the dead thread's (its lifeline, the application's
 * robust mutexes). So a sleeper that sees a living thread's tid in its word for
 * long takes the lock; if it is still queued, the tid is a dead waker's that
 * was given out again (wait_recheck).
 *
 * Several sleepers granted in one hold are woken by one call (wake_herd): the
 * first one's word keeps the waker's tid, the others' words become DONE and
 * their sleepers are requeued to the first one's word, which becomes RECHECK
 * last. Whoever finds its own word RECHECK wakes all that sleep there
 * (wake_requeued). Only sleepers with a timer are requeued. One that has gone
 * on meanwhile, sleeps again and is granted again can be requeued by the
 * earlier waker: waiter.n_requeuers counts wakers about to requeue it, and
 * makes it set a timer (sleep_slice_set).
 *
 * Who dies where, and what happens then:
 *   waker, before its commit    word RECHECK; the sleeper takes the lock, which
 *                               rolls back, finds itself queued, and sleeps
 *   waker, after it             word RECHECK; the sleeper finds itself granted
 *   waker, between DONE and     the word is pending: the kernel wakes
 *   its futex call
 *   waker, after it requeued    the first one's word is on its list, or is
 *   some                        pending: the first one wakes the others
 *   and the first one, too      they wake when their slices end; and also if the
 *                               kernel, which wakes by priority, wakes a
 *                               real-time sleeper there in place of the first
 *   waker in a pass, between    the crash guard's word is RECHECK; it takes the
 *   commit and last grant       lock and finishes the pass; after a lock_pause
 *                               (lock.h) a granted sleeper does that
 *   and the crash guard         all others wake when their slices end: below
 *   and the one who took over   its lock is marked: as before, from the pass on
 *   sleeper                     `alive` is on its robust list while it is
 *                               queued, so nothing is handed to exited tasks;
 *                               whoever meets it in the queue, or its
 *                               record (sleep_remove_dead), takes it out
 *
 * Every sleeper has a timer, after which it checks whether anything is left to
 * be done (object/sleep.h), except one that came when nobody slept: it is the
 * oldest sleeper and hence the crash guard. It has one, too, once any waker may die
 * unseen by the kernel (header.unmarked). A timer costs a tenth of a
 * hand-over on one CPU.
 */
#ifndef IPCLIFT_REGISTRY_WAIT_H
#define IPCLIFT_REGISTRY_WAIT_H

#include "registry/caller.h"
#include "registry/cancel.h"
#include "registry/thread.h"

#define WAIT_WORD_DONE SYS_OWNER_DIED
#define WAIT_WORD_RECHECK (SYS_OWNER_DIED | SYS_WAITERS)

/* waiter.state */
enum {
	WAIT_IDLE,
	WAIT_QUEUED,
	WAIT_DONE,
};

static inline int wait_is_past(s64 now, const struct sys_timespec *t)
{
	return now / 1000000000 > t->sec ||
	       (now / 1000000000 == t->sec && now % 1000000000 >= t->nsec);
}

/* The thread's own waiter, and a waiter by its queue link. */
static inline struct waiter *wait_own(const struct caller *c)
{
	return &region_thread(&c->region, c->thread)->waiter;
}
static inline struct waiter *wait_at(const struct caller *c, u32 idx)
{
	if (unlikely(idx - 1 >= N_THREADS - 1))
		return NULL;
	return &region_thread(&c->region, idx)->waiter;
}
/* For a link that is never null. In a damaged file it may be: then the record
 * with index 0, which no thread uses. */
static inline struct waiter *wait_must(const struct caller *c, u32 idx)
{
	if (unlikely(idx - 1 >= N_THREADS - 1))
		idx = 0;
	return &region_thread(&c->region, idx)->waiter;
}
/*
 * The next in the queue, for a walk under the lock. left: how many more there
 * can be, N_THREADS at the start: in a damaged file links may form a cycle, and
 * no count in it can be trusted.
 */
static inline struct waiter *wait_next(
	const struct caller *c, const struct waiter *w, u32 *left)
{
	return (*left)-- ? wait_at(c, w->next) : NULL;
}
static inline u32 wait_index(const struct caller *c, const struct waiter *w)
{
	u64 off = region_off(&c->region, w) - THREADS_OFF;

	return off / THREAD_STRIDE;
}

/* Before the thread's own waiter is queued, under the object's lock. */
void wait_begin(struct caller *c, struct waiter *w);
/* After it left the queue; its record may then be used again. */
void wait_end(struct caller *c, struct waiter *w);
/* 1 if the sleeper died; w is a thread's record's. */
static inline int wait_dead(const struct waiter *w)
{
	u32 alive = atom_load_acquire(&w->alive);

	return unlikely((alive & (SYS_OWNER_DIED | SYS_WAITERS)) !=
			SYS_WAITERS) &&
	       thread_sleeper_dead(w, alive);
}

/* The first of a queue that is alive, or NULL; under the object's lock. */
static inline struct waiter *wait_first_alive(
	const struct caller *c, const struct wait_queue *q)
{
	struct waiter *w = wait_at(c, q->head);
	u32 left = N_THREADS;

	while (w && wait_dead(w))
		w = wait_next(c, w, &left);
	return w;
}

/*
 * Is the queued w stopped (SIGSTOP, a debugger), or has it exited without a mark
 * by the kernel (thread_sleeper_left)? In the kernel it would have left its queue,
 * with EINTR or to restart its call; so a waker about to give it something takes
 * it out instead, with that result, and grants that like any other. Under the
 * object's lock. Costs a system call (some more and reads of /proc if w is not in
 * its futex), so a sleeper that has only just gone to sleep is not checked, and
 * only a few stopped ones are in one hold. 0 also where it is unknown.
 */
int wait_stopped(struct caller *c, struct waiter *w);

/*
 * Take on the wake obligation for w: it is woken when the caller releases its
 * outermost lock, or by the kernel if the caller dies before. Under the object's
 * lock, before the operation that sets w->state is committed.
 */
void wait_grant(struct caller *c, struct waiter *w);
/*
 * A sleeper was granted, and w, still queued, is likely to be next: wake it too,
 * so that it spins for a while. Nothing is stored: if the waker dies here, w just
 * sleeps on. Under the object's lock, after wait_grant.
 */
static inline void wait_prewake(struct caller *c, struct waiter *w)
{
	c->prewake = w;
}
/*
 * Before an operation that may let sleepers through is committed, under the
 * object's lock: if we die between the commit and the last grant, the queued w
 * is woken, takes the lock, and the object's repair makes the missing grants.
 * wait_grant of the same w turns this into a wake obligation;
 * wait_crash_guard_end, still under the lock, takes it back, and w sleeps on.
 */
void wait_crash_guard(struct caller *c, struct waiter *w);
void wait_crash_guard_end(struct caller *c);
/* Make the queued w take the object's lock and recheck, as after a waker's death;
 * harmless if it is awake. Under the lock. */
void wait_spurious_wake(struct caller *c, struct waiter *w);
/* Fulfil the wake obligations. Called by lock_release. */
void wait_flush(struct caller *c);
/*
 * Before lock_pause: the crash guard, if still queued, is woken to recheck, for
 * no queued sleeper's word may hold our tid while others have the lock. After
 * it: some of those granted are woken if another thread wants the lock; all but
 * the last if fewer grants are left than the next hold may make.
 */
void wait_pause_begin(struct caller *c);
void wait_pause_end(struct caller *c, int wanted);

/*
 * Other words whose change wakes a sleeper. If `late` is set, they are watched
 * only after the first milliseconds of the sleep (BRIEF_NS): most sleeps are over
 * by then, and a futex call on several words costs more than on one. A change
 * before that is noticed when watching begins. wait_sleep clears `late`.
 */
#define WAIT_WATCHED 8u
struct wait_watch {
	u32 n;
	u32 late;
	u32 *word[WAIT_WATCHED]; /* lifelines */
	u32 seen[WAIT_WATCHED];
};

/* What to do before the sleep. */
enum wait_first {
	WAIT_FIRST_NOTHING,
	WAIT_FIRST_SPIN,  /* the partner runs on another CPU: spin a little */
	WAIT_FIRST_YIELD, /* it ran on this CPU: yield to it, where that pays */
};

/*
 * Sleep until granted. deadline_ns: CLOCK_MONOTONIC, or 0 for none; slice_ns:
 * return after so long anyway, 0 = never. first: what to do before sleeping. No
 * lock may be held.
 *   0            state and result are final
 *   -ETIMEDOUT   the deadline is past
 *   -EINTR       a signal arrived; the word may be RECHECK
 *   -ERESTART    (System V message queues) stopped and continued; likewise
 *   -EOWNERDEAD  the word is RECHECK: take the lock, and wait_recheck
 *   -EAGAIN      a watched word changed, the slice is over, or a living thread's
 *                tid stays in the word (wait_recheck)
 */
int wait_sleep(struct caller *c, struct waiter *w, u64 deadline_ns,
	u64 slice_ns, enum wait_first first, struct wait_watch *watch);

/*
 * The same for calls that SA_RESTART restarts (mq_*): deadline is an absolute
 * CLOCK_REALTIME or NULL; slice_ns as wait_sleep's. armed: caller.interrupt is
 * set, as it always is in wait_sleep. The thread may be cancelled in the sleep
 * itself, and only there, if the scope was begun (cancel.h). -EINTR: a handler
 * that our trampoline does not know ran, without SA_RESTART. -ERESTART: one with
 * SA_RESTART did, or the process was stopped and continued.
 */
int wait_sleep_restart(struct caller *c, struct waiter *w,
	const struct sys_timespec *deadline, u64 slice_ns, int armed,
	struct cancel_scope *scope);

/* A signal handler of the application is about to run in the sleep, and may not
 * return: undo what the sleep has registered with the kernel (rseq). */
void wait_interrupted(void);

/* 0 if futex_waitv is missing (an old kernel, or a filter): lifelines are then
 * checked only after each slice. */
int wait_can_watch(void);

/* Wait until the word holds no waker's tid: its last store comes at once, or its
 * death is noted. Called once state was found WAIT_DONE under the lock, so that
 * the record is ours again. */
void wait_for_waker(const struct caller *c, struct waiter *w);
/*
 * By the sleeper, after -EOWNERDEAD or when a tid has been in its word for
 * long, under the object's lock. If it is still queued, the word becomes 0: a
 * tid there is an exited thread's, whoever has that number now, and the kernel
 * is given a second or so to mark it. If not, RECHECK becomes DONE and a tid
 * stays: that of the waker that granted it.
 */
void wait_recheck(const struct caller *c, struct waiter *w);

/* The sleeper has taken itself out of its queue: make its word DONE. Under the
 * object's lock, the removal committed. */
void wait_dequeued(const struct caller *c, struct waiter *w);

#endif
