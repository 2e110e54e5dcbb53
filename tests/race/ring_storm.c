// SPDX-License-Identifier: MIT
/*
 * ring_storm: a ring in shared memory with two semaphores, whose users' groups
 * are killed.
 *
 *	ring_storm [--kills N] [--seed S]
 *
 * Producers wait for an empty place (semaphore 0), fill one, and tell of a full
 * one (semaphore 1); consumers do the opposite; a third semaphore guards the
 * choice of a place. What one has taken is released by SEM_UNDO if it is
 * killed, and otherwise passed on by one array. Groups of producers and
 * consumers are killed, one or two at once, also while some of them are
 * stopped, or are stopped and continued. Of the kernel and of the shim:
 *
 * - Whenever all are at rest, empty, full and held places add up to all; at the
 *   end, when all are dead, empty and full ones do.
 * - What is read from a full place is what was written, by one process.
 * - After the last kill it continues: no unit of the dead is missing.
 * - The segment is attached by the living, and removed with the last of them.
 * - semop fails with EINTR at most once each time its caller is stopped.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "herd.h"

#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define EMPTY 0
#define FULL 1
#define GUARD 2
#define PLACES 16
#define WORDS 60
#define ROUND_KILLS 300

struct place {
	_Atomic uint32_t
		state; /* 0 empty, 1 full, else the pid that is at it */
	uint32_t seed, text[WORDS];
};
static struct shared {
	struct herd_report report;
	_Atomic long made, read;
} * sh;
static struct herd herd;
static struct place *ring;
static long n_kills = 2000, seed = 1;
static int set, segment;

static void operate(struct sembuf *ops, size_t n)
{
	if (!herd_semop(&sh->report, set, ops, n))
		return;
	violation(&sh->report, "semop", errno, (long)n);
	_exit(3);
}

static void change(unsigned short num, short by)
{
	struct sembuf op = {num, by, SEM_UNDO};

	operate(&op, 1);
}

/* What was taken from `from` is no more owed, and is one of `to`. */
static void pass_on(unsigned short from, unsigned short to)
{
	struct sembuf ops[] = {{from, 1, SEM_UNDO}, {from, -1, 0}, {to, 1, 0}};

	operate(ops, 3);
}

/* Under the guard: a place of that state, or one whose user was killed. */
static struct place *choose(uint32_t state)
{
	struct place *p;
	uint32_t is;

	for (p = ring; p < ring + PLACES; p++) {
		is = p->state;
		if (is == state)
			return p;
	}
	for (p = ring; p < ring + PLACES; p++) {
		is = p->state;
		if (is > 1 && kill((pid_t)is, 0) && errno == ESRCH) {
			p->state = 0;
			if (!state)
				return p;
		}
	}
	return NULL;
}

static struct place *take(uint32_t state)
{
	struct place *p;

	change(GUARD, -1);
	p = choose(state);
	if (p)
		p->state = (uint32_t)getpid();
	change(GUARD, 1);
	return p;
}

static void check(const struct place *p)
{
	uint32_t i;

	for (i = 0; i < WORDS; i++)
		if (p->text[i] != p->seed * 31 + i) {
			violation(&sh->report, "a wrong word", i, p->text[i]);
			return;
		}
}

static void produce(struct storm_rng *r)
{
	struct place *p;
	uint32_t i;

	change(EMPTY, -1);
	p = take(0);
	if (p) {
		p->seed = storm_random(r, 1u << 30);
		for (i = 0; i < WORDS; i++)
			p->text[i] = p->seed * 31 + i;
		if (p->state != (uint32_t)getpid())
			violation(&sh->report, "another one is at our place",
				p->state, 0);
		p->state = 1;
		sh->made++;
	}
	pass_on(EMPTY, FULL);
}

static void consume(void)
{
	struct place *p;

	change(FULL, -1);
	p = take(1);
	if (p) {
		check(p);
		if (p->state != (uint32_t)getpid())
			violation(&sh->report, "another one is at our place",
				p->state, 1);
		p->state = 0;
		sh->read++;
	}
	pass_on(FULL, EMPTY);
}

