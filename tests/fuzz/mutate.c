// SPDX-License-Identifier: MIT
/*
 * The fields of a registry, found as layout.h says; see mutate.h.
 */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIELD(type, member, kind)                                           \
	{                                                                   \
#type "." #member, (uint32_t)offsetof(struct type, member), \
			(uint32_t)sizeof(((struct type *)0)->member), kind  \
	}
#define END_OF_FIELDS \
	{             \
		0     \
	}

#define LOCK_FIELDS(type, at)                                            \
	FIELD(type, at.word, K_LOCK), FIELD(type, at.journal, K_THREAD), \
		FIELD(type, at.bias_busy, K_LOCK)

static const struct field header_fields[] = {FIELD(header, profiling, K_ANY),
	FIELD(header, control_open, K_ANY),
	LOCK_FIELDS(header, fac_lock[0].lock),
	LOCK_FIELDS(header, fac_lock[1].lock),
	LOCK_FIELDS(header, fac_lock[2].lock),
	LOCK_FIELDS(header, fac_lock[3].lock),
	LOCK_FIELDS(header, repair_lock.lock),
	LOCK_FIELDS(header, control_lock.lock), LOCK_FIELDS(header, heap.lock),
	FIELD(header, unused[0], K_COUNT), FIELD(header, thread_high, K_COUNT),
	FIELD(header, thread_hint, K_THREAD), FIELD(header, unused[1], K_COUNT),
	FIELD(header, event_seq, K_COUNT), FIELD(header, removing[0], K_IDX),
	FIELD(header, removing[1], K_IDX), FIELD(header, removing[2], K_IDX),
	FIELD(header, removing[3], K_IDX), FIELD(header, mq_orphans, K_IDX),
	FIELD(header, mq_fifo[0], K_ANY),
	FIELD(header, control_taken.from, K_COUNT),
	FIELD(header, limits.semmsl, K_COUNT),
	FIELD(header, limits.semopm, K_COUNT),
	FIELD(header, limits.msgmax, K_COUNT),
	FIELD(header, limits.mq_queues_max, K_COUNT), END_OF_FIELDS};
static const struct field heap_fields[] = {FIELD(heap, bump, K_REF),
	FIELD(heap, reserved, K_REF), FIELD(heap, used, K_COUNT),
	FIELD(heap, free_head[0], K_REF), FIELD(heap, free_head[1], K_REF),
	FIELD(heap, free_head[4], K_REF), FIELD(heap, free_head[7], K_REF),
	FIELD(heap, free_head[19], K_REF), FIELD(heap, free_head[39], K_REF),
	END_OF_FIELDS};
static const struct field slabs_fields[] = {
	FIELD(msg_slabs, partial[0], K_LINK),
	FIELD(msg_slabs, partial[1], K_LINK), FIELD(msg_slabs, full[0], K_LINK),
	FIELD(msg_slabs, idle[0], K_LINK), FIELD(msg_slabs, moving, K_REF),
	END_OF_FIELDS};
static const struct field shm_state_fields[] = {FIELD(shm_state, near, K_REF),
	FIELD(shm_state, far, K_REF), FIELD(shm_state, reserved, K_COUNT),
	FIELD(shm_state, pool, K_COUNT), FIELD(shm_state, next_run, K_REF),
	FIELD(shm_state, dest, K_IDX), FIELD(shm_state, home, K_ANY),
	FIELD(shm_state, bare[3], K_REF), FIELD(shm_state, kept[3], K_REF),
	FIELD(shm_state, kept[7], K_REF), END_OF_FIELDS};
static const struct field ids_fields[] = {FIELD(id_table, in_use, K_COUNT),
	FIELD(id_table, seq, K_COUNT), FIELD(id_table, last_idx, K_COUNT),
	FIELD(id_table, cursor, K_COUNT), FIELD(id_table, next_id, K_COUNT),
	FIELD(id_table, max_idx, K_COUNT), FIELD(id_table, n_keys, K_COUNT),
	FIELD(id_table, n_buckets, K_COUNT), FIELD(id_table, key_seq, K_COUNT),
	FIELD(id_table, slots_ready, K_COUNT), FIELD(id_table, pages[0], K_ANY),
	END_OF_FIELDS};
