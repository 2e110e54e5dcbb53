// SPDX-License-Identifier: MIT
/*
 * The invariants of a POSIX message queue: name, items, priorities, sleepers,
 * notification; see check.h.
 *
 * Chunks are checked first, then the FIFOs of all priorities and the stack of
 * free items: each item must be in exactly one of them, once.
 */
#include "inspect/check.h"
#include "mq/mqueue.h"

#define CHUNK_SIZE 32768u
#define SHIFT_MAX 8u
#define ITEMS_MOST (MQ_HARD_MAXMSG + MQ_SPARE_ITEMS)
/* waiter.kind: mqwait.c */
#define SENDER 0u
#define RECEIVER 1u

/* One queue's check. */
struct look {
	struct check *k;
	struct mqueue *q;
	u32 idx;
	u64 items[ITEMS_MOST / 64 + 1]; /* seen in a FIFO or the free stack */
	u64 n, bytes;
};

static void failed(
	const struct look *l, enum invariant which, const char *what, u64 value)
{
	check_failed(l->k, which, what, l->idx, value);
}

/* ---- memory ---- */

static const struct ref *chunk_of(const struct look *l, u32 i)
{
	const struct prioq *p = &l->q->msgs;

	return (const struct ref *)((const char *)p + p->table_off) +
	       (i >> p->shift);
}

/* Item idx, whose chunk was checked. */
static struct prio_item *item_at(const struct look *l, u32 idx)
{
	const struct prioq *p = &l->q->msgs;
	u32 at = (idx - 1) & ((1u << p->shift) - 1);

	return (struct prio_item *)region_at(
		       &l->k->region, chunk_of(l, idx - 1)->off) +
	       at;
}

/* Its struct prio_block, if its bytes are not inline. */
static struct prio_block *block_at(const struct look *l, u32 idx)
{
	const struct prioq *p = &l->q->msgs;
	u32 at = (idx - 1) & ((1u << p->shift) - 1);

	return (struct prio_block *)region_at(&l->k->region,
		       chunk_of(l, idx - 1)->off +
			       (sizeof(struct prio_item) << p->shift)) +
	       at;
}

static u32 stride_for(u32 inline_data)
{
	return inline_data ? (inline_data + 63) & ~63u
			   : (u32)sizeof(struct prio_block);
}

static int has_geometry(const struct mqueue *q)
{
	const struct prioq *p = &q->msgs;
	u32 shift = 0, size = 8 + p->stride;
	u64 table;

	if (!q->maxmsg || q->maxmsg > MQ_HARD_MAXMSG || !q->msgsize ||
		q->msgsize > MQ_HARD_MSGSIZE ||
		p->stride != stride_for(p->inline_data))
		return 0;
	while (shift < SHIFT_MAX && (size << (shift + 1)) <= CHUNK_SIZE)
		shift++;
	shift = shift < 3 ? 3 : shift;
	table = (((u64)p->cap + (1u << shift) - 1) >> shift) *
		sizeof(struct ref);
	return p->inline_data == (q->msgsize <= MQ_COPY_MAX
						 ? (q->msgsize + 7) & ~7u
						 : 0) &&
	       p->cap == q->maxmsg + MQ_SPARE_ITEMS && p->made <= p->cap &&
	       p->n_free <= p->made && p->shift == shift &&
	       p->table_off == sizeof(*q) &&
	       p->free_off == p->table_off + table &&
	       q->body_size == sizeof(*q) + table + (u64)p->cap * sizeof(u32);
}

/* 0 if items cannot be checked. */
static int check_chunks(struct look *l)
{
	const struct prioq *p = &l->q->msgs;
	u64 size = (sizeof(struct prio_item) + (u64)p->stride) << p->shift;
	u32 per = 1u << p->shift, i;
	int ok = 1;

	for (i = 0; i < p->cap; i += per) {
		const struct ref *ref = chunk_of(l, i);

		/* A thread that died may have left the next one. */
		if (!ref->off && i >= p->made)
			continue;
		ok &= check_block(l->k, *ref, size) != NULL && i <= p->made;
	}
	if (!ok)
		failed(l, INV_MQ_ITEM, "chunks, idx", p->made);
	return ok;
}

static void check_blocks(struct look *l)
{
	const struct prioq *p = &l->q->msgs;
	u32 i;

	for (i = 1; !p->inline_data && i <= p->made; i++) {
		const struct prio_block *b = block_at(l, i);

		if (b->data.off)
			check_block(l->k, b->data, b->cap);
	}
}

/* ---- items ---- */

/* 0 if it was seen before, or is no item. */
static int mark(struct look *l, u32 idx)
{
	u64 bit = 1ULL << idx % 64;

	if (!idx || idx > l->q->msgs.made || (l->items[idx / 64] & bit))
		return 0;
	l->items[idx / 64] |= bit;
	return 1;
}

