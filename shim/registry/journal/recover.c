// SPDX-License-Identifier: MIT
/*
 * Recovery from a dead owner, the same for every class of lock: roll its
 * journal back. lock->journal names the journal of the last thread that
 * finished acquiring. It is the dead owner's, or that of a thread before it
 * if the owner died between taking the word and storing its name; then that
 * journal does not list this lock and there is nothing to do. If it lists its
 * bias_busy, that thread may be alive and inside: that is for the revocation.
 *
 * A thread that died under several locks left one journal for all of them. Two
 * survivors may come to it through two of the locks at once; the repair lock
 * (innermost) lets one roll back and shows the other that it is done. Neither
 * can have changed anything under its lock before.
 */
#include "registry/journal/recover.h"
#include "registry/event.h"
#include "registry/journal/journal.h"
#include "registry/lock.h"

/* entry: the offset of a lock, or of its bias_busy. */
static int journal_lists(const struct journal *j, u64 entry)
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

static void rollback(struct caller *c, struct journal *j)
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

static void recover_journal(
	struct caller *c, const struct lock *lock, u32 thread, u64 entry)
{
	struct header *h = caller_header(c);
	struct thread *th = region_thread(&c->region, thread);
	struct journal *j = &th->journal;

	event_add(c, EVENT_RECOVERED, th->tid, 0);
	if (j == c->journal || lock == &h->repair_lock.lock)
		return;
	/* Ours alone: nobody else rolls it back, so the record is not taken
	 * over either. n_locks is looked at before what it covers: what a new
	 * thread of that record lists is not ours. */
	if (atom_load_acquire(&j->n_locks) == 1) {
		if (atom_load_acquire(&j->locks[0]) == entry &&
			atom_load_acquire(&j->n))
			rollback(c, j);
		return;
	}
	if (!atom_load_acquire(&j->n) || !journal_lists(j, entry))
		return;
	lock_acquire(c, &h->repair_lock.lock);
	/* Asked again: the other may be done, and a new thread may have taken
	 * the record over since; its journal cannot list a lock that we hold.
	 */
	if (atom_load_acquire(&j->n) && journal_lists(j, entry))
		rollback(c, j);
	lock_release(c, &h->repair_lock.lock);
}

void recover_lock(struct caller *c, struct lock *lock)
{
	recover_journal(c, lock, atom_load_acquire(&lock->journal),
		region_off(&c->region, lock));
}

void recover_biased(struct caller *c, struct lock *lock, u32 thread)
{
	recover_journal(
		c, lock, thread, region_off(&c->region, &lock->bias_busy));
}
