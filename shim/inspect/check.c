// SPDX-License-Identifier: MIT
/*
 * The invariants that all facilities share: ids, keys, heap, locks, journals,
 * tasks; see check.h. Objects are checked in semcheck.c, msgcheck.c, shmcheck.c
 * and mqcheck.c.
 *
 * Nothing in the registry is written, and pages that were never used are not
 * read (a read would allocate them). Every loop is bounded by a count that was
 * checked before, so a completely damaged registry is only many violations.
 */
#include <linux/mman.h>
#include "inspect/check.h"
#include "mq/mqueue.h"
#include "msg/msgqueue.h"
#include "shm/shmattach.h"
#include "sem/undo.h"
#include "registry/heap.h"
#include "registry/heap/span.h"

#define UNIT 64u

void check_failed(
	struct check *k, enum invariant which, const char *what, u64 a, u64 b)
{
	k->n_violations++;
	if (k->report)
		k->report(k->arg, which, what, a, b);
}

void check_failed_sum(
	struct check *k, enum invariant which, const char *what, u64 a, u64 b)
{
	if (!k->c) {
		check_failed(k, which, what, a, b);
		return;
	}
	/* More of them tell nothing new. */
	if (k->n_sums == CHECK_SUMS)
		return;
	k->sums[k->n_sums].which = which;
	k->sums[k->n_sums].what = what;
	k->sums[k->n_sums].a = a;
	k->sums[k->n_sums++].b = b;
}

/* The registry was quiet: they count. */
static void report_sums(struct check *k)
{
	u32 i;

	for (i = 0; i < k->n_sums; i++)
		check_failed(k, k->sums[i].which, k->sums[i].what, k->sums[i].a,
			k->sums[i].b);
}

static void check_lock(
	struct check *k, const struct lock *lock, const char *what, u64 which)
{
	u32 word = atom_load_acquire(&lock->word), tid = word & SYS_TID_MASK;

	if ((word & SYS_OWNER_DIED) ||
		(tid && sys_call(__NR_kill, tid, 0) == -ESRCH))
		check_failed(k, INV_LOCK, what, which, word);
}

/* ---- locks of check_live ---- */

/* A lock that needs no repair beyond its journal; as lock_acquire. */
static int take(struct check *k, struct lock *lock)
{
	k->n_taken++;
	return lock_acquire(k->c, lock);
}

static void finish_removals(struct caller *c, u32 f)
{
	struct mq_desc none;

	if (f == FAC_SEM)
		sem_finish_removal(c);
	else if (f == FAC_MSG)
		msg_finish_removal(c);
	else if (f == FAC_MQ)
		mq_find_name(c, "-", 1, &none);
	else
		object_fac_lock(c, &shm_class);
	if (f == FAC_SHM)
		object_fac_unlock(c, &shm_class);
}

/* Take the facility's lock, and finish a removal whose thread died, or gave up
 * the lock in the middle of it. */
static void begin_facility(struct check *k, u32 f)
{
	struct caller *c = k->c;
	struct lock *lock;

	if (!c)
		return;
	lock = &caller_header(c)->fac_lock[f].lock;
	for (;;) {
		finish_removals(c, f);
		k->n_taken++;
		if (!take(k, lock))
			return;
		lock_pass_on(c, lock);
	}
}

static void end_facility(struct check *k, u32 f)
{
	if (k->c)
		lock_release(k->c, &caller_header(k->c)->fac_lock[f].lock);
}

static void begin_object(struct check *k, u32 f, struct slot *s)
{
	if (!k->c)
		return;
	k->n_taken++;
	if (f == FAC_SEM)
		sem_lock_any(k->c, s);
	else if (f == FAC_MSG)
		msg_lock_any(k->c, s);
	else if (f == FAC_MQ)
		mq_lock_any(k->c, s);
	else
		lock_acquire(k->c, &s->lock);
}

static void end_object(struct check *k, u32 f, struct slot *s)
{
	if (!k->c)
		return;
	if (f == FAC_SEM)
		sem_unlock(k->c, s);
	else
		lock_release(k->c, &s->lock);
}

/* ---- heap ---- */

