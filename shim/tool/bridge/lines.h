// SPDX-License-Identifier: MIT
/*
 * The lines of a bridge, and what the command itself is told.
 */
#ifndef IPCLIFT_TOOL_BRIDGE_LINES_H
#define IPCLIFT_TOOL_BRIDGE_LINES_H

#include "inspect/text.h"
#include "tool/bridge/link.h"
#include "tool/options.h"

/* Of the command alone. */
struct bridge_of {
	const char *file, *metrics, *where;
	int quiet;
};
extern struct bridge_of bridge_of;
extern const struct option_spec bridge_options[];

/* All lines; their counters are not set. */
extern struct link *links;
extern unsigned n_links;

/* The words after the options, or --file, into `links`: 0, or an exit status
 * after a message. */
int lines_parse(int argc, char **argv);

/* report.c: what all lines count, for Prometheus; one line on a terminal, each
 * time over the last (`last`: and it stays). */
void report_metrics(void *arg, struct text *t);
void report_progress(int last);

#endif
