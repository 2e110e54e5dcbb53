// SPDX-License-Identifier: MIT
/*
 * The served calls by their raw convention (-errno), for syscall() and the named
 * functions of libc. Arguments, results and errors are those of the kernel's call
 * of that name; pointers are unchecked. A stale caller is set up first, which may
 * fail with the errors of process_caller_slow.
 */
#ifndef IPCLIFT_ENTRY_SYSV_H
#define IPCLIFT_ENTRY_SYSV_H

#include <sys/ipc.h>
#include <sys/types.h>
#include "object/object.h"

/* libc's structure of what every object has; the rest of it is cleared. */
static inline void sysv_perm(
	struct ipc_perm *perm, const struct object_stat *st)
{
	perm->__key = st->key;
	perm->uid = st->uid;
	perm->gid = st->gid;
	perm->cuid = st->cuid;
	perm->cgid = st->cgid;
	perm->mode = st->mode;
	perm->__seq = st->seq;
}

long entry_semget(key_t key, int nsems, int flg);
long entry_semop(int id, const void *sops, unsigned n, const void *timeout);
long entry_semctl(int id, int num, int cmd, unsigned long arg);

long entry_shmget(key_t key, size_t size, int flg);
long entry_shmat(int id, const void *addr, int flg);
long entry_shmdt(const void *addr);
long entry_shmctl(int id, int cmd, void *buf);
long entry_mq_open(
	const char *name, int oflag, unsigned mode, const void *attr);
long entry_mq_unlink(const char *name);
long entry_mq_send(int fd, const char *text, size_t len, unsigned prio,
	const void *timeout);
long entry_mq_receive(
	int fd, char *text, size_t len, unsigned *prio, const void *timeout);
/* named: by mq_notify(3), which knows SIGEV_THREAD. */
long entry_mq_notify(int fd, const void *user, int named);
long entry_mq_setattr(int fd, const void *set, void *old);

long entry_msgget(key_t key, int flg);
long entry_msgsnd(
	int id, const void *msg, size_t size, int flg, int cancellable);
long entry_msgrcv(
	int id, void *msg, size_t size, long type, int flg, int cancellable);
long entry_msgctl(int id, int cmd, void *buf);

/* Those of sem.c and shm.c by number: to the kernel, if they are not served.
 * errno is set (syscall.c). */
long syscall_served(long nr, long a, long b, long c, long d);

/* The calls of mapping.c by number; fork, or clone without CLONE_VM and without
 * a stack of the child's own (fork.c). new_ipc: with CLONE_NEWIPC. */
long entry_mapping(long nr, long a, long b, long c, long d, long e, long f);
long entry_fork(long nr, long a, long b, long c, long d, long e, int new_ipc);
/* unshare and setns (namespace.c). */
long entry_moving(long nr, long a, long b);

#endif
