// SPDX-License-Identifier: MIT
/*
 * What programs that time calls share: the clock, the best of several rounds,
 * CPUs, and partners in other processes. Used by the workers of `ipclift bench`
 * and by the programs of tests/bench; system headers only, as a user's program.
 */
#ifndef IPCLIFT_BENCH_FRAME_H
#define IPCLIFT_BENCH_FRAME_H

#include <errno.h>
#include <sched.h>
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

#define PARTNERS_MAX 1024
#define NEVER 1e18	   /* ns; more than any time */
#define CANNOT_BE_TIMED 77 /* exit status */

/* Of best_of; and the name for messages. */
extern const char *case_name;
extern long n_rounds, round_ms;

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void keep_min(double *least, double x)
{
	if (x < *least)
		*least = x;
}

void sleep_ms(long ms);

/* The message of errno, and exit(1), so that what atexit removes is removed. */
_Noreturn void die(const char *what);
void must(int ok, const char *what);

/* Memory shared with all children, zero. */
void *share(size_t size);

/* Not too small a generator of numbers: the same ones in each run. */
uint64_t rng_next(void);

/* qsort's order of doubles. */
int by_size(const void *a, const void *b);

/* ns of one of run()'s n turns: of the best of n_rounds of round_ms each. */
double best_of(void (*run)(long n));

/* The nth, from 0, of the CPUs that this process may run on; exits with
 * CANNOT_BE_TIMED if there are fewer. */
int cpu_pick(int nth);
void cpu_pin(int a, int b);

/* To be called by whoever has partners, before the first. */
void partners_begin(void);
/* 0 in the child, which is killed when its parent ends. */
pid_t partner_fork(void);
/* A partner works until what it works on is removed, and says so by this. */
_Noreturn void partner_exit(void);
/* Dies if one has failed. */
void partners_wait(void);
void partners_kill(void);
/* How many are kept in mind; fewer after the later ones were waited for. */
extern int n_partners;
/* The process that called partners_begin. */
extern pid_t owner_pid;

#endif
