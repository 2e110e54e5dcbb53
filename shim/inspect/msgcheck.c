// SPDX-License-Identifier: MIT
/*
 * The invariants of a message queue: order, types, cells and chunks, payload
 * blocks, sleepers; see check.h.
 *
 * Chunks are checked first: their blocks are marked, so a message is known to
 * be in one before it is read. Every walk is bounded by a count that was
 * checked before.
 */
#include "inspect/check.h"
#include "msg/msgqueue.h"

#define UNIT 64u
#define CHUNK_FIRST 4096u
#define CHUNK_MAX (256u << 10)
#define CELLS_MOST ((CHUNK_MAX - 64) / UNIT)

static const unsigned char class_units[MSG_CLASSES] = {
	1, 2, 3, 4, 6, 8, 12, 17};

/* One queue's check. */
struct look {
	struct check *k;
	struct msgqueue *q;
	u32 idx;
	u64 n; /* messages, by its count */
	u64 live, large;
	u64 n_leased;
};

static void failed(
	const struct look *l, enum invariant which, const char *what, u64 value)
{
	check_failed(l->k, which, what, l->idx, value);
}

/* What a link refers to, or NULL if that is outside the heap. */
static void *at(const struct look *l, u32 link, u64 size)
{
	u64 off = (u64)link << 6, bump;

	bump = region_header(&l->k->region)->heap.bump;
	if (off < HEAP_OFF || off > bump || size > bump - off)
		return NULL;
	return region_at(&l->k->region, off);
}

static u32 link_of(const struct look *l, const void *p)
{
	return (u32)(region_off(&l->k->region, p) >> 6);
}

/* ---- chunks ---- */

/* Which cell of the chunk this is, or ~0. */
static u32 cell_of(const struct msg_chunk *ch, const void *m)
{
	u64 size = class_units[ch->class % MSG_CLASSES] * UNIT;
	u64 off = (u64)((const char *)m - (const char *)(ch + 1));

	return off % size || off / size >= ch->n_cells ? ~0u
						       : (u32)(off / size);
}

static void check_cells(struct look *l, const struct msg_chunk *ch)
{
	u32 used = (u32)ch->state & 0xffff, live = (u32)ch->state >> 16;
	u32 link = (u32)(ch->state >> 32), n = 0, cell;
	u64 seen[CELLS_MOST / 64 + 1] = {0};

	if (used > ch->n_cells || live > used) {
		failed(l, INV_MSG_CELL, "chunk's counts, idx", ch->state);
		return;
	}
	l->live += live;
	for (; link && n <= used - live; n++) {
		const struct msg *m = at(l, link, UNIT);

		cell = m ? cell_of(ch, m) : ~0u;
		if (cell >= used || (seen[cell / 64] >> cell % 64 & 1)) {
			failed(l, INV_MSG_CELL, "free list, idx", link);
			return;
		}
		seen[cell / 64] |= 1ULL << cell % 64;
		link = m->free_next;
	}
	if (n != used - live)
		failed(l, INV_MSG_CELL, "free cells, idx", n);
}

static int is_full(const struct msg_chunk *ch)
{
	return !(ch->state >> 32) && (ch->state & 0xffff) == ch->n_cells;
}

static u32 check_chunks(struct look *l, u32 class, u32 link, int full)
{
	u32 prev = 0, n = 0;
	struct walk w = {0};

	for (; link && walk_is_new(&w, link); n++) {
		struct msg_chunk *ch = at(l, link, sizeof(*ch));

		if (!ch || ch->class != class || ch->size < CHUNK_FIRST ||
			ch->size > CHUNK_MAX ||
			ch->n_cells != (ch->size - sizeof(*ch)) /
					       (class_units[class] * UNIT)) {
			failed(l, INV_MSG_CHUNK, "no chunk, idx, link", link);
			break;
		}
		if (!check_block(l->k, (struct ref){(u64)link << 6}, ch->size))
			break;
		if (ch->prev != prev || is_full(ch) != full)
			failed(l, INV_MSG_CHUNK, "list, idx, link", link);
		l->large += ch->size > CHUNK_FIRST;
		check_cells(l, ch);
		prev = link;
		link = ch->next;
	}
	return n;
}

