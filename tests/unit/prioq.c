// SPDX-License-Identifier: MIT
/*
 * The priority queue against a plain array: what comes out and in which order,
 * everything in agreement after each change, and each change undone by its
 * journal.
 */
#include "index/prioq.h"
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "unit.h"

TestSuite(prioq, .init = unit_init, .fini = unit_fini, .timeout = 120);

#define CAP_MAX 2000u

/* The reference: in order of sending, `front` ones with falling stamps. */
static struct {
	u32 idx, prio, len;
	s64 stamp;
} held[CAP_MAX];
static u32 n_held;
static s64 stamps[2];

/* Stands in for the queue's body. */
static struct ref *home;
static struct prioq *q;
static u32 cap;

static u64 body_size(void)
{
	return sizeof(*q) + prioq_table_size(cap, 64);
}

static void prepare(u32 new_cap)
{
	cap = new_cap;
	n_held = 0;
	cr_assert_eq(journal_reserve(&me, PRIOQ_ENTRIES), 0);
	/* Any reference of a record nobody else uses will do. */
	home = &region_thread(&me.region, me.thread)->blocks.big;
	region_thread(&me.region, me.thread)->blocks.big_cap = body_size();
	cr_assert_eq(heap_alloc_at(&me, body_size(), home), 0);
	q = region_at(&me.region, home->off);
	prioq_init(q, cap, 64, sizeof(*q));
}

static void queue_insert(u32 idx, u32 prio, int front)
{
	prioq_insert_len(&me, q, idx, prioq_at(&me, q, idx)->len, prio, front);
}

static u32 queue_take(u32 *ret_prio)
{
	struct prio_place place;

	return prioq_take_place(&me, q, ret_prio, &place);
}

static void nothing(struct caller *c, struct prio_block *block)
{
	(void)c, (void)block;
}

static void tear_down(void)
{
	prioq_free(&me, q, nothing);
	heap_free_at(&me, body_size(), home);
}

static u32 best(void)
{
	u32 i, b = 0;

	for (i = 1; i < n_held; i++)
		if (held[i].prio > held[b].prio ||
			(held[i].prio == held[b].prio &&
				held[i].stamp < held[b].stamp))
			b = i;
	return b;
}

static u32 insert(u32 prio, u32 len, int front)
{
	u32 idx;

	cr_assert_eq(prioq_reserve(&me, q, prio), 0);
	cr_assert_eq(me.journal->n, 0);
	idx = prioq_item_alloc(&me, q);
	prioq_at(&me, q, idx)->len = len;
	queue_insert(idx, prio, front);
	return idx;
}

static void put(u32 prio, u32 len, int front)
{
	u32 idx = insert(prio, len, front);

	journal_commit(&me);
	held[n_held].idx = idx;
	held[n_held].prio = prio;
	held[n_held].len = len;
	held[n_held].stamp = front ? --stamps[0] : ++stamps[1];
	n_held++;
}

static void take(void)
{
	u32 b = best(), prio = 0, idx = queue_take(&prio);

	cr_assert_eq(idx, held[b].idx);
	cr_assert_eq(prio, held[b].prio);
	cr_assert_eq(prioq_at(&me, q, idx)->len, held[b].len);
	prioq_item_free(&me, q, idx);
	cr_assert_leq(me.journal->n, PRIOQ_ENTRIES);
	journal_commit(&me);
	held[b] = held[--n_held];
}

/* As a receive does that lets a sleeping sender in. */
static void take_and_put(u32 new_prio, u32 len)
{
	u32 b = best(), prio = 0, idx, in;

	cr_assert_eq(prioq_reserve(&me, q, new_prio), 0);
	idx = queue_take(&prio);
	cr_assert_eq(idx, held[b].idx);
	held[b] = held[--n_held];
	in = prioq_item_alloc(&me, q);
	cr_assert_neq(in, idx);
	prioq_at(&me, q, in)->len = len;
	queue_insert(in, new_prio, 0);
	prioq_item_free(&me, q, idx);
	cr_assert_leq(me.journal->n, PRIOQ_ENTRIES);
	journal_commit(&me);
	held[n_held].idx = in;
	held[n_held].prio = new_prio;
	held[n_held].len = len;
	held[n_held++].stamp = ++stamps[1];
}

static u32 priority(u32 spread)
{
	static const u32 of[] = {1, 3, 64, 500, 32768};
	u32 n = of[spread % 5];

	return n == 32768 ? unit_random() % n : 700 + unit_random() % n * 31;
}

/* All of it, in the order in which it would be taken. */
static void check_walk(void)
{
	struct prioq_walk walk = {0, 0, 0};
	u32 n = 0, last = PRIOQ_N_PRIOS;

	while (prioq_walk_next(&me, q, &walk)) {
		if (n++ == 0)
			cr_assert_eq(walk.item, held[best()].idx);
		cr_assert_leq(walk.prio, last);
		last = walk.prio;
	}
	cr_assert_eq(n, n_held);
}

/* ---- everything agrees: bits, leaves, FIFOs, free list, counts ---- */

struct tally {
	u64 n, bytes;
};

/* 0 if the FIFO is no chain of items from first to last. */
static int fifo_add(const struct caller *c, const struct prioq *q, u64 ends,
	struct tally *sum)
{
	u32 idx = (u32)ends;

