// SPDX-License-Identifier: MIT
/*
 * The undo journal: how a change of many words happens wholly or not at all.
 *
 * Before a journaled word of shared memory is changed, its old value is
 * appended to the caller's journal. The operation has happened once the
 * journal's count is 0 again: that store is the commit point. A thread that
 * dies before leaves a count > 0 and a lock marked OWNER_DIED; the next owner
 * of that lock writes the old values back, newest first (recover.c), before it
 * does anything else. Rolling back may itself be cut off anywhere: doing it
 * again gives the same result, since the entries are absolute values and the
 * count is cleared last.
 *
 * Readers without the lock may see words of an operation that is then rolled
 * back. Whatever they act on must therefore be published by journal_publish,
 * whose one store is at once visible and the commit point.
 *
 * A journal belongs to a thread, not to a lock, so an operation under several
 * locks (facility, object, heap) commits at one point too.
 */
#ifndef IPCLIFT_REGISTRY_JOURNAL_JOURNAL_H
#define IPCLIFT_REGISTRY_JOURNAL_JOURNAL_H

#include "registry/caller.h"

#define JOURNAL_SIZE_SHIFT 56

/* Entries that there is space for now. */
static inline s64 journal_left(const struct caller *c)
{
	return c->entries_end - c->entry_next;
}
/* The count last: an entry below it is whole. The word itself is stored after
 * that, so a death in between writes back the value that stands there. */
static inline void journal_note(struct caller *c, void *p, u64 old, u64 size)
{
	struct journal *j = c->journal;
	struct journal_entry *e = c->entry_next;

	atom_store_release(&e->off,
		region_off(&c->region, p) | size << JOURNAL_SIZE_SHIFT);
	atom_store_release(&e->old, old);
	c->entry_next = e + 1;
	atom_store_release(&j->n, j->n + 1);
}

static inline void journal_set64(struct caller *c, u64 *p, u64 v)
{
	journal_note(c, p, *p, 8);
	atom_store_release(p, v);
}

static inline void journal_set32(struct caller *c, u32 *p, u32 v)
{
	journal_note(c, p, *p, 4);
	atom_store_release(p, v);
}

static inline void journal_set16(struct caller *c, u16 *p, u16 v)
{
	journal_note(c, p, *p, 2);
	atom_store_release(p, v);
}

static inline void journal_set_ref(
	struct caller *c, struct ref *p, struct ref v)
{
	journal_set64(c, &p->off, v.off);
}

/* The commit point. */
static inline void journal_commit(struct caller *c)
{
	atom_store_release(&c->journal->n, 0);
	c->entry_next = c->entries;
}

/*
 * Commit by a store that readers without the lock act on: from that one store
 * on the operation has happened, and repair can tell (it finds the value
 * there). p must not be journaled in the same operation.
 */
static inline void journal_publish(struct caller *c, u64 *p, u64 v)
{
	struct journal *j = c->journal;

	atom_store_release(&j->publish_val, v);
	atom_store_release(&j->publish_off, region_off(&c->region, p));
	atom_store_release(p, v);
	atom_store_release(&j->n, 0);
	atom_store_release(&j->publish_off, 0);
	c->entry_next = c->entries;
}

/* Give up: write the old values back, newest first. */
void journal_abort(struct caller *c);
/* Write back what entries [0, n) say; used by journal_abort and by recovery. */
void journal_rollback(const struct region *region,
	const struct journal_entry *entries, u32 n);
/* Bytes of an entry array's block, for so many entries. */
static inline u64 journal_ext_size(u64 cap)
{
	return sizeof(struct journal_ext) + cap * sizeof(struct journal_entry);
}
/* Where the caller's own journal is, which is empty. */
void journal_find(struct caller *c);
/* The entry array of a journal, for cap entries, or NULL if its reference is
 * bad. */
struct journal_entry *journal_entries(
	const struct region *region, struct journal *j, u32 cap);

#endif