/* Is it a block of the heap as it is now? */
static int in_heap(const struct check *k, u64 off, u64 block)
{
	u64 bump = atom_load_acquire(&region_header(&k->region)->heap.bump);

	if (bump > HEAP_END)
		bump = HEAP_END;
	return off >= HEAP_OFF && off % UNIT == 0 && block && off <= bump &&
	       block <= bump - off;
}

/* Mark the units of a block; 0 if it overlaps another. While programs run this
 * is no violation: the block may have been allocated after the check began, or
 * have belonged to another reference then. */
static int mark_block(struct check *k, u64 off, u64 block)
{
	u64 unit = (off - HEAP_OFF) / UNIT, end = unit + block / UNIT;

	if (off + block > k->bump) {
		check_failed_sum(
			k, INV_BLOCK, "block beyond the heap", off, block);
		return 0;
	}
	for (; unit < end; unit++) {
		u64 bit = 1ULL << unit % 64;

		if (k->map[unit / 64] & bit) {
			check_failed_sum(
				k, INV_BLOCK, "blocks overlap", off, block);
			return 0;
		}
		k->map[unit / 64] |= bit;
	}
	return 1;
}

void *check_block(struct check *k, struct ref ref, u64 size)
{
	u64 block = heap_block_size(size);

	k->used += block;
	if (!in_heap(k, ref.off, block)) {
		check_failed(
			k, INV_BLOCK, "block out of the heap", ref.off, block);
		return NULL;
	}
	return mark_block(k, ref.off, heap_extent(block)) || k->c
		       ? region_at(&k->region, ref.off)
		       : NULL;
}

/* The free blocks of a span: those of its list, and those never allocated. */
static void check_span(struct check *k, u32 n)
{
	const struct heap_span *s = span_at(&k->region, n);
	struct span_state st = span_state_of(atom_load_relaxed(&s->state));
	u32 class = atom_load_relaxed(&s->class), i = st.free, n_free = 0;
	u64 block = heap_class_size(class ? (class - 1) % HEAP_CLASSES : 0), at;

	if (!class) {
		if (s->state)
			check_failed(
				k, INV_SPAN, "state of no span", n, s->state);
		return;
	}
	if (class > HEAP_CLASSES || block > HEAP_SMALL ||
		st.cut > HEAP_SPAN / block || st.used > st.cut ||
		st.pages > HEAP_SPAN / SYS_PAGE ||
		st.cut * block > st.pages * SYS_PAGE) {
		check_failed(k, INV_SPAN, "state of span", n, s->state);
		return;
	}
	for (; i && i <= st.cut && n_free < st.cut; n_free++) {
		at = span_off(n) + (i - 1) * block;
		mark_block(k, at, block);
		i = *(u16 *)region_at(&k->region, at);
	}
	if (i || n_free != st.cut - st.used)
		check_failed(k, INV_SPAN, "free blocks of span", n, n_free);
	at = span_off(n) + st.cut * block;
	if (at < span_off(n + 1))
		mark_block(k, at, span_off(n + 1) - at);
	k->filled += st.pages * SYS_PAGE;
	k->n_listed += n_free || st.cut < HEAP_SPAN / block;
}

/* The spans of a class with a free block, each once and linked both ways. */
static void check_span_list(struct check *k, u32 class)
{
	u64 link = region_header(&k->region)->heap.free_head[class], prev = 0;
	u32 most = span_count(&k->region);
	const struct heap_span *s;

	for (; link; link = s->next) {
		if (link > most || !k->n_listed) {
			check_failed(k, INV_SPAN, "list of class", class, link);
			return;
		}
		s = span_at(&k->region, (u32)link - 1);
		if (s->class != class + 1 || s->prev != prev) {
			check_failed(k, INV_SPAN, "list of class", class, link);
			return;
		}
		prev = link;
		k->n_listed--;
	}
}

static void check_spans(struct check *k)
{
	const struct heap *heap = &region_header(&k->region)->heap;
	u32 n = span_count(&k->region), i;

	for (i = 0; i < n; i++)
		check_span(k, i);
	for (i = 0; heap_class_size(i) <= HEAP_SMALL; i++)
		check_span_list(k, i);
	if (k->n_listed)
		check_failed(k, INV_SPAN, "spans in no list", k->n_listed, 0);
	if (heap->filled < k->filled)
		check_failed(k, INV_SPAN, "filled is, should be", heap->filled,
			k->filled);
}

