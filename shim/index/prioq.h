// SPDX-License-Identifier: MIT
/*
 * A queue of items by priority, oldest first within one, in constant time at
 * any depth.
 *
 * The FIFO of the highest priority is in the head: while all items have one
 * priority nothing else is touched. An empty queue keeps its last priority in
 * the head, so a queue that is empty most of the time needs no more either. The
 * others are in 512 leaves of 64 priorities, with three levels of bitmaps above
 * (64 to one) by which the next lower one is found when the highest is empty.
 * Both are allocated when they are needed; there are never more leaves than
 * items, for an unused one is reused for another place.
 *
 * With a queue of 65,528 messages of random priorities a tree would cost seven
 * levels of cold memory per message; this costs the item, its leaf and its
 * neighbour.
 *
 * Items are referred to by indexes into chunks. The owner's lock is held
 * everywhere. All changes are part of the current operation (journaled), except
 * those of prioq_reserve.
 *
 * Sizes and offsets read from the head are masked to what they can be in any
 * queue (PRIOQ_*_MASK), which costs less than a comparison: so even in a
 * damaged file no address is further behind that of the head or a chunk than
 * damage.h's REACH.
 */
#ifndef IPCLIFT_INDEX_PRIOQ_H
#define IPCLIFT_INDEX_PRIOQ_H

#include "registry/damage.h"

#define PRIOQ_N_PRIOS 32768u
/* Journal capacity for one insert and one take with their items. */
#define PRIOQ_ENTRIES 24u

/* How many items ahead are prefetched: about the latency of memory, in
 * calls. */
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
 * its tables of prioq_table_size bytes follow at table_off. q must not be
 * reachable yet. */
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
/* The item that prioq_item_alloc would return; there is one. */
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

/* Make sure that an item of this priority can be inserted, now and after a
 * take: that there is a free item, and a leaf if one is needed. Operations of
 * their own, so nothing may be journaled; takes the heap lock unless
 * prioq_has_space. 0, -ENOMEM. */
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

/* Prefetch an item that will be used soon: a deep queue is not in the cache. A
 * wrong address does no harm. */
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

/* An item and its bytes, or struct prio_block, by one read of its chunk. */
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
 * both takes first: otherwise what it overwrote could not be rolled back. */
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
	/* Journaled: the entry may be that of an item which the same operation
	 * has taken. */
	journal_set32(c, prioq_free_at(q, q->n_free), idx);
	journal_set32(c, &q->n_free, q->n_free + 1);
}

/* Insert an item, whose len is set, behind (front: before) those of its
 * priority; there is space for it. */
void prioq_insert_len(struct caller *c, struct prioq *q, u32 idx, u32 len,
	u32 prio, int front);
/* The same, behind the item `before`, which is in the queue and of that
 * priority. */
void prioq_insert_behind(struct caller *c, struct prioq *q, u32 idx, u32 len,
	u32 prio, u32 before);
/* Take the first item of the highest priority out; count must not be 0. Also
 * returns its place. */
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

/* Free the memory, chunk by chunk; `drop` is called first for each item whose
 * bytes are elsewhere. Operations of their own; may be run again after a crash.
 */
void prioq_free(struct caller *c, struct prioq *q,
	void (*drop)(struct caller *c, struct prio_block *block));

#endif
