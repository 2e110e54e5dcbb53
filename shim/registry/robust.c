// SPDX-License-Identifier: MIT
/*
 * Taking a word off the thread's robust list; see robust.h.
 */
#include "registry/robust.h"

static int in_region(const struct caller *c, const void *p)
{
	return (u64)((const char *)p - c->region.base) < REGION_SIZE - 8;
}

HOT void robust_pop(struct caller *c, u32 *word)
{
	void *node = robust_node(c, word);
	void **at = &c->robust->next;
	unsigned steps = 0;

	crash_point();
	/* Bit 0 marks PI mutexes of the application; ours never carry it, and
	 * lie in front of all that the application had when they were pushed:
	 * so none of ours is behind a link that leads out of the region,
	 * whoever wrote it. */
	while (*at != node) {
		void **next = (void **)((uintptr_t)*at & ~1UL);

		if (*at == (void *)c->robust || ++steps > MAX_GRANTS + 32 ||
			(in_region(c, at) && !in_region(c, next)))
			return;
		at = next;
	}
	__atomic_store_n(at, *(void **)node, __ATOMIC_RELEASE);
}