static void check_classes(struct look *l)
{
	u32 i, n;

	for (i = 0; i < MSG_CLASSES; i++) {
		const struct msg_class *cl = &l->q->class[i];

		n = check_chunks(l, i, cl->partial, 0);
		n += check_chunks(l, i, cl->full, 1);
		if (n != cl->n_chunks)
			failed(l, INV_MSG_CHUNK, "n_chunks, idx, should be", n);
	}
	if (l->large != l->q->n_large)
		failed(l, INV_MSG_CHUNK, "n_large, idx, should be", l->large);
}

/* ---- messages ---- */

static u64 cap_of(u64 size)
{
	u64 cap = 2048;

	while (cap < size && cap < 8192)
		cap *= 2;
	return cap;
}

static void check_payload(struct look *l, struct msg *m)
{
	const struct msg_block *b = (struct msg_block *)m->text;

	if (m->size <= MSG_INLINE)
		return;
	if (b->cap < m->size || (m->size <= 8192 && b->cap != cap_of(m->size)))
		failed(l, INV_MSG_BLOCK, "block's size, idx", b->cap);
	else
		check_block(l->k, b->ref, b->cap);
}

/* m is in the heap. 1 if it is in a cell of its size. */
static int in_cell(struct look *l, const struct msg *m)
{
	const struct msg_chunk *ch = at(l, m->chunk, sizeof(*ch));
	u64 cell = sizeof(*m) +
		   (m->size > MSG_INLINE ? sizeof(struct msg_block) : m->size);

	return ch && ch->class < MSG_CLASSES && cell_of(ch, m) != ~0u &&
	       cell <= class_units[ch->class] * UNIT &&
	       (ch->class == 0 || cell > class_units[ch->class - 1] * UNIT);
}

/* On lease: in a cell, and with its block until that is freed. */
static void check_lease(void *arg, struct lease *lease)
{
	struct look *l = arg;
	struct msg *m;

	if (lease->state != LEASE_HELD && lease->state != LEASE_DONE)
		return;
	l->n_leased++;
	m = at(l, lease->msg, sizeof(*m));
	if (!m || !in_cell(l, m) || lease->stamp != m->stamp ||
		m->node.key < 1) {
		failed(l, INV_LEASE, "its message, idx, link", lease->msg);
		return;
	}
	if (lease->state == LEASE_HELD ||
		(m->size > MSG_INLINE && msg_block_of(m)->ref.off))
		check_payload(l, m);
}

/* The FIFO over all; 0 if the lists of types cannot be checked. */
static int check_fifo(struct look *l)
{
	u32 link = (u32)l->q->ends, prev = 0;
	u64 n = 0, bytes = 0, stamp = 0;
	struct walk w = {0};

	for (; link && n < l->n && walk_is_new(&w, link); n++) {
		struct msg *m = at(l, link, sizeof(*m));

		if (!m || !in_cell(l, m)) {
			failed(l, INV_MSG_CELL, "message in no cell, idx",
				link);
			return 0;
		}
		if (m->prev != prev || m->stamp <= stamp || m->node.key < 1)
			failed(l, INV_MSG_FIFO, "order, idx, link", link);
		check_payload(l, m);
		bytes += m->size;
		stamp = m->stamp;
		prev = link;
		link = m->next;
	}
	if (link || prev != (u32)(l->q->ends >> 32))
		failed(l, INV_MSG_FIFO, "last, idx, link", prev);
	if (n != l->n || bytes != MSG_BYTES(l->q->count))
		failed(l, INV_MSG_COUNT, "count, idx, should be",
			n << 35 | bytes);
	if (stamp > l->q->stamp)
		failed(l, INV_MSG_FIFO, "stamp, idx", stamp);
	return !link && n == l->n;
}

/* The messages of one type, the oldest being in the tree. Counts them. */
static u64 check_type(struct look *l, struct msg *head)
{
	u32 last = (u32)(l->q->ends >> 32), link = link_of(l, head);
	struct msg *m = head, *next;
	u64 n = 1;

	for (; m->type_next && n <= l->n; m = next, n++) {
		next = at(l, m->type_next, sizeof(*m));
		if (!next || next->node.key != head->node.key ||
			next->stamp <= m->stamp) {
			failed(l, INV_MSG_TYPE, "list of a type, idx",
				(u64)head->node.key);
			return n;
		}
		link = m->type_next;
	}
	/* The queue's last message is the youngest of its type anyway. */
	if (head->node.user != link && link != last)
		failed(l, INV_MSG_TYPE, "youngest of a type, idx",
			(u64)head->node.key);
	return n;
}

/* Keys of a subtree: above low, at most high. */
struct bounds {
	s64 low, high;
};

#define RED 0x80000000u

