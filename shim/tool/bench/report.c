// SPDX-License-Identifier: MIT
/*
 * Tables for people; see report.h.
 *
 * A block is one measure of one case, a line a size; the figures of a block are
 * not adjacent in the results, and stand there in the order of their sizes.
 */
#include "tool/bench/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/message.h"
#include "tool/view/table.h"

#define WORLDS_MAX 8
#define LOCKS_SHOWN 6
/* A round that takes more than twice the quickest is one of another state. */
#define SLOW_ROUND 2.0

static const struct {
	const char *name, *title;
} tables[] = {
	{"T1", "semget by key: totals, each size from an empty namespace"},
	{"T2", "semop on two ids that are far apart"},
	{"T3", "POSIX queues by depth and pattern of priorities"},
	{"T4", "clients of one server, and of one table under a lock"},
	{"T5", "a full table of sets: finding ids again"},
};

const char *value_text(const char *measure, double v)
{
	const char *unit = measure_of(measure)->unit;
	static char text[4][32];
	static int turn;
	char *to = text[turn++ % 4];

	if (strcmp(unit, "ns") != 0)
		snprintf(to, sizeof(text[0]),
			*unit == '%' ? "%.1f %s" : "%.0f %s", v,
			unit + (*unit == '1'));
	else if (v < 100)
		snprintf(to, sizeof(text[0]), "%.1f ns", v);
	else if (v < 1e4)
		snprintf(to, sizeof(text[0]), "%.0f ns", v);
	else if (v < 1e7)
		snprintf(to, sizeof(text[0]), "%.1f us", v / 1e3);
	else
		snprintf(to, sizeof(text[0]), "%.1f ms", v / 1e6);
	return to;
}

double figure_ratio(const struct figure *f)
{
	double kernel = figure_value(f, "kernel");
	double shim = figure_value(f, "shim");

	if (kernel <= 0 || shim <= 0)
		return 0;
	return measure_more_is_better(f->measure) ? shim / kernel
						  : kernel / shim;
}

/* ---- blocks ---- */

static int in_block(const struct figure *f, const struct figure *of)
{
	return !strcmp(f->table, of->table) && !strcmp(f->work, of->work) &&
	       !strcmp(f->measure, of->measure);
}

/* The worlds of a block but kernel and shim; returns how many. */
static int block_peers(
	const struct results *r, const struct figure *of, const char **ret)
{
	int i, k, p, n = 0;

	for (i = 0; i < r->n; i++)
		for (k = 0; in_block(&r->figures[i], of) &&
			    k < r->figures[i].n_series;
			k++) {
			const char *name = r->figures[i].series[k].world;

			for (p = 0; p < n && strcmp(ret[p], name); p++)
				;
			if (p == n && n < WORLDS_MAX &&
				strcmp(name, "kernel") && strcmp(name, "shim"))
				ret[n++] = name;
		}
	return n;
}

static void print_value(const struct figure *f, const char *world)
{
	const struct series *s = figure_series(f, world);

	printf("%11s", s ? value_text(f->measure, series_value(f, s)) : "-");
}

/* The spread of the rounds: how much the middle one is beside the best. */
static void print_spread(const struct figure *f, const char *world)
{
	const struct series *s = figure_series(f, world);
	struct stats st;

	if (!s || s->n < 2) {
		printf("%6s", "-");
		return;
	}
	stats_of(s->values, s->n, &st);
	printf("%5.0f%%", st.min > 0 ? 100 * (st.median - st.min) / st.min : 0);
}

static void print_ratio(const struct figure *f)
{
	double ratio = figure_ratio(f);

	if (ratio == 0)
		printf("%8s", "-");
	else
		printf("%s%7.*fx%s", colour(ratio >= 1 ? 'g' : 'r'),
			ratio < 10 ? 2 : 1, ratio, colour(0));
}

