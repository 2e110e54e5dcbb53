// SPDX-License-Identifier: MIT
/*
 * sem_crowd_storm: more threads sleep on one semaphore than are let through in
 * one hold of its lock, and the process that lets them all through is killed in
 * the middle.
 *
 * sem_crowd_storm [--kills N] [--seconds N] [--seed S] [--threads N]
 *
 * ends after so many were killed inside their call, or so many seconds.
 *
 * Five processes of many threads each sleep on semaphore 0 of a set, most by
 * -1, each sixteenth by an array. Then a process lets all through (SETVAL,
 * semop) or removes the set, and is killed at a random moment; in each fourth
 * round one of the sleeping processes is killed with it. In every other round
 * the threads let through sleep again at once, and so take the lock while
 * others still wait; otherwise they make no more calls, so that they cannot
 * help.
 *
 * After each round: all fall asleep or are let through, at least one every five
 * seconds, and no unit is left beside a sleeper; what was taken is what was
 * given or nothing, and after a removal all get EIDRM.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/syscall.h>

#define PROCESSES 5
#define SETTLE_MS 5000
#define HANG_S 40

static struct shared {
	_Atomic int id; /* of the set; -1: none now */
	_Atomic long taken[PROCESSES], removed[PROCESSES];
	_Atomic int begun; /* by the one who lets through */
	_Atomic int again; /* who was let through sleeps again at once */
	_Atomic int round; /* else in the next one */
} * sh;

static struct storm_rng rng;
static long kills = 500, seconds = 20, seed = 1, threads = 250, wrong, killed;
static pid_t pids[PROCESSES];
static int own; /* which process this is */

static void complain(const char *what, long a, long b, long c)
{
	printf("%s: %ld %ld %ld\n", what, a, b, c);
	fflush(stdout);
	wrong++;
}

static void stay_away(int round)
{
	while (!sh->again && sh->round == round)
		syscall(SYS_futex, &sh->round, FUTEX_WAIT, round, NULL);
}

static void *sleeper(void *arg)
{
	struct sembuf one = {0, -1, 0}, two[2] = {{1, 0, 0}, {0, -1, 0}};
	int id, round, gone = -1;

	for (;;) {
		while ((id = sh->id) < 0 || id == gone)
			sleep_us(2000);
		if ((long)arg % 16 ? !semop(id, &one, 1) : !semop(id, two, 2)) {
			round = sh->round;
			sh->taken[own]++;
			stay_away(round);
		} else if (errno == EIDRM || errno == EINVAL) {
			gone = id;
			sh->removed[own]++;
		}
	}
	return NULL;
}

static void process_start(int i)
{
	pthread_attr_t attr;
	pthread_t thread;

	sh->taken[i] = sh->removed[i] = 0;
	pids[i] = storm_fork();
	if (pids[i])
		return;
	alarm(0);
	own = i;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (long k = 0; k < threads; k++)
		if (pthread_create(&thread, &attr, sleeper, (void *)k))
			storm_die("pthread_create");
	for (;;)
		pause();
}

static long sum(const _Atomic long *of, int but)
{
	long n = 0;

	for (int i = 0; i < PROCESSES; i++)
		n += i == but ? 0 : of[i];
	return n;
}

/* All are asleep, or away, and nobody sleeps beside a unit; or nothing has
 * changed for five seconds: on a busy machine a thousand threads take longer to
 * wake up and sleep again, and HANG_S ends what goes on for ever. */
static void settle(const char *what)
{
	double until = now_ms() + SETTLE_MS;
	long all = threads * PROCESSES, asleep, value, away, seen = -1;
	int ok;

	do {
		sleep_us(1000);
		away = sh->again ? 0 : sum(sh->taken, -1);
		value = semctl(sh->id, 0, GETVAL);
		asleep = semctl(sh->id, 0, GETNCNT);
		ok = asleep + away == all && !(value && asleep);
		if (asleep * 2 + away != seen)
			until = now_ms() + SETTLE_MS;
		seen = asleep * 2 + away;
	} while (!ok && now_ms() < until);
	if (!ok)
		complain(what, asleep, value, away);
}

/* All come back. */
static void next_round(int again)
{
	semctl(sh->id, 0, SETVAL, 0);
	sh->again = 1;
	sh->round++;
	syscall(SYS_futex, &sh->round, FUTEX_WAKE, INT_MAX);
	settle("asleep at first, value, away");
	for (int i = 0; i < PROCESSES; i++)
		sh->taken[i] = 0;
	sh->again = again;
}

