// SPDX-License-Identifier: MIT
/*
 * ipclift top: objects with their rates, processes, locks, deadlocks.
 *
 * All of it is from inspect/glance.h: programs are not delayed, and nothing is
 * written. Two glances make a rate.
 */
#include "tool/view/top.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "inspect/rows.h"
#include "inspect/text.h"
#include "tool/registry.h"
#include "tool/view/table.h"

#define INTERVAL_LEAST 0.1 /* arbitrary */

static int once, as_json;
static const char *interval_text, *sort_text, *filter_text;

static const struct option_spec options[] = {
	{"once", 0, NULL, &once, "print everything once, after one interval"},
	{"json", 0, NULL, &as_json, "with --once: as a JSON object"},
	{"interval", 'd', "SECONDS", &interval_text,
		"between two refreshes, from 0.1 (default: 2; 1 with\n"
		"--once)"},
	{"sort", 0, "COLUMN[:rev]", &sort_text,
		"the objects by this column; :rev turns the order"},
	{"filter", 0, "TEXT", &filter_text, "only rows that contain it"},
	{0},
};

const char *const top_view_names[N_TOP_VIEWS] = {
	"objects", "processes", "locks"};

/* Places of the columns in inspect/rows.c. */
enum {
	O_KIND,
	O_ID,
	O_KEY,
	O_OWNER,
	O_OPS,
	O_SENT,
	O_HELD,
	O_SLEPT,
	O_DEPTH,
	O_BYTES,
	O_FULL,
	O_LEASED,
	O_WAITERS,
	O_OLDEST,
	O_USED
};

enum {
	P_PID,
	P_COMMAND,
	P_THREADS,
	P_WAITING,
	P_OLDEST,
	P_HOLDS,
	P_LEASED,
	P_ON,
	P_HOLDER,
	P_STATE
};

enum {
	L_NAME,
	L_TAKEN,
	L_HELD,
	L_SLEPT,
	L_ALL_HELD,
	L_ALL_SLEPT,
	L_BUSY,
	L_MAX,
	L_OWNER
};

static const struct column *const all_columns[N_TOP_VIEWS] = {
	top_object_columns, top_process_columns, top_lock_columns};

__attribute__((format(printf, 2, 3))) static void set_word(
	char to[SHEET_CELL], const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(to, SHEET_CELL, fmt, args);
	va_end(args);
}

/* The increase of a counter per second; NAN if unknown. */
static double rate(const struct top *t, int known, u64 before, u64 now)
{
	if (!known || t->seconds <= 0)
		return NAN;
	return now > before ? (double)(now - before) / t->seconds : 0;
}

static double age(const struct top *t, s64 since)
{
	return t->now.now > since ? (double)(t->now.now - since) : 0;
}

/* ---- the sheets ---- */

static void owner_word(u32 uid, char to[SHEET_CELL])
{
	json_object *row = json_object_new_object();

	field_user(row, "owner", uid);
	set_word(to, "%s",
		json_object_get_string(json_object_object_get(row, "owner")));
	json_object_put(row);
}

static void object_rates(
	struct top *t, const struct glance_object *o, struct sheet_row *r)
{
	const struct glance_object *b = glance_object_of(&t->before, o);
	int known = b != NULL;

	r->number[O_OPS] = rate(t, known, known ? b->locks : 0, o->locks);
	r->number[O_HELD] = rate(t, known, known ? b->held : 0, o->held);
	r->number[O_SLEPT] = rate(t, known, known ? b->slept : 0, o->slept);
	if (o->facility == FAC_MSG)
		r->number[O_SENT] =
			rate(t, known, known ? b->sent : 0, o->sent);
	if (o->lockless && o->used && age(t, o->used) <= t->seconds + 1)
		r->more = '+';
}

