// SPDX-License-Identifier: MIT
/*
 * The invariants that all facilities share: ids, keys, heap, locks, journals,
 * tasks; see check.h. Sets are checked in semcheck.c.
 *
 * Nothing in the registry is written, and pages that were never used are not
 * read (a read would make them). Every loop is bounded by a count that was
 * checked before, so a registry full of nonsense is only many violations.
 */
#include "ipc/check.h"
#include "ipc/undo.h"
#include "registry/heap.h"

#define UNIT 64u

void check_failed(
	struct check *k, enum invariant which, const char *what, u64 a, u64 b)
{
	k->n_violations++;
	if (k->report)
		k->report(k->arg, which, what, a, b);
}

void check_lock(
	struct check *k, const struct lock *lock, const char *what, u64 which)
{
	u32 word = atom_load_acquire(&lock->word), tid = word & SYS_TID_MASK;

	if ((word & SYS_OWNER_DIED) ||
		(tid && sys_call(__NR_kill, tid, 0) == -ESRCH))
		check_failed(k, INV_LOCK, what, which, word);
}

/* ---- heap ---- */

/* Mark the units of a block; 0 if it is not a block of its own. */
static int mark_block(struct check *k, u64 off, u64 block)
{
	u64 bump = region_header(&k->region)->heap.bump, unit, end;

	if (off < HEAP_OFF || off % UNIT || block == 0 || off + block > bump) {
		check_failed(k, INV_BLOCK, "block out of the heap", off, block);
		return 0;
	}
	unit = (off - HEAP_OFF) / UNIT;
	for (end = unit + block / UNIT; unit < end; unit++) {
		u64 bit = 1ULL << unit % 64;

		if (k->map[unit / 64] & bit) {
			check_failed(
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
	return mark_block(k, ref.off, block) ? region_at(&k->region, ref.off)
					     : NULL;
}

static void check_free_lists(struct check *k)
{
	struct heap *heap = &region_header(&k->region)->heap;
	u64 off, block;
	u32 i;

	for (i = 0; i < HEAP_CLASSES; i++) {
		block = heap_class_size(i);
		off = heap->free_head[i];
		/* A cycle overlaps itself. */
		while (off && mark_block(k, off, block))
			off = *(u64 *)region_at(&k->region, off);
	}
}

static void check_leaks(struct check *k)
{
	struct heap *heap = &region_header(&k->region)->heap;
	u64 units = (heap->bump - HEAP_OFF) / UNIT, i, first = 0, n = 0;

	for (i = 0; i < units; i++) {
		if (k->map[i / 64] >> i % 64 & 1)
			continue;
		first = n++ ? first : HEAP_OFF + i * UNIT;
	}
	if (n)
		check_failed(k, INV_LEAK, "bytes in no block, first at",
			n * UNIT, first);
	if (heap->used != k->used)
		check_failed(
			k, INV_USED, "used is, should be", heap->used, k->used);
}

/* ---- ids and keys ---- */

static const u32 level_start[IDX_LEVELS] = {
	0,
	IDX_MAX / 64,
	IDX_MAX / 64 + IDX_MAX / 4096,
	IDX_MAX / 64 + IDX_MAX / 4096 + IDX_MAX / 262144,
};

#define MADV_POPULATE_READ 22

/* A page that was never used is a hole, and to read it takes a page of the file
 * system: SIGBUS if that is full. 0 if it cannot be read. */
static int present(struct check *k, const void *p)
{
	u64 page = region_off(&k->region, p) / SYS_PAGE;
	long err;

	if (k->present_page == page)
		return 1;
	err = sys_call(__NR_madvise, region_at(&k->region, page * SYS_PAGE),
		SYS_PAGE, MADV_POPULATE_READ);
	if (err && err != -EINVAL)
		return 0;
	k->present_page = page;
	return 1;
}

/* Level 0 is 2 MiB: what was never used of it is 0 and stays a hole. */
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
		for (word = 0; word < n; word++) {
			int full = bitmap_word(k, f, level, word) == ~0ULL;
			u64 up = bitmap_word(k, f, level + 1, word / 64);

			if ((int)(up >> word % 64 & 1) != full)
				check_failed(k, INV_BITMAP_UP, "level, word",
					level, word);
		}
}

static void check_object(struct check *k, u32 f, u32 idx, struct slot *s)
{
	u32 mask = (1u << region_header(&k->region)->idx_bits) - 1;

	if (((u32)IDENT_ID(s->ident) & mask) != idx || !IDENT_GEN(s->ident))
		check_failed(k, INV_SLOT, "idx, ident", idx, s->ident);
	if (f == FAC_SEM)
		check_semset(k, idx, s);
	else
		k->foreign = 1;
}

/* Returns live slots with keys. */
static u32 check_slots(struct check *k, u32 f)
{
	struct id_table *t = &region_header(&k->region)->ids[f];
	u32 idx, n = 0, n_keys = 0;
	u64 total = 0;

	for (idx = 0; idx <= t->max_idx && idx < IDX_MAX; idx++) {
		int used = bitmap_word(k, f, 0, idx / 64) >> idx % 64 & 1;
		struct slot *s;

		if (idx % 64 == 0 && !bitmap_word(k, f, 0, idx / 64) &&
			idx + 64 <= t->max_idx) {
			idx += 63;
			continue;
		}
		s = region_slot(&k->region, f, idx);
		if (!present(k, s))
			continue;
		if (!!(s->ident & IDENT_LIVE) != used)
			check_failed(k, INV_BITMAP, "idx, bit", idx, used);
		/* Who removed it and died at the very end left nothing else. */
		if (!(s->ident & IDENT_LIVE))
			continue;
		check_lock(k, &s->lock, "object", idx);
		n++;
		n_keys += s->key != 0;
		total += s->size;
		check_object(k, f, idx, s);
	}
	if (n != t->in_use)
		check_failed(
			k, INV_IN_USE, "in_use is, should be", t->in_use, n);
	if (f == FAC_SEM && total != t->total)
		check_failed(
			k, INV_TOTAL, "total is, should be", t->total, total);
	/* One word more: a live slot beyond would have its bit there. */
	if (bitmap_word(k, f, 0, t->max_idx / 64) >> t->max_idx % 64 >> 1)
		check_failed(k, INV_MAX_IDX, "max_idx", t->max_idx, f);
	check_bitmap_up(k, f, t->max_idx);
	return n_keys;
}

/* The hash of keyhash.c, said a second time: a check shares no code with what
 * it checks. */
static u32 bucket_for(s32 key, u32 n_buckets)
{
	u32 h = (u32)key, size = 1;

	h = (h ^ h >> 16) * 0x7feb352dU;
	h = (h ^ h >> 15) * 0x846ca68bU;
	h ^= h >> 16;
	while (size < n_buckets)
		size *= 2;
	return h % size < n_buckets ? h % size : h % (size / 2);
}

static void check_keys(struct check *k, u32 f, u32 n_live)
{
	struct header *h = region_header(&k->region);
	struct id_table *t = &h->ids[f];
	u32 *buckets = region_at(&k->region, BUCKETS_OFF((u64)f));
	u32 b, at, n = 0;

	if (t->key_seq & 1)
		check_failed(k, INV_KEY_SEQ, "key_seq", t->key_seq, f);
	if (t->n_buckets < 1 || t->n_buckets > IDX_MAX) {
		check_failed(k, INV_BUCKETS, "n_buckets", t->n_buckets, f);
		return;
	}
	for (b = 0; b < t->n_buckets; b++)
		for (at = buckets[b]; at && n <= n_live;) {
			struct slot *s = region_slot(&k->region, f, at - 1);

			n++;
			if (at > IDX_MAX || !(s->ident & IDENT_LIVE) ||
				!s->key ||
				bucket_for(s->key, t->n_buckets) != b) {
				check_failed(
					k, INV_CHAIN, "bucket, idx", b, at - 1);
				break;
			}
			at = s->next;
		}
	for (; b < t->n_buckets + 16 && b < IDX_MAX; b++)
		if (present(k, &buckets[b]) && buckets[b])
			check_failed(k, INV_BUCKETS, "bucket not in use", b, f);
	/* A message queue that is unlinked but open lives on without a name. */
	if ((n != n_live && f != FAC_MQ) || n != t->n_keys)
		check_failed(k, INV_N_KEYS, "in chains, n_keys", n, t->n_keys);
}

/* ---- threads and tasks ---- */

static void check_threads(struct check *k)
{
	struct header *h = region_header(&k->region);
	u32 i;

	for (i = 1; i < h->thread_high && i < N_THREADS; i++) {
		struct thread *th = region_thread(&k->region, i);
		struct journal *j = &th->journal;
		struct journal_ext *x =
			region_span(&k->region, j->ext, sizeof(*x));

		if (j->n)
			check_failed(
				k, INV_JOURNAL, "thread, entries", i, j->n);
		if (x)
			check_block(k, j->ext, journal_ext_size(x->cap));
		if (th->spare.off && th->spare.off != j->ext.off)
			check_block(k, th->spare, th->spare_size);
		else if (x && th->spare.off && x->old.off)
			check_block(k, x->old, x->old_size);
		if (th->spare.off && sys_call(__NR_kill, th->tid, 0) != -ESRCH)
			check_failed(k, INV_SPARE, "thread", i, th->spare.off);
		if (th->waiter.sops_ext.off)
			check_block(k, th->waiter.sops_ext,
				th->waiter.sops_ext_cap);
		/* Message payload: nobody counts those blocks. */
		if (th->blocks.tier[0].off || th->blocks.tier[1].off ||
			th->blocks.tier[2].off || th->blocks.big.off)
			k->foreign = 1;
		if (th->tid && th->waiter.state == WAIT_QUEUED)
			k->n_queued--;
	}
}

static void check_task(struct check *k, u32 i)
{
	struct task *t = region_task(&k->region, i);
	struct undo *u;
	struct ref ref = t->undo_head;

	check_lock(k, &t->lock, "task", i);
	if (!t->claim && (ref.off || t->spare.off))
		check_failed(k, INV_TASK, "free task", i, ref.off);
	if (t->spare.off)
		check_block(k, t->spare, t->spare_size);
	while ((u = region_span(&k->region, ref, sizeof(*u)))) {
		if (!check_block(k, ref, undo_size(u->cap)))
			return;
		if (u->task != i)
			check_failed(k, INV_UNDO_CHAIN, "task, record's", i,
				u->task);
		if (u->ident)
			k->n_bound--;
		ref = u->task_next;
	}
}

/* Only pages that are there: the table is large and mostly never used. */
static void check_tasks(struct check *k)
{
	const u32 per_page = SYS_PAGE / sizeof(struct task);
	unsigned char there[N_TASKS / (SYS_PAGE / sizeof(struct task))];
	u32 page, i;

	if (sys_call(__NR_mincore, region_at(&k->region, TASKS_OFF),
		    N_TASKS * sizeof(struct task), there))
		return;
	for (page = 0; page < N_TASKS / per_page; page++)
		for (i = 0; (there[page] & 1) && i < per_page; i++)
			check_task(k, page * per_page + i);
}

/* ---- all ---- */

int check_region(const struct region *region, check_report *report, void *arg)
{
	struct check k = {.region = *region, .report = report, .arg = arg};
	struct header *h = region_header(region);
	u64 bump = h->heap.bump, len;
	u32 f;

	if (bump < HEAP_OFF || bump > h->heap.reserved ||
		h->heap.reserved > REGION_SIZE || bump % UNIT) {
		check_failed(
			&k, INV_BUMP, "bump, reserved", bump, h->heap.reserved);
		return k.n_violations;
	}
	len = (bump - HEAP_OFF) / UNIT / 8 + SYS_PAGE;
	k.map = sys_mmap(NULL, len, 3, 0x22, -1, 0);
	if ((unsigned long)k.map > -4096UL)
		return -ENOMEM;
	for (f = 0; f < N_FAC; f++) {
		check_keys(&k, f, check_slots(&k, f));
		check_lock(&k, &h->fac_lock[f], "facility", f);
		if (h->removing[f])
			check_failed(&k, INV_REMOVING, "facility", f,
				h->removing[f] - 1);
	}
	check_lock(&k, &h->heap.lock, "heap", 0);
	check_lock(&k, &h->repair_lock, "repair", 0);
	check_threads(&k);
	check_tasks(&k);
	/* Blocks of other facilities (runs of pages, payload) outlive their
	 * objects; nobody counts them yet. */
	for (f = FAC_MSG; f < N_FAC; f++)
		k.foreign |= h->ids[f].gen > 1;
	if (k.n_queued && !k.foreign)
		check_failed(&k, INV_N_WAITERS, "waiters in no queue",
			-k.n_queued, 0);
	if (k.n_bound)
		check_failed(&k, INV_UNDO_CHAIN,
			"in sets' lists, not in tasks'", k.n_bound, 0);
	check_free_lists(&k);
	if (!k.foreign)
		check_leaks(&k);
	sys_call(__NR_munmap, k.map, len);
	return k.n_violations;
}