/* The subtree's black height, or -1 after a report. n counts messages. */
static int check_tree(
	struct look *l, u32 link, u32 up, struct bounds b, u32 depth, u64 *n)
{
	struct rbtree_node *node;
	int left, right;

	if (!link)
		return 0;
	node = at(l, link, sizeof(struct msg));
	if (!node || depth > 64 || *n >= l->n || node->key <= b.low ||
		node->key > b.high || (node->up & ~RED) != up) {
		failed(l, INV_MSG_TREE, "node, idx, link", link);
		return -1;
	}
	*n += check_type(l, (struct msg *)node);
	left = check_tree(l, node->left, link,
		(struct bounds){b.low, node->key - 1}, depth + 1, n);
	right = left < 0 ? -1
			 : check_tree(l, node->right, link,
				   (struct bounds){node->key, b.high},
				   depth + 1, n);
	if (right < 0)
		return -1;
	if (left != right)
		failed(l, INV_MSG_TREE, "black height, idx, link", link);
	if (node->up & RED) {
		const struct rbtree_node *a = at(l, node->left, sizeof(*a));
		const struct rbtree_node *z = at(l, node->right, sizeof(*z));

		if ((a && (a->up & RED)) || (z && (z->up & RED)))
			failed(l, INV_MSG_TREE, "red below red, idx", link);
	}
	return left + !(node->up & RED);
}

static void check_types(struct look *l)
{
	const struct rbtree_node *root = at(l, l->q->types, sizeof(*root));
	u64 n = 0;

	if (root && (root->up & RED))
		failed(l, INV_MSG_TREE, "red root, idx", 0);
	if (check_tree(l, l->q->types, 0, (struct bounds){0, INT64_MAX}, 0,
		    &n) >= 0 &&
		n != l->n)
		failed(l, INV_MSG_TREE, "messages in the tree, idx", n);
}

/* ---- the rest ---- */

static void check_warm(struct look *l)
{
	u32 t, n;

	for (t = 0; t < MSG_TIERS; t++) {
		struct ref ref = l->q->warm[t];
		struct walk w = {0};

		for (n = 0; ref.off && walk_is_new(&w, ref.off); n++) {
			u64 *link = check_block(l->k, ref, 2048ULL << t);

			if (!link)
				break;
			ref.off = *link;
		}
		if (ref.off || n != l->q->n_warm[t])
			failed(l, INV_MSG_BLOCK, "warm blocks, idx", n);
	}
}

static void check_sleeper(struct look *l, const struct slot *s,
	const struct wait_queue *q, u32 kind)
{
	struct check_sleepers w = {.q = q,
		.facility = FAC_MSG,
		.idx = l->idx,
		.ident = s->ident,
		.kind = kind,
		.by_stamp = 1};
	const struct waiter *first;

	check_sleepers(l->k, &w);
	/* There is no message while a receiver that takes any type sleeps. */
	first = w.n_live ? &region_thread(&l->k->region, q->head)->waiter
			 : NULL;
	if (first && kind == MSG_Q_RECEIVER && l->n && !wait_dead(first) &&
		MSG_TAKE_HOW(first->msg.mode) == MSG_TAKE_ANY)
		failed(l, INV_MSG_PENDING, "asleep beside a message, idx",
			l->n);
}

void check_msgqueue(struct check *k, u32 idx, struct slot *s)
{
	struct look l = {.k = k, .idx = idx};

	l.q = check_block(k, s->body, sizeof(*l.q));
	if (!l.q) {
		check_failed(k, INV_SLOT, "body, idx", idx, s->body.off);
		return;
	}
	l.n = MSG_NUM(l.q->count);
	if (l.q->pending || l.q->new_chunk.off)
		failed(&l, INV_MSG_PENDING, "idx", l.q->pending);
	check_classes(&l);
	check_leases(k, idx, &l.q->leases, l.q->leasing, check_lease, &l);
	if (l.live != l.n + l.n_leased)
		failed(&l, INV_MSG_CELL, "cells in use, idx", l.live);
	if (check_fifo(&l))
		check_types(&l);
	check_warm(&l);
	check_sleeper(&l, s, &l.q->receivers, MSG_Q_RECEIVER);
	check_sleeper(&l, s, &l.q->senders, MSG_Q_SENDER);
}

/* ---- removed queues that are being emptied ---- */

#define REMAINS_MOST (1u << 16) /* arbitrary: as many as there are removers */

