// SPDX-License-Identifier: MIT
/*
 * sem_ctl: every command of semctl, its errors in their order, and every
 * byte that it writes.
 */
#include "t.h"

#define KEY 0x7c01

/* Out of line, so that no libc's opinion of a prototype gets in the way. */
static long ctl(int id, int num, int cmd, void *ptr)
{
	return semctl(id, num, cmd, ptr);
}

static void ids_and_commands(int id)
{
	static const int all[] = {
		IPC_RMID,
		IPC_SET,
		IPC_STAT,
		IPC_INFO,
		GETPID,
		GETVAL,
		GETALL,
		GETNCNT,
		GETZCNT,
		SETVAL,
		SETALL,
		SEM_STAT,
		SEM_INFO,
		SEM_STAT_ANY,
	};
	void *none = t_pages(1, PROT_NONE);
	int wrong = 0;

	t_story("a negative id is found first, by every command");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		errno = 0;
		wrong += ctl(-1, 0, all[i], none) != -1 || errno != EINVAL;
		errno = 0;
		wrong +=
			ctl(INT_MIN, -1, all[i], none) != -1 || errno != EINVAL;
	}
	t_true(wrong == 0);
	t_story("unknown commands");
	t_err(semctl(id, 0, 4, 0), EINVAL);
	t_err(semctl(id, 0, 10, 0), EINVAL);
	t_err(semctl(id, 0, 21, 0), EINVAL);
	t_err(semctl(id, 0, -1, 0), EINVAL);
	t_err(semctl(id, 0, INT_MAX, 0), EINVAL);
	t_err(semctl(id, 0, 99, none), EINVAL);
	t_err(semctl(-1, 0, 99, none), EINVAL);
}

static void one_value(int id)
{
	int me = getpid();

	t_story("GETVAL, SETVAL, GETPID");
	t_eq(semctl(id, 0, GETVAL), 0);
	t_pid_is(id, 0, 0);
	t_eq(semctl(id, 0, SETVAL, 32767), 0);
	t_eq(semctl(id, 2, SETVAL, 1), 0);
	t_row(id, GETVAL, "32767 0 1");
	t_pid_is(id, 0, me);
	t_pid_is(id, 1, 0);
	t_pid_is(id, 2, me);
	t_true(t_stat(id).sem_otime == 0);
	t_story("only the low 32 bits of the value count");
	t_eq(ctl(id, 0, SETVAL, (void *)0x500000007l), 0);
	t_eq(semctl(id, 0, GETVAL), 7);
	t_err(ctl(id, 0, SETVAL, (void *)0x80000000l), ERANGE);
	t_story("semaphore numbers");
	t_err(semctl(id, 3, GETVAL), EINVAL);
	t_err(semctl(id, -1, GETVAL), EINVAL);
	t_err(semctl(id, 65536, GETVAL), EINVAL);
	t_err(semctl(id, 3, GETPID), EINVAL);
	t_err(semctl(id, 3, GETNCNT), EINVAL);
	t_err(semctl(id, 3, GETZCNT), EINVAL);
	t_err(semctl(id, 3, SETVAL, 1), EINVAL);
	t_err(semctl(id, -1, SETVAL, 1), EINVAL);
	t_story("SETVAL: range, id, number");
	t_err(semctl(id, 3, SETVAL, 32768), ERANGE);
	t_err(semctl(id, 0, SETVAL, -1), ERANGE);
	t_err(semctl(id, 0, SETVAL, INT_MIN), ERANGE);
	t_err(semctl(id + 1, 0, SETVAL, 32768), ERANGE);
	t_err(semctl(-1, 0, SETVAL, 32768), EINVAL);
	t_err(semctl(id + 1, 9, SETVAL, 1), EINVAL);
	t_err(semctl(id + 1, 0, GETVAL), EINVAL);
	t_err(semctl(id + 32768, 0, GETVAL), EINVAL);
	t_row(id, GETVAL, "7 0 1");
}

