// SPDX-License-Identifier: MIT
/*
 * A set's body and its words, its lock, and who is let through after a change:
 * what the files of this folder share. Where the functions are:
 *
 * sem.c     sem_lock_reaped, sem_finish_removal
 * semall.c  sem_crash_guard_any, sem_setall_rest, sem_warm
 * semop.c   sem_lock, sem_lock_any, sem_unlock, sem_own
 * semwake.c the others
 */
#ifndef IPCLIFT_SEM_SEMSET_H
#define IPCLIFT_SEM_SEMSET_H

#include "object/object.h"
#include "index/ids.h"
#include "registry/lock.h"
#include "sem/semvalue.h"

#define SEM_IPC_CREAT 01000
#define SEM_IPC_EXCL 02000
#define SEM_IPC_NOWAIT 04000
#define SEM_FLG_UNDO 0x1000
/* Arbitrary, semop reaches no more than 65,536: so many lie within damage.h's
 * REACH, with their adjustments. More are ENOMEM. */
#define SEMS_MOST (1u << 18)
/* Operations in one call, the same. */
#define SOPS_MOST (1u << 21)
_Static_assert((SEMS_MOST + 2) * sizeof(struct sem) < REACH &&
		       SOPS_MOST * sizeof(struct sop) < REACH,
	"reach");

/* Bytes of a set's body. */
static inline u64 sem_body_size(u64 nsems)
{
	return nsems == 1 ? BODY_SIZE
			  : sizeof(struct sem) + nsems * sizeof(struct sem);
}
/* Its semaphores: no more, whatever becomes of the word. */
static inline u32 sem_count(const struct slot *s)
{
	u32 n = atom_load_relaxed(&s->size);

	return likely(n <= SEMS_MOST) ? n : 0;
}
static inline struct semset *sem_body(
	const struct caller *c, const struct slot *s)
{
	u32 n = sem_count(s);

	return n ? region_span(
			   &c->region, ref_relaxed(&s->body), sem_body_size(n))
		 : NULL;
}
/* Where semaphore num of a set with this body stands (sem_array), and whether
 * that is among the sets at all: for those who do not ask for the body. */
static inline u64 sem_off(u64 body, u64 num)
{
	return ((body + sizeof(struct semset) + SEM_USED - 1) &
		       ~(u64)(SEM_USED - 1)) +
	       num * sizeof(struct sem);
}
static inline int sem_off_nowhere(u64 off)
{
	return off - SETS_OFF >= HEAP_END - SETS_OFF;
}
/* At its own place (BODY_OFF) a set is followed by its semaphore at once, in
 * the heap by its first at the second line. */
static inline struct sem *sem_array(struct semset *set)
{
	uintptr_t at = (uintptr_t)(set + 1) + SEM_USED - 1;

	return (struct sem *)(at & ~(uintptr_t)(SEM_USED - 1));
}

/* A word's new content: what identifies the set stays. */
static inline u64 lo_make(u64 old, u32 value, u32 pid)
{
	return (u64)pid << 32 | (old & 0xffff0000ULL) | value;
}
/* The same after an operation that leaves the value within its range. */
static inline u64 lo_add(u64 old, s32 op, u32 pid)
{
	return (u64)pid << 32 | ((u32)old + (u32)op);
}
static inline u64 hi_stamp(u64 hi, s64 now)
{
	return (hi & ~SEM_OTIME_MASK) | ((u64)now & SEM_OTIME_MASK);
}

/* Take a set's lock and finish what a dead owner left. 0 or -EIDRM if the set
 * is not the one of ident any more (the lock is then not held). */
int sem_lock(struct caller *c, struct slot *s, u64 ident);
void sem_unlock(struct caller *c, struct slot *s);
/* The same for a slot whatever stands in it: takes the lock in any case. */
void sem_lock_any(struct caller *c, struct slot *s);
/* The same but for the pass: for who is in one, after lock_pause. */
void sem_lock_again(struct caller *c, struct slot *s);

/*
 * Take the set's lock with no exited process holding undo on it. all: reap also
 * those that hold nothing at the moment (IPC_STAT shows the time of their end).
 * -EINVAL, -EIDRM.
 */
int sem_lock_reaped(struct caller *c, struct slot *s, u64 ident, int all,
	struct semset **ret);

/* Make the semaphore's words the lock holder's. */
void sem_own(struct sem *sem);
/* Let callers without the lock use the word again. Does nothing if that was done
 * in a pause of our pass: they may be changing it by now. */
static inline void sem_disown(struct sem *sem)
{
	u64 lo = atom_load_relaxed(&sem->lo);

	if (likely(lo & SEM_OWNED))
		atom_store_release(&sem->lo, lo & ~SEM_OWNED);
}

/*
 * Try all sleepers that a change of the named semaphores may let through
 * (§4.4); nums NULL = all semaphores of the set. The lock is held, nothing is
 * journaled. Clears pass_pending.
 *
 * After HOLD_LEAVES sleepers others may have the lock (lock_pause). Whoever
 * takes it finds pass_pending and finishes the pass (sem_lock_any) before doing
 * anything else, and a reader without the lock finds it busy: so nobody sees values
 * in between, and the order is that of a single pass, which starts again at the
 * first sleeper after each one that was let through.
 *
 * -EIDRM: the set was removed meanwhile, and set is not to be touched; the
 * slot's lock is held all the same.
 */
int sem_pass(struct caller *c, struct slot *s, struct semset *set,
	const u16 *nums, u32 n);
/* Before a change that may let sleepers through is committed: see
 * wait_crash_guard.
 */
void sem_crash_guard(struct caller *c, struct slot *s, struct semset *set,
	const u16 *nums, u32 n);
/* The same if any sleeper will do: `sleeper` is the index of a thread that may be
 * one, or 0. The set has a sleeper. */
void sem_crash_guard_any(
	struct caller *c, struct slot *s, struct semset *set, u32 sleeper);
/* The owner of the lock died in the midst of a SETALL: store the rest of its
 * values. Slot lock held. */
void sem_setall_rest(struct caller *c, struct slot *s, struct semset *set);
/* Prefetch what a removal will read under its locks; a hint. */
void sem_warm(struct caller *c, s32 id);
/* Finish a removal that its dead owner began. No lock may be held. */
void sem_finish_removal(struct caller *c);
/* Take a queued waiter out with a result, and take on the wake obligation for it;
 * an operation of its own. */
void sem_cancel(struct caller *c, const struct slot *s, struct semset *set,
	struct waiter *w, s32 result);
/* End every sleeper with a result (RMID), or HOLD_LEAVES of them: then 1. */
int sem_cancel_some(
	struct caller *c, struct slot *s, struct semset *set, s32 result);
/* Sleepers counted at semaphore num: those blocked at an op < 0, or at 0. */
u32 sem_count_blocked(struct caller *c, struct slot *s, struct semset *set,
	u32 num, int at_zero);

#endif