static const struct field task_fields[] = {FIELD(task, pid, K_PID),
	FIELD(task, state, K_COUNT), FIELD(task, life, K_LOCK),
	FIELD(task, exec_life, K_LOCK), LOCK_FIELDS(task, lock),
	FIELD(task, undo_head, K_REF), FIELD(task, spare, K_REF),
	FIELD(task, spare_size, K_COUNT), FIELD(task, shm_head, K_REF),
	FIELD(task, shm_free, K_REF), END_OF_FIELDS};
static const struct field thread_fields[] = {FIELD(thread, tid, K_PID),
	FIELD(thread, task, K_COUNT), FIELD(thread, spare, K_REF),
	FIELD(thread, spare_size, K_COUNT),
	FIELD(thread, blocks.tier[0], K_REF),
	FIELD(thread, blocks.tier[2], K_REF), FIELD(thread, blocks.big, K_REF),
	FIELD(thread, blocks.big_cap, K_COUNT), END_OF_FIELDS};
static const struct field journal_fields[] = {FIELD(journal, n, K_COUNT),
	FIELD(journal, n_locks, K_COUNT), FIELD(journal, locks[0], K_REF),
	FIELD(journal, publish_off, K_REF), FIELD(journal, ext, K_REF),
	FIELD(journal, cap, K_COUNT), FIELD(journal, entries[0].off, K_REF),
	END_OF_FIELDS};
static const struct field waiter_fields[] = {FIELD(waiter, word, K_LOCK),
	FIELD(waiter, state, K_COUNT), FIELD(waiter, slot_idx, K_IDX),
	FIELD(waiter, alive, K_LOCK), FIELD(waiter, ident, K_ANY),
	FIELD(waiter, next, K_THREAD), FIELD(waiter, prev, K_THREAD),
	FIELD(waiter, facility, K_COUNT), FIELD(waiter, kind, K_COUNT),
	FIELD(waiter, n_sops, K_COUNT), FIELD(waiter, block_op, K_COUNT),
	FIELD(waiter, queue_num, K_COUNT), FIELD(waiter, undo, K_REF),
	FIELD(waiter, sops_ext, K_REF), FIELD(waiter, sops_ext_cap, K_COUNT),
	FIELD(waiter, sops[0], K_ANY), FIELD(waiter, msg.max_size, K_COUNT),
	FIELD(waiter, msg_len, K_COUNT), END_OF_FIELDS};
static const struct field slot_fields[] = {LOCK_FIELDS(slot, lock),
	FIELD(slot, ident, K_ANY), FIELD(slot, body, K_REF),
	FIELD(slot, key, K_ANY), FIELD(slot, next, K_IDX),
	FIELD(slot, size, K_COUNT), FIELD(slot, mode, K_ANY),
	FIELD(slot, uid, K_ANY), FIELD(slot, bias, K_THREAD), END_OF_FIELDS};
static const struct field semset_fields[] = {
	FIELD(semset, complex.head, K_THREAD),
	FIELD(semset, complex.tail, K_THREAD),
	FIELD(semset, zero_arrays.head, K_THREAD),
	FIELD(semset, undo_all, K_LINK), FIELD(semset, undo_active, K_LINK),
	FIELD(semset, n_active, K_COUNT), FIELD(semset, n_adj, K_COUNT),
	FIELD(semset, n_waiters, K_COUNT), FIELD(semset, pass_pending, K_COUNT),
	END_OF_FIELDS};
static const struct field sem_fields[] = {FIELD(sem, lo, K_ANY),
	FIELD(sem, hi, K_ANY), FIELD(sem, alter.head, K_THREAD),
	FIELD(sem, alter.tail, K_THREAD), END_OF_FIELDS};
static const struct field undo_fields[] = {FIELD(undo, task_next, K_REF),
	FIELD(undo, ident, K_ANY), FIELD(undo, slot_idx, K_IDX),
	FIELD(undo, task, K_COUNT), FIELD(undo, set_next, K_REF),
	FIELD(undo, set_prev, K_REF), FIELD(undo, active_next, K_REF),
	FIELD(undo, active_prev, K_REF), FIELD(undo, n_nonzero, K_COUNT),
	FIELD(undo, is_active, K_COUNT), FIELD(undo, n_sems, K_COUNT),
	FIELD(undo, cap, K_COUNT), END_OF_FIELDS};
