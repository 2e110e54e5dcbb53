// SPDX-License-Identifier: MIT
/*
 * Growing a journal beyond its inline entries, and back; see reserve.h.
 *
 * Keeps INV_SPARE (inspect/check.h).
 */
#include "registry/journal/reserve.h"
#include "registry/heap.h"

/* Arbitrary: more than any operation takes, so that doubling ends. */
#define GROW_MOST (1u << 28)

/*
 * The new array is in force with the store of ext; spare then still names it,
 * which tells that the old one has to go. Whoever dies on the way leaves that
 * to the record's next owner.
 */
void journal_adopt(struct caller *c)
{
	struct thread *th = region_thread(&c->region, c->thread);
	struct journal *j = &th->journal;
	struct journal_ext *x = region_span(&c->region, j->ext, sizeof(*x));

	if (x && th->spare.off == j->ext.off) {
		atom_store_release(&th->spare_size, x->old_size);
		atom_store_release(&th->spare.off, x->old.off);
	}
	atom_store_release(&j->cap, x ? (u32)x->cap : JOURNAL_INLINE);
	journal_find(c);
	if (th->spare.off)
		heap_free_at(c, th->spare_size, &th->spare);
	heap_settle(c);
}

/* Another array, of cap entries, in the place of the present one. */
static int replace(struct caller *c, u32 cap)
{
	struct thread *th = region_thread(&c->region, c->thread);
	struct journal *j = c->journal;
	u64 old_size = journal_ext_size((u64)(c->entries_end - c->entries));
	struct journal_ext *x;
	int err;

	/* spare is 0, and its size counts once it names a block. */
	atom_store_release(&th->spare_size, journal_ext_size(cap));
	err = heap_alloc_at(c, journal_ext_size(cap), &th->spare);
	if (err)
		return err;
	x = region_span(&c->region, th->spare, journal_ext_size(cap));
	if (!x)
		return -ENOMEM;
	/* Until ext names the array, the commit point, only spare does: who
	 * dies before leaves a block to be freed, the old journal in force. */
	atom_store_release(&x->cap, cap);
	atom_store_release(&x->old_size, old_size);
	atom_store_release(&x->old.off, j->ext.off);
	atom_store_release(&j->ext.off, th->spare.off);
	journal_adopt(c);
	return 0;
}

/* Only an empty journal grows: its entries are not copied. */
static int grow(struct caller *c, u32 n)
{
	u32 cap = (u32)(c->entries_end - c->entries);

	if (c->entry_next != c->entries || n > GROW_MOST)
		return -ENOMEM;
	while (cap < n)
		cap *= 2;
	return replace(c, cap);
}

/* Without memory it stays as it is. */
void journal_trim_slow(struct caller *c)
{
	section_begin(c);
	if (!c->n_held && c->entry_next == c->entries &&
		c->entries_end - c->entries > JOURNAL_MOST)
		replace(c, JOURNAL_KEPT);
	section_end(c);
}

/*
 * Its old is of the growth before and was freed then. With spare naming it too
 * nothing has happened yet; with ext gone only the block is left to be freed.
 */
void journal_drop(struct caller *c)
{
	struct thread *th = region_thread(&c->region, c->thread);
	struct journal *j = &th->journal;
	struct journal_ext *x = region_span(&c->region, j->ext, sizeof(*x));

	if (!x || c->entry_next != c->entries)
		return;
	atom_store_release(&x->old.off, 0);
	atom_store_release(&th->spare_size, journal_ext_size(x->cap));
	atom_store_release(&th->spare.off, j->ext.off);
	atom_store_release(&j->ext.off, 0);
	journal_adopt(c);
}

/* In a section: a handler whose calls made it grow too would leave nothing of
 * what was begun here. It may have done so just before. */
int journal_reserve_slow(struct caller *c, u32 n)
{
	int err = 0;

	section_begin(c);
	if (c->entries_end - c->entry_next < (s64)n)
		err = grow(c, n);
	section_end(c);
	return err;
}
