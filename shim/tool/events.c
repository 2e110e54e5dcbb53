// SPDX-License-Identifier: MIT
/*
 * ipclift events: what the registry's ring of events tells.
 */
#include <stdio.h>

#include "render/eventtext.h"
#include "object/limits.h"
#include "tool/registry.h"
#include "tool/table.h"

static int as_json;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{0},
};

static void add_text(struct caller *c, json_object *row, const struct event *e)
{
	const struct header *h = caller_header(c);
	char text[EVENT_TEXT_MAX];

	event_text(h, e, text, sizeof(text));
	field_text(row, "event", "%s", text);
	if (e->code != EVENT_LIMIT)
		return;
	limit_remedy(h, e, text, sizeof(text));
	/* Shorter, for the table: the remedy must not be cut off. */
	field_text(row, "event", "limit %s=%lld: %s", limit_name(e->arg[0]),
		(long long)e->arg[1], text);
	field_text(row, "limit", "%s", limit_name(e->arg[0]));
	field_int(row, "value", (long long)e->arg[1]);
	field_int(row, "asked", (long long)e->asked);
	field_text(row, "remedy", "%s", text);
}

static int events_main(int argc, char **argv)
{
	static const struct column columns[] = {{"TIME", "time", '<'},
		{"PID", "pid", '>'}, {"COMMAND", "command", '<'},
		{"EVENT", "event", '<'}, {0}};
	json_object *rows, *row;
	struct caller *c;
	struct event e;
	u64 seq, last;
	int err = no_words(argc, argv);

	c = err ? NULL : registry_look(&err);
	if (!c)
		return err;
	rows = json_object_new_array();
	last = atom_load_acquire(&caller_header(c)->event_seq);
	seq = last > N_EVENTS ? last - N_EVENTS : 0;
	while (seq++ < last) {
		if (!event_get(&c->region, seq, &e))
			continue;
		row = json_object_new_object();
		field_time(row, "time", e.time);
		field_int(row, "pid", e.pid);
		field_text(row, "command", "%.16s", e.command);
		add_text(c, row, &e);
		json_object_array_add(rows, row);
	}
	rows_print(columns, rows, as_json);
	return EXIT_OK;
}

const struct command events_command = {
	.name = "events",
	.summary = "list what happened: limits hit, deaths repaired",
	.usage = "[OPTIONS]",
	.about =
		"List the latest events of a registry: which limit stopped "
		"whose call, and\n"
		"the command that raises it; whose unfinished call was undone; "
		"whose SEM_UNDO\n"
		"was applied; when there was no room. PID is who asked, or who "
		"noticed.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = events_main,
};
