// SPDX-License-Identifier: MIT
/*
 * The plan of the tables, and its runs; see measure.h.
 *
 * A row of the plan is a case in all its sizes. For each size the worlds take
 * turns, round by round, so that all meet the same other load.
 */
#include "tool/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "tool/bench/progress.h"
#include "tool/bench/work/frame.h"
#include "tool/bench/work/trip.h"
#include "tool/bench/work/worker.h"
#include "tool/bench/world.h"
#include "tool/message.h"

#define ROUNDS 5
#define RUNS_OF_SEVERAL 10 /* as in the table of 2006 */
#define ROUNDS_QUICK 2
#define RUNS_QUICK 3
#define TRIPS 20000 /* of all clients of a run */
#define TRIPS_QUICK 1000
#define ROOM_GIB 4 /* that 16,777,216 sets take, and a little */
#define SIZES_MAX 8
#define ARGS_MAX 8
#define ARG_LEN 32

/* A row of the plan. */
#define SHIM_ALONE 1u /* the kernel has no such size */
#define EXTENDED 2u   /* the shim's registry has extended ids */
#define SEVERAL 4u    /* processes: runs, medians, locks */
#define LARGE 8u      /* needs ROOM_GIB of memory */
#define PEER 16u      /* neither kernel nor shim; world and as say what */
#define OF_OTHERS 32u /* a peer of request.peer's program */

/* 4,000 messages of 64 bytes are what a user without more than the usual
 * RLIMIT_MSGQUEUE may have in the kernel. */
static const struct row {
	const char *table, *work, *size_arg;
	long sizes[SIZES_MAX]; /* 0 ends them */
	long quick_max;	       /* larger sizes are not for --quick */
	unsigned is;
	const char *world, *as; /* of peers: stands in that case's rows */
} plan[] = {
	{"T1", "keys", "n", {1, 10, 32, 100, 1000, 10000, 31900}, 100, 0},
	{"T1", "keys", "n", {1000000}, 100, SHIM_ALONE | EXTENDED},
	{"T1", "keys-fork", "n", {1, 10, 32, 100, 1000, 10000, 31900}, 32, 0},
	{"T2", "ids", "far", {2, 40, 3348, 27348}, 40, 0},
	{"T2", "ids", "far", {15777204}, 40, EXTENDED},
	{"T2", "ids-between", "far", {4000}, 0, 0},
	{"T2", "sem_t-op", "x", {2}, 2, PEER, "sem_t", "ids"},
	{"T2", "mutex-op", "x", {2}, 2, PEER, "mutex", "ids"},
	{"T2", "boost-op", "x", {2}, 2, PEER | OF_OTHERS, "boost", "ids"},
	{"T3", "depth-constant", "depth", {16, 100, 1000, 4000, 10000, 65528},
		100, 0},
	{"T3", "depth-increasing", "depth", {16, 100, 1000, 4000, 10000, 65528},
		100, 0},
	{"T3", "depth-decreasing", "depth", {16, 100, 1000, 4000, 10000, 65528},
		100, 0},
	{"T3", "depth-random", "depth", {16, 100, 1000, 4000, 10000, 65528},
		100, 0},
	{"T3", "pipe-pair", "depth", {16}, 16, PEER, "pipe", "depth-constant"},
	{"T3", "unix-pair", "depth", {16}, 16, PEER, "unix", "depth-constant"},
	{"T3", "boost-constant", "depth", {16, 100, 1000, 4000, 10000, 65528},
		100, PEER | OF_OTHERS, "boost", "depth-constant"},
	{"T3", "boost-random", "depth", {16, 100, 1000, 4000, 10000, 65528},
		100, PEER | OF_OTHERS, "boost", "depth-random"},
	{"T3", "bystander", "depth", {4000, 65528}, 0, 0},
	{"T4", "one-queue", "clients", {1, 2, 3, 4, 6, 8, 12}, 2, SEVERAL},
	{"T4", "mq", "clients", {1, 2, 3, 4, 6, 8, 12}, 1, SEVERAL},
	{"T4", "table", "clients", {1, 2, 3, 4, 6, 8, 12}, 1, SEVERAL},
	{"T4", "line", "clients", {1}, 0, SEVERAL | PEER, "line", "one-queue"},
	{"T4", "pipe", "clients", {1, 2, 3, 4, 6, 8, 12}, 2, SEVERAL | PEER,
		"pipe", "one-queue"},
	{"T4", "unix", "clients", {1, 2, 3, 4, 6, 8, 12}, 1, SEVERAL | PEER,
		"unix", "one-queue"},
	{"T4", "boost-trip", "clients", {1, 2, 3, 4, 6, 8, 12}, 1,
		SEVERAL | PEER | OF_OTHERS, "boost", "mq"},
	{"T4", "sem_t", "clients", {1, 2, 3, 4, 6, 8, 12}, 1, SEVERAL | PEER,
		"sem_t", "table"},
	{"T4", "mutex", "clients", {1, 2, 3, 4, 6, 8, 12}, 1, SEVERAL | PEER,
		"mutex", "table"},
	{"T5", "full", "max", {1000}, 1000, 0},
	{"T5", "full", "max", {32768}, 0, 0},
	{"T5", "full", "max", {1 << 24}, 0, SHIM_ALONE | EXTENDED | LARGE},
};
#define N_ROWS (sizeof(plan) / sizeof(plan[0]))

