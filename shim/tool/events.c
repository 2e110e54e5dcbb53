// SPDX-License-Identifier: MIT
/*
 * ipclift events: what the registry's ring of events tells.
 */
#include <stdio.h>

#include "index/ids.h"
#include "ipc/limits.h"
#include "registry/event.h"
#include "tool/registry.h"
#include "tool/table.h"

static int as_json;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{0},
};

/* How the limit that stopped a call is raised. */
static const char *limit_remedy(const struct event *e)
{
	static char text[96];

	if (e->arg[0] == LIMIT_RLIMIT_MSGQUEUE)
		return "ulimit -q unlimited";
	snprintf(text, sizeof(text), "ipclift set %s=N", limit_name(e->arg[0]));
	return text;
}

static void add_text(json_object *row, const struct event *e)
{
	const unsigned long long a = e->arg[0], b = e->arg[1];

	switch (e->code) {
	case EVENT_RECOVERED:
		field_text(
			row, "event", "thread %llu died in a call; undone", a);
		break;
	case EVENT_REAPED:
		field_text(row, "event",
			"SEM_UNDO of dead process %llu applied", a);
		break;
	case EVENT_LIMIT:
		field_text(row, "event", "limit %s=%lld: %s", limit_name(a),
			(long long)b, limit_remedy(e));
		field_text(row, "limit", "%s", limit_name(a));
		field_int(row, "value", (long long)b);
		field_text(row, "remedy", "%s", limit_remedy(e));
		break;
	case EVENT_KERNEL_KEY:
		field_text(row, "event",
			"the kernel has a %s of key 0x%08llx too",
			a < N_FAC ? facility_names[a] : "?", b);
		break;
	case EVENT_DETACHED:
		field_text(
			row, "event", "dead process %llu: %llu detached", a, b);
		break;
	case EVENT_NO_ROOM:
		field_text(row, "event",
			"no room: %s asked for, %s left; see ipclift doctor",
			human_bytes(a * SYS_PAGE), human_bytes(b * SYS_PAGE));
		break;
	default:
		field_text(row, "event", "event %u", e->code);
	}
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

	c = err ? NULL : registry_open(&err);
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
		field_process(row, e.pid);
		add_text(row, &e);
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
