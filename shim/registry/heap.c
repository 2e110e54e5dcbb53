// SPDX-License-Identifier: MIT
/*
 * The heap; see heap.h. Room: before a page is first touched it is reserved
 * with MADV_POPULATE_WRITE, HEAP_BATCH bytes at a time, so that a full tmpfs is
 * -ENOMEM here and never a SIGBUS later. `reserved` only grows and is not
 * journaled: reserving twice does no harm.
 */
#include "registry/damage.h"
#include "registry/heap.h"
#include "registry/lock.h"
#include "base/sys.h"

#define MADV_REMOVE 9
#define MADV_POPULATE_WRITE 23
/* Free blocks from this size on give their pages back. */
#define DISCARD_SIZE (128u << 10)
#define SMALL_MAX 256u

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

int caller_room_slow(struct caller *c, u64 page)
{
	long err =
		sys_call(__NR_madvise, region_at(&c->region, page * SYS_PAGE),
			SYS_PAGE, MADV_POPULATE_WRITE);

	if (err && err != -EINVAL)
		return -ENOMEM;
	c->room_page[page % 8] = page;
	return 0;
}

static int reserve(struct caller *c, u64 off, u64 len)
{
	u64 from = off & ~(SYS_PAGE - 1);
	u64 to = (off + len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	long err = sys_call(__NR_madvise, region_at(&c->region, from),
		to - from, MADV_POPULATE_WRITE);

	/* EINVAL: a kernel before 5.14 cannot say; the touch will tell. */
	return err == 0 || err == -EINVAL ? 0 : -ENOMEM;
}

static int bump(struct caller *c, u64 size, u64 *ret_off)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 off = heap->bump, reserved = heap->reserved, end = off + size, to;

	/* Also where one of them is nonsense. */
	if (off < HEAP_OFF || (off & 63) || off > HEAP_END || end > HEAP_END ||
		reserved < off || reserved > REGION_SIZE)
		return -ENOMEM;
	if (end > reserved) {
		to = (end + HEAP_BATCH - 1) & ~(u64)(HEAP_BATCH - 1);
		/* A batch if there is room for one, else just what is asked. */
		if (to > HEAP_END || reserve(c, reserved, to - reserved)) {
			to = end;
			if (reserve(c, reserved, to - reserved))
				return -ENOMEM;
		}
		atom_store_release(&heap->reserved,
			(to + SYS_PAGE - 1) & ~(u64)(SYS_PAGE - 1));
	}
	journal_set64(c, &heap->bump, end);
	*ret_off = off;
	return 0;
}

int heap_alloc_locked(struct caller *c, u64 size, struct ref *ret)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 block, off, *link;
	int k = class_of(size, &block);

	if (k < 0)
		return -ENOMEM;
	off = heap->free_head[k];
	link = off & 63 ? NULL
			: region_span(&c->region, (struct ref){off}, block);
	/* A list that leads nowhere is lost. */
	if (unlikely(off && !link))
		journal_set64(c, &heap->free_head[k], 0);
	if (link) {
		if (block >= DISCARD_SIZE && reserve(c, off, block))
			return -ENOMEM;
		journal_set64(c, &heap->free_head[k], *link);
		/* The new owner overwrites the link: note it. */
		journal_note(c, link, *link, 8);
	} else {
		int err = bump(c, block, &off);

		if (err)
			return err;
	}
	journal_set64(c, &heap->used, heap->used + block);
	journal_set64(c, &ret->off, off);
	return 0;
}

int heap_free_locked(struct caller *c, u64 size, struct ref *ref)
{
	struct heap *heap = &caller_header(c)->heap;
	u64 block, off = ref->off, *link;
	int k = class_of(size, &block);

	link = k < 0 || (off & 63)
		       ? NULL
		       : region_span(&c->region, (struct ref){off}, block);
	if (!link)
		return 0;
	journal_set64(c, link, heap->free_head[k]);
	journal_set64(c, &heap->free_head[k], off);
	journal_set64(c, &heap->used, heap->used - block);
	journal_set64(c, &ref->off, 0);
	return 1;
}

void heap_discard(struct caller *c, u64 off, u64 size)
{
	u64 block = heap_block_size(size), from, to;

	if (block < DISCARD_SIZE || off < HEAP_OFF || off > HEAP_END)
		return;
	/* The first page holds the link of the free list. */
	from = (off + 8 + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	to = (off + block) & ~(SYS_PAGE - 1);
	if (from < to)
		sys_call(__NR_madvise, region_at(&c->region, from), to - from,
			MADV_REMOVE);
}

int heap_alloc_at(struct caller *c, u64 size, struct ref *ret)
{
	int err;

	heap_acquire(c);
	err = heap_alloc_locked(c, size, ret);
	if (err)
		journal_abort(c);
	journal_commit(c);
	heap_release(c);
	return err;
}

void heap_free_at(struct caller *c, u64 size, struct ref *ref)
{
	u64 off = ref->off;
	int freed;

	heap_acquire(c);
	freed = heap_free_locked(c, size, ref);
	journal_commit(c);
	/* Still under the lock: nobody else may have got the block yet. */
	if (freed)
		heap_discard(c, off, size);
	heap_release(c);
}