static void add_object(struct top *t, const struct glance_object *o)
{
	struct sheet_row *r = sheet_add(&t->sheets[TOP_OBJECTS]);
	const struct glance_edges *edges;

	set_word(r->word[O_KIND], "%s", facility_names[o->facility]);
	if (o->facility == FAC_MQ) {
		set_word(r->word[O_ID], "%.40s", o->name);
	} else {
		set_word(r->word[O_ID], "%d", o->id);
		set_word(r->word[O_KEY], "0x%08x", (unsigned)o->key);
	}
	owner_word(o->uid, r->word[O_OWNER]);
	object_rates(t, o, r);
	r->number[O_DEPTH] = (double)o->depth;
	if (o->facility != FAC_SEM)
		r->number[O_BYTES] = (double)o->bytes;
	if (o->depth_most)
		r->number[O_FULL] =
			100.0 * (double)o->depth / (double)o->depth_most;
	else if (o->bytes_most)
		r->number[O_FULL] =
			100.0 * (double)o->bytes / (double)o->bytes_most;
	if (o->facility == FAC_MSG || o->facility == FAC_MQ)
		r->number[O_LEASED] = o->leased;
	r->number[O_WAITERS] = o->waiters;
	if (o->waiters)
		r->number[O_OLDEST] = age(t, o->oldest);
	if (o->used)
		r->number[O_USED] = age(t, o->used);
	edges = glance_edges_of_object(&t->now, o->facility, o->id);
	r->red = edges && edges->deadlock;
}

static void add_task(struct top *t, const struct glance_task *p)
{
	struct sheet_row *r = sheet_add(&t->sheets[TOP_PROCESSES]);
	const struct glance_edges *edges =
		glance_edges_of_process(&t->now, p->pid);

	r->number[P_PID] = p->pid;
	set_word(r->word[P_COMMAND], "%s", process_name(p->pid));
	r->number[P_THREADS] = p->n_threads;
	r->number[P_WAITING] = p->n_waiting;
	if (p->n_waiting)
		r->number[P_OLDEST] = age(t, p->oldest);
	r->number[P_HOLDS] = p->n_holds;
	r->number[P_LEASED] = p->n_leased;
	if (edges && p->n_waiting) {
		const struct wait_edge *e = &t->now.edges[edges->first];

		if (e->facility == FAC_SEM)
			set_word(r->word[P_ON], "sem %d.%u", e->id, e->num);
		else
			set_word(r->word[P_ON], "%s %d",
				facility_names[e->facility % N_FAC], e->id);
		if (e->holder)
			set_word(r->word[P_HOLDER], "%u", e->holder);
	}
	set_word(r->word[P_STATE], "%s", p->gone ? "dead" : "alive");
	r->red = edges && edges->deadlock;
}

static void add_lock(struct top *t, const struct lock_view *l, u32 *hint)
{
	struct sheet_row *r = sheet_add(&t->sheets[TOP_LOCKS]);
	const struct lock_view *b = glance_lock_of(&t->before, l, hint);
	int known = b != NULL;

	set_word(r->word[L_NAME], "%s", l->name);
	r->number[L_TAKEN] = rate(t, known, known ? b->count : 0, l->count);
	r->number[L_HELD] =
		rate(t, known, known ? b->cnt_lock : 0, l->cnt_lock);
	r->number[L_SLEPT] =
		rate(t, known, known ? b->cnt_hold : 0, l->cnt_hold);
	r->number[L_ALL_HELD] = l->cnt_lock;
	r->number[L_ALL_SLEPT] = l->cnt_hold;
	if (caller_header(t->now.c)->profiling) {
		r->number[L_BUSY] =
			rate(t, known, known ? b->total_ns : 0, l->total_ns) /
			1e7;
		r->number[L_MAX] = l->max_ns;
	}
	if (l->owner)
		r->number[L_OWNER] = l->owner;
}

static void fill_sheets(struct top *t)
{
	u32 i, hint = 0;
	int v;

	for (v = 0; v < N_TOP_VIEWS; v++) {
		sheet_deinit(&t->sheets[v]);
		t->sheets[v].columns = all_columns[v];
	}
	for (i = 0; i < t->now.n_objects; i++)
		add_object(t, &t->now.objects[i]);
	/* Of exited tasks those that left something. */
	for (i = 0; i < t->now.n_tasks; i++)
		if (!t->now.tasks[i].gone || t->now.tasks[i].n_holds ||
			t->now.tasks[i].n_leased)
			add_task(t, &t->now.tasks[i]);
	for (i = 0; i < t->now.n_locks; i++)
		add_lock(t, &t->now.locks[i], &hint);
}

/* ---- refreshing ---- */

int top_sorted_by(const struct top *t, enum top_view view)
{
	if (t->sort[view] >= 0)
		return t->sort[view];
	if (view == TOP_OBJECTS)
		return O_OPS;
	if (view == TOP_PROCESSES)
		return P_OLDEST;
	/* By time, if times are measured. */
	return t->now.c && caller_header(t->now.c)->profiling ? L_BUSY
							      : L_SLEPT;
}

