// SPDX-License-Identifier: MIT
/*
 * Keys to objects: linear hashing over the reserved bucket array.
 *
 * A bucket is the head of a chain of slots (slot.next; the format of a link is
 * in keyhash.c). With every key that is added some buckets are split, so that
 * most chains have one slot; some are merged when keys are removed. Lookup,
 * insert and remove are O(1), with no rehash pause.
 *
 * Lookup takes no lock: it reads between two equal even values of key_seq. A
 * writer that died leaves it odd, and the reader then takes the lock.
 */
#ifndef IPCLIFT_INDEX_KEYHASH_H
#define IPCLIFT_INDEX_KEYHASH_H

#include "registry/journal/journal.h"

/* Journal capacity for one insert or remove. */
#define KEYHASH_ENTRIES 4u

/* The slot of the object with this key (not 0), or NULL. With *ret_ident. */
struct slot *keyhash_find(
	struct caller *c, enum facility f, s32 key, u64 *ret_ident);
struct slot *keyhash_find_locked(struct caller *c, enum facility f, s32 key);

/* Changes with every insertion and removal: a key that was not found is still
 * absent if the facility's lock is held and this is as it was before the
 * search. */
static inline u32 keyhash_seq(const struct caller *c, enum facility f)
{
	return atom_load_acquire(&caller_header(c)->ids[f].key_seq);
}

/* The next object after s with the same key: several can have it if keys are
 * hashes of names. */
struct slot *keyhash_next_locked(
	struct caller *c, enum facility f, const struct slot *s);

/* Prefetch the key's bucket; no lock. */
void keyhash_prefetch(const struct caller *c, enum facility f, s32 key);

/* Bracket for insert and remove: makes lock-free readers fail until the
 * operation is committed. keyhash_repair ends it for a dead writer. */
void keyhash_write_begin(struct caller *c, enum facility f);
void keyhash_write_end(struct caller *c, enum facility f);
void keyhash_repair(struct caller *c, enum facility f);

/* Before an insert and after a remove was committed: split or merge buckets if
 * it is time. Operations of their own; inside the bracket. */
void keyhash_grow_locked(struct caller *c, enum facility f);
void keyhash_shrink_locked(struct caller *c, enum facility f);

/* Facility lock held, inside the bracket; journaled. The slot's key is set. */
void keyhash_insert_locked(struct caller *c, enum facility f, u32 idx);
void keyhash_remove_locked(struct caller *c, enum facility f, u32 idx);

#endif
