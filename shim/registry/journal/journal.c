// SPDX-License-Identifier: MIT
/*
 * Rolling back; see journal.h.
 */
#include "registry/journal/journal.h"

struct journal_entry *journal_entries(
	const struct region *region, struct journal *j, u32 cap)
{
	struct journal_ext *x;

	if (!j->ext.off)
		return cap <= JOURNAL_INLINE ? j->entries : NULL;
	x = region_span(region, j->ext, journal_ext_size(cap));
	return x && cap <= x->cap ? x->entries : NULL;
}

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
	while (n--)
		restore(region, &entries[n]);
}

void journal_abort(struct caller *c)
{
	struct journal *j = c->journal;

	journal_rollback(
		&c->region, c->entries, (u32)(c->entry_next - c->entries));
	atom_store_release(&j->n, 0);
	c->entry_next = c->entries;
}

void journal_find(struct caller *c)
{
	struct journal *j = &region_thread(&c->region, c->thread)->journal;
	u32 cap = j->cap;

	c->journal = j;
	c->entries = journal_entries(&c->region, j, cap);
	if (unlikely(!c->entries || cap < JOURNAL_INLINE)) {
		/* The array is lost; the journal is that of a new record. */
		atom_store_release(&j->ext.off, 0);
		atom_store_release(&j->cap, JOURNAL_INLINE);
		cap = JOURNAL_INLINE;
		c->entries = j->entries;
	}
	c->entry_next = c->entries;
	c->entries_end = c->entries + cap;
}
