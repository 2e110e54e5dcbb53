// SPDX-License-Identifier: MIT
/*
 * What is run inside the processes that are measured:
 *
 *	ipclift --work CASE [NAME=NUMBER]... | --list [GROUP]
 *
 * A plain user of IPC by libc's calls, on the kernel or, preloaded, on a
 * registry; whoever starts it has made a namespace or a registry for it alone,
 * so it need not clean up. A line on stdout for each figure: `NAME X VALUE`, X
 * being the size that the case was asked for. Exit status CANNOT_BE_TIMED:
 * not here, and stderr says why.
 */
#ifndef IPCLIFT_BENCH_WORKER_H
#define IPCLIFT_BENCH_WORKER_H

struct work {
	const char *name; /* NULL ends a table */
	void (*run)(void);
};

/* calls.c, keys.c, depth.c, trip.c, peers.c */
extern const struct work call_works[], key_works[], depth_works[], trip_works[],
	peer_works[];

int worker_main(int argc, char **argv);

/* The rest is work.c's, for workers of others, too (tests/bench/boost.cc). */

/* Run a case with these arguments, NULL at their end. */
void work_run(const struct work *w, char **args);

/* The number of NAME=NUMBER; otherwise, if it is not given. */
long work_arg(const char *name, long otherwise);

/* One line of output. */
void figure(const char *name, double x, double value);

#endif
