// SPDX-License-Identifier: MIT
/*
 * Workers that create and remove at full speed, and how long an operation of
 * theirs was ever held up by somebody else's lock (readers.sh).
 *
 *	churn SECONDS WORKERS [KEPT]
 *
 * Each worker makes a set, a queue and a segment, uses and removes them, on and
 * on, and between uses one of KEPT sets that stand there all the time. Prints
 * "operations N, asleep at most N us, N times over 1 ms": asleep is the time
 * that an operation took less the time that the worker ran on a CPU or waited
 * for one (/proc/thread-self/schedstat), so that what other processes take of
 * the two CPUs does not count.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct result {
	long operations;
	long longest_us;
	long over_ms;
	long errors;
};

static int sched_fd;

static long clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static long now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* On a CPU and waiting for one, so far. The file's own count of the former is
 * brought up to date only now and then. */
static long busy_ns(void)
{
	char buf[64] = "";
	long waited;

	if (pread(sched_fd, buf, sizeof(buf) - 1, 0) <= 0 ||
		sscanf(buf, "%*d %ld", &waited) != 1) {
		perror("schedstat");
		exit(1);
	}
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) + waited;
}

/* How often it has gone to sleep. */
static long sleeps(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static int one_of_each(void)
{
	struct sembuf up = {0, 1, SEM_UNDO}, down = {0, -1, SEM_UNDO};
	struct {
		long type;
		char text[8];
	} m = {1, "text"};
	int set = semget(IPC_PRIVATE, 3, 0600);
	int queue = msgget(IPC_PRIVATE, 0600);
	int segment = shmget(IPC_PRIVATE, 5000, 0600);
	int bad = set < 0 || queue < 0 || segment < 0;

	bad |= semop(set, &up, 1) | semop(set, &down, 1);
	bad |= msgsnd(queue, &m, 5, 0);
	bad |= msgrcv(queue, &m, 8, 0, IPC_NOWAIT) != 5;
	bad |= semctl(set, 0, IPC_RMID) | msgctl(queue, IPC_RMID, NULL);
	return bad | shmctl(segment, IPC_RMID, NULL);
}

static int use_kept(int kept, long i)
{
	struct sembuf op[2] = {{0, 1, 0}, {1, 1, 0}};
	int id = semget(4242 + (int)(i % kept), 0, 0);
	int bad = id < 0 || semop(id, op, 2);

	op[0].sem_op = op[1].sem_op = -1;
	return bad | semop(id, op, 2) | (semctl(id, 0, GETVAL) < 0);
}

static void work(struct result *r, int nr, int kept, long until)
{
	long i, begin, busy, took, asleep, slept;
	int bad;

	sched_fd = open("/proc/thread-self/schedstat", O_RDONLY);
	for (i = 0; (begin = now_ns()) < until; i++) {
		busy = busy_ns();
		slept = sleeps();
		bad = kept && i % 2 ? use_kept(kept, nr + i / 2)
				    : one_of_each();
		took = now_ns() - begin;
		/* Whom somebody keeps waiting sleeps. Time that is in no account
		 * without a sleep is the machine's (a virtual CPU that does not
		 * run). */
		asleep = took < 500000 || sleeps() == slept
				 ? 0
				 : took - (busy_ns() - busy);
		r->errors += bad != 0;
		if (asleep / 1000 > r->longest_us)
			r->longest_us = asleep / 1000;
		r->over_ms += asleep > 1000000;
	}
	r->operations = i;
}

int main(int argc, char **argv)
{
	int workers, kept, i;
	struct result *r, all = {0};
	long until;

	if (argc < 3)
		return 2;
	workers = atoi(argv[2]);
	kept = argc > 3 ? atoi(argv[3]) : 0;
	r = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < kept; i++)
		if (semget(4242 + i, 2, IPC_CREAT | 0644) < 0)
			return 1;
	until = now_ns() + atol(argv[1]) * 1000000000L;
	for (i = 0; i < workers; i++)
		if (!fork()) {
			work(&r[i], i, kept, until);
			exit(0);
		}
	while (wait(NULL) > 0)
		;
	for (i = 0; i < workers; i++) {
		all.operations += r[i].operations;
		all.over_ms += r[i].over_ms;
		all.errors += r[i].errors;
		if (r[i].longest_us > all.longest_us)
			all.longest_us = r[i].longest_us;
	}
	printf("operations %ld, asleep at most %ld us, %ld times over 1 ms, "
	       "errors %ld\n",
		all.operations, all.longest_us, all.over_ms, all.errors);
	return all.errors != 0;
}
