// SPDX-License-Identifier: MIT
/*
 * Small blocks of the heap; see span.h.
 *
 * Keeps INV_SPAN, INV_BLOCK, INV_LEAK (inspect/check.h).
 */
#include "registry/damage.h"
#include "registry/heap/span.h"

/* The first word of a free block. */
struct cut_block {
	u64 next; /* index + 1 */
};

static struct heap *heap_of(struct caller *c)
{
	return &caller_header(c)->heap;
}

/* By number + 1; NULL if that is 0 or leads nowhere. */
static struct heap_span *span_linked(struct caller *c, u64 link)
{
	return link && link <= span_count(&c->region)
		       ? span_at(&c->region, (u32)link - 1)
		       : NULL;
}

static u32 span_link(struct caller *c, const struct heap_span *s)
{
	return (u32)(s - span_at(&c->region, 0)) + 1;
}

static struct cut_block *block_at(
	struct caller *c, const struct heap_span *s, u64 block, u32 i)
{
	struct ref at = {span_off(span_link(c, s) - 1) + i * block};

	return i < HEAP_SPAN / block ? region_span(&c->region, at, block)
				     : NULL;
}

static int is_full(struct span_state st, u64 block)
{
	return !st.free && st.cut >= HEAP_SPAN / block;
}

static void list_push(struct caller *c, u32 k, struct heap_span *s)
{
	u64 *head = &heap_of(c)->free_head[k];
	struct heap_span *first = span_linked(c, *head);

	journal_set32(c, &s->next, first ? (u32)*head : 0);
	journal_set32(c, &s->prev, 0);
	if (first)
		journal_set32(c, &first->prev, span_link(c, s));
	journal_set64(c, head, span_link(c, s));
}

static void list_remove(struct caller *c, u32 k, struct heap_span *s)
{
	struct heap_span *prev = span_linked(c, s->prev),
			 *next = span_linked(c, s->next);

	if (prev)
		journal_set32(c, &prev->next, s->next);
	else
		journal_set64(c, &heap_of(c)->free_head[k], s->next);
	if (next)
		journal_set32(c, &next->prev, s->prev);
}

/* ---- taking ---- */

/* Not in the class's list before a block was cut from it: span_drop_empty would
 * take its pages while they are counted on. */
static struct heap_span *add_span(struct caller *c, u32 k)
{
	struct heap *heap = heap_of(c);
	struct heap_span *s;
	u64 off, bytes;

	if (heap_take_span(c, &off, &bytes))
		return NULL;
	s = span_at(&c->region, span_number(off));
	journal_set32(c, &s->class, k + 1);
	journal_set64(c, &s->state,
		span_word(
			(struct span_state){.pages = (u32)(bytes / SYS_PAGE)}));
	if (bytes)
		journal_set64(c, &heap->filled, heap->filled + bytes);
	return s;
}

/* Pages up to the end of block i. Twice as many as there are, if there is space
 * for that, so that a class of which few blocks are used takes few pages. */
static int fill_to(
	struct caller *c, struct heap_span *s, u64 block, struct span_state *st)
{
	struct heap *heap = heap_of(c);
	u64 off = span_off(span_link(c, s) - 1);
	u32 most = HEAP_SPAN / SYS_PAGE,
	    need = (u32)(((st->cut + 1) * block + SYS_PAGE - 1) / SYS_PAGE),
	    step = st->pages < HEAP_BATCH / SYS_PAGE ? st->pages
						     : HEAP_BATCH / SYS_PAGE,
	    want = st->pages + step;

	if (need <= st->pages)
		return 0;
	if (want < need)
		want = need;
	if (want > most)
		want = most;
	off += (u64)st->pages * SYS_PAGE;
	if (heap_reserve(c, off, (u64)(want - st->pages) * SYS_PAGE)) {
		if (want == need || heap_reserve(c, off,
					    (u64)(need - st->pages) * SYS_PAGE))
			return -ENOMEM;
		want = need;
	}
	journal_set64(c, &heap->filled,
		heap->filled + (u64)(want - st->pages) * SYS_PAGE);
	st->pages = want;
	return 0;
}

