// SPDX-License-Identifier: MIT
/*
 * ipclift ls: the objects of a registry.
 */
#include <stdio.h>
#include <string.h>

#include "inspect/rows.h"
#include "render/render.h"
#include "tool/view/objects.h"
#include "tool/registry.h"
#include "tool/view/choice.h"
#include "tool/view/table.h"

static int as_json, as_proc;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON array, numbers raw"},
	{"proc", 0, NULL, &as_proc,
		"as /proc/sysvipc/KIND prints it; one KIND (default:\n"
		"sem), not mq"},
	{0},
};

static int print_proc(struct caller *c, enum facility kind)
{
	char buf[65536];
	u32 idx = 0;
	s64 n;

	fputs(render_head(kind), stdout);
	while ((n = render_rows(c, kind, &idx, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	return n < 0 ? failure("%s", strerror((int)-n)) : EXIT_OK;
}

struct list {
	json_object *rows;
	struct glance glance;
};

/* For tables: the contents, and how many wait for a change of them. */
static void tell_waiting(json_object *row)
{
	int n = json_object_get_int(json_object_object_get(row, "waiting"));
	json_object *holds = json_object_object_get(row, "holds");

	if (n)
		field_text(row, "holds", "%s, %d wait%s",
			json_object_get_string(holds), n, n > 1 ? "" : "s");
}

/* Skip a queue without a name whose last user has exited: it is unreachable,
 * and the next call of any process frees it. */
static int add_row(struct caller *c, const struct object *o, void *arg)
{
	struct list *list = arg;
	json_object *row;

	if (o->kind == FAC_MQ && o->mq.unlinked && !mq_in_use(c, &o->mq.desc))
		return 0;
	row = object_row(c, o, &list->glance);
	if (as_json) {
		json_object_object_del(row, "label");
		json_object_object_del(row, "holds");
	} else {
		tell_waiting(row);
	}
	json_object_array_add(list->rows, row);
	return 0;
}

/* For tables: the time if today, else the date. */
static void shorten_times(json_object *rows)
{
	const char *now, *used;
	json_object *row, *clock = json_object_new_object();
	size_t i;

	field_time(clock, "now", sys_realtime_sec());
	now = json_object_get_string(json_object_object_get(clock, "now"));
	for (i = 0; i < json_object_array_length(rows); i++) {
		row = json_object_array_get_idx(rows, i);
		used = json_object_get_string(
			json_object_object_get(row, "used"));
		if (used && strlen(used) > 11)
			field_text(row, "used", "%.10s",
				strncmp(used, now, 10) ? used : used + 11);
	}
	json_object_put(clock);
}

static int ls_main(int argc, char **argv)
{
	unsigned kinds = kinds_parse(argc, argv);
	struct list list;
	struct caller *c;
	int err;

	if (!kinds)
		return EXIT_USAGE;
	if (as_json && as_proc)
		return usage_error("--json and --proc exclude each other");
	if (as_proc && (argc > 1 || kinds == 1u << FAC_MQ))
		return usage_error("--proc is of one kind: sem, msg, shm");
	c = registry_open_read_only(&err);
	if (!c)
		return err;
	if (as_proc)
		return print_proc(
			c, argc ? (enum facility)kind_parse(argv[0]) : FAC_SEM);
	list.rows = json_object_new_array();
	glance_take(c, &list.glance);
	err = object_each(c, kinds, add_row, &list);
	glance_deinit(&list.glance);
	choice_order(object_columns, list.rows);
	if (!as_json)
		shorten_times(list.rows);
	rows_print(object_columns, list.rows, as_json);
	return err;
}

const struct command ls_command = {
	.name = "ls",
	.summary = "list the objects of a registry",
	.usage = "[OPTIONS] [KIND...]",
	.about = "List the objects of a registry, or only those of some kinds: "
		 "sem, msg,\n"
		 "shm, mq. USED is when an operation was last done on it.",
	.options = options,
	.is = COMMAND_ON_REGISTRY | COMMAND_TABLE,
	.columns = object_columns,
	.main = ls_main,
};
