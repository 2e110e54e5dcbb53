// SPDX-License-Identifier: MIT
/*
 * enroll_storm: processes come and go while others are killed in mid-call.
 *
 * enroll_storm [--kills N] [--procs P] [--comers C] [--seed S]
 *
 * P workers, each with a set of its own, add one to all semaphores of it in one
 * call, and take it away again, in a loop; one is SIGKILLed at a random moment
 * and another started on its set, N times. C comers fork children that make
 * such calls on one more set: every child takes over the records of an exited
 * thread, and may find those of the worker that is being killed, before that
 * one's set is repaired. All or nothing: at every check, and at the end, all
 * semaphores of a set are equal.
 *
 * The bug: a newcomer checked what a thread had under way, then whether it was
 * dead, and took its journal over if it had been killed in between.
 *
 * Prints one line; the exit status is 1 if they ever differed.
 */
#include "../option.h"
#include "storm.h"

#include <sys/ipc.h>
#include <sys/sem.h>

#define PROCS_MAX 64
/* As many as an array may have in the kernel by default, about. */
#define SEMS 30

static long n_kills = 2000, n_procs = 4, n_comers = 6, seed = 1;
static int sets[PROCS_MAX + 1], differed;
static volatile unsigned long *n_came;

static void pair(int set)
{
	struct sembuf up[SEMS], down[SEMS];
	unsigned short i;

	for (i = 0; i < SEMS; i++) {
		up[i] = (struct sembuf){i, 1, 0};
		down[i] = (struct sembuf){i, -1, 0};
	}
	if (semop(set, up, SEMS) || semop(set, down, SEMS))
		_exit(1);
}

static pid_t start_worker(int set)
{
	pid_t pid = storm_fork();

	if (!pid)
		for (;;)
			pair(set);
	return pid;
}

static pid_t start_comer(void)
{
	pid_t pid = storm_fork();

	while (!pid) {
		if (!storm_fork()) {
			pair(sets[n_procs]);
			_exit(0);
		}
		wait(NULL);
		__atomic_fetch_add(n_came, 1, __ATOMIC_RELAXED);
	}
	return pid;
}

static void look(int set, long kills)
{
	unsigned short v[SEMS], i;

	if (semctl(set, 0, GETALL, v))
		storm_die("GETALL");
	for (i = 1; i < SEMS; i++)
		if (v[i] != v[0] && !differed++)
			printf("violation: %d and %d after %ld kills\n", v[0],
				v[i], kills);
}

int main(int argc, char **argv)
{
	const struct option_of options[] = {{"kills", .number = &n_kills},
		{"procs", .number = &n_procs}, {"comers", .number = &n_comers},
		{"seed", .number = &seed}, {0}};
	pid_t workers[PROCS_MAX], comers[PROCS_MAX];
	struct storm_rng rng;
	long i;

	options_read(argc, argv, options);
	if (n_procs > PROCS_MAX || n_comers > PROCS_MAX)
		options_wrong(argv);
	storm_seed(&rng, (uint64_t)seed, 0);
	n_came = storm_share(4096);
	for (i = 0; i <= n_procs; i++)
		if ((sets[i] = semget(IPC_PRIVATE, SEMS, 0600)) < 0)
			storm_die("semget");
	for (i = 0; i < n_procs; i++)
		workers[i] = start_worker(sets[i]);
	for (i = 0; i < n_comers; i++)
		comers[i] = start_comer();
	for (i = 0; i < n_kills; i++) {
		uint32_t who = storm_random(&rng, (uint32_t)n_procs);

		storm_pause(&rng);
		kill(workers[who], SIGKILL);
		waitpid(workers[who], NULL, 0);
		/* Somebody may come before the set is looked at. */
		storm_pause(&rng);
		look(sets[who], i);
		workers[who] = start_worker(sets[who]);
	}
	for (i = 0; i < n_procs; i++)
		kill(workers[i], SIGKILL);
	for (i = 0; i < n_comers; i++)
		kill(comers[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	for (i = 0; i <= n_procs; i++) {
		look(sets[i], n_kills);
		semctl(sets[i], 0, IPC_RMID);
	}
	printf("seed %ld, kills %ld, came %lu: %s\n", seed, n_kills, *n_came,
		differed ? "WRONG" : "ok");
	return differed != 0;
}