/* Of several processes: the worst round, and how many of them are slow. */
static void print_rounds(const struct figure *f, const char *world)
{
	const struct series *s = figure_series(f, world);
	struct stats st;
	int i, slow = 0;

	if (!s)
		return;
	stats_of(s->values, s->n, &st);
	for (i = 0; i < s->n; i++)
		slow += s->values[i] > SLOW_ROUND * st.min;
	printf("  worst %s, slow %d of %d", value_text(f->measure, st.max),
		slow, s->n);
}

static void print_heading(const struct figure *f, const char **peers, int n)
{
	char what[80];
	int i;

	snprintf(what, sizeof(what), "%s: %s", f->work,
		measure_of(f->measure)->text);
	printf("\n%s%-30s%11s%11s%8s", colour('b'), what, "KERNEL", "SHIM",
		"RATIO");
	if (f->sum == SUM_BEST)
		printf("%12s", "SPREAD k,s");
	for (i = 0; i < n; i++)
		printf("%11s", peers[i]);
	printf("%s\n", colour(0));
}

static void print_line(const struct figure *f, const char **peers, int n)
{
	int i;

	printf("%29.0f ", f->x);
	print_value(f, "kernel");
	print_value(f, "shim");
	print_ratio(f);
	if (f->sum == SUM_BEST) {
		print_spread(f, "kernel");
		print_spread(f, "shim");
	}
	for (i = 0; i < n; i++)
		print_value(f, peers[i]);
	puts("");
	if (strcmp(f->measure, "median") != 0)
		return;
	printf("%29s ", "");
	print_rounds(f, "kernel");
	fputs(" |", stdout);
	print_rounds(f, "shim");
	puts("");
}

static void print_block(const struct results *r, const struct figure *of)
{
	const char *peers[WORLDS_MAX];
	int i, n = block_peers(r, of, peers);

	print_heading(of, peers, n);
	for (i = 0; i < r->n; i++)
		if (in_block(&r->figures[i], of))
			print_line(&r->figures[i], peers, n);
}

/* ---- ministat ---- */

static void print_difference(const struct stats *a, const struct stats *b)
{
	struct difference d;

	if (stats_compare(a, b, &d))
		return;
	if (!d.significant) {
		puts("No difference proven at 95.0% confidence");
		return;
	}
	printf("Difference at 95.0%% confidence\n"
	       "\t%g +/- %g\n\t%g%% +/- %g%%\n"
	       "\t(Student's t, pooled s = %g)\n",
		d.mean, d.interval, 100 * d.mean / a->mean,
		100 * d.interval / a->mean, d.pooled_s);
}

static void print_ministat(const struct figure *f)
{
	static const char marks[] = "x+*%#@O&";
	const struct series *kernel = figure_series(f, "kernel");
	const struct series *shim = figure_series(f, "shim");
	struct stats st, a, b;
	int i;

	printf("\n%s%s, %.0f client%s: %s%s\n", colour('b'), f->work, f->x,
		f->x > 1 ? "s" : "", measure_of(f->measure)->text, colour(0));
	for (i = 0; i < f->n_series; i++)
		printf("%c %s%s", marks[i], f->series[i].world,
			i + 1 < f->n_series ? "  " : "\n");
	puts("    N           Min           Max        Median           Avg"
	     "        Stddev");
	for (i = 0; i < f->n_series; i++) {
		stats_of(f->series[i].values, f->series[i].n, &st);
		printf("%c %3d %13.8g %13.8g %13.8g %13.8g %13.8g\n", marks[i],
			st.n, st.min, st.max, st.median, st.mean, st.stddev);
	}
	if (!kernel || !shim)
		return;
	stats_of(kernel->values, kernel->n, &a);
	stats_of(shim->values, shim->n, &b);
	print_difference(&a, &b);
}

/* A line of the lock table; the head, where row is NULL. */
static void print_lock(json_object *row)
{
	static const char *const fields[] = {
		"max", "total", "count", "avg", "cnt_hold", "cnt_lock"};
	int k;

	for (k = 0; k < 6; k++)
		printf("%*s ", k < 2 ? 12 : 9,
			row ? field_of(row, fields[k]) : fields[k]);
	puts(row ? field_of(row, "name") : "name");
}

