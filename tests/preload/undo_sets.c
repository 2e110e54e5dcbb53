// SPDX-License-Identifier: MIT
/*
 * undo_sets: one process with SEM_UNDO on many sets is killed.
 *
 * The bug: the process that applied its records walked along all of them for
 * each, 0.7 s for 16,000 sets, 2.4 s for 30,000. Measured in CPU time.
 */
#include "t.h"
#include <sys/resource.h>

#define SETS 16000
/* A sixth of a second is eight times what it takes, and a quarter of what it
 * took. */
#define MOST_US 166000

static long used_us(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000L +
	       r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

static void one_of_many_sets(void)
{
	static int ids[SETS];
	int i, made = 0, right = 0, ready[2];
	pid_t child;
	long before;
	char byte;

	for (i = 0; i < SETS; i++) {
		ids[i] = semget(IPC_PRIVATE, 1, 0600);
		made += ids[i] >= 0;
	}
	t_true(made == SETS);
	if (pipe(ready))
		t_say("FAIL pipe: errno %d", errno);
	child = t_fork();
	if (!child) {
		for (i = 0; i < SETS; i++)
			if (semop(ids[i], OPS({0, 1, U})))
				_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	t_true(read(ready[0], &byte, 1) == 1);
	kill(child, SIGKILL);
	t_eq(t_join(child), 1000 + SIGKILL);
	before = used_us();
	t_eq(semctl(ids[0], 0, GETVAL), 0);
	t_true(used_us() - before < MOST_US);
	for (i = 0; i < SETS; i++) {
		right += semctl(ids[i], 0, GETVAL) == 0;
		semctl(ids[i], 0, IPC_RMID);
	}
	t_true(right == SETS);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	t_begin();
	one_of_many_sets();
	return t_end();
}
