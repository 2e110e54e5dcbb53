// SPDX-License-Identifier: MIT
/*
 * Sheets; see sheet.h.
 */
#include "tool/view/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tool/view/table.h"

int sheet_n_columns(const struct sheet *s)
{
	int n = 0;

	while (s->columns[n].heading)
		n++;
	return n;
}

int sheet_column(const struct column *columns, const char *name)
{
	int i;

	for (i = 0; columns[i].heading; i++)
		if (!strcasecmp(columns[i].heading, name) ||
			!strcasecmp(columns[i].field, name))
			return i;
	return -1;
}

struct sheet_row *sheet_add(struct sheet *s)
{
	static struct sheet_row unseen;
	struct sheet_row *p = s->rows;
	int i;

	if (!p || (s->n >= 16 && !(s->n & (s->n - 1)))) {
		p = realloc(p, (s->n < 16 ? 16 : 2 * s->n) * sizeof(*p));
		if (p)
			s->rows = p;
	}
	if (p)
		p += s->n++;
	else
		s->failed = 1;
	p = p ? p : &unseen;
	memset(p, 0, sizeof(*p));
	for (i = 0; i < SHEET_COLUMNS; i++)
		p->number[i] = NAN;
	return p;
}

void sheet_deinit(struct sheet *s)
{
	free(s->rows);
	*s = (struct sheet){.columns = s->columns};
}

/* ---- order ---- */

struct order {
	const struct column *columns;
	int column, backwards;
};

static int compare_at(
	const struct sheet_row *x, const struct sheet_row *y, char side, int i)
{
	int none = isnan(x->number[i]) - isnan(y->number[i]);

	if (side == '<')
		return strverscmp(x->word[i], y->word[i]);
	if (none || isnan(x->number[i]))
		return none;
	return (x->number[i] < y->number[i]) - (x->number[i] > y->number[i]);
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	int i, d = compare_at(a, b, o->columns[o->column].side, o->column);

	if (d)
		return o->backwards ? -d : d;
	for (i = 0; o->columns[i].heading && !d; i++)
		if (o->columns[i].side == '<')
			d = compare_at(a, b, '<', i);
	return d;
}

void sheet_sort(struct sheet *s, int column, int backwards)
{
	struct order o = {s->columns, column, backwards};

	if (s->n)
		qsort_r(s->rows, s->n, sizeof(*s->rows), compare, &o);
}

static int has_word(const struct sheet *s, size_t row, const char *text)
{
	int i;

	for (i = 0; s->columns[i].heading; i++)
		if (strcasestr(s->rows[row].word[i], text))
			return 1;
	return 0;
}

void sheet_filter(struct sheet *s, const char *text)
{
	size_t i, n = 0;

	for (i = 0; i < s->n; i++)
		if (has_word(s, i, text))
			s->rows[n++] = s->rows[i];
	s->n = n;
}

/* ---- lines ---- */

static void format_rate(double v, char *to, size_t cap)
{
	static const char units[] = "kMGT";
	int i = -1;

	for (; v >= 99999.5 && i < 3; i++)
		v /= 1000;
	if (i >= 0)
		snprintf(to, cap, "%.0f%c", v, units[i]);
	else
		snprintf(to, cap, v && v < 9.95 ? "%.1f" : "%.0f", v);
}

static void format_cell(const struct column *c, const struct sheet_row *row,
	int i, char *to, size_t cap)
{
	double v = row->number[i];

	if (c->side == '<')
		snprintf(to, cap, "%s", *row->word[i] ? row->word[i] : "-");
	else if (isnan(v))
		snprintf(to, cap, "-");
	else if (c->side == 'r')
		format_rate(v, to, cap);
	else if (c->side == 'b')
		snprintf(to, cap, "%s", human_bytes((unsigned long long)v));
	else if (c->side == 'a')
		snprintf(to, cap, "%s", human_age(v));
	else
		snprintf(to, cap, c->side == '%' ? "%.1f" : "%.0f", v);
}

static int is_shown(const struct column *c, int width)
{
	return width >= c->wide;
}

/* Least space for the column that has what is left. */
#define LEAST 8

static int width_of(const struct sheet *s, int width, int column)
{
	int i, left = width;

	if (s->columns[column].width)
		return s->columns[column].width;
	for (i = 0; s->columns[i].heading; i++)
		if (i != column && is_shown(&s->columns[i], width))
			left -= s->columns[i].width + 1;
	return left < LEAST ? LEAST : left < SHEET_CELL ? left : SHEET_CELL - 1;
}

void sheet_line(const struct sheet *s, const struct sheet_row *row, int width,
	char *buf, size_t cap)
{
	size_t used = 0;
	int i, w, rates = 0;

	buf[0] = 0;
	for (i = 0; s->columns[i].heading; i++) {
		const struct column *c = &s->columns[i];
		char text[SHEET_CELL + 2];

		if (!is_shown(c, width))
			continue;
		w = width_of(s, width, i);
		if (row)
			format_cell(c, row, i, text, sizeof(text) - 1);
		else
			snprintf(text, sizeof(text), "%s", c->heading);
		if (row && c->side == 'r' && !rates++ && row->more)
			strcat(text, "+");
		used += (size_t)snprintf(buf + used, cap - used,
			c->side == '<' ? "%s%-*.*s" : "%s%*.*s", i ? " " : "",
			w, w, text);
		if (used >= cap)
			return;
	}
	if (used > (size_t)width)
		buf[width] = 0;
}

int sheet_place(const struct sheet *s, int width, int column, int *ret)
{
	int i, at = 0;

	if (!is_shown(&s->columns[column], width))
		return -1;
	for (i = 0; i < column; i++)
		if (is_shown(&s->columns[i], width))
			at += width_of(s, width, i) + 1;
	*ret = width_of(s, width, column);
	return at + *ret <= width ? at : -1;
}

/* ---- JSON ---- */

static void add_field(json_object *to, const struct column *c,
	const struct sheet_row *row, int i)
{
	double v = row->number[i];

	if (c->side == '<') {
		if (*row->word[i])
			field_text(to, c->field, "%s", row->word[i]);
		else
			field_null(to, c->field);
	} else if (isnan(v)) {
		field_null(to, c->field);
	} else if (c->side == 'r' || c->side == '%') {
		char text[48];

		snprintf(text, sizeof(text), "%.2f", v);
		json_object_object_add(
			to, c->field, json_object_new_double_s(v, text));
	} else {
		field_uint(to, c->field, (unsigned long long)v);
	}
}

json_object *sheet_json(const struct sheet *s)
{
	json_object *rows = json_object_new_array(), *to;
	size_t r;
	int i;

	for (r = 0; r < s->n; r++) {
		to = json_object_new_object();
		for (i = 0; s->columns[i].heading; i++)
			add_field(to, &s->columns[i], &s->rows[r], i);
		json_object_array_add(rows, to);
	}
	return rows;
}