static int has_space(const struct look *l, u32 idx, u32 len)
{
	const struct prio_block *b;

	if (len > l->q->msgsize)
		return 0;
	if (l->q->msgs.inline_data || !len)
		return 1;
	b = block_at(l, idx);
	return b->data.off && b->cap >= len;
}

static void check_fifo(struct look *l, u64 ends, u32 prio)
{
	u32 i = (u32)ends, last = (u32)(ends >> 32);

	for (;; i = item_at(l, i)->next) {
		if (!mark(l, i)) {
			failed(l, INV_MQ_FIFO, "items of priority, idx", prio);
			return;
		}
		if (!has_space(l, i, item_at(l, i)->len))
			failed(l, INV_MQ_BLOCK, "item's bytes, idx, item", i);
		l->n++;
		l->bytes += item_at(l, i)->len;
		if (i == last)
			return;
	}
}

static void check_free(struct look *l)
{
	const struct prioq *p = &l->q->msgs;
	const u32 *stack = (const u32 *)((const char *)p + p->free_off);
	u32 i;

	for (i = 0; i < p->n_free; i++)
		if (!mark(l, stack[i])) {
			failed(l, INV_MQ_ITEM, "free items, idx, item",
				stack[i]);
			return;
		}
	for (i = 1; i <= p->made; i++)
		if (!(l->items[i / 64] >> i % 64 & 1))
			failed(l, INV_MQ_ITEM, "item nowhere, idx", i);
}

/* ---- priorities ---- */

/* One leaf of 64 priorities, of which `live` have items. */
static void check_leaf(struct look *l, u32 g, u64 live, struct ref ref)
{
	const u64 *fifos =
		ref.off ? check_block(l->k, ref, 64 * sizeof(u64)) : NULL;
	u32 b, prio;

	if (live && !fifos) {
		failed(l, INV_MQ_LEVELS, "no leaf, idx, leaf", g);
		return;
	}
	for (b = 0; b < 64; b++) {
		prio = g * 64 + b;
		if (!(live >> b & 1))
			continue;
		if (prio >= l->q->msgs.first)
			failed(l, INV_MQ_LEVELS, "not below the first, idx",
				prio);
		check_fifo(l, fifos[b], prio);
	}
}

static void check_levels(struct look *l)
{
	const struct prioq *p = &l->q->msgs;
	const struct prio_levels *lv =
		check_block(l->k, p->levels, sizeof(*lv));
	u32 g, n = 0;

	if (!lv)
		return;
	for (g = 0; g < PRIO_LEAVES; g++) {
		n += lv->leaf[g].off != 0;
		if ((lv->top[g / 64] >> g % 64 & 1) != (lv->live[g] != 0) ||
			(lv->any >> g / 64 & 1) != (lv->top[g / 64] != 0))
			failed(l, INV_MQ_LEVELS, "bits, idx, leaf", g);
		check_leaf(l, g, lv->live[g], lv->leaf[g]);
	}
	if (n != p->n_leaves || lv->any >> PRIO_LEAVES / 64)
		failed(l, INV_MQ_LEVELS, "leaves, idx, should be", n);
}

static void check_messages(struct look *l)
{
	const struct prioq *p = &l->q->msgs;

	if (p->first >= MQ_N_PRIOS || !(u32)p->count != !p->ends)
		failed(l, INV_MQ_LEVELS, "first, idx", p->first);
	if (p->ends)
		check_fifo(l, p->ends, p->first);
	if (p->levels.off)
		check_levels(l);
	else if (p->n_leaves)
		failed(l, INV_MQ_LEVELS, "leaves of none, idx", p->n_leaves);
	if (p->count != (l->bytes << PRIOQ_N_SHIFT | l->n))
		failed(l, INV_MQ_COUNT, "count, idx, should be",
			l->bytes << PRIOQ_N_SHIFT | l->n);
	check_free(l);
}

/* ---- the rest ---- */

static s32 key_of(const struct mqueue *q)
{
	u32 h = 0x811c9dc5u, i;

	for (i = 0; i < q->name_len; i++)
		h = (h ^ (unsigned char)q->name[i]) * 0x01000193u;
	return h ? (s32)h : 1;
}

static void check_name(struct look *l, const struct slot *s)
{
	if (!l->q->name_len || l->q->name_len > MQ_NAME_MAX ||
		s->key != key_of(l->q) || s->size != l->q->maxmsg)
		failed(l, INV_MQ_NAME, "name and key, idx", (u32)s->key);
	if (l->q->unlinked > 1 || l->q->level > MQ_LEVEL_UNKNOWN)
		failed(l, INV_MQ_NAME, "state, idx", l->q->level);
	l->k->n_orphans += l->q->unlinked;
}

static u32 check_waiters(struct look *l, const struct slot *s,
	const struct wait_queue *q, u32 kind)
{
	struct check_sleepers w = {.q = q,
		.facility = FAC_MQ,
		.idx = l->idx,
		.ident = s->ident,
		.kind = kind};

	check_sleepers(l->k, &w);
	return w.n_live;
}

