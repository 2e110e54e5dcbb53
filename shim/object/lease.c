// SPDX-License-Identifier: MIT
/*
 * The records of leases; see lease.h.
 *
 * Keeps INV_LEASE (inspect/check.h).
 */
#include "object/lease.h"
#include "registry/heap.h"
#include "registry/wait.h"

u32 lease_holder;

/*
 * Records of this thread that its waiter no longer refers to because a handler
 * made calls; the interrupted calls return later. Private, for only this
 * process acknowledges them. An entry left by siglongjmp stays until others
 * displace it.
 */
#define KEPT_MOST 8u /* arbitrary: handlers within handlers */
static __thread struct {
	u32 n;
	u32 tid; /* whose; a fork child finds its parent's */
	u64 off[KEPT_MOST];
} kept __attribute__((tls_model("initial-exec")));

/* The record that the waiter refers to; 0 = none. */
static u64 named(const struct waiter *w)
{
	return w->facility == FAC_MSG  ? w->msg.lease.off
	       : w->facility == FAC_MQ ? w->lease_mq.off
				       : 0;
}

/* 1 if the call that received it has not returned: until then the thread's
 * waiter refers to the record, or it is kept. */
static int undelivered(const struct caller *c, const struct lease *l)
{
	const struct waiter *w = &region_thread(&c->region, l->thread)->waiter;
	u64 off = region_off(&c->region, l);
	u32 i;

	if (l->state != LEASE_HELD)
		return 0;
	for (i = 0; i < kept.n && lease_is_own(c, l); i++)
		if (kept.off[i] == off && kept.tid == c->tid)
			return 1;
	return named(w) == off;
}

u32 lease_keep(struct caller *c)
{
	struct ref ref = {named(wait_own(c))};
	const struct lease *l = ref.off ? lease_at(c, ref) : NULL;
	u32 n = kept.tid == c->tid ? kept.n : 0, i;

	/* A record taken over from a dead thread may have a reference of that
	 * one. */
	if (likely(!l) || l->state != LEASE_HELD || !lease_is_own(c, l))
		return n;
	kept.tid = c->tid;
	if (n == KEPT_MOST) {
		for (i = 1; i < n; i++)
			kept.off[i - 1] = kept.off[i];
		n--;
	}
	kept.off[n] = ref.off;
	kept.n = n + 1;
	return n + 1;
}

static struct ref *noted(const struct caller *c, enum facility f)
{
	struct waiter *w = wait_own(c);

	return f == FAC_MSG ? &w->msg.lease : &w->lease_mq;
}

u32 lease_note(struct caller *c, enum facility f, const struct lease *l)
{
	u32 n = lease_keep(c);

	wait_own(c)->facility = f;
	atom_store_release(&noted(c, f)->off, region_off(&c->region, l));
	return n + 1;
}

void lease_note_end(struct caller *c, enum facility f, u32 note)
{
	if (kept.n > note - 1)
		kept.n = note - 1;
	if (wait_own(c)->facility == f)
		atom_store_release(&noted(c, f)->off, 0);
}

/* 1 if the holder's process has exited; look: how thoroughly to check. */
static int orphaned(
	const struct caller *c, const struct lease *l, enum task_look look)
{
	struct task *t = region_task(&c->region, l->task);

	/* The task is another process's by now: the holder was reaped. */
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

/* Add a record to the list of free ones. */
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
	/* Not reachable yet: plain stores. */
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
		if (!l &&
			(make(c, ls, leasing) || !(l = lease_at(c, ls->free))))
			return NULL;
		/* Not read while the record is free: no journal. */
		atom_store_release(&l->task, c->task);
		atom_store_release(&l->pid, c->pid);
		atom_store_release(&l->tid, c->tid);
		atom_store_release(&l->thread, c->thread);
		atom_store_release(&l->prio, 0);
		atom_store_release(&l->start, task_own(c)->start);
		journal_set_ref(c, &ls->free, l->next);
		journal_set_ref(c, &l->next, ls->used);
		journal_set64(c, &ls->used.off, region_off(&c->region, l));
		journal_set32(c, &l->state, LEASE_READY);
		journal_commit(c);
	}
	/* The record may be from before exec. */
	if (unlikely(atom_load_relaxed(&lease_holder) != c->pid))
		atom_store_release(&lease_holder, c->pid);
	if (l->data.off ? l->cap >= cap : !cap)
		return l;
	if (l->data.off)
		heap_free_at(c, l->cap, &l->data);
	cap = heap_block_size(cap);
	atom_store_release(&l->cap, cap);
	return heap_alloc_at(c, cap, &l->data) ? NULL : l;
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

/* Which of the other threads of this process with leases is checked next. Any
 * value is right. */
static u32 turn;