void top_arrange(struct top *t)
{
	int v;

	fill_sheets(t);
	for (v = 0; v < N_TOP_VIEWS; v++) {
		if (*t->filter)
			sheet_filter(&t->sheets[v], t->filter);
		sheet_sort(&t->sheets[v], top_sorted_by(t, (enum top_view)v),
			t->backwards[v]);
	}
}

int top_refresh(struct top *t, struct caller *c)
{
	if (!registry_glance_still())
		return EXIT_FAILED;
	glance_deinit(&t->before);
	t->before = t->now;
	glance_take(c, &t->now);
	t->seconds = t->before.at_ns
			     ? (double)(t->now.at_ns - t->before.at_ns) / 1e9
			     : 0;
	glance_confirm(&t->now, &t->before);
	top_arrange(t);
	return EXIT_OK;
}

void top_head(const struct top *t, char *buf, size_t cap)
{
	const struct glance *g = &t->now;
	u32 i, n[N_FAC] = {0}, waiting = 0, alive = 0, leased = 0;
	int at;
	time_t now = (time_t)g->now;
	struct tm tm;
	char clock[16] = "";

	for (i = 0; i < g->n_objects; i++) {
		n[g->objects[i].facility % N_FAC]++;
		leased += g->objects[i].leased;
	}
	for (i = 0; i < g->n_tasks; i++) {
		waiting += g->tasks[i].n_waiting;
		alive += !g->tasks[i].gone;
	}
	if (localtime_r(&now, &tm))
		strftime(clock, sizeof(clock), "%T", &tm);
	at = snprintf(buf, cap,
		"%s  %u sem, %u msg, %u shm, %u mq; %u process%s, %u waiting",
		clock, n[FAC_SEM], n[FAC_MSG], n[FAC_SHM], n[FAC_MQ], alive,
		alive == 1 ? "" : "es", waiting);
	if (leased && at > 0 && (size_t)at < cap)
		snprintf(buf + at, cap - (size_t)at, ", %u on lease", leased);
}

int top_deadlock(const struct top *t, u32 *at, char *buf, size_t cap)
{
	const struct wait_edge *e;

	while (*at < t->now.n_edges) {
		e = &t->now.edges[(*at)++];
		if (e->in_circle != GLANCE_DEADLOCK)
			continue;
		snprintf(buf, cap, "%u waits for %u at semaphore %u of set %d",
			e->pid, e->holder, e->num, e->id);
		return 1;
	}
	return 0;
}

/* ---- once ---- */

static int text_width(void)
{
	const char *columns = getenv("COLUMNS");
	unsigned long long n;

	if (columns && !parse_number(columns, 40, 500, &n))
		return (int)n;
	return 80;
}

static void print_sheet(const struct top *t, enum top_view view, int width)
{
	const struct sheet *s = &t->sheets[view];
	char line[1024];
	size_t i;

	sheet_line(s, NULL, width, line, sizeof(line));
	printf("\n%s%s%s\n", colour('b'), line, colour(0));
	for (i = 0; i < s->n; i++) {
		sheet_line(s, &s->rows[i], width, line, sizeof(line));
		printf("%s%s%s\n", s->rows[i].red ? colour('r') : "", line,
			s->rows[i].red ? colour(0) : "");
	}
}

static void print_text(const struct top *t)
{
	int v, width = text_width();
	char line[512];
	u32 at = 0;

	top_head(t, line, sizeof(line));
	printf("%s\n", line);
	while (top_deadlock(t, &at, line, sizeof(line)))
		printf("%sdeadlock%s: %s\n", colour('r'), colour(0), line);
	for (v = 0; v < N_TOP_VIEWS; v++)
		print_sheet(t, (enum top_view)v, width);
}

static void print_json(const struct top *t)
{
	json_object *all = json_object_new_object(),
		    *circle = json_object_new_array(), *row;
	char text[48];
	u32 i;
	int v;

	field_text(all, "registry", "%s", t->path);
	field_int(all, "time", t->now.now);
	snprintf(text, sizeof(text), "%.3f", t->seconds);
	json_object_object_add(
		all, "seconds", json_object_new_double_s(t->seconds, text));
	for (v = 0; v < N_TOP_VIEWS; v++)
		json_object_object_add(
			all, top_view_names[v], sheet_json(&t->sheets[v]));
	for (i = 0; i < t->now.n_edges; i++) {
		const struct wait_edge *e = &t->now.edges[i];

		if (e->in_circle != GLANCE_DEADLOCK)
			continue;
		row = json_object_new_object();
		field_int(row, "pid", e->pid);
		field_int(row, "holder", e->holder);
		field_int(row, "id", e->id);
		field_int(row, "semaphore", e->num);
		json_object_array_add(circle, row);
	}
	json_object_object_add(all, "deadlocks", circle);
	json_print(all);
}