static const struct field msgqueue_fields[] = {FIELD(msgqueue, count, K_COUNT),
	FIELD(msgqueue, ends, K_LINK), FIELD(msgqueue, types, K_LINK),
	FIELD(msgqueue, pending, K_COUNT), FIELD(msgqueue, qbytes, K_COUNT),
	FIELD(msgqueue, receivers.head, K_THREAD),
	FIELD(msgqueue, receivers.tail, K_THREAD),
	FIELD(msgqueue, senders.head, K_THREAD),
	FIELD(msgqueue, senders.tail, K_THREAD),
	FIELD(msgqueue, new_chunk, K_REF), FIELD(msgqueue, n_large, K_COUNT),
	FIELD(msgqueue, class[0].partial, K_LINK),
	FIELD(msgqueue, class[0].n_chunks, K_COUNT),
	FIELD(msgqueue, class[1].partial, K_LINK),
	FIELD(msgqueue, class[2].partial, K_LINK),
	FIELD(msgqueue, class[3].partial, K_LINK),
	FIELD(msgqueue, class[3].full, K_LINK),
	FIELD(msgqueue, class[5].partial, K_LINK),
	FIELD(msgqueue, class[5].idle, K_LINK),
	FIELD(msgqueue, class[7].partial, K_LINK),
	FIELD(msgqueue, class[7].full, K_LINK), FIELD(msgqueue, warm[0], K_REF),
	FIELD(msgqueue, warm[1], K_REF), FIELD(msgqueue, warm[2], K_REF),
	FIELD(msgqueue, n_warm[0], K_COUNT),
	FIELD(msgqueue, n_warm[2], K_COUNT), END_OF_FIELDS};
static const struct field msg_fields[] = {FIELD(msg, node.key, K_ANY),
	FIELD(msg, node.up, K_LINK), FIELD(msg, node.left, K_LINK),
	FIELD(msg, node.right, K_LINK), FIELD(msg, node.user, K_LINK),
	FIELD(msg, next, K_LINK), FIELD(msg, prev, K_LINK),
	FIELD(msg, type_next, K_LINK), FIELD(msg, size, K_COUNT),
	FIELD(msg, chunk, K_LINK), FIELD(msg, stamp, K_COUNT), END_OF_FIELDS};
static const struct field msg_block_fields[] = {FIELD(msg_block, ref, K_REF),
	FIELD(msg_block, cap, K_COUNT), END_OF_FIELDS};
static const struct field chunk_fields[] = {FIELD(msg_chunk, state, K_LINK),
	FIELD(msg_chunk, next, K_LINK), FIELD(msg_chunk, prev, K_LINK),
	FIELD(msg_chunk, class, K_COUNT), FIELD(msg_chunk, n_cells, K_COUNT),
	FIELD(msg_chunk, size, K_COUNT), END_OF_FIELDS};
static const struct field slab_fields[] = {FIELD(msg_slab, used, K_ANY),
	FIELD(msg_slab, next, K_LINK), FIELD(msg_slab, prev, K_LINK),
	END_OF_FIELDS};
static const struct field segment_fields[] = {FIELD(shm_segment, size, K_COUNT),
	FIELD(shm_segment, pages, K_COUNT), FIELD(shm_segment, off, K_REF),
	FIELD(shm_segment, run, K_REF), FIELD(shm_segment, attach_all, K_REF),
	FIELD(shm_segment, nattch, K_COUNT), FIELD(shm_segment, flags, K_ANY),
	FIELD(shm_segment, touched, K_ANY),
	FIELD(shm_segment, dest_next, K_IDX),
	FIELD(shm_segment, dest_prev, K_IDX),
	FIELD(shm_segment, tidy_at, K_COUNT), END_OF_FIELDS};
