// SPDX-License-Identifier: MIT
/*
 * The content of ipclift top from two glances: three sheets, the deadlocks, and
 * the sums of its first line. screen.c draws it on a terminal.
 */
#ifndef IPCLIFT_TOOL_VIEW_TOP_H
#define IPCLIFT_TOOL_VIEW_TOP_H

#include "inspect/glance.h"
#include "tool/view/sheet.h"

enum top_view {
	TOP_OBJECTS,
	TOP_PROCESSES,
	TOP_LOCKS,
	N_TOP_VIEWS,
};

struct top {
	const char *path; /* of the registry */
	double interval;  /* seconds, as asked for */
	/* As the user has chosen; sort -1: the view's own. */
	int sort[N_TOP_VIEWS], backwards[N_TOP_VIEWS];
	char filter[SHEET_CELL];
	/* Of the last two glances. */
	struct glance before, now;
	struct sheet sheets[N_TOP_VIEWS];
	double seconds; /* between them; 0: there is only one */
};

extern const char *const top_view_names[N_TOP_VIEWS];

/* Take another glance and make the sheets again. 0, or EXIT_FAILED after a
 * message: the registry was removed. */
int top_refresh(struct top *t, struct caller *c);
/* In order, filtered: after top_refresh or when the user has chosen. */
void top_arrange(struct top *t);
/* The column that a view is sorted by. */
int top_sorted_by(const struct top *t, enum top_view view);
/* The first line; and the line of the next edge on a cycle, 0 at their end: *at
 * is 0 at first. */
void top_head(const struct top *t, char *buf, size_t cap);
int top_deadlock(const struct top *t, u32 *at, char *buf, size_t cap);

/* The live screen until q, a signal, or the registry's end: an exit status.
 * EXIT_FAILED after a message where there is none. (screen.c) */
int top_screen(struct top *t, struct caller *c);

#endif
