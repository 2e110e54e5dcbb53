// SPDX-License-Identifier: MIT
/*
 * The fields of a registry, found as layout.h says; see mutate.h.
 */
#include "mutate.h"
#include "fields.h"
#include "filled.h"
#include "registry/heap/span.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the scan ---- */

/* One of each thing at most, so many: enough for what fill makes. */
#define MOST 400
#define WALK_MOST 200

struct scan {
	struct places *p;
	const char *base;
	int table;
	int half; /* only the set whose SETALL is half done, or all but it */
	const struct field *fields; /* of add_bodies */
};

uint64_t rng_next(struct rng *r)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 7;
	r->x ^= r->x << 17;
	return r->x * 0x2545f4914f6cdd1dULL;
}

static const void *at(const struct scan *s, uint64_t off, uint64_t size)
{
	if (off < HEADER_SIZE || off > REGION_SIZE - size)
		return NULL;
	return s->base + off;
}

static const void *heap_at(const struct scan *s, uint64_t off, uint64_t size)
{
	const struct header *h = (const struct header *)s->base;

	if (off < SETS_OFF || (off >= HEAP_OFF && off > h->heap.bump))
		return NULL;
	return at(s, off, size);
}

/* All places of one table together: begun, then added to. */
static void table_begin(struct scan *s)
{
	struct places *p = s->p;

	if (s->table >= 0 && !p->count[s->table])
		s->table--;
	if (++s->table == N_TABLES)
		abort();
	p->first[s->table] = p->n;
	p->count[s->table] = 0;
	p->n_tables = (uint32_t)s->table + 1;
}

static void add(struct scan *s, const struct field *f, uint64_t off)
{
	struct places *p = s->p;

	/* What a damaged stride or count leads to. */
	if (off > REGION_SIZE - 4096)
		return;
	for (; f->name; f++) {
		if (p->n == p->cap) {
			p->cap = p->cap ? 2 * p->cap : 4096;
			p->at = realloc(p->at, p->cap * sizeof(*p->at));
			if (!p->at)
				abort();
		}
		p->at[p->n++] =
			(struct place){f, off + f->off, (uint32_t)s->table};
		p->count[s->table]++;
	}
}

static const struct slot *slot_of(const struct scan *s, uint32_t f, uint32_t i)
{
	return (const struct slot *)(s->base + SLOTS_OFF((uint64_t)f) +
				     i * SLOT_STRIDE(f));
}

/* That one has tables of its own, so that the others stay as they were. */
static int wanted(const struct scan *s, uint32_t f, const struct slot *slot)
{
	int half = f == FAC_SEM && slot->size == HALF_SETALL;

	return (slot->ident & IDENT_LIVE) && half == s->half;
}

/* Calls fn with the body of each live object of a facility, if it has one. */
static void each_body(struct scan *s, uint32_t f,
	void (*fn)(struct scan *, uint64_t, const struct slot *))
{
	const struct header *h = (const struct header *)s->base;
	uint32_t i, max = h->ids[f].max_idx;

	for (i = 0; i <= max && i < MOST; i++) {
		const struct slot *slot = slot_of(s, f, i);

		if (wanted(s, f, slot) && heap_at(s, slot->body.off, 64))
			fn(s, slot->body.off, slot);
	}
}

static void add_fields(struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	add(s, s->fields, off);
}

/* Fields of each such body. */
static void add_bodies(struct scan *s, uint32_t f, const struct field *fields)
{
	s->fields = fields;
	each_body(s, f, add_fields);
}

/* Fields of the slot of each live object. */
static void add_slots(struct scan *s, const struct field *fields)
{
	const struct header *h = (const struct header *)s->base;
	uint32_t f, i;

	for (f = 0; f < N_FAC; f++)
		for (i = 0; i <= h->ids[f].max_idx && i < MOST; i++)
			if (wanted(s, f, slot_of(s, f, i)))
				add(s, fields,
					SLOTS_OFF((uint64_t)f) +
						i * SLOT_STRIDE(f));
}

