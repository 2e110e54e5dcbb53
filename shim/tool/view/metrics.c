// SPDX-License-Identifier: MIT
/*
 * ipclift metrics; see metrics.h. All of it is from a glance
 * (inspect/glance.h): nothing is written and no lock taken.
 */
#include "tool/view/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/glance.h"
#include "object/control.h"
#include "registry/event.h"
#include "tool/registry.h"

static const char *output, *where;

static const struct option_spec options[] = {
	{"output", 'o', "FILE", &output,
		"write FILE, as a whole or not at all, for the textfile\n"
		"collector of node_exporter"},
	{"listen", 0, "ADDRESS:PORT", &where,
		"answer GET /metrics there until ended by a signal"},
	{0},
};

/* ---- the format ---- */

void metrics_head(
	struct text *t, const char *name, const char *type, const char *help)
{
	text_print(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value in the format, which is UTF-8: a reader refuses a whole
 * answer with anything else. */
void metrics_label(struct text *t, const char *name, const char *from)
{
	char seen[4096], *value = seen;

	text_visible(from, seen, sizeof(seen));
	text_print(t, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			text_print(t, "\\%c", *value);
		else
			text_add(t, value, 1);
	}
	text_add(t, "\"", 1);
}

void metrics_value(struct text *t, u64 v)
{
	text_print(t, " %llu\n", (unsigned long long)v);
}

/* NAME{kind="sem"} VALUE */
static void by_kind(struct text *t, const char *name, u32 f, u64 v)
{
	text_print(t, "%s{kind=\"%s\"}", name, facility_names[f]);
	metrics_value(t, v);
}

static void by_object(
	struct text *t, const char *name, const struct glance_object *o, u64 v)
{
	char id[16];

	snprintf(id, sizeof(id), "%d", o->id);
	text_print(t, "%s{kind=\"%s\",", name, facility_names[o->facility]);
	metrics_label(t, "id", o->facility == FAC_MQ ? o->name : id);
	if (o->facility != FAC_MQ)
		text_print(t, ",key=\"0x%08x\"", (unsigned)o->key);
	text_print(t, "}");
	metrics_value(t, v);
}

static void single(struct text *t, const char *name, const char *type,
	const char *help, u64 v)
{
	metrics_head(t, name, type, help);
	text_print(t, "%s", name);
	metrics_value(t, v);
}

/* ---- the metrics ---- */

static void print_up(struct text *t, const char *path, int up)
{
	metrics_head(t, "ipclift_up", "gauge",
		"Whether the registry is there and can be read.");
	text_print(t, "ipclift_up{");
	metrics_label(t, "registry", path);
	text_print(t, "} %d\n", up);
}

static void print_objects(struct text *t, const struct glance *g)
{
	static const char *const limits[N_FAC] = {
		"semmni", "msgmni", "shmmni", "queues_max"};
	const struct control *k;
	u32 f;

	metrics_head(t, "ipclift_objects", "gauge", "Objects of a kind.");
	for (f = 0; f < N_FAC; f++)
		by_kind(t, "ipclift_objects", f,
			caller_header(g->c)->ids[f].in_use);
	metrics_head(t, "ipclift_objects_limit", "gauge",
		"Objects of a kind that there may be; none: no limit.");
	for (f = 0; f < N_FAC; f++) {
		k = control_find(limits[f]);
		if (k && (s64)control_get(g->c, k) >= 0)
			by_kind(t, "ipclift_objects_limit", f,
				control_get(g->c, k));
	}
	metrics_head(t, "ipclift_limit", "gauge",
		"Limits, by the names of ipclift get.");
	for (f = 0; f < n_controls; f++) {
		/* The requested id, which is no limit. */
		if (strstr(controls[f].name, "next_id"))
			continue;
		text_print(t, "ipclift_limit{name=\"%s\"}", controls[f].name);
		if (controls[f].size == 8)
			metrics_value(t, control_get(g->c, &controls[f]));
		else
			text_print(t, " %lld\n",
				(long long)control_get(g->c, &controls[f]));
	}
	single(t, "ipclift_semaphores", "gauge", "Semaphores in all sets.",
		caller_header(g->c)->ids[FAC_SEM].total);
	single(t, "ipclift_shm_pages", "gauge", "Pages of all segments.",
		caller_header(g->c)->ids[FAC_SHM].total);
	single(t, "ipclift_heap_bytes", "gauge",
		"Bytes taken for messages, undo records and large sets.",
		caller_header(g->c)->heap.used);
}

static int is_queue(const struct glance_object *o)
{
	return o->facility == FAC_MSG || o->facility == FAC_MQ;
}

static void print_queues(struct text *t, const struct glance *g)
{
	u32 i;

	metrics_head(
		t, "ipclift_queue_messages", "gauge", "Messages in a queue.");
	for (i = 0; i < g->n_objects; i++)
		if (is_queue(&g->objects[i]))
			by_object(t, "ipclift_queue_messages", &g->objects[i],
				g->objects[i].depth);
	metrics_head(t, "ipclift_queue_bytes", "gauge", "Bytes in a queue.");
	for (i = 0; i < g->n_objects; i++)
		if (is_queue(&g->objects[i]))
			by_object(t, "ipclift_queue_bytes", &g->objects[i],
				g->objects[i].bytes);
	metrics_head(t, "ipclift_queue_limit_bytes", "gauge",
		"Bytes that a queue may have.");
	for (i = 0; i < g->n_objects; i++)
		if (is_queue(&g->objects[i]))
			by_object(t, "ipclift_queue_limit_bytes",
				&g->objects[i], g->objects[i].bytes_most);
	metrics_head(t, "ipclift_queue_sent_total", "counter",
		"Messages sent to a System V queue.");
	for (i = 0; i < g->n_objects; i++)
		if (g->objects[i].facility == FAC_MSG)
			by_object(t, "ipclift_queue_sent_total", &g->objects[i],
				g->objects[i].sent);
}

static u64 seconds_since(const struct glance *g, s64 since)
{
	return since && g->now > since ? (u64)(g->now - since) : 0;
}

static void print_leases(struct text *t, const struct glance *g)
{
	u32 i;

	metrics_head(t, "ipclift_queue_leased", "gauge",
		"Messages received on lease and not acknowledged.");
	for (i = 0; i < g->n_objects; i++)
		if (is_queue(&g->objects[i]))
			by_object(t, "ipclift_queue_leased", &g->objects[i],
				g->objects[i].leased);
	metrics_head(t, "ipclift_queue_oldest_lease_seconds", "gauge",
		"How long ago the first of them was received; 0: none is on "
		"lease.");
	for (i = 0; i < g->n_objects; i++)
		if (is_queue(&g->objects[i]))
			by_object(t, "ipclift_queue_oldest_lease_seconds",
				&g->objects[i],
				seconds_since(g, g->objects[i].leased_since));
}

static void print_waiters(struct text *t, const struct glance *g)
{
	u64 n[N_FAC] = {0};
	s64 oldest[N_FAC] = {0};
	u32 i;

	for (i = 0; i < g->n_objects; i++) {
		const struct glance_object *o = &g->objects[i];
		s64 *first = &oldest[o->facility];

		n[o->facility] += o->waiters;
		if (o->waiters && (!*first || o->oldest < *first))
			*first = o->oldest;
	}
	metrics_head(
		t, "ipclift_waiters", "gauge", "Threads asleep in a call.");
	for (i = 0; i < N_FAC; i++)
		if (i != FAC_SHM)
			by_kind(t, "ipclift_waiters", i, n[i]);
	metrics_head(t, "ipclift_oldest_waiter_seconds", "gauge",
		"How long the one has slept that has slept longest; 0: nobody "
		"does.");
	for (i = 0; i < N_FAC; i++)
		if (i != FAC_SHM)
			by_kind(t, "ipclift_oldest_waiter_seconds", i,
				seconds_since(g, oldest[i]));
	metrics_head(t, "ipclift_object_waiters", "gauge",
		"Threads asleep on an object; only of those that have some.");
	for (i = 0; i < g->n_objects; i++)
		if (g->objects[i].waiters)
			by_object(t, "ipclift_object_waiters", &g->objects[i],
				g->objects[i].waiters);
	metrics_head(t, "ipclift_object_oldest_waiter_seconds", "gauge",
		"The same of one object; only of those that have some.");
	for (i = 0; i < g->n_objects; i++)
		if (g->objects[i].waiters)
			by_object(t, "ipclift_object_oldest_waiter_seconds",
				&g->objects[i],
				seconds_since(g, g->objects[i].oldest));
}

static void print_processes(struct text *t, const struct glance *g)
{
	u64 alive = 0, gone = 0;
	u32 i;

	for (i = 0; i < g->n_tasks; i++) {
		alive += !g->tasks[i].gone;
		gone += g->tasks[i].gone && g->tasks[i].n_holds;
	}
	single(t, "ipclift_processes", "gauge", "Processes on the registry.",
		alive);
	single(t, "ipclift_processes_gone", "gauge",
		"Those that have ended, with SEM_UNDO that nobody has applied.",
		gone);
}

/* Sums of each class, as one metric after the other. */
#define LOCK_ROWS (2 * N_FAC + 3)

static void lock_rows(struct caller *c, struct glance_locks rows[LOCK_ROWS])
{
	u32 f;

	for (f = 0; f < N_FAC; f++) {
		glance_count_locks(c, LOCK_OBJECT, f, &rows[f]);
		glance_count_locks(c, LOCK_FACILITY, f, &rows[N_FAC + f]);
	}
	glance_count_locks(c, LOCK_HEAP, 0, &rows[2 * N_FAC]);
	glance_count_locks(c, LOCK_REPAIR, 0, &rows[2 * N_FAC + 1]);
	glance_count_locks(c, LOCK_TASK, 0, &rows[2 * N_FAC + 2]);
}

static void print_lock_row(struct text *t, const char *name, u32 row, u64 v)
{
	static const char *const others[] = {"heap", "repair", "task"};

	if (row < 2 * N_FAC)
		text_print(t, "%s{lock=\"%s\",kind=\"%s\"}", name,
			row < N_FAC ? "object" : "facility",
			facility_names[row % N_FAC]);
	else
		text_print(t, "%s{lock=\"%s\"}", name, others[row - 2 * N_FAC]);
	metrics_value(t, v);
}

static void print_locks(struct text *t, struct caller *c)
{
	struct glance_locks rows[LOCK_ROWS];
	u32 i;

	lock_rows(c, rows);
	metrics_head(t, "ipclift_locks_taken_total", "counter",
		"How often locks were taken. Calls that need none are not "
		"counted.");
	for (i = 0; i < LOCK_ROWS; i++)
		print_lock_row(
			t, "ipclift_locks_taken_total", i, rows[i].taken);
	metrics_head(t, "ipclift_locks_found_held_total", "counter",
		"How often a lock was found held.");
	for (i = 0; i < LOCK_ROWS; i++)
		print_lock_row(
			t, "ipclift_locks_found_held_total", i, rows[i].held);
	metrics_head(t, "ipclift_locks_slept_for_total", "counter",
		"How often a lock was slept for.");
	for (i = 0; i < LOCK_ROWS; i++)
		print_lock_row(
			t, "ipclift_locks_slept_for_total", i, rows[i].slept);
}

static void print_events(struct text *t, struct caller *c)
{
	static const struct {
		enum event_code code;
		const char *name, *help;
	} told[] = {
		{EVENT_LIMIT, "ipclift_limit_hits_total",
			"Limits that stopped a call, as ipclift events tells "
			"them: repeated hits of a process once."},
		{EVENT_RECOVERED, "ipclift_deaths_repaired_total",
			"Operations that a death cut off, finished or undone."},
		{EVENT_REAPED, "ipclift_undo_applied_total",
			"Dead processes whose SEM_UNDO was applied."},
		{EVENT_NO_SPACE, "ipclift_no_room_total",
			"Calls for which the file system had no room."},
	};
	const struct header *h = caller_header(c);
	size_t i;

	for (i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		single(t, told[i].name, "counter", told[i].help,
			atom_load_relaxed(&h->event_count[told[i].code]));
	single(t, "ipclift_events_total", "counter", "Events of any kind.",
		atom_load_relaxed(&h->event_seq));
}

/* Kept from one text to the next: a fault may have interrupted it. */
static struct glance g;

/* All of them; t->failed if there was no memory. c NULL: only that the registry
 * at path is not available. */
static void metrics_text(struct caller *c, const char *path, struct text *t)
{
	print_up(t, path, c != NULL);
	if (!c)
		return;
	if (glance_take(c, &g))
		t->failed = 1;
	print_objects(t, &g);
	print_queues(t, &g);
	print_leases(t, &g);
	print_waiters(t, &g);
	print_processes(t, &g);
	print_locks(t, c);
	print_events(t, c);
	glance_deinit(&g);
}

/* ---- the command ---- */

static int write_all(int fd, const struct text *t)
{
	size_t at = 0;
	ssize_t n;

	while (at < t->len) {
		n = write(fd, t->buf + at, t->len - at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

int metrics_write(const char *path, const struct text *t)
{
	char beside[4096];
	int fd, bad;

	if (snprintf(beside, sizeof(beside), "%s.XXXXXX", path) >=
		(int)sizeof(beside))
		return failure("%s: the name is too long", path);
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return failure("%s: %s", beside, strerror(errno));
	bad = fchmod(fd, 0644) || write_all(fd, t);
	bad = close(fd) || bad;
	if (!bad && !rename(beside, path))
		return EXIT_OK;
	bad = failure("%s: %s", path, strerror(errno));
	unlink(beside);
	return bad;
}

static int print_once(struct caller *c)
{
	struct text t = {0};
	int err = EXIT_OK;

	metrics_text(c, registry_path(), &t);
	if (t.failed)
		err = failure("out of memory");
	else if (output)
		err = metrics_write(output, &t);
	else
		fwrite(t.buf, 1, t.len, stdout);
	text_deinit(&t);
	return err;
}

/* A registry that was removed or replaced is opened again; one that was
 * truncated counts as absent. */
static void fill(void *c, struct text *t)
{
	int there = registry_glance_still() || !registry_glance_again();
	sigjmp_buf here;

	if (sigsetjmp(here, 1)) {
		registry_fault_to = NULL;
		glance_deinit(&g);
		text_deinit(t);
		metrics_text(NULL, registry_path(), t);
		return;
	}
	registry_fault_to = &here;
	metrics_text(there ? c : NULL, registry_path(), t);
	registry_fault_to = NULL;
}

static int listen_at(struct caller *c)
{
	struct http *h;
	sigset_t ends;
	int err, signo;

	http_ends(&ends);
	h = http_start(where, fill, c, &err);
	if (!h)
		return err;
	sigwait(&ends, &signo);
	http_stop(h);
	return EXIT_OK;
}

static int metrics_main(int argc, char **argv)
{
	int err = no_words(argc, argv);
	struct caller *c;

	if (!err && output && where)
		err = usage_error("--output and --listen exclude each other");
	c = err ? NULL : registry_glance(&err);
	if (!c)
		return err;
	return where ? listen_at(c) : print_once(c);
}

const struct command metrics_command = {
	.name = "metrics",
	.summary = "print counters for Prometheus",
	.usage = "[OPTIONS]",
	.about =
		"Print what a registry has and counts in Prometheus' text "
		"format: objects and\n"
		"limits, messages and bytes by queue, who waits and how long, "
		"locks found\n"
		"held, limits hit, deaths repaired, SEM_UNDO applied. Takes no "
		"lock and\n"
		"writes nothing to the registry.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = metrics_main,
};
