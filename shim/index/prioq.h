// SPDX-License-Identifier: MIT
/*
 * A queue of items by priority, oldest first within one, in constant time at
 * any depth.
 *
 * The FIFO of the highest priority stands in the head: while all items are of
 * one priority nothing else is touched, and an empty queue remembers its last
 * priority, so that one which is empty most of the time never is. The others
 * stand in 512 leaves of 64 priorities, with three levels of bitmaps above (64
 * to one) that tell the next lower one when the highest runs dry. Both are made
 * when they are needed; of leaves there are never more than items, an unused
 * one changes its place.
 *
 * A tree costs a queue of 65,528 messages of random priorities seven levels of
 * cold memory a message; this costs the item, its leaf and its neighbour.
 *
 * Items are named by indexes into chunks. The owner's lock is held everywhere.
 * All changes are part of the current operation (journaled), except those of
 * prioq_reserve.
 *
 * What the head says of sizes and places is cut to what it can be in any queue
 * (PRIOQ_*_MASK), which costs less than to compare: so whatever it says, no
 * address lies further behind that of the head or a chunk than damage.h's
 * REACH.
 */
#ifndef IPCLIFT_INDEX_PRIOQ_H
#define IPCLIFT_INDEX_PRIOQ_H

#include "registry/damage.h"

#define PRIOQ_N_PRIOS 32768u
/* Journal capacity for one insert and one take with their items. */
#define PRIOQ_ENTRIES 24u

/* So many items ahead are fetched into the cache: about what memory takes to
 * answer, in calls. */
#define PRIOQ_AHEAD 3u

/* All tables together have less than 2^20 bytes, and no more items than 2^17;
 * a chunk has up to 2^8 items of less than 2^16 bytes, each at a multiple of
 * eight. */
#define PRIOQ_OFF_MASK 0xfffffu
#define PRIOQ_IDX_MASK 0x1ffffu
#define PRIOQ_AT_MASK 0xffu
#define PRIOQ_SHIFT_MASK 15u
#define PRIOQ_STRIDE_MASK 0xfff8u

#define PRIOQ_N_SHIFT 20
#define PRIOQ_ENDS(first, last) ((u64)(last) << 32 | (first))

#define PRIOQ_N(count) ((u32)(count) & ((1u << PRIOQ_N_SHIFT) - 1))

static inline u32 prioq_count(const struct prioq *q)
{
	return PRIOQ_N(q->count);
}
static inline u64 prioq_bytes(const struct prioq *q)
{
	return q->count >> PRIOQ_N_SHIFT;
}

/* Set up a queue of up to cap items of inline_data bytes (0 = kept elsewhere);
 * its tables of prioq_table_size bytes follow at table_off. Nobody can reach q
 * yet. */
void prioq_init(struct prioq *q, u32 cap, u32 inline_data, u32 table_off);
u64 prioq_table_size(u32 cap, u32 inline_data);

static inline struct ref *prioq_table(const struct prioq *q)
{
	return (struct ref *)((char *)q + (q->table_off & PRIOQ_OFF_MASK));
}

static inline u32 *prioq_free_at(const struct prioq *q, u32 i)
{
	return (u32 *)((char *)q + (q->free_off & PRIOQ_OFF_MASK)) +
	       (i & PRIOQ_IDX_MASK);
}
/* The item that will be taken next; there is one. */
static inline u32 prioq_next_free(const struct prioq *q)
{
	return *prioq_free_at(q, q->n_free - 1);
}

static inline u32 prioq_shift(const struct prioq *q)
{
	return q->shift & PRIOQ_SHIFT_MASK;
}
static inline u32 prioq_stride(const struct prioq *q)
{
	return q->stride & PRIOQ_STRIDE_MASK;
}

/* The chunk of item idx, not 0; and its place there. */
static inline char *prioq_chunk(
	const struct caller *c, const struct prioq *q, u32 idx, u32 *ret_at)
{
	u32 i = (idx - 1) & PRIOQ_IDX_MASK, shift = prioq_shift(q);

	*ret_at = i & ((1u << shift) - 1) & PRIOQ_AT_MASK;
	return ref_must(c, prioq_table(q)[i >> shift]);
}
static inline struct prio_item *prioq_at(
	const struct caller *c, const struct prioq *q, u32 idx)
{
	u32 at;
	char *chunk = prioq_chunk(c, q, idx, &at);

	return (struct prio_item *)chunk + at;
}
/* The bytes of item idx, if they are inline; else its struct prio_block. */
static inline void *prioq_data(
	const struct caller *c, const struct prioq *q, u32 idx)
{
	u32 at;
	char *chunk = prioq_chunk(c, q, idx, &at);

	return chunk + (sizeof(struct prio_item) << prioq_shift(q)) +
	       at * prioq_stride(q);
}

