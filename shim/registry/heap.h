// SPDX-License-Identifier: MIT
/*
 * Memory of variable size inside the registry.
 *
 * Size classes, four to a power of two. Small blocks are cut from spans of one
 * class each, and a span without a used block is free for any class again
 * (heap/span.h). Large blocks have a free list a class, and give their pages
 * back; what was never used comes from a bump pointer. Large blocks are never
 * merged: address space is plenty. All are aligned to 64 bytes.
 *
 * A block always belongs to a reference that stands in the registry: it is
 * allocated into one and freed from one by a journaled change, so a crash
 * leaks nothing. Contents of a new block are undefined.
 */
#ifndef IPCLIFT_REGISTRY_HEAP_H
#define IPCLIFT_REGISTRY_HEAP_H

#include "registry/journal/journal.h"

/* Bytes a block of this size really takes; 0 if it is too large. */
u64 heap_block_size(u64 size);
/* Bytes of the heap that a block of this size takes up: a large one whole
 * spans. */
u64 heap_extent(u64 block);
/* Pages of the file that the heap takes, about. No lock. */
u64 heap_pages(const struct caller *c);
/* Pages that are kept for blocks to come go back to the file system: an
 * operation of its own, tens of milliseconds at most under the heap's lock. */
void heap_reclaim(struct caller *c);

/* As part of an operation: with the heap lock held (heap_acquire) until the
 * operation is committed. *ret must be 0. -ENOMEM: no space in the file system
 * or the region. Needs journal capacity for HEAP_ENTRIES more entries a
 * call; one that frees for 18. */
#define HEAP_ENTRIES 14u
void heap_acquire(struct caller *c);
void heap_release(struct caller *c);
int heap_alloc_locked(struct caller *c, u64 size, struct ref *ret);
/* 0 if the reference leads nowhere: it stays as it is, nothing is freed. */
int heap_free_locked(struct caller *c, u64 size, struct ref *ref);
/* After the commit of an operation that freed: gives the pages of a large
 * block back. off is what the reference held. */
void heap_discard(struct caller *c, u64 off, u64 size);

/* Operations of their own: *ret must be 0 and in the registry, and nobody else
 * may write it. The pages of large blocks are made and given back without the
 * heap's lock. */
int heap_alloc_at(struct caller *c, u64 size, struct ref *ret);
void heap_free_at(struct caller *c, u64 size, struct ref *ref);

/*
 * To fill a large block with pages, or to give them back, takes milliseconds.
 * So that nobody waits for that who wants a lock, it happens while the block is
 * the thread's own (thread.ready):
 *
 * heap_prepare, before the locks are taken, makes a block of this size ready;
 * heap_alloc_locked then takes it. 0 for a size that needs it not; a failure
 * may be left to heap_alloc_locked.
 * heap_leave is heap_free_locked without the heap's lock: part of an operation,
 * it makes the block the thread's own; 0, and nothing done, if it is not large
 * or the thread has one already.
 * heap_settle, after the locks were given back, frees what is ready and was not
 * taken. The next owner of the record does it for a thread that dies before.
 */
int heap_prepare(struct caller *c, u64 size);
int heap_leave(struct caller *c, u64 size, struct ref *ref);
void heap_settle(struct caller *c);
/* That block, and its size; NULL if there is none, or if what the record says
 * is no block that was ever handed out. */
void *heap_ready(const struct caller *c, u64 *ret_size);
/* The same, and its pages go in any case: heap_settle keeps some for the next
 * one that needs a block. */
void heap_settle_bare(struct caller *c);

/* What a thread keeps of memory from one call to the next, each block of it: a
 * larger one goes back when the call is over, for the thread may never make
 * another. Arbitrary. */
#define HEAP_OWN_MOST (64u << 10)
/* At the end of a call: a block in the thread's record, of this size, which
 * nobody else may write any more. No lock may be held. */
static inline void heap_trim(struct caller *c, u64 size, struct ref *ref)
{
	if (unlikely(ref->off && size > HEAP_OWN_MOST))
		heap_free_at(c, size, ref);
}

#endif
