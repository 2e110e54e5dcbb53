// SPDX-License-Identifier: MIT
/*
 * A line of text under construction. No printf here: this is part of the
 * freestanding core. The caller provides the space; nothing is
 * terminated.
 */
#ifndef IPCLIFT_BASE_ROW_H
#define IPCLIFT_BASE_ROW_H

#include "base/types.h"

struct row {
	char *buf;
	size_t len;
};

static inline void row_char(struct row *r, char ch)
{
	r->buf[r->len++] = ch;
}
/* Without its zero. */
void row_text(struct row *r, const char *text);

/* Right-aligned in width, which a longer number exceeds. */
void row_signed(struct row *r, s64 v, int width);
void row_unsigned(struct row *r, u64 v, int width);
void row_octal(struct row *r, u64 v, int width);
/* Left-aligned, blanks behind. */
void row_unsigned_left(struct row *r, u64 v, int width);

#endif