static uint64_t sems_at(uint64_t body)
{
	return (body + sizeof(struct semset) + SEM_USED - 1) &
	       ~(uint64_t)(SEM_USED - 1);
}

static void scan_sems(struct scan *s, uint64_t off, const struct slot *slot)
{
	uint32_t i;

	off = sems_at(off);
	for (i = 0; i < slot->size && i < 8; i++)
		add(s, sem_fields, off + i * sizeof(struct sem));
}

static void scan_msgs(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct msgqueue *q = (const void *)(s->base + off);
	uint64_t at = (uint64_t)(uint32_t)q->ends << 6;
	const struct msg *m;
	int n;

	(void)slot;
	for (n = 0; n < WALK_MOST && (m = heap_at(s, at, sizeof(*m))); n++) {
		add(s, msg_fields, at);
		if (m->size > 1032)
			add(s, msg_block_fields, at + sizeof(*m));
		at = (uint64_t)m->next << 6;
	}
}

static void scan_chunks(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct msgqueue *q = (const void *)(s->base + off);
	const struct msg_chunk *c;
	uint64_t at;
	int k, n;

	(void)slot;
	for (k = 0; k < 2 * (int)MSG_CLASSES; k++) {
		at = (uint64_t)(k % 2 ? q->class[k / 2].full
				      : q->class[k / 2].partial)
		     << 6;
		for (n = 0; n < WALK_MOST && (c = heap_at(s, at, sizeof(*c)));
			n++) {
			add(s, chunk_fields, at);
			at = (uint64_t)c->next << 6;
		}
	}
}

static void scan_run(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct shm_segment *g = (const void *)(s->base + off);

	(void)slot;
	if (heap_at(s, g->run.off, sizeof(struct shm_run)))
		add(s, run_fields, g->run.off);
}

static void scan_prio_table(
	struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct prioq *q = (const void *)(s->base + off);

	(void)slot;
	if (q->table_off < 65536)
		add(s, ref_fields, off + q->table_off);
	if (q->free_off < 65536 && q->n_free)
		add(s, word_fields, off + q->free_off + 4 * (q->n_free - 1));
}

static void scan_levels(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct prioq *q = (const void *)(s->base + off);

	(void)slot;
	if (heap_at(s, q->levels.off, sizeof(struct prio_levels)))
		add(s, levels_fields, q->levels.off);
}

static void scan_items(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct prioq *q = (const void *)(s->base + off);
	const struct ref *chunk = at(s, off + q->table_off, 8);
	uint32_t i;

	(void)slot;
	if (!chunk || !heap_at(s, chunk->off, 65536) || q->shift > 16)
		return;
	for (i = 0; i < q->made && i < (1u << q->shift); i++) {
		add(s, item_fields, chunk->off + i * sizeof(struct prio_item));
		if (!q->inline_data)
			add(s, block_fields,
				chunk->off +
					(sizeof(struct prio_item) << q->shift) +
					i * (uint64_t)q->stride);
	}
}

/* Fields of tasks, or of their records of undo or attachments: what is 0, 1 or 2;
 * 3 to 5 those that came last. */
static void each_task(struct scan *s, int what)
{
	const struct field *f[] = {task_fields, undo_fields, attach_fields,
		task_last_fields, undo_last_fields, attach_last_fields};
	const struct task *t;
	const struct undo *u;
	const struct shm_attach *a;
	uint64_t off, next;
	uint32_t i;
	int n;

	/* Their places are by pid: only those in use, found as pages with
	 * something. */
	for (i = 0; i < N_TASKS; i++) {
		off = TASKS_OFF + (uint64_t)i * sizeof(*t);
		t = (const struct task *)(s->base + off);
		if (!t->claim && !t->shm_head.off)
			continue;
		if (what % 3 == 0)
			add(s, f[what], off);
		for (n = 0, next = t->undo_head.off;
			what % 3 == 1 && n < WALK_MOST &&
			(u = heap_at(s, next, sizeof(*u)));
			n++, next = u->task_next.off)
			add(s, f[what], next);
		for (n = 0, next = t->shm_head.off;
			what % 3 == 2 && n < WALK_MOST &&
			(a = heap_at(s, next, sizeof(*a)));
			n++, next = a->task_next.off)
			add(s, f[what], next);
	}
}

