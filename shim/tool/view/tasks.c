// SPDX-License-Identifier: MIT
/*
 * ipclift tasks: the processes on a registry.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "inspect/taskview.h"
#include "tool/registry.h"
#include "tool/view/table.h"

static int as_json, all;

static const struct option_spec options[] = {
	{"all", 'a', NULL, &all, "the dead, too, who left nothing behind"},
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{0},
};

/* Clock ticks since boot as seconds since 1970; 0 if it is not known. */
static long long start_time(u64 ticks)
{
	struct timespec boot, now;
	long hz = sysconf(_SC_CLK_TCK);

	if (!ticks || hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) ||
		clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	return now.tv_sec - boot.tv_sec + (long long)(ticks / (u64)hz);
}

static json_object *task_row(const struct task_view *t)
{
	static const char *const life[] = {"-", "linked", "fired"};
	json_object *row = json_object_new_object();

	field_process(row, t->pid);
	field_time(row, "started", start_time(t->start));
	field_int(row, "threads", t->n_threads);
	field_int(row, "undo", t->n_undo);
	field_int(row, "attached", t->n_attach);
	field_text(row, "lifeline", "%s", life[t->life]);
	field_int(row, "images", t->epoch);
	if (t->state != TASK_PREFORK)
		field_text(row, "state", "%s", t->gone ? "dead" : "alive");
	else if (t->child)
		field_text(row, "state", "child %u", t->child);
	else
		field_text(row, "state", "forking");
	return row;
}

static int tasks_main(int argc, char **argv)
{
	static const struct column columns[] = {{"PID", "pid", '>'},
		{"COMMAND", "command", 's'}, {"STARTED", "started", '<'},
		{"THREADS", "threads", '>'}, {"UNDO", "undo", '>'},
		{"ATTACHED", "attached", '>'}, {"LIFELINE", "lifeline", '<'},
		{"STATE", "state", '<'}, {0}};
	json_object *rows;
	struct task_view t;
	struct caller *c;
	u32 at = 0;
	int err = no_words(argc, argv);

	c = err ? NULL : registry_look(&err);
	if (!c)
		return err;
	rows = json_object_new_array();
	while ((err = task_view_next(c, &at, &t)) > 0)
		/* We are one of them only to look. */
		if (t.pid != (u32)getpid() &&
			(all || !t.gone || t.n_undo || t.n_attach))
			json_object_array_add(rows, task_row(&t));
	if (err < 0) {
		json_object_put(rows);
		return failure("%s", strerror(-err));
	}
	rows_print(columns, rows, as_json);
	return EXIT_OK;
}

const struct command tasks_command = {
	.name = "tasks",
	.summary = "list the processes on a registry",
	.usage = "[OPTIONS]",
	.about =
		"List the processes on a registry.\n"
		"  THREADS   those that ever took a lock or slept\n"
		"  UNDO      sets to which its death would give something "
		"back\n"
		"  ATTACHED  attachments of segments\n"
		"  LIFELINE  linked: others notice its death at once; fired: "
		"the thread\n"
		"            that had it ended, or called exec; -: nothing "
		"depends on it\n"
		"  STATE     dead: nobody has met what it left yet; child PID: "
		"what a\n"
		"            process being forked inherits",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = tasks_main,
};
