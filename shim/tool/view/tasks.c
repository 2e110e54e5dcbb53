// SPDX-License-Identifier: MIT
/*
 * ipclift tasks: the processes on a registry.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "inspect/rows.h"
#include "inspect/taskview.h"
#include "tool/registry.h"
#include "tool/view/choice.h"
#include "tool/view/table.h"

static int as_json, all;

static const struct option_spec options[] = {
	{"all", 'a', NULL, &all, "exited ones, too, that left nothing behind"},
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{0},
};

static int tasks_main(int argc, char **argv)
{
	json_object *rows;
	struct task_view t;
	struct caller *c;
	struct task_walk at = {0};
	int err = no_words(argc, argv);

	c = err ? NULL : registry_open_read_only(&err);
	if (!c)
		return err;
	rows = json_object_new_array();
	while ((err = task_view_next(c, &at, &t)) > 0)
		/* Leave out this command's own task. */
		if (t.pid != (u32)getpid() &&
			(all || !t.gone || t.n_undo || t.n_attach))
			json_object_array_add(
				rows, row_make(task_columns, &t, 0));
	if (err < 0) {
		json_object_put(rows);
		return failure("%s", strerror(-err));
	}
	choice_order(task_columns, rows);
	rows_print(task_columns, rows, as_json);
	return EXIT_OK;
}

const struct command tasks_command = {
	.name = "tasks",
	.summary = "list the processes on a registry",
	.usage = "[OPTIONS]",
	.about = "List the processes on a registry.\n"
		 "  THREADS   those that ever took a lock or slept\n"
		 "  UNDO      sets for which it has SEM_UNDO adjustments\n"
		 "  ATTACHED  attachments of segments\n"
		 "  LIFELINE  linked: others notice its death at once; fired: "
		 "the thread\n"
		 "            that had it exited, or called exec; none: "
		 "nothing depends\n"
		 "            on it; refused: robust lists are, others check "
		 "now and then\n"
		 "  STATE     dead: what it left is not cleaned up yet; child "
		 "PID: what a\n"
		 "            process being forked inherits",
	.options = options,
	.is = COMMAND_ON_REGISTRY | COMMAND_TABLE,
	.columns = task_columns,
	.main = tasks_main,
};