static void each_thread(
	struct scan *s, const struct field *f, uint64_t inside, int waiting)
{
	const struct header *h = (const struct header *)s->base;
	const struct thread *th;
	uint32_t i;

	for (i = 1; i < h->thread_high && i < MOST; i++) {
		th = (const struct thread *)(s->base + THREADS_OFF +
					     (uint64_t)i * THREAD_STRIDE);
		if (th->tid && (!waiting || th->waiter.state))
			add(s, f,
				THREADS_OFF + (uint64_t)i * THREAD_STRIDE +
					inside);
	}
}

static void scan_slabs(struct scan *s)
{
	const struct header *h = (const struct header *)s->base;
	const struct msg_slab *slab;
	uint64_t at;
	int t, n;

	for (t = 0; t < 2 * (int)MSG_TIERS; t++) {
		at = (uint64_t)(t % 2 ? h->msg_slabs.full[t / 2]
				      : h->msg_slabs.partial[t / 2])
		     << 6;
		for (n = 0;
			n < WALK_MOST && (slab = heap_at(s, at, sizeof(*slab)));
			n++) {
			add(s, slab_fields, at);
			at = (uint64_t)slab->next << 6;
		}
	}
}

/* ---- what came later ---- */

static void scan_leases(struct scan *s, const struct leases *ls)
{
	const struct ref *lists[] = {&ls->used, &ls->free, &ls->spare};
	const struct lease *l;
	uint64_t at;
	int k, n;

	for (k = 0; k < 3; k++)
		for (n = 0, at = lists[k]->off;
			n < WALK_MOST && (l = heap_at(s, at, sizeof(*l)));
			n++, at = l->next.off)
			add(s, lease_fields, at);
}

static void scan_msg_leases(
	struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	scan_leases(s, &((const struct msgqueue *)(s->base + off))->leases);
}

static void scan_mq_leases(
	struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	scan_leases(s, &((const struct mqueue *)(s->base + off))->leases);
}

/* Not of a set of one, which has only the first half. */
static void scan_sems_more(
	struct scan *s, uint64_t off, const struct slot *slot)
{
	uint32_t i;

	off = sems_at(off);
	for (i = 0; slot->size > 1 && i < slot->size && i < 8; i++)
		add(s, sem_more_fields, off + i * sizeof(struct sem));
}

/* Links between payload blocks that a queue keeps, and between free cells. */
static void scan_kept(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct msgqueue *q = (const void *)(s->base + off);
	const uint64_t *link;
	uint64_t at;
	int t, n;

	(void)slot;
	for (t = 0; t < (int)MSG_TIERS; t++)
		for (n = 0, at = q->warm[t].off;
			n < WALK_MOST && (link = heap_at(s, at, 8));
			n++, at = *link)
			add(s, ref_fields, at);
}

static void scan_cells(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct msgqueue *q = (const void *)(s->base + off);
	const struct msg_chunk *c;
	const struct msg *m;
	uint64_t at, cell;
	int k, n, i;

	(void)slot;
	for (k = 0; k < (int)MSG_CLASSES; k++)
		for (n = 0, at = (uint64_t)q->class[k].partial << 6;
			n < WALK_MOST && (c = heap_at(s, at, sizeof(*c)));
			n++, at = (uint64_t)c->next << 6)
			for (i = 0, cell = c->state >> 32 << 6;
				i < WALK_MOST &&
				(m = heap_at(s, cell, sizeof(*m)));
				i++, cell = (uint64_t)m->free_next << 6)
				add(s, cell_fields, cell);
}