static void all_values(int id)
{
	unsigned short got[4] = {9, 9, 9, 9};
	unsigned short big[3] = {1, 2, 32768};
	char *cliff = t_cliff();
	unsigned short *read_only = (void *)t_pages(1, PROT_READ);

	t_story("GETALL, SETALL; the number does not matter");
	t_eq(semctl(id, 0, SETALL, VALS(3, 2, 1)), 0);
	t_eq(semctl(id, 0, GETALL, got), 0);
	t_true(got[0] == 3 && got[1] == 2 && got[2] == 1 && got[3] == 9);
	t_eq(semctl(id, -7, SETALL, VALS(32767, 0, 5)), 0);
	t_eq(semctl(id, 70000, GETALL, got), 0);
	t_true(got[0] == 32767 && got[1] == 0 && got[2] == 5);
	t_true(t_stat(id).sem_otime == 0);
	t_pid_is(id, 1, getpid());
	t_err(semctl(id, 0, SETALL, big), ERANGE);
	t_err(semctl(id + 1, 0, SETALL, big), EINVAL);
	t_err(semctl(id + 1, 0, GETALL, NULL), EINVAL);
	t_row(id, GETVAL, "32767 0 5");
	t_story("bad arrays");
	t_err(semctl(id, 0, GETALL, NULL), EFAULT);
	t_err(semctl(id, 0, SETALL, NULL), EFAULT);
	t_err(semctl(id, 0, GETALL, (void *)-1), EFAULT);
	t_err(semctl(id, 0, SETALL, (void *)-1), EFAULT);
	t_err(semctl(id, 0, GETALL, t_kernel_half()), EFAULT);
	t_err(semctl(id, 0, SETALL, t_kernel_half()), EFAULT);
	t_err(semctl(id, 0, GETALL, t_pages(1, PROT_NONE)), EFAULT);
	t_err(semctl(id, 0, SETALL, t_pages(1, PROT_NONE)), EFAULT);
	t_err(semctl(id, 0, SETALL, t_beyond_eof()), EFAULT);
	t_err(semctl(id, 0, GETALL, t_beyond_eof()), EFAULT);
	t_err(semctl(id, 0, GETALL, read_only), EFAULT);
	t_err(semctl(id, 0, GETALL, cliff - 4), EFAULT);
	t_err(semctl(id, 0, SETALL, cliff - 4), EFAULT);
	t_eq(semctl(id, 0, GETALL, cliff - 6), 0);
	t_row(id, GETVAL, "32767 0 5");
	t_eq(semctl(id, 0, SETALL, read_only), 0);
	t_row(id, GETVAL, "0 0 0");
}

/* The bytes of a semid_ds, as x86-64 has them; §10.1. */
static void stat_bytes(int id)
{
	unsigned char raw[112];
	int want_key = KEY, bad = 0;
	unsigned int mode;
	long long time0, ctime_got, otime_got;
	unsigned long nsems;

	t_story("IPC_STAT writes 104 bytes, the reserved ones 0");
	memset(raw, 0xaa, sizeof(raw));
	time0 = time(NULL);
	t_eq(semctl(id, -5, IPC_STAT, raw), 0);
	t_true(memcmp(raw, &want_key, 4) == 0);
	memcpy(&mode, raw + 20, 4);
	t_eq(mode, 0640);
	t_true(raw[24] == 0 && raw[25] == 0 && raw[26] == 0 && raw[27] == 0);
	for (int i = 32; i < 48; i++)
		bad += raw[i] != 0;
	for (int i = 56; i < 64; i++)
		bad += raw[i] != 0;
	for (int i = 72; i < 80; i++)
		bad += raw[i] != 0;
	for (int i = 88; i < 104; i++)
		bad += raw[i] != 0;
	t_true(bad == 0);
	for (int i = 104; i < 112; i++)
		bad += raw[i] != 0xaa;
	t_true(bad == 0);
	memcpy(&otime_got, raw + 48, 8);
	memcpy(&ctime_got, raw + 64, 8);
	memcpy(&nsems, raw + 80, 8);
	t_eq(otime_got, 0);
	t_true(ctime_got <= time0 + 1 && ctime_got >= time0 - 5);
	t_eq(nsems, 3);
}

