// SPDX-License-Identifier: MIT
/*
 * sem_no_robust: processes that are refused robust lists operate on a set and
 * are killed at random: none is waited for as long as others run, and what they
 * held is released. The last of them is killed when the others have exited.
 *
 * The bug: a lock of a killed owner stayed owned until the process had been
 * waited for, and then another process with its number could still be taken for
 * it.
 */
#include "seccomp.h"

#define WORKERS 3
/*
 * Fewer if their time is over. What a round waits for is not the dead, a slice
 * of 50 ms in one of nine, but a living worker that is off the CPU with the
 * lock held, or has not yet got it to die: a second in each round where thirty
 * others compute, and 20 rounds took longer than T_LIMIT, on the kernel too.
 * Each worker is killed once at least.
 */
#define KILLS 120
#define KILLS_S (T_LIMIT / 4)

static int set;

static void work(void)
{
	deny_two(SYS_set_robust_list, SYS_get_robust_list, EPERM);
	for (;;) {
		semop(set, OPS({0, -1, U}, {1, 1, U}));
		semop(set, OPS({0, 1, U}, {1, -1, U}));
	}
}

static pid_t worker(void)
{
	pid_t pid = t_fork();

	if (!pid)
		work();
	return pid;
}

int main(void)
{
	pid_t workers[WORKERS], dead = 0;
	siginfo_t info;
	time_t began = t_now();
	int i, k;

	t_begin();
	set = t_set(2, VALS(2, 0));
	for (i = 0; i < WORKERS; i++)
		workers[i] = worker();
	for (k = 0; k < KILLS && t_now() - began < KILLS_S; k++) {
		i = k % WORKERS;
		for (int n = 0; n < k % 7; n++)
			t_nap();
		kill(workers[i], SIGKILL);
		waitid(P_PID, workers[i], &info, WEXITED | WNOWAIT);
		/* It is a zombie until the next one is. */
		if (dead)
			t_join(dead);
		dead = workers[i];
		workers[i] = worker();
		/* Somebody can go on. */
		t_quiet(semctl(set, 0, GETVAL) >= 0);
		t_quiet(!semop(set, OPS({0, -1, U}, {0, 1, U})));
	}
	t_quiet(k >= WORKERS);
	t_join(dead);
	for (i = 0; i < WORKERS; i++) {
		kill(workers[i], SIGKILL);
		t_join(workers[i]);
	}
	t_row(set, GETVAL, "2 0");
	t_rm(set);
	return t_end();
}
