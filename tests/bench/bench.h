// SPDX-License-Identifier: MIT
/*
 * bench.h: the command line of the programs here that time calls
 *
 *	PROGRAM [--rounds N] [--round-ms MS] [OPTIONS] CASE | --list
 *
 * A program is a table of cases, each of which prints rows `NAME ns`. Lines
 * that begin with '#' are for people. Exit status 77: cannot be timed here. The
 * clock, CPUs and partners are frame.h's, and what `ipclift bench` times is in
 * its folder, shim/tool/bench/work.
 */
#ifndef BENCH_H
#define BENCH_H

#include "../option.h"
#include "tool/bench/work/frame.h"

#define PAIRS_MAX 64
#define N_BURNERS 2 /* a CPU each, of the two that pairs run on */

/* The row of a case, or, with a suffix, one of its rows. */
static inline void report(const char *suffix, double ns)
{
	printf("%s%s %.1f\n", case_name, suffix, ns);
}

/* --- many pairs ------------------------------------------------------- */

/* One line a pair, so that the counters do not share a cache line. */
struct tally {
	_Alignas(64) volatile long round_trips;
};

/* Shared by all processes. */
struct arena {
	volatile int stop;
	struct tally pair[PAIRS_MAX];
};

static inline long pairs_total(const struct arena *arena, int n_pairs)
{
	long sum = 0;

	for (int i = 0; i < n_pairs; i++)
		sum += arena->pair[i].round_trips;
	return sum;
}

/* For people: a pair may starve while the sum looks well. */
static inline void pairs_spread(const struct arena *arena, int n_pairs)
{
	long least = arena->pair[0].round_trips, most = least;

	for (int i = 1; i < n_pairs; i++) {
		long x = arena->pair[i].round_trips;

		least = x < least ? x : least;
		most = x > most ? x : most;
	}
	printf("# %s: round trips of one pair: least %ld, most %ld\n",
		case_name, least, most);
}

/*
 * ns of one of run()'s turns on cpu_a, beside a partner that does its part on
 * cpu_b until remove() has removed what both work on.
 */
static inline double pair_best(int cpu_a, int cpu_b, void (*partner)(void),
	void (*run)(long n), void (*remove)(void))
{
	double ns;

	if (!partner_fork()) {
		cpu_pin(cpu_b, cpu_b);
		partner();
		partner_exit();
	}
	cpu_pin(cpu_a, cpu_a);
	ns = best_of(run);
	remove();
	partners_wait();
	return ns;
}

static inline void burners_start(const struct arena *arena, const int *cpu)
{
	for (int i = 0; i < N_BURNERS; i++)
		if (!partner_fork()) {
			cpu_pin(cpu[i % 2], cpu[i % 2]);
			while (!arena->stop)
				;
			_exit(0);
		}
}

/*
 * ns a round trip, elapsed time by the round trips of all n_pairs pairs on two
 * CPUs, beside two processes that only spin if burn. start(arena, i) starts the
 * two partners of pair i, of whom one counts; remove() removes what they use.
 */
static inline double pairs_best(int n_pairs, bool burn,
	void (*start)(struct arena *arena, int nth), void (*remove)(void))
{
	struct arena *arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int cpu[2] = {cpu_pick(0), cpu_pick(1)};
	double best = NEVER;

	if (arena == MAP_FAILED)
		die("mmap");
	cpu_pin(cpu[0], cpu[1]);
	if (burn)
		burners_start(arena, cpu);
	for (int i = 0; i < n_pairs; i++)
		start(arena, i);
	sleep_ms(100);
	for (long i = 0; i < n_rounds; i++) {
		long before = pairs_total(arena, n_pairs);
		double t = now_ns();

		sleep_ms(10 * round_ms);
		t = now_ns() - t;
		before = pairs_total(arena, n_pairs) - before;
		if (before)
			keep_min(&best, t / before);
	}
	pairs_spread(arena, n_pairs);
	arena->stop = 1;
	remove();
	partners_wait();
	return best;
}

/* --- the command ------------------------------------------------------ */

struct bench {
	const char *name; /* NULL ends the table */
	void (*run)(void);
};

static void (*bench_clean)(void);

static inline void bench_exit(void)
{
	if (getpid() != owner_pid)
		return;
	partners_kill();
	if (bench_clean)
		bench_clean();
}

/* The options of every program, for its table. */
#define BENCH_OPTIONS                           \
	{"rounds", .number = &n_rounds},        \
	{                                       \
		"round-ms", .number = &round_ms \
	}

/*
 * Runs the case that argv names, after the program's options; clean() is called
 * at the end, however that comes, but not in children. Does not return where
 * --list was asked for or no case has the name. options NULL: BENCH_OPTIONS.
 */
static inline void bench_main(int argc, char **argv,
	const struct option_of *options, const struct bench *benches,
	void (*clean)(void))
{
	static const struct option_of common[] = {BENCH_OPTIONS, {0}};
	int list = argc == 2 && !strcmp(argv[1], "--list");
	int at = list ? argc
		      : options_read(argc, argv, options ? options : common);

	partners_begin();
	bench_clean = clean;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (const struct bench *b = benches; list && b->name; b++)
		puts(b->name);
	if (list)
		exit(0);
	if (at + 1 != argc || n_rounds < 1 || round_ms < 1)
		options_wrong(argv);
	case_name = argv[at];
	atexit(bench_exit);
	for (const struct bench *b = benches; b->name; b++)
		if (!strcmp(case_name, b->name)) {
			b->run();
			return;
		}
	options_wrong(argv);
}

#endif
