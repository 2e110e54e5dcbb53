// SPDX-License-Identifier: MIT
/*
 * sem_conserve_storm: no unit is lost or doubled, whichever process dies.
 *
 *	sem_conserve_storm [--kills N] [--procs P] [--seed S]
 *
 * P workers move units between the eight semaphores of a set, atomically,
 * by arrays of 2 and 4 operations without SEM_UNDO, some of which sleep; now
 * and then one deals all units out anew by SETALL. The parent SIGKILLs one
 * at a random moment and starts another, N times. Checked:
 *
 * - GETALL, by an observer that does nothing else, by the workers and by the
 *   parent at the end, always has the same sum: an array is done completely or
 *   not at all, for every observer, even if its caller is killed.
 * - No process hangs: a sleeper gives up after 2 ms, so that progress never
 *   pauses for longer than the scheduler causes (storm.h).
 * - At the end no sleeper is counted.
 *
 * Prints one line; the exit status is 1 if any of that is wrong.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#define N_SEMS 8
#define UNITS_EACH 3 /* few: so that arrays must often wait */
#define UNITS (N_SEMS * UNITS_EACH)
#define PROCS_MAX 64

struct shared {
	volatile int stop;
	_Atomic uint32_t violations;
	volatile uint64_t progress; /* about: not atomic, it only has to move */
	_Atomic uint64_t moves, slept, dealt, looks;
	struct watchdog dog;
};

static struct shared *sh;
static struct storm_rng rng;
static int sem_id;
static uint32_t n_lives;
static long n_kills = 10000, n_procs = 4, seed = 1;
static long stall_limit_ms = 50;

static void violation(const char *what, long a)
{
	if (sh->violations++ < 20)
		fprintf(stderr, "violation: %s (%ld, %s)\n", what, a,
			strerror(errno));
}

static void sum_check(const char *who)
{
	unsigned short value[N_SEMS];
	long sum = 0;

	if (semctl(sem_id, 0, GETALL, value)) {
		violation("GETALL", 0);
		return;
	}
	for (int i = 0; i < N_SEMS; i++)
		sum += value[i];
	if (sum != UNITS)
		violation(who, sum);
	sh->looks++;
}

static void deal_anew(struct storm_rng *r)
{
	unsigned short value[N_SEMS] = {0};

	for (int i = 0; i < UNITS; i++)
		value[storm_random(r, N_SEMS)]++;
	if (semctl(sem_id, 0, SETALL, value))
		violation("SETALL", 0);
	sh->dealt++;
}

/* {a,-1}{b,+1}, or {a,-1}{b,+1}{c,-2}{d,+2} */
static void move_units(struct storm_rng *r)
{
	struct timespec wait = {0, 2000000};
	short flg = storm_random(r, 3) ? 0 : IPC_NOWAIT;
	struct sembuf op[4];
	int n = storm_random(r, 2) ? 2 : 4;

	for (int i = 0; i < n; i++) {
		op[i].sem_num = (unsigned short)storm_random(r, N_SEMS);
		op[i].sem_op = (short)((1 + i / 2) * (i % 2 ? 1 : -1));
		op[i].sem_flg = flg;
	}
	if (!semtimedop(sem_id, op, n, &wait))
		sh->moves++;
	else if (errno != EAGAIN)
		violation("semtimedop", n);
	else if (!flg)
		sh->slept++;
}

static _Noreturn void worker_run(uint32_t life)
{
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, life);
	while (!sh->stop) {
		uint32_t what = storm_random(&r, 64);

		if (!what)
			deal_anew(&r);
		else if (what < 5)
			sum_check("a worker saw another sum");
		else
			move_units(&r);
		sh->progress++;
	}
	_exit(0);
}

static _Noreturn void observer_run(void)
{
	/* the pauses leave the second CPU to the workers */
	for (int i = 0; !sh->stop; i++) {
		sum_check("the observer saw another sum");
		if (i % 256 == 0)
			sleep_us(100);
	}
	_exit(0);
}

static pid_t worker_start(void)
{
	pid_t pid;

	n_lives++;
	pid = storm_fork();
	if (!pid)
		worker_run(n_lives);
	return pid;
}

static void storm(pid_t *worker)
{
	int status;

	for (long i = 0; i < n_kills && !sh->dog.stuck; i++) {
		pid_t *w = &worker[storm_random(&rng, n_procs)];

		storm_pause(&rng);
		kill(*w, SIGKILL);
		if (waitpid(*w, &status, 0) != *w)
			storm_die("waitpid");
		if (!WIFSIGNALED(status))
			violation("a worker ended by itself", status);
		*w = worker_start();
	}
}

static int verdict(void)
{
	const struct watchdog *dog = &sh->dog;
	bool ok;

	sum_check("the sum at the end");
	for (int i = 0; i < N_SEMS; i++)
		if (semctl(sem_id, i, GETNCNT) || semctl(sem_id, i, GETZCNT))
			violation("somebody is still counted as waiting", i);
	ok = !sh->violations && !dog->stuck &&
	     dog->stall_net_ms <= stall_limit_ms + dog->noise_ms;
	printf("kills %ld, moves %llu, given up %llu, dealt %llu, looks %llu, "
	       "violations %u, longest stall %.1f ms (net %.0f, scheduling "
	       "noise %.1f): %s\n",
		n_lives - n_procs, (unsigned long long)sh->moves,
		(unsigned long long)sh->slept, (unsigned long long)sh->dealt,
		(unsigned long long)sh->looks, sh->violations, dog->stall_ms,
		dog->stall_net_ms, dog->noise_ms, ok ? "ok" : "WRONG");
	return ok ? 0 : 1;
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"procs", .number = &n_procs},
	{"seed", .number = &seed},
	{"stall-ms", .number = &stall_limit_ms},
	{0},
};

int main(int argc, char **argv)
{
	pid_t worker[PROCS_MAX], observer, dog;
	int status, ret;

	options_only(argc, argv, options);
	if (n_procs < 2 || n_procs > PROCS_MAX)
		options_wrong(argv);
	sh = storm_share(sizeof(*sh));
	storm_seed(&rng, (uint64_t)seed, 0);
	sem_id = semget(IPC_PRIVATE, N_SEMS, 0600);
	if (sem_id < 0)
		storm_die("semget");
	deal_anew(&rng);
	printf("seed %ld\n", seed);
	fflush(stdout);
	for (int i = 0; i < n_procs; i++)
		worker[i] = worker_start();
	observer = storm_fork();
	if (!observer)
		observer_run();
	dog = watchdog_start(&sh->dog, &sh->progress);
	storm(worker);
	sh->dog.stop = 1;
	sh->stop = 1;
	storm_reap(dog, 5000, &status);
	for (int i = 0; i < n_procs; i++)
		if (!storm_reap(worker[i], 5000, &status))
			violation("a worker hung", i);
	if (!storm_reap(observer, 5000, &status))
		violation("the observer hung", 0);
	ret = verdict();
	semctl(sem_id, 0, IPC_RMID);
	return ret;
}
