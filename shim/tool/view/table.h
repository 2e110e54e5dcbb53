// SPDX-License-Identifier: MIT
/*
 * The output of a command, as an aligned table or as JSON. The same calls make
 * both: a list of rows of named cells. JSON has raw numbers; a table has them
 * in readable form.
 */
#ifndef IPCLIFT_TOOL_VIEW_TABLE_H
#define IPCLIFT_TOOL_VIEW_TABLE_H

#include <json-c/json.h>

#include "inspect/column.h"

/* Rows are JSON objects in an array, with the columns' fields (other fields
 * are for JSON only). Prints on stdout what the user has chosen; on a terminal
 * no wider than that if something can be cut. */
void table_print(const struct column *columns, json_object *rows);
/* Pretty JSON on stdout, and drops it. */
void json_print(json_object *value);
/* One of both; drops the rows. */
void rows_print(const struct column *columns, json_object *rows, int json);

/* "1.5 KiB", "17 B". Four buffers in turn. */
const char *human_bytes(unsigned long long n);
/* "12 s", "3 min", "2 h", "5 d". One buffer. */
const char *human_age(double seconds);

/* Escape sequences around text on a terminal, else "": 'b' bold, 'r' red, 'y'
 * yellow, 'g' green, 0 back to normal. NO_COLOR turns them off. */
const char *colour(char which);

/* The values of the columns with a meaning (`about`) at an element, the i-th of
 * its list, as a row; or added to one. */
json_object *row_make(
	const struct column *columns, const void *element, long long i);
void row_add(
	json_object *row, const struct column *columns, const void *element);

/* Fields of a row. */
void field_int(json_object *row, const char *field, long long value);
void field_uint(json_object *row, const char *field, unsigned long long value);
void field_text(json_object *row, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void field_null(json_object *row, const char *field);
void field_bool(json_object *row, const char *field, int value);
/* "2026-11-21 10:12:33"; null for 0. */
void field_time(json_object *row, const char *field, long long seconds);
/* The user's name, or number. */
void field_user(json_object *row, const char *field, unsigned uid);
/* pid, and the name of the process as `command`. */
void field_process(json_object *row, unsigned pid);

#endif