static void stat_commands(int id)
{
	struct semid_ds ds = t_stat(id);
	void *read_only = t_pages(1, PROT_READ);

	t_story("IPC_STAT, SEM_STAT, SEM_STAT_ANY");
	t_true(ds.sem_perm.uid == 0 && ds.sem_perm.gid == 0);
	t_true(ds.sem_perm.cuid == 0 && ds.sem_perm.cgid == 0);
	t_eq(ds.sem_perm.mode, 0640);
	t_eq(ds.sem_nsems, 3);
	t_eq(semctl(id % 32768, 0, SEM_STAT, &ds), id);
	t_eq(semctl(id % 32768, 0, SEM_STAT_ANY, &ds), id);
	t_eq(semctl(id % 32768 + 32768 * 5, 0, SEM_STAT, &ds), id);
	t_err(semctl(id % 32768 + 1, 0, SEM_STAT, &ds), EINVAL);
	t_err(semctl(32767, 0, SEM_STAT, &ds), EINVAL);
	t_err(semctl(32767, 0, SEM_STAT_ANY, &ds), EINVAL);
	t_err(semctl(id + 32768, 0, IPC_STAT, &ds), EINVAL);
	t_story("bad buffers");
	t_err(semctl(id, 0, IPC_STAT, NULL), EFAULT);
	t_err(semctl(id, 0, IPC_STAT, (void *)-1), EFAULT);
	t_err(semctl(id, 0, IPC_STAT, read_only), EFAULT);
	t_err(semctl(id, 0, IPC_STAT, t_kernel_half()), EFAULT);
	t_err(semctl(id, 0, IPC_STAT, t_beyond_eof()), EFAULT);
	t_err(semctl(id, 0, IPC_STAT, t_cliff() - 103), EFAULT);
	t_eq(semctl(id, 0, IPC_STAT, t_cliff() - 104), 0);
	t_err(semctl(id % 32768, 0, SEM_STAT, NULL), EFAULT);
	t_err(semctl(id % 32768, 0, SEM_STAT_ANY, read_only), EFAULT);
	t_err(semctl(id + 1, 0, IPC_STAT, NULL), EINVAL);
	t_err(semctl(id + 1, 0, SEM_STAT, NULL), EINVAL);
}

static void info(int id)
{
	struct seminfo si;
	int other = t_set(7, NULL);

	t_story("IPC_INFO: limits; the return value is the highest index");
	memset(&si, 0xaa, sizeof(si));
	t_eq(semctl(0, 0, IPC_INFO, &si), other);
	t_eq(si.semmap, 1024000000);
	t_eq(si.semmni, 32000);
	t_eq(si.semmns, 1024000000);
	t_eq(si.semmnu, 1024000000);
	t_eq(si.semmsl, 32000);
	t_eq(si.semopm, 500);
	t_eq(si.semume, 500);
	t_eq(si.semusz, 20);
	t_eq(si.semvmx, 32767);
	t_eq(si.semaem, 32767);
	t_story("SEM_INFO: sets in use, semaphores in them");
	memset(&si, 0xaa, sizeof(si));
	t_eq(semctl(INT_MAX, -1, SEM_INFO, &si), other);
	t_eq(si.semusz, 2);
	t_eq(si.semaem, 10);
	t_eq(si.semmni, 32000);
	t_eq(si.semume, 500);
	t_eq(si.semvmx, 32767);
	t_err(semctl(0, 0, IPC_INFO, NULL), EFAULT);
	t_err(semctl(0, 0, SEM_INFO, NULL), EFAULT);
	t_err(semctl(0, 0, IPC_INFO, t_pages(1, PROT_READ)), EFAULT);
	t_err(semctl(0, 0, SEM_INFO, t_cliff() - 39), EFAULT);
	t_err(semctl(-1, 0, IPC_INFO, &si), EINVAL);
	t_rm(other);
	t_eq(semctl(0, 0, SEM_INFO, &si), id);
	t_eq(si.semusz, 1);
	t_eq(si.semaem, 3);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_eq(semctl(0, 0, IPC_INFO, &si), id);
		t_eq(semctl(0, 0, SEM_INFO, &si), id);
	}
}

