// SPDX-License-Identifier: MIT
/*
 * Who waits for whom, deadlocks among them, and the event ring.
 *
 * A process waits for another if it sleeps on a decrement of a semaphore to
 * which the other's death would add (SEM_UNDO): the one who took a lock and
 * has not given it back. Locks taken without SEM_UNDO have no holder that
 * anybody knows of. The sets are looked at one after the other, so a circle is
 * shown only if it is still there at a second look.
 */
#include "tool/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/limits.h"
#include "ipc/semview.h"
#include "registry/event.h"
#include "tool/registry.h"
#include "tool/table.h"

#define ROWS_MAX 1024 /* arbitrary: holders and sleepers looked at in a set */

struct edge {
	u32 from, to; /* pids; to 0: nobody known */
	s32 id;
	u32 num;
	s64 since;
	int in_circle;
};

struct graph {
	struct edge *edges;
	size_t n, cap;
};

static int add_edge(struct graph *g, struct edge e)
{
	if (g->n == g->cap) {
		size_t cap = g->cap ? 2 * g->cap : 64;
		void *p = realloc(g->edges, cap * sizeof(e));

		if (!p)
			return failure("out of memory");
		g->edges = p;
		g->cap = cap;
	}
	g->edges[g->n++] = e;
	return 0;
}

static int add_set(struct caller *c, struct graph *g, s32 id)
{
	static struct sem_sleeper sleepers[ROWS_MAX];
	static struct sem_holder holders[ROWS_MAX];
	s32 n = sem_sleepers(c, id, sleepers, ROWS_MAX), m, i, k;
	int err = 0;

	if (n <= 0)
		return 0;
	m = sem_holders(c, id, holders, ROWS_MAX);
	for (i = 0; i < n && i < ROWS_MAX && !err; i++) {
		const struct sem_sleeper *s = &sleepers[i];
		struct edge e = {s->pid, 0, id, s->op.num, s->since, 0};
		size_t before = g->n;

		for (k = 0; k < m && k < ROWS_MAX && !err; k++) {
			if (s->op.op >= 0 || holders[k].num != s->op.num ||
				holders[k].adj <= 0)
				continue;
			e.to = holders[k].pid;
			err = add_edge(g, e);
		}
		e.to = 0;
		if (!err && g->n == before)
			err = add_edge(g, e);
	}
	return err;
}

static int read_graph(struct caller *c, struct graph *g)
{
	struct sem_info info;
	struct sem_stat st;
	int highest = sem_info(c, 1, &info), idx, err = 0;

	g->n = 0;
	if (highest < 0)
		return failure("%s", strerror(-highest));
	for (idx = 0; idx <= highest && !err; idx++)
		if (sem_stat(c, idx, SEM_BY_IDX_ANY, &st) >= 0)
			err = add_set(c, g, st.id);
	return err;
}

/* Can pid be reached from `at`? left bounds the walk. */
static int reaches(const struct graph *g, u32 at, u32 pid, size_t left)
{
	size_t i;

	for (i = 0; i < g->n; i++) {
		if (g->edges[i].from != at || !g->edges[i].to)
			continue;
		if (g->edges[i].to == pid)
			return 1;
		if (left && reaches(g, g->edges[i].to, pid, left - 1))
			return 1;
	}
	return 0;
}

#define CIRCLE_MAX 8 /* arbitrary: longer circles are not looked for */

static size_t mark_circles(struct graph *g)
{
	size_t i, n = 0;

	for (i = 0; i < g->n; i++) {
		struct edge *e = &g->edges[i];

		e->in_circle =
			e->to && (e->to == e->from || reaches(g, e->to, e->from,
							      CIRCLE_MAX - 2));
		n += (size_t)e->in_circle;
	}
	return n;
}

static json_object *edge_row(const struct edge *e)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "pid", json_object_new_int((int)e->from));
	json_object_object_add(
		o, "command", json_text("%s", process_name(e->from)));
	json_object_object_add(o, "sem", json_text("%d.%u", e->id, e->num));
	json_object_object_add(
		o, "holder", e->to ? json_object_new_int((int)e->to) : NULL);
	json_object_object_add(o, "holder_command",
		e->to ? json_text("%s", process_name(e->to)) : NULL);
	json_object_object_add(o, "since", json_time(e->since));
	json_object_object_add(
		o, "deadlock", json_object_new_boolean(e->in_circle));
	return o;
}

static void print_deadlocks(const struct graph *g)
{
	size_t i;

	puts("\nDeadlock: these wait for each other.");
	for (i = 0; i < g->n; i++)
		if (g->edges[i].in_circle)
			printf("  %u waits for %u at semaphore %u of set %d\n",
				g->edges[i].from, g->edges[i].to,
				g->edges[i].num, g->edges[i].id);
	puts("End one of them (kill PID): its SEM_UNDO lets the other go on.");
}

static int waits_main(int argc, char **argv)
{
	static const struct column columns[] = {{"PID", "pid", '>'},
		{"COMMAND", "command", '<'}, {"SEM", "sem", '<'},
		{"HELD BY", "holder", '>'}, {"COMMAND", "holder_command", '<'},
		{"SINCE", "since", '<'}, {0}};
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
	err = read_graph(c, &g);
	if (!err && mark_circles(&g)) {
		err = read_graph(c, &g);
		circles = mark_circles(&g);
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
		"List every process that sleeps on a semaphore (SET.NUMBER), "
		"and\n"
		"who holds it: whose death would give it back (SEM_UNDO). "
		"Exit\n"
		"status 1 if some wait for each other.\n\n"
		"  --json           as a JSON array\n"
		"  --registry PATH  look at this registry\n"
		"  --name NAME      or at this named one\n",
	.main = waits_main,
};

/* ---- events ---- */

static const char *limit_name(u64 limit)
{
	static const char *const names[] = {
		[LIMIT_SEMMNI] = "semmni",
		[LIMIT_SEMMNS] = "semmns",
		[LIMIT_SEMMSL] = "semmsl",
		[LIMIT_SEMOPM] = "semopm",
		[LIMIT_MSGMNI] = "msgmni",
		[LIMIT_SHMMNI] = "shmmni",
		[LIMIT_SHMALL] = "shmall",
		[LIMIT_SHMMAX] = "shmmax",
		[LIMIT_QUEUES_MAX] = "queues_max",
		[LIMIT_MSG_MAX] = "msg_max",
		[LIMIT_MSGSIZE_MAX] = "msgsize_max",
		[LIMIT_RLIMIT_MSGQUEUE] = "RLIMIT_MSGQUEUE",
	};

	return limit < sizeof(names) / sizeof(names[0]) && names[limit]
		       ? names[limit]
		       : "?";
}

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
