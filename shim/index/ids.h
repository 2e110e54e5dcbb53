// SPDX-License-Identifier: MIT
/*
 * Ids: which idx and sequence number the next object of a facility gets, by
 * Linux's rules (doc/kernel-semantics.md §2, doc/reference-tables.md T2).
 *
 * Free idx are found in a 64-way bitmap tree in O(log64 n), also in a full
 * table. All changes are journaled; the facility's lock is held.
 */
#ifndef IPCLIFT_INDEX_IDS_H
#define IPCLIFT_INDEX_IDS_H

#include "registry/journal/journal.h"

#define IDS_ENTRIES 12u

/* "sem", "msg", "shm", "mq". */
extern const char *const facility_names[N_FAC];

static inline u32 ids_mask(const struct caller *c)
{
	return c->idx_mask;
}
/* From header.idx_bits, read when the registry was mapped. */
static inline u32 ids_shift(const struct caller *c)
{
	return 32 - (u32)__builtin_clz(ids_mask(c));
}
/* The slot that an id (>= 0) selects, whatever object it holds. */
static inline struct slot *ids_slot(
	const struct caller *c, enum facility f, s32 id)
{
	return region_slot(&c->region, f, (u32)id & ids_mask(c));
}

/* 1 if idx is in use (the low bits of an id). Touches no hole. */
int ids_used(const struct caller *c, enum facility f, u32 idx);

/* 0: not in use, and the slot may be a hole of the file. */
static inline int ids_in_range(const struct caller *c, enum facility f, s32 id)
{
	u32 idx = (u32)id & ids_mask(c);

	return likely(idx < atom_load_relaxed(
				    &caller_header(c)->ids[f].slots_ready)) ||
	       ids_used(c, f, idx);
}

/* The live object with this id, or NULL (-EINVAL for the caller). *ret_ident
 * is its ident at this moment. No lock needed. Inlined always: gcc, which sees
 * the whole library at link time, has a budget for its growth, and a call here
 * costs 25 instructions of each semop (callgrind). */
static inline __attribute__((always_inline)) struct slot *ids_find(
	const struct caller *c, enum facility f, s32 id, u64 *ret_ident)
{
	struct slot *s;
	u64 ident;

	if (unlikely(id < 0))
		return NULL;
	if (unlikely(!ids_in_range(c, f, id)))
		return NULL;
	s = ids_slot(c, f, id);
	ident = atom_load_acquire(&s->ident);
	if (unlikely((u32)ident != ((u32)id | IDENT_LIVE)))
		return NULL;
	*ret_ident = ident;
	return s;
}

/* No idx in use is higher. */
static inline u32 ids_max(const struct caller *c, enum facility f)
{
	u32 max = atom_load_acquire(&caller_header(c)->ids[f].max_idx);

	return max < IDX_MAX ? max : IDX_MAX - 1;
}

/* Choose idx and id for a new object and mark the idx used. Consumes *_next_id.
 * 0, or -ENOSPC when no idx is free. */
int ids_alloc_locked(
	struct caller *c, enum facility f, u32 *ret_idx, s32 *ret_id);
/* The idx that the next object probably gets; no lock. */
u32 ids_next_hint(const struct caller *c, enum facility f);
void ids_free_locked(struct caller *c, enum facility f, u32 idx);

/* The lowest idx >= idx whose slot can be read without filling a hole, or
 * IDX_MAX; idx itself for an application (region_has). */
u32 ids_past_hole(const struct region *r, enum facility f, u32 idx);

/*
 * The lowest idx in use that is >= from, or IDX_MAX. Touches no hole of the
 * file, however sparse the table is. Reads at most 4,096 words of bitmap per
 * idx found in a dense table, one page per 32,768 idx in any. Without the
 * facility's lock the answer is of no single moment: check slot.ident.
 */
u32 ids_next(struct caller *c, enum facility f, u32 from);
/* As ids_find, by idx (SEM_STAT and its kin): an id's higher bits do not count.
 */
static inline struct slot *ids_find_idx(
	const struct caller *c, enum facility f, s32 idx, u64 *ret_ident)
{
	struct slot *s;

	if (!ids_used(c, f, (u32)idx & ids_mask(c)))
		return NULL;
	s = ids_slot(c, f, idx);
	*ret_ident = atom_load_acquire(&s->ident);
	return *ret_ident & IDENT_LIVE ? s : NULL;
}

/* The highest idx in use, 0 if none (for *_INFO). Facility lock held. */
u32 ids_highest_locked(struct caller *c, enum facility f);

#endif
