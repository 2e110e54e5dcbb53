// SPDX-License-Identifier: MIT
/*
 * The red-black tree; see rbtree.h. The textbook's bottom-up algorithms. Rules:
 * the root is black; a red node has black children; every path down from a node
 * has the same number of black nodes.
 */
#include "index/rbtree.h"

#define RED 0x80000000u
#define MAX_DEPTH 64 /* 2 log2(2^29) and some */

typedef struct rbtree_node node_t;

static node_t *at(const struct caller *c, u32 link)
{
	return rbtree_at(c, link);
}

/* Of a link that the rules guarantee. */
static node_t *must(const struct caller *c, u32 link)
{
	return link_must(c, link);
}

static u32 up_of(const node_t *n)
{
	return n->up & ~RED;
}

/* A missing node counts as black. */
static int is_red(const node_t *n)
{
	return n && (n->up & RED);
}

static void set_up(struct caller *c, node_t *n, u32 up)
{
	if (up_of(n) != up)
		journal_set32(c, &n->up, (n->up & RED) | up);
}

static void set_red(struct caller *c, node_t *n, u32 red)
{
	if ((n->up & RED) != red)
		journal_set32(c, &n->up, n->up ^ RED);
}

/* The place of the link to `link`: in its parent or the root. */
static u32 *slot_of(struct caller *c, u32 *root, u32 up, u32 link)
{
	node_t *p = at(c, up);

	if (!p)
		return root;
	return p->left == link ? &p->left : &p->right;
}

struct rbtree_node *rbtree_find(const struct caller *c, u32 root, s64 key)
{
	node_t *n = at(c, root);
	int depth = 0;

	while (n && n->key != key) {
		if (unlikely(++depth > MAX_DEPTH))
			return damage_met(c);
		n = at(c, key < n->key ? n->left : n->right);
	}
	return n;
}

struct rbtree_node *rbtree_above(const struct caller *c, u32 root, s64 key)
{
	node_t *n = at(c, root), *best = NULL;
	int depth = 0;

	while (n) {
		if (unlikely(++depth > MAX_DEPTH))
			return damage_met(c);
		if (n->key > key)
			best = n;
		n = at(c, key < n->key ? n->left : n->right);
	}
	return best;
}

struct rbtree_node *rbtree_first(const struct caller *c, u32 root)
{
	node_t *n = at(c, root);
	int depth = 0;

	while (n && n->left) {
		if (unlikely(++depth > MAX_DEPTH))
			return damage_met(c);
		n = at(c, n->left);
	}
	return n;
}

/* Rotate: x's child on one side takes x's place, x becoming its child on the
 * other. left: x becomes the left child. */
static void turn(struct caller *c, u32 *root, node_t *x, int left)
{
	u32 xl = rbtree_link(c, x), up = up_of(x);
	u32 yl = left ? x->right : x->left;
	node_t *y = must(c, yl);
	u32 inner = left ? y->left : y->right;

	journal_set32(c, slot_of(c, root, up, xl), yl);
	journal_set32(c, left ? &x->right : &x->left, inner);
	if (inner)
		set_up(c, at(c, inner), xl);
	journal_set32(c, left ? &y->left : &y->right, xl);
	set_up(c, y, up);
	set_up(c, x, yl);
}

/* n is red and its parent may be too. */
static void insert_balance(struct caller *c, u32 *root, node_t *n)
{
	node_t *p, *g, *uncle;
	int p_left, depth = 0;

	while (is_red(p = at(c, up_of(n))) && depth++ < MAX_DEPTH) {
		g = must(c, up_of(p));
		p_left = g->left == rbtree_link(c, p);
		uncle = at(c, p_left ? g->right : g->left);
		if (is_red(uncle)) {
			set_red(c, p, 0);
			set_red(c, uncle, 0);
			set_red(c, g, RED);
			n = g;
			continue;
		}
		if (n == at(c, p_left ? p->right : p->left)) {
			turn(c, root, p, p_left);
			p = n;
		}
		set_red(c, p, 0);
		set_red(c, g, RED);
		turn(c, root, g, !p_left);
		break;
	}
	set_red(c, must(c, *root), 0);
}