static void scan_events(struct scan *s)
{
	const struct header *h = (const struct header *)s->base;
	const uint64_t last = h->event_seq;
	const struct event *e = (const void *)(s->base + LIMIT_EVENTS_OFF);
	uint64_t seq = last > 20 ? last - 20 : 0;
	uint32_t i;

	for (; seq++ < last;)
		add(s, event_fields,
			EVENTS_OFF + seq % N_EVENTS * sizeof(struct event));
	for (i = 0; i < N_LIMIT_EVENTS; i++)
		if (e[i].seq)
			add(s, event_fields, LIMIT_EVENTS_OFF + i * sizeof(*e));
}

static void scan_tasks_more(struct scan *s)
{
	const struct task *t;
	uint64_t off;
	uint32_t i;

	for (i = 0; i < N_TASKS; i++) {
		off = TASKS_OFF + (uint64_t)i * sizeof(*t);
		t = (const struct task *)(s->base + off);
		if (t->claim || t->shm_head.off)
			add(s, task_more_fields, off);
	}
}

static void scan_more(struct scan *s)
{
	uint32_t i;

	table_begin(s), add(s, header_more_fields, 0);
	table_begin(s), add(s, identity_fields, 0);
	table_begin(s);
	for (i = 0; i < 4; i++)
		add(s, pending_fields,
			offsetof(struct header, mq_pending) +
				i * sizeof(struct mq_pending));
	table_begin(s), each_body(s, FAC_MSG, scan_msg_leases);
	table_begin(s), each_body(s, FAC_MQ, scan_mq_leases);
	table_begin(s), add_bodies(s, FAC_MSG, msg_leases_fields);
	table_begin(s), add_bodies(s, FAC_MQ, mq_leases_fields);
	table_begin(s), add_bodies(s, FAC_SHM, segment_more_fields);
	table_begin(s), each_body(s, FAC_SEM, scan_sems_more);
	table_begin(s), each_body(s, FAC_MSG, scan_kept);
	table_begin(s), each_body(s, FAC_MSG, scan_cells);
	table_begin(s), scan_events(s);
	table_begin(s), scan_tasks_more(s);
	table_begin(s), each_thread(s, thread_more_fields, 0, 0);
	table_begin(s);
	each_thread(s, waiter_more_fields, offsetof(struct thread, waiter), 1);
}

/* ---- and at last ---- */

static void scan_sem_last(struct scan *s, uint64_t off, const struct slot *slot)
{
	if (slot->size > 1)
		add(s, sem_last_fields, sems_at(off));
}

/* Of a SETALL that is half done. */
static void scan_sem_values(
	struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct sem *sem = at(s, sems_at(off), sizeof(*sem));

	if (slot->size > 1 && sem &&
		heap_at(s, sem->all.off, sizeof(struct sem_values)))
		add(s, sem_values_fields, sem->all.off);
}

/* Bodies of removed queues that are still to be emptied. */
static void scan_remains(struct scan *s)
{
	const struct header *h = (const struct header *)s->base;
	uint64_t off = h->msg_remains.off;
	const struct msgqueue *q;
	int n;

	for (n = 0; n < 20 && (q = heap_at(s, off, sizeof(*q)));
		n++, off = q->stamp) {
		add(s, msgqueue_fields, off);
		add(s, msg_leases_fields, off);
	}
}

static void scan_journal_ext(struct scan *s)
{
	const struct header *h = (const struct header *)s->base;
	const struct thread *th;
	uint32_t i;

	for (i = 1; i < h->thread_high && i < MOST; i++) {
		th = (const struct thread *)(s->base + THREADS_OFF +
					     (uint64_t)i * THREAD_STRIDE);
		if (heap_at(s, th->journal.ext.off, sizeof(struct journal_ext)))
			add(s, journal_ext_fields, th->journal.ext.off);
	}
}

