// SPDX-License-Identifier: MIT
/*
 * ipclift events: the registry's ring of events.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "inspect/rows.h"
#include "render/eventtext.h"
#include "object/limits.h"
#include "tool/registry.h"
#include "tool/view/choice.h"
#include "tool/view/table.h"

static int as_json, follow;
static const char *since, *only;

static const struct option_spec options[] = {
	{"since", 0, "AGE", &since, "no older than this: 90s, 10m, 1h, 2d"},
	{"only", 0, "LIST", &only,
		"of these kinds: limit (that stopped a call), death\n"
		"(repaired, or its SEM_UNDO applied), room (there was\n"
		"none), other"},
	{"follow", 'f', NULL, &follow, "and then new ones as they come"},
	{"json", 0, NULL, &as_json,
		"as a JSON array; with --follow a line each"},
	{0},
};

/* Between two reads of the ring. Arbitrary. */
#define FOLLOW_NS 200000000

/* Bits of the kinds in a list. 0, or EXIT_USAGE after a message. */
static int parse_only(const char *list, unsigned *ret)
{
	const char *at = list;
	size_t n, i;

	*ret = 0;
	do {
		n = strcspn(at, ",");
		for (i = 0; i < N_EVENT_KINDS; i++)
			if (strlen(event_kinds[i]) == n &&
				!strncmp(event_kinds[i], at, n))
				break;
		if (i == N_EVENT_KINDS)
			return usage_error("--only: '%.*s' is none of limit, "
					   "death, room, other",
				(int)n, at);
		*ret |= 1u << i;
		at += n;
	} while (*at++);
	return 0;
}

/* If it equals the last one of the table, except for time and pid, it is
 * counted there. */
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

static json_object *event_row(const struct event_view *v)
{
	const struct event *e = &v->event;
	json_object *row = row_make(event_columns, v, 0);
	char text[EVENT_TEXT_MAX];

	if (e->code != EVENT_LIMIT)
		return row;
	limit_remedy(v->h, e, text, sizeof(text));
	field_text(row, "limit", "%s", limit_name(e->arg[0]));
	field_int(row, "value", (long long)e->arg[1]);
	field_int(row, "asked", (long long)e->asked);
	field_text(row, "remedy", "%s", text);
	return row;
}

static int is_wanted(const struct event *e, s64 from, unsigned wanted)
{
	return (s64)e->time >= from && (wanted >> event_kind(e) & 1);
}

static const char *word(json_object *row, const char *field)
{
	const char *text =
		json_object_get_string(json_object_object_get(row, field));

	return text ? text : "-";
}

/* A line each, flushed, so that a reader of a pipe gets it at once. */
static void print_event(json_object *row)
{
	if (as_json)
		puts(json_object_to_json_string_ext(
			row, JSON_C_TO_STRING_PLAIN |
				     JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		printf("%s  %7s  %-15s  %s\n", word(row, "time"),
			word(row, "pid"), word(row, "command"),
			word(row, "event"));
	json_object_put(row);
}

/* Existing events and new ones, until a signal or the registry's end. */
static int follow_events(struct caller *c, s64 from, unsigned wanted)
{
	const struct timespec nap = {0, FOLLOW_NS};
	struct event_view v = {.h = caller_header(c)};
	u64 seq = 0, next;

	while (registry_glance_still()) {
		while ((next = event_next(&c->region, seq))) {
			/* The last one may be incomplete yet. */
			if (!event_get(&c->region, next, &v.event) &&
				next == v.h->event_seq)
				break;
			seq = next;
			if (v.event.seq == seq &&
				is_wanted(&v.event, from, wanted))
				print_event(event_row(&v));
		}
		if (fflush(stdout))
			return EXIT_FAILED;
		nanosleep(&nap, NULL);
	}
	return failure("the registry was removed, or replaced by another");
}

static json_object *collect(struct caller *c, s64 from, unsigned wanted)
{
	static const char *const same[] = {"command", "event", NULL};
	json_object *rows = json_object_new_array(), *row;
	struct event_view v = {.h = caller_header(c)};
	u64 seq = 0;

	while ((seq = event_next(&c->region, seq))) {
		if (!event_get(&c->region, seq, &v.event) ||
			!is_wanted(&v.event, from, wanted))
			continue;
		row = event_row(&v);
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
	const char *option, *value;
	json_object *rows;
	long long age = 0;
	unsigned wanted = ~0u;
	struct caller *c;
	int err = no_words(argc, argv);
	s64 from;

	if (!err && follow && (choice_watch || choice_sort || choice_columns))
		err = usage_error("--follow has columns and an order of its "
				  "own");
	if (!err && since)
		err = parse_age("--since", since, &age);
	if (!err && only)
		err = parse_only(only, &wanted);
	c = err	     ? NULL
	    : follow ? registry_glance(&err)
		     : registry_open_read_only(&err);
	if (!c)
		return err;
	option = registry_option(&value);
	if (option)
		limit_remedy_for(option, value);
	from = since ? (s64)time(NULL) - age : 0;
	if (follow)
		return follow_events(c, from, wanted);
	rows = collect(c, from, wanted);
	choice_order(event_columns, rows);
	rows_print(event_columns, rows, as_json);
	return EXIT_OK;
}

const struct command events_command = {
	.name = "events",
	.summary = "list what happened: limits hit, deaths repaired",
	.usage = "[OPTIONS]",
	.about = "List the latest events of a registry: which limit stopped a "
		 "call, and the\n"
		 "command that raises it; whose unfinished call was rolled "
		 "back; whose SEM_UNDO\n"
		 "was applied; when there was no space. PID is the caller, or "
		 "the process that\n"
		 "noticed it. Equal events in a row are one line, with the "
		 "time and PID of the\n"
		 "first; not so with --json. Normal exits of processes are no "
		 "events.",
	.options = options,
	.is = COMMAND_ON_REGISTRY | COMMAND_TABLE,
	.columns = event_columns,
	.main = events_main,
};
