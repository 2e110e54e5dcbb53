// SPDX-License-Identifier: MIT
/*
 * Robust locks.
 *
 * States of the word:
 *   0                        free
 *   WAITERS                  free; somebody may sleep (the bit is sticky,
 * below) tid                      held, nobody sleeps tid | WAITERS held,
 * somebody may sleep OWNER_DIED [| WAITERS]   the owner died; the next owner
 * repairs first
 *
 * While a lock is wanted or held, the pending entry of the robust list that
 * libc registered for the thread points at it, so the kernel itself marks
 * OWNER_DIED and wakes a sleeper, whatever kills the thread. A thread that
 * holds an outer lock and takes an inner one puts the outer on the list proper
 * meanwhile.
 *
 * What the host had pending is put back at the end: we may be in a signal
 * handler in the middle of its pthread_mutex_lock.
 *
 * The classic unlock to 0 loses a wake-up for ever if the woken sleeper is
 * killed while a third thread barges in (doc/measurements.md §2). Here the
 * WAITERS bit survives the unlock, and whoever slept acquires with the bit set.
 *
 * Order of locks, outer before inner (asserted in debug builds):
 *   facility (sem, msg, shm, mq)  <  task  <  object (slot)  <  heap  <  repair
 */
#ifndef IPCLIFT_REGISTRY_LOCK_H
#define IPCLIFT_REGISTRY_LOCK_H

#include "registry/caller.h"

/*
 * Take the lock; sleeps if it is held. The caller must be enrolled. Begins a
 * section. Returns 0, or 1 if the last owner had died: its unfinished
 * operation has been rolled back, and the object's own repair is the caller's
 * duty before anything else.
 */
int lock_acquire(struct caller *c, struct lock *lock);
/* How long a sleeper sleeps before it looks for a dead owner itself; 50 ms. */
extern struct sys_timespec lock_backstop;

/* Give it back; wakes one sleeper if there may be one. The outermost release
 * also wakes those granted something meanwhile (wait.h). Ends the section. */
void lock_release(struct caller *c, struct lock *lock);

/*
 * Give it back to somebody who was told of the owner's death (lock_acquire
 * returned 1) but cannot do the object's own repair: the next owner is told
 * again.
 */
void lock_pass_on(struct caller *c, struct lock *lock);

/* Times taken since the last reset (inspect/lockview.h). The word itself never goes
 * back, for lock-free readers compare it: a reset goes on to the next multiple
 * of 2^48. */
#define LOCK_COUNT_BITS 48
static inline u64 lock_count(const struct lock *lock)
{
	return atom_load_relaxed(&lock->count) &
	       ((1ULL << LOCK_COUNT_BITS) - 1);
}

/* Where the times of a lock's holds are noted (header.profiling): a hole of the
 * file until then, so caller_room comes first. */
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
 * After a try in vain, the first being number 0: 1 if it is worth another, 0 if
 * the lock should be taken, since its owner died, or has it for long. Somebody
 * who only looks (caller.onlooker) waits for that by short sleeps, for up to a
 * second: in the queue it would be woken in turn, and whoever stands behind it
 * would wait for it to run.
 */
int lock_peek_again(struct caller *c, const struct lock *lock, u32 tries);

/* Robust-list plumbing, also used for lifelines and waiters. The node of a
 * word lies at a distance that the libc has chosen. */
static inline void *robust_node(const struct caller *c, u32 *word)
{
	return (char *)word - c->robust->futex_offset;
}
static inline void robust_push(struct caller *c, u32 *word)
{
	void **node = robust_node(c, word);

	crash_point();
	__atomic_store_n(node, c->robust->next, __ATOMIC_RELEASE);
	__atomic_store_n(&c->robust->next, (void *)node, __ATOMIC_RELEASE);
}
/* Take word's node off again; it was pushed by this thread and is near the
 * head. */
void robust_pop(struct caller *c, u32 *word);
static inline void robust_pend(struct caller *c, u32 *word)
{
	crash_point();
	__atomic_store_n(&c->robust->pending,
		word ? robust_node(c, word) : c->host_pending,
		__ATOMIC_RELEASE);
}

#endif
