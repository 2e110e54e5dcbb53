// SPDX-License-Identifier: MIT
/*
 * Proving the invariants; see check.h. Nothing found in the region is trusted:
 * an index is compared with its table before it is used, a reference goes
 * through region_span, and every walk has an end.
 */
#include "ipc/check.h"
#include "index/keyhash.h"
#include "ipc/semop.h"
#include "registry/heap.h"

static void fault(struct check *k, u32 invariant, const char *text, u64 where)
{
	k->n_faults++;
	if (k->fault)
		k->fault(k, invariant, text, where);
}

static u32 idx_mask(const struct region *r)
{
	return (1u << region_header(r)->idx_bits) - 1;
}

/* ---- heap ---- */

u64 check_map_words(const struct region *r)
{
	u64 bump = region_header(r)->heap.bump;

	if (bump < HEAP_OFF || bump > REGION_SIZE)
		return 1;
	return (bump - HEAP_OFF) / 64 / 64 + 1;
}

/* The block of an object or a record, or a free one: 8. */
static void claim(struct check *k, const struct region *r, u64 off, u64 size)
{
	u64 block = heap_block_size(size), bump = region_header(r)->heap.bump;
	u64 bit;

	if (off < HEAP_OFF || off % 64 || !block || block > bump ||
		off > bump - block) {
		fault(k, 8, "block outside the heap", off);
		return;
	}
	for (bit = (off - HEAP_OFF) / 64; k->map && block; bit++, block -= 64) {
		if (bit / 64 >= k->map_words)
			return; /* handed out since the map was made */
		if (k->map[bit / 64] >> bit % 64 & 1) {
			fault(k, 8, "blocks overlap", off);
			return;
		}
		k->map[bit / 64] |= 1ULL << bit % 64;
	}
}

/* The size of class i; heap.h says how they are cut. */
static u64 class_size(u32 i)
{
	return i < 4 ? (i + 1) * 64ULL
		     : (5 + (i - 4) % 4) * (64ULL << (i - 4) / 4);
}

static void check_heap(const struct region *r, struct check *k, int quiet)
{
	const struct heap *h = &region_header(r)->heap;
	u64 n_free = 0, size, off, n;
	u32 i;

	if (h->bump < HEAP_OFF || h->bump > h->reserved ||
		h->reserved > REGION_SIZE || h->bump % 64 ||
		h->reserved % SYS_PAGE) {
		fault(k, 1, "heap bounds", h->bump);
		return;
	}
	for (i = 0; i < HEAP_CLASSES; i++) {
		size = class_size(i);
		n = (h->bump - HEAP_OFF) / size;
		for (off = h->free_head[i]; off; n--) {
			u64 *link = region_span(r, (struct ref){off}, size);

			if (!n || !link) {
				fault(k, 8,
					link ? "free list without end"
					     : "bad link in a free list",
					off);
				break;
			}
			claim(k, r, off, size);
			n_free += size;
			off = *link;
		}
	}
	if (quiet && h->used + n_free != h->bump - HEAP_OFF)
		fault(k, 9, "bytes neither used nor free",
			h->bump - HEAP_OFF - h->used - n_free);
}

/* ---- ids ---- */

static u64 *bitmap(const struct region *r, enum facility f)
{
	return region_at(r, BITMAP_OFF((u64)f));
}

/* Level by level: a level's words are bits of the next. */
static void check_bitmap_levels(
	const struct region *r, struct check *k, enum facility f)
{
	/* Words beyond the highest idx ever used are zero at every level. */
	u64 bits = (u64)region_header(r)->ids[f].max_idx + 1, i, words;
	u64 *below = bitmap(r, f), *above, size = IDX_MAX / 64;
	int level;

	for (level = 1; level < IDX_LEVELS; level++, below = above) {
		above = below + size;
		size /= 64;
		words = (bits + 63) / 64;
		for (i = 0; i < words; i++)
			if ((above[i / 64] >> i % 64 & 1) !=
				(below[i] == ~0ULL))
				fault(k, 3, "bit of a full word", i);
		bits = words;
	}
}

static void check_slots(
	const struct region *r, struct check *k, enum facility f)
{
	const struct header *h = region_header(r);
	const struct id_table *t = &h->ids[f];
	u64 total = 0, *bits = bitmap(r, f);
	u32 idx, n = 0, max = t->max_idx;

	if (max > idx_mask(r)) {
		fault(k, 4, "max_idx beyond the table", max);
		return;
	}
	for (idx = 0; idx <= max; idx++) {
		int used = bits[idx / 64] >> idx % 64 & 1, live;
		const struct slot *s;

		/* A word of free ones needs no look at its slots: their pages
		 * may never have been touched. */
		if (!bits[idx / 64] && idx % 64 == 0) {
			idx += 63;
			continue;
		}
		s = region_slot(r, f, idx);
		live = (s->ident & IDENT_LIVE) != 0;
		n += (u32)used;
		if (live)
			total += s->size;
		if (used != live && h->removing[f] != (u64)idx + 1)
			fault(k, 2,
				used ? "idx used by no object"
				     : "object on a free idx",
				idx);
		if (live && (((u32)s->ident & idx_mask(r)) != idx ||
				    IDENT_GEN(s->ident) >= t->gen))
			fault(k, 5, "ident of another slot or generation", idx);
		if (live && !region_span(r, s->body, 64))
			fault(k, 8, "object without a body", idx);
	}
	if (n != t->in_use)
		fault(k, 4, "in_use is not the number of used idx", n);
	if (f == FAC_SEM && !h->removing[f] && total != t->total)
		fault(k, 7, "total is not the sum of the sets", total);
	check_bitmap_levels(r, k, f);
}

