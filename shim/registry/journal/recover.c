// SPDX-License-Identifier: MIT
/*
 * Rolling back a journal that its dead owner left; see recover.h.
 *
 * Keeps INV_JOURNAL (inspect/check.h).
 */
#include "registry/journal/recover.h"
#include "registry/journal/journal.h"

int recover_listed(const struct journal *j, u64 entry)
{
	u32 n = atom_load_acquire(&j->n_locks), i;

	for (i = 0; i < n && i < JOURNAL_LOCKS; i++)
		if (j->locks[i] == entry)
			return 1;
	return 0;
}

static int published(const struct caller *c, const struct journal *j)
{
	u64 off = j->publish_off;

	return off && off <= REGION_SIZE - 8 && !(off & 7) &&
	       *(u64 *)region_at(&c->region, off) == j->publish_val;
}

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