/* ---- what was asked for ---- */

/* Is the word in the list "A,B"? Yes if there is no list. */
static int request_has(const struct request *q, const char *word)
{
	const char *at = q->only;
	size_t n;

	for (; at && *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		if (n == strlen(word) && !strncmp(at, word, n))
			return 1;
	}
	return !q->only;
}

static int is_table(const char *word)
{
	size_t i;

	for (i = 0; i < N_ROWS; i++)
		if (!strcmp(word, plan[i].table))
			return 1;
	return 0;
}

static int is_call(const char *word)
{
	const struct work *w;

	for (w = call_works; w->name; w++)
		if (!strcmp(word, w->name))
			return 1;
	for (w = trip_works; w->name; w++)
		if (!strcmp(word, w->name))
			return 1;
	return 0;
}

const char *request_unknown(
	const struct request *q, int calls, char *word, size_t cap)
{
	const char *at = q->only;
	size_t n;

	for (; at && *at; at += n + (at[n] == ',')) {
		n = strcspn(at, ",");
		snprintf(word, cap, "%.*s", (int)n, at);
		if (!(calls ? is_call(word) : is_table(word)))
			return word;
	}
	return NULL;
}

static int is_wanted(const struct row *row, const struct request *q)
{
	return request_has(q, row->table) &&
	       (q->peer || !(row->is & OF_OTHERS));
}

static int size_wanted(
	const struct row *row, const struct request *q, long size)
{
	/* A thousand sets are no full table. */
	if (!strcmp(row->work, "full") && size == 1000)
		return q->quick;
	return !q->quick || size <= row->quick_max;
}

static int rounds_of(const struct row *row, const struct request *q)
{
	if (row->is & SEVERAL)
		return q->quick ? RUNS_QUICK : RUNS_OF_SEVERAL;
	return q->quick ? ROUNDS_QUICK : ROUNDS;
}

/* ---- a row's worlds ---- */

/* Into ret, at most two; returns how many. */
static int worlds_of(
	const struct row *row, const struct request *q, struct world *ret)
{
	int n = 0;

	memset(ret, 0, 2 * sizeof(*ret));
	if (row->is & PEER) {
		ret->name = row->world;
		ret->program = row->is & OF_OTHERS ? q->peer : NULL;
		return 1;
	}
	if (!(row->is & SHIM_ALONE))
		ret[n++].name = "kernel";
	ret[n].name = "shim";
	ret[n].shim = 1;
	ret[n].extended = (row->is & EXTENDED) != 0;
	return n + 1;
}

/* ---- runs ---- */

struct args {
	char text[ARGS_MAX][ARG_LEN];
	const char *at[ARGS_MAX + 1];
	int n;
};