static void run(int place)
{
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, (uint64_t)getpid());
	ring = shmat(segment, NULL, 0);
	if (ring == (void *)-1) {
		violation(&sh->report, "shmat", errno, 0);
		_exit(3);
	}
	for (;;) {
		if (place % 2)
			produce(&r);
		else
			consume();
		if (storm_random(&r, 16) == 0)
			spin_us(storm_random(&r, 40));
	}
}

/* ---- rounds ---- */

static long attached(void)
{
	struct shmid_ds ds;

	return shmctl(segment, IPC_STAT, &ds) ? -1 : (long)ds.shm_nattch;
}

static bool goes_on(void)
{
	static long seen, since;

	if (!since)
		seen = sh->read;
	since = sh->read - seen < 50;
	return !since;
}

static void settle(void)
{
	unsigned short v[3];
	double until = now_ms() + 3000;
	long n;

	if (!herd_wait(goes_on, 5000))
		herd_complain(
			&herd, "it does not go on", sh->made, sh->read, 0);
	herd_end(&herd);
	/* They are dead, all of them: what they owe is given back. */
	if (semctl(set, 0, GETALL, v))
		storm_die("GETALL");
	if (v[EMPTY] + v[FULL] != PLACES)
		herd_complain(&herd, "empty, full, places", v[EMPTY], v[FULL],
			PLACES);
	if (v[GUARD] != 1)
		herd_complain(&herd, "the guard", v[GUARD], 0, 0);
	for (n = attached(); n && now_ms() < until; n = attached())
		sleep_us(1000);
	if (n)
		herd_complain(&herd, "still attached", n, 0, 0);
}

static bool no_more_attached(void)
{
	return attached() <= HERD_PLACES;
}

static void look(void)
{
	unsigned short v[3];

	/* Each of the living holds one at most. */
	if (semctl(set, 0, GETALL, v))
		storm_die("GETALL");
	if (v[EMPTY] + v[FULL] > PLACES ||
		v[EMPTY] + v[FULL] + HERD_PLACES < PLACES)
		herd_complain(&herd, "empty, full, in passing", v[EMPTY],
			v[FULL], PLACES);
	/* In the kernel the memory of the dead stays while somebody reads
	 * their files in /proc. */
	if (!herd_wait(no_more_attached, 3000))
		herd_complain(&herd, "attached", attached(), HERD_PLACES, 0);
}

static void round_of(void)
{
	unsigned short values[3] = {PLACES, 0, 1};
	long before = herd.kills, stops = herd.stops;

	alarm(HERD_HANG_S);
	memset(sh, 0, sizeof(*sh));
	set = semget(IPC_PRIVATE, 3, 0600);
	segment = shmget(IPC_PRIVATE, PLACES * sizeof(*ring), 0600);
	if (set < 0 || segment < 0 || semctl(set, 0, SETALL, values))
		storm_die("semget, shmget");
	herd_start_all(&herd);
	while (herd.kills - before < ROUND_KILLS && !sh->report.wrong) {
		herd_hit(&herd);
		look();
		if (storm_random(&herd.rng, 8) == 0)
			sleep_us(2000);
	}
	settle();
	herd_judge(&herd, &sh->report, herd.stops - stops);
	if (semctl(set, 0, IPC_RMID) || shmctl(segment, IPC_RMID, NULL))
		herd_complain(&herd, "IPC_RMID", errno, 0, 0);
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"seed", .number = &seed},
	{0},
};

int main(int argc, char **argv)
{
	long read = 0, interrupted = 0;

	options_only(argc, argv, options);
	sh = storm_share(sizeof(*sh));
	storm_seed(&herd.rng, (uint64_t)seed, 0);
	herd.run = run;
	while (herd.kills < n_kills && !herd.wrong) {
		round_of();
		read += sh->read;
		interrupted += sh->report.interrupted;
	}
	printf("%ld kills, %ld stops, %ld places read, EINTR %ld times, %ld "
	       "wrong\n",
		herd.kills, herd.stops, read, interrupted, herd.wrong);
	return herd.wrong != 0;
}
