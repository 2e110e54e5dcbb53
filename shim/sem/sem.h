// SPDX-License-Identifier: MIT
/*
 * System V semaphores: doc/kernel-semantics.md §4. All functions return a
 * count, an id or 0, or -errno; struct sop has the layout of struct sembuf.
 *
 * sem.c    finding, creating, removing, semctl's commands
 * semall.c GETALL and SETALL
 * semop.c  executing operation arrays, sleeping, waking
 * undo.c   SEM_UNDO records and their application
 */
#ifndef IPCLIFT_SEM_SEM_H
#define IPCLIFT_SEM_SEM_H

#include "object/object.h"
#include "index/ids.h"
#include "registry/lock.h"

#define SEMVMX 32767
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

/* semget(2): the id. -EINVAL -ENOENT -EEXIST -EACCES -ENOSPC -ENOMEM. */
int sem_get(struct caller *c, s32 key, s32 nsems, s32 flg);

/*
 * semtimedop(2). user and timeout are the caller's pointers, unchecked; n is
 * already the kernel's unsigned int. Errors in the order of §4.2: -EFAULT
 * -E2BIG -EINVAL -ENOMEM -EFBIG -EACCES -EIDRM -ERANGE -EAGAIN -EINTR.
 * Without a wait, a waiter or undo: one compare-and-swap, no system call.
 */
int sem_op(struct caller *c, s32 id, const struct sop *user, u32 n,
	const struct sys_timespec *timeout);

struct sem_info {
	s32 semmap, semmni, semmns, semmnu, semmsl, semopm, semume, semusz,
		semvmx, semaem;
};
struct sem_stat {
	OBJECT_STAT;
	s64 otime;
	u32 nsems;
};

/* The commands of semctl(2), §4.7; id < 0 is -EINVAL in each. */
int sem_getval(struct caller *c, s32 id, s32 num);
int sem_getpid(struct caller *c, s32 id, s32 num);
int sem_getncnt(struct caller *c, s32 id, s32 num);
int sem_getzcnt(struct caller *c, s32 id, s32 num);
/* Number of values written to ret (room for the set's size: ask
 * sem_set_size first). */
int sem_set_size(struct caller *c, s32 id, u32 want);
int sem_getall(struct caller *c, s32 id, u16 *ret, u32 n);
int sem_setval(struct caller *c, s32 id, s32 num, s32 val);
int sem_setall(struct caller *c, s32 id, const u16 *values, u32 n);
int sem_stat(struct caller *c, s32 id, enum object_by by, struct sem_stat *ret);
int sem_set_perm(struct caller *c, s32 id, u32 uid, u32 gid, u32 mode);
int sem_remove(struct caller *c, s32 id);
/* totals: SEM_INFO instead of IPC_INFO. Returns the highest index in use. */
int sem_info(struct caller *c, int totals, struct sem_info *ret);

/* ---- between the files of this module ---- */

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

	return n ? region_span(&c->region, s->body, sem_body_size(n)) : NULL;
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

/* Take a set's lock and finish what a dead owner left. 0 or -EIDRM if the set
 * is not the one of ident any more (the lock is then not held). */
int sem_lock(struct caller *c, struct slot *s, u64 ident);
void sem_unlock(struct caller *c, struct slot *s);
/* The same for a slot whatever stands in it: takes the lock in any case. */
void sem_lock_any(struct caller *c, struct slot *s);

/*
 * Take the set's lock, with nobody dead holding undo on it. all: also those who
 * hold nothing at the moment (the time of their end shows in IPC_STAT). -EINVAL,
 * -EIDRM.
 */
int sem_lock_reaped(struct caller *c, struct slot *s, u64 ident, int all,
	struct semset **ret);

/* Make the semaphore's words the lock holder's. */
void sem_own(struct sem *sem);

/* Try all sleepers that a change of the named semaphores may let through
 * (§4.4); nums NULL = all semaphores of the set. The lock is held, nothing is
 * journaled. Clears pass_pending. */
void sem_pass(struct caller *c, struct slot *s, struct semset *set,
	const u16 *nums, u32 n);
/* Before a change that may let sleepers through is committed: see wait_alarm.
 */
void sem_alarm(struct caller *c, struct slot *s, struct semset *set,
	const u16 *nums, u32 n);
/* The same if it does not matter who: sleeper is a thread's index that may be one
 * of them, or 0. The set has a sleeper. */
void sem_alarm_any(
	struct caller *c, struct slot *s, struct semset *set, u32 sleeper);
/* The owner of the lock died in the midst of a SETALL: store the rest of its
 * values. Slot lock held. */
void sem_setall_rest(struct caller *c, struct slot *s, struct semset *set);
/* Fetch what a removal will look at under its locks; a hint. */
void sem_warm(struct caller *c, s32 id);
/* Finish a removal that its dead owner began. No lock may be held. */
void sem_finish_removal(struct caller *c);
/* Take a queued waiter out with a result and promise it a wake-up; an
 * operation of its own. */
void sem_dismiss(
	struct caller *c, struct semset *set, struct waiter *w, s32 result);
/* End every sleeper with a result (RMID). */
void sem_dismiss_all(
	struct caller *c, struct slot *s, struct semset *set, s32 result);
/* Sleepers counted at semaphore num: those blocked at an op < 0, or at 0. */
u32 sem_count_blocked(struct caller *c, struct slot *s, struct semset *set,
	u32 num, int at_zero);

#endif
