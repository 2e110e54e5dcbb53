// SPDX-License-Identifier: MIT
/*
 * Who waits for whom, for `ipclift waits` and the mount's file of that name:
 * the edges of inspect/waitview.h, and as a graph for Graphviz.
 */
#ifndef IPCLIFT_INSPECT_GRAPH_H
#define IPCLIFT_INSPECT_GRAPH_H

#include "inspect/waitview.h"
#include "inspect/text.h"

struct graph {
	struct wait_edge *edges;
	u32 n;
	u32 n_circle; /* edges on a circle: deadlocks */
};

/* Cycles count if a second reading finds them again. 0 or -errno; graph_deinit
 * follows in both cases. */
int graph_read(struct caller *c, struct graph *ret);
void graph_deinit(struct graph *g);
/* A line a circle: "12 -(sem 5.0)-> 13 -(sem 5.1)-> 12". */
void graph_circles(const struct graph *g, struct text *t);
void graph_print(const struct graph *g, struct text *t);

#endif
