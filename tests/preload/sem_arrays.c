// SPDX-License-Identifier: MIT
/*
 * sem_arrays: one call with several operations is one step.
 *
 * The operations are tried in array order on a working copy, each seeing what
 * the earlier ones did; the first that cannot go on decides how the call ends,
 * and then nothing has happened: no value, no pid, no otime. Nothing here ever
 * has to sleep; what would is asked with IPC_NOWAIT or a zero timeout.
 */
#include "t.h"

static struct timespec zero = {0, 0};

static void set_values(
	int id, unsigned short v0, unsigned short v1, unsigned short v2)
{
	t_eq(semctl(id, 0, SETALL, VALS(v0, v1, v2)), 0);
}

static void earlier_seen_by_later(int id)
{
	t_story("a later operation sees the earlier ones");
	set_values(id, 0, 0, 0);
	t_err(semtimedop(id, OPS({0, -1, 0}, {0, 1, 0}), &zero), EAGAIN);
	t_row(id, GETVAL, "0 0 0");
	t_eq(semop(id, OPS({0, 1, 0}, {0, -1, 0})), 0);
	t_row(id, GETVAL, "0 0 0");
	t_eq(semop(id, OPS({0, 0, 0}, {0, 1, 0})), 0);
	t_row(id, GETVAL, "1 0 0");
	t_err(semtimedop(id, OPS({0, 0, 0}, {0, 1, 0}), &zero), EAGAIN);
	t_eq(semop(id, OPS({0, -1, 0}, {0, 0, 0}, {0, 2, 0})), 0);
	t_row(id, GETVAL, "2 0 0");
	t_err(semtimedop(id, OPS({0, 1, 0}, {0, 0, 0}), &zero), EAGAIN);
	t_row(id, GETVAL, "2 0 0");
	t_eq(semop(id, OPS({0, -2, 0}, {1, 2, 0}, {0, 0, 0}, {1, -1, 0},
			       {2, 7, 0})),
		0);
	t_row(id, GETVAL, "0 1 7");
	t_eq(semop(id, OPS({2, -7, 0}, {2, 3, 0}, {2, -3, 0}, {1, -1, 0})), 0);
	t_row(id, GETVAL, "0 0 0");
}

static void range(int id)
{
	t_story("the range is checked at every step");
	set_values(id, 0, 0, 0);
	t_eq(semop(id, OPS({0, 32767, 0}, {0, -1, 0}, {0, 1, 0})), 0);
	t_row(id, GETVAL, "32767 0 0");
	set_values(id, 0, 0, 0);
	t_err(semop(id, OPS({0, 32767, 0}, {0, 1, 0})), ERANGE);
	t_err(semop(id, OPS({0, 32767, 0}, {0, 1, 0}, {0, -1, 0})), ERANGE);
	t_err(semop(id, OPS({0, 32767, 0}, {0, 1, NW})), ERANGE);
	t_err(semop(id, OPS({1, 5, 0}, {0, 32767, 0}, {0, 32767, 0})), ERANGE);
	t_row(id, GETVAL, "0 0 0");
	set_values(id, 32767, 0, 0);
	t_err(semop(id, OPS({0, 1, 0})), ERANGE);
	t_err(semop(id, OPS({0, 1, 0}, {0, -1, 0})), ERANGE);
	t_eq(semop(id, OPS({0, -1, 0}, {0, 1, 0})), 0);
	t_err(semop(id, OPS({0, -32768, NW})), EAGAIN);
	t_eq(semop(id, OPS({0, -32767, 0})), 0);
	t_row(id, GETVAL, "0 0 0");
}

/* Test vector S16 and its relatives. */
static void first_problem_decides(int id)
{
	t_story("the first problem in array order decides");
	set_values(id, 2, 0, 0);
	t_err(semop(id, OPS({1, 32767, 0}, {0, -5, NW}, {1, 1, 0})), EAGAIN);
	t_err(semop(id, OPS({1, 32767, 0}, {1, 1, 0}, {0, -5, NW})), ERANGE);
	t_err(semop(id, OPS({1, 32767, 0}, {1, 1, 0}, {0, -5, 0})), ERANGE);
	t_row(id, GETVAL, "2 0 0");
	t_eq(semop(id, OPS({1, 32767, 0}, {1, -1, 0}, {1, 1, 0})), 0);
	t_row(id, GETVAL, "2 32767 0");

	t_story("IPC_NOWAIT matters on the operation that blocks");
	set_values(id, 0, 0, 0);
	t_err(semop(id, OPS({1, 1, 0}, {0, -1, NW})), EAGAIN);
	t_err(semop(id, OPS({0, -1, NW}, {1, -1, 0})), EAGAIN);
	t_err(semop(id, OPS({1, 1, NW}, {0, -1, NW}, {2, 1, NW})), EAGAIN);
	t_eq(semop(id, OPS({1, 1, NW}, {0, 0, NW}, {1, -1, NW})), 0);
	t_row(id, GETVAL, "0 0 0");
}

