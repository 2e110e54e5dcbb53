// SPDX-License-Identifier: MIT
/*
 * See graph.h. An ellipse is a process; an arrow leads from one that sleeps in
 * semop to the one whose exit or release would let it through, or to the box of
 * the object if it waits for no particular process. Cycles of processes are
 * red: they are shown only if a second reading finds them again (waitview.h).
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

/* Mark edges that were on a cycle before and are now: 0 or -ENOMEM. */
static int confirm(struct graph *g, const struct graph *before)
{
	s32 n = wait_circles_confirm(g->edges, g->n, before->edges, before->n);
	u32 i;

	for (i = 0; i < g->n; i++)
		g->edges[i].in_circle =
			g->edges[i].in_circle == WAIT_CIRCLE_AGAIN;
	g->n_circle = n < 0 ? 0 : (u32)n;
	return n < 0 ? n : 0;
}

/* ---- processes, each once ---- */

struct once {
	u32 pid, edge; /* where it is met first */
	int told;
};

static int by_pid(const void *a, const void *b)
{
	const struct once *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
				: (x->edge > y->edge) - (x->edge < y->edge);
}

/* In the order of pids; n of them, of which the first of a pid remains. */
static u32 once_sort(struct once *all, u32 n)
{
	u32 i, kept = 0;

	qsort(all, n, sizeof(*all), by_pid);
	for (i = 0; i < n; i++)
		if (!kept || all[kept - 1].pid != all[i].pid)
			all[kept++] = all[i];
	return kept;
}

static struct once *once_find(struct once *all, u32 n, u32 pid)
{
	u32 low = 0, high = n, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (all[at].pid == pid)
			return &all[at];
		if (all[at].pid < pid)
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

static void print_process(struct text *t, u32 pid)
{
	char name[PROCESS_NAME_CAP], seen[4 * PROCESS_NAME_CAP], *p;

	process_name_read(pid, name);
	text_visible(name, seen, sizeof(seen));
	text_print(t, "\t\"p%u\" [label=\"%u\\n", pid, pid);
	for (p = seen; *p; p++)
		text_print(t, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
	text_print(t, "\"];\n");
}

static void print_once(struct once *all, u32 n, u32 pid, struct text *t)
{
	struct once *p = pid ? once_find(all, n, pid) : NULL;

	if (!p || p->told)
		return;
	p->told = 1;
	print_process(t, pid);
}

static void print_nodes(const struct graph *g, struct text *t)
{
	struct once *all = calloc(2 * (size_t)g->n + 1, sizeof(*all));
	u32 i, n = 0;

	if (!all) {
		t->failed = 1;
		return;
	}
	for (i = 0; i < g->n; i++) {
		all[n++].pid = g->edges[i].pid;
		all[n++].pid = g->edges[i].holder;
	}
	n = once_sort(all, n);
	for (i = 0; i < g->n; i++) {
		print_once(all, n, g->edges[i].pid, t);
		print_once(all, n, g->edges[i].holder, t);
	}
	free(all);
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
	if (!err)
		err = wait_circles(ret->edges, ret->n);
	if (err <= 0)
		return err;
	before = *ret;
	*ret = (struct graph){0};
	err = read_edges(c, ret);
	if (!err)
		err = wait_circles(ret->edges, ret->n);
	if (err > 0)
		err = confirm(ret, &before);
	graph_deinit(&before);
	return err;
}

void graph_deinit(struct graph *g)
{
	free(g->edges);
	*g = (struct graph){0};
}

/* Steps along edges, of all circles together. Arbitrary: more than a thousand
 * circles of a thousand processes. */
#define STEPS_MOST (4u << 20)

/* The path back to an edge, among each process's first edge on a cycle. */
struct way {
	const struct graph *g;
	struct once *first;
	u32 n_first;
	u32 *path;
	u32 *met; /* edge from which it was met last, + 1 */
	char *told;
	u32 steps;
};

static int way_init(struct way *w, const struct graph *g)
{
	const size_t n = (size_t)g->n + 1;
	u32 i;

	*w = (struct way){.g = g,
		.first = calloc(n, sizeof(*w->first)),
		.path = calloc(n, sizeof(*w->path)),
		.met = calloc(n, sizeof(*w->met)),
		.told = calloc(n, 1)};
	if (!w->first || !w->path || !w->met || !w->told)
		return 0;
	for (i = 0; i < g->n; i++)
		if (g->edges[i].in_circle)
			w->first[w->n_first++] = (struct once){
				.pid = g->edges[i].pid, .edge = i};
	w->n_first = once_sort(w->first, w->n_first);
	return 1;
}

static void way_deinit(struct way *w)
{
	free(w->first);
	free(w->path);
	free(w->met);
	free(w->told);
}

/* Follow edges on cycles from this one: how many of path lead back to it; 0 if
 * they lead into another cycle. */
static u32 walk_circle(struct way *w, u32 from)
{
	const struct wait_edge *edges = w->g->edges;
	const struct once *next;
	u32 n = 0, at = from;

	while (w->steps < STEPS_MOST && w->met[at] != from + 1) {
		w->steps++;
		w->met[at] = from + 1;
		w->path[n++] = at;
		if (edges[at].holder == edges[from].pid)
			return n;
		next = once_find(w->first, w->n_first, edges[at].holder);
		if (!next)
			return 0;
		at = next->edge;
	}
	return 0;
}

void graph_circles(const struct graph *g, struct text *t)
{
	struct way w;
	u32 from, n, i;

	if (!way_init(&w, g))
		t->failed = 1;
	for (from = 0; !t->failed && from < g->n; from++) {
		n = g->edges[from].in_circle && !w.told[from]
			    ? walk_circle(&w, from)
			    : 0;
		for (i = 0; i < n; i++) {
			const struct wait_edge *e = &g->edges[w.path[i]];

			w.told[w.path[i]] = 1;
			text_print(
				t, "%u -(sem %d.%u)-> ", e->pid, e->id, e->num);
		}
		if (n)
			text_print(t, "%u\n", g->edges[from].pid);
	}
	way_deinit(&w);
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
