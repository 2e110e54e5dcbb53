// SPDX-License-Identifier: MIT
/*
 * What a fork child inherits. It has its parent's mappings from its first
 * instruction, so they must be counted before it exists: the parent makes a
 * task for it (TASK_NASCENT) with a record for each attachment, and the child,
 * once it runs, moves the records to the task that its pid gives it. Whoever
 * of the two is killed when, the records are dropped if there is no child.
 *
 * Around fork(2), so exact for every fork that goes through the interposed
 * names. A child made in another way is noticed at its own first served call.
 */
#ifndef IPCLIFT_SHM_SHMFORK_H
#define IPCLIFT_SHM_SHMFORK_H

#include "registry/caller.h"

struct shm_fork {
	u32 task; /* 0 = nothing was prepared */
	u32 nonce;
};

/* Before fork, in the parent. */
void shm_fork_prepare(struct caller *c, struct shm_fork *ret);
/* After it: in the parent, with what fork returned (child < 0: it failed); */
void shm_fork_parent(struct caller *c, const struct shm_fork *f, s32 child);
/* and in the child, f->task 0 if it was not prepared. */
void shm_fork_child(struct caller *c, const struct shm_fork *f);

#endif
