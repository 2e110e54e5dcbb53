// SPDX-License-Identifier: MIT
/*
 * The tree of priorities; see prioq.h. Colours are the low bit of `parent`; an
 * absent child is black. `dir` is 0 for the lower and 1 for the higher side.
 */
#include "index/prioq.h"
#include "registry/heap.h"

#define RED 1u
#define HIGHER 1
/* A chunk takes about this much. Arbitrary: small enough that the first
 * message of a queue is cheap, large enough that the table is short. */
#define CHUNK_SIZE 32768u
#define SHIFT_MAX 8u

/* Queues of fewer items have no hints: their tree is in the cache. Arbitrary.
 */
#define HINTS_FROM 256u
#define HINTS_MAX 32768u

static u32 n_hints(u32 cap)
{
	u32 n = HINTS_FROM;

	if (cap < HINTS_FROM)
		return 0;
	while (n < cap && n < HINTS_MAX)
		n *= 2;
	return n;
}

static u64 chunks_size(u32 cap, u32 inline_data);

static inline u32 *hint_at(const struct prioq *q, u32 prio)
{
	return (u32 *)((char *)q + q->hint_off) + (prio & q->hint_mask);
}

static u32 item_stride(u32 inline_data)
{
	return sizeof(struct prio_item) + ((inline_data + 63) & ~63u);
}

static u32 chunk_shift(u32 inline_data)
{
	u32 shift = 0;

	while (shift < SHIFT_MAX &&
		(item_stride(inline_data) << (shift + 1)) <= CHUNK_SIZE)
		shift++;
	return shift;
}

u64 prioq_table_size(u32 cap, u32 inline_data)
{
	return chunks_size(cap, inline_data) + n_hints(cap) * sizeof(u32);
}

static u64 chunks_size(u32 cap, u32 inline_data)
{
	u32 shift = chunk_shift(inline_data);

	return (((u64)cap + (1u << shift) - 1) >> shift) * sizeof(struct ref);
}

void prioq_init(struct prioq *q, u32 cap, u32 inline_data, u32 table_off)
{
	u64 n = chunks_size(cap, inline_data) / sizeof(struct ref), i;
	u32 hints = n_hints(cap);

	*q = (struct prioq){
		.cap = cap,
		.shift = chunk_shift(inline_data),
		.stride = item_stride(inline_data),
		.inline_data = inline_data,
		.table_off = table_off,
		.hint_off = table_off + chunks_size(cap, inline_data),
		.hint_mask = hints ? hints - 1 : 0,
	};
	for (i = 0; i < hints; i++)
		*hint_at(q, i) = 0;
	for (i = 0; i < n; i++)
		prioq_table(q)[i].off = 0;
}

static u64 chunk_size(const struct prioq *q)
{
	return (u64)q->stride << q->shift;
}

int prioq_grow(struct caller *c, struct prioq *q)
{
	struct ref *chunk = &prioq_table(q)[q->made >> q->shift];
	u32 n = 1u << q->shift, first = q->made + 1, i;
	int err;

	if (q->made >= q->cap)
		return -ENOMEM;
	if (n > q->cap - q->made)
		n = q->cap - q->made;
	/* One that died here before us may have left a chunk behind. */
	err = chunk->off ? 0 : heap_alloc_at(c, chunk_size(q), chunk);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		u64 off = chunk->off + (u64)i * q->stride;
		struct prio_item *item = region_at(&c->region, off);

		*item = (struct prio_item){
			.free_next = i + 1 < n ? first + i + 1 : q->free_item,
			.node_free = i + 1 < n ? first + i + 1 : q->free_node,
			.data = {q->inline_data ? off + sizeof(*item) : 0},
			.cap = q->inline_data,
		};
	}
	journal_set32(c, &q->made, q->made + n);
	journal_set32(c, &q->free_item, first);
	journal_set32(c, &q->free_node, first);
	journal_commit(c);
	return 0;
}

void prioq_free(struct caller *c, struct prioq *q,
	void (*drop)(struct caller *c, struct prio_item *item))
{
	struct ref *table = prioq_table(q);
	u64 n = chunks_size(q->cap, q->inline_data) / sizeof(struct ref);
	u32 per = 1u << q->shift, i, k;

	for (i = 0; i < n && table[i].off; i++) {
		for (k = 0; drop && k < per && (i << q->shift) + k < q->made;
			k++)
			drop(c, prioq_at(c, q, (i << q->shift) + k + 1));
	}
	while (i-- > 0)
		if (table[i].off)
			heap_free_at(c, chunk_size(q), &table[i]);
}

