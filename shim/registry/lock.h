// SPDX-License-Identifier: MIT
/*
 * Robust locks.
 *
 * States of the word:
 *   0                       free
 *   WAITERS                 free; somebody may sleep (the bit is sticky, below)
 *   tid                     held, nobody sleeps
 *   tid | WAITERS           held, somebody may sleep
 *   OWNER_DIED [| WAITERS]  the owner died; the next owner repairs first
 *
 * Who stores, from which state to which:
 *   taker     free or OWNER_DIED -> own tid, with WAITERS if that was set or
 *             the taker has slept; by compare-and-swap
 *   sleeper   tid -> tid | WAITERS; tid of an exited thread -> OWNER_DIED |
 *             WAITERS; by compare-and-swap
 *   owner     own tid -> 0; own tid | WAITERS -> WAITERS, then a wake-up, and
 *             WAITERS -> 0 if that woke nobody; or -> OWNER_DIED [| WAITERS]
 *             (lock_pass_on, lock_pause)
 *   kernel    tid of a dying thread [| WAITERS] -> OWNER_DIED [| WAITERS]
 *
 * While a lock is wanted or held, the pending entry of the robust list that
 * libc registered for the thread points at it, so the kernel itself marks
 * OWNER_DIED and wakes a sleeper, whatever kills the thread. A thread that
 * holds an outer lock and takes an inner one puts the outer on the list proper
 * meanwhile.
 *
 * If the application has an entry pending (we are in a signal handler in the
 * middle of its pthread_mutex_lock), that stays: our locks then go on the list
 * proper, each only while we own it, since the node is in the lock and only its
 * owner may store there (caller.app_pending). A death in the few instructions
 * before and after that, or between the release and the wake-up, is found by a
 * sleeper's backstop.
 *
 * The classic unlock to 0 loses a wake-up for ever if the woken sleeper is
 * killed while a third thread takes the lock (doc/measurements.md §2). Here the
 * WAITERS bit survives the unlock, and whoever slept acquires with the bit set.
 *
 * Real-time threads, and threads that wait while they hold a lock (and so may have
 * been boosted), do not sleep on the word but in FUTEX_LOCK_PI on
 * `boost` of the owner's thread record, which raises the owner to their
 * priority: an owner that was preempted by ordinary threads goes on at once.
 * The two kinds of sleeper cannot share a word, and handing the lock itself over
 * would make a convoy of every contended lock. States of boost:
 *   0                nobody waits for the thread in this way
 *   tid [| WAITERS]  of the thread itself: stored by a waiter who has seen it
 *                    own a lock, WAITERS by the kernel. The owner gives it up
 *                    after it has released a lock with WAITERS
 *   another's        a waiter's, handed over by the kernel; it gives it up at
 *                    once, so that all waiters look at the lock again
 * Any value is harmless: it only says whom a waiter boosts, a sleep on it
 * ends with the backstop, and the lock's word alone says who owns the lock.
 *
 * Order of locks, outer before inner: enum lock_rank. A build without
 * optimization (-Doptimization=0) and that of tests/crash trap on a violation.
 * Only two tasks' locks are ever held at once within a rank: the second is not
 * reachable by others yet, or is taken without waiting (lock_try).
 */
#ifndef IPCLIFT_REGISTRY_LOCK_H
#define IPCLIFT_REGISTRY_LOCK_H

#include "registry/robust.h"

enum lock_rank {
	RANK_CONTROL,  /* header.control_lock */
	RANK_FACILITY, /* header.fac_lock[] */
	RANK_TASK,
	RANK_OBJECT, /* of a slot */
	RANK_HEAP,
	RANK_REPAIR,
};

/*
 * Take the lock; sleeps if it is held. The caller must be enrolled. Begins a
 * section. Returns 0, or 1 if the last owner had died: its unfinished
 * operation has been rolled back, and the object's own repair is the caller's
 * duty before anything else.
 */
int lock_acquire(struct caller *c, struct lock *lock);
/*
 * The same without waiting: 1 if it was taken, which begins a section; 0 if it is
 * held, even by the caller itself. A dead owner's operation is rolled back without
 * notice: so this is for locks whose objects need no repair of their own. One
 * compare-and-swap; if it is held, some system calls, for the kernel may not have
 * marked the owner's death.
 */
int lock_try(struct caller *c, struct lock *lock);
/* 1 if the owner in `word`, as read from lock.word, no longer exists, although the
 * kernel did not mark the word. 0 for a word without an owner. Some system
 * calls. */
