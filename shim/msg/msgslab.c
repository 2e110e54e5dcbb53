// SPDX-License-Identifier: MIT
/*
 * Slabs of payload blocks; see msgslab.h. A cache line in front of each block
 * refers to its slab.
 *
 * Keeps INV_MSG_SLAB (inspect/check.h).
 */
#include "msg/msgslab.h"
#include "registry/damage.h"

#define SLAB_SIZE (128u << 10)
#define LINE 64u

static struct msg_slabs *slabs(struct caller *c)
{
	return &caller_header(c)->msg_slabs;
}

static struct msg_slab *slab_at(const struct caller *c, u32 link)
{
	return link_at(c, link);
}

static u32 slab_link(const struct caller *c, const struct msg_slab *s)
{
	return region_off(&c->region, s) >> 6;
}

static u32 n_blocks(u32 tier)
{
	return (SLAB_SIZE - sizeof(struct msg_slab)) /
	       (msgslab_cap(tier) + LINE);
}
_Static_assert((SLAB_SIZE - LINE) / (2048 + LINE) <= 64, "one word of bits");

static u64 all_used(u32 tier)
{
	return n_blocks(tier) == 64 ? ~0ULL : (1ULL << n_blocks(tier)) - 1;
}

/* The line in front of block i. */
static u32 *label(struct msg_slab *s, u32 tier, u32 i)
{
	return (u32 *)((char *)(s + 1) + i * (msgslab_cap(tier) + LINE));
}

/* ---- lists; part of an operation ---- */

static void list_push(struct caller *c, u32 *head, struct msg_slab *s)
{
	u32 link = slab_link(c, s);

	journal_set32(c, &s->next, *head);
	journal_set32(c, &s->prev, 0);
	if (*head)
		journal_set32(c, &slab_at(c, *head)->prev, link);
	journal_set32(c, head, link);
}

static void list_remove(struct caller *c, u32 *head, struct msg_slab *s)
{
	if (s->prev)
		journal_set32(c, &slab_at(c, s->prev)->next, s->next);
	else
		journal_set32(c, head, s->next);
	if (s->next)
		journal_set32(c, &slab_at(c, s->next)->prev, s->prev);
}

/* To the end of the list, so that the empty slab is used last. */
static void list_append(struct caller *c, u32 *head, struct msg_slab *s)
{
	struct msg_slab *last = slab_at(c, *head);
	struct walk w = {0};

	while (last && last->next && walk_goes_on(c, &w, last->next))
		last = slab_at(c, last->next);
	if (!last) {
		list_push(c, head, s);
		return;
	}
	journal_set32(c, &s->next, 0);
	journal_set32(c, &s->prev, slab_link(c, last));
	journal_set32(c, &last->next, slab_link(c, s));
}

/* ---- blocks ---- */

static int add_slab(struct caller *c, u32 tier)
{
	struct msg_slabs *all = slabs(c);
	struct msg_slab *s;
	u32 i;
	int err = heap_alloc_locked(c, SLAB_SIZE, &all->moving);

	if (err)
		return err;
	s = ref_must(c, all->moving);
	/* Not reachable yet: no journal. */
	*s = (struct msg_slab){0};
	for (i = 0; i < n_blocks(tier); i++)
		*label(s, tier, i) = slab_link(c, s);
	list_push(c, &all->partial[tier], s);
	journal_set64(c, &all->moving.off, 0);
	return 0;
}

static int alloc_locked(struct caller *c, u32 tier, struct ref *ret)
{
	struct msg_slabs *all = slabs(c);
	struct msg_slab *s;
	int err = all->partial[tier] ? 0 : add_slab(c, tier);
	u32 i;

	if (err)
		return err;
	s = slab_at(c, all->partial[tier]);
	if (unlikely(!s || c->damaged || !(~s->used & all_used(tier)))) {
		/* A damaged list is dropped; the next call begins a new
		 * one. */
		c->damaged = 0;
		journal_set32(c, &all->partial[tier], 0);
		journal_commit(c);
		return -ENOMEM;
	}
	i = __builtin_ctzll(~s->used);
	if (all->idle[tier] == slab_link(c, s))
		journal_set32(c, &all->idle[tier], 0);
	journal_set64(c, &s->used, s->used | 1ULL << i);
	if (s->used == all_used(tier)) {
		list_remove(c, &all->partial[tier], s);
		list_push(c, &all->full[tier], s);
	}
	journal_set64(
		c, &ret->off, region_off(&c->region, label(s, tier, i)) + LINE);
	return 0;
}

int msgslab_alloc_at(struct caller *c, u32 tier, struct ref *ret)
{
	int err;

	/* A new slab gets its pages before the lock is taken; if another thread
	 * has made one meanwhile it is given back. */
	if (unlikely(!atom_load_relaxed(&slabs(c)->partial[tier])))
		heap_prepare(c, SLAB_SIZE);
	heap_acquire(c);
	err = alloc_locked(c, tier, ret);
	if (err)
		journal_abort(c);
	journal_commit(c);
	heap_release(c);
	if (unlikely(region_thread(&c->region, c->thread)->ready.off))
		heap_settle(c);
	return err;
}

/* What to do with a slab that has become empty. */
struct gone {
	u64 off;  /* to be discarded after the commit; 0: none */
	int left; /* it is the thread's own */
};

static struct gone free_locked(struct caller *c, u32 tier, struct ref *ref)
{
	const struct gone none = {0, 0};
	struct msg_slabs *all = slabs(c);
	u32 *at = region_span(&c->region, (struct ref){ref->off - LINE}, LINE);
	struct msg_slab *s = at ? slab_at(c, *at) : NULL;
	u64 i, off;

	if (unlikely(!s || c->damaged)) {
		c->damaged = 0;
		return none;
	}
	i = ((char *)at - (char *)(s + 1)) / (msgslab_cap(tier) + LINE);
	if (i >= n_blocks(tier) || !(s->used >> i & 1))
		return none;
	if (s->used == all_used(tier)) {
		list_remove(c, &all->full[tier], s);
		list_push(c, &all->partial[tier], s);
	}
	journal_set64(c, &s->used, s->used & ~(1ULL << i));
	journal_set64(c, &ref->off, 0);
	if (s->used)
		return none;
	list_remove(c, &all->partial[tier], s);
	if (!all->idle[tier]) {
		list_append(c, &all->partial[tier], s);
		journal_set32(c, &all->idle[tier], slab_link(c, s));
		return none;
	}
	off = region_off(&c->region, s);
	journal_set64(c, &all->moving.off, off);
	if (heap_leave(c, SLAB_SIZE, &all->moving))
		return (struct gone){0, 1};
	if (!heap_free_locked(c, SLAB_SIZE, &all->moving))
		return none;
	return (struct gone){off, 0};
}

int msgslab_free_at(struct caller *c, u32 tier, struct ref *ref)
{
	struct gone gone;

	heap_acquire(c);
	gone = free_locked(c, tier, ref);
	journal_commit(c);
	/* Under the lock: it must not be allocated again before. */
	if (unlikely(gone.off))
		heap_discard(c, gone.off, SLAB_SIZE);
	heap_release(c);
	return gone.left;
}
