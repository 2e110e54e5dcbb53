// SPDX-License-Identifier: MIT
/*
 * Pictures: a table each, as SVG and PNG, by gnuplot.
 */
#ifndef IPCLIFT_BENCH_PLOT_H
#define IPCLIFT_BENCH_PLOT_H

#include "tool/bench/results.h"

/*
 * Look for gnuplot, and make and open the directory: its descriptor, or -1
 * after a message. Before anything is measured, and before /dev/shm is hidden.
 */
int plot_begin(const char *dir);

/* TABLE.svg and TABLE.png in the directory, of each table that has figures. 0,
 * or EXIT_FAILED after a message. */
int plot_all(const struct results *r, int dir);

#endif
