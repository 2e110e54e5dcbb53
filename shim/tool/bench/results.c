// SPDX-License-Identifier: MIT
/*
 * Figures and their file; see results.h.
 */
#include "tool/bench/results.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/message.h"
#include "tool/view/table.h"

#define FORMAT 1 /* of the file */

static const struct measure measures[] = {
	{"create", "ns", "create all"},
	{"lookup", "ns", "look up all"},
	{"create-longest", "ns", "slowest create"},
	{"lookup-longest", "ns", "slowest lookup"},
	{"churn", "ns", "remove and create"},
	{"op", "ns", "one call"},
	{"send", "ns", "send"},
	{"receive", "ns", "receive"},
	{"fill", "ns", "fill, each"},
	{"drain", "ns", "drain, each"},
	{"slowdown", "%", "bystander slower by"},
	{"rate", "1/s", "round trips a second"},
	{"median", "ns", "round trip"},
	{"p99", "ns", "99 of 100 within"},
	{"worst", "ns", "longest round trip"},
	{"slow", "%", "trips > 10 us"},
	{"cpu", "ns", "CPU time of a trip"},
	{"find", "ns", "find a freed id"},
	{"slowest", "ns", "slowest find"},
	{"refused", "ns", "one too many"},
	{"time", "ns", "one call"},
};

const struct measure *measure_of(const char *name)
{
	static struct measure unknown = {"", "ns", ""};
	size_t i;

	for (i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		if (!strcmp(name, measures[i].name))
			return &measures[i];
	unknown.name = unknown.text = name;
	return &unknown;
}

int measure_more_is_better(const char *name)
{
	return !strcmp(measure_of(name)->unit, "1/s");
}

/* ---- in memory ---- */

void results_init(struct results *r)
{
	memset(r, 0, sizeof(*r));
	r->machine = json_object_new_object();
	r->locks = json_object_new_array();
	r->notes = json_object_new_array();
}

void results_drop(struct results *r)
{
	int i, k;

	for (i = 0; i < r->n; i++)
		for (k = 0; k < r->figures[i].n_series; k++)
			free(r->figures[i].series[k].values);
	free(r->figures);
	json_object_put(r->machine);
	json_object_put(r->locks);
	json_object_put(r->notes);
}

static void *grown(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		failure("out of memory");
		exit(EXIT_FAILED);
	}
	return p;
}

static int same(const struct figure *a, const struct figure *b)
{
	return !strcmp(a->table, b->table) && !strcmp(a->work, b->work) &&
	       !strcmp(a->measure, b->measure) && a->x == b->x;
}

const struct figure *results_find(
	const struct results *r, const struct figure *like)
{
	int i;

	for (i = 0; i < r->n; i++)
		if (same(&r->figures[i], like))
			return &r->figures[i];
	return NULL;
}

const struct series *figure_series(const struct figure *f, const char *world)
{
	int i;

	for (i = 0; i < f->n_series; i++)
		if (!strcmp(f->series[i].world, world))
			return &f->series[i];
	return NULL;
}

/* NULL if it has no place for one more. */
static struct series *series_make(struct figure *f, const char *world)
{
	struct series *s = (struct series *)figure_series(f, world);

	if (s || f->n_series == SERIES_MAX)
		return s;
	s = &f->series[f->n_series++];
	snprintf(s->world, sizeof(s->world), "%s", world);
	return s;
}

static struct figure *figure_make(struct results *r, const struct figure *like)
{
	struct figure *f = (struct figure *)results_find(r, like);

	if (f)
		return f;
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->figures =
			grown(r->figures, (size_t)r->cap * sizeof(*r->figures));
	}
	r->figures[r->n] = *like;
	return &r->figures[r->n++];
}

void results_add(struct results *r, const char *table, const char *work,
	const char *measure, double x, enum sum sum, const char *world,
	double value)
{
	struct figure like = {.x = x, .sum = sum};
	struct series *s;

	snprintf(like.table, sizeof(like.table), "%s", table);
	snprintf(like.work, sizeof(like.work), "%s", work);
	snprintf(like.measure, sizeof(like.measure), "%s", measure);
	s = series_make(figure_make(r, &like), world);
	if (!s)
		return;
	s->values = grown(s->values, (size_t)(s->n + 1) * sizeof(double));
	s->values[s->n++] = value;
}

/* The same complaint of many rounds is kept once. */
void results_note(struct results *r, const char *fmt, ...)
{
	size_t i, n = json_object_array_length(r->notes);
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (i = 0; i < n; i++)
		if (!strcmp(text,
			    json_object_get_string(
				    json_object_array_get_idx(r->notes, i))))
			return;
	json_object_array_add(r->notes, json_object_new_string(text));
}

double series_value(const struct figure *f, const struct series *s)
{
	struct stats st;

	stats_of(s->values, s->n, &st);
	if (f->sum == SUM_MEDIAN)
		return st.median;
	return measure_more_is_better(f->measure) ? st.max : st.min;
}

