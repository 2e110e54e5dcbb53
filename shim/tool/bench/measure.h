// SPDX-License-Identifier: MIT
/*
 * Measuring: which cases make which table, and running them on the kernel and
 * the shim in turn.
 */
#ifndef IPCLIFT_BENCH_MEASURE_H
#define IPCLIFT_BENCH_MEASURE_H

#include "tool/bench/results.h"

#define CALLS "calls" /* the table of never-slower */

struct request {
	const char *only; /* "T1,T3", cases of never-slower; NULL: all */
	const char *peer; /* a program with peers of its own, or NULL */
	int quick;
};

/* The first word of the list that is no table, or no call of never-slower; NULL
 * if there is none. */
const char *request_unknown(
	const struct request *q, int calls, char *word, size_t cap);

/* The tables T1 to T5. 0, or EXIT_FAILED if a run of the shim failed; what was
 * not possible stands in the notes. */
int measure_tables(struct results *r, const struct request *q);

/* Kernel beside shim, the least of the rounds: each case of the table
 * never-slower that is in the list and whose name is in again (NULL: all). The
 * same result. */
int measure_calls(struct results *r, const struct request *q,
	const struct results *again, int (*wanted)(const struct figure *f));

#endif
