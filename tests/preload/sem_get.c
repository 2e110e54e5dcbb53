// SPDX-License-Identifier: MIT
/*
 * sem_get: semget's flags, its errors in their order, and who gets an id.
 */
#include "t.h"

#define KEY 0x7e01

static void making(void)
{
	int id;

	t_story("the order of checks without a set");
	t_err(semget(KEY, -1, 0), EINVAL);
	t_err(semget(KEY, 32001, 0), EINVAL);
	t_err(semget(KEY, 32001, IPC_CREAT | 0600), EINVAL);
	t_err(semget(KEY, INT_MAX, IPC_CREAT | 0600), EINVAL);
	t_err(semget(KEY, INT_MIN, IPC_CREAT | 0600), EINVAL);
	t_err(semget(IPC_PRIVATE, -1, 0600), EINVAL);
	t_err(semget(KEY, 1, 0), ENOENT);
	t_err(semget(KEY, 0, 0600), ENOENT);
	t_err(semget(KEY, 32000, IPC_EXCL), ENOENT);
	t_err(semget(KEY, 0, IPC_CREAT | 0600), EINVAL);
	t_err(semget(KEY, 0, IPC_CREAT | IPC_EXCL | 0600), EINVAL);
	t_err(semget(IPC_PRIVATE, 0, 0600), EINVAL);
	t_story("a new set is all zero");
	id = semget(KEY, 5, IPC_CREAT | IPC_EXCL | 0600);
	t_eq(id, 0);
	t_row(id, GETVAL, "0 0 0 0 0");
	t_row(id, GETNCNT, "0 0 0 0 0");
	t_row(id, GETZCNT, "0 0 0 0 0");
	for (int i = 0; i < 5; i++)
		t_pid_is(id, i, 0);
	t_err(semctl(id, 5, GETVAL), EINVAL);
	t_true(t_stat(id).sem_otime == 0 && t_stat(id).sem_ctime != 0);
}

