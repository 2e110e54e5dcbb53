// SPDX-License-Identifier: MIT
/*
 * ipclift bench --never-slower: is there a call that is slower under the shim?
 */
#ifndef IPCLIFT_BENCH_SLOWER_H
#define IPCLIFT_BENCH_SLOWER_H

#include "tool/bench/measure.h"

/* Measure the cases, and those that were slower once more. 0, or EXIT_FAILED
 * where one is slower both times, or its run failed. Prints its lines unless
 * quiet. *r has all that was measured. */
int slower_run(struct results *r, const struct request *q, int quiet);

/* A line a case of theirs in the results. */
void slower_print(const struct results *r);

#endif
