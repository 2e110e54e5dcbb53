// SPDX-License-Identifier: MIT
/*
 * Checked access to the caller's memory; see guard.h.
 */
#include "registry/guard.h"

/* The stack range only grows upwards from pages that hold live frames, and at
 * most this much at once: a coroutine's stack elsewhere starts a new range. */
#define STACK_SPAN (256u << 10)

void guard_forget(struct caller *c)
{
	u32 i;

	c->stack_low = c->stack_high = 0;
	c->write_low = c->write_high = 0;
	for (i = 0; i < 8; i++)
		c->good_page[i] = c->write_page[i] = ~0UL;
}

/* Every page of the range among the remembered, or asked about and remembered.
 * A range of more pages than the cache has is asked about each time. */
static int pages_good(uintptr_t *cache, uintptr_t at, size_t len,
	int (*probe)(uintptr_t at))
{
	uintptr_t page = at / SYS_PAGE, last = (at + len - 1) / SYS_PAGE;

	for (; page <= last; page++) {
		if (cache[page % 8] == page)
			continue;
		if (!probe(page * SYS_PAGE))
			return 0;
		cache[page % 8] = page;
	}
	return 1;
}

static int probe_writable(uintptr_t at)
{
	return sys_writable((void *)at, 1);
}

static int probe_readable(uintptr_t at)
{
	return sys_readable((void *)at, 1);
}

int guard_readable_slow(struct caller *c, const void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p, here = (uintptr_t)__builtin_frame_address(0);

	if (len == 0)
		return 0;
	if (at < GUARD_LOWEST || at + len < at || at + len > ARCH_USER_TOP)
		return -EFAULT;
	if (!pages_good(c->good_page, at, len, probe_readable))
		return -EFAULT;
	if (at >= here && at - here < STACK_SPAN && sys_readable((void *)here,
		at + len - here)) {
		c->stack_low = here & ~(SYS_PAGE - 1);
		c->stack_high = (at + len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	}
	return 0;
}

int guard_writable_slow(struct caller *c, void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p, here = (uintptr_t)__builtin_frame_address(0);

	if (len == 0)
		return 0;
	if (at < GUARD_LOWEST || at + len < at || at + len > ARCH_USER_TOP)
		return -EFAULT;
	if (!pages_good(c->write_page, at, len, probe_writable))
		return -EFAULT;
	if (at >= here && at - here < STACK_SPAN && sys_writable((void *)here,
		at + len - here)) {
		c->write_low = here & ~(SYS_PAGE - 1);
		c->write_high = (at + len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	}
	return 0;
}

int guard_writable(struct caller *c, void *p, size_t len)
{
	uintptr_t at = (uintptr_t)p;

	(void)c;
	if (len == 0)
		return 0;
	if (at < GUARD_LOWEST || at + len < at || at + len > ARCH_USER_TOP)
		return -EFAULT;
	return sys_writable(p, len) ? 0 : -EFAULT;
}

int guard_read(struct caller *c, void *dst, const void *src, size_t len)
{
	char *d = dst;
	const volatile char *s = src;
	int err = guard_readable(c, src, len);

	if (err)
		return err;
	while (len--)
		*d++ = *s++;
	return 0;
}