static void scan_last(struct scan *s)
{
	uint32_t i;

	table_begin(s), add(s, header_last_fields, 0);
	table_begin(s), add(s, identity_last_fields, 0);
	table_begin(s);
	for (i = 0; i < N_FAC; i++)
		add(s, ids_last_fields,
			offsetof(struct header, ids) +
				i * sizeof(struct id_table));
	table_begin(s), add_slots(s, slot_last_fields);
	table_begin(s), add_bodies(s, FAC_SEM, semset_last_fields);
	table_begin(s), each_body(s, FAC_SEM, scan_sem_last);
	table_begin(s), each_task(s, 3);
	table_begin(s), each_task(s, 4);
	table_begin(s), each_task(s, 5);
	table_begin(s), add_bodies(s, FAC_SHM, segment_last_fields);
	table_begin(s), each_thread(s, thread_last_fields, 0, 0);
	table_begin(s), scan_journal_ext(s);
	table_begin(s);
	each_thread(s, waiter_last_fields, offsetof(struct thread, waiter), 1);
	table_begin(s), add_bodies(s, FAC_MSG, msgqueue_last_fields);
	table_begin(s), add_bodies(s, FAC_MQ, mqueue_last_fields);
	table_begin(s);
	for (i = 0; i < 4; i++)
		add(s, pending_last_fields,
			offsetof(struct header, mq_pending) +
				i * sizeof(struct mq_pending));
	table_begin(s), scan_remains(s);
	s->half = 1;
	table_begin(s), each_body(s, FAC_SEM, scan_sem_values);
	table_begin(s), add_slots(s, slot_fields);
	table_begin(s), add_bodies(s, FAC_SEM, semset_fields);
	table_begin(s), each_body(s, FAC_SEM, scan_sems);
	table_begin(s), each_body(s, FAC_SEM, scan_sem_last);
	s->half = 0;
}

/* Links in free blocks of the heap, and the table of spans. */
static void scan_free(struct scan *s)
{
	const struct header *h = (const struct header *)s->base;
	const uint64_t *link;
	uint64_t off;
	uint32_t k;
	int n;

	for (off = HEAP_OFF; off < h->heap.bump && off < HEAP_END;
		off += HEAP_SPAN)
		add(s, span_fields,
			SPANS_OFF +
				span_number(off) * sizeof(struct heap_span));
	for (k = 0; k < HEAP_CLASSES; k++)
		for (n = 0, off = h->heap.free_head[k];
			n < 20 && (link = heap_at(s, off, 8)); n++, off = *link)
			add(s, ref_fields, off);
}

static void scan_free_runs(struct scan *s)
{
	const struct header *h = (const struct header *)s->base;
	const struct shm_run *r;
	uint64_t off;
	uint32_t k;
	int n;

	for (k = 0; k < 2 * SHM_CLASSES; k++)
		for (n = 0, off = k % 2 ? h->shm.kept[k / 2].off
					: h->shm.bare[k / 2].off;
			n < 20 && (r = heap_at(s, off, sizeof(*r)));
			n++, off = r->next.off)
			add(s, run_fields, off);
}

