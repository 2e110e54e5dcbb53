// SPDX-License-Identifier: MIT
/*
 * sem_real_time: SCHED_FIFO threads beside ordinary ones on the same CPU.
 *
 * first   both make their process's first call. Whoever waits for the other
 *         there sleeps: one that spun would keep it from running for ever (but
 *         for the throttling of real-time threads, 0.95 s of each second).
 *         Seen in the processor time that its call took.
 * array   three processes hammer one set with arrays, each of which is under
 *         the set's lock. A thread that has to wait for a preempted one
 *         raises it to its own priority: its calls must not take the time slices of others.
 *
 * Without the right to run in real time: skipped, as the same lines.
 */
#include "t.h"

#include <sys/resource.h>

#define ROUNDS 12
#define SPUN_NS 300000000L
#define CALLS 1000
/* Ten times what a call takes that had to wait; waiting in turn costs slices of
 * the three, some milliseconds each. */
#define LATE_NS 2000000L
#define LATE_MAX 3

static int set;

static int real_time(int priority)
{
	struct sched_param p = {.sched_priority = priority};

	return sched_setscheduler(0, priority ? SCHED_FIFO : SCHED_OTHER, &p);
}

static void pin(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* ---- first ---- */

static volatile int begun;

static void *ordinary(void *arg)
{
	(void)arg;
	begun = 1;
	semctl(set, 0, GETVAL);
	return NULL;
}

static void *fifo(void *arg)
{
	const struct timespec after = {0, *(long *)arg};
	struct sched_param p = {.sched_priority = 20};
	long start;

	pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
	nanosleep(&after, NULL);
	start = now_ns(CLOCK_THREAD_CPUTIME_ID);
	semctl(set, 0, GETVAL);
	*(long *)arg = now_ns(CLOCK_THREAD_CPUTIME_ID) - start;
	return NULL;
}

static void first(void)
{
	pthread_t a, b;
	long ns, spun = 0;
	pid_t pid;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		pid = t_fork();
		if (!pid) {
			pin();
			ns = 60000 + i * 60000;
			pthread_create(&b, NULL, fifo, &ns);
			pthread_create(&a, NULL, ordinary, NULL);
			pthread_join(a, NULL);
			pthread_join(b, NULL);
			_exit(ns > SPUN_NS);
		}
		spun += t_join(pid) != 0;
	}
	t_eq(spun, 0);
}

/* ---- array ---- */

static void both_ways(void)
{
	semop(set, OPS({0, 1, 0}, {1, 1, 0}, {2, 1, 0}, {3, 1, 0}));
	semop(set, OPS({0, -1, 0}, {1, -1, 0}, {2, -1, 0}, {3, -1, 0}));
}

static void array(void)
{
	const struct timespec pause = {0, 500000};
	pid_t pids[3];
	long start, took;
	int i, late = 0;

	for (i = 0; i < 3; i++) {
		pids[i] = t_fork();
		if (!pids[i])
			for (pin();;)
				both_ways();
	}
	both_ways();
	pin();
	t_eq(real_time(50), 0);
	for (i = 0; i < CALLS; i++) {
		nanosleep(&pause, NULL);
		start = now_ns(CLOCK_MONOTONIC);
		both_ways();
		took = now_ns(CLOCK_MONOTONIC) - start;
		late += took > LATE_NS;
	}
	real_time(0);
	t_true(late <= LATE_MAX);
	for (i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		t_join(pids[i]);
	}
}

int main(void)
{
	t_begin();
	if (real_time(1)) {
		t_say("not allowed to run in real time");
		return t_end();
	}
	real_time(0);
	/* Before we make a call: the children's are their first. */
	first();
	set = t_set(4, VALS(0, 0, 0, 0));
	array();
	t_rm(set);
	return t_end();
}
