// SPDX-License-Identifier: MIT
/*
 * How far it is: a bar in the last line of a terminal, on stderr; nothing if
 * that is none.
 */
#ifndef IPCLIFT_BENCH_PROGRESS_H
#define IPCLIFT_BENCH_PROGRESS_H

/* So many steps. */
void progress_begin(int steps);
/* What is being done now. */
void progress_show(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void progress_step(void);
/* Clears the line. */
void progress_end(void);

#endif
