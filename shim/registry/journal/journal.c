// SPDX-License-Identifier: MIT
/*
 * Rolling back; see journal.h.
 */
#include "registry/journal/journal.h"

struct journal_entry *journal_entries(
	const struct region *region, struct journal *j, u32 cap)
{
	u64 bump = atom_load_relaxed(&region_header(region)->heap.bump);
	u64 size = journal_ext_size(cap);
	struct ref ext = {atom_load_relaxed(&j->ext.off)};
	struct journal_ext *x;

	if (!ext.off)
		return cap <= JOURNAL_INLINE ? j->entries : NULL;
	/* Within what was ever handed out: a damaged capacity would fill holes
	 * when the entries are gone through. */
	if (bump > HEAP_END || ext.off > bump || size > bump - ext.off)
		return NULL;
	x = region_span(region, ext, size);
	return x && cap <= x->cap ? x->entries : NULL;
}

/* The journal is in the registry, which a stray store of an application may
 * have damaged: an entry that names no aligned word is passed over. */
static void restore(const struct region *region, const struct journal_entry *e)
{
	u64 size = e->off >> JOURNAL_SIZE_SHIFT;
	u64 off = e->off & ((1ULL << JOURNAL_SIZE_SHIFT) - 1);
	void *p;

	if (off > REGION_SIZE - 8 || (off & (size - 1)))
		return;
	p = region_at(region, off);
	if (size == 8)
		atom_store_release((u64 *)p, e->old);
	else if (size == 4)
		atom_store_release((u32 *)p, (u32)e->old);
	else if (size == 2)
		atom_store_release((u16 *)p, (u16)e->old);
}

void journal_rollback(
	const struct region *region, const struct journal_entry *entries, u32 n)
{
	/* Newest first: of a word that was noted twice the older value, which
	 * it had before the operation, has to be the last one stored. */
	while (n--)
		restore(region, &entries[n]);
}

void journal_abort(struct caller *c)
{
	struct journal *j = c->journal;

	journal_rollback(
		&c->region, c->entries, (u32)(c->entry_next - c->entries));
	/* The last store: who dies before it leaves the entries in force, and
	 * the same values are stored again. */
	atom_store_release(&j->n, 0);
	c->entry_next = c->entries;
}

/* The caller's thread record has changed: its journal is at hand by pointers in
 * the caller, which nobody else can store to. */
void journal_find(struct caller *c)
{
	struct journal *j = &region_thread(&c->region, c->thread)->journal;
	u32 cap = j->cap;

	c->journal = j;
	c->entries = journal_entries(&c->region, j, cap);
	if (unlikely(!c->entries || cap < JOURNAL_INLINE)) {
		/* The array is lost; the journal is that of a new record. Who
		 * dies between the stores leaves a cap that the entries of the
		 * record do not have, and its next owner comes by here, too. */
		atom_store_release(&j->ext.off, 0);
		atom_store_release(&j->cap, JOURNAL_INLINE);
		cap = JOURNAL_INLINE;
		c->entries = j->entries;
	}
	c->entry_next = c->entries;
	c->entries_end = c->entries + cap;
}
