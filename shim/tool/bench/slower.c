// SPDX-License-Identifier: MIT
/*
 * Kernel beside shim, call by call; see slower.h.
 */
#include "tool/bench/slower.h"

#include <stdio.h>
#include <string.h>

#include "tool/bench/report.h"
#include "tool/message.h"
#include "tool/view/table.h"

#define SLOWER 1.1

/* Calls by their time, round trips by that of the middle one; the rest of what
 * is known of a round trip is in the JSON. */
static int counts(const struct figure *f)
{
	return !strcmp(f->measure, "time") || !strcmp(f->measure, "median");
}

/* What has only one side is slower in no way. */
static int is_slower(const struct figure *f)
{
	double kernel = figure_value(f, "kernel");
	double shim = figure_value(f, "shim");

	return counts(f) && kernel > 0 && shim > SLOWER * kernel;
}

/* "mq, 4 clients". Two buffers in turn. */
static const char *name_of(const struct figure *f)
{
	static char text[2][64];
	static int turn;
	char *to = text[turn++ % 2];

	if (f->x > 0)
		snprintf(to, sizeof(text[0]), "%s, %.0f client%s", f->work,
			f->x, f->x > 1 ? "s" : "");
	else
		snprintf(to, sizeof(text[0]), "%s", f->work);
	return to;
}

void slower_print(const struct results *r)
{
	int i;

	printf("%s%-24s%12s%12s%8s%s\n", colour('b'), "CALL", "KERNEL", "SHIM",
		"RATIO", colour(0));
	for (i = 0; i < r->n; i++) {
		const struct figure *f = &r->figures[i];
		double ratio = figure_ratio(f);

		if (!counts(f))
			continue;
		printf("%-24s%12s%12s", name_of(f),
			value_text(f->measure, figure_value(f, "kernel")),
			value_text(f->measure, figure_value(f, "shim")));
		if (ratio > 0)
			printf("%s%7.2fx%s\n", colour(is_slower(f) ? 'r' : 'g'),
				ratio, colour(0));
		else
			puts("       -");
	}
}

static int count_slower(const struct results *r)
{
	int i, n = 0;

	for (i = 0; i < r->n; i++)
		n += is_slower(&r->figures[i]);
	return n;
}

int slower_run(struct results *r, const struct request *q, int quiet)
{
	struct results second;
	int err = measure_calls(r, q, NULL, NULL), i;

	if (!quiet)
		slower_print(r);
	results_init(&second);
	if (count_slower(r)) {
		err |= measure_calls(&second, q, r, is_slower);
		if (!quiet)
			puts("\nagain, what was slower:");
		if (!quiet)
			slower_print(&second);
	}
	for (i = 0; i < second.n; i++)
		if (is_slower(&second.figures[i]))
			err = failure("slower than the kernel twice: %s",
				name_of(&second.figures[i]));
	results_drop(&second);
	return err;
}
