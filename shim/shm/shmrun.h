// SPDX-License-Identifier: MIT
/*
 * Where the pages of segments lie: runs of pages in the file's window.
 *
 * Runs come in size classes, four to a power of two, with a guard page behind
 * each; they are never split or merged, since file offsets are plenty. Small
 * ones are near the window's start, which processes keep mapped; large ones
 * farther off. The runs of segments that are gone wait in lists: with their
 * pages, to be zeroed for the next segment (allocating pages is what costs),
 * as long as the pool of such pages is below its bound; without, given back by
 * MADV_REMOVE, beyond it.
 *
 * All functions: the facility's lock is held.
 */
#ifndef IPCLIFT_SHM_SHMRUN_H
#define IPCLIFT_SHM_SHMRUN_H

#include "registry/journal/journal.h"

/* Pages kept in all free runs, and the largest run that keeps any. Arbitrary:
 * what a busy program creates and removes, a quarter of docker's /dev/shm. */
#define SHM_POOL_PAGES 4096u
#define SHM_KEEP_PAGES 1024u

static inline struct shm_run *shm_run_at(const struct caller *c, struct ref ref)
{
	return region_span(&c->region, ref, sizeof(struct shm_run));
}

/* Put a free run for so many pages into shm_state.next_run; operations of
 * their own. 0 or -ENOMEM. */
int shm_run_prepare(struct caller *c, u64 pages);
/* Give the run of a segment back to its list, as part of the current operation
 * (SHM_RUN_ENTRIES). kept: pages at its start that stay. */
void shm_run_give(struct caller *c, struct ref *run, u64 kept);
#define SHM_RUN_ENTRIES 6u
/* Make room in the pool for so many pages; 0 if they cannot be kept. */
int shm_pool_admit(struct caller *c, u64 pages);
/* Give the pages of the whole pool back. */
void shm_pool_flush(struct caller *c);
/*
 * 0 if the file system can hold so many pages beside all that is promised,
 * else -ENOMEM. The promise itself is the caller's to count.
 */
int shm_promise_check(struct caller *c, u64 pages);

#endif
