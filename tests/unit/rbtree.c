// SPDX-License-Identifier: MIT
/*
 * The red-black tree against a plain array: order, rules and links after every
 * kind of change; and each change undone by its journal.
 */
#include "index/rbtree.h"
#include "registry/journal/reserve.h"
#include "unit.h"

TestSuite(rbtree, .init = unit_init, .timeout = 60);

#define N 3000u
/* Beyond all that the heap hands out here. */
#define FAR_OFF (HEAP_OFF + (1ULL << 30))

struct cell {
	struct rbtree_node node;
	char rest[40];
};

static struct cell *cell;
static u32 *root;
static char in_tree[N];
static u64 n_in;

/* Nodes need no more than a place in the heap's range. */
static void cells_prepare(void)
{
	cell = region_at(&me.region, FAR_OFF + 4096);
	root = region_at(&me.region, FAR_OFF);
	*root = 0;
	__builtin_memset(in_tree, 0, sizeof(in_tree));
	n_in = 0;
	cr_assert_eq(caller_enroll(&me), 0);
	cr_assert_eq(journal_reserve(&me, RBTREE_ENTRIES), 0);
}

static s64 key_of(u32 i)
{
	return (s64)i * 3 - 700;
}

static void garbage(struct cell *c)
{
	__builtin_memset(c, 0x66, sizeof(*c));
}

static void change(u32 i)
{
	if (!in_tree[i]) {
		cell[i].node.key = key_of(i);
		rbtree_insert(&me, root, &cell[i].node);
	} else if (unit_random() % 8 == 0) {
		rbtree_replace(&me, root, &cell[i].node, &cell[N].node);
		garbage(&cell[i]);
		rbtree_replace(&me, root, &cell[N].node, &cell[i].node);
		return;
	} else {
		rbtree_remove(&me, root, &cell[i].node);
	}
	in_tree[i] = !in_tree[i];
	n_in += in_tree[i] ? 1 : -1;
}

static void check(void)
{
	u32 low = 0, high = N;
	u64 n;

	cr_assert(rbtree_valid(&me, *root, &n));
	cr_assert_eq(n, n_in);
	while (low < N && !in_tree[low])
		low++;
	while (high > 0 && !in_tree[high - 1])
		high--;
	cr_assert_eq(
		rbtree_first(&me, *root), low < N ? &cell[low].node : NULL);
	cr_assert_eq(
		rbtree_last(&me, *root), high ? &cell[high - 1].node : NULL);
}

Test(rbtree, random_changes_equal_the_model)
{
	u32 round, i, k;

	cells_prepare();
	for (round = 0; round < 300000; round++) {
		/* now spread, now dense, so that it grows and shrinks */
		k = round / 30000 % 2 ? 40 : N;
		i = unit_random() % k;
		cr_assert_eq(rbtree_find(&me, *root, key_of(i)),
			in_tree[i] ? &cell[i].node : NULL);
		cr_assert_null(rbtree_find(&me, *root, key_of(i) + 1));
		change(i);
		cr_assert_leq(me.journal->n, RBTREE_ENTRIES);
		journal_commit(&me);
		if (!in_tree[i])
			garbage(&cell[i]);
		if (round < 2000 || round % 501 == 0)
			check();
	}
}

Test(rbtree, every_change_can_be_undone)
{
	static struct cell image[N];
	u32 round, i, before, is_in;

	cells_prepare();
	for (round = 0; round < 20000; round++) {
		i = unit_random() % 200;
		before = *root;
		is_in = in_tree[i];
		__builtin_memcpy(image, cell, sizeof(image[0]) * 200);
		if (!is_in) {
			cell[i].node.key = key_of(i);
			rbtree_insert(&me, root, &cell[i].node);
		} else {
			rbtree_remove(&me, root, &cell[i].node);
		}
		journal_abort(&me);
		cr_assert_eq(*root, before);
		/* What is outside the tree may hold anything. */
		for (u32 j = 0; j < 200; j++)
			cr_assert(!in_tree[j] ||
				  !__builtin_memcmp(&image[j], &cell[j],
					  sizeof(image[j])));
		change(i);
		journal_commit(&me);
	}
	check();
}
