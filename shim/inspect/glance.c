// SPDX-License-Identifier: MIT
/*
 * See glance.h. Whatever is read may be of different moments, or damaged: each
 * word is loaded once, references are checked, walks end.
 */
#include "inspect/glance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "msg/msgqueue.h"
#include "object/lease.h"
#include "registry/bias.h"
#include "registry/task.h"
#include "sem/semset.h"
#include "sem/undo.h"
#include "shm/shmattach.h"

/* Semaphores of a set that are read for its last use. Arbitrary. */
#define SEMS_LOOKED 1024u

/* ---- arrays that grow ---- */

/* Space for one more of `size` bytes, zeroed, or NULL. */
static void *grow(struct glance *g, void *array, u32 *n, size_t size)
{
	char **at = array, *p = *at;

	/* At each power of two from 16 on. */
	if (!p || (*n >= 16 && !(*n & (*n - 1)))) {
		p = realloc(p, (*n < 16 ? 16 : 2 * (size_t)*n) * size);
		if (!p) {
			g->failed = 1;
			return NULL;
		}
		*at = p;
	}
	p += (*n)++ * size;
	memset(p, 0, size);
	return p;
}

/* ---- objects ---- */

static void fill_sem(
	struct caller *c, const struct slot *s, struct glance_object *o)
{
	struct semset *set = sem_body(c, s);
	u32 i, n = sem_count(s), owned = 0;

	o->depth = n;
	if (!set)
		return;
	if (n > SEMS_LOOKED)
		n = SEMS_LOOKED;
	for (i = 0; i < n; i++) {
		const struct sem *sem = &sem_array(set)[i];
		s64 otime = SEM_OTIME(atom_load_relaxed(&sem->hi));

		owned += (atom_load_relaxed(&sem->lo) & SEM_OWNED) != 0;
		if (otime > o->used)
			o->used = otime;
	}
	o->lockless |= owned < n;
}

static s64 later(s64 a, s64 b)
{
	return a > b ? a : b;
}

static void fill_msg(
	struct caller *c, const struct slot *s, struct glance_object *o)
{
	const struct msgqueue *q = msg_body(c, s);
	u64 count;

	if (!q)
		return;
	count = atom_load_relaxed(&q->count);
	o->depth = MSG_NUM(count);
	o->bytes = MSG_BYTES(count);
	o->bytes_most = atom_load_relaxed(&q->qbytes);
	o->sent = atom_load_relaxed(&q->stamp);
	o->used = later(q->stime, q->rtime);
}

static void fill_shm(
	struct caller *c, const struct slot *s, struct glance_object *o)
{
	const struct shm_segment *seg = shm_body(c, s);

	if (!seg)
		return;
	o->bytes = atom_load_relaxed(&seg->size);
	o->depth = atom_load_relaxed(&seg->nattch);
	o->used = later(seg->atime, seg->dtime);
}

static void fill_mq(
	struct caller *c, const struct slot *s, struct glance_object *o)
{
	const struct mqueue *q = mq_body(c, s);
	u64 count;

	if (!q)
		return;
	count = atom_load_relaxed(&q->msgs.count);
	o->depth = count & ((1u << 20) - 1);
	o->depth_most = q->maxmsg;
	o->bytes = count >> 20;
	o->bytes_most = (u64)q->maxmsg * q->msgsize;
	o->used = later(q->atime, q->mtime) / 1000000000;
	o->name[0] = '/';
	memcpy(o->name + 1, q->name, MQ_NAME_MAX);
}

/* 1, or 0 if there is no object, or not the same one all the time. */
static int fill_object(
	struct caller *c, u32 f, u32 idx, struct glance_object *o)
{
	static void (*const fill[N_FAC])(struct caller * c,
		const struct slot *s, struct glance_object *o) = {
		fill_sem, fill_msg, fill_shm, fill_mq};
	const struct slot *s = region_slot(&c->region, (enum facility)f, idx);
	u64 ident;

	ident = atom_load_acquire(&s->ident);
	if (!(ident & IDENT_LIVE))
		return 0;
	*o = (struct glance_object){
		.facility = f,
		.idx = idx,
		.ident = ident,
		.id = f == FAC_MQ ? (s32)idx : IDENT_ID(ident),
		.key = s->key,
		.uid = s->uid,
		.mode = s->mode,
		.lockless = atom_load_relaxed(&s->bias) != 0,
		.locks = lock_count(&s->lock),
		.held = atom_load_relaxed(&s->lock.n_found_held),
		.slept = atom_load_relaxed(&s->lock.n_held_wanted),
	};
	fill[f](c, s, o);
	return atom_load_acquire(&s->ident) == ident;
}