static const struct field run_fields[] = {FIELD(shm_run, next, K_REF),
	FIELD(shm_run, off, K_REF), FIELD(shm_run, class, K_COUNT),
	FIELD(shm_run, kept, K_COUNT), END_OF_FIELDS};
static const struct field attach_fields[] = {
	FIELD(shm_attach, task_next, K_REF),
	FIELD(shm_attach, free_next, K_REF), FIELD(shm_attach, ident, K_ANY),
	FIELD(shm_attach, slot_idx, K_IDX), FIELD(shm_attach, task, K_COUNT),
	FIELD(shm_attach, seg_next, K_REF), FIELD(shm_attach, seg_prev, K_REF),
	FIELD(shm_attach, count, K_COUNT), FIELD(shm_attach, epoch, K_COUNT),
	END_OF_FIELDS};
static const struct field mqueue_fields[] = {FIELD(mqueue, maxmsg, K_COUNT),
	FIELD(mqueue, msgsize, K_COUNT),
	FIELD(mqueue, receivers.head, K_THREAD),
	FIELD(mqueue, receivers.tail, K_THREAD),
	FIELD(mqueue, senders.head, K_THREAD), FIELD(mqueue, polled, K_ANY),
	FIELD(mqueue, level, K_COUNT), FIELD(mqueue, notify.state, K_COUNT),
	FIELD(mqueue, notify.how, K_COUNT), FIELD(mqueue, notify.task, K_COUNT),
	FIELD(mqueue, notify.thread, K_THREAD),
	FIELD(mqueue, unlinked, K_COUNT), FIELD(mqueue, orphan_next, K_IDX),
	FIELD(mqueue, name_len, K_COUNT), FIELD(mqueue, body_size, K_COUNT),
	END_OF_FIELDS};
static const struct field prioq_fields[] = {FIELD(prioq, count, K_COUNT),
	FIELD(prioq, ends, K_ANY), FIELD(prioq, first, K_COUNT),
	FIELD(prioq, n_free, K_COUNT), FIELD(prioq, made, K_COUNT),
	FIELD(prioq, cap, K_COUNT), FIELD(prioq, shift, K_COUNT),
	FIELD(prioq, stride, K_COUNT), FIELD(prioq, inline_data, K_COUNT),
	FIELD(prioq, table_off, K_COUNT), FIELD(prioq, free_off, K_COUNT),
	FIELD(prioq, n_leaves, K_COUNT), FIELD(prioq, hand, K_COUNT),
	FIELD(prioq, levels, K_REF), END_OF_FIELDS};
static const struct field levels_fields[] = {FIELD(prio_levels, any, K_ANY),
	FIELD(prio_levels, top[0], K_ANY), FIELD(prio_levels, live[0], K_ANY),
	FIELD(prio_levels, live[10], K_ANY), FIELD(prio_levels, leaf[0], K_REF),
	FIELD(prio_levels, leaf[10], K_REF), END_OF_FIELDS};
static const struct field item_fields[] = {FIELD(prio_item, next, K_COUNT),
	FIELD(prio_item, len, K_COUNT), END_OF_FIELDS};
static const struct field block_fields[] = {FIELD(prio_block, data, K_REF),
	FIELD(prio_block, cap, K_COUNT), END_OF_FIELDS};
/* Words that belong to no struct. */
static const struct field ref_fields[] = {
	{"ref in a table", 0, 8, K_REF}, END_OF_FIELDS};
static const struct field word_fields[] = {
	{"word in a table", 0, 4, K_IDX}, END_OF_FIELDS};
static const struct field bitmap_fields[] = {
	{"word of a bitmap", 0, 8, K_ANY}, END_OF_FIELDS};

/* ---- the scan ---- */

/* One of each thing at most, so many: enough for what fill makes. */
#define MOST 400
#define WALK_MOST 200