u32 prioq_lower(const struct caller *c, const struct prioq *q, u32 node)
{
	u32 n = prioq_at(c, q, node)->child[!HIGHER], up;

	if (n) {
		while ((up = prioq_at(c, q, n)->child[HIGHER]))
			n = up;
		return n;
	}
	/* Up until we come from the higher side. */
	while ((up = prioq_at(c, q, node)->parent >> 1) &&
		prioq_at(c, q, up)->child[HIGHER] != node)
		node = up;
	return up;
}

/* ---- the tree ---- */

struct tree {
	struct caller *c;
	struct prioq *q;
};

static inline struct prio_item *at(const struct tree *t, u32 n)
{
	return prioq_at(t->c, t->q, n);
}
static inline u32 child(const struct tree *t, u32 n, int dir)
{
	return at(t, n)->child[dir];
}
static inline u32 parent(const struct tree *t, u32 n)
{
	return at(t, n)->parent >> 1;
}
static inline int is_red(const struct tree *t, u32 n)
{
	return n && (at(t, n)->parent & RED);
}
static inline void set_child(const struct tree *t, u32 n, int dir, u32 v)
{
	journal_set32(t->c, &at(t, n)->child[dir], v);
}
static inline void set_parent(const struct tree *t, u32 n, u32 p)
{
	u32 *word = &at(t, n)->parent;

	journal_set32(t->c, word, p << 1 | (*word & RED));
}
static inline void paint(const struct tree *t, u32 n, u32 red)
{
	u32 *word = &at(t, n)->parent;

	if ((*word & RED) != red)
		journal_set32(t->c, word, (*word & ~RED) | red);
}

/* Let v stand where n stands below p (0 = at the root). */
static void replace(const struct tree *t, u32 p, u32 n, u32 v)
{
	if (p)
		set_child(t, p, child(t, p, HIGHER) == n, v);
	else
		journal_set32(t->c, &t->q->root, v);
	if (v)
		set_parent(t, v, p);
}

/* n goes down to side dir; its child of the other side takes its place. */
static void rotate(const struct tree *t, u32 n, int dir)
{
	u32 up = child(t, n, !dir), inner = child(t, up, dir);

	set_child(t, n, !dir, inner);
	if (inner)
		set_parent(t, inner, n);
	replace(t, parent(t, n), n, up);
	set_child(t, up, dir, n);
	set_parent(t, n, up);
}

static void insert_fix(const struct tree *t, u32 n)
{
	u32 p, g, uncle;
	int dir;

	while ((p = parent(t, n)) && is_red(t, p)) {
		g = parent(t, p);
		dir = child(t, g, HIGHER) == p;
		uncle = child(t, g, !dir);
		if (is_red(t, uncle)) {
			paint(t, p, 0);
			paint(t, uncle, 0);
			paint(t, g, RED);
			n = g;
			continue;
		}
		if (child(t, p, !dir) == n) {
			rotate(t, p, dir);
			p = n;
		}
		paint(t, p, 0);
		paint(t, g, RED);
		rotate(t, g, !dir);
		break;
	}
	paint(t, t->q->root, 0);
}

/* The subtree n below p (n may be 0) lacks one black. */
static void remove_fix(const struct tree *t, u32 n, u32 p)
{
	u32 sibling;
	int dir;

	while (p && !is_red(t, n)) {
		dir = child(t, p, HIGHER) == n;
		sibling = child(t, p, !dir);
		if (is_red(t, sibling)) {
			paint(t, sibling, 0);
			paint(t, p, RED);
			rotate(t, p, dir);
			sibling = child(t, p, !dir);
		}
		if (!is_red(t, child(t, sibling, 0)) &&
			!is_red(t, child(t, sibling, 1))) {
			paint(t, sibling, RED);
			n = p;
			p = parent(t, n);
			continue;
		}
		if (!is_red(t, child(t, sibling, !dir))) {
			paint(t, child(t, sibling, dir), 0);
			paint(t, sibling, RED);
			rotate(t, sibling, !dir);
			sibling = child(t, p, !dir);
		}
		paint(t, sibling, is_red(t, p));
		paint(t, p, 0);
		paint(t, child(t, sibling, !dir), 0);
		rotate(t, p, dir);
		return;
	}
	if (n)
		paint(t, n, 0);
}

