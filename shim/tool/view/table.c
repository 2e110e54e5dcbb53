// SPDX-License-Identifier: MIT
/*
 * Tables and JSON; see table.h.
 */
#include "tool/view/table.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/registry.h"

#define COLUMNS_MAX 12
#define WIDTH 80
#define CUT_LEAST 8 /* a column is not cut below that */

const char *colour(char which)
{
	static int on = -1;
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (on < 0)
		on = isatty(1) && !(no && *no) &&
		     !(term && !strcmp(term, "dumb"));
	if (!on)
		return "";
	switch (which) {
	case 'b':
		return "\033[1m";
	case 'r':
		return "\033[31m";
	case 'y':
		return "\033[33m";
	case 'g':
		return "\033[32m";
	default:
		return "\033[0m";
	}
}

const char *human_bytes(unsigned long long n)
{
	static const char units[] = "KMGTPE";
	static char text[4][24];
	static int turn;
	char *to = text[turn++ % 4];
	double v = (double)n;
	int i = -1;

	while (v >= 1024 && i < 5) {
		v /= 1024;
		i++;
	}
	if (i < 0)
		snprintf(to, sizeof(text[0]), "%llu B", n);
	else
		snprintf(to, sizeof(text[0]), "%.1f %ciB", v, units[i]);
	return to;
}

static const char *cell(json_object *row, const struct column *c)
{
	json_object *value = json_object_object_get(row, c->field);

	if (!value)
		return "-";
	if (c->side == 'b')
		return human_bytes(json_object_get_uint64(value));
	return json_object_get_string(value);
}

/* The line's end is the caller's. */
static void print_cell(const char *text, int width, char side, int last)
{
	if (side == '>' || side == 'b')
		printf("%*s", width, text);
	else if (last)
		printf("%.*s", width, text);
	else
		printf("%-*.*s", width, width, text);
	if (!last)
		fputs("  ", stdout);
}

/* What is too much for a line goes from the column that may be cut. */
static void fit(const struct column *columns, int *width, int n)
{
	int i, cut = n - 1, used = -2;

	for (i = 0; i < n; i++) {
		used += width[i] + 2;
		if (columns[i].side == 's')
			cut = i;
	}
	if (used <= WIDTH || columns[cut].side == '>' ||
		columns[cut].side == 'w' || columns[cut].side == 'b')
		return;
	width[cut] -= used - WIDTH;
	if (width[cut] < CUT_LEAST)
		width[cut] = CUT_LEAST;
}

void table_print(const struct column *columns, json_object *rows)
{
	int width[COLUMNS_MAX], n = 0, i, len;
	size_t r, n_rows = json_object_array_length(rows);

	for (; columns[n].heading && n < COLUMNS_MAX; n++) {
		width[n] = (int)strlen(columns[n].heading);
		for (r = 0; r < n_rows; r++) {
			len = (int)strlen(
				cell(json_object_array_get_idx(rows, r),
					&columns[n]));
			if (len > width[n])
				width[n] = len;
		}
	}
	fit(columns, width, n);
	fputs(colour('b'), stdout);
	for (i = 0; i < n; i++)
		print_cell(columns[i].heading, width[i], columns[i].side,
			i == n - 1);
	puts(colour(0));
	for (r = 0; r < n_rows; r++) {
		for (i = 0; i < n; i++)
			print_cell(cell(json_object_array_get_idx(rows, r),
					   &columns[i]),
				width[i], columns[i].side, i == n - 1);
		putchar('\n');
	}
}

void json_print(json_object *value)
{
	puts(json_object_to_json_string_ext(
		value, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(value);
}

void rows_print(const struct column *columns, json_object *rows, int json)
{
	if (json) {
		json_print(rows);
		return;
	}
	table_print(columns, rows);
	json_object_put(rows);
}

void field_int(json_object *row, const char *field, long long value)
{
	json_object_object_add(row, field, json_object_new_int64(value));
}

void field_uint(json_object *row, const char *field, unsigned long long value)
{
	json_object_object_add(row, field, json_object_new_uint64(value));
}

void field_text(json_object *row, const char *field, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	json_object_object_add(row, field, json_object_new_string(text));
}

void field_null(json_object *row, const char *field)
{
	json_object_object_add(row, field, NULL);
}

void field_bool(json_object *row, const char *field, int value)
{
	json_object_object_add(row, field, json_object_new_boolean(value));
}

void field_time(json_object *row, const char *field, long long seconds)
{
	time_t t = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (!seconds || !localtime_r(&t, &tm)) {
		field_null(row, field);
		return;
	}
	strftime(text, sizeof(text), "%F %T", &tm);
	field_text(row, field, "%s", text);
}

void field_user(json_object *row, const char *field, unsigned uid)
{
	/* Of a thousand objects all are of a user or two. */
	static unsigned known = ~0u;
	static char name[64];
	const struct passwd *pw;

	if (uid != known || !*name) {
		pw = getpwuid(uid);
		if (pw)
			snprintf(name, sizeof(name), "%s", pw->pw_name);
		else
			snprintf(name, sizeof(name), "%u", uid);
		known = uid;
	}
	field_text(row, field, "%s", name);
}

void field_process(json_object *row, unsigned pid)
{
	field_int(row, "pid", pid);
	if (pid)
		field_text(row, "command", "%s", process_name(pid));
	else
		field_null(row, "command");
}