static inline struct prio_levels *prioq_levels(
	const struct caller *c, const struct prioq *q)
{
	return ref_must(c, q->levels);
}

/* Make sure that an item of this priority can be inserted: that a free item
 * exists, and a leaf for what has to go into one. Then so it can after a take.
 * Operations of their own, so nothing may be journaled; may take the heap lock,
 * prioq_has_space tells whether it has to. 0, -ENOMEM. */
int prioq_reserve_slow(struct caller *c, struct prioq *q, u32 prio);
static inline int prioq_has_space(
	const struct caller *c, const struct prioq *q, u32 prio)
{
	u32 low = prio < q->first ? prio : q->first;

	if (unlikely(!q->n_free))
		return 0;
	if (likely(prio == q->first || !prioq_count(q)))
		return 1;
	return q->levels.off &&
	       prioq_levels(c, q)->leaf[low / 64 % PRIO_LEAVES].off;
}
static inline int prioq_reserve(struct caller *c, struct prioq *q, u32 prio)
{
	return likely(prioq_has_space(c, q, prio))
		       ? 0
		       : prioq_reserve_slow(c, q, prio);
}

/* An item that will be used soon: a deep queue is not in the cache. To fetch
 * what is nowhere does no harm. */
static inline void prioq_fetch(
	const struct caller *c, const struct prioq *q, u32 idx)
{
	u32 i = (idx - 1) & PRIOQ_IDX_MASK, shift = prioq_shift(q);
	u32 at = i & ((1u << shift) - 1);
	u64 off = prioq_table(q)[i >> shift].off;
	u64 data =
		(sizeof(struct prio_item) << shift) + (u64)at * prioq_stride(q);

	__builtin_prefetch(
		region_at(&c->region, off + at * sizeof(struct prio_item)), 1);
	__builtin_prefetch(region_at(&c->region, off + data), 1);
}

/* An item and its bytes, or struct prio_block, by one look at its chunk. */
struct prio_place {
	struct prio_item *item;
	char *data;
};
static inline struct prio_place prioq_place(
	const struct caller *c, const struct prioq *q, u32 idx)
{
	u32 at;
	char *chunk = prioq_chunk(c, q, idx, &at);

	return (struct prio_place){(struct prio_item *)(void *)chunk + at,
		chunk + (sizeof(struct prio_item) << prioq_shift(q)) +
			at * prioq_stride(q)};
}

/* Take a free item (there is one) and give one back. An operation that does
 * both takes first: what it wrote over could not be rolled back else. */
static inline u32 prioq_item_alloc(struct caller *c, struct prioq *q)
{
	u32 n = q->n_free;

	journal_set32(c, &q->n_free, n - 1);
	if (n > PRIOQ_AHEAD)
		prioq_fetch(c, q, *prioq_free_at(q, n - 1 - PRIOQ_AHEAD));
	return *prioq_free_at(q, n - 1);
}
static inline void prioq_item_free(struct caller *c, struct prioq *q, u32 idx)
{
	/* Journaled: the place is that of an item that the same operation has
	 * taken. */
	journal_set32(c, prioq_free_at(q, q->n_free), idx);
	journal_set32(c, &q->n_free, q->n_free + 1);
}

/* Put an item, whose len is set, behind (front: before) those of its priority,
 * for which there is space. */
void prioq_insert_len(struct caller *c, struct prioq *q, u32 idx, u32 len,
	u32 prio, int front);
/* The same, behind the item `before`, which is in the queue and of that
 * priority. */
void prioq_insert_behind(struct caller *c, struct prioq *q, u32 idx, u32 len,
	u32 prio, u32 before);
/* Take the first item of the highest priority out; count must not be 0. Its
 * place, too. */
u32 prioq_take_place(struct caller *c, struct prioq *q, u32 *ret_prio,
	struct prio_place *ret);

/* A walk over all items in the order in which they are taken: 1 with walk->item
 * and ->prio, or 0 at the end. Begins with a walk of zeros. */
struct prioq_walk {
	u32 item, prio;
	u64 ends;
	u32 n; /* so many so far: a damaged queue may have no end */
};
int prioq_walk_next(
	const struct caller *c, const struct prioq *q, struct prioq_walk *walk);

/* Give the memory back, chunk by chunk; for each item `drop` first, if its
 * bytes are elsewhere. Operations of their own; may be run again after a crash.
 */
void prioq_free(struct caller *c, struct prioq *q,
	void (*drop)(struct caller *c, struct prio_block *block));

#endif
