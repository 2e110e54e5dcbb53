// SPDX-License-Identifier: MIT
/*
 * The heap; see heap.h. Space: before a page is first touched it is reserved
 * with MADV_POPULATE_WRITE, HEAP_BATCH bytes at a time, so that a full tmpfs is
 * -ENOMEM here and never a SIGBUS later. `reserved` only grows, but with a
 * large block, whose pages are reserved later; reserving twice does no harm.
 *
 * A free block begins with struct free_block; its first page always stays.
 *
 * Keeps INV_BLOCK, INV_LEAK, INV_USED, INV_BUMP (inspect/check.h).
 */
#include <linux/mman.h>
#include "registry/damage.h"
#include "registry/heap.h"
#include "registry/lock.h"
#include "base/sys.h"

#define SMALL_MAX 256u

struct free_block {
	u64 next;
	u64 filled; /* of a large one: its pages count in heap.kept */
};

static struct thread *own(const struct caller *c)
{
	return region_thread(&c->region, c->thread);
}

static int class_of(u64 size, u64 *ret_size)
{
	unsigned p = 8;
	u64 step, k;

	if (size <= SMALL_MAX) {
		k = size ? (size + 63) / 64 : 1;
		*ret_size = k * 64;
		return k - 1;
	}
	if (size > 1ULL << 30)
		return -1;
	while (size > 2ULL << p)
		p++;
	step = (1ULL << p) / 4;
	k = (size - (1ULL << p) + step - 1) / step;
	*ret_size = (1ULL << p) + k * step;
	return 4 + (p - 8) * 4 + (k - 1);
}

u64 heap_block_size(u64 size)
{
	u64 block;

	return class_of(size, &block) < 0 ? 0 : block;
}

u64 heap_class_size(u32 k)
{
	u64 base;

	if (k < 4)
		return (k + 1) * 64;
	base = 1ULL << (8 + (k - 4) / 4);
	return base + ((k - 4) % 4 + 1) * (base / 4);
}

void heap_acquire(struct caller *c)
{
	lock_acquire(c, &caller_header(c)->heap.lock);
}

void heap_release(struct caller *c)
{
	lock_release(c, &caller_header(c)->heap.lock);
}

int caller_reserve_slow(struct caller *c, u64 page)
{
	long err =
		sys_call(__NR_madvise, region_at(&c->region, page * SYS_PAGE),
			SYS_PAGE, MADV_POPULATE_WRITE);

	if (err && err != -EINVAL)
		return -ENOMEM;
	c->reserved_page[page % 8] = page;
	return 0;
}

/* Give the pages of a block back, but for the first, which holds its link. */
static void punch(struct caller *c, u64 off, u64 block)
{
	u64 from = (off + sizeof(struct free_block) + SYS_PAGE - 1) &
		   ~(SYS_PAGE - 1);
	u64 to = (off + block) & ~(SYS_PAGE - 1);

	if (off >= HEAP_OFF && off < HEAP_END && block <= HEAP_END - off &&
		from < to)
		sys_call(__NR_madvise, region_at(&c->region, from), to - from,
			MADV_REMOVE);
}

static struct free_block *free_at(const struct caller *c, u64 off, u64 block)
{
	return ref_leads_nowhere(off)
		       ? NULL
		       : region_span(&c->region, (struct ref){off}, block);
}

/* Both words once: others may store to them, and what they say reaches
 * madvise(2) and loops over the block. */
void *heap_ready(const struct caller *c, u64 *ret_size)
{
	const struct thread *th = own(c);
	u64 off = atom_load_relaxed(&th->ready.off);
	u64 block = atom_load_relaxed(&th->ready_size);
	u64 bump = atom_load_relaxed(&caller_header(c)->heap.bump);

	if (!off || block < HEAP_LARGE || heap_block_size(block) != block ||
		bump > HEAP_END || off > bump || block > bump - off)
		return NULL;
	*ret_size = block;
	return free_at(c, off, block);
}

