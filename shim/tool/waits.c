// SPDX-License-Identifier: MIT
/*
 * Who waits for whom, deadlocks among them, and the event ring.
 *
 * What waiting for somebody means is in ipc/waitview.h. A circle is shown only
 * if it is still there at a second look.
 */
#include "tool/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/limits.h"
#include "ipc/waitview.h"
#include "registry/event.h"
#include "tool/registry.h"
#include "tool/table.h"

/* Two readings: what only the first has is no deadlock. */
struct graph {
	struct wait_edge *edges;
	u32 n;
};

static int read_edges(struct caller *c, struct graph *g)
{
	u32 cap = g->n ? g->n : 64;
	s32 n = 0;

	do {
		free(g->edges);
		cap = (u32)n > cap ? (u32)n + 64 : cap;
		g->edges = calloc(cap, sizeof(*g->edges));
		if (!g->edges)
			return failure("out of memory");
		n = wait_edges(c, g->edges, cap);
	} while (n > (s32)cap);
	if (n < 0)
		return failure("%s", strerror(-n));
	g->n = (u32)n;
	return 0;
}

/* What it sleeps on: "sem 5.2", "msg 3", "mq 0". */
static json_object *edge_object(const struct wait_edge *e)
{
	if (e->facility == FAC_SEM)
		return json_text("sem %d.%u", e->id, e->num);
	return json_text("%s %d", facility_names[e->facility], e->id);
}

static json_object *edge_what(const struct wait_edge *e)
{
	static const char *const names[] = {[WAIT_FOR_ZERO] = "0",
		[WAIT_FOR_MESSAGE] = "message",
		[WAIT_FOR_ROOM] = "room"};

	if (e->what == WAIT_FOR_UNITS)
		return json_text("%d", -e->op);
	return json_text("%s", names[e->what]);
}

static json_object *edge_row(const struct wait_edge *e)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "pid", json_object_new_int((int)e->pid));
	json_object_object_add(o, "tid", json_object_new_int((int)e->tid));
	json_object_object_add(
		o, "command", json_text("%s", process_name(e->pid)));
	json_object_object_add(o, "on", edge_object(e));
	json_object_object_add(o, "for", edge_what(e));
	json_object_object_add(o, "holder",
		e->holder ? json_object_new_int((int)e->holder) : NULL);
	json_object_object_add(o, "holder_command",
		e->holder ? json_text("%s", process_name(e->holder)) : NULL);
	json_object_object_add(o, "since", json_time(e->since));
	json_object_object_add(
		o, "deadlock", json_object_new_boolean((int)e->in_circle));
	return o;
}

static void print_deadlocks(const struct graph *g)
{
	size_t i;

	puts("\nDeadlock: these wait for each other.");
	for (i = 0; i < g->n; i++)
		if (g->edges[i].in_circle)
			printf("  %u waits for %u at semaphore %u of set %d\n",
				g->edges[i].pid, g->edges[i].holder,
				g->edges[i].num, g->edges[i].id);
	puts("End one of them (kill PID): its SEM_UNDO lets the other go on.");
}

static int waits_main(int argc, char **argv)
{
	static const struct column columns[] = {{"PID", "pid", '>'},
		{"COMMAND", "command", '<'}, {"ON", "on", '<'},
		{"FOR", "for", '<'}, {"HELD BY", "holder", '>'},
		{"COMMAND", "holder_command", '<'}, {"SINCE", "since", '<'},
		{0}};
	struct graph g = {0};
	size_t i, circles = 0;
	json_object *rows;
	struct caller *c;
	struct view v;
	int err = view_options(argc, argv, "j", &v);

	if (err)
		return err < 0 ? EXIT_OK : err;
	if ((err = view_no_arguments(&v)) || (err = view_path(&v)))
		return err;
	c = view_open(&v);
	if (!c)
		return EXIT_FAILED;
	err = read_edges(c, &g);
	if (!err && wait_circles(g.edges, g.n)) {
		err = read_edges(c, &g);
		circles = err ? 0 : wait_circles(g.edges, g.n);
	}
	if (err)
		return err;
	rows = json_object_new_array();
	for (i = 0; i < g.n; i++)
		json_object_array_add(rows, edge_row(&g.edges[i]));
	if (v.json) {
		json_print(rows);
	} else {
		table_print(columns, rows);
		json_object_put(rows);
		if (circles)
			print_deadlocks(&g);
	}
	free(g.edges);
	return circles ? EXIT_FAILED : EXIT_OK;
}

