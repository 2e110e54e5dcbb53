// SPDX-License-Identifier: MIT
/*
 * sem_lock_storm: one semaphore is a lock, its holders are killed.
 *
 *	sem_lock_storm [--kills N] [--procs P] [--seed S] [--stops N]
 *		       [--stall-ms MS]
 *
 * P workers take the lock with {0, -1, SEM_UNDO} and release it with
 * {0, +1, SEM_UNDO}, in a loop; the parent SIGKILLs one of them at a random
 * moment, starts another, N times. Checked:
 *
 * - Never two living holders. A worker that gets the lock puts its number
 *   (every life has its own, so pids may come again) into a shared word by
 *   compare-and-exchange and takes it out at the end. It may find the number
 *   of a life that the parent has marked as killed, before the kill, and of
 *   no other; and the word must be unchanged when it leaves.
 * - There is always progress. The longest time without progress, while nothing
 *   is stopped, is at most 50 ms net of what the scheduler did to the
 *   watchdog (storm.h).
 * - A holder that is only SIGSTOPped, for 300 ms, is not taken for dead: no
 *   other worker enters. Then it is continued, or killed where it is.
 * - When all have exited the value is 1.
 *
 * Prints one line: kills K (so many of a holder), violations V, longest stall
 * in ms, final value. The exit status is 1 if any of that is wrong.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/sem.h>

#define PROCS_MAX 64
#define STOP_MS 300 /* several times any backstop of a waiter */

struct shared {
	_Atomic uint32_t holder; /* life number, 0: nobody */
	_Atomic uint32_t violations;
	_Atomic uint32_t inherited; /* entries after a holder's death */
	volatile uint64_t progress; /* written by the holder only */
	_Atomic uint64_t entries;
	volatile int stop, dwell;
	struct watchdog dog;
	_Atomic unsigned char dest[]; /* by life number */
};

struct worker {
	pid_t pid;
	uint32_t life;
};

static struct shared *sh;
static struct worker workers[PROCS_MAX];
static struct storm_rng rng;
static uint32_t n_lives;
static int sem_id;
static long n_kills = 10000, n_procs = 4, n_stops = 6, seed = 1;
static long stall_limit_ms = 50;

static void violation(const char *what, uint32_t life, uint32_t other)
{
	fprintf(stderr, "violation: %s (life %u, other %u)\n", what, life,
		other);
	sh->violations++;
}

static bool lock_change(int by)
{
	struct sembuf op = {0, (short)by, SEM_UNDO};

	while (semop(sem_id, &op, 1))
		if (errno != EINTR)
			return false;
	return true;
}

static void section_enter(uint32_t life)
{
	uint32_t old = sh->holder;

	sh->entries++;
	if (old && !sh->dest[old])
		violation("entered beside a living holder", life, old);
	sh->inherited += old != 0;
	if (!atomic_compare_exchange_strong(&sh->holder, &old, life))
		violation("another one entered with us", life, old);
}

static void section_leave(uint32_t life)
{
	uint32_t mine = life;

	if (!atomic_compare_exchange_strong(&sh->holder, &mine, 0))
		violation("another one entered before we left", life, mine);
}

/* Mostly tiny; now and then long enough to be killed or met in. */
static void section_dwell(struct storm_rng *r, uint32_t life)
{
	uint32_t n = storm_random(r, storm_random(r, 8) ? 64 : 50000);

	while (n-- > 0)
		if (sh->holder != life)
			violation("lost the word", life, sh->holder);
	if (sh->dwell)
		spin_us(2000);
}

static _Noreturn void worker_run(uint32_t life)
{
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, life);
	while (!sh->stop) {
		if (!lock_change(-1)) {
			violation(strerror(errno), life, 0);
			_exit(1);
		}
		section_enter(life);
		section_dwell(&r, life);
		sh->progress++;
		section_leave(life);
		if (!lock_change(+1)) {
			violation(strerror(errno), life, 0);
			_exit(1);
		}
	}
	_exit(0);
}

static void worker_start(struct worker *w)
{
	w->life = ++n_lives;
	w->pid = storm_fork();
	if (!w->pid)
		worker_run(w->life);
}

static void worker_kill(struct worker *w)
{
	int status;

	sh->dest[w->life] = 1;
	kill(w->pid, SIGKILL);
	if (waitpid(w->pid, &status, 0) != w->pid)
		storm_die("waitpid");
	if (!WIFSIGNALED(status))
		violation("a worker ended by itself", w->life, 0);
}