/* No space: the pages that free blocks keep go. No journal: what they say of
 * pages is right before and after. The heap's lock is held, for long. */
static void drop_kept(struct caller *c)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off, block, n;
	struct free_block *b;
	u32 k;

	for (k = 0; k < HEAP_CLASSES && heap->kept; k++) {
		block = heap_class_size(k);
		if (block < HEAP_LARGE)
			continue;
		off = atom_load_relaxed(&heap->free_head[k]);
		for (n = 0; n <= HEAP_KEEP / HEAP_LARGE; n++) {
			b = free_at(c, off, block);
			if (!b)
				break;
			/* The pages go before the word that says they are
			 * there. Who dies between leaves a count too high and
			 * no harm: before such a block is used its pages are
			 * reserved, whatever `filled` says. */
			if (b->filled)
				punch(c, off, block);
			atom_store_release(&b->filled, 0);
			off = atom_load_relaxed(&b->next);
		}
	}
	atom_store_release(&heap->kept, 0);
}

static long populate(struct caller *c, u64 off, u64 len)
{
	u64 from = off & ~(SYS_PAGE - 1);
	u64 to = (off + len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	long err = sys_call(__NR_madvise, region_at(&c->region, from),
		to - from, MADV_POPULATE_WRITE);

	/* EINVAL: a kernel before 5.14 cannot say; the touch will tell. */
	return err == 0 || err == -EINVAL ? 0 : -ENOMEM;
}

/* The heap's lock is held. */
static int reserve(struct caller *c, u64 off, u64 len)
{
	long err = populate(c, off, len);

	if (likely(!err) || !caller_header(c)->heap.kept)
		return err;
	drop_kept(c);
	return populate(c, off, len);
}

/* 1 if so many bytes can be taken from the bump pointer, which is at off; 0
 * also where one of the numbers is nonsense. */
static int bump_ok(u64 off, u64 reserved, u64 size)
{
	return off >= HEAP_OFF && !(off & 63) && off <= HEAP_END &&
	       size <= HEAP_END - off && reserved >= off &&
	       reserved <= REGION_SIZE;
}

static int bump(struct caller *c, u64 size, u64 *ret_off)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off = atom_load_relaxed(&heap->bump), end = off + size, to;
	u64 reserved = atom_load_relaxed(&heap->reserved);

	if (!bump_ok(off, reserved, size))
		return -ENOMEM;
	if (end > reserved) {
		to = (end + HEAP_BATCH - 1) & ~(u64)(HEAP_BATCH - 1);
		/* A batch if there is space for one, else just what is
		 * asked. */
		if (to > HEAP_END || reserve(c, reserved, to - reserved)) {
			to = end;
			if (reserve(c, reserved, to - reserved))
				return -ENOMEM;
		}
		/* Not journaled: the pages are there, and stay so for the next
		 * one if this operation is rolled back. */
		atom_store_release(&heap->reserved,
			(to + SYS_PAGE - 1) & ~(u64)(SYS_PAGE - 1));
	}
	journal_set64(c, &heap->bump, end);
	*ret_off = off;
	return 0;
}

/* The same, but only the block's first page is there, and its last, which may
 * be the next one's first: the rest is the caller's to fill. */
static int bump_bare(struct caller *c, u64 block, u64 *ret_off)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off = atom_load_relaxed(&heap->bump), end = off + block;
	u64 reserved = atom_load_relaxed(&heap->reserved);

	if (!bump_ok(off, reserved, block) || reserve(c, off, 1) ||
		reserve(c, end - 1, 1))
		return -ENOMEM;
	/* Journaled: pages within the block are not there yet. After a rollback
	 * the bump pointer is before them again, and `reserved` must not say
	 * that they need not be asked for. */
	if (end > reserved)
		journal_set64(c, &heap->reserved,
			(end + SYS_PAGE - 1) & ~(SYS_PAGE - 1));
	journal_set64(c, &heap->bump, end);
	*ret_off = off;
	return 0;
}

/* The first free block of a class, taken off its list, or 0; part of the
 * operation. */
