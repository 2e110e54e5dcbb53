// SPDX-License-Identifier: MIT
/*
 * Sleeping on an object, and being granted what one sleeps for.
 *
 * A sleeper's record (struct waiter, in its struct thread) stands in a queue
 * of the object. Whoever makes the operation possible performs it on the
 * sleeper's behalf, under the object's lock and journal, and wakes it: direct
 * hand-off, as in the kernel.
 *
 * States of waiter.word:
 *   0                    asked to wait; spinning
 *   WAITERS              asleep in a futex
 *   waker tid | WAITERS  a waker is granting: between its decision and its
 * wake; or about to see whether it can (wait_alarm) OWNER_DIED|WAITERS   that
 * waker died: take the object's lock and look WAIT_WORD_DONE       state and
 * result are final, no lock needed
 *
 * From the moment a waker writes its tid until it has woken the sleeper, the
 * word is on the waker's robust list (or pending), so its death wakes the
 * sleeper: no wake-up is lost at any instruction. A sleeper's own `alive` word
 * is on its robust list while it is queued, so nothing is handed to the dead.
 */
#ifndef IPCLIFT_REGISTRY_WAIT_H
#define IPCLIFT_REGISTRY_WAIT_H

#include "registry/caller.h"
#include "registry/cancel.h"

#define WAIT_WORD_DONE 0x40000000u

/* waiter.state */
enum {
	WAIT_IDLE,
	WAIT_QUEUED,
	WAIT_DONE,
};

/* The thread's own waiter, and a waiter by its queue link. */
static inline struct waiter *wait_own(const struct caller *c)
{
	return &region_thread(&c->region, c->thread)->waiter;
}
static inline struct waiter *wait_at(const struct caller *c, u32 idx)
{
	return idx ? &region_thread(&c->region, idx)->waiter : NULL;
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

/*
 * Promise w a wake-up: it is sent when the outermost lock is released, or by
 * the kernel if we die before. Call it under the object's lock before the
 * operation that sets w->state is committed.
 */
void wait_grant(struct caller *c, struct waiter *w);
/*
 * Before an operation that may let sleepers through is committed, under the
 * object's lock: if we die between the commit and the last grant, the queued w
 * is woken, takes the lock, and the object's repair makes up for what is
 * missing. wait_grant of the same w turns it into a promise; wait_alarm_end,
 * still under the lock, takes it back, and w sleeps on.
 */
void wait_alarm(struct caller *c, struct waiter *w);
void wait_alarm_end(struct caller *c);
/* Send what was promised. Called by lock_release. */
void wait_flush(struct caller *c);

/* What else wakes a sleeper. */
struct wait_watch {
	u32 n;
	u32 *word[8]; /* lifelines */
	u32 seen[8];
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
 *   -EINTR       a signal arrived
 *   -ERESTART    (message queues) stopped and continued
 *   -EOWNERDEAD  the granting waker died: look under the lock
 *   -EAGAIN      a watched word changed or the slice is over: look again
 */
int wait_sleep(struct caller *c, struct waiter *w, u64 deadline_ns,
	u64 slice_ns, enum wait_look look, const struct wait_watch *watch);

/*
 * The same for calls that SA_RESTART restarts (mq_*): deadline is an absolute
 * CLOCK_REALTIME or NULL. The thread may be cancelled in the sleep itself, and
 * only there, if the scope was begun (cancel.h). -EINTR means that a handler
 * which our trampoline does not know ran and does not restart.
 */
int wait_sleep_restart(struct caller *c, struct waiter *w,
	const struct sys_timespec *deadline, int spin,
	struct cancel_scope *scope);

/* A signal handler of the host is about to run in the sleep, and may not come
 * back: give up what the sleep had registered with the kernel. */
void wait_interrupted(void);

/* After state was found WAIT_DONE under the lock: wait for the waker's last
 * store, which comes at once, so that the record is ours again. */
void wait_settle(struct waiter *w);

#endif