static void check_free_lists(struct check *k)
{
	struct heap *heap = &region_header(&k->region)->heap;
	u64 off, block;
	u32 i;

	if (k->c)
		take(k, &heap->lock);
	for (i = 0; i < HEAP_CLASSES; i++) {
		block = heap_class_size(i);
		if (block <= HEAP_SMALL)
			continue;
		off = heap->free_head[i];
		/* A cycle overlaps itself. */
		while (off && in_heap(k, off, block) &&
			mark_block(k, off, heap_extent(block)))
			off = *(u64 *)region_at(&k->region, off);
	}
	check_spans(k);
	check_msg_slabs(k);
	if (k->c)
		lock_release(k->c, &heap->lock);
}

static void check_leaks(struct check *k)
{
	struct heap *heap = &region_header(&k->region)->heap;
	u64 units = (k->bump - HEAP_OFF) / UNIT, i, first = 0, n = 0;

	for (i = 0; i < units; i++) {
		if (k->map[i / 64] >> i % 64 & 1)
			continue;
		first = n++ ? first : HEAP_OFF + i * UNIT;
	}
	if (n)
		check_failed_sum(k, INV_LEAK, "bytes in no block, first at",
			n * UNIT, first);
	if (heap->used != k->used)
		check_failed_sum(
			k, INV_USED, "used is, should be", heap->used, k->used);
}

/* ---- ids and keys ---- */

static const u32 level_start[IDX_LEVELS] = {
	0,
	IDX_MAX / 64,
	IDX_MAX / 64 + IDX_MAX / 4096,
	IDX_MAX / 64 + IDX_MAX / 4096 + IDX_MAX / 262144,
};

/* A page that was never used is a hole, and reading it allocates a page of the
 * file system: SIGBUS if that is full. 0 if it cannot be read, or is a hole
 * that must not be filled. p is in a table, whose pages are never freed. */
static int present(struct check *k, const void *p)
{
	u64 page = region_off(&k->region, p) / SYS_PAGE;
	u64 *seen = &k->present_page[page % CHECK_PAGES];
	long err;

	if (*seen == page)
		return 1;
	if (!region_has(&k->region, region_at(&k->region, page * SYS_PAGE),
		    SYS_PAGE))
		return 0;
	err = sys_call(__NR_madvise, region_at(&k->region, page * SYS_PAGE),
		SYS_PAGE, MADV_POPULATE_READ);
	if (err && err != -EINVAL)
		return 0;
	*seen = page;
	return 1;
}

/* Level 0 is 2 MiB: unused pages of it are 0 and stay holes. */
static u64 bitmap_word(struct check *k, u32 f, u32 level, u32 word)
{
	u32 page = word / (IDX_PER_PAGE / 64);
	u64 *at = (u64 *)region_at(&k->region, BITMAP_OFF((u64)f)) +
		  level_start[level] + word;

	if (level == 0 &&
		!(region_header(&k->region)->ids[f].pages[page / 64] >>
				page % 64 &
			1))
		return 0;
	return present(k, at) ? *at : 0;
}

static void check_bitmap_up(struct check *k, u32 f, u32 max_idx)
{
	u32 level, word, n = max_idx / 64 + 1;

	for (level = 0; level + 1 < IDX_LEVELS; level++, n = n / 64 + 1)
		for (word = 0; word < n && k->n_violations < CHECK_MOST;
			word++) {
			int full = bitmap_word(k, f, level, word) == ~0ULL;
			u64 up = bitmap_word(k, f, level + 1, word / 64);

			if ((int)(up >> word % 64 & 1) != full)
				check_failed(k, INV_BITMAP_UP, "level, word",
					level, word);
		}
}