static void check_notify(struct look *l)
{
	const struct mq_notify *n = &l->q->notify;
	const struct thread *th;

	if (n->state > MQ_NOTIFY_ARMED)
		failed(l, INV_MQ_NOTIFY, "state, idx", n->state);
	if (n->state != MQ_NOTIFY_ARMED || !n->thread)
		return;
	if (n->thread >= N_THREADS) {
		failed(l, INV_MQ_NOTIFY, "thread, idx", n->thread);
		return;
	}
	th = region_thread(&l->k->region, n->thread);
	if (th->waiter.state == WAIT_QUEUED &&
		th->waiter.ident == l->q->token[0])
		l->k->n_queued++;
	else if (!wait_dead(&th->waiter))
		failed(l, INV_MQ_NOTIFY, "its thread, idx", n->thread);
}

static void check_lease(void *arg, struct lease *lease)
{
	struct look *l = arg;
	u32 i = lease->item;

	if (lease->state == LEASE_DONE || lease->prio >= MQ_N_PRIOS ||
		(lease->state == LEASE_HELD &&
			(lease->len > l->q->msgsize ||
				(lease->len && lease->cap < lease->len))))
		failed(l, INV_LEASE, "its message, idx, stamp", lease->stamp);
	if (lease->state == LEASE_BACK &&
		(i >= ITEMS_MOST || !(l->items[i / 64] >> i % 64 & 1)))
		failed(l, INV_LEASE, "its item, idx, item", lease->item);
}

/* What poll(2) reports: under the lock, taking which repairs what exited tasks
 * left. A process that cannot reach the FIFO (nameless) does not update it. */
static void check_ready(struct look *l)
{
	const struct mqueue *q = l->q;
	u32 n = prioq_count(&q->msgs);
	/* A caller of which only the region is used. */
	struct caller none = {.region = l->k->region}, *c = l->k->c;
	int level;

	if (!q->polled || q->level == MQ_LEVEL_UNKNOWN)
		return;
	if (!(q->polled & MQ_POLLED_NAMELESS) &&
		q->level != (n == 0		     ? 0u
				    : n >= q->maxmsg ? 2u
						     : 1u))
		failed(l, INV_MQ_READY, "level, idx", q->level);
	level = mq_fifo_level(c ? c : &none, q);
	if (level >= 0 && (u32)level != q->level)
		failed(l, INV_MQ_READY, "FIFO, idx", (u64)level);
}

void check_mqueue(struct check *k, u32 idx, struct slot *s)
{
	struct look *l = k->scratch;
	struct mqueue *q = region_span(&k->region, s->body, sizeof(*q));

	if (!q || !has_geometry(q) || !check_block(k, s->body, q->body_size)) {
		check_failed(k, INV_SLOT, "body, idx", idx, s->body.off);
		return;
	}
	__builtin_memset(l, 0, sizeof(*l));
	l->k = k;
	l->q = q;
	l->idx = idx;
	check_name(l, s);
	if (check_chunks(l)) {
		check_blocks(l);
		check_messages(l);
	}
	if (check_waiters(l, s, &q->receivers, RECEIVER) && l->n)
		failed(l, INV_MQ_COUNT, "asleep beside messages, idx", l->n);
	check_waiters(l, s, &q->senders, SENDER);
	check_leases(k, idx, &q->leases, q->leasing, check_lease, l);
	check_notify(l);
	check_ready(l);
}
_Static_assert(sizeof(struct look) <= CHECK_SCRATCH, "room for a look");

static const struct mqueue *orphan_at(const struct check *k, u32 link)
{
	const struct slot *s = region_slot(&k->region, FAC_MQ, link - 1);
	const struct mqueue *q = region_span(&k->region, s->body, sizeof(*q));

	return q && (s->ident & IDENT_LIVE) && q->unlinked ? q : NULL;
}

/* A circular list, linked both ways. */
void check_orphans(struct check *k)
{
	u32 first = region_header(&k->region)->mq_orphans, at = first, n = 0;
	const struct mqueue *q, *next;

	while (at && n <= k->n_orphans) {
		q = at <= IDX_MAX ? orphan_at(k, at) : NULL;
		next = q && q->orphan_next - 1 < IDX_MAX
			       ? orphan_at(k, q->orphan_next)
			       : NULL;
		if (!next || next->orphan_prev != at) {
			check_failed(k, INV_MQ_ORPHAN, "list, idx", at - 1, n);
			return;
		}
		n++;
		at = q->orphan_next == first ? 0 : q->orphan_next;
	}
	if (at || n != k->n_orphans)
		check_failed(k, INV_MQ_ORPHAN, "in the list, should be", n,
			k->n_orphans);
	if (region_header(&k->region)->mq_fifo[0])
		check_failed(
			k, INV_REMOVING, "FIFO without a queue", FAC_MQ, 0);
}
