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

/* Page by page up to so many, since SEEK_HOLE goes through all that is there up to
 * the next hole, however far that is. Arbitrary. */
#define PAGES_ASKED_FOR 16

int holes_have(const struct holes *h, u64 off, u64 size)
{
	struct holes now = {.fd = h->fd};
	u64 at = off, end = off + size;
	long data;

	if (size > (u64)PAGES_ASKED_FOR * SYS_PAGE)
		return holes_next(&now, off) == off &&
		       (now.from == now.to || size <= now.to - off);
	do {
		data = sys_call(__NR_lseek, h->fd, at, SEEK_DATA);
		if (data == -ENXIO || (data >= 0 && (u64)data != at))
			return 0;
		at = (at & ~(u64)(SYS_PAGE - 1)) + SYS_PAGE;
	} while (at < end);
	return 1;
}