int lock_owner_gone(const struct caller *c, const struct lock *lock, u32 word);
/* 1 if the calling thread has a real-time policy; a system call. */
int lock_real_time(void);
/* How long a sleeper sleeps before it looks for a dead owner itself; 50 ms. */
extern struct sys_timespec lock_backstop;

/*
 * For callers that wait for no lock longer than caller.patience_ns (the command
 * and the mount): after that caller.stuck is called, which must not return.
 * lock_abandon leaves the registry as if the caller had died at this point with
 * the locks it holds; the caller can then start something else.
 */
void lock_abandon(struct caller *c);

/* Release it; wakes one sleeper if there may be one. The outermost release also
 * wakes those granted something meanwhile (wait.h). Ends the section. */
void lock_release(struct caller *c, struct lock *lock);

/*
 * Release it after lock_acquire returned 1, if the caller cannot do the object's
 * own repair: lock_acquire returns 1 to the next owner again.
 */
void lock_pass_on(struct caller *c, struct lock *lock);

/* With the lock held, its bias being revoked, and the bias owner found dead
 * inside (bias.h): roll back what that thread had not committed. May be cut
 * off anywhere and run again. */
void lock_recover_biased(struct caller *c, struct lock *lock, u32 thread);

/*
 * In the midst of work that the next owner would finish if we died (a pass over
 * many sleepers, or their cancellation): let others have the lock. Nothing is
 * journaled. The lock is marked as by lock_pass_on, so that whoever takes it
 * continues the work before anything else, and a reader without the lock does
 * not trust what it sees; as nobody died, lock.journal is 0 and there is no
 * event.
 *
 * wait_pause_begin comes before it, wait_pause_end after it (of several locks,
 * after the last). Then the lock is taken again, whatever lock_acquire returns:
 * the object's own words say whether there is still something to do. The
 * section goes on until then: a section_end for each lock.
 *
 * Who dies, and what then (the object's word for the work, pass_pending or
 * removing, is set from before the first pause until all is done):
 *   the one who paused     the word of a sleeper that it has let through is on
 *                          its list at any time: RECHECK, and that one takes the
 *                          lock and continues
 *   and that one, too      nobody else that is queued sleeps without a timer,
 *                          for wait_pause_begin has woken the crash guard:
 *                          within a second one finds the mark
 *   whoever took it        the lock is marked: as before
 * Returns 1 if somebody waits for the lock.
 */
int lock_pause(struct caller *c, struct lock *lock);

/* Times taken since the last reset (inspect/lockview.h). The word itself never
 * goes back, for lock-free readers compare it: a reset goes on to the next
 * multiple of 2^48. */
#define LOCK_COUNT_BITS 48
static inline u64 lock_count(const struct lock *lock)
{
	return atom_load_relaxed(&lock->count) &
	       ((1ULL << LOCK_COUNT_BITS) - 1);
}

/* Where the times of a lock's holds are noted (header.profiling): a hole of the
 * file until then, so caller_reserve comes first. */
struct lock_profile *lock_profile(
	const struct region *region, const struct lock *lock);

/* 1 if somebody holds it or died holding it: a lock-free reader must not
 * trust what it read. */
static inline int lock_busy(const struct lock *lock)
{
	return (atom_load_acquire(&lock->word) & ~SYS_WAITERS) != 0;
}

/*
 * Reading what a lock protects without it: begin; copy out, trusting nothing
 * that was read (sizes and references may be of different moments); valid: 1 if
 * nobody held the lock meanwhile, so that the copy is of one moment. Whoever
 * reads so keeps nobody waiting, even if it is preempted in the middle. Pairs
 * with the stores of word and count in lock_acquire and lock_release, in the
 * order in which x86 makes them visible.
 */
static inline int lock_peek_begin(const struct lock *lock, u64 *ret_count)
{
	*ret_count = atom_load_acquire(&lock->count);
	return !lock_busy(lock);
}
static inline int lock_peek_valid(const struct lock *lock, u64 count)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !lock_busy(lock) && atom_load_relaxed(&lock->count) == count;
}
/*
 * After a try without success, the first being number 0: 1 if it is worth
 * another, 0 if the lock should be taken, since its owner died, or has it for
 * long. Somebody who only looks (caller.onlooker) waits for that by short
 * sleeps, for up to a second: in the queue it would be woken in turn, and
 * whoever stands behind it would wait for it to run.
 */
int lock_peek_again(struct caller *c, const struct lock *lock, u32 tries);

#endif
