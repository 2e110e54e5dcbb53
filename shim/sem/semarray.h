// SPDX-License-Identifier: MIT
/*
 * One array of operations on a set: whether it can be executed, and executing
 * it (doc/kernel-semantics.md §4.3).
 */
#ifndef IPCLIFT_SEM_SEMARRAY_H
#define IPCLIFT_SEM_SEMARRAY_H

#include "sem/undo.h"

/* What an array needs to know of the one for whom it is executed. */
struct array {
	const struct sop *sops;
	u32 n;
	u32 pid;
	u32 n_sems;	   /* of the set (sem_count); they are numbered below */
	struct undo *undo; /* NULL unless some op has SEM_UNDO */
};

/*
 * Apply the array to owned words under the journal. 0: applied, not yet
 * committed. BLOCKED (at *ret_op), -ERANGE, and -EIO for a damaged array: rolled
 * back. Slot lock held.
 */
int array_try(struct caller *c, struct semset *set, const struct array *a,
	u32 *ret_op);
/* Journal entries that executing and queueing an array of n takes. */
u32 array_entries(u32 n, int undo);

#endif