/* A node for prio, hung below p on side dir (p 0: the root). */
static u32 node_add(const struct tree *t, u32 p, int dir, u32 prio)
{
	u32 n = t->q->free_node;
	struct prio_item *node = at(t, n);

	journal_set32(t->c, &t->q->free_node, node->node_free);
	/* Journaled: this very operation may have taken the node off the tree,
	 * and a rollback puts it back. */
	journal_set32(t->c, &node->prio, prio);
	journal_set32(t->c, &node->child[0], 0);
	journal_set32(t->c, &node->child[1], 0);
	journal_set32(t->c, &node->parent, p << 1 | RED);
	if (p)
		set_child(t, p, dir, n);
	else
		journal_set32(t->c, &t->q->root, n);
	insert_fix(t, n);
	return n;
}

/* The node of the highest priority has become empty. */
static void node_remove_first(const struct tree *t)
{
	u32 n = t->q->first, p = parent(t, n), lower = child(t, n, 0), next;
	struct prio_item *node = at(t, n);
	int black = !is_red(t, n);

	for (next = lower; next && child(t, next, HIGHER);)
		next = child(t, next, HIGHER);
	journal_set32(t->c, &t->q->first, next ? next : p);
	replace(t, p, n, lower);
	if (black)
		remove_fix(t, lower, p);
	atom_store_release(&node->node_free, t->q->free_node);
	journal_set32(t->c, &t->q->free_node, n);
}

/* The node of prio, made if there is none. */
static u32 node_for(const struct tree *t, u32 prio)
{
	u32 n = t->q->first, p = 0;
	const struct prio_item *node;
	int dir = 0;

	if (!n) {
		n = node_add(t, 0, 0, prio);
		journal_set32(t->c, &t->q->first, n);
		return n;
	}
	if (prio == at(t, n)->prio)
		return n;
	if (prio > at(t, n)->prio) {
		n = node_add(t, n, HIGHER, prio);
		journal_set32(t->c, &t->q->first, n);
		return n;
	}
	n = t->q->hint_mask ? *hint_at(t->q, prio) : 0;
	/* A node that has items is in the tree. */
	if (n && at(t, n)->prio == prio && at(t, n)->head)
		return n;
	n = t->q->root;
	do {
		node = at(t, n);
		if (node->prio == prio)
			break;
		dir = prio > node->prio;
		p = n;
		n = node->child[dir];
	} while (n);
	if (!n)
		n = node_add(t, p, dir, prio);
	if (t->q->hint_mask)
		atom_store_release(hint_at(t->q, prio), n);
	return n;
}

/* ---- items ---- */

void prioq_insert(
	struct caller *c, struct prioq *q, u32 idx, u32 prio, int front)
{
	const struct tree t = {c, q};
	struct prio_item *item = prioq_at(c, q, idx), *node;

	if (!prioq_count(q) && q->first) {
		/* The spare: what priority it had is nobody's concern. */
		node = prioq_at(c, q, q->first);
		if (node->prio != prio)
			journal_set32(c, &node->prio, prio);
	} else {
		node = prioq_at(c, q, node_for(&t, prio));
	}
	if (!node->head) {
		journal_set32(c, &node->tail, idx);
		journal_set32(c, &node->head, idx);
	} else if (front) {
		atom_store_release(&item->next, node->head);
		journal_set32(c, &node->head, idx);
	} else {
		atom_store_release(&prioq_at(c, q, node->tail)->next, idx);
		journal_set32(c, &node->tail, idx);
	}
	journal_set64(
		c, &q->count, q->count + ((u64)item->len << PRIOQ_N_SHIFT) + 1);
}

u32 prioq_take(struct caller *c, struct prioq *q, u32 *ret_prio)
{
	const struct tree t = {c, q};
	struct prio_item *node = prioq_at(c, q, q->first), *item;
	u32 idx = node->head;

	item = prioq_at(c, q, idx);
	*ret_prio = node->prio;
	journal_set32(c, &node->head, idx == node->tail ? 0 : item->next);
	journal_set64(
		c, &q->count, q->count - ((u64)item->len << PRIOQ_N_SHIFT) - 1);
	if (!node->head && prioq_count(q))
		node_remove_first(&t);
	return idx;
}
