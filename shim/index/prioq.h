// SPDX-License-Identifier: MIT
/*
 * A queue of items by priority, oldest first within one: a red-black tree of
 * the priorities in use, a FIFO of items each, the highest priority cached.
 *
 * Nodes and items are named by indexes into chunks that are made when they are
 * needed. There are as many nodes as items, so a node is always to be had; and
 * when the last item goes its node stays in the tree, empty, as the one spare:
 * a queue that is empty most of the time never touches the tree.
 *
 * A large queue has a table of hints besides, by which a message of a priority
 * that is in use finds its node without a descent through cold memory.
 *
 * Only the highest node is ever removed, so removal meets no node with two
 * children. The owner's lock is held everywhere. All changes are part of the
 * current operation (journaled), except those of prioq_grow.
 */
#ifndef IPCLIFT_INDEX_PRIOQ_H
#define IPCLIFT_INDEX_PRIOQ_H

#include "registry/journal.h"

/* Journal room for one insert and one take: 2 * 17 levels of the largest tree
 * recoloured by three, five rotations of seven words, links and counters. */
#define PRIOQ_ENTRIES 176u

#define PRIOQ_N_SHIFT 20

static inline u32 prioq_count(const struct prioq *q)
{
	return q->count & ((1u << PRIOQ_N_SHIFT) - 1);
}
static inline u64 prioq_bytes(const struct prioq *q)
{
	return q->count >> PRIOQ_N_SHIFT;
}

/* Set up a queue of up to cap items of data_max bytes (0 = kept elsewhere);
 * the chunk table of prioq_table_size bytes follows at table_off. Nobody can
 * reach q yet. */
void prioq_init(struct prioq *q, u32 cap, u32 inline_data, u32 table_off);
u64 prioq_table_size(u32 cap, u32 inline_data);

static inline struct ref *prioq_table(const struct prioq *q)
{
	return (struct ref *)((char *)q + q->table_off);
}

/* Item or node idx, not 0. */
static inline struct prio_item *prioq_at(
	const struct caller *c, const struct prioq *q, u32 idx)
{
	u32 i = (idx - 1) < q->made ? idx - 1 : 0;

	return (struct prio_item *)(c->region.base +
				    prioq_table(q)[i >> q->shift].off +
				    (u64)(i & ((1u << q->shift) - 1)) *
					    q->stride);
}

/* Make sure that a free item exists. An operation of its own, so nothing may
 * be journaled; may take the heap lock. 0, -ENOMEM. */
int prioq_grow(struct caller *c, struct prioq *q);
static inline int prioq_room(struct caller *c, struct prioq *q)
{
	return likely(q->free_item) ? 0 : prioq_grow(c, q);
}

/* Take a free item (there is one) and give one back. An operation that does
 * both takes first: what it wrote over could not be rolled back else. */
static inline u32 prioq_item_alloc(struct caller *c, struct prioq *q)
{
	u32 idx = q->free_item;

	journal_set32(c, &q->free_item, prioq_at(c, q, idx)->free_next);
	return idx;
}
static inline void prioq_item_free(struct caller *c, struct prioq *q, u32 idx)
{
	atom_store_release(&prioq_at(c, q, idx)->free_next, q->free_item);
	journal_set32(c, &q->free_item, idx);
}

/* Put an item, whose len is set, behind (front: before) those of its
 * priority. */
void prioq_insert(
	struct caller *c, struct prioq *q, u32 idx, u32 prio, int front);
/* Take the first item of the highest priority out; count must not be 0. */
u32 prioq_take(struct caller *c, struct prioq *q, u32 *ret_prio);

/* The node of the next lower priority, 0 if there is none: with first, a walk
 * over all in the order in which they are taken. A node may be empty. */
u32 prioq_lower(const struct caller *c, const struct prioq *q, u32 node);

/* Give the memory back, chunk by chunk; for each item `drop` first. Operations
 * of their own; may be run again after a crash. */
void prioq_free(struct caller *c, struct prioq *q,
	void (*drop)(struct caller *c, struct prio_item *item));

#endif
