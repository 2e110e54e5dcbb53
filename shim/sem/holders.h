// SPDX-License-Identifier: MIT
/*
 * The tasks in a set's undo_active list, as this process found them at its last
 * walk: an array of their numbers in private memory. An operation must know
 * that no holder has exited (undo.h). Along the list that costs three cache
 * lines per holder, each found by the one before; by this array it is one, the
 * lifeline's, and all are fetched in parallel. One is the least possible: the
 * kernel marks only words that contain the dying thread's own tid.
 *
 * undo.active_stamp of the list's first record identifies the list's content.
 * It is stored under the slot's lock by the thread that links or unlinks a
 * record, before its commit, if the list is HOLDERS_STAMPED or longer
 * afterwards; the stamp is from header.stamp, so no two lists have the same.
 * That thread
 *   dies before the store       the list is as it was, and so is the stamp.
 *   dies between store and      the change is rolled back, the list is as it was:
 *   commit                      a first record that was linked is out again, and
 *                               one that was there has a stamp that no process has
 *                               noted, so the list is walked once more.
 *   commits                     the first has a stamp that no process has noted.
 * Read, like the list, under the slot's lock only.
 *
 * The array is private to the process, and used by one thread at a time: others
 * walk along the list meanwhile.
 */
#ifndef IPCLIFT_SEM_HOLDERS_H
#define IPCLIFT_SEM_HOLDERS_H

#include "registry/caller.h"
#include "registry/layout.h"

/* The length from which on a list is stamped. Arbitrary; all processes must
 * agree on it, so it is part of the layout. In the crash tests and the explorer
 * all are. */
#if defined(IPCLIFT_CRASH) || defined(IPCLIFT_EXPLORE)
#define HOLDERS_STAMPED 1u
#else
#define HOLDERS_STAMPED 16u
#endif

struct holders;

/* The array for the set, for the caller's use until it is given back; NULL:
 * none is free now. Slot lock held. */
struct holders *holders_take(struct caller *c, const struct semset *set);
void holders_give(struct holders *h);

/* 1 if the holders of `stamp` are noted and no lifeline has fired; now (not 0):
 * and each was found alive lately (task_looked_lately). */
int holders_none_suspect(
	struct caller *c, struct holders *h, u64 stamp, u64 now);

/* Note other holders: holders_add for each in the list. Nothing is valid until
 * holders_end. */
void holders_begin(struct holders *h);
void holders_add(struct holders *h, u32 task);
void holders_end(const struct caller *c, struct holders *h, u64 stamp);

#endif
