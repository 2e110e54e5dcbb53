// SPDX-License-Identifier: MIT
/*
 * EFAULT: reading and writing the caller's memory without dying of a bad
 * pointer, at no more than 2 ns on the common path.
 *
 * The kernel learns of a bad pointer from the fault; a library has no fault
 * handler of its own. So a pointer is checked before it is used, and what makes
 * that cheap is remembering pages that were found good:
 *   - addresses below 64 KiB or beyond the user half are refused outright;
 *   - anything between this frame and the highest stack page seen good is on
 *     the thread's own stack: two compares;
 *   - a page among those found good last: one compare or two (each page has
 *     two places in a table of sixteen, so that no two buffers push each other
 *     out all the time);
 *   - else a system call asks (base/sys.c), and the answer is remembered.
 * A remembered page that the application unmaps afterwards gives SIGSEGV
 * instead of EFAULT when it is passed again.
 */
#ifndef IPCLIFT_REGISTRY_GUARD_H
#define IPCLIFT_REGISTRY_GUARD_H

#include "registry/caller.h"

#define GUARD_LOWEST 65536UL

static inline u32 guard_other_place(uintptr_t page)
{
	return 8 + (page / 8 ^ page / 64) % 8;
}
/* Is the page in this table of good ones? */
static inline int guard_known(const uintptr_t *good, uintptr_t page)
{
	return likely(good[page % 8] == page) ||
	       good[guard_other_place(page)] == page;
}

/* 0 or -EFAULT: may len bytes at p be read? The answer for a range that is
 * not in the cache costs a system call a page. */
int guard_readable_slow(struct caller *c, const void *p, size_t len);
static inline int guard_readable(struct caller *c, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p, page = at / SYS_PAGE;

	if (likely(at >= c->stack_low && at + len <= c->stack_high &&
		    at + len >= at))
		return 0;
	if (likely(len <= SYS_PAGE - at % SYS_PAGE) &&
		guard_known(c->good_page, page))
		return 0;
	return guard_readable_slow(c, p, len);
}

/* Empty the cache of good pages. */
void guard_forget(struct caller *c);

/* The same for what may take several pages, to be read or written, with each
 * page remembered, or a range of more than eight pages as a whole: no system
 * call for the buffers used lately. len 0 is always good. */
int guard_source_slow(struct caller *c, const void *p, size_t len);
int guard_target_slow(struct caller *c, void *p, size_t len);
static inline int guard_source(struct caller *c, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p;

	if (likely(at >= c->stack_low && at + len <= c->stack_high &&
		    at + len >= at))
		return 0;
	if (likely(len <= SYS_PAGE - at % SYS_PAGE) &&
		guard_known(c->good_page, at / SYS_PAGE))
		return 0;
	return guard_source_slow(c, p, len);
}
static inline int guard_target(struct caller *c, void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p;

	if (likely(len <= SYS_PAGE - at % SYS_PAGE) &&
		guard_known(c->good_write_page, at / SYS_PAGE))
		return 0;
	return guard_target_slow(c, p, len);
}

/* Copy in, copy out; 0 or -EFAULT. */
int guard_write(struct caller *c, void *dst, const void *src, size_t len);
int guard_read(struct caller *c, void *dst, const void *src, size_t len);

#endif
