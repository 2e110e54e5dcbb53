// SPDX-License-Identifier: MIT
/*
 * sem_pid_reuse: a process that has taken something with SEM_UNDO is killed,
 * and within the same clock tick another process gets its number. What was
 * taken is released, whether the other one makes calls or not.
 *
 * The bug: start times have a unit of 1/100 s, so the other one was taken for
 * the first after an exec, and inherited its adjustments.
 */
#include "t.h"
#include "pidns.h"

#define ROUNDS 10

static int set;

/* The value that is seen while a successor lives that calls or does not. */
static int value_after(int calls)
{
	int ready[2], value;
	pid_t pid, next;
	char c;

	semctl(set, 0, SETVAL, 3);
	if (pipe(ready))
		_exit(90);
	pid = t_fork();
	if (!pid) {
		semop(set, OPS({0, -3, U}));
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
	p_next(pid);
	next = t_fork();
	if (!next) {
		if (calls)
			semop(set, OPS({1, 1, U}));
		t_quiet(write(ready[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	t_quiet(next == pid);
	t_quiet(read(ready[0], &c, 1) == 1);
	value = semctl(set, 0, GETVAL);
	kill(next, SIGKILL);
	t_join(next);
	close(ready[0]);
	close(ready[1]);
	return value;
}

int main(void)
{
	int i, calls, wrong[2] = {0, 0};

	t_begin();
	if (!p_enter())
		return 0;
	set = t_set(2, VALS(3, 0));
	for (i = 0; i < ROUNDS; i++)
		for (calls = 0; calls < 2; calls++)
			wrong[calls] += value_after(calls) != 3;
	t_eq(wrong[0], 0);
	t_eq(wrong[1], 0);
	t_row(set, GETVAL, "3 0");
	t_rm(set);
	return t_end();
}