static void check_object(struct check *k, u32 f, u32 idx, struct slot *s)
{
	u32 mask = (1u << header_idx_bits(region_header(&k->region))) - 1;

	if (((u32)IDENT_ID(s->ident) & mask) != idx || !IDENT_GEN(s->ident))
		check_failed(k, INV_SLOT, "idx, ident", idx, s->ident);
	switch (f) {
	case FAC_SEM:
		check_semset(k, idx, s);
		break;
	case FAC_MSG:
		check_msgqueue(k, idx, s);
		break;
	case FAC_SHM:
		check_shm_segment(k, idx, s);
		break;
	default:
		check_mqueue(k, idx, s);
	}
}

/* Returns live slots with keys. */
static u32 check_slots(struct check *k, u32 f)
{
	struct id_table *t = &region_header(&k->region)->ids[f];
	u32 idx, n = 0, n_keys = 0, max_idx = t->max_idx;
	u64 total = 0;

	if (max_idx >= IDX_MAX) {
		check_failed(k, INV_MAX_IDX, "max_idx", max_idx, f);
		max_idx = IDX_MAX - 1;
	}
	for (idx = 0; idx <= max_idx && k->n_violations < CHECK_MOST; idx++) {
		int used = bitmap_word(k, f, 0, idx / 64) >> idx % 64 & 1;
		u32 there = ids_past_hole(&k->region, (enum facility)f, idx);
		struct slot *s;

		if (there != idx) {
			if (used)
				check_failed(
					k, INV_BITMAP, "idx, bit", idx, used);
			idx = there - 1;
			continue;
		}
		if (idx % 64 == 0 && !bitmap_word(k, f, 0, idx / 64) &&
			idx + 64 <= max_idx) {
			idx += 63;
			continue;
		}
		s = region_slot(&k->region, f, idx);
		/* A slot in use is completely allocated; of others only the
		 * page to be read is tested. */
		if (!present(k, &s->ident))
			continue;
		if (!!(s->ident & IDENT_LIVE) != used)
			check_failed(k, INV_BITMAP, "idx, bit", idx, used);
		/* A thread that died at the very end of a removal leaves only
		 * this. */
		if (!(s->ident & IDENT_LIVE))
			continue;
		n++;
		n_keys += s->key != 0;
		total += s->size;
		begin_object(k, f, s);
		check_lock(k, &s->lock, "object", idx);
		check_object(k, f, idx, s);
		end_object(k, f, s);
	}
	if (n != t->in_use)
		check_failed(
			k, INV_IN_USE, "in_use is, should be", t->in_use, n);
	if (f == FAC_SEM && total != t->total)
		check_failed(
			k, INV_TOTAL, "total is, should be", t->total, total);
	/* Beyond max_idx: a live slot there would have its bit set. */
	if (bitmap_word(k, f, 0, max_idx / 64) >> max_idx % 64 >> 1)
		check_failed(k, INV_MAX_IDX, "max_idx", max_idx, f);
	check_bitmap_up(k, f, max_idx);
	return n_keys;
}

/* The hash of keyhash.c, written a second time: a check shares no code with
 * what it checks. */
static u32 hash_of(s32 key)
{
	u32 h = (u32)key;

	h = (h ^ h >> 16) * 0x7feb352dU;
	h = (h ^ h >> 15) * 0x846ca68bU;
	return h ^ h >> 16;
}

/* Idx + 1 in a link; the other bits: whether another follows, and of the
 * hash. */
#define IN_LINK(link) ((link)&0x1ffffff)

static int link_is_right(u32 link, const struct slot *s)
{
	return (link >> 25 & 1) == (s->next != 0) &&
	       link >> 26 == hash_of(s->key) >> 26;
}

static u32 bucket_for(s32 key, u32 n_buckets)
{
	u32 h = hash_of(key), size = 1;

	while (size < n_buckets)
		size *= 2;
	return h % size < n_buckets ? h % size : h % (size / 2);
}

/* Two per key, for all idx on pages that were ever used; others are holes,
 * which a read would fill. */
static u32 most_buckets(const struct id_table *t)
{
	u64 n = 4;
	u32 i;

	for (i = 0; i < IDX_PAGES / 64; i++)
		n += 2ULL * IDX_PER_PAGE *
		     (u32)__builtin_popcountll(t->pages[i]);
	return n < IDX_MAX ? (u32)n : IDX_MAX;
}

