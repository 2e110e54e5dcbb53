// SPDX-License-Identifier: MIT
/*
 * The heap; see heap.h. Small blocks are cut from spans (heap/span.h), which are
 * large blocks. Space: before a page is first touched it is reserved with
 * MADV_POPULATE_WRITE, so that a full tmpfs is -ENOMEM here and never a SIGBUS
 * later. Reserving twice does no harm. The bump pointer moves in steps of
 * HEAP_SPAN; of what a block does not need of its last step no page is reserved.
 *
 * A free large block begins with struct free_block; its first page always stays.
 *
 * Keeps INV_BLOCK, INV_LEAK, INV_USED, INV_BUMP (inspect/check.h).
 */
#include <linux/mman.h>
#include "registry/damage.h"
#include "registry/heap.h"
#include "registry/heap/span.h"
#include "registry/lock.h"
#include "base/sys.h"

#define SMALL_MAX 256u
/* Spans that one operation frees, at most. */
#define NEWEST_LOOKS 4u

struct free_block {
	u64 next;
	u64 filled; /* bytes from its start whose pages are there, in heap.kept;
		     * 0: only the first page */
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
	/* Nothing lies between the largest that is cut from a span and the
	 * span. */
	if (size > HEAP_SMALL && size < HEAP_LARGE)
		size = HEAP_LARGE;
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

u64 heap_extent(u64 block)
{
	return block <= HEAP_SMALL
		       ? block
		       : (block + HEAP_SPAN - 1) & ~(HEAP_SPAN - 1ULL);
}

u64 heap_class_size(u32 k)
{
	u64 base;

	if (k < 4)
		return (k + 1) * 64;
	base = 1ULL << (8 + (k - 4) / 4);
	return base + ((k - 4) % 4 + 1) * (base / 4);
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
void heap_punch(struct caller *c, u64 off, u64 block)
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

/* Its pages go, but for the first. The word that says they are there goes before
 * them: who dies between leaves pages that the next one reserves again. */
static void drop_pages(struct caller *c, u64 off, u64 block)
{
	struct free_block *b = free_at(c, off, block);

	if (!b || !b->filled)
		return;
	atom_store_release(&b->filled, 0);
	heap_punch(c, off, block);
}

/* No space: the pages that free blocks keep go. No journal: what they say of
 * pages is right before and after. The heap's lock is held, for long. */
static void drop_kept(struct caller *c)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off, block, left = atom_load_relaxed(&heap->kept);
	u32 k, n, most = span_count(&c->region);
	struct free_block *b;

	for (k = 0; k < HEAP_CLASSES && left; k++) {
		block = heap_class_size(k);
		if (block < HEAP_LARGE)
			continue;
		off = atom_load_relaxed(&heap->free_head[k]);
		for (n = 0; n < most && left; n++) {
			b = free_at(c, off, block);
			if (!b)
				break;
			left = left > b->filled ? left - b->filled : 0;
			drop_pages(c, off, block);
			off = atom_load_relaxed(&b->next);
		}
	}
	atom_store_release(&heap->kept, 0);
}

/* More is kept than may be: of spans that this hold has freed, for they come
 * with their pages. They are the first of their list. The operation is
 * committed. */
static void drop_newest(struct caller *c)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 size, off, filled, kept;
	struct free_block *b;
	u32 n;

	off = atom_load_relaxed(&heap->free_head[class_of(HEAP_SPAN, &size)]);
	for (n = 0; n < NEWEST_LOOKS && heap->kept > heap->keep; n++) {
		b = free_at(c, off, HEAP_SPAN);
		if (!b)
			break;
		filled = b->filled;
		kept = heap->kept;
		if (filled) {
			drop_pages(c, off, HEAP_SPAN);
			atom_store_release(
				&heap->kept, kept > filled ? kept - filled : 0);
		}
		off = atom_load_relaxed(&b->next);
	}
}

void heap_acquire(struct caller *c)
{
	lock_acquire(c, &caller_header(c)->heap.lock);
}

void heap_release(struct caller *c)
{
	struct heap *heap = &caller_header(c)->heap;

	c->heap_freed = 0;
	if (unlikely(atom_load_relaxed(&heap->kept) > heap->keep))
		drop_newest(c);
	lock_release(c, &caller_header(c)->heap.lock);
}

/* And a page of each free large block, and of their table. */
u64 heap_pages(const struct caller *c)
{
	const struct heap *heap = &caller_header(c)->heap;

	return (atom_load_relaxed(&heap->large) +
		       atom_load_relaxed(&heap->filled) +
		       atom_load_relaxed(&heap->kept)) /
		       SYS_PAGE +
	       span_count(&c->region) + span_count(&c->region) / 128 + 1;
}

