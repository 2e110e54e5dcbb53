// SPDX-License-Identifier: MIT
/*
 * Spans: how the heap (heap.h) cuts small blocks out of large ones.
 *
 * A span is HEAP_SPAN bytes, aligned, with blocks of one class. What is free in
 * it is a list of its own: a span without a used block is given back whole, and
 * any class, a large block or a segment may have its memory. Only one such span
 * of a class is kept, if the class has no other free block.
 *
 * heap_span.state, 16 bits each: the first free block, its index + 1 (the others
 * follow by the first word of each); how many blocks were ever cut; how many
 * are used; how many pages are there, from the start. A page is reserved before
 * a block is cut from it.
 *
 * The list of a class, heap.free_head, holds the spans that have a free block.
 * The heap's lock is held by all callers.
 */
#ifndef IPCLIFT_REGISTRY_HEAP_SPAN_H
#define IPCLIFT_REGISTRY_HEAP_SPAN_H

#include "registry/journal/journal.h"

struct span_state {
	u32 free, cut, used, pages;
};

static inline struct span_state span_state_of(u64 word)
{
	return (struct span_state){word & 0xffff, word >> 16 & 0xffff,
		word >> 32 & 0xffff, word >> 48};
}

static inline u64 span_word(struct span_state st)
{
	return st.free | (u64)st.cut << 16 | (u64)st.used << 32 |
	       (u64)st.pages << 48;
}

/* The span that a place in the heap lies in. */
static inline u32 span_number(u64 off)
{
	return (u32)((off - HEAP_OFF) / HEAP_SPAN);
}

static inline u64 span_off(u32 n)
{
	return HEAP_OFF + (u64)n * HEAP_SPAN;
}

static inline struct heap_span *span_at(const struct region *region, u32 n)
{
	return (struct heap_span *)region_at(region, SPANS_OFF) + n;
}

/* How many spans there may be: those below the heap's end. */
static inline u32 span_count(const struct region *region)
{
	u64 bump = atom_load_relaxed(&region_header(region)->heap.bump);

	return bump < HEAP_OFF || bump > HEAP_END ? 0 : span_number(bump);
}

/* A block of class k, of so many bytes, is taken off; part of the operation.
 * Its first word is noted. 0 or -ENOMEM; the caller aborts then. */
int span_alloc(struct caller *c, u32 k, u64 block, u64 *ret_off);
/* The block at off is free again; part of the operation. 0: it is none. */
int span_free(struct caller *c, u32 k, u64 block, u64 off);
/* Spans without a used block give their pages back, but for the first. No
 * operation may have freed a block that is not committed. */
void span_drop_empty(struct caller *c);

/* Of heap.c. Bytes of the blocks of class k. */
u64 heap_class_size(u32 k);
/* A large block of HEAP_SPAN bytes, of which *ret_bytes have pages;
 * its return; and pages reserved. */
int heap_take_span(struct caller *c, u64 *ret_off, u64 *ret_bytes);
void heap_return_span(struct caller *c, u64 off, u64 bytes);
int heap_reserve(struct caller *c, u64 off, u64 len);
void heap_punch(struct caller *c, u64 off, u64 block);

#endif
