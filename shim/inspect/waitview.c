// SPDX-License-Identifier: MIT
/*
 * The graph of waiting; see waitview.h.
 */
#include "inspect/waitview.h"

#include <errno.h>
#include <stdlib.h>

#include "mq/mqueue.h"
#include "msg/msgqueue.h"
#include "sem/sem.h"
#include "sem/semop.h"

/* Most tries to read one sleeper's object without its lock. Arbitrary. */
#define PEEKS_MOST 16

/* For all sleepers together: holders listed beyond the first of each, and undo
 * records read. Both arbitrary: a thousand sleepers that wait for a thousand
 * holders would be a million of each. */
#define MORE_HOLDERS 65536u
#define LOOKS_MOST (4u << 20)

struct edges {
	struct wait_edge *ret;
	u32 n, found;
	int peek;
	u32 more, looks; /* of those that the two limits are for */
};

static void add(struct edges *to, const struct wait_edge *e)
{
	if (to->found < to->n)
		to->ret[to->found] = *e;
	to->found++;
}

/* Slot lock held: the operation that blocks the sleeper, and its holders. */
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
		u && to->looks < LOOKS_MOST && undo_walk(c, &walk, u);
		u = undo_at(c, u->active_next)) {
		to->looks++;
		if (e->num >= u->n_sems || u->adj[e->num] <= 0)
			continue;
		if (to->found != before && to->more++ >= MORE_HOLDERS)
			break;
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

/* Slot lock held; or not, and the result is dropped unless the lock was
 * free. */
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

	/* The ident of a thread that waits for a notification differs. */
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
	/* For the reaping that it does. */
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
	struct edges to = {.ret = ret, .n = n};
	int err = caller_enroll(c);

	return err ? err : all_edges(c, &to);
}

s32 wait_edges_peek(struct caller *c, struct wait_edge *ret, u32 n)
{
	struct edges to = {.ret = ret, .n = n, .peek = 1};

	return all_edges(c, &to);
}

/* ---- circles ---- */

/* An end of an edge at a process: at = edge << 1, + 1 at the holder. */
struct end {
	u32 pid, at;
};

/* A process: its ends are from `first` up to the next node's; and the numbers
 * of remaining edges that leave it, and arrive. */
struct node {
	u32 first, left[2];
};

struct net {
	struct wait_edge *edges;
	struct end *ends;   /* in the order of pids */
	u32 *of;	    /* the node of each end, by end.at */
	struct node *nodes; /* one behind the last, too */
	u32 *stack;	    /* nodes that are on no circle */
	u32 n_ends, n_nodes, n_stack, left;
};

static int by_pid(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid)
				: (x->at > y->at) - (x->at < y->at);
}

/* 0 if there is no memory for n edges. */
static int net_init(struct net *t, struct wait_edge *edges, u32 n)
{
	const size_t ends = 2 * (size_t)n;

	*t = (struct net){.edges = edges,
		.ends = malloc(ends * sizeof(*t->ends)),
		.of = malloc(ends * sizeof(*t->of)),
		.nodes = calloc(ends + 1, sizeof(*t->nodes)),
		.stack = malloc(2 * ends * sizeof(*t->stack))};
	return t->ends && t->of && t->nodes && t->stack;
}

static void net_deinit(struct net *t)
{
	free(t->ends);
	free(t->of);
	free(t->nodes);
	free(t->stack);
}

static void net_read(struct net *t, u32 n)
{
	u32 i, at;

	for (i = 0; i < n; i++) {
		t->edges[i].in_circle = t->edges[i].holder != 0;
		if (!t->edges[i].holder)
			continue;
		t->ends[t->n_ends++] = (struct end){t->edges[i].pid, i << 1};
		t->ends[t->n_ends++] =
			(struct end){t->edges[i].holder, i << 1 | 1};
		t->left++;
	}
	qsort(t->ends, t->n_ends, sizeof(*t->ends), by_pid);
	for (i = 0; i < t->n_ends; i++) {
		at = t->ends[i].at;
		if (!i || t->ends[i].pid != t->ends[i - 1].pid)
			t->nodes[t->n_nodes++].first = i;
		t->of[at] = t->n_nodes - 1;
		t->nodes[t->n_nodes - 1].left[at & 1]++;
	}
	t->nodes[t->n_nodes].first = t->n_ends;
}

/* Remove all edges of a node without leaving, or without arriving, edges. A
 * node is pushed at most once for each of the two reasons. */
static void net_take_off(struct net *t, u32 node)
{
	u32 i, at, other;

	for (i = t->nodes[node].first; i < t->nodes[node + 1].first; i++) {
		at = t->ends[i].at;
		if (!t->edges[at >> 1].in_circle)
			continue;
		t->edges[at >> 1].in_circle = 0;
		t->left--;
		t->nodes[node].left[at & 1]--;
		other = t->of[at ^ 1];
		if (!--t->nodes[other].left[~at & 1])
			t->stack[t->n_stack++] = other;
	}
}

s32 wait_circles(struct wait_edge *edges, u32 n)
{
	struct net t;
	s32 left = -ENOMEM;
	u32 i;

	if (!n)
		return 0;
	if (net_init(&t, edges, n)) {
		net_read(&t, n);
		for (i = 0; i < t.n_nodes; i++)
			if (!t.nodes[i].left[0] || !t.nodes[i].left[1])
				t.stack[t.n_stack++] = i;
		/* A node without one or the other is on no cycle; repeat. */
		while (t.n_stack)
			net_take_off(&t, t.stack[--t.n_stack]);
		left = (s32)t.left;
	}
	net_deinit(&t);
	return left;
}

/* ---- the second reading ---- */

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* 0: the same sleeper, in the same sleep, and the same holder. */
static int by_sleep(const void *a, const void *b)
{
	const struct wait_edge *x = *(const struct wait_edge *const *)a,
			       *y = *(const struct wait_edge *const *)b;
	const int order[] = {ORDER(x->tid, y->tid),
		ORDER(x->facility, y->facility), ORDER(x->id, y->id),
		ORDER(x->num, y->num), ORDER(x->holder, y->holder),
		ORDER(x->since, y->since)};
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (order[i])
			return order[i];
	return 0;
}

s32 wait_circles_confirm(struct wait_edge *edges, u32 n,
	const struct wait_edge *before, u32 n_before)
{
	const struct wait_edge **was, *e;
	u32 i, n_was = 0;
	s32 confirmed = 0;

	was = malloc((n_before + 1) * sizeof(const struct wait_edge *));
	if (!was)
		return -ENOMEM;
	for (i = 0; i < n_before; i++)
		if (before[i].in_circle)
			was[n_was++] = &before[i];
	qsort(was, n_was, sizeof(const struct wait_edge *), by_sleep);
	for (i = 0; i < n; i++) {
		e = &edges[i];
		if (e->in_circle != WAIT_CIRCLE ||
			!bsearch(&e, was, n_was,
				sizeof(const struct wait_edge *), by_sleep))
			continue;
		edges[i].in_circle = WAIT_CIRCLE_AGAIN;
		confirmed++;
	}
	free(was);
	return confirmed;
}