void heap_reclaim(struct caller *c)
{
	section_begin(c);
	lock_acquire(c, &caller_header(c)->heap.lock);
	drop_kept(c);
	span_drop_empty(c);
	lock_release(c, &caller_header(c)->heap.lock);
	section_end(c);
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
int heap_reserve(struct caller *c, u64 off, u64 len)
{
	long err = populate(c, off, len);

	/* Pages of what this operation has freed are needed if it is rolled
	 * back. */
	if (likely(!err) || c->heap_freed)
		return err;
	drop_kept(c);
	span_drop_empty(c);
	return populate(c, off, len);
}

/* So many bytes that were never handed out. Their entries in the table of spans
 * are there, and the pages of the first `len` bytes. */
static int bump(struct caller *c, u64 block, u64 len, u64 *ret_off)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off = atom_load_relaxed(&heap->bump), extent = heap_extent(block);
	struct heap_span *s;

	/* Also where the number is nonsense. */
	if (off < HEAP_OFF || off % HEAP_SPAN || off > HEAP_END ||
		extent > HEAP_END - off)
		return -ENOMEM;
	s = span_at(&c->region, span_number(off));
	if (caller_reserve(c, s, extent / HEAP_SPAN * sizeof(*s)) ||
		(len && heap_reserve(c, off, len)))
		return -ENOMEM;
	journal_set64(c, &heap->bump, off + extent);
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
	journal_note(c, &b->filled, b->filled, 8);
	if (b->filled && heap->kept >= b->filled)
		journal_set64(c, &heap->kept, heap->kept - b->filled);
	return off;
}

/* filled: so many bytes keep their pages. 0 if it is no place for a block. */
static int give_large(
	struct caller *c, u64 block, const struct ref *ref, u64 filled)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 size, off = atom_load_relaxed(&ref->off);
	int k = class_of(block, &size);
	struct free_block *b = free_at(c, off, block);

	if (!b)
		return 0;
	journal_set64(c, &b->next, heap->free_head[k]);
	journal_set64(c, &b->filled, filled);
	if (filled)
		journal_set64(c, &heap->kept, heap->kept + filled);
	journal_set64(c, &heap->free_head[k], off);
	return 1;
}

int heap_take_span(struct caller *c, u64 *ret_off, u64 *ret_bytes)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 block, off;
	int k = class_of(HEAP_SPAN, &block);
	struct free_block *b = free_at(c, heap->free_head[k], block);
	u64 bytes = b ? b->filled : 0;

	off = pop(c, k, block);
	*ret_bytes = 0;
	if (!off)
		return bump(c, block, 0, ret_off);
	*ret_off = off;
	*ret_bytes = bytes > block ? block : bytes ? bytes : SYS_PAGE;
	return 0;
}

void heap_return_span(struct caller *c, u64 off, u64 bytes)
{
	struct ref ref = {off};

	give_large(c, HEAP_SPAN, &ref, bytes);
}

static int alloc_large(struct caller *c, int k, u64 block, u64 *ret_off)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off = atom_load_relaxed(&heap->free_head[k]);
	int err;

	/* A list that leads nowhere is lost. */
	if (unlikely(off && !free_at(c, off, block))) {
		journal_set64(c, &heap->free_head[k], 0);
		off = 0;
	}
	/* The pages first: nothing is to be undone where there are none. */
	if (!off) {
		err = bump(c, block, block, ret_off);
	} else if (heap_reserve(c, off, block)) {
		err = -ENOMEM;
	} else {
		*ret_off = pop(c, k, block);
		err = *ret_off ? 0 : -ENOMEM;
	}
	if (!err)
		journal_set64(c, &heap->large, heap->large + block);
	return err;
}

int heap_alloc_locked(struct caller *c, u64 size, struct ref *ret)
{
	struct heap *heap = &caller_header(c)->heap;
	struct thread *th = own(c);
	u64 block, off;
	int k = class_of(size, &block), err;

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
		err = alloc_large(c, k, block, &off);
	} else {
		err = span_alloc(c, (u32)k, block, &off);
	}
	if (err)
		return err;
	journal_set64(c, &heap->used, heap->used + block);
	journal_set64(c, &ret->off, off);
	return 0;
}

static int give(struct caller *c, u64 size, struct ref *ref, u64 filled)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 block, off = atom_load_relaxed(&ref->off);
	int k = class_of(size, &block);

	if (k < 0)
		return 0;
	if (block >= HEAP_LARGE) {
		if (!give_large(c, block, ref, filled))
			return 0;
		journal_set64(c, &heap->large,
			heap->large > block ? heap->large - block : 0);
	} else if (!span_free(c, (u32)k, block, off)) {
		return 0;
	}
	c->heap_freed = 1;
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
		heap_punch(c, off, block);
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
		err = bump(c, block, 1, &off);
	if (!err) {
		journal_set64(c, &heap->used, heap->used + block);
		journal_set64(c, &heap->large, heap->large + block);
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
	if (unlikely(err)) {
		heap_reclaim(c);
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
	struct heap *heap = &caller_header(c)->heap;
	struct thread *th = own(c);
	u64 block, kept, most;
	void *b;
	int keep;

	if (!th->ready.off)
		return;
	section_begin(c);
	b = heap_ready(c, &block);
	if (likely(b != NULL)) {
		kept = atom_load_relaxed(&heap->kept);
		most = heap->keep < HEAP_KEEP_LARGE ? heap->keep
						    : HEAP_KEEP_LARGE;
		keep = th->ready_filled && kept <= most && block <= most - kept;
		if (!keep) {
			/* Before the pages go: who is next at this record
			 * would take them for there. */
			atom_store_release(&th->ready_filled, 0);
			heap_punch(c, region_off(&c->region, b), block);
		}
		heap_acquire(c);
		/* Of several at once all may have found space: kept is about
		 * right. */
		give(c, block, &th->ready, keep ? block : 0);
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
