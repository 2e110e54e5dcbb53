// SPDX-License-Identifier: MIT
/*
 * The machine that is measured on, and what else it does meanwhile.
 */
#ifndef IPCLIFT_BENCH_MACHINE_H
#define IPCLIFT_BENCH_MACHINE_H

#include <json-c/json.h>

struct machine_time {
	double when, busy, steal; /* seconds; busy: of all CPUs together */
	double own;		  /* of this process and its children */
};

void machine_now(struct machine_time *ret);

/* 0, or EXIT_FAILED after a message: the machine is busy and measuring is not
 * forced. Takes a second, in which it looks. */
int machine_refuse(int forced);

/* CPU, kernel, version, date and load at the beginning; at the end, what others
 * did meanwhile. */
void machine_describe(json_object *machine);
void machine_describe_end(
	json_object *machine, const struct machine_time *from);

#endif