void rbtree_insert(struct caller *c, u32 *root, struct rbtree_node *node)
{
	u32 *slot = root, up = 0, link;
	int depth = 0;

	while ((link = *slot)) {
		node_t *p = must(c, link);

		if (unlikely(++depth > MAX_DEPTH)) {
			damage_met(c);
			return;
		}
		up = link;
		slot = node->key < p->key ? &p->left : &p->right;
	}
	/* The node is not reachable yet. */
	atom_store_release(&node->left, 0);
	atom_store_release(&node->right, 0);
	atom_store_release(&node->up, up ? up | RED : 0);
	journal_set32(c, slot, rbtree_link(c, node));
	if (up)
		insert_balance(c, root, node);
}

void rbtree_replace(struct caller *c, u32 *root, struct rbtree_node *node,
	struct rbtree_node *successor)
{
	u32 link = rbtree_link(c, successor);

	atom_store_release(&successor->key, node->key);
	atom_store_release(&successor->up, node->up);
	atom_store_release(&successor->left, node->left);
	atom_store_release(&successor->right, node->right);
	journal_set32(
		c, slot_of(c, root, up_of(node), rbtree_link(c, node)), link);
	if (successor->left)
		set_up(c, must(c, successor->left), link);
	if (successor->right)
		set_up(c, must(c, successor->right), link);
}

/*
 * Paths through the left (else right) child of `up` have one black node too
 * few. The child, if any, is black.
 */
static void remove_balance(struct caller *c, u32 *root, u32 up, int left)
{
	node_t *p = at(c, up), *s, *near, *far;
	int depth = 0;
	u32 link;

	while (p && depth++ < MAX_DEPTH) {
		s = must(c, left ? p->right : p->left);
		if (is_red(s)) {
			set_red(c, s, 0);
			set_red(c, p, RED);
			turn(c, root, p, left);
			s = must(c, left ? p->right : p->left);
		}
		near = at(c, left ? s->left : s->right);
		far = at(c, left ? s->right : s->left);
		if (is_red(near) || is_red(far)) {
			if (!is_red(far)) {
				if (unlikely(!near))
					near = damage_met(c);
				set_red(c, near, 0);
				set_red(c, s, RED);
				turn(c, root, s, !left);
				far = s;
				s = near;
			}
			set_red(c, s, p->up & RED);
			set_red(c, p, 0);
			set_red(c, far, 0);
			turn(c, root, p, left);
			return;
		}
		set_red(c, s, RED);
		if (is_red(p)) {
			set_red(c, p, 0);
			return;
		}
		link = rbtree_link(c, p);
		p = at(c, up_of(p));
		left = p && p->left == link;
	}
}

/* A node with two children: its successor takes its place and colour, and is
 * removed from its old place. */
static void remove_inner(struct caller *c, u32 *root, node_t *n)
{
	node_t *s = rbtree_first(c, n->right), *child;
	u32 sl, nl = rbtree_link(c, n), up;
	int black, direct;

	if (unlikely(!s))
		s = damage_met(c);
	child = at(c, s->right);
	sl = rbtree_link(c, s);
	black = !is_red(s);
	direct = n->right == sl;
	up = direct ? sl : up_of(s);
	if (!direct) {
		journal_set32(c, &must(c, up)->left, s->right);
		if (child)
			set_up(c, child, up);
		journal_set32(c, &s->right, n->right);
		set_up(c, must(c, n->right), sl);
	}
	journal_set32(c, &s->left, n->left);
	set_up(c, must(c, n->left), sl);
	journal_set32(c, slot_of(c, root, up_of(n), nl), sl);
	journal_set32(c, &s->up, n->up);
	if (!black)
		return;
	if (is_red(child))
		set_red(c, child, 0);
	else
		remove_balance(c, root, up, !direct);
}

void rbtree_remove(struct caller *c, u32 *root, struct rbtree_node *n)
{
	u32 link = rbtree_link(c, n), up = up_of(n);
	node_t *child = at(c, n->left ? n->left : n->right);
	u32 *slot;
	int left;

	if (n->left && n->right) {
		remove_inner(c, root, n);
		return;
	}
	slot = slot_of(c, root, up, link);
	left = up && slot == &must(c, up)->left;
	journal_set32(c, slot, n->left ? n->left : n->right);
	if (child) {
		/* An only child is red, its parent black. */
		set_up(c, child, up);
		set_red(c, child, 0);
	} else if (!is_red(n)) {
		remove_balance(c, root, up, left);
	}
}