static struct worker *worker_of(uint32_t life)
{
	for (int i = 0; i < n_procs; i++)
		if (life && workers[i].life == life)
			return &workers[i];
	return NULL;
}

/* Stops workers until the stopped one is in its section; NULL if never. */
static struct worker *holder_stop(void)
{
	double end = now_ms() + 5000;

	while (now_ms() < end) {
		struct worker *w = worker_of(sh->holder);

		if (!w)
			continue;
		kill(w->pid, SIGSTOP);
		if (waitpid(w->pid, NULL, WUNTRACED) != w->pid)
			storm_die("waitpid");
		if (sh->holder == w->life)
			return w;
		kill(w->pid, SIGCONT);
		sleep_us(100);
	}
	return NULL;
}

static void stop_phase(bool then_kill)
{
	struct worker *w;
	uint64_t entries;

	sh->dog.hold = 1;
	sh->dwell = 1;
	w = holder_stop();
	sh->dwell = 0;
	if (!w) {
		violation("no holder could be stopped", 0, sh->holder);
		sh->dog.hold = 0;
		return;
	}
	entries = sh->entries;
	sleep_us(STOP_MS * 1000);
	if (sh->holder != w->life || sh->entries != entries)
		violation("a stopped holder was taken for dead", w->life,
			sh->holder);
	if (then_kill) {
		worker_kill(w);
		worker_start(w);
	} else {
		kill(w->pid, SIGCONT);
	}
	sh->dog.hold = 0;
	sleep_us(20000);
}

/* Anybody, or whoever is in the section soon: blocked workers are many, and
 * the section is short. */
static struct worker *victim_pick(void)
{
	double end = now_ms() + 0.1;
	struct worker *w = NULL;

	if (storm_random(&rng, 2))
		while (!w && now_ms() < end)
			w = worker_of(sh->holder);
	return w ? w : &workers[storm_random(&rng, n_procs)];
}

static void storm(void)
{
	/* the stops are spread over the kills */
	long every = n_stops ? n_kills / n_stops + 1 : n_kills + 1;

	for (long i = 0; i < n_kills && !sh->dog.stuck; i++) {
		struct worker *w;

		storm_pause(&rng);
		w = victim_pick();
		worker_kill(w);
		worker_start(w);
		if (i % every == every / 2)
			stop_phase(i / every % 2);
	}
}

static void workers_end(void)
{
	int status;

	sh->stop = 1;
	for (int i = 0; i < n_procs; i++)
		if (!storm_reap(workers[i].pid, 5000, &status))
			violation("a worker hung", workers[i].life, sh->holder);
}

static int verdict(void)
{
	const struct watchdog *dog = &sh->dog;
	int value = semctl(sem_id, 0, GETVAL);
	bool ok = !sh->violations && !dog->stuck && value == 1 &&
		  dog->stall_net_ms <= stall_limit_ms + dog->noise_ms;

	printf("kills %ld (of a holder %u), violations %u, longest stall "
	       "%.1f ms (net %.0f, scheduling noise %.1f), final value %d, "
	       "entries %llu: %s\n",
		n_lives - n_procs, sh->inherited, sh->violations, dog->stall_ms,
		dog->stall_net_ms, dog->noise_ms, value,
		(unsigned long long)sh->entries, ok ? "ok" : "WRONG");
	return ok ? 0 : 1;
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"procs", .number = &n_procs},
	{"seed", .number = &seed},
	{"stops", .number = &n_stops},
	{"stall-ms", .number = &stall_limit_ms},
	{0},
};

int main(int argc, char **argv)
{
	pid_t dog;
	int status, ret;

	options_only(argc, argv, options);
	if (n_procs < 2 || n_procs > PROCS_MAX || n_kills < 0 || n_stops < 0)
		options_wrong(argv);
	sh = storm_share(sizeof(*sh) + n_kills + n_stops + PROCS_MAX + 1);
	storm_seed(&rng, (uint64_t)seed, 0);
	sem_id = semget(IPC_PRIVATE, 1, 0600);
	if (sem_id < 0 || semctl(sem_id, 0, SETVAL, 1))
		storm_die("semget");
	printf("seed %ld\n", seed);
	fflush(stdout);
	for (int i = 0; i < n_procs; i++)
		worker_start(&workers[i]);
	dog = watchdog_start(&sh->dog, &sh->progress);
	storm();
	sh->dog.stop = 1;
	storm_reap(dog, 5000, &status);
	workers_end();
	ret = verdict();
	semctl(sem_id, 0, IPC_RMID);
	return ret;
}
