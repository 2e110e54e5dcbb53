// SPDX-License-Identifier: MIT
/*
 * Tables and JSON; see table.h.
 */
#include "tool/table.h"

#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COLUMNS_MAX 12
#define WIDTH 80

static const char *cell(json_object *row, const char *field)
{
	json_object *value = json_object_object_get(row, field);

	return value ? json_object_get_string(value) : "-";
}

static void print_cell(const char *text, int width, char side, int last)
{
	if (side == '>')
		printf("%*s", width, text);
	else if (last)
		printf("%.*s", width, text);
	else
		printf("%-*s", width, text);
	fputs(last ? "\n" : "  ", stdout);
}

void table_print(const struct column *columns, json_object *rows)
{
	int width[COLUMNS_MAX], n = 0, i, len, used = 0;
	size_t r, n_rows = json_object_array_length(rows);
	const int bold = isatty(1);

	for (; columns[n].heading && n < COLUMNS_MAX; n++) {
		width[n] = (int)strlen(columns[n].heading);
		for (r = 0; r < n_rows; r++) {
			len = (int)strlen(
				cell(json_object_array_get_idx(rows, r),
					columns[n].field));
			if (len > width[n])
				width[n] = len;
		}
		used += width[n] + 2;
	}
	used -= 2 + width[n - 1];
	if (columns[n - 1].side == '<' && used + width[n - 1] > WIDTH)
		width[n - 1] = used + 8 < WIDTH ? WIDTH - used : 8;
	if (bold)
		fputs("\033[1m", stdout);
	for (i = 0; i < n; i++)
		print_cell(columns[i].heading, width[i], columns[i].side,
			i == n - 1);
	if (bold)
		fputs("\033[0m", stdout);
	for (r = 0; r < n_rows; r++)
		for (i = 0; i < n; i++)
			print_cell(cell(json_object_array_get_idx(rows, r),
					   columns[i].field),
				width[i], columns[i].side, i == n - 1);
}

void json_print(json_object *value)
{
	puts(json_object_to_json_string_ext(
		value, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
			       JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(value);
}

json_object *json_time(long long seconds)
{
	time_t t = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (!seconds || !localtime_r(&t, &tm))
		return NULL;
	strftime(text, sizeof(text), "%F %T", &tm);
	return json_object_new_string(text);
}

json_object *json_user(unsigned uid)
{
	const struct passwd *pw = getpwuid(uid);

	return pw ? json_object_new_string(pw->pw_name) : json_text("%u", uid);
}

json_object *json_text(const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return json_object_new_string(text);
}
