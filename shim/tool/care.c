// SPDX-License-Identifier: MIT
/*
 * get, set and check.
 */
#include "tool/care.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ipc/check.h"
#include "ipc/control.h"
#include "ipc/reap.h"
#include "ipc/taskview.h"
#include "tool/registry.h"
#include "tool/table.h"

#define EACH_OPTION_HELP                                     \
	"  --registry PATH  look at this registry\n"         \
	"  --name NAME      or at this named one (default: " \
	"IPCLIFT_REGISTRY,\n"                                \
	"                   else /dev/shm/ipclift-<uid>/default)\n"

static struct caller *begin(
	int argc, char **argv, const char *allowed, struct view *v, int *ret)
{
	struct caller *c;

	*ret = view_options(argc, argv, allowed, v);
	if (!*ret)
		*ret = view_path(v);
	if (*ret) {
		*ret = *ret < 0 ? EXIT_OK : *ret;
		return NULL;
	}
	c = view_open(v);
	*ret = c ? EXIT_OK : EXIT_FAILED;
	return c;
}

/* ---- get ---- */

static void print_control(const struct caller *c, const struct control *k)
{
	if (k->size == 8)
		printf("%-16s %20llu  %s\n", k->name,
			(unsigned long long)control_get(c, k), k->about);
	else
		printf("%-16s %20lld  %s\n", k->name,
			(long long)control_get(c, k), k->about);
}

static json_object *control_json(
	const struct caller *c, const struct control *k)
{
	return k->size == 8 ? json_object_new_uint64(control_get(c, k))
			    : json_object_new_int64((s64)control_get(c, k));
}

static int get_main(int argc, char **argv)
{
	json_object *all;
	struct view v;
	int err, i;
	struct caller *c = begin(argc, argv, "j", &v, &err);

	if (!c)
		return err;
	for (i = 0; i < v.argc; i++)
		if (!control_find(v.argv[i]))
			return usage_error("no limit '%s'", v.argv[i]);
	all = json_object_new_object();
	for (i = 0; i < (v.argc ? v.argc : (int)n_controls); i++) {
		const struct control *k =
			v.argc ? control_find(v.argv[i]) : &controls[i];

		json_object_object_add(all, k->name, control_json(c, k));
		if (!v.json)
			print_control(c, k);
	}
	if (v.json)
		json_print(all);
	else
		json_object_put(all);
	return EXIT_OK;
}

const struct command get_command = {
	.name = "get",
	.summary = "print limits",
	.help = "usage: ipclift get [OPTIONS] [NAME...]\n\n"
		"Print limits of a registry, all by default. The names are\n"
		"those of /proc/sys/kernel and /proc/sys/fs/mqueue, and "
		"semmsl,\n"
		"semmns, semopm, semmni for the four values of kernel/sem.\n\n"
		"  --json           as a JSON object\n" EACH_OPTION_HELP,
	.main = get_main,
};

/* ---- set ---- */

static int set_one(struct caller *c, char *assignment)
{
	char *value = strchr(assignment, '=');
	const struct control *k;
	unsigned long long v;

	if (!value)
		return usage_error("'%s' is not NAME=VALUE", assignment);
	*value++ = 0;
	k = control_find(assignment);
	if (!k)
		return usage_error("no limit '%s'", assignment);
	if (parse_number(value, k->size == 8 ? 0 : -2147483648LL,
		    k->size == 8 ? ~0ULL : 2147483647ULL, &v))
		return usage_error(
			"%s: '%s' is no number for it", k->name, value);
	if (control_set(c, k, v))
		return failure("%s: %s is out of range", k->name, value);
	return 0;
}

static int set_main(int argc, char **argv)
{
	struct view v;
	int err, i;
	struct caller *c = begin(argc, argv, "", &v, &err);

	if (!c)
		return err;
	if (!v.argc)
		return usage_error("which limit? NAME=VALUE");
	for (i = 0; i < v.argc && !err; i++)
		err = set_one(c, v.argv[i]);
	return err;
}

const struct command set_command = {
	.name = "set",
	.summary = "change limits",
	.help = "usage: ipclift set [OPTIONS] NAME=VALUE...\n\n"
		"Change limits of a registry; ipclift get lists them. A "
		"change\n"
		"counts from the next call on. Objects beyond a lowered limit\n"
		"stay.\n\n" EACH_OPTION_HELP,
	.main = set_main,
};

/* ---- check ---- */

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
		if (t.gone || t.state == TASK_NASCENT)
			reap_task(c, t.idx);
}

static int check_main(int argc, char **argv)
{
	static const struct column columns[] = {{"INVARIANT", "invariant", '>'},
		{"WHERE", "where", '>'}, {"VALUE", "value", '>'},
		{"FAULT", "fault", '<'}, {0}};
	struct caller *c;
	json_object *faults;
	struct view v;
	int err, n, quiet;

	c = begin(argc, argv, "j", &v, &err);
	if (!c)
		return err;
	if ((err = view_no_arguments(&v)))
		return err;
	reap_the_dead(c);
	faults = find_faults(c, &quiet);
	if (!faults)
		return failure("%s", strerror(ENOMEM));
	n = (int)json_object_array_length(faults);
	if (v.json) {
		json_print(faults);
	} else {
		if (n)
			table_print(columns, faults);
		else if (quiet)
			puts("all invariants hold");
		else
			puts("no fault; but the registry is too busy to tell "
			     "whether memory is lost");
		json_object_put(faults);
	}
	return n ? EXIT_FAILED : EXIT_OK;
}

const struct command check_command = {
	.name = "check",
	.summary = "prove the invariants of a registry",
	.help = "usage: ipclift check [OPTIONS]\n\n"
		"Check that everything in a registry is as it must be, while\n"
		"programs use it. Exit status 1 if there are faults; the "
		"numbers\n"
		"of the invariants are explained in shim/ipc/check.h.\n\n"
		"  --json           the faults as a JSON "
		"array\n" EACH_OPTION_HELP,
	.main = check_main,
};