static void finding(void)
{
	t_story("the order of checks with a set of 5");
	t_eq(semget(KEY, 5, 0), 0);
	t_eq(semget(KEY, 3, 0), 0);
	t_eq(semget(KEY, 0, 0), 0);
	t_eq(semget(KEY, 0, IPC_CREAT), 0);
	t_eq(semget(KEY, 5, IPC_CREAT | 0600), 0);
	t_eq(semget(KEY, 5, IPC_EXCL | 0600), 0);
	t_eq(semget(KEY, 1, 0666), 0);
	t_err(semget(KEY, 32001, 0), EINVAL);
	t_err(semget(KEY, 32001, IPC_CREAT | IPC_EXCL), EINVAL);
	t_err(semget(KEY, -1, IPC_CREAT | IPC_EXCL), EINVAL);
	t_err(semget(KEY, 6, 0), EINVAL);
	t_err(semget(KEY, 6, IPC_CREAT | 0600), EINVAL);
	t_err(semget(KEY, 6, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
	t_err(semget(KEY, 5, IPC_CREAT | IPC_EXCL), EEXIST);
	t_err(semget(KEY, 0, IPC_CREAT | IPC_EXCL), EEXIST);
	t_story("flag bits that mean nothing");
	t_eq(semget(KEY, 5, 0100000 | SEM_UNDO | IPC_NOWAIT), 0);
	t_story("another user on 0600");
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_eq(semget(KEY, 5, 0), 0);
		t_eq(semget(KEY, 0, IPC_CREAT), 0);
		t_err(semget(KEY, 5, 0600), EACCES);
		t_err(semget(KEY, 5, 0400), EACCES);
		t_err(semget(KEY, 5, 0040), EACCES);
		t_err(semget(KEY, 5, 0001), EACCES);
		t_err(semget(KEY, 5, IPC_CREAT | 0600), EACCES);
		t_err(semget(KEY, 6, 0600), EINVAL);
		t_err(semget(KEY, 5, IPC_CREAT | IPC_EXCL | 0600), EEXIST);
		t_err(semget(KEY, 32001, 0600), EINVAL);
	}
}

static void x_bits(void)
{
	struct semid_ds ds = t_stat(0);

	t_story("asking for x needs x: 0666 and another user");
	ds.sem_perm.mode = 0666;
	t_eq(semctl(0, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_eq(semget(KEY, 5, 0666), 0);
		t_eq(semget(KEY, 5, 0600), 0);
		t_eq(semget(KEY, 5, 0006), 0);
		t_err(semget(KEY, 5, 0777), EACCES);
		t_err(semget(KEY, 5, 0700), EACCES);
		t_err(semget(KEY, 5, 0111), EACCES);
		t_err(semget(KEY, 5, 0001), EACCES);
	}
	t_eq(semget(KEY, 5, 0777), 0);
	ds.sem_perm.mode = 0605;
	t_eq(semctl(0, 0, IPC_SET, &ds), 0);
	t_story("0605: the three digits asked for are one");
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_eq(semget(KEY, 5, 0500), 0);
		t_eq(semget(KEY, 5, 0410), 0);
		t_err(semget(KEY, 5, 0420), EACCES);
	}
	t_rm(0);
	t_err(semget(KEY, 5, 0), ENOENT);
}

static void modes(void)
{
	mode_t mask = umask(0777);
	int id;

	t_story("mode: nine bits, no umask");
	id = semget(KEY, 1, IPC_CREAT | 0777);
	t_eq(t_stat(id).sem_perm.mode, 0777);
	t_rm(id);
	id = semget(KEY, 1, IPC_CREAT);
	t_eq(t_stat(id).sem_perm.mode, 0);
	t_rm(id);
	id = semget(KEY, 1, IPC_CREAT | 0170000 | 04000 | 0751);
	t_eq(t_stat(id).sem_perm.mode, 0751);
	t_rm(id);
	umask(mask);
}

static void owners(void)
{
	struct semid_ds ds;
	int id, child;

	t_story("the maker's effective ids own it");
	child = t_fork();
	if (child == 0) {
		t_true(setgroups(0, NULL) == 0 && setregid(0, 5678) == 0);
		t_true(setreuid(0, 1234) == 0);
		id = semget(KEY, 2, IPC_CREAT | 0600);
		t_true(id >= 0);
		ds = t_stat(id);
		t_eq(ds.sem_perm.uid, 1234);
		t_eq(ds.sem_perm.cuid, 1234);
		t_eq(ds.sem_perm.gid, 5678);
		t_eq(ds.sem_perm.cgid, 5678);
		t_eq(semctl(id, 0, SETVAL, 3), 0);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	id = semget(KEY, 0, 0);
	t_story("it outlives the maker");
	t_row(id, GETVAL, "3 0");
	t_eq(t_stat(id).sem_perm.cuid, 1234);
	t_rm(id);
}

static void private_sets(void)
{
	int a, b;

	t_story("IPC_PRIVATE always makes a new one");
	a = semget(IPC_PRIVATE, 1, 0);
	b = semget(IPC_PRIVATE, 1, IPC_CREAT | IPC_EXCL | 0600);
	t_true(a >= 0 && b >= 0 && a != b);
	t_true(t_stat(b).sem_perm.__key == IPC_PRIVATE);
	t_eq(t_stat(a).sem_perm.mode, 0);
	t_rm(a);
	t_rm(b);
}

static void keys(void)
{
	static const key_t keys[] = {1, -1, INT_MAX, INT_MIN, 0x55550000};
	int id[5], wrong = 0;

	t_story("keys of every sign");
	for (int i = 0; i < 5; i++) {
		id[i] = semget(keys[i], i + 1, IPC_CREAT | IPC_EXCL | 0600);
		wrong += id[i] < 0;
	}
	for (int i = 0; i < 5; i++) {
		wrong += semget(keys[i], 0, 0) != id[i];
		wrong += t_stat(id[i]).sem_perm.__key != keys[i];
		wrong += t_stat(id[i]).sem_nsems != (unsigned)i + 1;
	}
	t_true(wrong == 0);
	for (int i = 0; i < 5; i++)
		t_rm(id[i]);
	for (int i = 0; i < 5; i++)
		wrong += semget(keys[i], 0, 0) != -1 || errno != ENOENT;
	t_true(wrong == 0);
}

static void largest(void)
{
	int id;

	t_story("the largest set");
	id = semget(KEY, 32000, IPC_CREAT | 0600);
	t_true(id >= 0);
	t_eq(t_stat(id).sem_nsems, 32000);
	t_eq(semop(id, OPS({31999, 5, 0}, {0, 7, 0})), 0);
	t_eq(semctl(id, 31999, GETVAL), 5);
	t_eq(semctl(id, 31998, GETVAL), 0);
	t_err(semctl(id, 32000, GETVAL), EINVAL);
	t_err(semop(id, OPS({32000, 1, 0})), EFBIG);
	t_eq(semget(KEY, 32000, 0), id);
	t_rm(id);
}

int main(void)
{
	t_begin();
	making();
	finding();
	x_bits();
	modes();
	owners();
	private_sets();
	keys();
	largest();
	return t_end();
}
