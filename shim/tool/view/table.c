// SPDX-License-Identifier: MIT
/*
 * Tables and JSON; see table.h.
 */
#include "tool/view/table.h"

#include <ctype.h>
#include <libsmartcols.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/registry.h"
#include "tool/view/choice.h"

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

const char *human_age(double v)
{
	static char text[32];

	if (v < 100)
		snprintf(text, sizeof(text), "%.0f s", v);
	else if (v < 6000)
		snprintf(text, sizeof(text), "%.0f min", v / 60);
	else if (v < 360000)
		snprintf(text, sizeof(text), "%.0f h", v / 3600);
	else
		snprintf(text, sizeof(text), "%.0f d", v / 86400);
	return text;
}

static const char *cell(json_object *row, const struct column *c)
{
	json_object *value = json_object_object_get(row, c->field);

	if (!value)
		return "-";
	if (c->side == 'b' && !choice_raw)
		return human_bytes(json_object_get_uint64(value));
	if (c->side == 'a' && !choice_raw)
		return human_age(json_object_get_double(value));
	return json_object_get_string(value);
}

/* A field that is in no table by default has its name as heading. */
static void add_column(const struct column *c, void *table)
{
	char heading[32];
	size_t i;
	int right = c->side ? strchr(">ba", c->side) != NULL
			    : c->kind == COLUMN_NUMBER;
	struct libscols_cell *head;

	snprintf(heading, sizeof(heading), "%s",
		c->heading ? c->heading : c->field);
	for (i = 0; !c->heading && heading[i]; i++)
		heading[i] = (char)toupper((unsigned char)heading[i]);
	head = scols_column_get_header(scols_table_new_column(table, heading, 0,
		right		 ? SCOLS_FL_RIGHT
		: c->side == 's' ? SCOLS_FL_TRUNC
				 : 0));
	scols_cell_set_userdata(head, (void *)(uintptr_t)c);
	scols_cell_set_color(head, "bold");
}

static void add_line(struct libscols_table *table, json_object *row)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	struct libscols_column *c;
	size_t i;

	for (i = 0; (c = scols_table_get_column(table, i)); i++)
		scols_line_set_data(line, i,
			cell(row, scols_cell_get_userdata(
					  scols_column_get_header(c))));
}

/* libsmartcols prints nothing for a table without lines: print the headings of
 * one with a line that is then left out. */
static void print_headings(struct libscols_table *table)
{
	char *text = NULL;

	scols_table_new_line(table, NULL);
	if (!scols_print_table_to_string(table, &text))
		printf("%.*s", (int)strcspn(text, "\n") + 1, text);
	free(text);
}

void table_print(const struct column *columns, json_object *rows)
{
	struct libscols_table *table = scols_new_table();
	size_t i;

	choice_each(columns, isatty(1) ? scols_table_get_termwidth(table) : 0,
		add_column, table);
	for (i = 0; i < json_object_array_length(rows); i++)
		add_line(table, json_object_array_get_idx(rows, i));
	scols_table_enable_colors(table, *colour('b') != 0);
	scols_table_enable_noheadings(table, choice_bare);
	scols_table_enable_raw(table, choice_raw);
	if (!choice_raw)
		scols_table_set_column_separator(table, "  ");
	if (i)
		scols_print_table(table);
	else if (!choice_bare)
		print_headings(table);
	scols_unref_table(table);
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

static void add_word(json_object *row, const char *field, const char *word)
{
	if (word)
		field_text(row, field, "%s", word);
	else
		field_null(row, field);
}

static void add_value(
	json_object *row, const struct column *f, const void *element, s64 i)
{
	long long v = column_number(f, element, i);

	switch (f->kind) {
	case COLUMN_WORD:
		add_word(row, f->field, f->word(element, 0));
		return;
	case COLUMN_COMMAND:
		add_word(row, f->field, v ? process_name((u32)v) : NULL);
		return;
	case COLUMN_U64:
		field_uint(row, f->field, (unsigned long long)v);
		return;
	case COLUMN_SIGNED:
	case COLUMN_SIGNED16:
		field_text(row, f->field, "%+lld", v);
		return;
	case COLUMN_TIME:
		field_time(row, f->field, v);
		return;
	case COLUMN_ADDRESS:
		field_text(row, f->field, "0x%llx", (unsigned long long)v);
		return;
	case COLUMN_BOOL:
		field_bool(row, f->field, (int)v);
		return;
	default:
		break;
	}
	if (f->kind == COLUMN_OR_NULL ? v == ~0u
				      : !v && (f->kind == COLUMN_PEER ||
						      f->kind == COLUMN_AGE))
		field_null(row, f->field);
	else
		field_int(row, f->field,
			f->kind == COLUMN_AGE ? sys_realtime_sec() - v : v);
}

static void add_values(json_object *row, const struct column *columns,
	const void *element, long long i)
{
	/* Kinds before COLUMN_INDEX are added by the maker of the row. */
	for (; columns->field; columns++)
		if (columns->about && (columns->kind >= COLUMN_INDEX ||
					      columns->kind == COLUMN_BOOL))
			add_value(row, columns, element, i);
}

void row_add(
	json_object *row, const struct column *columns, const void *element)
{
	add_values(row, columns, element, 0);
}

json_object *row_make(
	const struct column *columns, const void *element, long long i)
{
	json_object *row = json_object_new_object();

	add_values(row, columns, element, i);
	return row;
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
	char text[512], written[sizeof(text) * 4];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	/* JSON is UTF-8, and escapes controls. */
	text_characters(text, written, sizeof(written));
	json_object_object_add(row, field, json_object_new_string(written));
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
	/* Most objects belong to one or two users. */
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