static void ipc_set(int id)
{
	struct semid_ds ds = t_stat(id), now;

	t_story("IPC_SET: only owner, group and nine bits of mode");
	ds.sem_perm.uid = 1234;
	ds.sem_perm.gid = 2345;
	ds.sem_perm.cuid = 77;
	ds.sem_perm.cgid = 78;
	ds.sem_perm.mode = 0107654;
	ds.sem_perm.__key = 99;
	ds.sem_nsems = 50;
	ds.sem_otime = 12;
	t_eq(semctl(id, -3, IPC_SET, &ds), 0);
	now = t_stat(id);
	t_eq(now.sem_perm.uid, 1234);
	t_eq(now.sem_perm.gid, 2345);
	t_eq(now.sem_perm.cuid, 0);
	t_eq(now.sem_perm.cgid, 0);
	t_eq(now.sem_perm.mode, 0654);
	t_eq(now.sem_perm.__key, KEY);
	t_eq(now.sem_nsems, 3);
	t_eq(now.sem_otime, 0);
	t_eq(semget(KEY, 0, 0), id);
	t_story("who may: owner and creator; others EPERM, whatever the mode");
	ds.sem_perm.mode = 0666;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(semctl(id, 0, IPC_SET, &ds), EPERM);
		t_err(semctl(id, 0, IPC_RMID), EPERM);
		t_err(semctl(id, 0, IPC_SET, NULL), EFAULT);
		t_err(semctl(id + 1, 0, IPC_SET, &ds), EINVAL);
		t_err(semctl(id + 1, 0, IPC_RMID), EINVAL);
		ds.sem_perm.uid = (uid_t)-1;
		t_err(semctl(id, 0, IPC_SET, &ds), EPERM);
	}
	AS(1234, T_OTHER_UID)
	{
		ds.sem_perm.mode = 0604;
		t_eq(semctl(id, 0, IPC_SET, &ds), 0);
		ds.sem_perm.uid = 1235;
		t_eq(semctl(id, 0, IPC_SET, &ds), 0);
		t_err(semctl(id, 0, IPC_SET, &ds), EPERM);
	}
	t_eq(t_stat(id).sem_perm.uid, 1235);
	t_story("the group alone may not");
	AS(T_OTHER_UID, 2345)
	t_err(semctl(id, 0, IPC_SET, &ds), EPERM);
	t_story("-1 is nobody; the buffer is read before the id is looked up");
	ds.sem_perm.uid = (uid_t)-1;
	t_err(semctl(id, 0, IPC_SET, &ds), EINVAL);
	ds.sem_perm.uid = 0;
	ds.sem_perm.gid = (gid_t)-1;
	t_err(semctl(id, 0, IPC_SET, &ds), EINVAL);
	t_err(semctl(id, 0, IPC_SET, NULL), EFAULT);
	t_err(semctl(id + 1, 0, IPC_SET, NULL), EFAULT);
	t_err(semctl(-1, 0, IPC_SET, NULL), EINVAL);
	t_err(semctl(id, 0, IPC_SET, (void *)-1), EFAULT);
	t_err(semctl(id, 0, IPC_SET, t_cliff() - 103), EFAULT);
	t_err(semctl(id, 0, IPC_SET, t_kernel_half()), EFAULT);
	t_err(semctl(id, 0, IPC_SET, t_beyond_eof()), EFAULT);
	ds.sem_perm.gid = 0;
	ds.sem_perm.mode = 0640;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	t_eq(t_stat(id).sem_perm.mode, 0640);
}

static void other_users(int id)
{
	struct semid_ds ds = t_stat(id);
	unsigned short v[3] = {1, 1, 40000};

	t_story("another user on 0600: permission in its place");
	ds.sem_perm.mode = 0600;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(semctl(id, 0, GETVAL), EACCES);
		t_err(semctl(id, 9, GETVAL), EACCES);
		t_err(semctl(id, 9, GETPID), EACCES);
		t_err(semctl(id, 9, GETNCNT), EACCES);
		t_err(semctl(id, 9, GETZCNT), EACCES);
		t_err(semctl(id, 0, GETALL, NULL), EACCES);
		t_err(semctl(id, 0, SETVAL, 1), EACCES);
		t_err(semctl(id, 9, SETVAL, 1), EINVAL);
		t_err(semctl(id, 9, SETVAL, -1), ERANGE);
		t_err(semctl(id, 0, SETALL, v), EACCES);
		t_err(semctl(id, 0, SETALL, NULL), EACCES);
		t_err(semctl(id, 0, IPC_STAT, NULL), EACCES);
		t_err(semctl(id, 0, SEM_STAT, NULL), EACCES);
		t_err(semctl(id, 0, SEM_STAT_ANY, NULL), EFAULT);
		t_eq(semctl(id, 0, SEM_STAT_ANY, &ds), id);
	}
	t_story("0602: write only");
	ds.sem_perm.mode = 0602;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(semctl(id, 0, GETVAL), EACCES);
		t_eq(semctl(id, 0, SETVAL, 1), 0);
		t_err(semctl(id, 0, SETALL, v), ERANGE);
		t_err(semctl(id, 0, SETALL, NULL), EFAULT);
		t_err(semctl(id, 0, IPC_STAT, &ds), EACCES);
	}
	t_story("0604: read only");
	ds.sem_perm.mode = 0604;
	t_eq(semctl(id, 0, IPC_SET, &ds), 0);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_eq(semctl(id, 0, GETVAL), 1);
		t_err(semctl(id, 9, GETVAL), EINVAL);
		t_err(semctl(id, 0, SETVAL, 1), EACCES);
		t_err(semctl(id, 0, SETALL, v), EACCES);
		t_eq(semctl(id, 0, IPC_STAT, &ds), 0);
		t_eq(semctl(id, 0, SEM_STAT, &ds), id);
	}
}

