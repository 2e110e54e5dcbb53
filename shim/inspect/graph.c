// SPDX-License-Identifier: MIT
/*
 * See graph.h. An ellipse is a process; an arrow leads from one that sleeps in
 * semop to the one whose death or release would let it through, or to the box
 * of the object where nobody in particular is waited for. Circles of processes
 * are red: they are shown only if a second look finds them again (waitview.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "inspect/graph.h"

/* Edges looked for at first. Arbitrary. */
#define EDGES_FIRST 256u

static int read_edges(struct caller *c, struct graph *g)
{
	u32 cap = EDGES_FIRST;
	s32 n;

	for (;;) {
		free(g->edges);
		g->edges = malloc(cap * sizeof(*g->edges));
		if (!g->edges)
			return -ENOMEM;
		n = wait_edges(c, g->edges, cap);
		if (n < 0)
			return n;
		g->n = (u32)n;
		if (g->n <= cap)
			return 0;
		cap = g->n + EDGES_FIRST;
	}
}

/* What was on a circle before and is now. */
static void confirm(struct graph *g, const struct graph *before)
{
	u32 i, k;

	for (i = 0; i < g->n; i++) {
		int seen = 0;

		for (k = 0; k < before->n && g->edges[i].in_circle; k++)
			seen |= before->edges[k].in_circle &&
				wait_edge_same(&g->edges[i], &before->edges[k]);
		g->edges[i].in_circle = (u32)seen;
		g->n_circle += (u32)seen;
	}
}

static int earlier_pid(const struct graph *g, u32 at, u32 pid, int holder)
{
	u32 i;

	for (i = 0; i < g->n && i <= at; i++) {
		if (i < at && g->edges[i].holder == pid)
			return 1;
		if ((i < at || holder) && g->edges[i].pid == pid)
			return 1;
	}
	return 0;
}

static void print_process(struct text *t, u32 pid)
{
	char name[PROCESS_NAME_CAP], *p;

	process_name_read(pid, name);
	text_print(t, "\t\"p%u\" [label=\"%u\\n", pid, pid);
	for (p = name; *p; p++)
		text_print(t, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
	text_print(t, "\"];\n");
}

static void print_nodes(const struct graph *g, struct text *t)
{
	u32 i;

	for (i = 0; i < g->n; i++) {
		const struct wait_edge *e = &g->edges[i];

		if (!earlier_pid(g, i, e->pid, 0))
			print_process(t, e->pid);
		if (e->holder && !earlier_pid(g, i, e->holder, 1))
			print_process(t, e->holder);
	}
}

static const char *const facilities[N_FAC] = {"sem", "msg", "shm", "mq"};

/* "sem 5.0", "msg 3". */
static void print_object(struct text *t, const struct wait_edge *e)
{
	text_print(t, "%s %d", facilities[e->facility % N_FAC], e->id);
	if (e->facility == FAC_SEM)
		text_print(t, ".%u", e->num);
}

static void print_label(struct text *t, const struct wait_edge *e)
{
	switch (e->what) {
	case WAIT_FOR_UNITS:
		print_object(t, e);
		text_print(t, " %+d", e->op);
		break;
	case WAIT_FOR_ZERO:
		text_print(t, "for zero");
		break;
	case WAIT_FOR_MESSAGE:
		text_print(t, "for a message");
		break;
	default:
		text_print(t, "for room");
	}
	text_print(t, "\\nsince ");
	text_time(t, e->since);
}

static void print_edge(const struct wait_edge *e, struct text *t)
{
	text_print(t, "\t\"p%u\" -> ", e->pid);
	if (e->holder) {
		text_print(t, "\"p%u\"", e->holder);
	} else {
		text_print(t, "\"");
		print_object(t, e);
		text_print(t, "\"");
	}
	text_print(t, " [label=\"");
	print_label(t, e);
	text_print(t, "\"%s];\n", e->in_circle ? " color=red" : "");
	if (e->holder)
		return;
	text_print(t, "\t\"");
	print_object(t, e);
	text_print(t, "\" [shape=box];\n");
}

int graph_read(struct caller *c, struct graph *ret)
{
	struct graph before = {0};
	int err;

	*ret = (struct graph){0};
	err = read_edges(c, ret);
	if (err || !wait_circles(ret->edges, ret->n))
		return err;
	before = *ret;
	*ret = (struct graph){0};
	err = read_edges(c, ret);
	if (!err && wait_circles(ret->edges, ret->n))
		confirm(ret, &before);
	graph_deinit(&before);
	return err;
}

void graph_deinit(struct graph *g)
{
	free(g->edges);
	*g = (struct graph){0};
}

/* From an edge along others on circles: how many of path lead back to it; 0 if
 * they lead to another circle. */
static u32 walk_circle(const struct graph *g, u32 from, u32 *path)
{
	u32 n = 0, at = from, i;

	while (at < g->n) {
		path[n++] = at;
		for (i = 0; i < n; i++)
			if (g->edges[path[i]].pid == g->edges[at].holder)
				return i ? 0 : n;
		for (i = 0; i < g->n; i++)
			if (g->edges[i].in_circle &&
				g->edges[i].pid == g->edges[at].holder)
				break;
		at = i;
	}
	return 0;
}

void graph_circles(const struct graph *g, struct text *t)
{
	u32 *path = calloc(2 * (g->n + 1), sizeof(*path)), from, n, i;
	u32 *told = path + g->n + 1;

	for (from = 0; path && from < g->n; from++) {
		n = g->edges[from].in_circle && !told[from]
			    ? walk_circle(g, from, path)
			    : 0;
		for (i = 0; i < n; i++) {
			const struct wait_edge *e = &g->edges[path[i]];

			told[path[i]] = 1;
			text_print(
				t, "%u -(sem %d.%u)-> ", e->pid, e->id, e->num);
		}
		if (n)
			text_print(t, "%u\n", g->edges[from].pid);
	}
	free(path);
}

void graph_print(const struct graph *g, struct text *t)
{
	u32 i;

	text_print(t, "digraph waits {\n\trankdir=LR;\n");
	print_nodes(g, t);
	for (i = 0; i < g->n; i++)
		print_edge(&g->edges[i], t);
	if (g->n_circle)
		text_print(t, "\tlabel=\"deadlock\"; fontcolor=red;\n");
	text_print(t, "}\n");
}
