// SPDX-License-Identifier: MIT
/*
 * Old beside new; see compare.h.
 *
 * What is compared are the means of the rounds, as their spread is what tells
 * whether a change is one. The kernel's own change between the two runs stands
 * beside: where it changed as much, the machine did.
 */
#include "tool/bench/compare.h"

#include <math.h>
#include <stdio.h>

#include "tool/bench/report.h"
#include "tool/view/table.h"

struct change {
	struct stats old, new;
	struct difference d;
	double percent, interval; /* of old */
	const char *verdict;
};

/* 0, or -1 if one of them has no such series. */
static int change_of(const struct figure *old, const struct figure *new,
	const char *world, struct change *ret)
{
	const struct series *a = figure_series(old, world);
	const struct series *b = figure_series(new, world);
	int better;

	if (!a || !b)
		return -1;
	stats_of(a->values, a->n, &ret->old);
	stats_of(b->values, b->n, &ret->new);
	ret->percent = ret->interval = 0;
	ret->verdict = "too few rounds";
	if (stats_compare(&ret->old, &ret->new, &ret->d))
		return 0;
	if (ret->old.mean != 0) {
		ret->percent = 100 * ret->d.mean / fabs(ret->old.mean);
		ret->interval = 100 * ret->d.interval / fabs(ret->old.mean);
	}
	better = measure_more_is_better(new->measure) == (ret->d.mean > 0);
	ret->verdict = !ret->d.significant ? "same"
		       : better		   ? "better"
					   : "worse";
	return 0;
}

static void print_line(const struct figure *f, const struct change *c,
	const struct change *kernel)
{
	char what[80];

	snprintf(what, sizeof(what), "%s %s %s %.0f", f->table, f->work,
		f->measure, f->x);
	printf("%-36.36s%11s%11s%+8.1f%% +/- %.1f%%  %s%s%s", what,
		value_text(f->measure, c->old.mean),
		value_text(f->measure, c->new.mean), c->percent, c->interval,
		colour(*c->verdict == 'b'    ? 'g'
			: *c->verdict == 'w' ? 'r'
					     : 0),
		c->verdict, colour(0));
	if (kernel)
		printf("  (kernel %+.1f%%)", kernel->percent);
	puts("");
}

static int is_quick(const struct results *r)
{
	return json_object_get_boolean(
		json_object_object_get(r->machine, "quick"));
}

void compare_print(const struct results *old, const struct results *new)
{
	struct change shim, kernel;
	const struct figure *was;
	int i, n = 0;

	if (is_quick(old) != is_quick(new))
		puts("\none of the two is of --quick, and did less work in a "
		     "round");
	for (i = 0; i < new->n; i++) {
		const struct figure *f = &new->figures[i];

		was = results_find(old, f);
		if (!was || change_of(was, f, "shim", &shim))
			continue;
		if (!n++)
			printf("\n%s%-36s%11s%11s  CHANGE AT 95%%%s\n",
				colour('b'), "MEANS OF THE SHIM", "OLD", "NEW",
				colour(0));
		print_line(f, &shim,
			change_of(was, f, "kernel", &kernel) ? NULL : &kernel);
	}
	if (!n)
		puts("\nnothing of it was measured before");
}

json_object *compare_json(const struct results *old, const struct results *new)
{
	static const char *const worlds[] = {"kernel", "shim"};
	json_object *all = json_object_new_array(), *o;
	const struct figure *f, *was;
	struct change c;
	int i, k;

	for (i = 0; i < 2 * new->n; i++) {
		k = i % 2;
		f = &new->figures[i / 2];
		was = results_find(old, f);
		if (!was || change_of(was, f, worlds[k], &c))
			continue;
		o = json_object_new_object();
		field_text(o, "table", "%s", f->table);
		field_text(o, "work", "%s", f->work);
		field_text(o, "measure", "%s", f->measure);
		field_int(o, "x", (long long)f->x);
		field_text(o, "world", "%s", worlds[k]);
		json_object_object_add(
			o, "old_mean", json_object_new_double(c.old.mean));
		json_object_object_add(
			o, "new_mean", json_object_new_double(c.new.mean));
		json_object_object_add(
			o, "change_percent", json_object_new_double(c.percent));
		json_object_object_add(o, "interval_percent",
			json_object_new_double(c.interval));
		field_text(o, "verdict", "%s", c.verdict);
		json_object_array_add(all, o);
	}
	return all;
}