static int others_turn(struct caller *c, const struct lease *l, u32 *n)
{
	return l->state == LEASE_HELD && lease_is_ours(c, l) &&
	       (*n)++ == turn &&
	       sys_call(__NR_tgkill, c->pid, l->tid, 0) == -ESRCH;
}

static enum lease_ending ended(struct caller *c, const struct lease *l)
{
	return undelivered(c, l) ? LEASE_PUT_BACK : LEASE_END;
}

enum lease_ending lease_own(
	struct caller *c, const struct lease *l, enum task_look look, u32 *n)
{
	(void)look;
	if (!lease_is_own(c, l))
		return unlikely(others_turn(c, l, n)) ? ended(c, l)
						      : LEASE_KEEP;
	if (l->state != LEASE_HELD && l->state != LEASE_DONE)
		return LEASE_KEEP;
	return unlikely(undelivered(c, l)) ? LEASE_KEEP : LEASE_END;
}

enum lease_ending lease_ours(
	struct caller *c, const struct lease *l, enum task_look look, u32 *n)
{
	(void)look, (void)n;
	/* A READY record may be a sleeping thread's. */
	if (!lease_is_ours(c, l) || l->state == LEASE_BACK ||
		l->state == LEASE_READY)
		return LEASE_KEEP;
	return ended(c, l);
}

enum lease_ending lease_orphans(
	struct caller *c, const struct lease *l, enum task_look look, u32 *n)
{
	(void)n;
	if (l->state == LEASE_BACK || lease_is_ours(c, l) ||
		likely(!orphaned(c, l, look)))
		return LEASE_KEEP;
	return l->state == LEASE_HELD	? LEASE_PUT_BACK
	       : l->state == LEASE_DONE ? LEASE_END
					: LEASE_DROP;
}

enum lease_ending lease_return(
	struct caller *c, const struct lease *l, enum task_look look, u32 *n)
{
	(void)look, (void)n;
	return lease_is_own(c, l) && l->state == LEASE_HELD &&
			       !undelivered(c, l)
		       ? LEASE_PUT_BACK
		       : LEASE_KEEP;
}

/* Is a received before b? System V queues have no priority here. */
static int before(const struct lease *a, const struct lease *b)
{
	return a->prio != b->prio ? a->prio > b->prio : a->stamp < b->stamp;
}

/* End all leases but those to be put back; returns the first of these, or
 * NULL. */
static struct ref *walk_once(struct caller *c, struct leases *ls,
	lease_decide *decide, enum task_look look,
	const struct lease_ends *ends, void *arg)
{
	struct ref *at = &ls->used, *first = NULL;
	struct walk w = {0};
	struct lease *l;
	u32 n = 0;
	u64 was;

	while ((l = lease_step(c, &w, *at))) {
		was = at->off;
		switch (decide(c, l, look, &n)) {
		case LEASE_END:
			ends->end(c, arg, at);
			break;
		case LEASE_PUT_BACK:
			if (!first || before(l, lease_at(c, *first)))
				first = at;
			break;
		case LEASE_DROP:
			lease_free(c, ls, at);
			journal_commit(c);
			break;
		default:
			break;
		}
		if (at->off == was) {
			at = &l->next;
			continue;
		}
		/* The place found was in the record that was freed. */
		at = &ls->used;
		first = NULL;
		w = (struct walk){0};
		n = 0;
	}
	__atomic_store_n(&turn, turn < n ? turn + 1 : 0, __ATOMIC_RELAXED);
	return first;
}

/* The first of the messages of the exited process that has the one at `found`:
 * the walk may have kept an older one because the process ended only then. */
static struct ref *first_of_process(
	struct caller *c, struct leases *ls, struct ref *found)
{
	const struct lease *of = lease_at(c, *found);
	struct ref *at = &ls->used, *first = found;
	struct walk w = {0};
	struct lease *l;

	for (; (l = lease_step(c, &w, *at)); at = &l->next)
		if (l->state == LEASE_HELD && l->task == of->task &&
			l->pid == of->pid && l->start == of->start &&
			before(l, lease_at(c, *first)))
			first = at;
	return first;
}

u32 lease_walk(struct caller *c, struct leases *ls, lease_decide *decide,
	enum task_look look, const struct lease_ends *ends, void *arg)
{
	struct ref *first;
	u32 n_back = 0;

	while (n_back < LEASE_MOST &&
		(first = walk_once(c, ls, decide, look, ends, arg))) {
		if (decide == lease_orphans)
			first = first_of_process(c, ls, first);
		if (!ends->put_back(c, arg, first) || c->damaged)
			break;
		n_back++;
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
	/* A damaged reference: the rest of the list is dropped. */
	if (!heap_free_locked(c, sizeof(*l), list))
		next.off = 0;
	journal_set_ref(c, list, next);
	journal_commit(c);
	heap_release(c);
	return 1;
}
