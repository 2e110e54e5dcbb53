// SPDX-License-Identifier: MIT
/*
 * How large a journal is: growing it beyond its inline entries before an
 * operation's first change, and giving back what a large operation took.
 */
#ifndef IPCLIFT_REGISTRY_JOURNAL_RESERVE_H
#define IPCLIFT_REGISTRY_JOURNAL_RESERVE_H

#include "registry/journal/journal.h"

/* Space for n more entries, growing the journal if needed. Takes the heap lock
 * if it has to grow, so call it before an operation's first change. 0 or
 * -ENOMEM. */
int journal_reserve_slow(struct caller *c, u32 n);
static inline int journal_reserve(struct caller *c, u32 n)
{
	return likely(c->entries_end - c->entry_next >= (s64)n)
		       ? 0
		       : journal_reserve_slow(c, n);
}

/*
 * At the end of a call that may have reserved a great deal: what is more than
 * JOURNAL_MOST entries goes back. JOURNAL_KEPT stay, which is more than what is
 * reserved outside of sections, where a handler's call may come to this in the
 * midst of another. No lock may be held.
 */
#define JOURNAL_MOST 4096 /* 64 KiB, as HEAP_OWN_MOST */
#define JOURNAL_KEPT 256u /* arbitrary */
void journal_trim_slow(struct caller *c);
/* The same, to no more than a new record has: not where anybody may have
 * reserved more. Needs no space. */
void journal_drop(struct caller *c);
static inline void journal_trim(struct caller *c)
{
	if (unlikely(c->entries_end - c->entries > JOURNAL_MOST))
		journal_trim_slow(c);
}

/* Make the journal of the caller's own thread record ready for use: finishes
 * a growth in whose midst an earlier thread died. No lock held. */
void journal_adopt(struct caller *c);

#endif
