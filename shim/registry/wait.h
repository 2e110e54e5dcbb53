// SPDX-License-Identifier: MIT
/*
 * Sleeping on an object, and being granted what one sleeps for.
 *
 * A sleeper's record (struct waiter, in its struct thread) stands in a queue
 * of the object. Whoever makes the operation possible performs it on the
 * sleeper's behalf, under the object's lock and journal, and wakes it: direct
 * hand-off, as in the kernel.
 *
 * waiter.word
 *   0                asked to wait; spinning
 *   WAITERS          asleep in a futex
 *   tid | WAITERS    that waker is granting: between its decision and its
 *                    wake; or it is about to see whether it can
 *                    (wait_crash_guard)
 *   LOOK             take the object's lock and look: that waker died, or
 *                    there is something to know (wait_spurious_wake)
 *   DONE             state and result are final, no lock needed
 *
 * Who may store to it:
 *   from          to     who, and what entitles it
 *   any but tid   0      the sleeper, before it is queued: the record is idle,
 *                        nobody reaches it (wait_begin)
 *   0             WAITERS  the sleeper, by compare-and-swap
 *   WAITERS       0      the sleeper, by compare-and-swap, when it was woken
 *                        and nothing else had changed: it looks again
 *   any but tid   tid    a waker under the object's lock, the sleeper being
 *                        queued; the word is on its robust list before
 *   0, WAITERS    LOOK   the owner of the object's lock, the sleeper being
 *                        queued, by compare-and-swap (wait_spurious_wake)
 *   tid           was    that waker, still under the lock; LOOK if there was
 *                        something to know meanwhile (wait_crash_guard_end), or
 *                        if it is to be let go before the pass is done
 *                        (wait_pause_begin)
 *   tid           DONE   that waker, once the grant is committed and the lock
 *                        released: its last store (wait_flush)
 *   tid           LOOK   that waker, likewise, where others that it has let
 *                        through were moved to this word (below)
 *   tid           LOOK   the kernel, when that waker dies; or somebody who has
 *                        made sure that it is gone and the kernel did not
 *   LOOK          0, DONE  the sleeper under the object's lock, by
 *                        compare-and-swap: whether it is still queued
 *                        (wait_reclaim)
 *   any but tid   DONE   the sleeper, having taken itself out of its queue under
 *                        the lock
 * So a word with a tid is that waker's alone until its last store or its death,
 * and everybody else, the sleeper too, waits for that (wait_settle). While one
 * has the object's lock and the sleeper is queued, a tid that is not one's own
 * is of an exited thread whose list the kernel has not walked yet: a living
 * waker has such a word only while it has the lock itself; what it keeps over a
 * lock_pause are words of those it has let through. To push the node again
 * would lead the kernel's walk of that thread's list onto another list, and
 * what stands behind it there (lifeline, the application's robust mutexes)
 * would never be marked. So a sleeper in whose word somebody living stays for
 * long takes the lock: is it still queued, the name is of a dead one, whoever has
 * that number by now (wait_disown).
 *
 * Several that are let through in one hold are woken by one call (wake_herd):
 * the first of them keeps the waker's name, the words of the others become DONE
 * and their sleepers are moved to the first one's word, which becomes LOOK in
 * the end. Whoever finds its own word LOOK wakes all that sleep there
 * (tell_herd). Only sleepers with a timer take part. One that has gone on
 * meanwhile and sleeps again is moved only if it is done again; so that it then
 * has a timer, too, waiter.moving counts the wakers that are about to move it
 * (sleep_slice_set).
 *
 * Who dies, and what then:
 *   waker, before its commit    word LOOK; the sleeper takes the lock, which
 *                               rolls back, finds itself queued, and sleeps
 *   waker, after it             word LOOK; the sleeper finds itself granted
 *   waker, between DONE and     the word is pending: the kernel wakes
 *   its futex call
 *   waker, after it moved some  the first one's word is on its list, or is
 *                               pending: that one comes and wakes them
 *   and the first one, too      they wake when their slices end; so they do if
 *                               one of real time stands before the first, for
 *                               the kernel wakes by priority
 *   waker in a pass, between    the crash guard's word is LOOK; it takes
 *   commit and last grant       the lock and finishes the pass; after a
 *                               lock_pause (lock.h) one of those granted does
 *   and the crash guard         all others look for themselves: below
 *   and the one who took over   its lock is marked: as before, from the pass on
 *   sleeper                     `alive` is on its robust list while it is
 *                               queued, so nothing is handed to exited tasks;
 *                               whoever meets it in the queue, or its
 *                               record (sleep_remove_dead), takes it out
 *
 * Nobody sleeps without either a timer of its own, after which it looks whether
 * something is pending (object/sleep.h), or is the crash guard: who came when
 * nobody slept needs no timer, which is a tenth of a hand-over on one CPU,
 * because the crash guard is always the oldest sleeper.
 */
