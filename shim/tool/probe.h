// SPDX-License-Identifier: MIT
/*
 * This program as a plain user of IPC: doctor runs it once on the kernel and
 * once under the shim, and compares what it prints.
 */
#ifndef IPCLIFT_TOOL_PROBE_H
#define IPCLIFT_TOOL_PROBE_H

#include <stddef.h>

/* The child's side: ipclift --probe WHAT [NUMBER]. Returns the exit status. */
int probe_main(int argc, char **argv);

/*
 * Run a probe: on the kernel, in a new IPC namespace if we may make one; or,
 * with shim (the library's path), on a new private registry. Its output goes to
 * ret, cut at cap - 1. Returns its exit status, -1 if it could not be run.
 */
int probe_run(const char *shim, const char *what, const char *number, char *ret,
	size_t cap);

/* Probes, each a line on stdout "ns NUMBER" but for parity. */
#define PROBE_LOADED "loaded" /* exit 0 if the shim is in our mappings */
#define PROBE_PARITY "parity" /* a line a call: what it did */
#define PROBE_SEMOP "semop"   /* a pair down and up */
#define PROBE_MSG "msg"	      /* a pair msgsnd and msgrcv of 64 bytes */
#define PROBE_MQ "mq"	      /* a pair mq_send, mq_receive, NUMBER in it */

#endif
