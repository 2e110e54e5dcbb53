// SPDX-License-Identifier: MIT
/*
 * The thread's robust list, as libc registered it: how locks, lifelines and
 * waiters get on it and off again. The node of a word lies at a distance that
 * the libc has chosen. Only the thread itself changes its list.
 */
#ifndef IPCLIFT_REGISTRY_ROBUST_H
#define IPCLIFT_REGISTRY_ROBUST_H

#include "registry/caller.h"

static inline void *robust_node(const struct caller *c, u32 *word)
{
	return (char *)word - c->robust->futex_offset;
}
static inline void robust_push(struct caller *c, u32 *word)
{
	void **node = robust_node(c, word);

	crash_point();
	__atomic_store_n(node, c->robust->next, __ATOMIC_RELEASE);
	__atomic_store_n(&c->robust->next, (void *)node, __ATOMIC_RELEASE);
}
/* Take word's node off again; it was pushed by this thread and is near the
 * head. */
void robust_pop(struct caller *c, u32 *word);
/* NULL: nothing. Leaves alone what the application has pending. */
static inline void robust_pend(struct caller *c, u32 *word)
{
	if (unlikely(c->app_pending))
		return;
	crash_point();
	__atomic_store_n(&c->robust->pending,
		word ? robust_node(c, word) : NULL, __ATOMIC_RELEASE);
}
/* The innermost lock that is held, if there is one that gives way when another
 * word is pending: it is put on the list meanwhile. */
static inline u32 *robust_held(const struct caller *c)
{
	return c->n_held && !c->app_pending ? &c->held[c->n_held - 1]->word
					    : NULL;
}

#endif