static void nothing_happens_on_failure(void)
{
	int id = t_set(3, NULL);

	t_story("a call that fails leaves no trace");
	t_err(semop(id, OPS({0, 1, 0}, {1, 1, 0}, {2, -1, NW})), EAGAIN);
	t_err(semop(id, OPS({0, 1, U}, {1, 1, U}, {2, -1, NW})), EAGAIN);
	t_err(semop(id, OPS({0, 1, 0}, {1, 32767, 0}, {1, 1, 0})), ERANGE);
	t_err(semtimedop(id, OPS({0, 1, 0}, {2, -1, 0}), &zero), EAGAIN);
	t_row(id, GETVAL, "0 0 0");
	t_row(id, GETNCNT, "0 0 0");
	t_row(id, GETZCNT, "0 0 0");
	t_pid_is(id, 0, 0);
	t_pid_is(id, 1, 0);
	t_true(t_stat(id).sem_otime == 0);
	t_rm(id);
}

static void pids(void)
{
	int id = t_set(4, NULL), me = getpid(), child, before;

	t_story("every semaphore named gets the caller's pid");
	t_true(t_stat(id).sem_otime == 0);
	t_eq(semop(id, OPS({0, 0, 0}, {2, 1, 0})), 0);
	t_true(t_stat(id).sem_otime != 0);
	t_pid_is(id, 0, me);
	t_pid_is(id, 1, 0);
	t_pid_is(id, 2, me);
	t_pid_is(id, 3, 0);
	child = t_sleeper(id, OPS({0, 0, 0}, {3, 0, NW}));
	t_eq(t_join(child), 0);
	t_pid_is(id, 0, child);
	t_pid_is(id, 1, 0);
	t_pid_is(id, 2, me);
	t_pid_is(id, 3, child);
	child = t_sleeper(id, OPS({1, 1, 0}, {1, -1, 0}, {1, 0, 0}));
	t_eq(t_join(child), 0);
	t_pid_is(id, 1, child);
	t_story("not by one that fails");
	before = semctl(id, 3, GETPID);
	t_err(semop(id, OPS({3, 0, 0}, {0, -1, NW})), EAGAIN);
	t_pid_is(id, 3, before);
	t_pid_is(id, 0, before);
	t_rm(id);
}

static void otime_of_zero_wait(void)
{
	int id = t_set(1, NULL);

	t_story("a wait for zero that need not wait sets otime");
	t_eq(semop(id, OPS({0, 0, 0})), 0);
	t_true(t_stat(id).sem_otime != 0);
	t_rm(id);
}

static void long_arrays(void)
{
	struct sembuf ops[500];
	int id = t_set(500, NULL), bad = 0;

	t_story("500 operations on 500 semaphores");
	for (int i = 0; i < 500; i++)
		ops[i] = (struct sembuf){(unsigned short)(499 - i), 1, 0};
	t_eq(semop(id, ops, 500), 0);
	t_eq(semop(id, ops, 500), 0);
	for (int i = 0; i < 500; i++)
		bad += semctl(id, i, GETVAL) != 2;
	t_true(bad == 0);
	t_story("the last of them fails");
	for (int i = 0; i < 499; i++)
		ops[i].sem_op = -2;
	ops[499] = (struct sembuf){0, -3, NW};
	t_err(semop(id, ops, 500), EAGAIN);
	for (int i = 0; i < 500; i++)
		bad += semctl(id, i, GETVAL) != 2;
	t_true(bad == 0);
	ops[499].sem_op = -2;
	t_eq(semop(id, ops, 500), 0);
	for (int i = 0; i < 500; i++)
		bad += semctl(id, i, GETVAL) != 0;
	t_true(bad == 0);
	t_story("500 operations on one semaphore");
	for (int i = 0; i < 500; i++)
		ops[i] = (struct sembuf){3, i & 1 ? -64 : 65, 0};
	t_eq(semop(id, ops, 500), 0);
	t_eq(semctl(id, 3, GETVAL), 250);
	t_rm(id);
}

static void undo_within_one_call(void)
{
	int id = t_set(1, NULL), child;

	t_story("undo range within one call");
	t_err(semop(id,
		      OPS({0, 32767, U}, {0, -32767, 0}, {0, 1, U}, {0, 1, U})),
		ERANGE);
	t_row(id, GETVAL, "0");
	t_story("adj adds up within one call, and is undone at exit");
	child = t_fork();
	if (child == 0) {
		t_eq(semop(id, OPS({0, 5, U}, {0, -2, U}, {0, 10, 0})), 0);
		t_row(id, GETVAL, "13");
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_row(id, GETVAL, "10");
	t_pid_is(id, 0, child);
	t_rm(id);
}

int main(void)
{
	int id;

	t_begin();
	id = t_set(3, NULL);
	earlier_seen_by_later(id);
	range(id);
	first_problem_decides(id);
	t_rm(id);
	nothing_happens_on_failure();
	pids();
	otime_of_zero_wait();
	long_arrays();
	undo_within_one_call();
	return t_end();
}
