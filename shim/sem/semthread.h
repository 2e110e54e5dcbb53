// SPDX-License-Identifier: MIT
/*
 * What semaphores keep of a thread from call to call, in its private memory:
 * the sets biased to it, its undo records used lately.
 */
#ifndef IPCLIFT_SEM_SEMTHREAD_H
#define IPCLIFT_SEM_SEMTHREAD_H

#include "registry/caller.h"

/*
 * Semaphore sets biased to this thread (bias.h): what an operation
 * needs, looked up when each was biased. Stored by this thread alone,
 * with the set's lock held and so in a section (note_bias). An entry
 * is good while its slot's bias is bias_id, asked again after bias_at
 * is stored, and while the process has the same euid, for
 *   - whatever changes what it says (the set's end, its rights) ends
 *     the bias first;
 *   - no slot has two entries: all ids of a slot have the same low
 *     bits, so they stand in the same two places, and both are cleared
 *     of the slot when it is biased anew. Else the id of a removed set
 *     would find the set that came into its slot.
 * Entries whose bias has ended stay, and are refused, until then.
 */
struct biased {
	s32 id;
	u32 n; /* semaphores; 0: empty */
	struct slot *slot;
	struct sem *sems;
	u32 euid;
};

/* An own undo record (undo.h). */
struct undo_place {
	u64 ident;
	u64 off;
};

struct sem_thread {
	struct biased biased[2 * OLDER];
	struct undo_place undo_cache[2 * OLDER];
	u32 undo_walked; /* records looked at in the last search for one */
};
_Static_assert(
	sizeof(struct sem_thread) <= sizeof(((struct caller *)0)->of_sem),
	"caller.of_sem");

static inline struct sem_thread *sem_thread(const struct caller *c)
{
	return (struct sem_thread *)(void *)c->of_sem;
}

#endif
