// SPDX-License-Identifier: MIT
/*
 * shm_ctl: shmctl's commands, the structures whole, and syscall().
 */
#include "shm.h"
#include <sys/resource.h>

#define KEY 0x5eed0003
#ifndef SHM_STAT_ANY
#define SHM_STAT_ANY 15
#endif

static int id;

static void errors(void)
{
	struct shmid_ds ds;

	t_story("errors");
	t_err(shmctl(-1, IPC_STAT, &ds), EINVAL);
	t_err(shmctl(-1, IPC_INFO, &ds), EINVAL);
	t_err(shmctl(id, -1, &ds), EINVAL);
	t_err(shmctl(id, 99, &ds), EINVAL);
	t_err(shmctl(id + 32768, IPC_STAT, &ds), EINVAL);
	t_err(shmctl(id + 32768, IPC_RMID, NULL), EINVAL);
	t_err(shmctl(id, IPC_STAT, t_kernel_half()), EFAULT);
	t_err(shmctl(id, IPC_SET, t_kernel_half()), EFAULT);
	t_err(shmctl(id + 32768, IPC_SET, t_kernel_half()), EFAULT);
	t_err(shmctl(0, IPC_INFO, t_kernel_half()), EFAULT);
	t_err(shmctl(0, SHM_INFO, t_kernel_half()), EFAULT);
	t_err(shmctl(id + 1, SHM_STAT, &ds), EINVAL);
}

static void stat_whole(void)
{
	struct shmid_ds ds = s_stat(id);

	t_story("IPC_STAT");
	t_eq(ds.shm_perm.__key, KEY);
	t_eq(ds.shm_perm.__seq, id / 32768);
	t_eq(ds.shm_perm.mode, 0640);
	t_eq(ds.shm_perm.uid, 0);
	t_eq(ds.shm_perm.cgid, 0);
	t_eq(ds.shm_segsz, 10000);
	t_eq(shmctl(id, SHM_STAT, &ds), id);
	t_eq(shmctl(id + 32768, SHM_STAT, &ds), id);
	t_eq(ds.shm_segsz, 10000);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(shmctl(id, SHM_STAT, &ds), EACCES);
		t_eq(shmctl(id, SHM_STAT_ANY, &ds), id);
		t_eq(ds.shm_perm.mode, 0640);
	}
}

static void set(void)
{
	struct shmid_ds ds;

	t_story("IPC_SET");
	memset(&ds, 0xff, sizeof(ds));
	ds.shm_perm.uid = 12;
	ds.shm_perm.gid = 34;
	t_eq(shmctl(id, IPC_SET, &ds), 0);
	ds = s_stat(id);
	t_eq(ds.shm_perm.uid, 12);
	t_eq(ds.shm_perm.gid, 34);
	t_eq(ds.shm_perm.cuid, 0);
	t_eq(ds.shm_perm.mode, 0777);
	t_eq(ds.shm_segsz, 10000);
	ds.shm_perm.uid = (uid_t)-1;
	t_err(shmctl(id, IPC_SET, &ds), EINVAL);
	ds.shm_perm.uid = 0;
	ds.shm_perm.gid = 0;
	ds.shm_perm.mode = 0640;
	t_eq(shmctl(id, IPC_SET, &ds), 0);
}

