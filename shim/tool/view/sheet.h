// SPDX-License-Identifier: MIT
/*
 * A sheet: rows of numbers and words that are sorted, filtered and shown in as
 * many columns as fit; for a screen that is redrawn, for text and for JSON.
 */
#ifndef IPCLIFT_TOOL_VIEW_SHEET_H
#define IPCLIFT_TOOL_VIEW_SHEET_H

#include <json-c/json.h>
#include <stddef.h>

#include "inspect/column.h"

/* Arbitrary, as is a cell's space: a screen shows no more of it. */
#define SHEET_COLUMNS 15
#define SHEET_CELL 48

struct sheet_row {
	double number[SHEET_COLUMNS]; /* NAN: nothing to show */
	char word[SHEET_COLUMNS][SHEET_CELL];
	char more; /* '+': the first rate is too low, 0: it is what it is */
	char red;
};

struct sheet {
	const struct column
		*columns; /* of inspect/rows.h; all have a heading */
	struct sheet_row *rows;
	size_t n;
	int failed; /* out of memory: rows are missing */
};

int sheet_n_columns(const struct sheet *s);
/* A column by heading, any case, or field; -1: there is none. */
int sheet_column(const struct column *columns, const char *name);
/* One more, its numbers NAN, its words empty. Never NULL: without memory it
 * is a row that is not shown. */
struct sheet_row *sheet_add(struct sheet *s);
void sheet_deinit(struct sheet *s);

/* By a column: the largest first, words in order; backwards: the reverse. */
void sheet_sort(struct sheet *s, int column, int backwards);
/* Keep the rows of which a word contains text, any case. */
void sheet_filter(struct sheet *s, const char *text);

/* A line of so many columns without its end, into buf (cap bytes, more than
 * width): the headings if row is NULL. */
void sheet_line(const struct sheet *s, const struct sheet_row *row, int width,
	char *buf, size_t cap);
/* Where a column begins in such a line, and its width in *ret; -1: not shown.
 */
int sheet_place(const struct sheet *s, int width, int column, int *ret);
json_object *sheet_json(const struct sheet *s);

#endif
