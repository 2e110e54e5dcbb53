// SPDX-License-Identifier: MIT
/*
 * What was measured: figures, each with a series of samples for every world,
 * and the file (JSON) that holds them.
 */
#ifndef IPCLIFT_BENCH_RESULTS_H
#define IPCLIFT_BENCH_RESULTS_H

#include <json-c/json.h>

#include "tool/bench/stats.h"

#define SERIES_MAX 8
#define NAME_LEN 24

/* How a measure's samples are summed up, and which way is better. */
enum sum {
	SUM_BEST,   /* one process: whatever disturbs only makes it slower */
	SUM_MEDIAN, /* several: a best would hide a pair that is out of step */
};

struct measure {
	const char *name; /* as the worker prints it */
	const char *unit; /* "ns", "1/s", "%" */
	const char *text;
};

struct series {
	char world[NAME_LEN];
	double *values;
	int n;
};

struct figure {
	char table[8]; /* "T1" */
	char work[NAME_LEN], measure[NAME_LEN];
	double x;
	enum sum sum;
	struct series series[SERIES_MAX];
	int n_series;
};

struct results {
	struct figure *figures;
	int n, cap;
	json_object *machine; /* what it was measured on */
	json_object *locks;   /* array: {table, work, x, locks} */
	json_object *notes;   /* array of text: what could not be measured */
};

void results_init(struct results *r);
void results_drop(struct results *r);

/* What is known of a measure; not NULL. */
const struct measure *measure_of(const char *name);
int measure_more_is_better(const char *name);

/* One sample more; the figure is made if it is new. */
void results_add(struct results *r, const char *table, const char *work,
	const char *measure, double x, enum sum sum, const char *world,
	double value);
void results_note(struct results *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* NULL if there is none. */
const struct series *figure_series(const struct figure *f, const char *world);
const struct figure *results_find(
	const struct results *r, const struct figure *like);
/* The value that stands for a series: its best, or its median. */
double series_value(const struct figure *f, const struct series *s);
/* The same of a world; 0 if it has no samples. */
double figure_value(const struct figure *f, const char *world);

/* A field of what a file had, as text; "" if there is none. */
const char *field_of(json_object *o, const char *field);

json_object *results_to_json(const struct results *r);
/* Into what was initialized. 0, or EXIT_FAILED after a message; also if it is
 * no such file. */
int results_read(struct results *r, const char *path);

#endif
