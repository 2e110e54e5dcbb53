// SPDX-License-Identifier: MIT
/*
 * Asking a file for its next extent; see holes.h. A file system that cannot tell
 * (EINVAL) counts as one without holes.
 */
#include <linux/fs.h>
#include "registry/region/holes.h"
#include "base/sys.h"

/* off itself where the file system cannot tell (an error but ENXIO): all of it
 * counts as there. */
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

/* The extent is asked for anew: of the heap, pages may have been given back
 * since it was remembered. */
int holes_have(struct holes *h, u64 off, u64 size)
{
	h->from = h->to = 0;
	return holes_next(h, off) == off &&
	       (h->from == h->to || size <= h->to - off);
}
