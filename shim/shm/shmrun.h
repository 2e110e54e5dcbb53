// SPDX-License-Identifier: MIT
/*
 * Where the pages of segments lie: runs of pages in the file's window.
 *
 * Runs come in size classes, four to a power of two, with a guard page behind
 * each; they are never split or merged, since file offsets are plenty. Small
 * ones are near the window's start, which processes keep mapped; large ones
 * farther off. The runs of segments that are gone wait in lists for the next.
 *
 * Their pages go back to the file system first, by MADV_REMOVE, always: to zero
 * them for the next segment would be cheaper, but the kernel may still refer to
 * them (a pipe after vmsplice, a network card after MSG_ZEROCOPY, a disk with
 * O_DIRECT), and would then read the next segment's data or write into it.
 * Nothing that a process without privileges can ask tells whether it does.
 *
 * That takes milliseconds for a large segment and happens without any lock, by
 * whoever destroyed it: its run stands in thread.run meanwhile (and the pages
 * count in shm_state.pool), where nobody else touches it. Of a thread that died
 * there
 *	the record's next owner finishes it, at its next call of shm*, after it
 *	has made it its own under the facility's lock (run_claim = claims);
 *	or anybody who is short of space takes it, under that lock, once the
 *	thread is gone or its record claimed anew without that having been done.
 * What a thread cannot empty itself, since it has one already or the system
 * refuses, goes into the lists kept[], for whoever comes next.
 *
 * shm_run_pages takes no lock; of shm_run_settle and shm_run_flush the caller
 * may hold none. For the others the facility's lock, that of shm_class, is held.
 */
#ifndef IPCLIFT_SHM_SHMRUN_H
#define IPCLIFT_SHM_SHMRUN_H

#include "object/object.h"
#include "registry/damage.h"

extern const struct object_class shm_class;

static inline struct shm_run *shm_run_at(const struct caller *c, struct ref ref)
{
	return ref_at(c, ref);
}

/* Pages of a run: no segment on it has more. */
u64 shm_run_pages(const struct shm_run *run);
/* Put a free run for so many pages into shm_state.next_run; operations of
 * their own. 0 or -ENOMEM. */
int shm_run_prepare(struct caller *c, u64 pages);
/* Give the run of a segment back, as part of the current operation (six
 * entries). kept: pages at its start that may hold something, which
 * the caller gives back to the file system afterwards: shm_run_settle. */
void shm_run_give(struct caller *c, struct ref *run, u64 kept);
/*
 * 0 if the file system can hold so many pages beside all that is reserved,
 * else -ENOMEM. To count them is the caller's part.
 */
int shm_reserve_check(struct caller *c, u64 pages);

/* Empty the runs that are left to be emptied. No lock may be held. */
void shm_run_settle_slow(struct caller *c);
static inline void shm_run_settle(struct caller *c)
{
	if (unlikely(region_thread(&c->region, c->thread)->run.off ||
		     caller_header(c)->shm.n_kept))
		shm_run_settle_slow(c);
}
/* The same, and what threads that are gone were emptying. 1 if there was
 * anything. No lock may be held. */
int shm_run_flush(struct caller *c);

#endif