static int gone(const struct top *t)
{
	return failure("%s: it was removed, or replaced by another", t->path);
}

static int run_once(struct top *t, struct caller *c)
{
	struct timespec nap = {(time_t)t->interval,
		(long)((t->interval - floor(t->interval)) * 1e9)};
	int deadlock;

	if (top_refresh(t, c))
		return gone(t);
	nanosleep(&nap, NULL);
	if (top_refresh(t, c))
		return gone(t);
	if (as_json)
		print_json(t);
	else
		print_text(t);
	deadlock = t->now.n_circle != 0;
	return deadlock ? EXIT_FAILED : EXIT_OK;
}

/* ---- the command ---- */

static int parse_interval(double *ret)
{
	char *end;

	*ret = once ? 1 : 2;
	if (!interval_text)
		return 0;
	*ret = strtod(interval_text, &end);
	/* At most a day, which is within any clock's range. */
	if (end == interval_text || *end || !(*ret >= INTERVAL_LEAST) ||
		*ret > 86400)
		return usage_error(
			"--interval: '%s' is no number of seconds from 0.1",
			interval_text);
	return 0;
}

static int no_column(void)
{
	const struct column *c = top_object_columns;
	char known[300] = "";
	size_t used = 0;

	for (; c->heading && used < sizeof(known); c++)
		used += (size_t)snprintf(known + used, sizeof(known) - used,
			"%s%s", used ? ", " : "", c->field);
	return usage_error("--sort: no column '%s', but %s", sort_text, known);
}

static int parse_sort(struct top *t)
{
	char name[SHEET_CELL];
	const char *colon;

	if (!sort_text)
		return 0;
	colon = strchrnul(sort_text, ':');
	set_word(name, "%.*s", (int)(colon - sort_text), sort_text);
	t->sort[TOP_OBJECTS] = sheet_column(top_object_columns, name);
	if (t->sort[TOP_OBJECTS] < 0 || (*colon && strcmp(colon, ":rev") != 0))
		return no_column();
	t->backwards[TOP_OBJECTS] = *colon != 0;
	return 0;
}

static int top_main(int argc, char **argv)
{
	static struct top t = {.sort = {-1, -1, -1}};
	int err = no_words(argc, argv);
	struct caller *c;

	if (!err && as_json && !once)
		err = usage_error("--json is for --once");
	if (!err)
		err = parse_interval(&t.interval);
	if (!err)
		err = parse_sort(&t);
	c = err ? NULL : registry_glance(&err);
	if (!c)
		return err;
	t.path = registry_path();
	if (filter_text)
		set_word(t.filter, "%s", filter_text);
	if (once)
		return run_once(&t, c);
	err = top_screen(&t, c);
	return err < 0 ? gone(&t) : err;
}

const struct command top_command = {
	.name = "top",
	.summary = "watch objects, processes and locks, live",
	.usage = "[OPTIONS]",
	.about = "Show objects with their rates, processes, and locks by their "
		 "cost, again\n"
		 "and again. Takes no lock and writes nothing. Keys: o p l or "
		 "tab another view,\n"
		 "< > the column to sort by, r reverse order, / filter, arrows "
		 "scroll,\n"
		 "space refresh now, q quit.\n"
		 "  OPS/S    how often the object's lock was taken; with a + "
		 "there are also\n"
		 "           operations without a lock, which are not counted\n"
		 "  SENT/S   messages sent to a System V queue\n"
		 "  HELD/S   takers that found the lock held; SLEPT/S: that "
		 "had to sleep\n"
		 "  DEPTH    messages, semaphores, attachments\n"
		 "  LEASED   messages received and not acknowledged "
		 "(libipclift(7))\n"
		 "  OLDEST   since when the first sleeper waits\n"
		 "  TIME%    of the interval that a lock was held (ipclift "
		 "locks --on)\n"
		 "Deadlocks are red; with --once they make the exit status 1.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = top_main,
};
