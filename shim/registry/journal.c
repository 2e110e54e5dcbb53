// SPDX-License-Identifier: MIT
/*
 * Rolling back, and growing a journal beyond its inline entries.
 */
#include "registry/journal.h"
#include "registry/heap.h"

struct journal_entry *journal_entries(
	const struct region *region, struct journal *j)
{
	if (!j->ext.off)
		return j->cap <= JOURNAL_INLINE ? j->entries : NULL;
	return region_span(region, j->ext, (u64)j->cap * sizeof(j->entries[0]));
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

	journal_rollback(&c->region, c->entries, j->n);
	atom_store_release(&j->n, 0);
}

/*
 * Only an empty journal grows, and the old array stays the journal's until the
 * new one is whole: the heap operations here journal into the old one.
 */
int journal_reserve_slow(struct caller *c, u32 n)
{
	struct thread *th = region_thread(&c->region, c->thread);
	struct journal *j = c->journal;
	u32 cap = j->cap, old_cap = j->cap;
	struct ref old = j->ext;
	int err;

	if (j->n)
		return -ENOMEM;
	while (cap < n)
		cap *= 2;
	err = heap_alloc_at(c, (u64)cap * sizeof(j->entries[0]), &th->spare);
	if (err)
		return err;
	atom_store_release(&j->ext.off, th->spare.off);
	atom_store_release(&th->spare.off, old.off);
	atom_store_release(&j->cap, cap);
	c->entries = journal_entries(&c->region, j);
	if (old.off)
		heap_free_at(c, (u64)old_cap * sizeof(j->entries[0]), &th->spare);
	return 0;
}
