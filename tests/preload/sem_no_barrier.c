// SPDX-License-Identifier: MIT
/*
 * sem_no_barrier: the bias of a set to a process that has long used it alone is
 * revoked by another process whose filter of system calls refuses
 * membarrier(2), the two on a CPU each and both in the middle of their
 * operations. None may be lost.
 */
#include "t.h"

#include <stdint.h>
#include "seccomp.h"

#define SETS 150
#define ALONE 200
#define TOGETHER 400

static struct {
	volatile int ready, phase, done;
} * shared;
static int sets[SETS], other_set;

/* In real time, if allowed, for the two must run at the same moment. Where
 * there is one CPU only it is a test of less. */
static void pin(int cpu)
{
	struct sched_param p = {.sched_priority = 1};
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		sched_setscheduler(0, SCHED_FIFO, &p);
}

static int add(int set)
{
	return semop(set, OPS({0, 1, 0}));
}

static void owner(void)
{
	int i, k;

	pin(1);
	if (semop(other_set, OPS({0, 1, 0}, {0, -1, 0})))
		_exit(1);
	for (i = 0; i < SETS; i++)
		for (k = 0; k < ALONE; k++)
			if (add(sets[i]))
				_exit(1);
	shared->ready = 1;
	for (i = 0; i < SETS; i++) {
		shared->phase = i + 1;
		for (k = 0; k < TOGETHER; k++)
			if (add(sets[i]))
				_exit(1);
		while (shared->done <= i)
			sched_yield();
	}
	_exit(0);
}

static void other(void)
{
	unsigned long seed = 1;
	volatile int turns;
	int i;

	pin(0);
	if (semop(other_set, OPS({0, 1, 0}, {0, -1, 0})))
		_exit(1);
	deny_two(SYS_membarrier, SYS_membarrier, EPERM);
	while (!shared->ready)
		sched_yield();
	for (i = 0; i < SETS; i++) {
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		while (shared->phase <= i)
			;
		for (turns = (int)(seed >> 33) % 1500; turns > 0; turns--)
			;
		if (add(sets[i]))
			_exit(1);
		shared->done = i + 1;
	}
	_exit(0);
}

int main(void)
{
	pid_t a, b;
	int i, lost = 0;

	t_begin();
	shared = t_shared(4096);
	for (i = 0; i < SETS; i++)
		sets[i] = semget(IPC_PRIVATE, 2, 0600);
	other_set = semget(IPC_PRIVATE, 1, 0600);
	a = t_fork();
	if (!a)
		owner();
	b = t_fork();
	if (!b)
		other();
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
	for (i = 0; i < SETS; i++)
		lost += ALONE + TOGETHER + 1 - semctl(sets[i], 0, GETVAL);
	t_eq(lost, 0);
	for (i = 0; i < SETS; i++)
		semctl(sets[i], 0, IPC_RMID);
	t_rm(other_set);
	return t_end();
}
