// SPDX-License-Identifier: MIT
/*
 * sem_killed_threads: a process of two threads that holds a unit with SEM_UNDO
 * is killed, and its second thread ends later than the first. A sleeper for the
 * unit gets it as soon as the second has ended.
 *
 * The bug: a sleeper that had slept for long checked when the first thread had
 * ended, found that the process existed, and checked again a second later.
 */
#include "t.h"
#include <sys/ptrace.h>

/* Long enough that a sleeper seldom looks for exited tasks. */
#define SLEPT_US 800000
/* What "as soon as" is, of our processor time: 12 at most, on a busy machine; the
 * bug: some 450, on a busy machine 80 and more. */
#define LATE_MS 50

static int set, told[2];

static void *second(void *arg)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	(void)arg;
	t_quiet(write(told[1], &tid, sizeof(tid)) == sizeof(tid));
	for (;;)
		pause();
	return NULL;
}

static void holder(void)
{
	pthread_t t;

	alarm(T_LIMIT);
	t_quiet(semop(set, OPS({0, -1, U})) == 0);
	pthread_create(&t, NULL, second, NULL);
	for (;;)
		pause();
}

int main(void)
{
	pid_t pid, tid = 0, sleeper;
	int status;

	t_begin();
	set = t_set(1, VALS(1));
	if (pipe(told))
		return 1;
	pid = t_fork();
	if (!pid)
		holder();
	t_eq(read(told[0], &tid, sizeof(tid)), sizeof(tid));
	sleeper = t_fork();
	if (!sleeper)
		_exit(semop(set, OPS({0, -1, 0})) ? 1 : 0);
	t_true(t_poll(set, 0, GETNCNT, 1));
	usleep(SLEPT_US);
	t_true(!ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACEEXIT));
	kill(pid, SIGKILL);
	t_true(waitpid(tid, &status, __WALL) == tid);
	t_true(status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8));
	/* The first has ended, and who sleeps has seen it. */
	usleep(20000);
	t_true(!ptrace(PTRACE_CONT, tid, NULL, NULL));
	t_true(waitpid(tid, &status, __WALL) == tid);
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_true(t_spent_until_end(sleeper) < LATE_MS);
	t_eq(t_join(sleeper), 0);
	t_row(set, GETVAL, "0");
	t_rm(set);
	return t_end();
}