	for (;; idx = prioq_at(c, q, idx)->next) {
		if (!idx || idx > q->made || ++sum->n > q->made)
			return 0;
		sum->bytes += prioq_at(c, q, idx)->len;
		if (idx == (u32)(ends >> 32))
			return 1;
	}
}

/* Bits and leaves. */
static int levels_valid(
	const struct caller *c, const struct prioq *q, struct tally *sum)
{
	const struct prio_levels *lv = prioq_levels(c, q);
	u32 g, b, n_leaves = 0;

	for (g = 0; g < PRIO_LEAVES; g++) {
		n_leaves += lv->leaf[g].off != 0;
		if (!!(lv->top[g / 64] & (1ULL << g % 64)) !=
				(lv->live[g] != 0) ||
			(lv->live[g] && !lv->leaf[g].off))
			return 0;
		for (b = 0; b < 64; b++)
			if ((lv->live[g] & (1ULL << b)) &&
				(g * 64 + b >= q->first ||
					!fifo_add(c, q,
						((const u64 *)ref_must(
							c, lv->leaf[g]))[b],
						sum)))
				return 0;
	}
	for (g = 0; g < PRIO_LEAVES / 64; g++)
		if (!!(lv->any & (1ULL << g % 64)) != (lv->top[g] != 0))
			return 0;
	return n_leaves == q->n_leaves;
}

/* Each item once in the stack. Quadratic; queues of tests are small. */
static int stack_valid(const struct prioq *q)
{
	u32 i, k, idx;

	for (i = 0; i < q->n_free; i++) {
		idx = *prioq_free_at(q, i);
		if (!idx || idx > q->made)
			return 0;
		for (k = 0; k < i; k++)
			if (*prioq_free_at(q, k) == idx)
				return 0;
	}
	return 1;
}

static int is_valid(const struct caller *c, const struct prioq *q)
{
	struct tally sum = {0, 0};

	if (prioq_count(q) ? !fifo_add(c, q, q->ends, &sum) : q->ends != 0)
		return 0;
	if (q->levels.off && !levels_valid(c, q, &sum))
		return 0;
	return sum.n == prioq_count(q) && sum.bytes == prioq_bytes(q) &&
	       sum.n + q->n_free == q->made && stack_valid(q);
}

static void check(void)
{
	u64 bytes = 0;
	u32 i;

	for (i = 0; i < n_held; i++)
		bytes += held[i].len;
	cr_assert_eq(prioq_count(q), n_held);
	cr_assert_eq(prioq_bytes(q), bytes);
	cr_assert(is_valid(&me, q));
	check_walk();
}

static void change(u32 round, u32 most)
{
	u32 what = unit_random() % 8, prio = priority(round / 997);

	if (n_held == 0 || (n_held < most && what < 4))
		put(prio, unit_random() % 65, unit_random() % 16 == 0);
	else if (what == 7 && n_held < cap)
		take_and_put(prio, unit_random() % 65);
	else
		take();
}

static void random_rounds(u32 of, u32 rounds)
{
	u32 round;

	prepare(of);
	for (round = 0; round < rounds; round++) {
		change(round, round / 5000 % 2 ? 5 : of - 1);
		if (round < 3000 || round % 97 == 0)
			check();
	}
	while (n_held)
		take();
	check();
	tear_down();
}

Test(prioq, small_queues_equal_the_model)
{
	random_rounds(12, 60000);
}

Test(prioq, large_queues_equal_the_model)
{
	random_rounds(700, 60000);
}

/* 12 items and one leaf more; 32,768 priorities in turn. */
Test(prioq, leaves_are_no_more_than_items)
{
	u32 i;

	prepare(12);
	for (i = 0; i < 40000; i++) {
		if (n_held == 11)
			take();
		put(i * 12347 % PRIOQ_N_PRIOS, 1, 0);
		cr_assert_leq(q->n_leaves, 13);
	}
	check();
	while (n_held)
		take();
	tear_down();
}

/* An image of all that may be told apart from outside. */
static u64 digest(void)
{
	u64 d = q->count * 31 + q->n_free;
	u32 i;

	if (prioq_count(q))
		d = d * 31 + q->ends + q->first;
	for (i = 0; i < q->n_free; i++)
		d = d * 31 + *prioq_free_at(q, i);
	return d;
}

Test(prioq, every_change_can_be_undone)
{
	u32 round, prio, of_taken, idx;
	u64 was;

	prepare(60);
	for (round = 0; round < 20000; round++) {
		prio = priority(round / 997);
		cr_assert_eq(prioq_reserve(&me, q, prio), 0);
		was = digest();
		if (n_held && (n_held == 59 || unit_random() % 2)) {
			idx = queue_take(&of_taken);
			if (unit_random() % 2)
				queue_insert(prioq_item_alloc(&me, q), prio, 0);
			prioq_item_free(&me, q, idx);
		} else {
			insert(prio, 3, unit_random() % 4 == 0);
		}
		journal_abort(&me);
		cr_assert_eq(digest(), was);
		check();
		change(round, 59);
	}
	while (n_held)
		take();
	tear_down();
}