static void set_make(void)
{
	int id = semget(IPC_PRIVATE, 2, 0600);

	if (id < 0)
		storm_die("semget");
	for (int i = 0; i < PROCESSES; i++)
		sh->removed[i] = 0;
	sh->id = id;
}

enum { LET_SETVAL, LET_SEMOP, LET_RMID, LETS };

/* Begins, and is killed within a millisecond or so. */
static void kill_one_who_lets(int how, int other)
{
	long all = threads * PROCESSES;
	struct sembuf op = {0, (short)all, 0};
	pid_t pid;

	sh->begun = 0;
	pid = storm_fork();
	if (!pid) {
		semctl(sh->id, 1, GETNCNT);
		sh->begun = 1;
		if (how == LET_SETVAL)
			semctl(sh->id, 0, SETVAL, (int)all);
		else if (how == LET_SEMOP)
			semop(sh->id, &op, 1);
		else
			semctl(sh->id, 0, IPC_RMID);
		sh->begun = 2;
		for (;;)
			pause();
	}
	while (!sh->begun)
		;
	if (storm_random(&rng, 2))
		spin_us(storm_random(&rng, 300));
	else
		spin_us(storm_random(&rng, 6000));
	if (sh->begun == 1)
		killed++;
	kill(pid, SIGKILL);
	if (other >= 0)
		kill(pids[other], SIGKILL);
	waitpid(pid, NULL, 0);
	if (other >= 0)
		waitpid(pids[other], NULL, 0);
}

/* All of them have found out, or nobody has for five seconds. */
static void await_removed(int id, int other, long all)
{
	double until = now_ms() + SETTLE_MS;
	long n, seen = -1;

	while (semctl(id, 0, GETVAL) < 0 &&
		(n = sum(sh->removed, other)) < all && now_ms() < until) {
		if (n != seen)
			until = now_ms() + SETTLE_MS;
		seen = n;
		sleep_us(1000);
	}
}

static void round_of(int how, int other)
{
	long all = threads * PROCESSES, taken, most = all;
	int id = sh->id, full;

	kill_one_who_lets(how, other);
	if (how == LET_RMID) {
		/* Done, or not begun. */
		await_removed(id, other, all - (other >= 0 ? threads : 0));
		full = semctl(id, 0, GETVAL) < 0;
		taken = sum(sh->removed, other);
		if (taken != (full ? all - (other >= 0 ? threads : 0) : 0))
			complain("removed, of all", taken, all, full);
		if (full) {
			sh->id = -1;
			set_make();
		}
	}
	if (other >= 0)
		process_start(other);
	settle("asleep, value, away");
	taken = sum(sh->taken, other);
	/* What a killed one was given is lost with it, or not. */
	if (how != LET_RMID && other < 0 && taken && taken != most)
		complain("taken, given", taken, most, how);
}

static const struct option_of options[] = {
	{"kills", .number = &kills},
	{"seconds", .number = &seconds},
	{"seed", .number = &seed},
	{"threads", .number = &threads},
	{0},
};

int main(int argc, char **argv)
{
	double from = now_ms();
	long rounds;

	options_only(argc, argv, options);
	sh = storm_share(sizeof(*sh));
	storm_seed(&rng, (uint64_t)seed, 0);
	printf("seed %ld\n", seed);
	fflush(stdout);
	alarm(HANG_S);
	sh->id = -1;
	for (int i = 0; i < PROCESSES; i++)
		process_start(i);
	set_make();
	for (rounds = 0;
		killed < kills && wrong < 10 && now_ms() < from + seconds * 1e3;
		rounds++) {
		alarm(HANG_S);
		next_round((int)rounds & 1);
		round_of((int)storm_random(&rng, LETS),
			rounds % 4 == 3 ? (int)storm_random(&rng, PROCESSES)
					: -1);
	}
	semctl(sh->id, 0, IPC_RMID);
	for (int i = 0; i < PROCESSES; i++)
		kill(pids[i], SIGKILL);
	printf("%ld rounds, %ld killed inside, %.0f s: %s\n", rounds, killed,
		(now_ms() - from) / 1e3, wrong ? "WRONG" : "ok");
	return wrong ? 1 : 0;
}