struct scan {
	struct places *p;
	const char *base;
	int table;
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
	s->table++;
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

/* Calls fn with the body of each live object of a facility. */
static void each_body(struct scan *s, uint32_t f,
	void (*fn)(struct scan *, uint64_t, const struct slot *))
{
	const struct header *h = (const struct header *)s->base;
	uint32_t i, max = h->ids[f].max_idx;

	for (i = 0; i <= max && i < MOST; i++) {
		const struct slot *slot = slot_of(s, f, i);

		if (!(slot->ident & IDENT_LIVE))
			continue;
		if (fn && heap_at(s, slot->body.off, 64))
			fn(s, slot->body.off, slot);
		else if (!fn)
			add(s, slot_fields,
				SLOTS_OFF((uint64_t)f) + i * SLOT_STRIDE(f));
	}
}

static void scan_semset(struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	add(s, semset_fields, off);
}

static void scan_sems(struct scan *s, uint64_t off, const struct slot *slot)
{
	uint32_t i;

	off = (off + sizeof(struct semset) + SEM_USED - 1) &
	      ~(uint64_t)(SEM_USED - 1);
	for (i = 0; i < slot->size && i < 8; i++)
		add(s, sem_fields, off + i * sizeof(struct sem));
}

static void scan_msgqueue(struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	add(s, msgqueue_fields, off);
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

static void scan_segment(struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	add(s, segment_fields, off);
}

static void scan_run(struct scan *s, uint64_t off, const struct slot *slot)
{
	const struct shm_segment *g = (const void *)(s->base + off);

	(void)slot;
	if (heap_at(s, g->run.off, sizeof(struct shm_run)))
		add(s, run_fields, g->run.off);
}

static void scan_mqueue(struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	add(s, mqueue_fields, off);
}

static void scan_prioq(struct scan *s, uint64_t off, const struct slot *slot)
{
	(void)slot;
	add(s, prioq_fields, off);
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

static void each_task(struct scan *s, int what)
{
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
		if (what == 0)
			add(s, task_fields, off);
		for (n = 0, next = t->undo_head.off;
			what == 1 && n < WALK_MOST &&
			(u = heap_at(s, next, sizeof(*u)));
			n++, next = u->task_next.off)
			add(s, undo_fields, next);
		for (n = 0, next = t->shm_head.off;
			what == 2 && n < WALK_MOST &&
			(a = heap_at(s, next, sizeof(*a)));
			n++, next = a->task_next.off)
			add(s, attach_fields, next);
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

/* Links in free blocks of the heap. */
static void scan_free(struct scan *s)
{
	const struct header *h = (const struct header *)s->base;
	const uint64_t *link;
	uint64_t off;
	uint32_t k;
	int n;

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
	struct scan s = {p, base, -1};
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
	table_begin(&s);
	for (f = 0; f < N_FAC; f++)
		each_body(&s, f, NULL);
	table_begin(&s), each_task(&s, 0);
	table_begin(&s), each_task(&s, 1);
	table_begin(&s), each_task(&s, 2);
	table_begin(&s), each_thread(&s, thread_fields, 0, 0);
	table_begin(&s);
	each_thread(&s, journal_fields, offsetof(struct thread, journal), 0);
	table_begin(&s);
	each_thread(&s, waiter_fields, offsetof(struct thread, waiter), 1);
	table_begin(&s), each_body(&s, FAC_SEM, scan_semset);
	table_begin(&s), each_body(&s, FAC_SEM, scan_sems);
	table_begin(&s), each_body(&s, FAC_MSG, scan_msgqueue);
	table_begin(&s), each_body(&s, FAC_MSG, scan_msgs);
	table_begin(&s), each_body(&s, FAC_MSG, scan_chunks);
	table_begin(&s), scan_slabs(&s);
	table_begin(&s), scan_free(&s);
	table_begin(&s), scan_free_runs(&s);
	table_begin(&s), each_body(&s, FAC_SHM, scan_segment);
	table_begin(&s), each_body(&s, FAC_SHM, scan_run);
	table_begin(&s), each_body(&s, FAC_MQ, scan_mqueue);
	table_begin(&s), each_body(&s, FAC_MQ, scan_prioq);
	table_begin(&s), each_body(&s, FAC_MQ, scan_prio_table);
	table_begin(&s), each_body(&s, FAC_MQ, scan_levels);
	table_begin(&s), each_body(&s, FAC_MQ, scan_items);
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
	switch (rng_below(r, 8)) {
	case 0:
		return old ^ 1ULL << rng_below(r, at->field->size * 8);
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
