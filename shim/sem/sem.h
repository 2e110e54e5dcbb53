// SPDX-License-Identifier: MIT
/*
 * System V semaphores: doc/kernel-semantics.md §4. All functions return a
 * count, an id or 0, or -errno; struct sop has the layout of struct sembuf.
 *
 * sem.c    finding, creating, removing, semctl's commands
 * semall.c GETALL and SETALL
 * semop.c  executing operation arrays, sleeping, waking
 * undo.c   SEM_UNDO records and their application
 *
 * What they share is in semset.h and semop.h.
 */
#ifndef IPCLIFT_SEM_SEM_H
#define IPCLIFT_SEM_SEM_H

#include "sem/semset.h"

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
/* Number of values written to ret (space for the set's size: ask
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

#endif
