// SPDX-License-Identifier: MIT
/*
 * check: proves the invariants of a registry, read-only.
 *
 * Tests and comments cite these numbers.
 *
 *   1  heap: HEAP_OFF <= bump <= reserved, all page or block aligned
 *   2  an idx is marked used if and only if its slot is live, but for the one
 *      that header.removing names
 *   3  a bit above level 0 of the bitmap is set if and only if its word is full
 *   4  in_use counts the used idx; none is above max_idx
 *   5  a live slot's id belongs to its idx, and its generation is below the
 *      facility's next
 *   6  key chains end, hold live slots with a key, each in its own bucket and
 *      no key twice; they hold every live slot that has a key; n_keys counts
 *   7  sem: total is the sum of the sizes of the sets
 *   8  heap: free blocks and live blocks (bodies, undo records) lie between
 *      HEAP_OFF and bump and do not overlap
 *   9  heap: used is what the free lists leave of HEAP_OFF ... bump
 *  10  sem: a value is at most SEMVMX
 *  11  sem: queues are linked both ways; who stands in one is queued for this
 *      set, in the queue that its kind names; n_waiters counts them
 *  12  sem: a set's undo records are linked both ways and name the set; each
 *      has an adj for every semaphore, and n_nonzero counts those not 0
 *  13  sem: the active records are those marked so; whoever has something to
 *      give back is active; n_active and n_adj count
 *  14  a task's undo records end and name the task
 *
 * Two ways to run it: on a region in which nothing happens (a crash test's, an
 * image), where all invariants hold for all objects at once; or on one in use,
 * lock by lock, where 9 and the blocks of undo records in 8 are left out.
 */
#ifndef IPCLIFT_IPC_CHECK_H
#define IPCLIFT_IPC_CHECK_H

#include "ipc/sem.h"

struct check {
	/* Called for each fault: the invariant's number, what is wrong, and
	 * the index (slot, task) or offset where. May be NULL. */
	void (*fault)(
		struct check *k, u32 invariant, const char *text, u64 where);
	void *arg; /* for fault */
	/* A bit for every 64 bytes of the heap: check_map_words words, all
	 * zero; NULL leaves 8 out. */
	u64 *map;
	u64 map_words;
	u32 n_faults;
};

/* Words that struct check.map needs for the heap as it is now. */
u64 check_map_words(const struct region *r);

/* A region in which nothing happens; nothing is written. Returns n_faults. */
u32 check_quiet(const struct region *r, struct check *k);

/* A region in use: takes the facility's, then each object's, then the heap's
 * lock, which repairs after dead owners as every call does. n_faults or
 * -errno. */
s32 check_live(struct caller *c, struct check *k);

#endif
