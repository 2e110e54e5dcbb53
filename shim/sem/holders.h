// SPDX-License-Identifier: MIT
/*
 * Who is in a set's undo_active, as this process found it at its last walk: the
 * numbers of the tasks, one behind the other in memory of its own. An operation
 * must know that no holder is gone (undo.h). Along the list that is three cache
 * lines a holder, each found by the one before; by these numbers it is one, the
 * lifeline's, and all are fetched at once. Less cannot be: the kernel marks only
 * words that carry the dying thread's own number.
 *
 * undo.active_stamp of the list's first says which records are in the list. It
 * is stored under the slot's lock, by whoever links or unlinks a record, before
 * he commits, if the list is HOLDERS_STAMPED or longer afterwards; the number
 * is from header.stamp, so no two lists have the same.
 *   He dies before the store    the list is as it was, and so is the stamp.
 *   He dies between store and   the change is rolled back, the list is as it
 *   commit                      was: a first that was linked is out again, and
 *                               one that was there has a number that nobody has
 *                               noted, so it is walked once more.
 *   He commits                  the first has a number that nobody has noted.
 * Read, like the list, under the slot's lock alone.
 *
 * What is noted is private to the process, and one thread's at a time: others
 * walk along the list meanwhile.
 */
#ifndef IPCLIFT_SEM_HOLDERS_H
#define IPCLIFT_SEM_HOLDERS_H

#include "registry/caller.h"
#include "registry/layout.h"

/* From which length on a list is stamped. Arbitrary; all processes must agree:
 * part of the layout. In the crash tests and the explorer all are. */
#if defined(IPCLIFT_CRASH) || defined(IPCLIFT_EXPLORE)
#define HOLDERS_STAMPED 1u
#else
#define HOLDERS_STAMPED 16u
#endif

struct holders;

/* The place where the set's may be noted, the caller's until it is given back;
 * NULL: not to be had now. Slot lock held. */
struct holders *holders_take(struct caller *c, const struct semset *set);
void holders_give(struct holders *h);

/* 1 if those of `stamp` are noted and no one's lifeline has fired; now (not 0):
 * and each was found alive lately (task_looked_lately). */
int holders_none_suspect(
	struct caller *c, struct holders *h, u64 stamp, u64 now);

/* Note others: holders_add each in the list. Without holders_end nothing is
 * noted. */
void holders_begin(struct holders *h);
void holders_add(struct holders *h, u32 task);
void holders_end(const struct caller *c, struct holders *h, u64 stamp);

#endif
