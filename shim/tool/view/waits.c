// SPDX-License-Identifier: MIT
/*
 * ipclift waits: who waits for whom, and deadlocks among them.
 *
 * What waiting for somebody means is in inspect/waitview.h. A circle is shown
 * only if it is still there at a second look.
 */
#include <stdio.h>
#include <string.h>

#include "inspect/graph.h"
#include "tool/registry.h"
#include "tool/view/table.h"

static int as_json, as_dot;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{"dot", 0, NULL, &as_dot, "as a graph for Graphviz: | dot -Tsvg"},
	{0},
};

/* What it sleeps on: "sem 5.2", "msg 3", "mq 0". */
static const char *object_of(const struct wait_edge *e)
{
	static char text[40];

	if (e->facility == FAC_SEM)
		snprintf(text, sizeof(text), "sem %d.%u", e->id, e->num);
	else
		snprintf(text, sizeof(text), "%s %d",
			facility_names[e->facility], e->id);
	return text;
}

static const char *what_of(const struct wait_edge *e)
{
	static char text[24];

	switch (e->what) {
	case WAIT_FOR_UNITS:
		snprintf(text, sizeof(text), "%d", -e->op);
		return text;
	case WAIT_FOR_ZERO:
		return "0";
	case WAIT_FOR_MESSAGE:
		return "message";
	default:
		return "room";
	}
}

static json_object *edge_row(const struct wait_edge *e)
{
	json_object *row = json_object_new_object();

	field_process(row, e->pid);
	field_int(row, "tid", e->tid);
	field_text(row, "on", "%s", object_of(e));
	field_text(row, "for", "%s", what_of(e));
	if (e->holder) {
		field_int(row, "holder", e->holder);
		field_text(
			row, "holder_command", "%s", process_name(e->holder));
	} else {
		field_null(row, "holder");
		field_null(row, "holder_command");
	}
	field_time(row, "since", e->since);
	field_bool(row, "deadlock", (int)e->in_circle);
	return row;
}

static void print_deadlocks(const struct graph *g)
{
	size_t i;

	printf("\n%sDeadlock%s: these wait for each other.\n", colour('r'),
		colour(0));
	for (i = 0; i < g->n; i++)
		if (g->edges[i].in_circle)
			printf("  %u waits for %u at semaphore %u of set %d\n",
				g->edges[i].pid, g->edges[i].holder,
				g->edges[i].num, g->edges[i].id);
	puts("End one of them (kill PID): its SEM_UNDO lets the other go on.");
}

static void print_dot(const struct graph *g)
{
	struct text t = {0};

	graph_print(g, &t);
	fwrite(t.buf, 1, t.len, stdout);
	text_deinit(&t);
}

/* ---- the command ---- */

static void print_table(const struct graph *g)
{
	static const struct column columns[] = {{"PID", "pid", '>'},
		{"COMMAND", "command", 's'}, {"ON", "on", '<'},
		{"FOR", "for", '<'}, {"HELD BY", "holder", '>'},
		{"COMMAND", "holder_command", '<'}, {"SINCE", "since", '<'},
		{0}};
	json_object *rows = json_object_new_array();
	u32 i;

	for (i = 0; i < g->n; i++)
		json_object_array_add(rows, edge_row(&g->edges[i]));
	rows_print(columns, rows, as_json);
	if (g->n_circle && !as_json)
		print_deadlocks(g);
}

static int waits_main(int argc, char **argv)
{
	struct graph g = {0};
	struct caller *c;
	int err = no_words(argc, argv), deadlock;

	if (!err && as_json && as_dot)
		err = usage_error("--json and --dot exclude each other");
	c = err ? NULL : registry_look(&err);
	if (!c)
		return err;
	err = graph_read(c, &g);
	deadlock = g.n_circle != 0;
	if (err)
		err = failure("%s", strerror(-err));
	else if (as_dot)
		print_dot(&g);
	else
		print_table(&g);
	graph_deinit(&g);
	return err ? err : deadlock ? EXIT_FAILED : EXIT_OK;
}

const struct command waits_command = {
	.name = "waits",
	.summary = "list who waits for whom, and deadlocks",
	.usage = "[OPTIONS]",
	.about = "List every thread that sleeps in a call: on which object "
		 "(sem SET.NUMBER),\n"
		 "for what, and who holds it, that is, whose death would give "
		 "it back\n"
		 "(SEM_UNDO). Exit status 1 if some wait for each other.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = waits_main,
};