/* What sets ctime and otime; costs one turn of the clock's second. */
static void times(void)
{
	struct timespec now;
	struct semid_ds ds;
	time_t before;
	int set[6];

	t_story("which commands set ctime, and which otime");
	for (int i = 0; i < 6; i++)
		set[i] = t_set(1, NULL);
	before = t_stat(set[5]).sem_ctime;
	/* the clock that the kernel stamps with moves at its ticks only */
	do {
		t_nap();
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while (now.tv_sec <= before);
	t_eq(semctl(set[0], 0, SETVAL, 0), 0);
	t_eq(semctl(set[1], 0, SETALL, VALS(0)), 0);
	ds = t_stat(set[2]);
	t_eq(semctl(set[2], 0, IPC_SET, &ds), 0);
	t_eq(semop(set[3], OPS({0, 0, 0})), 0);
	t_err(semop(set[4], OPS({0, -1, NW})), EAGAIN);
	t_err(semctl(set[4], 0, SETVAL, -1), ERANGE);
	t_true(t_stat(set[0]).sem_ctime > before);
	t_true(t_stat(set[1]).sem_ctime > before);
	t_true(t_stat(set[2]).sem_ctime > before);
	t_true(t_stat(set[3]).sem_ctime <= before);
	t_true(t_stat(set[4]).sem_ctime <= before);
	t_true(t_stat(set[5]).sem_ctime <= before);
	t_true(t_stat(set[0]).sem_otime == 0);
	t_true(t_stat(set[1]).sem_otime == 0);
	t_true(t_stat(set[2]).sem_otime == 0);
	t_true(t_stat(set[3]).sem_otime > before);
	t_true(t_stat(set[4]).sem_otime == 0);
	for (int i = 0; i < 6; i++)
		t_rm(set[i]);
}

static void removal(int id)
{
	struct semid_ds ds;

	t_story("IPC_RMID; the number does not matter");
	t_eq(semctl(id, -9, IPC_RMID), 0);
	t_err(semctl(id, 0, IPC_RMID), EINVAL);
	t_err(semctl(id, 0, GETVAL), EINVAL);
	t_err(semctl(id, 0, IPC_STAT, &ds), EINVAL);
	t_err(semctl(id, 0, SEM_STAT, &ds), EINVAL);
	t_err(semget(KEY, 0, 0), ENOENT);
}

int main(void)
{
	struct seminfo si;
	int id;

	t_begin();
	t_story("an empty namespace");
	t_eq(semctl(0, 0, IPC_INFO, &si), 0);
	t_eq(semctl(0, 0, SEM_INFO, &si), 0);
	t_eq(si.semusz, 0);
	t_eq(si.semaem, 0);
	t_err(semctl(0, 0, GETVAL), EINVAL);
	id = semget(KEY, 3, IPC_CREAT | 0640);
	t_true(id >= 0);
	stat_bytes(id);
	ids_and_commands(id);
	one_value(id);
	all_values(id);
	stat_commands(id);
	info(id);
	ipc_set(id);
	other_users(id);
	times();
	removal(id);
	return t_end();
}