int span_alloc(struct caller *c, u32 k, u64 block, u64 *ret_off)
{
	u64 *head = &heap_of(c)->free_head[k];
	struct heap_span *s = span_linked(c, *head), *added = NULL;
	struct cut_block *b = NULL;
	struct span_state st;

	/* A list that leads nowhere, or to another class, is lost. */
	if (unlikely(!s || s->class != k + 1)) {
		if (*head)
			journal_set64(c, head, 0);
		s = added = add_span(c, k);
	}
	if (!s)
		return -ENOMEM;
	st = span_state_of(atom_load_relaxed(&s->state));
	if (st.free) {
		b = block_at(c, s, block, st.free - 1);
		if (unlikely(!b)) {
			/* The list of a damaged span is lost, and the span. */
			journal_set64(c, head, 0);
			return -ENOMEM;
		}
		*ret_off = region_off(&c->region, b);
		/* The new owner overwrites it. */
		journal_note(c, &b->next, b->next, 8);
		st.free = (u16)b->next;
	} else if (likely(!is_full(st, block)) && !fill_to(c, s, block, &st)) {
		*ret_off = span_off(span_link(c, s) - 1) + st.cut * block;
		st.cut++;
	} else {
		return -ENOMEM;
	}
	st.used++;
	journal_set64(c, &s->state, span_word(st));
	if (added)
		list_push(c, k, s);
	else if (is_full(st, block))
		list_remove(c, k, s);
	return 0;
}

/* ---- giving back ---- */

/* It has no used block, and the class another span with a free one. */
static void release(struct caller *c, u32 k, struct heap_span *s)
{
	struct heap *heap = heap_of(c);
	u64 bytes = (u64)span_state_of(s->state).pages * SYS_PAGE;

	list_remove(c, k, s);
	journal_set32(c, &s->class, 0);
	journal_set64(c, &s->state, 0);
	journal_set64(c, &heap->filled,
		heap->filled > bytes ? heap->filled - bytes : 0);
	heap_return_span(c, span_off(span_link(c, s) - 1), bytes);
}

int span_free(struct caller *c, u32 k, u64 block, u64 off)
{
	u32 n = span_number(off);
	struct heap_span *s, *next;
	struct span_state st;
	struct cut_block *b;
	u64 i;
	int was_full;

	if (off < HEAP_OFF || off >= span_off(span_count(&c->region)))
		return 0;
	s = span_at(&c->region, n);
	i = (off - span_off(n)) / block;
	st = span_state_of(atom_load_relaxed(&s->state));
	b = block_at(c, s, block, (u32)i);
	if (s->class != k + 1 || (off - span_off(n)) % block || i >= st.cut ||
		!st.used || !b)
		return 0;
	was_full = is_full(st, block);
	journal_set64(c, &b->next, st.free);
	st.free = (u32)i + 1;
	st.used--;
	journal_set64(c, &s->state, span_word(st));
	if (was_full)
		list_push(c, k, s);
	next = span_linked(c, s->next);
	if (!st.used && (s->prev || next))
		release(c, k, s);
	else if (was_full && next && next->class == k + 1 &&
		 !span_state_of(next->state).used)
		release(c, k, next);
	return 1;
}

void span_drop_empty(struct caller *c)
{
	struct heap *heap = heap_of(c);
	struct heap_span *s;
	struct span_state st;
	u32 k;

	for (k = 0; heap_class_size(k) <= HEAP_SMALL; k++) {
		s = span_linked(c, heap->free_head[k]);
		if (!s || s->class != k + 1)
			continue;
		st = span_state_of(atom_load_relaxed(&s->state));
		if (st.used || st.pages < 2)
			continue;
		/* All at once, and before the pages go: who dies between leaves
		 * pages that the next one reserves again. */
		atom_store_release(
			&s->state, span_word((struct span_state){.pages = 1}));
		atom_store_release(&heap->filled,
			heap->filled - (u64)(st.pages - 1) * SYS_PAGE);
		heap_punch(c, span_off(span_link(c, s) - 1), HEAP_SPAN);
	}
}
