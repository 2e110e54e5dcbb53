// SPDX-License-Identifier: MIT
/*
 * Checked access to the caller's memory; see guard.h.
 */
#include "base/copy.h"
#include "registry/guard.h"

/* The stack range only grows upwards from pages that hold live frames, and at
 * most this much at once: a coroutine's stack elsewhere starts a new range. */
#define STACK_SPAN (256u << 10)

void guard_forget(struct caller *c)
{
	u32 i;

	c->stack_low = c->stack_high = 0;
	for (i = 0; i < 16; i++)
		c->good_page[i] = c->good_write_page[i] = ~0UL;
	for (i = 0; i < 2; i++)
		c->good_range[i] = c->good_write_range[i] =
			(struct guard_range){0, 0};
}

/* Who stood there moves to its other place. */
static void remember(uintptr_t *good, uintptr_t page)
{
	uintptr_t old = good[page % 8];

	if (old != ~0UL)
		good[guard_other_place(old)] = old;
	good[page % 8] = page;
}

/* Not in the fast checks' range or table: refused outright, asked of the
 * kernel, and then noted as stack if it lies above this frame within STACK_SPAN
 * with no hole between, else as a page. */
int guard_readable_slow(struct caller *c, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p,
		  here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t page;

	if (len == 0)
		return 0;
	if (at < GUARD_LOWEST || at + len < at || at + len > ARCH_USER_TOP)
		return -EFAULT;
	if (!sys_readable(p, len))
		return -EFAULT;
	if (at >= here && at - here < STACK_SPAN &&
		sys_readable((void *)here, at + len - here)) {
		c->stack_low = here & ~(SYS_PAGE - 1);
		c->stack_high = (at + len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
		return 0;
	}
	page = at / SYS_PAGE;
	remember(c->good_page, page);
	return 0;
}

static int range_sane(uintptr_t at, size_t len)
{
	return at >= GUARD_LOWEST && at + len >= at &&
	       at + len <= ARCH_USER_TOP;
}

/* More pages than are remembered one by one: the last two such ranges are. */
static int range_good(struct guard_range *good, uintptr_t at, size_t len,
	int (*probe)(const void *, size_t))
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (at >= good[i].from && at + len <= good[i].to)
			return 0;
	if (!probe((const void *)at, len))
		return -EFAULT;
	good[1] = good[0];
	good[0].from = at & ~(SYS_PAGE - 1);
	good[0].to = (at + len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	return 0;
}

int guard_source_slow(struct caller *c, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p, page, last;

	if (len == 0)
		return 0;
	if (!range_sane(at, len))
		return -EFAULT;
	if (at >= c->stack_low && at + len <= c->stack_high)
		return 0;
	last = (at + len - 1) / SYS_PAGE;
	page = at / SYS_PAGE;
	if (last - page >= 8)
		return range_good(c->good_range, at, len, sys_readable);
	for (; page <= last; page++) {
		if (guard_known(c->good_page, page))
			continue;
		if (!sys_readable((void *)(page * SYS_PAGE), 1))
			return -EFAULT;
		remember(c->good_page, page);
	}
	return 0;
}

int guard_target_slow(struct caller *c, void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p, page, last;

	if (len == 0)
		return 0;
	if (!range_sane(at, len))
		return -EFAULT;
	last = (at + len - 1) / SYS_PAGE;
	page = at / SYS_PAGE;
	if (last - page >= 8)
		return range_good(c->good_write_range, at, len, sys_writable);
	for (; page <= last; page++) {
		if (guard_known(c->good_write_page, page))
			continue;
		/* At the range itself: valgrind looks, too. */
		if (!sys_writable(
			    (void *)(page == at / SYS_PAGE ? at
							   : page * SYS_PAGE),
			    1))
			return -EFAULT;
		remember(c->good_write_page, page);
	}
	return 0;
}

int guard_write(struct caller *c, void *dst, const void *src, size_t len)
{
	int err = guard_target(c, dst, len);

	if (!err)
		copy_bytes(dst, src, len);
	return err;
}

int guard_read(struct caller *c, void *dst, const void *src, size_t len)
{
	int err = guard_source(c, src, len);

	if (err)
		return err;
	copy_bytes(dst, src, len);
	/* What was read is read once, whatever others store there. */
	atom_compiler_barrier();
	return 0;
}
