// SPDX-License-Identifier: MIT
/*
 * The records of leases; see lease.h.
 *
 * Keeps INV_LEASE (inspect/check.h).
 */
#include "object/lease.h"
#include "registry/heap.h"
#include "registry/thread.h"

u32 lease_holder;

int lease_orphaned(
	const struct caller *c, const struct lease *l, enum task_look look)
{
	struct task *t = region_task(&c->region, l->task);

	/* Of another process by now: it was reaped. */
	if (atom_load_relaxed(&t->state) != TASK_LIVE || t->pid != l->pid ||
		!identity_same(t->start, l->start))
		return 1;
	return t != task_own(c) && task_look(c, t, look);
}

static struct lease *find_ready(struct caller *c, struct leases *ls)
{
	struct ref *at = &ls->used;
	struct walk w = {0};
	struct lease *l;

	for (; (l = lease_step(c, &w, *at)); at = &l->next)
		if (l->state == LEASE_READY && lease_is_own(c, l))
			return l;
	return NULL;
}

/* A record into the list of free ones. */
static int make(struct caller *c, struct leases *ls, u32 *leasing)
{
	struct lease *l;
	int err = 0;

	if (!ls->spare.off)
		err = heap_alloc_at(c, sizeof(*l), &ls->spare);
	if (err)
		return err;
	l = lease_at(c, ls->spare);
	if (!l)
		return -ENOMEM;
	/* Nobody reaches it yet: plain stores. */
	*l = (struct lease){.next = ls->free};
	journal_set_ref(c, &ls->free, ls->spare);
	journal_set64(c, &ls->spare.off, 0);
	if (!(*leasing & LEASES_MADE))
		journal_set32(c, leasing, *leasing | LEASES_MADE);
	journal_commit(c);
	return 0;
}

struct lease *lease_ready(
	struct caller *c, struct leases *ls, u32 *leasing, u64 cap)
{
	struct lease *l = find_ready(c, ls);

	if (!l) {
		l = lease_at(c, ls->free);
		if (!l && (make(c, ls, leasing) ||
				  !(l = lease_at(c, ls->free))))
			return NULL;
		/* Of a free record these mean nothing. */
		atom_store_release(&l->task, c->task);
		atom_store_release(&l->pid, c->pid);
		atom_store_release(&l->tid, c->tid);
		atom_store_release(&l->start, task_own(c)->start);
		journal_set_ref(c, &ls->free, l->next);
		journal_set_ref(c, &l->next, ls->used);
		journal_set64(c, &ls->used.off, region_off(&c->region, l));
		journal_set32(c, &l->state, LEASE_READY);
		journal_commit(c);
		atom_store_release(&lease_holder, c->pid);
	}
	if (l->data.off ? l->cap >= cap : !cap)
		return l;
	if (l->data.off)
		heap_free_at(c, l->cap, &l->data);
	atom_store_release(&l->cap, heap_block_size(cap));
	return heap_alloc_at(c, l->cap, &l->data) ? NULL : l;
}

void lease_hold(struct caller *c, struct lease *l, u64 stamp)
{
	journal_set32(c, &l->state, LEASE_HELD);
	journal_set64(c, &l->stamp, stamp);
	atom_store_release(&l->since, sys_realtime_sec());
}

void lease_free(struct caller *c, struct leases *ls, struct ref *at)
{
	struct lease *l = lease_at(c, *at);
	u64 off = at->off;

	if (unlikely(!l))
		return;
	journal_set64(c, &at->off, l->next.off);
	journal_set_ref(c, &l->next, ls->free);
	journal_set64(c, &ls->free.off, off);
	journal_set32(c, &l->state, LEASE_FREE);
}

/* ---- many at once ---- */

enum lease_ending lease_own(
	struct caller *c, const struct lease *l, enum task_look look)
{
	(void)look;
	return (l->state == LEASE_HELD || l->state == LEASE_DONE) &&
			       lease_is_own(c, l)
		       ? LEASE_END
		       : LEASE_KEEP;
}

enum lease_ending lease_ours(
	struct caller *c, const struct lease *l, enum task_look look)
{
	(void)look;
	if (!lease_is_ours(c, l) || l->state == LEASE_BACK)
		return LEASE_KEEP;
	return l->state == LEASE_READY ? LEASE_DROP : LEASE_END;
}

enum lease_ending lease_orphans(
	struct caller *c, const struct lease *l, enum task_look look)
{
	if (l->state == LEASE_BACK)
		return LEASE_KEEP;
	if (lease_is_ours(c, l))
		return look && l->tid != c->tid && thread_gone(c, l->tid)
			       ? lease_ours(c, l, look)
			       : LEASE_KEEP;
	if (likely(!lease_orphaned(c, l, look)))
		return LEASE_KEEP;
	return l->state == LEASE_HELD	? LEASE_PUT_BACK
	       : l->state == LEASE_DONE ? LEASE_END
					: LEASE_DROP;
}

u32 lease_walk(struct caller *c, struct leases *ls, lease_decide *decide,
	enum task_look look, const struct lease_ends *ends, void *arg)
{
	struct ref *at = &ls->used;
	struct walk w = {0};
	u32 n_back = 0;
	struct lease *l;
	u64 was;

	while ((l = lease_step(c, &w, *at))) {
		was = at->off;
		switch (decide(c, l, look)) {
		case LEASE_END:
			ends->end(c, arg, at);
			break;
		case LEASE_PUT_BACK:
			n_back += ends->put_back(c, arg, at) != 0;
			break;
		case LEASE_DROP:
			lease_free(c, ls, at);
			journal_commit(c);
			break;
		default:
			break;
		}
		if (at->off == was)
			at = &l->next;
		else
			w = (struct walk){0};
	}
	if (unlikely(c->damaged)) {
		damage_abort(c);
		atom_store_release(&ls->used.off, 0);
	}
	return n_back;
}

int lease_dispose(struct caller *c, struct leases *ls,
	void (*drop)(struct caller *c, struct lease *l))
{
	struct ref *list = ls->used.off ? &ls->used : &ls->free;
	struct lease *l = lease_at(c, *list);
	struct ref next;

	if (!l) {
		if (list->off)
			atom_store_release(&list->off, 0);
		if (ls->spare.off)
			heap_free_at(c, sizeof(*l), &ls->spare);
		return 0;
	}
	if (drop)
		drop(c, l);
	if (l->data.off)
		heap_free_at(c, l->cap, &l->data);
	heap_acquire(c);
	next = l->next;
	/* What leads nowhere frees nothing: the rest of the list is lost. */
	if (!heap_free_locked(c, sizeof(*l), list))
		next.off = 0;
	journal_set_ref(c, list, next);
	journal_commit(c);
	heap_release(c);
	return 1;
}
