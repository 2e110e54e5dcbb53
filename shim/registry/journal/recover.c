// SPDX-License-Identifier: MIT
/*
 * Rolling back a journal that its dead owner left; see recover.h.
 *
 * Keeps INV_JOURNAL (inspect/check.h).
 */
#include "registry/journal/recover.h"
#include "registry/journal/journal.h"

/* n_locks is stored behind the entry that it covers (acquired), hence the
 * acquire: all below it are whole. */
int recover_listed(const struct journal *j, u64 entry)
{
	u32 n = atom_load_acquire(&j->n_locks), i;

	for (i = 0; i < n && i < JOURNAL_LOCKS; i++)
		if (j->locks[i] == entry)
			return 1;
	return 0;
}

/* journal_publish's one store has happened: the value stands at its place. Then
 * the operation is complete, and only the count was left to be cleared. */
static int published(const struct caller *c, const struct journal *j)
{
	u64 off = j->publish_off;

	return off && off <= REGION_SIZE - 8 && !(off & 7) &&
	       *(u64 *)region_at(&c->region, off) == j->publish_val;
}

/* May be cut off anywhere and done again: the entries are absolute values, and
 * the count that puts them in force is cleared last. Lock held:
 * recover_journal. */
void recover_rollback(struct caller *c, struct journal *j)
{
	u32 cap = atom_load_relaxed(&j->cap), n = atom_load_relaxed(&j->n);
	struct journal_entry *entries = journal_entries(&c->region, j, cap);

	if (entries && !published(c, j)) {
		journal_rollback(&c->region, entries, n <= cap ? n : cap);
		atom_store_release(&j->publish_off, 0);
	}
	/* The last store: from here on the record may be somebody else's. */
	atom_store_release(&j->n, 0);
}