void places_scan(struct places *p, const char *base)
{
	struct scan s = {p, base, -1, 0, NULL};
	uint32_t f, i;

	p->n = 0;
	p->n_tables = 0;
	p->living[0] = (uint32_t)getpid();
	p->living[1] = (uint32_t)getppid();
	memset(p->count, 0, sizeof(p->count));
	table_begin(&s), add(&s, header_fields, 0);
	table_begin(&s), add(&s, heap_fields, offsetof(struct header, heap));
	table_begin(&s);
	add(&s, slabs_fields, offsetof(struct header, msg_slabs));
	table_begin(&s);
	add(&s, shm_state_fields, offsetof(struct header, shm));
	table_begin(&s);
	for (f = 0; f < N_FAC; f++)
		add(&s, ids_fields,
			offsetof(struct header, ids) +
				f * sizeof(struct id_table));
	table_begin(&s);
	for (f = 0; f < N_FAC; f++) {
		for (i = 0; i < 40; i++)
			add(&s, word_fields, BUCKETS_OFF((uint64_t)f) + 4 * i);
		add(&s, bitmap_fields, BITMAP_OFF((uint64_t)f));
	}
	table_begin(&s), add_slots(&s, slot_fields);
	table_begin(&s), each_task(&s, 0);
	table_begin(&s), each_task(&s, 1);
	table_begin(&s), each_task(&s, 2);
	table_begin(&s), each_thread(&s, thread_fields, 0, 0);
	table_begin(&s);
	each_thread(&s, journal_fields, offsetof(struct thread, journal), 0);
	table_begin(&s);
	each_thread(&s, waiter_fields, offsetof(struct thread, waiter), 1);
	table_begin(&s), add_bodies(&s, FAC_SEM, semset_fields);
	table_begin(&s), each_body(&s, FAC_SEM, scan_sems);
	table_begin(&s), add_bodies(&s, FAC_MSG, msgqueue_fields);
	table_begin(&s), each_body(&s, FAC_MSG, scan_msgs);
	table_begin(&s), each_body(&s, FAC_MSG, scan_chunks);
	table_begin(&s), scan_slabs(&s);
	table_begin(&s), scan_free(&s);
	table_begin(&s), scan_free_runs(&s);
	table_begin(&s), add_bodies(&s, FAC_SHM, segment_fields);
	table_begin(&s), each_body(&s, FAC_SHM, scan_run);
	table_begin(&s), add_bodies(&s, FAC_MQ, mqueue_fields);
	table_begin(&s), add_bodies(&s, FAC_MQ, prioq_fields);
	table_begin(&s), each_body(&s, FAC_MQ, scan_prio_table);
	table_begin(&s), each_body(&s, FAC_MQ, scan_levels);
	table_begin(&s), each_body(&s, FAC_MQ, scan_items);
	scan_more(&s);
	scan_last(&s);
	if (!p->count[s.table])
		p->n_tables--;
}

void places_free(struct places *p)
{
	free(p->at);
	*p = (struct places){0};
}

/* ---- damage ---- */

