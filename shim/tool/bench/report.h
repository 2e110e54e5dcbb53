// SPDX-License-Identifier: MIT
/*
 * What was measured, for people.
 */
#ifndef IPCLIFT_BENCH_REPORT_H
#define IPCLIFT_BENCH_REPORT_H

#include "tool/bench/results.h"

/* The machine and its load, each table, and what was not possible. */
void report_print(const struct results *r);

/* The parts that others print, too. */
void report_machine(const struct results *r);
void report_notes(const struct results *r);

/* "41.8 us", "12,300 /s". Four buffers in turn. */
const char *value_text(const char *measure, double value);

/* kernel / shim, so that more is better; 0 if one is not known. */
double figure_ratio(const struct figure *f);

#endif