double figure_value(const struct figure *f, const char *world)
{
	const struct series *s = figure_series(f, world);

	return s ? series_value(f, s) : 0;
}

/* ---- as a file ---- */

static json_object *series_json(const struct series *s)
{
	json_object *o = json_object_new_object();
	json_object *values = json_object_new_array();
	struct stats st;
	int i;

	stats_of(s->values, s->n, &st);
	field_int(o, "n", st.n);
	json_object_object_add(o, "min", json_object_new_double(st.min));
	json_object_object_add(o, "max", json_object_new_double(st.max));
	json_object_object_add(o, "median", json_object_new_double(st.median));
	json_object_object_add(o, "mean", json_object_new_double(st.mean));
	json_object_object_add(o, "stddev", json_object_new_double(st.stddev));
	for (i = 0; i < s->n; i++)
		json_object_array_add(
			values, json_object_new_double(s->values[i]));
	json_object_object_add(o, "samples", values);
	return o;
}

static json_object *figure_json(const struct figure *f)
{
	json_object *o = json_object_new_object();
	json_object *worlds = json_object_new_object();
	int i;

	field_text(o, "table", "%s", f->table);
	field_text(o, "work", "%s", f->work);
	field_text(o, "measure", "%s", f->measure);
	field_text(o, "unit", "%s", measure_of(f->measure)->unit);
	field_int(o, "x", (long long)f->x);
	field_text(o, "value", f->sum == SUM_MEDIAN ? "median" : "best");
	for (i = 0; i < f->n_series; i++)
		json_object_object_add(
			worlds, f->series[i].world, series_json(&f->series[i]));
	json_object_object_add(o, "worlds", worlds);
	return o;
}

json_object *results_to_json(const struct results *r)
{
	json_object *o = json_object_new_object();
	json_object *figures = json_object_new_array();
	int i;

	field_int(o, "ipclift_bench", FORMAT);
	json_object_object_add(o, "machine", json_object_get(r->machine));
	for (i = 0; i < r->n; i++)
		json_object_array_add(figures, figure_json(&r->figures[i]));
	json_object_object_add(o, "figures", figures);
	json_object_object_add(o, "locks", json_object_get(r->locks));
	json_object_object_add(o, "notes", json_object_get(r->notes));
	return o;
}

const char *field_of(json_object *o, const char *field)
{
	const char *text = NULL;

	if (json_object_is_type(o, json_type_object))
		text = json_object_get_string(json_object_object_get(o, field));
	return text ? text : "";
}

/* Names go into scripts for gnuplot: another's file must not write them. */
static int is_name(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
					   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					   "0123456789_-")];
}

static void read_figure(struct results *r, json_object *o)
{
	json_object *worlds = json_object_object_get(o, "worlds");
	enum sum sum =
		strcmp(field_of(o, "value"), "median") ? SUM_BEST : SUM_MEDIAN;
	double x = json_object_get_double(json_object_object_get(o, "x"));

	if (!json_object_is_type(worlds, json_type_object) ||
		!is_name(field_of(o, "table")) ||
		!is_name(field_of(o, "work")) ||
		!is_name(field_of(o, "measure")))
		return;
	json_object_object_foreach(worlds, world, of)
	{
		json_object *values = json_object_object_get(of, "samples");
		size_t i;

		if (!json_object_is_type(values, json_type_array) ||
			!is_name(world))
			continue;
		for (i = 0; i < json_object_array_length(values); i++)
			results_add(r, field_of(o, "table"),
				field_of(o, "work"), field_of(o, "measure"), x,
				sum, world,
				json_object_get_double(
					json_object_array_get_idx(values, i)));
	}
}

/* Takes what the file has of this name and type. */
static void read_part(json_object **to, json_object *o, const char *field,
	enum json_type type)
{
	json_object *part = json_object_object_get(o, field);

	if (!json_object_is_type(part, type))
		return;
	json_object_put(*to);
	*to = json_object_get(part);
}

int results_read(struct results *r, const char *path)
{
	json_object *o = json_object_from_file(path), *figures, *format;
	size_t i;

	figures = o ? json_object_object_get(o, "figures") : NULL;
	format = o ? json_object_object_get(o, "ipclift_bench") : NULL;
	if (json_object_get_int(format) != FORMAT ||
		!json_object_is_type(figures, json_type_array)) {
		json_object_put(o);
		return failure(
			"%s: cannot be read, or not by bench --json", path);
	}
	for (i = 0; i < json_object_array_length(figures); i++)
		read_figure(r, json_object_array_get_idx(figures, i));
	read_part(&r->machine, o, "machine", json_type_object);
	read_part(&r->locks, o, "locks", json_type_array);
	read_part(&r->notes, o, "notes", json_type_array);
	json_object_put(o);
	return 0;
}