static void args_add(struct args *a, const char *name, long value)
{
	snprintf(a->text[a->n], ARG_LEN, "%s=%ld", name, value);
	a->at[a->n] = a->text[a->n];
	a->at[++a->n] = NULL;
}

static void args_make(struct args *a, const struct row *row,
	const struct request *q, long size)
{
	memset(a, 0, sizeof(*a));
	args_add(a, row->size_arg, size);
	if (row->is & SEVERAL)
		args_add(a, "trips", (q->quick ? TRIPS_QUICK : TRIPS) / size);
	if (q->quick) {
		args_add(a, "rounds", 2);
		args_add(a, "round-ms", 3);
	}
}

/* The lines NAME X VALUE of one run. */
static void take_output(struct results *r, const struct row *row,
	const char *work, const char *world, char *out)
{
	enum sum sum = row->is & SEVERAL ? SUM_MEDIAN : SUM_BEST;
	char *line, *save, name[NAME_LEN];
	double x, value;

	for (line = strtok_r(out, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%23s %lf %lf", name, &x, &value) == 3)
			results_add(r, row->table, work, name, x, sum, world,
				value);
}

/* A complaint, without what marks it as one for people. */
static const char *first_line(char *out)
{
	out[strcspn(out, "\n")] = 0;
	return out + strspn(out, "# ");
}

/* 0; 1 if it cannot be had; EXIT_FAILED in *failed if the shim failed. */
static int one_run(struct results *r, const struct row *row, long size,
	const struct world *w, const struct args *args, int *failed)
{
	const char *as = row->as ? row->as : row->work;
	static char out[WORLD_OUTPUT];
	int status = world_run(w, row->work, args->at, out);

	if (!status) {
		take_output(r, row, as, w->name, out);
		return 0;
	}
	results_note(r, "%s %s %ld, %s: %s", row->table, row->work, size,
		w->name,
		*out ? first_line(out) : "ended by a signal, or has no end");
	if (status != CANNOT_BE_TIMED)
		*failed = EXIT_FAILED;
	return 1;
}

static void take_locks(struct results *r, const struct row *row, long size,
	const struct world *w, const struct args *args)
{
	static char out[WORLD_OUTPUT];
	json_object *of, *rows;

	if (world_run_locks(w, row->work, args->at, out) ||
		!(rows = json_tokener_parse(out))) {
		results_note(r, "%s %s %ld: no table of locks: %s", row->table,
			row->work, size, first_line(out));
		return;
	}
	of = json_object_new_object();
	json_object_object_add(of, "table", json_object_new_string(row->table));
	json_object_object_add(of, "work", json_object_new_string(row->work));
	json_object_object_add(of, "x", json_object_new_int64(size));
	json_object_object_add(of, "locks", rows);
	json_object_array_add(r->locks, of);
}

static int has_space(struct results *r, const struct row *row, long size)
{
	struct statvfs st;

	if (!(row->is & LARGE) || statvfs("/dev/shm", &st) ||
		(double)st.f_bavail * (double)st.f_frsize >=
			ROOM_GIB * 1073741824.0)
		return 1;
	results_note(r, "%s %s %ld: /dev/shm would need %d GiB", row->table,
		row->work, size, ROOM_GIB);
	return 0;
}

static int measure_size(struct results *r, const struct row *row,
	const struct request *q, long size)
{
	int n = rounds_of(row, q), round, i, failed = 0, off[2] = {0};
	struct world worlds[2];
	int n_worlds = worlds_of(row, q, worlds);
	struct args args;

	args_make(&args, row, q, size);
	for (round = 0; round < n && has_space(r, row, size); round++)
		for (i = 0; i < n_worlds; i++) {
			progress_show("%s %s %ld, %s", row->table, row->work,
				size, worlds[i].name);
			if (!off[i])
				off[i] = one_run(r, row, size, &worlds[i],
					&args, &failed);
			progress_step();
		}
	if ((row->is & SEVERAL) && worlds[n_worlds - 1].shim && !failed)
		take_locks(r, row, size, &worlds[n_worlds - 1], &args);
	return failed;
}

static int count_runs(const struct request *q)
{
	struct world worlds[2];
	int n = 0;
	size_t i;
	const long *s;

	for (i = 0; i < N_ROWS; i++)
		for (s = plan[i].sizes; *s && is_wanted(&plan[i], q); s++)
			if (size_wanted(&plan[i], q, *s))
				n += rounds_of(&plan[i], q) *
				     worlds_of(&plan[i], q, worlds);
	return n;
}

int measure_tables(struct results *r, const struct request *q)
{
	int failed = 0;
	size_t i;
	const long *s;

	progress_begin(count_runs(q));
	for (i = 0; i < N_ROWS; i++)
		for (s = plan[i].sizes; *s && is_wanted(&plan[i], q); s++)
			if (size_wanted(&plan[i], q, *s))
				failed |= measure_size(r, &plan[i], q, *s);
	progress_end();
	return failed;
}

/* ---- never slower ---- */

#define CALL_ROUNDS 3
#define TRIP_ROUNDS 5
#define CALLS_MAX 128

/* A single case: a row of the plan without a list of sizes. Round trips are in
 * it with one client, and where they may have more, with four. */
struct call {
	struct row row;
	long size;
};

static int call_wanted(const struct call *c, const struct request *q,
	const struct results *again, int (*wanted)(const struct figure *f))
{
	int i;

	if (!again)
		return request_has(q, c->row.work);
	for (i = 0; i < again->n; i++)
		if (!strcmp(again->figures[i].work, c->row.work) &&
			again->figures[i].x == (double)c->size &&
			wanted(&again->figures[i]))
			return 1;
	return 0;
}

static int measure_call(
	struct results *r, const struct request *q, const struct call *c)
{
	struct world worlds[2];
	struct args args = {0};
	int trips = (c->row.is & SEVERAL) != 0;
	int rounds = trips ? TRIP_ROUNDS : CALL_ROUNDS;
	int n = worlds_of(&c->row, q, worlds), i, round, failed = 0,
	    off[2] = {0};

	/* Messages of 64 KiB are beyond the other limits. */
	worlds[n - 1].kernel_limits = 1;
	if (trips) {
		args_add(&args, "clients", c->size);
		args_add(&args, "trips",
			(q->quick ? TRIPS_QUICK : TRIPS) / c->size);
	}
	args_add(&args, "rounds", q->quick ? 2 : 5);
	if (q->quick)
		args_add(&args, "round-ms", 3);
	for (round = 0; round < rounds; round++)
		for (i = 0; i < n; i++) {
			progress_show("%s, %s", c->row.work, worlds[i].name);
			if (!off[i])
				off[i] = one_run(r, &c->row, c->size,
					&worlds[i], &args, &failed);
			progress_step();
		}
	return failed;
}

/* All calls and round trips, CALLS_MAX at the most; returns how many. */
static int calls_list(struct call *ret)
{
	const struct work *w;
	int n = 0;

	for (w = call_works; w->name && n < CALLS_MAX; w++)
		ret[n++] = (struct call){{.table = CALLS, .work = w->name}, 0};
	for (w = trip_works; w->name && n + 1 < CALLS_MAX; w++) {
		const struct row row = {
			.table = CALLS, .work = w->name, .is = SEVERAL};

		ret[n++] = (struct call){row, 1};
		if (!trip_has_one_client(w->name))
			ret[n++] = (struct call){row, 4};
	}
	return n;
}

int measure_calls(struct results *r, const struct request *q,
	const struct results *again, int (*wanted)(const struct figure *f))
{
	static struct call calls[CALLS_MAX];
	int n = calls_list(calls), failed = 0, steps = 0, i;

	for (i = 0; i < n; i++)
		if (call_wanted(&calls[i], q, again, wanted))
			steps +=
				2 * (calls[i].size ? TRIP_ROUNDS : CALL_ROUNDS);
	progress_begin(steps);
	for (i = 0; i < n; i++)
		if (call_wanted(&calls[i], q, again, wanted))
			failed |= measure_call(r, q, &calls[i]);
	progress_end();
	return failed;
}