static void check_keys(struct check *k, u32 f, u32 n_live)
{
	struct header *h = region_header(&k->region);
	struct id_table *t = &h->ids[f];
	u32 *buckets = region_at(&k->region, BUCKETS_OFF((u64)f));
	u32 b, at, n = 0, n_buckets = t->n_buckets;

	if (t->key_seq & 1)
		check_failed(k, INV_KEY_SEQ, "key_seq", t->key_seq, f);
	if (n_buckets < 1 || n_buckets > most_buckets(t)) {
		check_failed(k, INV_BUCKETS, "n_buckets", n_buckets, f);
		return;
	}
	for (b = 0; b < n_buckets; b++) {
		/* None is a hole unless the registry is damaged. */
		if (k->region.holes && !present(k, &buckets[b])) {
			b |= SYS_PAGE / sizeof(*buckets) - 1;
			continue;
		}
		for (at = buckets[b]; at && n <= n_live;) {
			u32 idx = IN_LINK(at) - 1;
			struct slot *s =
				region_slot(&k->region, f, idx & (IDX_MAX - 1));

			n++;
			if (idx >= IDX_MAX ||
				ids_past_hole(&k->region, (enum facility)f,
					idx) != idx ||
				!(s->ident & IDENT_LIVE) || !s->key ||
				!link_is_right(at, s) ||
				bucket_for(s->key, n_buckets) != b) {
				check_failed(
					k, INV_CHAIN, "bucket, idx", b, idx);
				break;
			}
			at = s->next;
		}
	}
	for (b = n_buckets; b < n_buckets + 16 && b < IDX_MAX; b++)
		if (present(k, &buckets[b]) && buckets[b])
			check_failed(k, INV_BUCKETS, "bucket not in use", b, f);
	/* A POSIX queue that is unlinked but open exists without a name. */
	if (f == FAC_MQ)
		n_live -= k->n_orphans;
	if (n != n_live || n != t->n_keys)
		check_failed(k, INV_N_KEYS, "in chains, n_keys", n, t->n_keys);
}

/* ---- threads and tasks ---- */

static void check_thread_blocks(struct check *k, const struct thread *th)
{
	const struct msg_blocks *b = &th->blocks;
	u32 t;

	if (th->waiter.ext.off)
		check_block(k, th->waiter.ext, th->waiter.ext_cap);
	for (t = 0; t < MSG_TIERS; t++)
		if (b->tier[t].off)
			check_block(k, b->tier[t], 2048ULL << t);
	if (b->big.off)
		check_block(k, b->big, b->big_cap);
	if (th->ready.off)
		check_block(k, th->ready, th->ready_size);
}

static void check_threads(struct check *k)
{
	u32 i = 1;

	for (; (i = thread_next(&k->region, i)) < N_THREADS; i++) {
		struct thread *th = region_thread(&k->region, i);
		struct journal *j = &th->journal;
		struct journal_ext *x =
			region_span(&k->region, j->ext, sizeof(*x));

		if (j->n)
			check_failed_sum(
				k, INV_JOURNAL, "thread, entries", i, j->n);
		if (x)
			check_block(k, j->ext, journal_ext_size(x->cap));
		if (th->spare.off && th->spare.off != j->ext.off)
			check_block(k, th->spare, th->spare_size);
		else if (x && th->spare.off && x->old.off)
			check_block(k, x->old, x->old_size);
		if (th->spare.off && !identity_thread_gone(th->tid, th->birth))
			check_failed_sum(
				k, INV_SPARE, "thread", i, th->spare.off);
		check_thread_blocks(k, th);
		if (th->tid && th->waiter.state == WAIT_QUEUED)
			k->n_queued--;
	}
}

static void check_undo_records(struct check *k, u32 i, const struct task *t)
{
	struct ref ref = t->undo_head;
	struct walk w = {0};
	struct undo *u;

	while (ref.off && walk_is_new(&w, ref.off)) {
		u = region_span(&k->region, ref, sizeof(*u));
		if (!u || !check_block(k, ref, undo_size(u->cap)))
			return;
		if (u->task != i)
			check_failed(k, INV_UNDO_CHAIN, "task, record's", i,
				u->task);
		if (u->ident)
			k->n_bound--;
		ref = u->task_next;
	}
}

