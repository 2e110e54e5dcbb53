// SPDX-License-Identifier: MIT
/*
 * What is read from the file may be anything: whoever may write it can have
 * written it, or a stray store has. So
 *
 *   - a reference is loaded once and becomes an address by one of these
 *     functions (or region_span, where its absence has to be handled), and
 *     nothing is touched further behind that address than REACH;
 *   - a count or an index from the file is held against a constant;
 *   - a walk along links ends after as many steps as there are links, however
 *     they lead (struct walk).
 *
 * A reference that leads nowhere gives the address of the sink, a stretch of
 * the region that means nothing to anybody, and sets caller.damaged: the
 * operation goes on without harm, and where it would commit it is undone and
 * fails with -EIO (damage_abort). So nobody has to ask at each step.
 */
#ifndef IPCLIFT_REGISTRY_DAMAGE_H
#define IPCLIFT_REGISTRY_DAMAGE_H

#include "registry/journal/journal.h"

/* In the tail that this leaves, below what shm/shmmap.c uses. */
#define SINK_OFF HEAP_END

/* Sets c->damaged (the caller is const only to those who look); the sink. */
void *damage_met(const struct caller *c);
/* Undo the operation under way: -EIO. */
int damage_abort(struct caller *c);

/* A block of the heap, which begins at a multiple of 64: turned by six bits one
 * that does not is far out of bounds too. ref_at: NULL if it is none, or 0. */
static inline int ref_leads_nowhere(u64 off)
{
	u64 unit = off - HEAP_OFF;

	unit = unit >> 6 | unit << 58;
	return unit >= (HEAP_END - HEAP_OFF) >> 6;
}
static inline void *ref_at(const struct caller *c, struct ref ref)
{
	u64 off = ref.off;

	return unlikely(ref_leads_nowhere(off)) ? NULL : c->region.base + off;
}
static inline void *ref_must(const struct caller *c, struct ref ref)
{
	u64 off = ref.off;

	if (unlikely(ref_leads_nowhere(off)))
		return damage_met(c);
	return c->region.base + off;
}
/* So many bytes below the heap's end, for those who only look, and for what is
 * larger than REACH; NULL if it is not. No hole is filled, but of a copy, whose
 * holes cost nothing and whose file has gone on. */
static inline void *ref_peek(const struct caller *c, struct ref ref, u64 size)
{
	u64 off = ref.off,
	    bump = atom_load_relaxed(&caller_header(c)->heap.bump);

	if (ref_leads_nowhere(off) || bump > HEAP_END || off > bump ||
		size > bump - off ||
		(!c->detached &&
			!region_has(&c->region, c->region.base + off, size)))
		return NULL;
	return c->region.base + off;
}

/* May the registry hold a block of so many bytes: is that no more than was ever
 * handed out? */
static inline int size_believed(const struct caller *c, u64 size)
{
	u64 bump = atom_load_relaxed(&caller_header(c)->heap.bump);

	return bump >= HEAP_OFF && bump <= HEAP_END && size <= bump - HEAP_OFF;
}

/* What to say of a count of which n were found to be there: the rest may not
 * be, so whoever makes space for all and asks again makes it in steps. */
static inline u64 count_believed(u64 count, u64 n)
{
	return count / 4 <= n ? count : 4 * n + 4;
}

/* By a link: offset by 64. link_at: NULL if it is 0. */
#define LINK_FIRST ((u32)(HEAP_OFF >> 6))
#define N_LINKS ((u32)((HEAP_END - HEAP_OFF) >> 6))
static inline void *link_must(const struct caller *c, u32 link)
{
	if (unlikely(link - LINK_FIRST >= N_LINKS))
		return damage_met(c);
	return c->region.base + ((u64)link << 6);
}
static inline void *link_at(const struct caller *c, u32 link)
{
	return link ? link_must(c, link) : NULL;
}

/*
 * A walk along links: walk_goes_on(c, &walk, where it has come to) is 0 as soon
 * as it has been there before (Brent: a mark is left behind after 1, 2, 4...
 * steps), which counts as damage. Links that lead into what was never used find
 * zeros there, so a walk is never longer than what is really in the file. Begin
 * with zeros. walk_is_new: the same for those who only look.
 */
struct walk {
	u64 mark;
	u32 steps, limit;
};
int walk_turn(struct walk *w, u64 at);
static inline int walk_is_new(struct walk *w, u64 at)
{
	if (likely(at != w->mark && ++w->steps <= w->limit))
		return 1;
	return walk_turn(w, at);
}
static inline int walk_goes_on(const struct caller *c, struct walk *w, u64 at)
{
	if (likely(walk_is_new(w, at)))
		return 1;
	damage_met(c);
	return 0;
}

#endif
