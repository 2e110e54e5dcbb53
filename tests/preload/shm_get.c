// SPDX-License-Identifier: MIT
/*
 * shm_get: shmget's errors in their order, sizes, and what a new segment
 * looks like (H1).
 */
#include "shm.h"

#define KEY 0x5eed0001

static void order(void)
{
	int id;

	t_story("not found, found");
	t_err(shmget(KEY, 0, 0), ENOENT);
	t_err(shmget(KEY, 4096, 0600), ENOENT);
	id = shmget(KEY, 5000, IPC_CREAT | 0640);
	t_true(id >= 0);
	t_err(shmget(KEY, 9999, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	t_err(shmget(KEY, 5001, 0), EINVAL);
	t_true(shmget(KEY, 5000, 0) == id);
	t_true(shmget(KEY, 0, IPC_EXCL) == id);
	t_true(shmget(KEY, 1, IPC_CREAT | 0600) == id);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(shmget(KEY, 5001, 0600), EINVAL);
		t_err(shmget(KEY, 5000, 0600), EACCES);
		t_true(shmget(KEY, 5000, 0) == id);
	}
	s_rm(id);
	t_err(shmget(KEY, 0, 0), ENOENT);
}

static void sizes(void)
{
	struct shminfo info;

	t_story("sizes of a new one");
	t_err(shmget(KEY, 0, IPC_CREAT | 0600), EINVAL);
	t_err(shmget(IPC_PRIVATE, 0, 0600), EINVAL);
	t_err(shmget(IPC_PRIVATE, (size_t)-1, 0600), EINVAL);
	t_true(shmctl(0, IPC_INFO, (void *)&info) == 0);
	t_err(shmget(IPC_PRIVATE, info.shmmax + 1, 0600), EINVAL);
	t_err(shmget(IPC_PRIVATE, 1ul << 62, 0600), ENOMEM);
	for (size_t size = 1; size < 20000; size = size * 3 + 1) {
		int id = s_seg(size);

		t_quiet(s_stat(id).shm_segsz == size);
		t_quiet(shmctl(id, IPC_RMID, NULL) == 0);
	}
}

static void fresh(void)
{
	struct shmid_ds ds;
	char *p;
	int id, sum = 0;

	t_story("a new segment of 5000 bytes");
	id = shmget(IPC_PRIVATE, 5000, IPC_CREAT | IPC_EXCL | 0123450 | 0640);
	ds = s_stat(id);
	t_eq(ds.shm_segsz, 5000);
	t_eq(ds.shm_nattch, 0);
	t_eq(ds.shm_perm.mode, 0650);
	t_eq(ds.shm_perm.__key, 0);
	t_eq(ds.shm_atime, 0);
	t_eq(ds.shm_dtime, 0);
	t_eq(ds.shm_lpid, 0);
	t_true(ds.shm_cpid == getpid());
	t_true(ds.shm_ctime >= time(NULL) - 2);
	p = s_at(id);
	for (int i = 0; i < 8192; i++)
		sum += p[i];
	t_eq(sum, 0);
	p[8191] = 7;
	ds = s_stat(id);
	t_eq(ds.shm_nattch, 1);
	t_true(ds.shm_lpid == getpid());
	t_true(ds.shm_atime >= time(NULL) - 2);
	t_eq(ds.shm_dtime, 0);
	t_eq(shmdt(p), 0);
	p = s_at(id);
	t_eq(p[8191], 7);
	t_eq(shmdt(p), 0);
	s_rm(id);
}

/* What one segment held is not seen in the next. */
static void zeroed(void)
{
	t_story("again and again, other sizes: always zero");
	for (int round = 0; round < 200; round++) {
		size_t size = 1 + (size_t)round * 7919 % 700000;
		int id = s_seg(size);
		char *p = s_at(id);
		size_t len = (size + 4095) / 4096 * 4096, i;

		for (i = 0; i < len && !p[i]; i++)
			;
		t_quiet(i == len);
		if (round % 3)
			memset(p, 0x5a, len);
		else
			p[round * 131 % size] = 1;
		t_quiet(shmctl(id, IPC_RMID, NULL) == 0);
		t_quiet(shmdt(p) == 0);
	}
}

static void ids(void)
{
	int id[66];

	t_story("ids are cyclic");
	for (int i = 0; i < 66; i++) {
		id[i] = s_seg(1);
		t_quiet(shmctl(id[i], IPC_RMID, NULL) == 0);
	}
	t_true(id[1] - id[0] == 1 || id[0] % 32768 == 63);
	t_true(id[64] / 32768 > id[0] / 32768);
}

int main(void)
{
	t_begin();
	order();
	sizes();
	fresh();
	zeroed();
	ids();
	return s_end();
}
