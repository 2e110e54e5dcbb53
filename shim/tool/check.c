// SPDX-License-Identifier: MIT
/*
 * ipclift check: are all invariants of a registry kept? What is looked at, and
 * when it is true, is in inspect/check.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inspect/check.h"
#include "object/reap.h"
#include "inspect/taskview.h"
#include "tool/registry.h"
#include "tool/table.h"

static int as_json;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "the faults as a JSON array"},
	{0},
};

static void add_fault(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "invariant", json_object_new_int((int)which));
	json_object_object_add(o, "where", json_object_new_uint64(a));
	json_object_object_add(o, "value", json_object_new_uint64(b));
	json_object_object_add(o, "fault", json_object_new_string(what));
	json_object_array_add(arg, o);
}

/*
 * Nobody's work is disturbed if a look without locks finds nothing. Else, under
 * locks; what programs do meanwhile keeps only the sums over everything from
 * being told, so we look until there was a quiet moment. Arbitrary: that often,
 * with pauses that make a second together.
 */
#define LOOKS 100
#define LOOK_PAUSE_US 10000

/* All faults as an array, or NULL without memory. */
static json_object *find_faults(struct caller *c, int *ret_quiet)
{
	json_object *faults = json_object_new_array();
	int i, n = check_region(&c->region, add_fault, faults);

	*ret_quiet = n == 0;
	for (i = 0; n >= 0 && !*ret_quiet && i < LOOKS; i++) {
		usleep(i ? LOOK_PAUSE_US : 0);
		json_object_put(faults);
		faults = json_object_new_array();
		n = check_live(c, add_fault, faults, ret_quiet);
		/* What is found under a lock needs no quiet. */
		if (n > 0)
			break;
	}
	if (n >= 0)
		return faults;
	json_object_put(faults);
	return NULL;
}

/* A dead process that nobody has met yet is no fault either. */
static void reap_the_dead(struct caller *c)
{
	struct task_view t;
	u32 at = 0;

	while (task_view_next(c, &at, &t) > 0)
		if (t.gone || t.state == TASK_PREFORK)
			reap_task(c, t.idx);
}

static int check_main(int argc, char **argv)
{
	static const struct column columns[] = {{"INVARIANT", "invariant", '>'},
		{"WHERE", "where", '>'}, {"VALUE", "value", '>'},
		{"FAULT", "fault", '<'}, {0}};
	struct caller *c;
	json_object *faults;
	int err = no_words(argc, argv), n, quiet;

	c = err ? NULL : registry_open(&err);
	if (!c)
		return err;
	reap_the_dead(c);
	faults = find_faults(c, &quiet);
	if (!faults)
		return failure("%s", strerror(ENOMEM));
	n = (int)json_object_array_length(faults);
	if (n || as_json)
		rows_print(columns, faults, as_json);
	else if (quiet)
		puts("all invariants hold");
	else
		puts("no fault; but the registry is too busy to tell whether "
		     "memory is lost");
	return n ? EXIT_FAILED : EXIT_OK;
}

const struct command check_command = {
	.name = "check",
	.summary = "prove the invariants of a registry",
	.usage = "[OPTIONS]",
	.about = "Check that everything in a registry is as it must be, while "
		 "programs use it:\n"
		 "each object under its lock, and, in a moment in which nobody "
		 "takes a lock,\n"
		 "that every byte, sleeper and record is in one place. Exit "
		 "status 1 if there\n"
		 "are faults; shim/inspect/check.h explains the numbers.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = check_main,
};
