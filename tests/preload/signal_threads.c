// SPDX-License-Identifier: MIT
/*
 * signal_threads: two threads set handlers for one signal at once. Afterwards
 * what sigaction(2) reads back is what one of them set, as a whole, and that
 * handler runs.
 *
 * The bug: the library's table and the kernel's could be of different threads,
 * for good: a handler with the other one's flags.
 */
#include "t.h"
#include <pthread.h>
#include <stdatomic.h>

#define ROUNDS 30000

static atomic_int turn, done;
static volatile int ran;

static void one(int sig)
{
	(void)sig;
	ran = 1;
}

static void two(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	ran = info->si_signo == SIGUSR1 ? 2 : 3;
}

static void set_one(void)
{
	struct sigaction act = {.sa_handler = one};

	sigaction(SIGUSR1, &act, NULL);
}

static void set_two(void)
{
	struct sigaction act = {.sa_sigaction = two, .sa_flags = SA_SIGINFO};

	sigaction(SIGUSR1, &act, NULL);
}

/* Until the other is there: both are about to begin. */
static void await(atomic_int *word, int i)
{
	for (int n = 0; atomic_load(word) < i; n++)
		if (n > 5000)
			sched_yield();
}

/* Now the one is first and now the other. */
static void jitter(int n)
{
	for (volatile int k = 0; k < n; k++)
		;
}

static void *other(void *arg)
{
	(void)arg;
	for (int i = 1; i <= ROUNDS; i++) {
		await(&turn, i);
		jitter(i % 61 * 4);
		set_two();
		atomic_store(&done, i);
	}
	return NULL;
}

int main(void)
{
	struct sigaction act;
	pthread_t thread;
	int wrong = 0;

	alarm(T_LIMIT);
	/* From the first call on signals are looked after. */
	semctl(semget(IPC_PRIVATE, 1, 0600), 0, IPC_RMID);
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 1; i <= ROUNDS; i++) {
		atomic_store(&turn, i);
		jitter(i % 67 * 8);
		set_one();
		await(&done, i);
		sigaction(SIGUSR1, NULL, &act);
		ran = 0;
		raise(SIGUSR1);
		if (act.sa_flags & SA_SIGINFO)
			wrong += act.sa_sigaction != two || ran != 2;
		else
			wrong += act.sa_handler != one || ran != 1;
	}
	pthread_join(thread, NULL);
	printf("wrong: %d\n", wrong);
	return 0;
}
