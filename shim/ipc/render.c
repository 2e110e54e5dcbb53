// SPDX-License-Identifier: MIT
/*
 * Rows of /proc/sysvipc/sem; see render.h. No printf here: this is part of the
 * freestanding core.
 */
#include "ipc/render.h"

const char *render_sem_head(void)
{
	return "       key      semid perms      nsems   uid   gid  cuid  cgid"
	       "      otime      ctime\n";
}

/* A line under construction. */
struct row {
	char *buf;
	size_t len;
};

static void put(struct row *r, char ch)
{
	r->buf[r->len++] = ch;
}

/* Right-aligned in width, which a longer number exceeds. */
static void put_number(struct row *r, u64 v, int negative, u32 base, int width)
{
	char digits[24];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % base);
	while (v /= base);
	if (negative)
		digits[n++] = '-';
	for (; width > n; width--)
		put(r, ' ');
	while (n)
		put(r, digits[--n]);
}

static void put_signed(struct row *r, s64 v, int width)
{
	put_number(r, v < 0 ? -(u64)v : (u64)v, v < 0, 10, width);
}

static void put_unsigned(struct row *r, u64 v, int width)
{
	put(r, ' ');
	put_number(r, v, 0, 10, width);
}

size_t render_sem_row(const struct sem_stat *st, char *buf)
{
	struct row r = {buf, 0};

	put_signed(&r, st->key, 10);
	put(&r, ' ');
	put_signed(&r, st->id, 10);
	put(&r, ' ');
	put(&r, ' ');
	put_number(&r, st->mode, 0, 8, 4);
	put_unsigned(&r, st->nsems, 10);
	put_unsigned(&r, st->uid, 5);
	put_unsigned(&r, st->gid, 5);
	put_unsigned(&r, st->cuid, 5);
	put_unsigned(&r, st->cgid, 5);
	put_unsigned(&r, (u64)st->otime, 10);
	put_unsigned(&r, (u64)st->ctime, 10);
	put(&r, '\n');
	return r.len;
}

s64 render_sem_rows(struct caller *c, u32 *idx, char *buf, size_t cap)
{
	struct sem_info info;
	struct sem_stat st;
	size_t len = 0;
	int highest = sem_info(c, 0, &info);

	if (highest < 0)
		return highest;
	for (; *idx <= (u32)highest && len + RENDER_ROW_MAX <= cap; ++*idx)
		if (sem_stat(c, (s32)*idx, SEM_BY_IDX_ANY, &st) >= 0)
			len += render_sem_row(&st, buf + len);
	return (s64)len;
}