const struct command waits_command = {
	.name = "waits",
	.summary = "list who waits for whom, and deadlocks",
	.help = "usage: ipclift waits [OPTIONS]\n\n"
		"List every thread that sleeps in a call: on which object "
		"(sem\n"
		"SET.NUMBER), for what, and who holds it, that is, whose death "
		"would\n"
		"give it back (SEM_UNDO). Exit status 1 if some wait for each "
		"other.\n\n"
		"  --json           as a JSON array\n"
		"  --registry PATH  look at this registry\n"
		"  --name NAME      or at this named one\n",
	.main = waits_main,
};

/* ---- events ---- */

static json_object *event_text(const struct event *e)
{
	const char *name = limit_name(e->arg[0]);

	switch (e->code) {
	case EVENT_RECOVERED:
		return json_text("thread %llu died in a call; undone",
			(unsigned long long)e->arg[0]);
	case EVENT_REAPED:
		return json_text("SEM_UNDO of dead process %llu applied",
			(unsigned long long)e->arg[0]);
	case EVENT_LIMIT:
		return json_text("limit %s=%lld (ipclift set %s=...)", name,
			(long long)e->arg[1], name);
	default:
		return json_text("event %u", e->code);
	}
}

static int events_main(int argc, char **argv)
{
	static const struct column columns[] = {{"TIME", "time", '<'},
		{"PID", "pid", '>'}, {"EVENT", "event", '<'}, {0}};
	const struct event *ring;
	json_object *rows;
	struct caller *c;
	u64 seq, last;
	struct view v;
	int err = view_options(argc, argv, "j", &v);

	if (err)
		return err < 0 ? EXIT_OK : err;
	if ((err = view_no_arguments(&v)) || (err = view_path(&v)))
		return err;
	c = view_open(&v);
	if (!c)
		return EXIT_FAILED;
	ring = region_at(&c->region, EVENTS_OFF);
	rows = json_object_new_array();
	last = atom_load_acquire(&caller_header(c)->event_seq);
	seq = last > N_EVENTS ? last - N_EVENTS : 0;
	while (seq++ < last) {
		struct event e = ring[seq % N_EVENTS];
		json_object *o;

		/* Being written, or overwritten meanwhile. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (e.seq != seq ||
			atom_load_relaxed(&ring[seq % N_EVENTS].seq) != seq)
			continue;
		o = json_object_new_object();
		json_object_object_add(o, "time", json_time(e.time));
		json_object_object_add(
			o, "pid", json_object_new_int((int)e.pid));
		json_object_object_add(o, "event", event_text(&e));
		json_object_array_add(rows, o);
	}
	if (v.json) {
		json_print(rows);
	} else {
		table_print(columns, rows);
		json_object_put(rows);
	}
	return EXIT_OK;
}

const struct command events_command = {
	.name = "events",
	.summary = "list what happened: limits hit, deaths repaired",
	.help = "usage: ipclift events [OPTIONS]\n\n"
		"List the latest events of a registry: which limit stopped a\n"
		"call, and how to raise it; whose unfinished call was undone;\n"
		"whose SEM_UNDO was applied. PID is who noticed.\n\n"
		"  --json           as a JSON array\n"
		"  --registry PATH  look at this registry\n"
		"  --name NAME      or at this named one\n",
	.main = events_main,
};
