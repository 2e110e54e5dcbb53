// SPDX-License-Identifier: MIT
/*
 * ipclift locks: Kennaway's table of every lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/lockview.h"
#include "inspect/rows.h"
#include "tool/registry.h"
#include "tool/view/choice.h"
#include "tool/view/table.h"

#define SHOWN 20 /* arbitrary: fits a screen */

static int as_json, all, reset, on, off;

static const struct option_spec options[] = {
	{"on", 0, NULL, &on, "measure times from now on (and reset)"},
	{"off", 0, NULL, &off, "stop measuring times"},
	{"reset", 0, NULL, &reset, "set all to 0"},
	{"all", 'a', NULL, &all, "every lock, not only the busiest 20"},
	{"json", 0, NULL, &as_json, "every lock, as a JSON array"},
	{0},
};

struct list {
	struct lock_view *at;
	size_t n, cap;
};

static int read_locks(struct caller *c, struct list *l)
{
	struct lock_cursor at = {0};
	struct lock_view v;

	while (lock_view_next(c, &at, &v)) {
		if (l->n == l->cap) {
			size_t cap = l->cap ? 2 * l->cap : 64;
			void *p = realloc(l->at, cap * sizeof(v));

			if (!p)
				return failure("out of memory");
			l->at = p;
			l->cap = cap;
		}
		l->at[l->n++] = v;
	}
	return 0;
}

/* The most contended first, then the most used. */
static int compare(const void *a, const void *b)
{
	const struct lock_view *x = a, *y = b;

	if (x->cnt_lock != y->cnt_lock)
		return x->cnt_lock < y->cnt_lock ? 1 : -1;
	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->name, y->name);
}

static int print_locks(struct caller *c)
{
	json_object *rows = json_object_new_array();
	struct list l = {0};
	int timed = caller_header(c)->profiling != 0;
	size_t i;

	if (read_locks(c, &l))
		return EXIT_FAILED;
	if (l.n)
		qsort(l.at, l.n, sizeof(*l.at), compare);
	for (i = 0; i < l.n && (as_json || all || choice_sort || i < SHOWN);
		i++)
		json_object_array_add(
			rows, row_make(lock_columns, &l.at[i], (long long)i));
	choice_order(lock_columns, rows);
	rows_print(lock_columns, rows, as_json);
	if (!as_json && i < l.n)
		printf("and %zu locks more (--all)\n", l.n - i);
	if (!as_json && !timed)
		puts("times are not taken: ipclift locks --on");
	free(l.at);
	return EXIT_OK;
}

static int locks_main(int argc, char **argv)
{
	struct caller *c;
	int err = no_words(argc, argv);

	if (!err && on + off + reset > 1)
		err = usage_error("--on, --off and --reset exclude each other");
	c = err			 ? NULL
	    : on || off || reset ? registry_open(&err)
				 : registry_open_read_only(&err);
	if (!c)
		return err;
	if (!on && !off && !reset)
		return print_locks(c);
	err = reset ? lock_view_reset(c) : lock_view_profile(c, on);
	return err ? failure("%s", strerror(-err)) : EXIT_OK;
}

const struct command locks_command = {
	.name = "locks",
	.summary = "show the cost of every lock",
	.usage = "[OPTIONS]",
	.about = "Show the locks of a registry, the most contended first:\n"
		 "  max       longest hold, in ns (times: only with --on)\n"
		 "  total     all holds together\n"
		 "  count     how often it was taken\n"
		 "  avg       total / count\n"
		 "  cnt_hold  takers that had to sleep until it was released\n"
		 "  cnt_lock  takers that found it held\n"
		 "  name      sem, msg, shm, mq: creating and removing "
		 "objects; sem 5: an\n"
		 "            object; sem #5: a removed one; task PID; heap",
	.options = options,
	.is = COMMAND_ON_REGISTRY | COMMAND_TABLE,
	.columns = lock_columns,
	.main = locks_main,
};
