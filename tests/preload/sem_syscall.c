// SPDX-License-Identifier: MIT
/*
 * sem_syscall: the same calls by number, through libc's syscall().
 *
 * Some programs and runtimes do so. It must be the same world: what is made
 * by number is seen by name and the other way round.
 */
#include "t.h"

static long get(key_t key, int n, int flags)
{
	return syscall(SYS_semget, key, n, flags);
}

static long op(int id, struct sembuf *ops, size_t n)
{
	return syscall(SYS_semop, id, ops, n);
}

static long timedop(
	int id, struct sembuf *ops, size_t n, const struct timespec *timeout)
{
	return syscall(SYS_semtimedop, id, ops, n, timeout);
}

static long ctl(int id, int num, int cmd, long arg)
{
	return syscall(SYS_semctl, id, num, cmd, arg);
}

static void errors(int id)
{
	struct timespec zero = {0, 0}, bad = {0, -1};
	struct semid_ds ds;
	struct seminfo si;

	t_story("errors");
	t_err(get(1, -1, 0), EINVAL);
	t_err(get(1, 32001, 0), EINVAL);
	t_err(get(1, 1, 0), ENOENT);
	t_err(op(id, NULL, 1), EFAULT);
	t_err(op(id, NULL, 0), EINVAL);
	t_err(op(id, NULL, 501), E2BIG);
	t_err(op(-1, OPS({0, 1, 0})), EINVAL);
	t_err(op(id, OPS({2, 1, 0})), EFBIG);
	t_err(op(id, OPS({0, -1, NW})), EAGAIN);
	t_err(op(id, OPS({0, 32767, 0}, {0, 1, 0})), ERANGE);
	t_err(timedop(id, OPS({0, -1, 0}), &zero), EAGAIN);
	t_err(timedop(id, OPS({0, 1, 0}), &bad), EINVAL);
	t_err(timedop(id, OPS({0, 1, 0}), (void *)-1), EFAULT);
	t_err(ctl(id, 2, GETVAL, 0), EINVAL);
	t_err(ctl(id, 0, SETVAL, 32768), ERANGE);
	t_err(ctl(id, 0, 99, 0), EINVAL);
	t_err(ctl(id, 0, IPC_STAT, 0), EFAULT);
	t_err(ctl(id + 1, 0, IPC_STAT, (long)&ds), EINVAL);
	t_err(ctl(-1, 0, IPC_INFO, (long)&si), EINVAL);
	t_story("the bit 0x100 in cmd is unknown to x86-64");
	t_err(ctl(id, 0, IPC_STAT | 0x100, (long)&ds), EINVAL);
	t_err(ctl(id, 0, GETVAL | 0x100, 0), EINVAL);
}

static void one_world(int id)
{
	struct semid_ds ds;
	struct seminfo si;
	unsigned short v[2];

	t_story("by number and by name are one world");
	t_eq(semget(0x7901, 2, 0), id);
	t_eq(get(0x7901, 2, 0600), id);
	t_err(semget(0x7901, 2, IPC_CREAT | IPC_EXCL), EEXIST);
	t_eq(op(id, OPS({0, 3, 0}, {1, 1, 0})), 0);
	t_row(id, GETVAL, "3 1");
	t_eq(semop(id, OPS({0, -1, 0})), 0);
	t_eq(timedop(id, OPS({1, -1, 0}, {1, 0, 0}), NULL), 0);
	t_eq(ctl(id, 0, GETVAL, 0), 2);
	t_eq(ctl(id, 0, SETVAL, 7), 0);
	t_eq(ctl(id, 0, GETPID, 0) == getpid(), 1);
	t_eq(ctl(id, 0, GETALL, (long)v), 0);
	t_true(v[0] == 7 && v[1] == 0);
	v[1] = 4;
	t_eq(ctl(id, 0, SETALL, (long)v), 0);
	t_row(id, GETVAL, "7 4");
	t_eq(ctl(id, 0, IPC_STAT, (long)&ds), 0);
	t_eq(ds.sem_nsems, 2);
	t_eq(ctl(id, 0, SEM_STAT_ANY, (long)&ds), id);
	ds.sem_perm.mode = 0640;
	t_eq(ctl(id, 0, IPC_SET, (long)&ds), 0);
	t_eq(t_stat(id).sem_perm.mode, 0640);
	t_eq(ctl(0, 0, IPC_INFO, (long)&si), id);
	t_eq(si.semmsl, 32000);
	t_eq(ctl(0, 0, SEM_INFO, (long)&si), id);
	t_eq(si.semaem, 2);
}

static void asleep(int id)
{
	int w;

	t_story("asleep by number, woken by name, and the other way round");
	t_eq(semctl(id, 0, SETALL, VALS(0, 0)), 0);
	w = t_fork();
	if (w == 0)
		_exit(t_code((int)op(id, OPS({0, -1, 0}))));
	t_wait_blocked(id, 0, GETNCNT, 1);
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_eq(t_join(w), 0);
	t_pid_is(id, 0, w);
	w = t_sleeper(id, OPS({1, -2, 0}));
	t_wait_blocked(id, 1, GETNCNT, 1);
	t_eq(ctl(id, 1, GETNCNT, 0), 1);
	t_eq(op(id, OPS({1, 2, 0})), 0);
	t_eq(t_join(w), 0);
	t_story("SEM_UNDO by number");
	w = t_fork();
	if (w == 0)
		_exit(t_code((int)op(id, OPS({0, 5, U}, {1, 6, U}))));
	t_eq(t_join(w), 0);
	t_row(id, GETVAL, "0 0");
	t_pid_is(id, 1, w);
	t_story("removed by number");
	w = t_sleeper(id, OPS({1, -2, 0}));
	t_wait_blocked(id, 1, GETNCNT, 1);
	t_eq(ctl(id, 0, IPC_RMID, 0), 0);
	t_eq(t_join(w), EIDRM);
	t_err(op(id, OPS({0, 1, 0})), EINVAL);
}

static void other_calls(void)
{
	t_story("other system calls pass through");
	t_true(syscall(SYS_getpid) == getpid());
	t_err(syscall(SYS_close, -1), EBADF);
	t_err(syscall(100000), ENOSYS);
}

int main(void)
{
	long id;

	t_begin();
	id = get(0x7901, 2, IPC_CREAT | 0600);
	t_eq(id, 0);
	errors((int)id);
	one_world((int)id);
	asleep((int)id);
	other_calls();
	return t_end();
}
