// SPDX-License-Identifier: MIT
/*
 * Priorities and their FIFOs; see prioq.h.
 *
 * Keeps INV_MQ_LEVELS, INV_MQ_FIFO, INV_MQ_COUNT, INV_MQ_ITEM
 * (inspect/check.h).
 */
#include "index/prioq.h"
#include "registry/heap.h"

#define FIRST(ends) ((u32)(ends))
#define LAST(ends) ((u32)((ends) >> 32))
#define COUNT(len) (((u64)(len) << PRIOQ_N_SHIFT) + 1)
#define LEAF_SIZE (64 * sizeof(u64))
/* The approximate size of a chunk. Arbitrary: small enough that the first
 * message of a queue is cheap, large enough that the table is short. */
#define CHUNK_SIZE 32768u
#define SHIFT_MAX 8u
/* Arbitrary: a few calls' time, with two messages a level. */
#define LEVELS_AHEAD 4u

/* ---- memory ---- */

static u32 item_stride(u32 inline_data)
{
	return inline_data ? (inline_data + 63) & ~63u
			   : (u32)sizeof(struct prio_block);
}

static u32 chunk_shift(u32 inline_data)
{
	u32 size = sizeof(struct prio_item) + item_stride(inline_data);
	u32 shift = 0;

	while (shift < SHIFT_MAX && (size << (shift + 1)) <= CHUNK_SIZE)
		shift++;
	/* With fewer items the bytes would not begin at a cache line. */
	return shift < 3 ? 3 : shift;
}

static u64 chunk_size(const struct prioq *q)
{
	return (sizeof(struct prio_item) + (u64)prioq_stride(q))
	       << prioq_shift(q);
}

static u64 n_chunks(u32 cap, u32 shift)
{
	return ((u64)cap + (1u << shift) - 1) >> shift;
}

u64 prioq_table_size(u32 cap, u32 inline_data)
{
	return n_chunks(cap, chunk_shift(inline_data)) * sizeof(struct ref) +
	       (u64)cap * sizeof(u32);
}

void prioq_init(struct prioq *q, u32 cap, u32 inline_data, u32 table_off)
{
	u32 shift = chunk_shift(inline_data), n = n_chunks(cap, shift), i;

	*q = (struct prioq){
		.cap = cap,
		.shift = shift,
		.stride = item_stride(inline_data),
		.inline_data = inline_data,
		.table_off = table_off,
		.free_off = table_off + n * (u32)sizeof(struct ref),
	};
	for (i = 0; i < n; i++)
		prioq_table(q)[i].off = 0;
}

static int add_chunk(struct caller *c, struct prioq *q)
{
	struct ref *chunk;
	u32 shift = prioq_shift(q), made = q->made, cap = q->cap;
	u32 n = 1u << shift, first = made + 1, i;
	u64 size = chunk_size(q);
	struct prio_block *block;
	int err;

	/* In a damaged queue the size may be anything, up to gibibytes. */
	if (made >= cap || cap > PRIOQ_IDX_MASK || size > CHUNK_SIZE)
		return -ENOMEM;
	if (n > cap - made)
		n = cap - made;
	chunk = &prioq_table(q)[made >> shift];
	/* A thread that died here may have left a chunk. */
	err = chunk->off ? 0 : heap_alloc_at(c, size, chunk);
	if (err)
		return err;
	block = (struct prio_block *)((char *)ref_must(c, *chunk) +
				      (sizeof(struct prio_item) << shift));
	for (i = 0; i < n && !c->damaged; i++) {
		atom_store_release(
			prioq_free_at(q, q->n_free + n - 1 - i), first + i);
		if (!q->inline_data)
			block[i] = (struct prio_block){{0}, 0};
	}
	if (unlikely(c->damaged))
		return damage_abort(c);
	journal_set32(c, &q->made, made + n);
	journal_set32(c, &q->n_free, q->n_free + n);
	journal_commit(c);
	return 0;
}

static int add_levels(struct caller *c, struct prioq *q)
{
	struct prio_levels *lv;
	int err;

	heap_acquire(c);
	err = heap_alloc_locked(c, sizeof(*lv), &q->levels);
	if (err) {
		journal_abort(c);
	} else {
		lv = prioq_levels(c, q);
		__builtin_memset(lv, 0, sizeof(*lv));
	}
	journal_commit(c);
	heap_release(c);
	return err;
}

/* Reuse an unused leaf for another place. The search is short: there are more
 * leaves than items, or all 512. */
static int move_leaf(struct caller *c, struct prioq *q, u32 to)
{
	struct prio_levels *lv = prioq_levels(c, q);
	u32 i, at;

	for (i = 0; i < PRIO_LEAVES; i++) {
		at = (q->hand + i) % PRIO_LEAVES;
		if (!lv->leaf[at].off || lv->live[at])
			continue;
		journal_set_ref(c, &lv->leaf[to], lv->leaf[at]);
		journal_set64(c, &lv->leaf[at].off, 0);
		journal_commit(c);
		atom_store_release(&q->hand, (u16)(at + 1));
		return 0;
	}
	return -ENOMEM;
}