static u64 pop(struct caller *c, int k, u64 block)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off = atom_load_relaxed(&heap->free_head[k]);
	struct free_block *b = free_at(c, off, block);

	if (!b)
		return 0;
	journal_set64(c, &heap->free_head[k], b->next);
	/* The new owner overwrites them: note them. */
	journal_note(c, &b->next, b->next, 8);
	if (block < HEAP_LARGE)
		return off;
	journal_note(c, &b->filled, b->filled, 8);
	if (b->filled && heap->kept >= block)
		journal_set64(c, &heap->kept, heap->kept - block);
	return off;
}

int heap_alloc_locked(struct caller *c, u64 size, struct ref *ret)
{
	struct heap *heap = &caller_header(c)->heap;
	struct thread *th = own(c);
	u64 block, off;
	int k = class_of(size, &block);

	if (k < 0)
		return -ENOMEM;
	if (unlikely(block >= HEAP_LARGE)) {
		u64 ready;
		void *b = heap_ready(c, &ready);

		if (b && ready == block && th->ready_filled) {
			journal_set64(c, &ret->off, region_off(&c->region, b));
			journal_set64(c, &th->ready.off, 0);
			return 0;
		}
	}
	off = atom_load_relaxed(&heap->free_head[k]);
	/* A list that leads nowhere is lost. */
	if (unlikely(off && !free_at(c, off, block))) {
		journal_set64(c, &heap->free_head[k], 0);
		off = 0;
	}
	if (off) {
		if (block >= HEAP_LARGE && reserve(c, off, block))
			return -ENOMEM;
		off = pop(c, k, block);
		if (!off)
			return -ENOMEM;
	} else {
		int err = bump(c, block, &off);

		if (err)
			return err;
	}
	journal_set64(c, &heap->used, heap->used + block);
	journal_set64(c, &ret->off, off);
	return 0;
}

/* filled: a large block's pages stay. */
static int give(struct caller *c, u64 size, struct ref *ref, int filled)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 block, off = atom_load_relaxed(&ref->off);
	int k = class_of(size, &block);
	struct free_block *b = k < 0 ? NULL : free_at(c, off, block);

	if (!b)
		return 0;
	journal_set64(c, &b->next, heap->free_head[k]);
	if (unlikely(block >= HEAP_LARGE)) {
		journal_set64(c, &b->filled, filled);
		if (filled)
			journal_set64(c, &heap->kept, heap->kept + block);
	}
	journal_set64(c, &heap->free_head[k], off);
	journal_set64(c, &heap->used, heap->used - block);
	journal_set64(c, &ref->off, 0);
	return 1;
}

int heap_free_locked(struct caller *c, u64 size, struct ref *ref)
{
	return give(c, size, ref, 0);
}

void heap_discard(struct caller *c, u64 off, u64 size)
{
	u64 block = heap_block_size(size);

	if (block >= HEAP_LARGE)
		punch(c, off, block);
}

/* ---- a block of the thread's own; no lock of the heap but where it is
 * taken */

static int take_ready(struct caller *c, int k, u64 block)
{
	struct heap *heap = &caller_header(c)->heap;
	struct thread *th = own(c);
	u64 off;
	int err = 0;

	/* `ready` is 0: nobody reads these two. They are stored first, so that
	 * whoever frees what a dead thread had ready knows the size. */
	atom_store_release(&th->ready_size, block);
	atom_store_release(&th->ready_filled, 0);
	heap_acquire(c);
	off = pop(c, k, block);
	if (!off)
		err = bump_bare(c, block, &off);
	if (!err) {
		journal_set64(c, &heap->used, heap->used + block);
		journal_set64(c, &th->ready.off, off);
	} else {
		journal_abort(c);
	}
	journal_commit(c);
	heap_release(c);
	return err;
}

