// SPDX-License-Identifier: MIT
/*
 * Memory of variable size inside the registry.
 *
 * Size classes, four to a power of two; a free list a class, whose links stand
 * in the free blocks; what was never used comes from a bump pointer. Blocks
 * are aligned to 64 bytes and never merged: address space is plenty, and the
 * pages of large free blocks are given back.
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
/* Bytes of the blocks in free list k. */
u64 heap_class_size(u32 k);

/* As part of an operation: with the heap lock held (heap_acquire) until the
 * operation is committed. *ret must be 0. -ENOMEM: no room in the file system
 * or the region. Needs journal room for HEAP_ENTRIES more entries a call. */
#define HEAP_ENTRIES 6u
void heap_acquire(struct caller *c);
void heap_release(struct caller *c);
int heap_alloc_locked(struct caller *c, u64 size, struct ref *ret);
/* 0 if the reference leads nowhere: it stays as it is, nothing is freed. */
int heap_free_locked(struct caller *c, u64 size, struct ref *ref);
/* After the commit of an operation that freed: gives the pages of a large
 * block back. off is what the reference held. */
void heap_discard(struct caller *c, u64 off, u64 size);

/* Operations of their own: *ret must be 0 and in the registry, and nobody else
 * may write it. */
int heap_alloc_at(struct caller *c, u64 size, struct ref *ret);
void heap_free_at(struct caller *c, u64 size, struct ref *ref);

#endif