static void check_task(struct check *k, u32 i)
{
	struct task *t = region_task(&k->region, i);

	if (k->c)
		take(k, &t->lock);
	check_lock(k, &t->lock, "task", i);
	if (!t->claim && (t->undo_head.off || t->spare.off || t->shm_head.off))
		check_failed(k, INV_TASK, "free task", i, t->undo_head.off);
	if (t->claim && !region_task_noted(&k->region, i))
		check_failed(k, INV_TASK, "in a page not noted", i, t->claim);
	if (t->spare.off)
		check_block(k, t->spare, t->spare_size);
	check_undo_records(k, i, t);
	check_shm_records(k, i, t);
	if (k->c)
		lock_release(k->c, &t->lock);
}

/* Only allocated pages, if holes are known (an onlooker's), else those that
 * were ever used: the table is large. */
static void each_task(
	const struct region *r, void (*fn)(void *arg, u32 i), void *arg)
{
	u32 i;

	for (i = 0; i < N_TASKS; i++)
		if (r->holes ? region_has_row(r, region_task(r, i))
			     : region_task_noted(r, i))
			fn(arg, i);
		else
			i |= TASKS_A_PAGE - 1;
}

static void check_one_task(void *arg, u32 i)
{
	struct check *k = arg;
	const struct task *t = region_task(&k->region, i);

	/* A task that was never used needs no lock. */
	if (!k->c || t->claim || t->lock.count)
		check_task(k, i);
}

/* ---- sleepers ---- */

void check_sleepers(struct check *k, struct check_sleepers *w)
{
	u32 at = w->q->head, prev = 0, n = 0;
	u64 stamp = 0;

	w->n_live = 0;
	for (; at && at < N_THREADS && n < N_THREADS; n++) {
		const struct waiter *p = &region_thread(&k->region, at)->waiter;

		if (p->prev != prev || (w->by_stamp && p->stamp <= stamp)) {
			check_failed(k, INV_QUEUE, "links or order, idx, kind",
				w->idx, w->kind);
			break;
		}
		if (p->state != WAIT_QUEUED || p->ident != w->ident ||
			p->facility != w->facility || p->slot_idx != w->idx ||
			p->kind != w->kind)
			check_failed(k, INV_QUEUE, "wrong member, idx, kind",
				w->idx, w->kind);
		w->n_live += !wait_dead(p);
		stamp = p->stamp;
		prev = at;
		at = p->next;
	}
	if (at || w->q->tail != prev)
		check_failed(k, INV_QUEUE, "tail, idx, kind", w->idx, w->kind);
	k->n_queued += n;
}

/* ---- is it quiet? ---- */

struct stamp {
	struct check *k;
	u64 count;
	u64 idents; /* their sum: which objects exist */
	int busy;
};

static void stamp_lock(struct stamp *st, const struct lock *lock)
{
	st->count += atom_load_acquire(&lock->count);
	st->busy |= !!(atom_load_acquire(&lock->word) & ~SYS_WAITERS);
}

static void stamp_task(void *arg, u32 i)
{
	struct stamp *st = arg;

	stamp_lock(st, &region_task(&st->k->region, i)->lock);
}

/* How often all locks together were taken, and whether one is held. */
static void stamp_take(struct stamp *st)
{
	struct header *h = caller_header(st->k->c);
	const struct slot *s;
	u32 f, i;

	st->count = st->idents = 0;
	st->busy = 0;
	for (f = 0; f < N_FAC; f++) {
		stamp_lock(st, &h->fac_lock[f].lock);
		for (i = 0; (i = ids_next(st->k->c, f, i)) < IDX_MAX; i++) {
			s = region_slot(&st->k->region, f, i);
			stamp_lock(st, &s->lock);
			st->busy |= bias_look(&st->k->region, s) != BIAS_OUT;
			st->idents += atom_load_acquire(&s->ident);
		}
	}
	stamp_lock(st, &h->heap.lock);
	stamp_lock(st, &h->repair_lock.lock);
	each_task(&st->k->region, stamp_task, st);
	for (i = 1; (i = thread_next(&st->k->region, i)) < N_THREADS; i++)
		if (atom_load_acquire(
			    &region_thread(&st->k->region, i)->journal.n))
			st->busy = 1;
}