static uint64_t load(const char *base, const struct place *p)
{
	const void *at = base + p->off;

	switch (p->field->size) {
	case 1:
		return __atomic_load_n((const uint8_t *)at, __ATOMIC_RELAXED);
	case 2:
		return __atomic_load_n((const uint16_t *)at, __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
	default:
		return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
	}
}

static void store(char *base, const struct place *p, uint64_t v)
{
	void *at = base + p->off;

	switch (p->field->size) {
	case 1:
		__atomic_store_n((uint8_t *)at, (uint8_t)v, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n((uint16_t *)at, (uint16_t)v, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n((uint32_t *)at, (uint32_t)v, __ATOMIC_RELAXED);
		break;
	default:
		__atomic_store_n((uint64_t *)at, v, __ATOMIC_RELAXED);
	}
}

/* What such a field might hold: of another one, and wrong. */
static uint64_t other_of_kind(
	const struct places *p, const char *base, struct rng *r, enum kind kind)
{
	int tries;

	for (tries = 0; tries < 50; tries++) {
		const struct place *o = &p->at[rng_below(r, p->n)];

		if (o->field->kind == kind)
			return load(base, o);
	}
	return 0;
}

static uint64_t wrong_number(struct rng *r, uint64_t old)
{
	static const uint64_t v[] = {0, 1, 2, 3, 63, 64, 65, 255, 4096, 32767,
		32768, 65535, 65536, 131071, 131072, 0xffffff, 0x1000000,
		0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 1ULL << 35,
		1ULL << 48, 0x7fffffffffffffff, ~0ULL};

	switch (rng_below(r, 4)) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	case 2:
		return old * 2 + 1;
	default:
		return v[rng_below(r, sizeof(v) / sizeof(v[0]))];
	}
}

/* off: of the place itself, for a reference that leads back to it. */
static uint64_t wrong_ref(
	const struct places *p, struct rng *r, uint64_t off, uint64_t old)
{
	switch (rng_below(r, 10)) {
	case 0:
		return off & ~63ULL;
	case 1:
		return p->at[rng_below(r, p->n)].off & ~63ULL;
	case 2:
		return old + 64;
	case 3:
		return old + 1 + rng_below(r, 63);
	case 4:
		return REGION_SIZE - 64;
	case 5:
		return REGION_SIZE + (rng_below(r, 1u << 20) << 12);
	case 6:
		return 64ULL << 30;
	case 7:
		return rng_below(r, HEADER_SIZE) & ~63ULL;
	case 8: /* a hole */
		return HEAP_OFF + (rng_below(r, 1u << 20) << 12);
	default:
		return rng_next(r);
	}
}

static uint64_t wrong_word(const struct places *p, struct rng *r, uint64_t old)
{
	static const uint32_t v[] = {1, 0x80000001, 0x40000000, 0xc0000000,
		0x3fffffff, 0x80000000, 4194303, 0xffffffff};

	switch (rng_below(r, 8)) {
	case 0:
		return p->living[0];
	case 1:
		return p->living[1] | 0x80000000;
	case 2:
		return old ^ 1ULL << rng_below(r, 32);
	default:
		return v[rng_below(r, 8)];
	}
}

static uint64_t wrong(const struct places *p, const char *base, struct rng *r,
	const struct place *at, uint64_t old)
{
	/* Of a longer field the first word is looked at (load). */
	const uint32_t size = at->field->size < 8 ? at->field->size : 8;

	switch (rng_below(r, 8)) {
	case 0:
		return old ^ 1ULL << rng_below(r, size * 8);
	case 1:
		return rng_next(r);
	case 2:
		return other_of_kind(p, base, r, at->field->kind);
	}
	switch (at->field->kind) {
	case K_LOCK:
	case K_PID:
		return wrong_word(p, r, old);
	case K_REF:
		return wrong_ref(p, r, at->off, old);
	case K_LINK:
		/* Also where two links share 64 bits. */
		return wrong_ref(p, r, at->off, old << 6) >> 6 |
		       (at->field->size == 8 ? old & ~0xffffffffULL : 0);
	case K_THREAD:
		return rng_below(r, 3) ? rng_below(r, 60)
				       : wrong_number(r, old);
	case K_IDX:
		return rng_below(r, 3) ? rng_below(r, 40)
				       : wrong_number(r, old);
	default:
		return wrong_number(r, old);
	}
}

uint64_t damage_value(const struct places *p, const char *base, struct rng *r,
	const struct place *at)
{
	return wrong(p, base, r, at, load(base, at));
}

void damage_set(char *base, const struct place *at, uint64_t value)
{
	store(base, at, value);
}

void damage_at(const struct places *p, char *base, struct rng *r,
	const struct place *at)
{
	damage_set(base, at, damage_value(p, base, r, at));
}

void damage_one(
	const struct places *p, char *base, struct rng *r, struct damage *ret)
{
	uint32_t t = (uint32_t)rng_below(r, p->n_tables);
	const struct place *at =
		&p->at[p->first[t] + rng_below(r, p->count[t])];
	uint64_t old = load(base, at);
	int tries;

	for (tries = 0; tries < 20 && load(base, at) == old; tries++)
		store(base, at, wrong(p, base, r, at, old));
	*ret = (struct damage){at->field, at->off, old, load(base, at)};
}
