// SPDX-License-Identifier: MIT
/*
 * The worlds in which `ipclift bench` measures: the kernel, in an IPC namespace
 * that each run has to itself, and the shim, on a registry that is made for
 * each run.
 *
 * Nothing can stay behind, however the command ends: it works in an IPC and a
 * mount namespace of its own, with a /dev/shm of its own, which are gone with
 * their last process, and all its processes end with the one that started them
 * (PR_SET_PDEATHSIG).
 */
#ifndef IPCLIFT_BENCH_WORLD_H
#define IPCLIFT_BENCH_WORLD_H

#include <stddef.h>

#define WORLD_OUTPUT 65536

struct world {
	const char *name;    /* "kernel", "shim", or a peer's */
	const char *program; /* a worker of others; NULL: this one */
	int shim, extended;
	int kernel_limits; /* the shim's: as raised for the kernel's runs */
};

/* Enter the namespaces; shim: the library's path. 0, or EXIT_FAILED after a
 * message. No file in /dev/shm is to be seen afterwards. */
int world_enter(const char *shim);

/*
 * Run a case with its arguments ("n=100", NULL ends them) in a fresh world.
 * What it printed to out (WORLD_OUTPUT). 0; CANNOT_BE_TIMED; or another status,
 * -1 if it could not be run or did not end: out is then what it complained of.
 */
int world_run(const struct world *w, const char *work, const char *const *args,
	char *out);

/* The same with the times of locks taken; out: the JSON of `ipclift locks`. */
int world_run_locks(const struct world *w, const char *work,
	const char *const *args, char *out);

#endif