#ifndef IPCLIFT_REGISTRY_WAIT_H
#define IPCLIFT_REGISTRY_WAIT_H

#include "registry/caller.h"
#include "registry/cancel.h"

#define WAIT_WORD_DONE SYS_OWNER_DIED
#define WAIT_WORD_LOOK (SYS_OWNER_DIED | SYS_WAITERS)

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
/* Where a link must lead to somebody. One that does not leads to the record
 * with index 0, which is nobody's. */
static inline struct waiter *wait_must(const struct caller *c, u32 idx)
{
	if (unlikely(idx - 1 >= N_THREADS - 1))
		idx = 0;
	return &region_thread(&c->region, idx)->waiter;
}
/*
 * The next in the queue, for a walk under the lock. left: how many there can
 * be yet, N_THREADS before the first: in a damaged file links may run in a
 * circle, and no count in it is to be trusted.
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

/* Before the own waiter is queued, under the object's lock. */
void wait_begin(struct caller *c, struct waiter *w);
/* After it left the queue; its record may then be used again. */
void wait_end(struct caller *c, struct waiter *w);
/* 1 if the sleeper died. */
static inline int wait_dead(const struct waiter *w)
{
	return (atom_load_acquire(&w->alive) & SYS_OWNER_DIED) != 0;
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
 * Is the queued w stopped (SIGSTOP, a debugger)? In the kernel it would have
 * left its queue, with EINTR or to begin its call again; so who is about to
 * give it something takes it out instead, with that result and a grant as any
 * other. Under the object's lock. Not asked of one that went to sleep just now,
 * and of a few a hold, since it costs a system call (a second one, and a file
 * of /proc, where nobody is in the futex). 0 if that cannot be told.
 */
int wait_stopped(struct caller *c, struct waiter *w);

/*
 * Take on the wake obligation for w: it is woken when the caller releases its
 * outermost lock, or by the kernel if the caller dies before. Under the object's
 * lock, before the operation that sets w->state is committed.
 */
void wait_grant(struct caller *c, struct waiter *w);
/*
 * Somebody was granted, and w, still queued, is likely to be the next: wake it,
 * too, so that it looks for a while. Nothing is stored, so whoever dies here
 * leaves a sleeper asleep. Under the object's lock, after wait_grant.
 */
static inline void wait_early(struct caller *c, struct waiter *w)
{
	c->early = w;
}
/*
 * Before an operation that may let sleepers through is committed, under the
 * object's lock: if we die between the commit and the last grant, the queued w
 * is woken, takes the lock, and the object's repair makes up for what is
 * missing. wait_grant of the same w turns it into a wake obligation;
 * wait_crash_guard_end, still under the lock, takes it back, and w sleeps on.
 */
void wait_crash_guard(struct caller *c, struct waiter *w);
void wait_crash_guard_end(struct caller *c);
/* The queued w takes the object's lock and looks, as after a waker's death. Of
 * no consequence to one that is awake. Under the lock. */
void wait_spurious_wake(struct caller *c, struct waiter *w);
/* Meet the wake obligations. Called by lock_release. */
void wait_flush(struct caller *c);
/*
 * Before lock_pause: the crash guard, if still queued, looks for itself
 * from now on, for a word with our name must not be in others' way. After it:
 * of those granted some are woken if somebody wanted the lock, all but the last
 * if there is no space for as many as the next hold lets through.
 */
void wait_pause_begin(struct caller *c);
void wait_pause_end(struct caller *c, int wanted);

/*
 * What else wakes a sleeper. If `late` is set, only after some milliseconds of
 * sleep (BRIEF_NS), for most sleeps are over by then, and a futex call on
 * several words costs more than one on the own word alone. A word that changed
 * meanwhile is told when the watch begins. wait_sleep clears it.
 */
#define WAIT_WATCHED 8u
struct wait_watch {
	u32 n;
	u32 late;
	u32 *word[WAIT_WATCHED]; /* lifelines */
	u32 seen[WAIT_WATCHED];
};

/* Before the sleep. */
enum wait_look {
	WAIT_LOOK_NOT,
	WAIT_LOOK_SPIN,	 /* the partner runs on another CPU: for microseconds */
	WAIT_LOOK_YIELD, /* it ran on this one: let it, where that pays */
};

/*
 * Sleep until granted. deadline_ns: CLOCK_MONOTONIC, or 0 for none; slice_ns:
 * come back after so long anyway, 0 = never. look: what to do before sleeping.
 * No lock may be held.
 *   0            state and result are final
 *   -ETIMEDOUT   the deadline is past
 *   -EINTR       a signal arrived; the word may be LOOK
 *   -ERESTART    (message queues) stopped and continued; the same
 *   -EOWNERDEAD  the granting waker died: look under the lock
 *   -EAGAIN      a watched word changed or the slice is over: look again
 */
int wait_sleep(struct caller *c, struct waiter *w, u64 deadline_ns,
	u64 slice_ns, enum wait_look look, struct wait_watch *watch);

/*
 * The same for calls that SA_RESTART restarts (mq_*): deadline is an absolute
 * CLOCK_REALTIME or NULL; slice_ns as wait_sleep's. armed: caller.interrupt is
 * set, as it always is in wait_sleep. The thread may be cancelled
 * in the sleep itself, and only there, if the scope was begun (cancel.h). -EINTR
 * means that a handler which our trampoline does not know ran and does not
 * restart; -ERESTART, that it does, or that the process was stopped and
 * continued.
 */
int wait_sleep_restart(struct caller *c, struct waiter *w,
	const struct sys_timespec *deadline, u64 slice_ns, int armed,
	struct cancel_scope *scope);

/* A signal handler of the application is about to run in the sleep, and may not
 * come back: give up what the sleep had registered with the kernel. */
void wait_interrupted(void);

/* Futex can be told of lifelines (an old kernel, or a filter): else they are
 * only seen after a slice. */
int wait_can_watch(void);

/* Wait until no waker's name stands in the word: its last store comes at once,
 * or its death is noted. After state was found WAIT_DONE under the lock, so
 * that the record is ours again. */
void wait_settle(const struct caller *c, struct waiter *w);
/*
 * The sleeper, in whose word a name stands for long, under the object's lock: is
 * it still queued, that is an exited thread's, although a living one may have the
 * number by now. Its end is waited for, a second or so at most; then LOOK.
 */
void wait_disown(const struct caller *c, struct waiter *w);

/* After -EOWNERDEAD, under the object's lock: the word is the own one again, if
 * no other waker has its name there by now. */
void wait_reclaim(struct waiter *w);

/* Leave the queue one has just been taken out of by oneself: under the object's
 * lock, committed. */
void wait_left(const struct caller *c, struct waiter *w);

#endif