/* ---- keys ---- */

static int key_twice(const struct region *r, enum facility f, u32 from, s32 key)
{
	u32 at, steps = 0;

	for (at = from; at && at <= IDX_MAX && steps < 4096; steps++) {
		const struct slot *s = region_slot(r, f, at - 1);

		if (s->key == key)
			return 1;
		at = s->next;
	}
	return 0;
}

static void check_keys(const struct region *r, struct check *k, enum facility f)
{
	const struct id_table *t = &region_header(r)->ids[f];
	u32 *buckets = region_at(r, BUCKETS_OFF((u64)f));
	u32 b, at, n = 0, n_keyed = 0, idx, max = t->max_idx;

	if (!t->n_buckets || t->n_buckets > IDX_MAX) {
		fault(k, 6, "number of buckets", t->n_buckets);
		return;
	}
	for (b = 0; b < t->n_buckets; b++) {
		for (at = buckets[b]; at; n++) {
			const struct slot *s;

			if (at - 1 > idx_mask(r) || n > t->n_keys) {
				fault(k, 6, "bad link or endless chain", b);
				return;
			}
			s = region_slot(r, f, at - 1);
			if (!(s->ident & IDENT_LIVE) || !s->key)
				fault(k, 6, "no keyed object in a chain",
					at - 1);
			else if (keyhash_bucket(s->key, t->n_buckets) != b)
				fault(k, 6, "key in another's bucket", at - 1);
			else if (key_twice(r, f, s->next, s->key))
				fault(k, 6, "key twice", at - 1);
			at = s->next;
		}
	}
	for (idx = 0; idx <= max && idx <= idx_mask(r); idx++)
		if (bitmap(r, f)[idx / 64] >> idx % 64 & 1) {
			const struct slot *s = region_slot(r, f, idx);

			n_keyed += (s->ident & IDENT_LIVE) && s->key;
		}
	if (n != t->n_keys || n != n_keyed)
		fault(k, 6, "n_keys, chains and keyed objects differ", n);
}

/* ---- sets ---- */

static u32 check_queue(const struct region *r, struct check *k,
	const struct slot *s, const struct wait_queue *q, enum queue_kind kind,
	u32 num, u32 idx)
{
	u32 at = q->head, prev = 0, n = 0;

	while (at) {
		const struct waiter *w;

		if (at >= N_THREADS || n >= N_THREADS) {
			fault(k, 11, "bad link or endless queue", idx);
			return n;
		}
		w = &region_thread(r, at)->waiter;
		if (w->prev != prev)
			fault(k, 11, "queue not linked both ways", idx);
		if (w->state != WAIT_QUEUED || w->ident != s->ident ||
			w->kind != (u32)kind ||
			((kind == Q_ALTER || kind == Q_ZERO) &&
				w->queue_num != num))
			fault(k, 11, "sleeper of another queue", idx);
		prev = at;
		at = w->next;
		n++;
	}
	if (q->tail != prev)
		fault(k, 11, "queue's tail", idx);
	return n;
}

static void check_record(const struct region *r, struct check *k,
	const struct slot *s, const struct undo *u, u32 idx)
{
	u32 i, n = 0;

	if (u->ident != s->ident || u->slot_idx != idx)
		fault(k, 12, "undo record of another set", idx);
	if (u->task >= N_TASKS)
		fault(k, 12, "undo record of no task", idx);
	if (u->n_sems != s->size || u->cap < u->n_sems ||
		!region_span(r, (struct ref){region_off(r, u)},
			sizeof(*u) + (u64)u->cap * sizeof(s16))) {
		fault(k, 12, "undo record of another size", idx);
		return;
	}
	for (i = 0; i < u->n_sems; i++)
		n += u->adj[i] != 0;
	if (n != u->n_nonzero)
		fault(k, 12, "n_nonzero", idx);
	if (n && !u->is_active)
		fault(k, 13, "undo to give back, and not active", idx);
}