static void take_objects(struct glance *g)
{
	struct glance_object o, *to;
	u32 f, idx;

	for (f = 0; f < N_FAC; f++)
		for (idx = 0;
			(idx = ids_next(g->c, (enum facility)f, idx)) < IDX_MAX;
			idx++) {
			if (!fill_object(g->c, f, idx, &o))
				continue;
			to = grow(g, &g->objects, &g->n_objects, sizeof(o));
			if (to)
				*to = o;
		}
}

/* ---- sleepers ---- */

/* Objects are in order of facility and idx. */
static struct glance_object *find_object(struct glance *g, u32 f, u32 idx)
{
	u32 low = 0, high = g->n_objects, at;

	while (low < high) {
		const struct glance_object *o;

		at = low + (high - low) / 2;
		o = &g->objects[at];
		if (o->facility == f && o->idx == idx)
			return &g->objects[at];
		if (o->facility < f || (o->facility == f && o->idx < idx))
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

static void note_since(u32 *n, s64 *oldest, s64 since)
{
	if (!(*n)++ || since < *oldest)
		*oldest = since;
}

/* In order of idx, too. */
static struct glance_task *find_task(struct glance *g, u32 idx)
{
	u32 low = 0, high = g->n_tasks, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (g->tasks[at].idx == idx)
			return &g->tasks[at];
		if (g->tasks[at].idx < idx)
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

static void take_thread(struct glance *g, const struct thread *th)
{
	const struct waiter *w = &th->waiter;
	struct glance_task *t = find_task(g, th->task);
	struct glance_object *o;

	if (!atom_load_acquire(&th->tid))
		return;
	if (t)
		t->n_threads++;
	if (atom_load_acquire(&w->state) != WAIT_QUEUED || wait_dead(w))
		return;
	if (t)
		note_since(&t->n_waiting, &t->oldest, w->since);
	o = find_object(g, w->facility, w->slot_idx);
	if (o && o->ident == w->ident)
		note_since(&o->waiters, &o->oldest, w->since);
}

static void take_edges(struct glance *g)
{
	u32 cap = 0;
	s32 n = 64;

	while ((u32)n > cap) {
		cap = (u32)n + 64;
		free(g->edges);
		g->edges = malloc(cap * sizeof(*g->edges));
		if (!g->edges) {
			g->failed = 1;
			return;
		}
		n = wait_edges_peek(g->c, g->edges, cap);
	}
	g->n_edges = (u32)n;
	if (wait_circles(g->edges, g->n_edges) < 0)
		g->failed = 1;
}

/* ---- processes and locks ---- */

static u32 count_undo(struct caller *c, const struct task *t)
{
	const struct undo *u;
	struct walk w = {0};
	u32 n = 0;

	for (u = undo_at(c, t->undo_head); u && undo_walk(c, &w, u);
		u = undo_at(c, u->task_next))
		n += u->ident && atom_load_relaxed(&u->n_nonzero);
	return n;
}

static void take_tasks(struct glance *g)
{
	struct glance_task *to;
	u32 at = 0;

	for (; (at = task_next(g->c, at)) < N_TASKS; at++) {
		const struct task *t = region_task(&g->c->region, at);

		if (atom_load_relaxed(&t->state) != TASK_LIVE)
			continue;
		to = grow(g, &g->tasks, &g->n_tasks, sizeof(*to));
		if (!to)
			return;
		to->idx = at;
		to->pid = atom_load_relaxed(&t->pid);
		to->n_holds = count_undo(g->c, t);
		to->gone = (u32)task_gone(g->c, t);
	}
}

/* ---- leases ---- */

/* Most reads of a queue's leases, until its lock is free during one. If it
 * never is, the result may miss some or have one twice. Arbitrary. */
#define LEASE_LOOKS 4

struct on_lease {
	u32 task, pid;
	s64 since;
};

static const struct leases *leases_of(
	struct caller *c, const struct slot *s, u32 f)
{
	const struct msgqueue *msg = f == FAC_MSG ? msg_body(c, s) : NULL;
	const struct mqueue *mq = f == FAC_MQ ? mq_body(c, s) : NULL;

	return msg ? &msg->leases : mq ? &mq->leases : NULL;
}

static u32 look_at_leases(
	struct glance *g, const struct leases *ls, struct on_lease **found)
{
	struct ref at = {atom_load_relaxed(&ls->used.off)};
	const struct lease *l;
	struct walk w = {0};
	struct on_lease *to;
	u32 n = 0;

	while ((l = lease_at(g->c, at)) && walk_is_new(&w, at.off)) {
		at.off = atom_load_relaxed(&l->next.off);
		if (atom_load_relaxed(&l->state) != LEASE_HELD)
			continue;
		to = grow(g, found, &n, sizeof(*to));
		if (!to)
			break;
		to->task = atom_load_relaxed(&l->task);
		to->pid = atom_load_relaxed(&l->pid);
		to->since = atom_load_relaxed(&l->since);
	}
	return n;
}

static void take_leases_of(struct glance *g, struct glance_object *o,
	const struct slot *s, const struct leases *ls)
{
	struct on_lease *found = NULL;
	struct glance_task *t;
	int tries = 0, still;
	u32 n, i;
	u64 count;

	do {
		still = lock_peek_begin(&s->lock, &count);
		n = look_at_leases(g, ls, &found);
	} while ((!still || !lock_peek_valid(&s->lock, count)) &&
		 ++tries < LEASE_LOOKS);
	for (i = 0; i < n && atom_load_acquire(&s->ident) == o->ident; i++) {
		note_since(&o->leased, &o->leased_since, found[i].since);
		t = find_task(g, found[i].task);
		if (t && t->pid == found[i].pid)
			t->n_leased++;
	}
	free(found);
}

static void take_leases(struct glance *g)
{
	const struct leases *ls;
	const struct slot *s;
	u32 i, f;

	for (i = 0; i < g->n_objects; i++) {
		f = g->objects[i].facility;
		if (f != FAC_MSG && f != FAC_MQ)
			continue;
		s = region_slot(
			&g->c->region, (enum facility)f, g->objects[i].idx);
		ls = leases_of(g->c, s, f);
		if (ls && atom_load_relaxed(&ls->used.off))
			take_leases_of(g, &g->objects[i], s, ls);
	}
}

static void take_locks(struct glance *g)
{
	struct lock_cursor at = {0};
	struct lock_view v, *to;

	while (lock_view_next(g->c, &at, &v)) {
		to = grow(g, &g->locks, &g->n_locks, sizeof(v));
		if (!to)
			return;
		*to = v;
	}
}

int glance_take(struct caller *c, struct glance *ret)
{
	u32 i = 1;

	*ret = (struct glance){
		.c = c, .at_ns = sys_monotonic_ns(), .now = sys_realtime_sec()};
	take_objects(ret);
	take_tasks(ret);
	take_leases(ret);
	for (; (i = thread_next(&c->region, i)) < N_THREADS; i++)
		take_thread(ret, region_thread(&c->region, i));
	take_edges(ret);
	take_locks(ret);
	c->damaged = 0;
	return ret->failed ? -ENOMEM : 0;
}

/* ---- edges by process and by object ---- */

static u64 key_of_process(const struct wait_edge *e)
{
	return e->pid;
}

static u64 object_key(u32 facility, s32 id)
{
	return (u64)facility << 32 | (u32)id;
}

static u64 key_of_object(const struct wait_edge *e)
{
	return object_key(e->facility, e->id);
}

static int by_key(const void *a, const void *b)
{
	const struct glance_edges *x = a, *y = b;

	return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
				: (x->first > y->first) - (x->first < y->first);
}

static void index_edges(struct glance *g, struct glance_index *ret,
	u64 (*key)(const struct wait_edge *e))
{
	struct glance_edges *of =
		malloc(((size_t)g->n_edges + 1) * sizeof(*of));
	u32 i, n = 0;

	free(ret->of);
	*ret = (struct glance_index){of, 0};
	if (!of) {
		g->failed = 1;
		return;
	}
	for (i = 0; i < g->n_edges; i++)
		of[i] = (struct glance_edges){key(&g->edges[i]), i,
			g->edges[i].in_circle == GLANCE_DEADLOCK};
	qsort(of, g->n_edges, sizeof(*of), by_key);
	for (i = 0; i < g->n_edges; i++) {
		if (n && of[n - 1].key == of[i].key)
			of[n - 1].deadlock |= of[i].deadlock;
		else
			of[n++] = of[i];
	}
	ret->n = n;
}

static const struct glance_edges *index_find(
	const struct glance_index *index, u64 key)
{
	u32 low = 0, high = index->n, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (index->of[at].key == key)
			return &index->of[at];
		if (index->of[at].key < key)
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

const struct glance_edges *glance_edges_of_process(
	const struct glance *g, u32 pid)
{
	return index_find(&g->by_pid, pid);
}

const struct glance_edges *glance_edges_of_object(
	const struct glance *g, u32 facility, s32 id)
{
	return index_find(&g->by_object, object_key(facility, id));
}

void glance_confirm(struct glance *g, const struct glance *before)
{
	s32 n = wait_circles_confirm(
		g->edges, g->n_edges, before->edges, before->n_edges);

	g->n_circle = n < 0 ? 0 : (u32)n;
	index_edges(g, &g->by_pid, key_of_process);
	index_edges(g, &g->by_object, key_of_object);
}

void glance_deinit(struct glance *g)
{
	free(g->objects);
	free(g->tasks);
	free(g->locks);
	free(g->edges);
	free(g->by_pid.of);
	free(g->by_object.of);
	*g = (struct glance){0};
}

const struct glance_object *glance_object_at(
	const struct glance *g, u32 facility, u32 idx)
{
	return find_object((struct glance *)g, facility, idx);
}

const struct glance_object *glance_object_of(
	const struct glance *g, const struct glance_object *o)
{
	const struct glance_object *found =
		glance_object_at(g, o->facility, o->idx);

	return found && found->ident == o->ident ? found : NULL;
}

/* Entries searched from the hint on: the order is the same but for a few that
 * were added or removed. */
#define LOCKS_AHEAD 64u

const struct lock_view *glance_lock_of(
	const struct glance *g, const struct lock_view *l, u32 *hint)
{
	u32 i;

	for (i = *hint; i < g->n_locks && i - *hint < LOCKS_AHEAD; i++)
		if (g->locks[i].class == l->class &&
			g->locks[i].facility == l->facility &&
			!strcmp(g->locks[i].name, l->name)) {
			*hint = i + 1;
			return &g->locks[i];
		}
	return NULL;
}

/* ---- sums of locks ---- */

static void count(const struct lock *lock, struct glance_locks *ret)
{
	ret->taken += lock_count(lock);
	ret->held += atom_load_relaxed(&lock->n_found_held);
	ret->slept += atom_load_relaxed(&lock->n_held_wanted);
}

static void count_slot(
	struct caller *c, u32 f, u32 idx, struct glance_locks *ret)
{
	const struct lock *lock =
		&region_slot(&c->region, (enum facility)f, idx)->lock;

	count(lock, ret);
}

/* Below slots_ready, which only grows, there are no holes unless it is damaged;
 * beyond it the idx in use now. */
static void count_objects(struct caller *c, u32 f, struct glance_locks *ret)
{
	const struct id_table *t = &caller_header(c)->ids[f];
	u32 ready = atom_load_relaxed(&t->slots_ready), idx;

	if (ready > IDX_MAX)
		ready = IDX_MAX;
	for (idx = 0; (idx = ids_past_hole(&c->region, f, idx)) < ready; idx++)
		count_slot(c, f, idx, ret);
	for (; (idx = ids_next(c, (enum facility)f, idx)) < IDX_MAX; idx++)
		count_slot(c, f, idx, ret);
}

void glance_count_locks(
	struct caller *c, u32 class, u32 facility, struct glance_locks *ret)
{
	struct header *h = caller_header(c);
	u32 at;

	*ret = (struct glance_locks){0};
	switch (class) {
	case LOCK_FACILITY:
		count(&h->fac_lock[facility % N_FAC].lock, ret);
		return;
	case LOCK_HEAP:
		count(&h->heap.lock, ret);
		return;
	case LOCK_REPAIR:
		count(&h->repair_lock.lock, ret);
		return;
	case LOCK_TASK:
		for (at = 0; (at = task_next(c, at)) < N_TASKS; at++)
			count(&region_task(&c->region, at)->lock, ret);
		return;
	default:
		count_objects(c, facility % N_FAC, ret);
	}
}
