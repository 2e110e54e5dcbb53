// SPDX-License-Identifier: MIT
/*
 * What a command shows, as an aligned table or as JSON. The same calls make
 * both: a list of rows, each of cells with a name.
 */
#ifndef IPCLIFT_TOOL_TABLE_H
#define IPCLIFT_TOOL_TABLE_H

#include <json-c/json.h>

/* One column: its heading, the name in JSON, and '<' or '>' for its side. */
struct column {
	const char *heading;
	const char *field;
	char side;
};

/* Rows are JSON objects in an array, with the columns' fields (other fields
 * are for JSON only). Prints on stdout; the last column is cut at 80. */
void table_print(const struct column *columns, json_object *rows);
/* Pretty JSON on stdout, and drops it. */
void json_print(json_object *value);

/* "2026-11-21 10:12:33", "-" for 0. */
json_object *json_time(long long seconds);
/* A user's name, or his number. */
json_object *json_user(unsigned uid);
json_object *json_text(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

#endif
