// SPDX-License-Identifier: MIT
/*
 * Whether a process is gone, asked while it is killed and waited for.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "registry/identity.h"
#include "unit.h"

TestSuite(identity, .timeout = 60);

#define ASKERS 3
#define ASK_MORE 20
#define SECONDS 3

static struct {
	atomic_uint round; /* its number, one for each process */
	atomic_uint pid;
	atomic_uint n_done; /* askers that are through with this round */
	atomic_uint taken_back;
	atomic_int over;
	u64 birth;
} asked;

static void *pauses(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A process of two threads, both there. */
static pid_t two_threads(void)
{
	pthread_t t;
	int ready[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		pthread_create(&t, NULL, pauses, NULL);
		if (write(ready[1], "", 1) == 1)
			pauses(NULL);
		_exit(1);
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static int gone(void)
{
	return identity_process_gone(atomic_load(&asked.pid), asked.birth, 1);
}

/* More of them than processors: so that one is preempted in the midst. */
static void *asks(void *arg)
{
	u32 round = 0, i;

	while (!atomic_load(&asked.over)) {
		if (atomic_load(&asked.round) == round) {
			sched_yield();
			continue;
		}
		round++;
		while (!gone())
			;
		for (i = 0; i < ASK_MORE; i++)
			atomic_fetch_add(&asked.taken_back, (u32)!gone());
		atomic_fetch_add(&asked.n_done, 1);
	}
	return arg;
}

/* The threads of one that was killed end one by one, and it is waited for
 * between two of the questions that an answer takes. */
Test(identity, who_was_gone_stays_gone)
{
	time_t end = time(NULL) + SECONDS;
	pthread_t t[ASKERS];
	u32 i, rounds;

	for (i = 0; i < ASKERS; i++)
		pthread_create(&t[i], NULL, asks, NULL);
	for (rounds = 0; time(NULL) <= end; rounds++) {
		pid_t pid = two_threads();

		atomic_store(&asked.pid, (u32)pid);
		asked.birth = identity_birth((u32)pid);
		atomic_store(&asked.n_done, 0);
		atomic_fetch_add(&asked.round, 1);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (atomic_load(&asked.n_done) < ASKERS)
			sched_yield();
	}
	atomic_store(&asked.over, 1);
	for (i = 0; i < ASKERS; i++)
		pthread_join(t[i], NULL);
	cr_expect_eq(asked.taken_back, 0, "%u times in %u rounds",
		asked.taken_back, rounds);
}
