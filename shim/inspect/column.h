// SPDX-License-Identifier: MIT
/*
 * The fields of a row: name in JSON, heading in the command's table, name and
 * width in the mount's file, and meaning for the manual page. All four are made
 * from one list of these per row type (inspect/rows.h), which ends with one
 * without `field`.
 */
#ifndef IPCLIFT_INSPECT_COLUMN_H
#define IPCLIFT_INSPECT_COLUMN_H

#include "base/types.h"
#include "inspect/text.h"

/* The type at `at` in the row, and in JSON. */
enum column_kind {
	COLUMN_TEXT,	/* none, a string: whoever makes the row adds it */
	COLUMN_NUMBER,	/* none, a number, likewise */
	COLUMN_BOOL,	/* none, likewise (or an int in the row) */
	COLUMN_ROWS,	/* none, likewise: an array of rows, `of` their type */
	COLUMN_OBJECT,	/* none, likewise: one row, or null */
	COLUMN_MAP,	/* none, likewise: rows by name */
	COLUMN_INCLUDE, /* none: all the fields of the type `of` */
	COLUMN_INDEX,	/* none: the row's place in the list, from 0 */
	COLUMN_U16,
	COLUMN_U32,
	COLUMN_S32,
	COLUMN_U64,
	COLUMN_S64,
	COLUMN_SIGNED,	 /* s32: "+1", a string */
	COLUMN_SIGNED16, /* s16, likewise */
	COLUMN_OR_NULL,	 /* u32, ~0: null */
	COLUMN_PEER,	 /* u32, a pid or tid; null for 0 */
	COLUMN_TIME,	 /* s64, realtime seconds: local time or null */
	COLUMN_AGE,	 /* s64, the same: seconds since then, or null */
	COLUMN_COMMAND,	 /* u32, a pid: the process's name; null for 0 */
	COLUMN_ADDRESS,	 /* u64: "0x7f...", a string */
	COLUMN_KEY,	 /* s32: "0x0000002a", in the mount only */
	COLUMN_MODE,	 /* u32: "0644", likewise */
	COLUMN_PROCESS,	 /* u32, a pid; in the mount its name behind it */
	COLUMN_WORD,	 /* what word() makes of the row: a string, or null */
};

struct column {
	/* In the command's table; NULL: not there. */
	const char *heading;
	const char *field;
	/* '<' left, '>' right; right as well: 'b' bytes ("1.5 KiB"), 'a'
	 * seconds ("5 min"), in a sheet 'r' the increase per second, '%'
	 * percent; 's' left, and cut if the terminal is too narrow. */
	char side;
	/* With its unit; NULL: in no JSON. */
	const char *about;
	unsigned char kind; /* COLUMN_* */
	u16 at;
	/* In the mount's file, width < 0: left; NULL: not there. In a sheet
	 * only the width; 0, for one column: what remains. */
	const char *name;
	signed char width;
	/* brief: one word, for the mount. */
	const char *(*word)(const void *row, int brief);
	const struct column *of;
	/* The least width of a terminal at which it is in the default table. */
	u16 wide;
	/* 1: in the mount's file it comes before the others. */
	unsigned char first;
};

/* The value of a numeric field; i: of COLUMN_INDEX. */
s64 column_number(const struct column *f, const void *row, s64 i);
/* The mount's line of a row, the i-th, or of the names (NULL); with its end. */
void column_text(struct text *t, const struct column *columns, const void *row,
	long long i);
/* Of one row: a line a field, its name and its value. */
void column_fields(
	struct text *t, const struct column *columns, const void *row);

#endif
