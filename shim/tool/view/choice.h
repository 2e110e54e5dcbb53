// SPDX-License-Identifier: MIT
/*
 * The user's choices for a table: columns, order, headings and format,
 * repetition. The columns are those of inspect/rows.h, by the heading of the
 * table or the name in JSON.
 */
#ifndef IPCLIFT_TOOL_VIEW_CHOICE_H
#define IPCLIFT_TOOL_VIEW_CHOICE_H

#include <json-c/json.h>

#include "inspect/column.h"
#include "tool/options.h"

extern const char *choice_columns, *choice_sort, *choice_watch;
/* Without headings; words only, for scripts. */
extern int choice_bare, choice_raw;

/* Of every command that prints tables (COMMAND_TABLE). */
extern const struct option_spec choice_options[];

/* 0, or EXIT_USAGE after a message: there is no such column. Of several tables
 * (ended by NULL) one has to have it. */
int choice_check(const struct column *columns);
int choice_check_parts(const struct column *const *parts);
/* Rows in the chosen order; those without a value last. */
void choice_order(const struct column *columns, json_object *rows);
/* Call fn (unless NULL) for the chosen ones of these columns, or for those of a
 * table on a terminal so many letters wide (0: no terminal): 1, or 0 if there
 * is none. */
int choice_each(const struct column *columns, size_t width,
	void (*fn)(const struct column *c, void *arg), void *arg);

/* With --watch: call once, in a child each, until it is a usage error or a
 * signal comes; its exit status. Without: just call it. */
int choice_repeat(int (*once)(int argc, char **argv), int argc, char **argv);

#endif
