// SPDX-License-Identifier: MIT
/*
 * shmget, shmat, shmdt, shmctl as programs call them, and the same by number
 * for syscall(). What entry/sem.c says about when they may be called holds
 * here too. None is a cancellation point.
 */
#include <stdarg.h>
#include <sys/shm.h>
#include "entry/process.h"
#include "entry/sysv.h"
#include "shm/shm.h"
#include "registry/guard.h"

/* libc's names carry __; the layouts are those of the kernel (§10.1). */
struct entry_shminfo {
	unsigned long shmmax, shmmin, shmmni, shmseg, shmall, reserved[4];
};
struct entry_shm_info {
	int used_ids;
	int pad;
	unsigned long tot, rss, swp, attempts, successes;
};
_Static_assert(sizeof(struct shmid_ds) == 112, "shmid_ds");
_Static_assert(sizeof(struct entry_shminfo) == 72, "shminfo");
_Static_assert(sizeof(struct entry_shm_info) == 48, "shm_info");

long entry_shmget(key_t key, size_t size, int flg)
{
	int err = 0;
	struct caller *c = process_get(&err);

	return c ? shm_get(c, key, size, flg) : -err;
}

long entry_shmat(int id, const void *addr, int flg)
{
	int err = 0;
	struct caller *c = process_get(&err);
	u64 at = 0;

	if (!c)
		return -err;
	err = shm_at(c, id, (u64)addr, flg, &at);
	return err ? err : (long)at;
}

/* Of a registry that the process used in another IPC namespace, perhaps. */
static __attribute__((noinline)) long detach_elsewhere(
	struct caller *c, const void *addr)
{
	long ret = -EINVAL;
	u32 at = 0;

	while (ret == -EINVAL && process_enter_other(c, &at))
		ret = shm_dt(c, (u64)addr);
	return at ? process_home(ret) : ret;
}

static long detach(struct caller *c, const void *addr)
{
	long ret = shm_dt(c, (u64)addr);

	return likely(!ret) ? ret : detach_elsewhere(c, addr);
}

long entry_shmdt(const void *addr)
{
	int err = 0;
	struct caller *c = process_get(&err);

	return c ? detach(c, addr) : -err;
}

static int ctl_stat(
	struct caller *c, int id, enum object_by by, struct shmid_ds *to)
{
	struct shmid_ds ds;
	struct shm_stat st;
	int ret = shm_stat(c, id, by, &st);

	if (ret < 0)
		return ret;
	__builtin_memset(&ds, 0, sizeof(ds));
	sysv_perm(&ds.shm_perm, &st.object);
	ds.shm_segsz = st.size;
	ds.shm_atime = st.atime;
	ds.shm_dtime = st.dtime;
	ds.shm_ctime = st.ctime;
	ds.shm_cpid = st.cpid;
	ds.shm_lpid = st.lpid;
	ds.shm_nattch = st.nattch;
	return guard_write(c, to, &ds, sizeof(ds)) ? -EFAULT : ret;
}

static int ctl_set(struct caller *c, int id, const struct shmid_ds *from)
{
	struct shmid_ds ds;

	if (guard_read(c, &ds, from, sizeof(ds)))
		return -EFAULT;
	return shm_set_perm(
		c, id, ds.shm_perm.uid, ds.shm_perm.gid, ds.shm_perm.mode);
}

static int ctl_limits(struct caller *c, void *to)
{
	struct entry_shminfo info = {.shmmin = 1};
	struct shm_totals sum;
	int ret = shm_info(c, 0, &sum);

	if (ret < 0)
		return ret;
	info.shmmax = sum.max;
	info.shmmni = info.shmseg = sum.mni;
	info.shmall = sum.all;
	return guard_write(c, to, &info, sizeof(info)) ? -EFAULT : ret;
}

static int ctl_totals(struct caller *c, void *to)
{
	struct entry_shm_info info = {.pad = 0};
	struct shm_totals sum;
	int ret = shm_info(c, 1, &sum);

	if (ret < 0)
		return ret;
	info.used_ids = (int)sum.used;
	info.tot = sum.pages;
	info.rss = sum.resident;
	return guard_write(c, to, &info, sizeof(info)) ? -EFAULT : ret;
}

long entry_shmctl(int id, int cmd, void *buf)
{
	int err = 0;
	struct caller *c = process_get(&err);

	if (!c)
		return -err;
	if (id < 0 || cmd < 0)
		return -EINVAL;
	switch (cmd) {
	case IPC_STAT:
		return ctl_stat(c, id, OBJECT_BY_ID, buf);
	case SHM_STAT:
		return ctl_stat(c, id, OBJECT_BY_IDX, buf);
	case SHM_STAT_ANY:
		return ctl_stat(c, id, OBJECT_BY_IDX_ANY, buf);
	case IPC_SET:
		return ctl_set(c, id, buf);
	case IPC_RMID:
		return shm_remove(c, id);
	case SHM_LOCK:
		return shm_set_locked(c, id, 1);
	case SHM_UNLOCK:
		return shm_set_locked(c, id, 0);
	case IPC_INFO:
		return ctl_limits(c, buf);
	case SHM_INFO:
		return ctl_totals(c, buf);
	default:
		return -EINVAL;
	}
}

/* syscall_served: not served, or the first call of this thread or process. */

EXPORT int shmget(key_t key, size_t size, int flg)
{
	struct caller *c = process_get_fast(FAC_SHM);

	if (unlikely(!c))
		return syscall_served(__NR_shmget, key, (long)size, flg, 0);
	return process_return(shm_get(c, key, size, flg));
}

EXPORT void *shmat(int id, const void *addr, int flg)
{
	struct caller *c = process_get_fast(FAC_SHM);
	u64 at = 0;
	long err;

	if (unlikely(!c))
		return (void *)syscall_served(
			__NR_shmat, id, (long)addr, flg, 0);
	err = shm_at(c, id, (u64)addr, flg, &at);
	return (void *)process_return(err ? err : (long)at);
}

EXPORT int shmdt(const void *addr)
{
	struct caller *c = process_get_fast(FAC_SHM);

	if (unlikely(!c))
		return syscall_served(__NR_shmdt, (long)addr, 0, 0, 0);
	return process_return(detach(c, addr));
}

EXPORT int shmctl(int id, int cmd, struct shmid_ds *buf)
{
	return syscall_served(__NR_shmctl, id, cmd, (long)buf, 0);
}