static int add_leaf(struct caller *c, struct prioq *q, u32 at)
{
	struct ref *leaf = &prioq_levels(c, q)->leaf[at % PRIO_LEAVES];
	int err;

	if (q->n_leaves > q->cap)
		return move_leaf(c, q, at);
	heap_acquire(c);
	err = heap_alloc_locked(c, LEAF_SIZE, leaf);
	if (err)
		journal_abort(c);
	else
		journal_set16(c, &q->n_leaves, q->n_leaves + 1);
	journal_commit(c);
	heap_release(c);
	return err;
}

int prioq_reserve_slow(struct caller *c, struct prioq *q, u32 prio)
{
	u32 low = prio < q->first ? prio : q->first;
	int err = q->n_free ? 0 : add_chunk(c, q);

	if (err || prio == q->first || !prioq_count(q))
		return err;
	if (!q->levels.off)
		err = add_levels(c, q);
	if (!err && !prioq_levels(c, q)->leaf[low / 64 % PRIO_LEAVES].off)
		err = add_leaf(c, q, low / 64 % PRIO_LEAVES);
	return unlikely(c->damaged) ? damage_abort(c) : err;
}

static void free_levels(struct caller *c, struct prioq *q)
{
	struct prio_levels *lv;
	u32 i;

	if (!q->levels.off)
		return;
	lv = prioq_levels(c, q);
	for (i = 0; i < PRIO_LEAVES; i++)
		if (lv->leaf[i].off)
			heap_free_at(c, LEAF_SIZE, &lv->leaf[i]);
	heap_free_at(c, sizeof(*lv), &q->levels);
}

void prioq_free(struct caller *c, struct prioq *q,
	void (*drop)(struct caller *c, struct prio_block *block))
{
	struct ref *table = prioq_table(q);
	u32 cap = q->cap & PRIOQ_IDX_MASK, shift = prioq_shift(q);
	u32 n = n_chunks(cap, shift), per = 1u << shift, i, k;

	free_levels(c, q);
	for (i = 0; i < n && table[i].off; i++) {
		for (k = 0; !q->inline_data && k < per; k++)
			if ((i << shift) + k < q->made)
				drop(c, prioq_data(c, q, (i << shift) + k + 1));
	}
	while (i-- > 0)
		if (table[i].off)
			heap_free_at(c, chunk_size(q), &table[i]);
}

/* ---- levels ---- */

static inline u64 bit(u32 i)
{
	return 1ULL << (i % 64);
}

/* word is not 0; in a damaged file it may be: then any bit number. */
static inline u32 highest_bit(u64 word)
{
	return (63 - __builtin_clzll(word | 1)) & 63;
}

static inline u64 *fifo_at(
	const struct caller *c, const struct prio_levels *lv, u32 prio)
{
	return (u64 *)ref_must(c, lv->leaf[prio / 64 % PRIO_LEAVES]) +
	       prio % 64;
}

/* Make a priority live that is not. */
static void level_add(
	struct caller *c, struct prio_levels *lv, u32 prio, u64 ends)
{
	u32 g = prio / 64 % PRIO_LEAVES, t = g / 64;

	journal_set64(c, fifo_at(c, lv, prio), ends);
	if (!lv->live[g]) {
		if (!lv->top[t])
			journal_set64(c, &lv->any, lv->any | bit(t));
		journal_set64(c, &lv->top[t], lv->top[t] | bit(g));
	}
	journal_set64(c, &lv->live[g], lv->live[g] | bit(prio));
}

/* The head's FIFO is empty: move the highest of the others there. */
static void pull_up(struct caller *c, struct prioq *q)
{
	struct prio_levels *lv = prioq_levels(c, q);
	u32 t = highest_bit(lv->any) % (PRIO_LEAVES / 64);
	u32 g = t * 64 + highest_bit(lv->top[t]);
	u32 prio = g * 64 + highest_bit(lv->live[g]);

	journal_set64(c, &q->ends, *fifo_at(c, lv, prio));
	journal_set32(c, &q->first, prio);
	journal_set64(c, &lv->live[g], lv->live[g] & ~bit(prio));
	if (lv->live[g])
		return;
	journal_set64(c, &lv->top[t], lv->top[t] & ~bit(g));
	if (!lv->top[t])
		journal_set64(c, &lv->any, lv->any & ~bit(t));
}

/* ---- items ---- */

/* A FIFO with one more item. */
static inline u64 fifo_with(
	struct caller *c, struct prioq *q, u64 ends, u32 idx, int front)
{
	if (unlikely(front)) {
		journal_set32(c, &prioq_at(c, q, idx)->next, FIRST(ends));
		return PRIOQ_ENDS(idx, LAST(ends));
	}
	atom_store_release(&prioq_at(c, q, LAST(ends))->next, idx);
	return PRIOQ_ENDS(FIRST(ends), idx);
}

/* Insert into a queue that is not empty, below its highest priority. */
static void insert_elsewhere(
	struct caller *c, struct prioq *q, u32 idx, u32 prio, int front)
{
	struct prio_levels *lv = prioq_levels(c, q);
	u64 *fifo;