static void check_undo(const struct region *r, struct check *k,
	const struct slot *s, const struct semset *set, u32 idx)
{
	u32 n = 0, n_adj = 0, n_active = 0;
	struct ref at, prev = {0};
	const struct undo *u;

	for (at = set->undo_all; at.off; at = u->set_next) {
		u = region_span(r, at, sizeof(*u));
		if (!u || ++n > N_TASKS) {
			fault(k, 12, "bad link or endless list", idx);
			return;
		}
		if (u->set_prev.off != prev.off)
			fault(k, 12, "list not linked both ways", idx);
		check_record(r, k, s, u, idx);
		n_adj += u->n_nonzero != 0;
		n_active += u->is_active != 0;
		prev = at;
	}
	if (n_adj != set->n_adj || n_active != set->n_active)
		fault(k, 13, "n_adj or n_active", idx);
	n = 0;
	prev.off = 0;
	for (at = set->undo_active; at.off; at = u->active_next) {
		u = region_span(r, at, sizeof(*u));
		if (!u || ++n > n_active) {
			fault(k, 13, "bad link or endless list", idx);
			return;
		}
		if (u->active_prev.off != prev.off || !u->is_active)
			fault(k, 13, "list of the active", idx);
		prev = at;
	}
	if (n != n_active)
		fault(k, 13, "active, and not in the list", idx);
}

/* The slot's lock is held, or nothing happens. */
static void check_set(const struct region *r, struct check *k, u32 idx)
{
	const struct slot *s = region_slot(r, FAC_SEM, idx);
	u64 size = sizeof(struct semset) + (u64)s->size * sizeof(struct sem);
	struct semset *set = region_span(r, s->body, size);
	const struct sem *sem;
	u32 i, n;

	if (!set) {
		fault(k, 8, "set outside the heap", idx);
		return;
	}
	n = check_queue(r, k, s, &set->complex, Q_COMPLEX, 0, idx);
	n += check_queue(r, k, s, &set->zero_arrays, Q_ZERO_ARRAYS, 0, idx);
	for (i = 0; i < s->size; i++) {
		sem = &sem_array(set)[i];
		if (SEM_VALUE(sem->lo) > SEMVMX)
			fault(k, 10, "value", idx);
		n += check_queue(r, k, s, &sem->alter, Q_ALTER, i, idx);
		n += check_queue(r, k, s, &sem->zero, Q_ZERO, i, idx);
	}
	if (n != set->n_waiters)
		fault(k, 11, "n_waiters", idx);
	check_undo(r, k, s, set, idx);
}

/* ---- tasks ---- */

static void check_task(const struct region *r, struct check *k, u32 task)
{
	const struct task *t = region_task(r, task);
	u64 left = region_header(r)->heap.used / 64;
	struct ref at = t->undo_head;
	const struct undo *u;

	for (; at.off; at = u->task_next) {
		u = region_span(r, at, sizeof(*u));
		if (!u || !left--) {
			fault(k, 14, "bad link or endless list", task);
			return;
		}
		if (u->task != task)
			fault(k, 14, "undo record of another task", task);
		claim(k, r, at.off, sizeof(*u) + (u64)u->cap * sizeof(s16));
	}
}

/* ---- all ---- */

static int set_live(const struct region *r, u32 idx)
{
	return bitmap(r, FAC_SEM)[idx / 64] >> idx % 64 & 1 &&
	       region_slot(r, FAC_SEM, idx)->ident & IDENT_LIVE;
}

static void claim_body(const struct region *r, struct check *k, u32 idx)
{
	const struct slot *s = region_slot(r, FAC_SEM, idx);

	claim(k, r, s->body.off,
		sizeof(struct semset) + (u64)s->size * sizeof(struct sem));
}

static u32 highest(const struct region *r)
{
	u32 max = region_header(r)->ids[FAC_SEM].max_idx;

	return max > idx_mask(r) ? idx_mask(r) : max;
}

u32 check_quiet(const struct region *r, struct check *k)
{
	u32 idx, f;

	for (f = FAC_SEM; f <= FAC_SHM; f++) {
		check_slots(r, k, f);
		check_keys(r, k, f);
	}
	for (idx = 0; idx <= highest(r); idx++)
		if (set_live(r, idx)) {
			check_set(r, k, idx);
			claim_body(r, k, idx);
		}
	for (idx = 1; idx < N_TASKS; idx++)
		check_task(r, k, idx);
	check_heap(r, k, 1);
	return k->n_faults;
}

/* Under the facility's lock: no object comes or goes. */
static void check_sets_live(struct caller *c, struct check *k)
{
	const struct region *r = &c->region;
	u32 idx;

	for (idx = 0; idx <= highest(r); idx++) {
		struct slot *s = region_slot(r, FAC_SEM, idx);

		if (!set_live(r, idx) || sem_lock(c, s, s->ident))
			continue;
		check_set(r, k, idx);
		sem_unlock(c, s);
		claim_body(r, k, idx);
	}
	heap_acquire(c);
	check_heap(r, k, 0);
	heap_release(c);
}

s32 check_live(struct caller *c, struct check *k)
{
	struct header *h = caller_header(c);
	struct sem_info info;
	u32 f;
	int err = caller_enroll(c);

	/* Takes the facility's lock with its class's repair. */
	if (!err)
		err = sem_info(c, 0, &info);
	if (err < 0)
		return err;
	for (f = FAC_SEM; f <= FAC_SHM; f++) {
		if (lock_acquire(c, &h->fac_lock[f]))
			keyhash_repair(c, f);
		check_slots(&c->region, k, f);
		check_keys(&c->region, k, f);
		if (f == FAC_SEM)
			check_sets_live(c, k);
		lock_release(c, &h->fac_lock[f]);
	}
	return (s32)k->n_faults;
}