static void check_lease_left(void *arg, struct lease *lease)
{
	struct look *l = arg;
	struct msg *m = at(l, lease->msg, sizeof(*m));

	if ((lease->state == LEASE_HELD || lease->state == LEASE_DONE) && m &&
		m->size > MSG_INLINE && msg_block_of(m)->ref.off)
		check_payload(l, m);
}

/* Their messages no longer count, but their memory is still theirs. */
static void check_remainder(struct look *l)
{
	u32 link = (u32)l->q->ends, i;
	u64 n;

	for (i = 0; i < MSG_CLASSES; i++) {
		check_chunks(l, i, l->q->class[i].partial, 0);
		check_chunks(l, i, l->q->class[i].full, 1);
	}
	check_leases(l->k, l->idx, &l->q->leases, l->q->leasing,
		check_lease_left, l);
	for (n = 0; link && n < l->n; n++) {
		struct msg *m = at(l, link, sizeof(*m));

		if (!m || !in_cell(l, m)) {
			failed(l, INV_MSG_CELL, "remaining message", link);
			return;
		}
		if (n || m->size <= MSG_INLINE || msg_block_of(m)->ref.off)
			check_payload(l, m);
		link = m->next;
	}
	check_warm(l);
}

void check_msg_remains(struct check *k)
{
	struct ref ref = region_header(&k->region)->msg_remains;
	u32 n;

	for (n = 0; ref.off && n < REMAINS_MOST; n++) {
		struct look l = {.k = k};

		l.q = check_block(k, ref, sizeof(*l.q));
		if (!l.q)
			return;
		l.n = MSG_NUM(l.q->count);
		check_remainder(&l);
		ref.off = l.q->stamp;
	}
}

/* ---- slabs ---- */

#define SLAB_SIZE (128u << 10)

/* Mark a range that is not payload, line by line. */
static void mark_lines(struct check *k, u64 off, u64 end)
{
	for (; off < end; off += UNIT)
		check_block(k, (struct ref){off}, UNIT);
}

/* All but the blocks in use, which are marked with their owners. */
static void mark_slab(struct check *k, u32 tier, u64 off, u64 used)
{
	u64 cap = 2048ULL << tier, end = off + SLAB_SIZE, i;

	mark_lines(k, off, off + sizeof(struct msg_slab));
	off += sizeof(struct msg_slab);
	for (i = 0; off + UNIT + cap <= end; i++, off += UNIT + cap) {
		mark_lines(k, off, off + UNIT);
		if (*(u32 *)region_at(&k->region, off) !=
			(u32)((end - SLAB_SIZE) >> 6))
			check_failed(k, INV_MSG_SLAB, "label, slab, block",
				end - SLAB_SIZE, i);
		if (!(used >> i & 1))
			check_block(k, (struct ref){off + UNIT}, cap);
	}
	mark_lines(k, off, end);
	if (i < 64 && used >> i)
		check_failed(
			k, INV_MSG_SLAB, "bits, slab", end - SLAB_SIZE, used);
}

static void check_slab_list(struct check *k, u32 tier, u32 link, int full)
{
	const struct msg_slabs *all = &region_header(&k->region)->msg_slabs;
	u32 n_blocks = (SLAB_SIZE - UNIT) / ((2048u << tier) + UNIT);
	u64 every = ~0ULL >> (64 - n_blocks);
	struct walk w = {0};
	u32 prev = 0;

	while (link && walk_is_new(&w, link)) {
		const struct msg_slab *s = region_span(
			&k->region, (struct ref){(u64)link << 6}, SLAB_SIZE);

		/* It may be younger than this check. */
		if (!s || (u64)link << 6 > k->bump - SLAB_SIZE) {
			check_failed_sum(
				k, INV_MSG_SLAB, "no slab", link, tier);
			return;
		}
		if (s->prev != prev || (s->used == every) != full ||
			!s->used != (link == all->idle[tier]))
			check_failed(k, INV_MSG_SLAB, "list, slab, bits", link,
				s->used);
		mark_slab(k, tier, (u64)link << 6, s->used);
		prev = link;
		link = s->next;
	}
}

void check_msg_slabs(struct check *k)
{
	const struct msg_slabs *all = &region_header(&k->region)->msg_slabs;
	u32 t;

	for (t = 0; t < MSG_TIERS; t++) {
		check_slab_list(k, t, all->partial[t], 0);
		check_slab_list(k, t, all->full[t], 1);
	}
	if (all->moving.off)
		check_failed(k, INV_MSG_SLAB, "under way", all->moving.off, 0);
}
