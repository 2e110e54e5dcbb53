// SPDX-License-Identifier: MIT
/*
 * Rows as lines of text; see column.h.
 */
#include "inspect/column.h"

#include <stdio.h>

#define CELL_CAP 64

s64 column_number(const struct column *f, const void *row, s64 i)
{
	const void *at = (const char *)row + f->at;

	switch (f->kind) {
	case COLUMN_INDEX:
		return i;
	case COLUMN_U16:
		return *(const u16 *)at;
	case COLUMN_SIGNED16:
		return *(const s16 *)at;
	case COLUMN_BOOL:
	case COLUMN_S32:
	case COLUMN_SIGNED:
		return *(const s32 *)at;
	case COLUMN_U64:
	case COLUMN_S64:
	case COLUMN_TIME:
	case COLUMN_AGE:
	case COLUMN_ADDRESS:
		return *(const s64 *)at;
	case COLUMN_WORD:
		return 0;
	default:
		return *(const u32 *)at;
	}
}

static void process(struct text *t, u32 pid)
{
	text_print(t, "%u ", pid);
	if (pid)
		text_process(t, pid);
	else
		text_print(t, "-");
}

static void cell(struct text *t, const struct column *f, const void *row, s64 i)
{
	long long v = column_number(f, row, i);
	char value[CELL_CAP];

	switch (f->kind) {
	case COLUMN_TIME:
		text_time(t, v);
		return;
	case COLUMN_COMMAND:
		text_process(t, (u32)v);
		return;
	case COLUMN_PROCESS:
		process(t, (u32)v);
		return;
	case COLUMN_WORD:
		text_print(t, "%*s", f->width, f->word(row, 1));
		return;
	case COLUMN_U64:
		snprintf(value, CELL_CAP, "%llu", (unsigned long long)v);
		break;
	case COLUMN_SIGNED:
	case COLUMN_SIGNED16:
		snprintf(value, CELL_CAP, "%+lld", v);
		break;
	case COLUMN_ADDRESS:
		snprintf(value, CELL_CAP, "0x%016llx", (unsigned long long)v);
		break;
	case COLUMN_KEY:
		snprintf(value, CELL_CAP, "0x%08x", (u32)v);
		break;
	case COLUMN_MODE:
		snprintf(value, CELL_CAP, "%04o", (u32)v);
		break;
	default:
		snprintf(value, CELL_CAP, "%lld", v);
	}
	text_print(t, "%*s", f->width, value);
}

void column_text(struct text *t, const struct column *columns, const void *row,
	long long i)
{
	const struct column *f;
	const char *between = "";
	int first;

	for (first = 1; first >= 0; first--)
		for (f = columns; f->field; f++) {
			if (!f->name || f->first != first)
				continue;
			text_print(t, "%s", between);
			if (row)
				cell(t, f, row, i);
			else
				text_print(t, "%*s", f->width, f->name);
			between = " ";
		}
	text_print(t, "\n");
}

void column_fields(
	struct text *t, const struct column *columns, const void *row)
{
	for (; columns->field; columns++) {
		if (columns->kind == COLUMN_INCLUDE) {
			column_fields(t, columns->of, row);
			continue;
		}
		text_print(t, "%-8s ", columns->name);
		cell(t, columns, row, 0);
		text_print(t, "\n");
	}
}