	if (prio > q->first) {
		level_add(c, lv, q->first, q->ends);
		journal_set32(c, &q->first, prio);
		journal_set64(c, &q->ends, PRIOQ_ENDS(idx, idx));
		return;
	}
	if (!(lv->live[prio / 64 % PRIO_LEAVES] & bit(prio))) {
		level_add(c, lv, prio, PRIOQ_ENDS(idx, idx));
		return;
	}
	fifo = fifo_at(c, lv, prio);
	journal_set64(c, fifo, fifo_with(c, q, *fifo, idx, front));
}

void prioq_insert_len(struct caller *c, struct prioq *q, u32 idx, u32 len,
	u32 prio, int front)
{
	if (likely(!prioq_count(q))) {
		if (q->first != prio)
			journal_set32(c, &q->first, prio);
		journal_set64(c, &q->ends, PRIOQ_ENDS(idx, idx));
	} else if (prio == q->first) {
		journal_set64(
			c, &q->ends, fifo_with(c, q, q->ends, idx, front));
	} else {
		insert_elsewhere(c, q, idx, prio, front);
	}
	journal_set64(c, &q->count, q->count + COUNT(len));
}

void prioq_insert_behind(struct caller *c, struct prioq *q, u32 idx, u32 len,
	u32 prio, u32 before)
{
	struct prio_item *at = prioq_at(c, q, before);
	u64 ends = prio == q->first ? q->ends
				    : *fifo_at(c, prioq_levels(c, q), prio);

	if (LAST(ends) == before) {
		prioq_insert_len(c, q, idx, len, prio, 0);
		return;
	}
	journal_set32(c, &prioq_at(c, q, idx)->next, at->next);
	journal_set32(c, &at->next, idx);
	journal_set64(c, &q->count, q->count + COUNT(len));
}

/*
 * A thread that drains a queue is faster than memory, whose latency is that of
 * some calls here. Items that are adjacent in memory are prefetched by the CPU.
 * Scattered items are few per priority, and the ends of the FIFOs some levels
 * below refer to them without access to cold memory. Called when a level has
 * become the first; in a longer FIFO each item prefetches the next.
 */
static void fetch_ahead(const struct caller *c, const struct prioq *q,
	const struct prio_levels *lv)
{
	u64 live = lv->live[q->first / 64 % PRIO_LEAVES], ends;
	u32 n;

	for (n = 1; n < LEVELS_AHEAD && live; n++)
		live &= ~(1ULL << highest_bit(live));
	if (!live)
		return;
	ends = *fifo_at(c, lv, (q->first & ~63u) + highest_bit(live));
	prioq_fetch(c, q, FIRST(ends));
	if (LAST(ends) != FIRST(ends))
		prioq_fetch(c, q, LAST(ends));
}

u32 prioq_take_place(struct caller *c, struct prioq *q, u32 *ret_prio,
	struct prio_place *ret)
{
	u32 idx = FIRST(q->ends), last = LAST(q->ends);
	struct prio_item *item;

	*ret = prioq_place(c, q, idx);
	item = ret->item;
	*ret_prio = q->first;
	journal_set64(c, &q->count, q->count - COUNT(item->len));
	if (idx != last)
		journal_set64(c, &q->ends, PRIOQ_ENDS(item->next, last));
	else if (likely(!prioq_count(q))) {
		journal_set64(c, &q->ends, 0);
		return idx;
	} else {
		pull_up(c, q);
		fetch_ahead(c, q, prioq_levels(c, q));
	}
	prioq_fetch(c, q, FIRST(q->ends));
	return idx;
}

/* ---- the walk ---- */

/* The highest priority below prio that has items in its leaf, or -1. */
static s32 live_below(const struct prio_levels *lv, u32 prio)
{
	u64 live = lv->live[prio / 64] & (bit(prio) - 1);
	s32 g = (s32)(prio / 64);

	while (!live && --g >= 0)
		live = lv->live[g];
	return live ? g * 64 + (s32)highest_bit(live) : -1;
}

int prioq_walk_next(
	const struct caller *c, const struct prioq *q, struct prioq_walk *walk)
{
	const struct prio_levels *lv;
	s32 prio;

	if (walk->n++ > PRIOQ_IDX_MASK) {
		damage_met(c);
		return 0;
	}
	if (walk->item && walk->item != LAST(walk->ends)) {
		walk->item = prioq_at(c, q, walk->item)->next;
		return walk->item != 0;
	}
	if (!walk->item) {
		walk->prio = q->first % PRIOQ_N_PRIOS;
		walk->ends = q->ends;
	} else {
		lv = q->levels.off ? prioq_levels(c, q) : NULL;
		prio = lv ? live_below(lv, walk->prio) : -1;
		if (prio < 0)
			return 0;
		walk->prio = (u32)prio;
		walk->ends = *fifo_at(c, lv, walk->prio);
	}
	walk->item = FIRST(walk->ends);
	return walk->item != 0;
}