static void info(void)
{
	struct shminfo lim;
	struct shm_info sum;
	int other = s_seg(PAGE);
	char *p;

	t_story("IPC_INFO, SHM_INFO");
	memset(&lim, 0xaa, sizeof(lim));
	t_eq(shmctl(0, IPC_INFO, (void *)&lim), 1);
	t_eq(lim.shmmax, -16777217);
	t_eq(lim.shmall, -16777217);
	t_eq(lim.shmmin, 1);
	t_eq(lim.shmmni, 4096);
	t_eq(lim.shmseg, 4096);
	memset(&sum, 0xaa, sizeof(sum));
	t_eq(shmctl(0, SHM_INFO, (void *)&sum), 1);
	t_eq(sum.used_ids, 2);
	t_eq(sum.shm_tot, 4);
	t_eq(sum.shm_rss, 0);
	t_eq(sum.shm_swp, 0);
	t_eq(sum.swap_attempts, 0);
	t_eq(sum.swap_successes, 0);
	p = s_at(other);
	p[0] = 1;
	t_eq(shmctl(0, SHM_INFO, (void *)&sum), 1);
	t_eq(sum.shm_rss, 1);
	t_eq(shmdt(p), 0);
	s_rm(other);
	t_eq(shmctl(0, SHM_INFO, (void *)&sum), 0);
	t_eq(sum.used_ids, 1);
	t_eq(sum.shm_rss, 0);
}

static void locked(void)
{
	struct rlimit small = {PAGE, PAGE}, none = {0, 0};
	long ctime = s_stat(id).shm_ctime;
	int mine = shmget(KEY + 1, 3 * PAGE, IPC_CREAT | 0600);

	t_story("SHM_LOCK");
	t_eq(shmctl(id, SHM_LOCK, NULL), 0);
	t_eq(s_stat(id).shm_perm.mode, 02640);
	t_eq(shmctl(id, SHM_LOCK, NULL), 0);
	t_eq(shmctl(id, SHM_UNLOCK, NULL), 0);
	t_eq(shmctl(id, SHM_UNLOCK, NULL), 0);
	t_eq(s_stat(id).shm_perm.mode, 0640);
	t_true(s_stat(id).shm_ctime == ctime);
	t_err(shmctl(id + 32768, SHM_LOCK, NULL), EINVAL);
	t_eq(shmctl(mine, IPC_SET,
		     &(struct shmid_ds){
			     .shm_perm = {.uid = T_OTHER_UID, .mode = 0600}}),
		0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		setrlimit(RLIMIT_MEMLOCK, &small);
		t_err(shmctl(mine, SHM_LOCK, NULL), ENOMEM);
		t_err(shmctl(id, SHM_LOCK, NULL), EPERM);
		setrlimit(RLIMIT_MEMLOCK, &none);
		t_err(shmctl(mine, SHM_LOCK, NULL), EPERM);
		t_eq(shmctl(mine, SHM_UNLOCK, NULL), 0);
	}
	t_eq(shmctl(mine, IPC_RMID, NULL), 0);
}

static void huge(void)
{
	t_story("SHM_HUGETLB");
	t_err(shmget(IPC_PRIVATE, PAGE, SHM_HUGETLB | 7 << 26 | 0600), EINVAL);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(shmget(IPC_PRIVATE, 2 << 20, SHM_HUGETLB | 0600), EPERM);
	}
}

static void by_number(void)
{
	struct shmid_ds ds;
	char *p;
	int seg = (int)syscall(SYS_shmget, IPC_PRIVATE, PAGE, 0600);

	t_story("syscall()");
	t_true(seg >= 0);
	p = (char *)syscall(SYS_shmat, seg, NULL, 0);
	t_true(p != BAD);
	p[0] = 1;
	t_eq(syscall(SYS_shmctl, seg, IPC_STAT, &ds), 0);
	t_eq(ds.shm_nattch, 1);
	t_eq(syscall(SYS_shmdt, p), 0);
	t_err(syscall(SYS_shmdt, p), EINVAL);
	t_eq(syscall(SYS_shmctl, seg, IPC_RMID, NULL), 0);
	t_err(syscall(SYS_shmat, seg, NULL, 0), EINVAL);
}

int main(void)
{
	t_begin();
	id = shmget(KEY, 10000, IPC_CREAT | 0640);
	t_true(id >= 0);
	errors();
	stat_whole();
	set();
	info();
	locked();
	huge();
	by_number();
	s_rm(id);
	return s_end();
}