/* ---- all ---- */

static void check_facility(struct check *k, u32 f)
{
	struct header *h = region_header(&k->region);

	begin_facility(k, f);
	check_keys(k, f, check_slots(k, f));
	check_lock(k, &h->fac_lock[f].lock, "facility", f);
	if (h->removing[f])
		check_failed(
			k, INV_REMOVING, "facility", f, h->removing[f] - 1);
	if (f == FAC_MSG)
		check_msg_remains(k);
	if (f == FAC_SHM)
		check_shm_state(k);
	if (f == FAC_MQ)
		check_orphans(k);
	end_facility(k, f);
}

/* A lock that is checked alone: its owner may die at any moment, and taking it
 * is the repair. */
static void check_lock_alone(
	struct check *k, struct lock *lock, const char *what)
{
	if (!k->c) {
		check_lock(k, lock, what, 0);
		return;
	}
	take(k, lock);
	lock_release(k->c, lock);
}

static void look(struct check *k)
{
	struct header *h = region_header(&k->region);
	u32 f;

	for (f = 0; f < N_FAC; f++)
		check_facility(k, f);
	check_lock_alone(k, &h->heap.lock, "heap");
	check_lock_alone(k, &h->repair_lock.lock, "repair");
	check_threads(k);
	each_task(&k->region, check_one_task, k);
	if (k->n_queued)
		check_failed_sum(k, INV_N_WAITERS, "waiters in no queue",
			-k->n_queued, 0);
	if (k->n_bound)
		check_failed_sum(k, INV_UNDO_CHAIN,
			"in sets' lists, not in tasks'", k->n_bound, 0);
	if (k->n_attached)
		check_failed_sum(k, INV_SHM_RECORD,
			"in segments' lists, not in tasks'", k->n_attached, 0);
	check_free_lists(k);
	check_leaks(k);
}

/* The beginning of all checks: 1 if nothing can be checked, since the heap's
 * bounds are wrong (reported); -ENOMEM. */
static int begin(struct check *k)
{
	const struct heap *heap = &region_header(&k->region)->heap;
	u64 bump = heap->bump;

	if (bump < HEAP_OFF || bump > HEAP_END || bump % HEAP_SPAN) {
		check_failed(k, INV_BUMP, "bump", bump, 0);
		return 1;
	}
	k->bump = bump;
	k->map_len = (bump - HEAP_OFF) / UNIT / 8 + SYS_PAGE + CHECK_SCRATCH;
	k->scratch = sys_mmap_private(k->map_len);
	if ((unsigned long)k->scratch > -4096UL)
		return -ENOMEM;
	k->map = (u64 *)((char *)k->scratch + CHECK_SCRATCH);
	return 0;
}

static void end(struct check *k)
{
	sys_call(__NR_munmap, k->scratch, k->map_len);
}

int check_region(const struct region *region, check_report *report, void *arg)
{
	struct check k = {.region = *region, .report = report, .arg = arg};
	int err = begin(&k);

	if (err)
		return err < 0 ? err : (int)k.n_violations;
	look(&k);
	end(&k);
	return (int)k.n_violations;
}

int check_live(
	struct caller *c, check_report *report, void *arg, int *ret_quiet)
{
	struct check k = {
		.region = c->region, .c = c, .report = report, .arg = arg};
	struct stamp before = {.k = &k}, after = {.k = &k};
	int err = caller_enroll(c);

	*ret_quiet = 0;
	if (!err)
		err = begin(&k);
	if (err)
		return err < 0 ? err : (int)k.n_violations;
	stamp_take(&before);
	look(&k);
	stamp_take(&after);
	/* The counts of an object that went are gone with it, so those of
	 * others may make up for it. The heap's end was read before the stamp.
	 */
	*ret_quiet = !before.busy && !after.busy &&
		     after.count - before.count == k.n_taken &&
		     after.idents == before.idents &&
		     atom_load_acquire(&region_header(&k.region)->heap.bump) ==
			     k.bump;
	if (*ret_quiet)
		report_sums(&k);
	end(&k);
	return (int)k.n_violations;
}
