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

#define RED 0x80000000u
#define MAX_DEPTH 64

static u32 up_of(const struct rbtree_node *n)
{
	return n->up & ~RED;
}

static int is_red(const struct rbtree_node *n)
{
	return n && (n->up & RED);
}

struct tally {
	u64 n;
	int bad;
};

/* Black height below link, whose keys lie within [low, high]. */
static int check_below(
	u32 link, u32 up, s64 low, s64 high, int depth, struct tally *ck)
{
	const struct rbtree_node *n = rbtree_at(&me, link);
	int l, r;

	if (!n)
		return 0;
	if (depth > MAX_DEPTH || up_of(n) != up || n->key < low ||
		n->key > high ||
		(is_red(n) && (!up || is_red(rbtree_at(&me, up))))) {
		ck->bad = 1;
		return 0;
	}
	ck->n++;
	if ((n->left && n->key == INT64_MIN) ||
		(n->right && n->key == INT64_MAX)) {
		ck->bad = 1;
		return 0;
	}
	l = check_below(n->left, link, low, n->key - 1, depth + 1, ck);
	if (ck->bad)
		return 0;
	r = check_below(n->right, link, n->key + 1, high, depth + 1, ck);
	if (l != r)
		ck->bad = 1;
	return l + !is_red(n);
}

/* All below the root is a red-black tree in order: its nodes. */
static u64 count_valid(void)
{
	struct tally ck = {0, 0};

	check_below(*root, 0, INT64_MIN, INT64_MAX, 0, &ck);
	cr_assert(!ck.bad);
	return ck.n;
}

static void check(void)
{
	u32 low = 0;

	cr_assert_eq(count_valid(), n_in);
	while (low < N && !in_tree[low])
		low++;
	cr_assert_eq(
		rbtree_first(&me, *root), low < N ? &cell[low].node : NULL);
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
