// SPDX-License-Identifier: MIT
/*
 * semget, semop, semtimedop, semctl as programs call them, and the same by
 * number for syscall().
 *
 * They may be called before any constructor and after any destructor, in
 * signal handlers, after fork, in a vfork child. None is a cancellation point.
 * errno is written only on failure.
 *
 * libc's structures are filled here and nowhere below: the x86-64 layouts of
 * glibc and musl are the same (doc/kernel-semantics.md §10.1).
 */
#include <sys/sem.h>
#include "entry/process.h"
#include "entry/sysv.h"
#include "sem/sem.h"
#include "registry/guard.h"

#define LOCAL_VALUES 512u
#define SEMMSL_MAX 65536u /* num is a u16 */

_Static_assert(sizeof(struct sembuf) == sizeof(struct sop), "sembuf");
_Static_assert(sizeof(struct semid_ds) == 104, "semid_ds");
_Static_assert(sizeof(struct seminfo) == sizeof(struct sem_info), "seminfo");

long entry_semget(key_t key, int nsems, int flg)
{
	int err = 0;
	struct caller *c = process_get(&err);

	return c ? sem_get(c, key, nsems, flg) : -err;
}

long entry_semop(int id, const void *sops, unsigned n, const void *timeout)
{
	int err = 0;
	struct caller *c = process_get(&err);

	return likely(c) ? sem_op(c, id, sops, n, timeout) : -err;
}

static int ctl_stat(
	struct caller *c, int id, enum object_by by, struct semid_ds *to)
{
	struct semid_ds ds;
	struct sem_stat st;
	int ret = sem_stat(c, id, by, &st);

	if (ret < 0)
		return ret;
	__builtin_memset(&ds, 0, sizeof(ds));
	sysv_perm(&ds.sem_perm, &st.object);
	ds.sem_otime = st.otime;
	ds.sem_ctime = st.ctime;
	ds.sem_nsems = st.nsems;
	return guard_write(c, to, &ds, sizeof(ds)) ? -EFAULT : ret;
}

static int ctl_set(struct caller *c, int id, const struct semid_ds *from)
{
	struct semid_ds ds;

	if (guard_read(c, &ds, from, sizeof(ds)))
		return -EFAULT;
	return sem_set_perm(
		c, id, ds.sem_perm.uid, ds.sem_perm.gid, ds.sem_perm.mode);
}

static int ctl_info(struct caller *c, int totals, void *to)
{
	struct sem_info info;
	int ret = sem_info(c, totals, &info);

	if (ret < 0)
		return ret;
	return guard_write(c, to, &info, sizeof(info)) ? -EFAULT : ret;
}

static int all_by(
	struct caller *c, int id, int set, u16 *user, u16 *values, u32 n)
{
	int ret;

	if (set) {
		if (guard_read(c, values, user, n * 2UL))
			return -EFAULT;
		return sem_setall(c, id, values, n);
	}
	ret = sem_getall(c, id, values, n);
	if (ret < 0)
		return ret;
	return guard_write(c, user, values, n * 2UL);
}

static __attribute__((noinline)) int all_local(
	struct caller *c, int id, int set, u16 *user, u32 n)
{
	u16 values[LOCAL_VALUES];

	return all_by(c, id, set, user, values, n);
}

/* For more values. */
static int all_mapped(struct caller *c, int id, int set, u16 *user, u32 n)
{
	static void *kept;
	const size_t size = SEMMSL_MAX * sizeof(u16);
	void *values;
	int ret;

	if (n > SEMMSL_MAX)
		return -ENOMEM;
	values = sys_kept_take(&kept, size);
	if ((unsigned long)values > -4096UL)
		return -ENOMEM;
	ret = all_by(c, id, set, user, values, n);
	sys_kept_give(&kept, values, size);
	return ret;
}

static int ctl_all(struct caller *c, int id, int set, u16 *user)
{
	int n = sem_set_size(c, id, set ? 0200 : 0400);

	if (n < 0)
		return n;
	return (u32)n <= LOCAL_VALUES ? all_local(c, id, set, user, n)
				      : all_mapped(c, id, set, user, n);
}

static __attribute__((noinline)) long ctl_other(
	struct caller *c, int id, int num, int cmd, unsigned long arg)
{
	switch (cmd) {
	case GETPID:
		return sem_getpid(c, id, num);
	case GETNCNT:
		return sem_getncnt(c, id, num);
	case GETZCNT:
		return sem_getzcnt(c, id, num);
	case SETVAL:
		return sem_setval(c, id, num, (int)arg);
	case GETALL:
		return ctl_all(c, id, 0, (u16 *)arg);
	case SETALL:
		return ctl_all(c, id, 1, (u16 *)arg);
	case IPC_STAT:
		return ctl_stat(c, id, OBJECT_BY_ID, (void *)arg);
	case SEM_STAT:
		return ctl_stat(c, id, OBJECT_BY_IDX, (void *)arg);
	case SEM_STAT_ANY:
		return ctl_stat(c, id, OBJECT_BY_IDX_ANY, (void *)arg);
	case IPC_SET:
		return ctl_set(c, id, (void *)arg);
	case IPC_RMID:
		return sem_remove(c, id);
	case IPC_INFO:
		return ctl_info(c, 0, (void *)arg);
	case SEM_INFO:
		return ctl_info(c, 1, (void *)arg);
	default:
		return -EINVAL;
	}
}

long entry_semctl(int id, int num, int cmd, unsigned long arg)
{
	int err = 0;
	struct caller *c = process_get(&err);

	if (unlikely(!c))
		return -err;
	if (likely(cmd == GETVAL))
		return sem_getval(c, id, num);
	return id < 0 ? -EINVAL : ctl_other(c, id, num, cmd, arg);
}

/* syscall_served: not served, or the first call of this thread or process. */

EXPORT int semget(key_t key, int nsems, int flg)
{
	struct caller *c = process_get_fast(FAC_SEM);

	if (unlikely(!c))
		return syscall_served(__NR_semget, key, nsems, flg, 0);
	return process_return(sem_get(c, key, nsems, flg));
}

EXPORT int semop(int id, struct sembuf *sops, size_t n)
{
	struct caller *c = process_get_fast(FAC_SEM);

	if (unlikely(!c))
		return syscall_served(
			__NR_semtimedop, id, (long)sops, (long)n, 0);
	return process_return(
		sem_op(c, id, (const struct sop *)sops, (unsigned)n, NULL));
}

EXPORT int semtimedop(
	int id, struct sembuf *sops, size_t n, const struct timespec *timeout)
{
	struct caller *c = process_get_fast(FAC_SEM);

	if (unlikely(!c))
		return syscall_served(__NR_semtimedop, id, (long)sops, (long)n,
			(long)timeout);
	return process_return(sem_op(c, id, (const struct sop *)sops,
		(unsigned)n, (const struct sys_timespec *)timeout));
}

/*
 * Declared variadic by the header; defined with a plain fourth argument, which
 * the x86-64 ABI passes in the same register, whatever the caller gave or left
 * out. A va_list here would save all argument registers on each call.
 */
EXPORT int semctl_export(int id, int num, int cmd, unsigned long arg) __asm__(
	"semctl");
EXPORT int semctl_export(int id, int num, int cmd, unsigned long arg)
{
	struct caller *c = process_get_fast(FAC_SEM);

	if (unlikely(!c))
		return syscall_served(__NR_semctl, id, num, cmd, (long)arg);
	return process_return(likely(cmd == GETVAL)
				      ? sem_getval(c, id, num)
				      : entry_semctl(id, num, cmd, arg));
}
