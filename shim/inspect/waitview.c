// SPDX-License-Identifier: MIT
/*
 * The graph of waiting; see waitview.h.
 */
#include "inspect/waitview.h"
#include "mq/mqueue.h"
#include "msg/msgqueue.h"
#include "sem/sem.h"
#include "sem/semop.h"

/* Looks at one sleeper's object without its lock; arbitrary. */
#define PEEKS_MOST 16

struct edges {
	struct wait_edge *ret;
	u32 n, found;
	int peek;
};

static void add(struct edges *to, const struct wait_edge *e)
{
	if (to->found < to->n)
		to->ret[to->found] = *e;
	to->found++;
}

/* Slot lock held: what the sleeper's array is blocked at, and who has it. */
static void add_sem(struct caller *c, const struct slot *s,
	const struct waiter *w, struct wait_edge *e, struct edges *to)
{
	u32 before = to->found, n, at = atom_load_relaxed(&w->block_op);
	const struct semset *set = sem_body(c, s);
	const struct sop *sops = waiter_sops(c, w, &n);
	const struct undo *u;
	struct walk walk = {0};

	if (!set || !sops || at >= n || sops[at].num >= sem_count(s))
		return;
	e->num = sops[at].num;
	e->op = sops[at].op;
	e->what = e->op ? WAIT_FOR_UNITS : WAIT_FOR_ZERO;
	for (u = e->op < 0 ? undo_at(c, ref_long(set->undo_active)) : NULL;
		u && undo_walk(c, &walk, u); u = undo_at(c, u->active_next)) {
		if (e->num >= u->n_sems || u->adj[e->num] <= 0)
			continue;
		e->holder = region_task(&c->region, u->task)->pid;
		add(to, e);
	}
	e->holder = 0;
	if (to->found == before)
		add(to, e);
}

static void lock_slot(struct caller *c, u32 f, struct slot *s)
{
	if (f == FAC_SEM)
		sem_lock_any(c, s);
	else if (f == FAC_MSG)
		msg_lock_any(c, s);
	else
		mq_lock_any(c, s);
}

/* Slot lock held, or what is found is thrown away unless it was free. */
static void add_waiter(struct caller *c, const struct slot *s,
	const struct thread *th, struct edges *to)
{
	const struct waiter *w = &th->waiter;
	u32 f = w->facility;
	struct wait_edge e = {
		.pid = w->pid,
		.tid = th->tid,
		.facility = f,
		.id = IDENT_ID(w->ident),
		.since = w->since,
		.what = w->kind == (f == FAC_MSG ? (u32)MSG_Q_SENDER : 0)
				? WAIT_FOR_SPACE
				: WAIT_FOR_MESSAGE,
	};

	/* A thread that waits for a notification has another ident. */
	if (w->state != WAIT_QUEUED || w->ident != s->ident)
		return;
	if (f == FAC_SEM)
		add_sem(c, s, w, &e, to);
	else
		add(to, &e);
}

static void peek_waiter(struct caller *c, const struct slot *s,
	const struct thread *th, struct edges *to)
{
	u32 before = to->found;
	int i, free;
	u64 count;

	for (i = 0; i < PEEKS_MOST; i++) {
		free = lock_peek_begin(&s->lock, &count);
		if (free)
			add_waiter(c, s, th, to);
		if (free && lock_peek_valid(&s->lock, count))
			return;
		to->found = before;
		arch_pause();
	}
}

static void add_sleeper(struct caller *c, u32 thread, struct edges *to)
{
	const struct thread *th = region_thread(&c->region, thread);
	const struct waiter *w = &th->waiter;
	u32 f = w->facility;
	struct sem_stat st;
	struct slot *s;

	if (atom_load_acquire(&w->state) != WAIT_QUEUED || wait_dead(w) ||
		f >= N_FAC || f == FAC_SHM || w->slot_idx > ids_mask(c))
		return;
	s = region_slot(&c->region, f, w->slot_idx);
	if (to->peek) {
		if (ids_used(c, f, w->slot_idx))
			peek_waiter(c, s, th, to);
		return;
	}
	/* For its reaping. */
	if (f == FAC_SEM)
		sem_stat(c, (s32)w->slot_idx, OBJECT_BY_IDX_ANY, &st);
	lock_slot(c, f, s);
	add_waiter(c, s, th, to);
	if (f == FAC_SEM)
		sem_unlock(c, s);
	else
		lock_release(c, &s->lock);
}

static s32 all_edges(struct caller *c, struct edges *to)
{
	u32 i = 1;

	for (; (i = thread_next(&c->region, i)) < N_THREADS; i++)
		add_sleeper(c, i, to);
	return (s32)to->found;
}

s32 wait_edges(struct caller *c, struct wait_edge *ret, u32 n)
{
	struct edges to = {ret, n, 0, 0};
	int err = caller_enroll(c);

	return err ? err : all_edges(c, &to);
}

s32 wait_edges_peek(struct caller *c, struct wait_edge *ret, u32 n)
{
	struct edges to = {ret, n, 0, 1};

	return all_edges(c, &to);
}

/* Does the holder wait for somebody, and somebody for the waiter? */
static int leads_on(const struct wait_edge *edges, u32 n, u32 at)
{
	int after = 0, before = 0;
	u32 i;

	for (i = 0; i < n && !(after && before); i++) {
		if (!edges[i].in_circle)
			continue;
		after |= edges[i].pid == edges[at].holder;
		before |= edges[i].holder == edges[at].pid;
	}
	return after && before;
}

u32 wait_circles(struct wait_edge *edges, u32 n)
{
	u32 i, left = 0;
	int changed;

	for (i = 0; i < n; i++)
		left += edges[i].in_circle = edges[i].holder != 0;
	/* What begins or ends nowhere is on no circle; then again. */
	do {
		changed = 0;
		for (i = 0; i < n; i++) {
			if (!edges[i].in_circle || leads_on(edges, n, i))
				continue;
			edges[i].in_circle = 0;
			changed = 1;
			left--;
		}
	} while (changed);
	return left;
}
