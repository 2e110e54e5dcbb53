// SPDX-License-Identifier: MIT
/*
 * See holes.h.
 */
#include "registry/region/holes.h"
#include "base/sys.h"

#define SEEK_DATA 3
#define SEEK_HOLE 4

u64 holes_next(struct holes *h, u64 off)
{
	long data, end;

	if (off >= h->from && off < h->to)
		return off;
	data = sys_call(__NR_lseek, h->fd, off, SEEK_DATA);
	if (data == -ENXIO)
		return ~0ULL;
	end = data < 0 ? data : sys_call(__NR_lseek, h->fd, data, SEEK_HOLE);
	if (end < 0)
		return off;
	h->from = (u64)data;
	h->to = (u64)end;
	return (u64)data;
}

int holes_have(struct holes *h, u64 off, u64 size)
{
	h->from = h->to = 0;
	return holes_next(h, off) == off &&
	       (h->from == h->to || size <= h->to - off);
}
