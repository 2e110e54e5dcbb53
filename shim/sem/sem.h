// SPDX-License-Identifier: MIT
/*
 * System V semaphores: doc/kernel-semantics.md §4. All functions return a
 * count, an id or 0, or -errno; struct sop has the layout of struct sembuf.
 *
 * sem.c      finding, creating, removing, semctl's commands
 * semall.c   GETALL and SETALL
 * semfast.c  semop without the lock, or else semop.c
 * semop.c    semop with the lock: checks, sleeping, what follows a commit
 * semarray.c one array of operations on the values
 * semwake.c  the queues of sleepers, and who is let through after a change
 * undo.c     SEM_UNDO records and their application
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
 * Without a wait and a sleeper: no system call. Without the lock by the thread
 * that the set is biased to (plain stores), and for a single operation without
 * undo (one compare-and-swap).
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

/* The commands of semctl(2), §4.7; id < 0 is -EINVAL in each. All: -EINVAL, -EIDRM,
 * -EACCES (of set_perm and remove -EPERM), -ENOMEM of enrolling. No lock may be
 * held. */
/* Of semaphore num: value, pid of the last operation, sleepers until it rises and
 * until it is 0. */
int sem_getval(struct caller *c, s32 id, s32 num);
int sem_getpid(struct caller *c, s32 id, s32 num);
int sem_getncnt(struct caller *c, s32 id, s32 num);
int sem_getzcnt(struct caller *c, s32 id, s32 num);
/* Number of semaphores, for who has the rights `want` (PERM_*). */
int sem_set_size(struct caller *c, s32 id, u32 want);
/* 0, or -ERANGE for a value above SEMVMX. */
int sem_setval(struct caller *c, s32 id, s32 num, s32 val);
/* All values, of one moment; n is what sem_set_size said, which has asked for the
 * rights: -EIDRM if it is not the set's size any more. getall: n; setall: 0, or
 * -ERANGE for a value above SEMVMX. */
int sem_getall(struct caller *c, s32 id, u16 *ret, u32 n);
int sem_setall(struct caller *c, s32 id, const u16 *values, u32 n);
/* IPC_STAT and its kin: 0, or the id if it was named by index. */
int sem_stat(struct caller *c, s32 id, enum object_by by, struct sem_stat *ret);
int sem_set_perm(struct caller *c, s32 id, u32 uid, u32 gid, u32 mode);
int sem_remove(struct caller *c, s32 id);
/* totals: SEM_INFO instead of IPC_INFO. Returns the highest index in use. */
int sem_info(struct caller *c, int totals, struct sem_info *ret);

#endif