static int fill_ready(struct caller *c)
{
	struct thread *th = own(c);
	u64 block, off;
	void *b = heap_ready(c, &block);
	int err;

	if (unlikely(!b))
		return -ENOMEM;
	off = region_off(&c->region, b);
	err = populate(c, off, block);
	if (unlikely(err && caller_header(c)->heap.kept)) {
		heap_acquire(c);
		drop_kept(c);
		heap_release(c);
		err = populate(c, off, block);
	}
	/* After the pages: heap_alloc_locked takes the block by this word, and
	 * what it hands out is written to without another look. */
	if (!err)
		atom_store_release(&th->ready_filled, 1);
	return err;
}

/* In sections, all: a handler would take what is being made ready. */
int heap_prepare(struct caller *c, u64 size)
{
	struct thread *th = own(c);
	u64 block;
	int k = class_of(size, &block), err = 0;

	if (k < 0)
		return -ENOMEM;
	if (block < HEAP_LARGE)
		return 0;
	section_begin(c);
	if (th->ready.off && (th->ready_size != block || !th->ready_filled))
		heap_settle(c);
	if (!th->ready.off)
		err = take_ready(c, k, block);
	if (!err && !th->ready_filled)
		err = fill_ready(c);
	if (err)
		heap_settle(c);
	section_end(c);
	return err;
}

int heap_leave(struct caller *c, u64 size, struct ref *ref)
{
	struct thread *th = own(c);
	u64 block;

	if (class_of(size, &block) < 0 || block < HEAP_LARGE || th->ready.off ||
		!free_at(c, ref->off, block))
		return 0;
	/* Outside the journal, for they count only while `ready` is not 0:
	 * after a rollback it is 0 again. */
	atom_store_release(&th->ready_size, block);
	atom_store_release(&th->ready_filled, 1);
	journal_set64(c, &th->ready.off, ref->off);
	journal_set64(c, &ref->off, 0);
	return 1;
}

void heap_settle(struct caller *c)
{
	struct thread *th = own(c);
	u64 block, kept;
	void *b;
	int keep;

	if (!th->ready.off)
		return;
	section_begin(c);
	b = heap_ready(c, &block);
	if (likely(b != NULL)) {
		kept = atom_load_relaxed(&caller_header(c)->heap.kept);
		keep = th->ready_filled && kept <= HEAP_KEEP &&
		       block <= HEAP_KEEP - kept;
		if (!keep)
			punch(c, region_off(&c->region, b), block);
		heap_acquire(c);
		/* Of several at once all may have found space: kept is about
		 * right. */
		give(c, block, &th->ready, keep);
		journal_commit(c);
		heap_release(c);
	}
	/* Of a damaged record: no block, or one that cannot be given back. It
	 * is lost, and does not stand in the way of the next. */
	if (unlikely(th->ready.off))
		atom_store_release(&th->ready.off, 0);
	section_end(c);
}

void heap_settle_bare(struct caller *c)
{
	atom_store_release(&own(c)->ready_filled, 0);
	heap_settle(c);
}

int heap_alloc_at(struct caller *c, u64 size, struct ref *ret)
{
	int err;

	section_begin(c);
	/* If there is no space for all of it the other way says so, too. */
	if (unlikely(heap_block_size(size) >= HEAP_LARGE))
		heap_prepare(c, size);
	heap_acquire(c);
	err = heap_alloc_locked(c, size, ret);
	if (err)
		journal_abort(c);
	journal_commit(c);
	heap_release(c);
	section_end(c);
	return err;
}

static void free_large_at(struct caller *c, u64 size, struct ref *ref)
{
	section_begin(c);
	heap_settle(c);
	heap_acquire(c);
	heap_leave(c, size, ref);
	journal_commit(c);
	heap_release(c);
	heap_settle(c);
	section_end(c);
}

void heap_free_at(struct caller *c, u64 size, struct ref *ref)
{
	if (unlikely(heap_block_size(size) >= HEAP_LARGE)) {
		free_large_at(c, size, ref);
		return;
	}
	heap_acquire(c);
	heap_free_locked(c, size, ref);
	journal_commit(c);
	heap_release(c);
}
