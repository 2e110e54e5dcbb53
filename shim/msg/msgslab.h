// SPDX-License-Identifier: MIT
/*
 * Payload blocks of 2, 4 and 8 KiB, from slabs of 128 KiB that the heap gives
 * back to the system when they are empty: blocks allocated one by one would
 * never free a whole page.
 *
 * Blocks change their owner between threads and queues, so a slab belongs to no
 * thread and no queue: the heap's lock covers all. One empty slab of a size is
 * kept, so that a number of blocks that rises and falls a little costs no
 * system call. A new block is taken from a slab that is in use, if one has
 * space.
 */
#ifndef IPCLIFT_MSG_MSGSLAB_H
#define IPCLIFT_MSG_MSGSLAB_H

#include "registry/heap.h"

static inline u64 msgslab_cap(u32 tier)
{
	return 2048ULL << tier;
}

/* As heap_alloc_at and heap_free_at: operations of their own. *ret must be 0 in
 * the registry; -ENOMEM. msgslab_free_at: 1 if a slab has become this thread's,
 * with its pages; heap_settle follows. If the thread has a block already, the
 * pages are freed under the heap's lock instead. */
int msgslab_alloc_at(struct caller *c, u32 tier, struct ref *ret);
int msgslab_free_at(struct caller *c, u32 tier, struct ref *ref);

#endif
