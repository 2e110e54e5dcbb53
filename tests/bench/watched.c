// SPDX-License-Identifier: MIT
/*
 * watched: four workers, for tests/bench/watched. Each sends and receives 64 bytes
 * by a queue of its own, and adds to and takes from a semaphore of its own in a set
 * that all share, again and again. For each line on standard input a line: what
 * all have done so far, in rounds of these four calls, and the CPU time that it
 * took them, in ns. They end with standard input.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

#define WORKERS 4
#define BYTES 64

static struct worker {
	uint64_t rounds;
	char line[64 - sizeof(uint64_t)]; /* to itself */
} * workers;

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(1);
}

static void work(int i, int set)
{
	struct {
		long type;
		char text[BYTES];
	} m = {.type = 1};
	struct sembuf up = {(unsigned short)i, 1, 0},
		      down = {(unsigned short)i, -1, 0};
	int id = msgget(IPC_PRIVATE, 0600);

	must(id >= 0, "msgget");
	for (;;) {
		must(!msgsnd(id, &m, BYTES, 0) &&
				msgrcv(id, &m, BYTES, 0, 0) == BYTES,
			"msg");
		must(!semop(set, &up, 1) && !semop(set, &down, 1), "semop");
		__atomic_store_n(&workers[i].rounds, workers[i].rounds + 1,
			__ATOMIC_RELAXED);
	}
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	errno = clock_getcpuclockid(pid, &clock);
	must(!errno && !clock_gettime(clock, &t), "a worker");
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(void)
{
	int set = semget(IPC_PRIVATE, WORKERS, 0600), i;
	pid_t pid[WORKERS];
	uint64_t rounds, ns;
	char line[16];

	workers = mmap(NULL, WORKERS * sizeof(*workers), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(set >= 0 && workers != MAP_FAILED, "the set");
	for (i = 0; i < WORKERS; i++) {
		pid[i] = fork();
		must(pid[i] >= 0, "fork");
		if (!pid[i]) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			work(i, set);
		}
	}
	while (fgets(line, sizeof(line), stdin)) {
		rounds = ns = 0;
		for (i = 0; i < WORKERS; i++) {
			rounds += __atomic_load_n(
				&workers[i].rounds, __ATOMIC_RELAXED);
			ns += cpu_ns(pid[i]);
		}
		printf("%llu %llu\n", (unsigned long long)rounds,
			(unsigned long long)ns);
		fflush(stdout);
	}
	for (i = 0; i < WORKERS; i++)
		kill(pid[i], SIGKILL);
	return 0;
}