/* The lock table of the shim's run, the busiest first. */
static void print_locks(const struct results *r, const struct figure *f)
{
	size_t i, k;

	for (i = 0; i < json_object_array_length(r->locks); i++) {
		json_object *of = json_object_array_get_idx(r->locks, i), *rows;

		if (strcmp(field_of(of, "work"), f->work) != 0 ||
			atof(field_of(of, "x")) != f->x)
			continue;
		rows = json_object_object_get(of, "locks");
		print_lock(NULL);
		for (k = 0;
			json_object_is_type(rows, json_type_array) &&
			k < json_object_array_length(rows) && k < LOCKS_SHOWN;
			k++)
			print_lock(json_object_array_get_idx(rows, k));
	}
}

/* What is left of the best throughput with the most clients. */
static void print_collapse(const struct results *r, const struct figure *of)
{
	const struct figure *best = NULL, *most = NULL, *f;
	int i;

	for (i = 0; i < r->n; i++) {
		f = &r->figures[i];
		if (!in_block(f, of) || figure_value(f, "shim") == 0)
			continue;
		if (!best ||
			figure_value(f, "shim") > figure_value(best, "shim"))
			best = f;
		if (!most || f->x > most->x)
			most = f;
	}
	if (most && most->x > 1)
		printf("\n%s under the shim: %.0f clients have %.0f %% of the "
		       "best throughput (%.0f clients)\n",
			of->work, most->x,
			100 * figure_value(most, "shim") /
				figure_value(best, "shim"),
			best->x);
}

static void print_rates(const struct results *r, const struct figure *of)
{
	int i;

	for (i = 0; i < r->n; i++)
		if (in_block(&r->figures[i], of)) {
			print_ministat(&r->figures[i]);
			print_locks(r, &r->figures[i]);
		}
	print_collapse(r, of);
}

/* ---- all ---- */

static double machine_number(const struct results *r, const char *field)
{
	return json_object_get_double(
		json_object_object_get(r->machine, field));
}

void report_machine(const struct results *r)
{
	printf("%s, %.0f CPUs, %s; ipclift %s; %s\n",
		field_of(r->machine, "cpu"), machine_number(r, "cpus"),
		field_of(r->machine, "kernel"), field_of(r->machine, "version"),
		field_of(r->machine, "date"));
	printf("load average %.2f before, %.2f after %.0f s; others used %.2f "
	       "CPUs meanwhile, %.2f stolen\n",
		machine_number(r, "load_before"),
		machine_number(r, "load_after"), machine_number(r, "seconds"),
		machine_number(r, "cpus_of_others"),
		machine_number(r, "cpus_stolen"));
}

void report_notes(const struct results *r)
{
	size_t i, n = json_object_array_length(r->notes);

	if (n)
		puts("\nNot measured:");
	for (i = 0; i < n; i++)
		printf("  %s\n",
			json_object_get_string(
				json_object_array_get_idx(r->notes, i)));
}

/* The first figure of its block? */
static int begins_block(const struct results *r, int i)
{
	int k;

	for (k = 0; k < i; k++)
		if (in_block(&r->figures[k], &r->figures[i]))
			return 0;
	return 1;
}

static void print_table(
	const struct results *r, const char *name, const char *title)
{
	int i, any = 0;

	for (i = 0; i < r->n; i++) {
		const struct figure *f = &r->figures[i];

		if (strcmp(f->table, name) != 0 || !begins_block(r, i))
			continue;
		if (!any++)
			printf("\n%s%s  %s%s\n", colour('b'), name, title,
				colour(0));
		if (!strcmp(f->measure, "rate"))
			print_rates(r, f);
		else
			print_block(r, f);
	}
}

void report_print(const struct results *r)
{
	size_t i;

	report_machine(r);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		print_table(r, tables[i].name, tables[i].title);
	report_notes(r);
}
