// SPDX-License-Identifier: MIT
/*
 * ipclift events: what the registry's ring of events tells.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "render/eventtext.h"
#include "object/limits.h"
#include "tool/registry.h"
#include "tool/view/table.h"

static int as_json;
static const char *since, *only;

static const struct option_spec options[] = {
	{"since", 0, "AGE", &since, "not older than this: 90s, 10m, 1h, 2d"},
	{"only", 0, "LIST", &only,
		"of these kinds: limit (that stopped a call), death\n"
		"(repaired, or its SEM_UNDO applied), room (there was\n"
		"none), other"},
	{"json", 0, NULL, &as_json, "as a JSON array"},
	{0},
};

static const char *const kinds[] = {"limit", "death", "room", "other"};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t kind_of(const struct event *e)
{
	switch (e->code) {
	case EVENT_LIMIT:
		return 0;
	case EVENT_RECOVERED:
	case EVENT_REAPED:
	case EVENT_DETACHED:
		return 1;
	case EVENT_NO_ROOM:
		return 2;
	default:
		return 3;
	}
}

/* Bits of the kinds in a list. 0, or EXIT_USAGE after a message. */
static int parse_only(const char *list, unsigned *ret)
{
	const char *at = list;
	size_t n, i;

	*ret = 0;
	do {
		n = strcspn(at, ",");
		for (i = 0; i < N_KINDS; i++)
			if (strlen(kinds[i]) == n && !strncmp(kinds[i], at, n))
				break;
		if (i == N_KINDS)
			return usage_error("--only: '%.*s' is none of limit, "
					   "death, room, other",
				(int)n, at);
		*ret |= 1u << i;
		at += n;
	} while (*at++);
	return 0;
}

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

/* The same as the last one of the table, but for time and pid: it is counted
 * there. */
static int joined(json_object *rows, json_object *row, const char *const *same)
{
	size_t n = json_object_array_length(rows);
	json_object *last = n ? json_object_array_get_idx(rows, n - 1) : NULL;
	json_object *a, *b;

	for (; last && *same; same++) {
		if (!json_object_object_get_ex(last, *same, &a) ||
			!json_object_object_get_ex(row, *same, &b) ||
			!json_object_equal(a, b))
			return 0;
	}
	if (!last || !json_object_object_get_ex(last, "count", &a))
		return 0;
	json_object_set_int(a, json_object_get_int(a) + 1);
	json_object_put(row);
	return 1;
}

static json_object *collect(struct caller *c, s64 from, unsigned wanted)
{
	static const char *const same[] = {"command", "event", NULL};
	json_object *rows = json_object_new_array(), *row;
	struct event e;
	u64 seq = 0;

	while ((seq = event_next(&c->region, seq))) {
		if (!event_get(&c->region, seq, &e) || (s64)e.time < from ||
			!(wanted >> kind_of(&e) & 1))
			continue;
		row = json_object_new_object();
		field_time(row, "time", e.time);
		field_int(row, "pid", e.pid);
		field_text(row, "command", "%.16s", e.command);
		field_text(row, "kind", "%s", kinds[kind_of(&e)]);
		add_text(c, row, &e);
		if (!as_json) {
			field_int(row, "count", 1);
			if (joined(rows, row, same))
				continue;
		}
		json_object_array_add(rows, row);
	}
	return rows;
}

static int events_main(int argc, char **argv)
{
	static const struct column columns[] = {{"TIME", "time", '<'},
		{"PID", "pid", '>'}, {"COMMAND", "command", '<'},
		{"TIMES", "count", '>'}, {"EVENT", "event", 'w'}, {0}};
	const char *option, *value;
	long long age = 0;
	unsigned wanted = ~0u;
	struct caller *c;
	int err = no_words(argc, argv);

	if (!err && since)
		err = parse_age("--since", since, &age);
	if (!err && only)
		err = parse_only(only, &wanted);
	c = err ? NULL : registry_look(&err);
	if (!c)
		return err;
	option = registry_option(&value);
	if (option)
		limit_remedy_for(option, value);
	rows_print(columns,
		collect(c, since ? (s64)time(NULL) - age : 0, wanted), as_json);
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
		"noticed. Equal\n"
		"ones that follow each other are one line, with the time and "
		"PID of the first;\n"
		"not so with --json. Processes that end in the ordinary way "
		"are no "
		"events.",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = events_main,
};
