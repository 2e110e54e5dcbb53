// SPDX-License-Identifier: MIT
/*
 * Numbers in columns; see row.h.
 */
#include "base/row.h"

/* 2^64-1 in octal has 22 digits. */
#define MOST_DIGITS 24

void row_text(struct row *r, const char *text)
{
	while (*text)
		row_char(r, *text++);
}

static void put_number(struct row *r, u64 v, int negative, u32 base, int width)
{
	char digits[MOST_DIGITS];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % base);
	while (v /= base);
	if (negative)
		digits[n++] = '-';
	for (; width > n; width--)
		row_char(r, ' ');
	while (n)
		row_char(r, digits[--n]);
}

void row_signed(struct row *r, s64 v, int width)
{
	put_number(r, v < 0 ? -(u64)v : (u64)v, v < 0, 10, width);
}

void row_unsigned(struct row *r, u64 v, int width)
{
	put_number(r, v, 0, 10, width);
}

void row_octal(struct row *r, u64 v, int width)
{
	put_number(r, v, 0, 8, width);
}

void row_unsigned_left(struct row *r, u64 v, int width)
{
	size_t from = r->len;

	put_number(r, v, 0, 10, 0);
	while (r->len < from + (size_t)width)
		row_char(r, ' ');
}
