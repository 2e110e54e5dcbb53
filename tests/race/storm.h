// SPDX-License-Identifier: MIT
/*
 * storm.h: what the storms of this directory share: time, random numbers,
 * workers that end with their parent, and the watchdog's clock. Plain system
 * calls only, as in a user's program.
 */
#ifndef STORM_H
#define STORM_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline _Noreturn void storm_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(2);
}

static inline double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static inline void sleep_us(long us)
{
	struct timespec t = {us / 1000000, us % 1000000 * 1000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static inline void spin_us(double us)
{
	double end = now_ms() + us / 1e3;

	while (now_ms() < end)
		;
}

/* xorshift64*: one state a process, seeded by storm_seed() */
struct storm_rng {
	uint64_t state;
};

static inline void storm_seed(struct storm_rng *r, uint64_t seed, uint64_t who)
{
	r->state = (seed + 1) * 0x9e3779b97f4a7c15ULL ^
		   (who + 1) * 0xbf58476d1ce4e5b9ULL;
	if (!r->state)
		r->state = 1;
}

static inline uint32_t storm_random(struct storm_rng *r, uint32_t below)
{
	r->state ^= r->state >> 12;
	r->state ^= r->state << 25;
	r->state ^= r->state >> 27;
	return (uint32_t)((r->state * 0x2545f4914f6cdd1dULL >> 32) % below);
}

/* The moment between two kills: at once, within 50 us, within 1 ms. */
static inline void storm_pause(struct storm_rng *r)
{
	switch (storm_random(r, 4)) {
	case 0:
		break;
	case 1:
		sleep_us(storm_random(r, 1000));
		break;
	default:
		spin_us(storm_random(r, 50));
		break;
	}
}

static inline void *storm_share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		storm_die("mmap");
	return p;
}

/* 0 in the child, which dies with its parent */
static inline pid_t storm_fork(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		storm_die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	return pid;
}

/* Waits ms at most; kills it then and returns false. */
static inline bool storm_reap(pid_t pid, double ms, int *ret_status)
{
	double end = now_ms() + ms;
	int status;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			*ret_status = status;
			return true;
		}
		if (now_ms() > end)
			break;
		sleep_us(500);
	}
	kill(pid, SIGKILL);
	waitpid(pid, ret_status, 0);
	return false;
}

/*
 * The watchdog: a process that wakes every millisecond and looks at a
 * counter. Of a time without progress it knows two lengths: by the clock, and
 * by its own wake-ups, a millisecond each: whatever kept the watchdog itself
 * from running (its longest oversleeping is `noise`) is not counted there.
 * While `hold` is set, no progress is right. Written by the watchdog alone:
 * all but hold and stop, which the parent writes.
 */
struct watchdog {
	volatile int hold, stop, stuck;
	volatile double stall_ms, stall_net_ms, noise_ms;
};

#define WATCHDOG_STUCK_MS 10000

static inline _Noreturn void watchdog_run(
	struct watchdog *w, const volatile uint64_t *progress)
{
	double since = now_ms(), last = since;
	uint64_t seen = *progress;
	long ticks = 0;

	while (!w->stop) {
		double t;

		sleep_us(1000);
		t = now_ms();
		if (t - last - 1 > w->noise_ms)
			w->noise_ms = t - last - 1;
		last = t;
		if (w->hold || *progress != seen) {
			seen = *progress;
			since = t;
			ticks = 0;
			continue;
		}
		ticks++;
		if (t - since > w->stall_ms)
			w->stall_ms = t - since;
		if (ticks > w->stall_net_ms)
			w->stall_net_ms = ticks;
		if (ticks > WATCHDOG_STUCK_MS)
			w->stuck = 1;
	}
	_exit(0);
}

static inline pid_t watchdog_start(
	struct watchdog *w, const volatile uint64_t *progress)
{
	pid_t pid = storm_fork();

	if (!pid)
		watchdog_run(w, progress);
	return pid;
}

#endif
