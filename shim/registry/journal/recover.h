// SPDX-License-Identifier: MIT
/*
 * What the next owner of a dead owner's lock does first.
 */
#ifndef IPCLIFT_REGISTRY_JOURNAL_RECOVER_H
#define IPCLIFT_REGISTRY_JOURNAL_RECOVER_H

#include "registry/caller.h"

/* With the lock just acquired and found OWNER_DIED: roll back what its last
 * owner had not committed. May be cut off anywhere and run again. */
void recover_lock(struct caller *c, struct lock *lock);
/* With the lock held, its bias being revoked, and the bias owner found dead
 * inside (bias.h): the same for that thread's journal. */
void recover_biased(struct caller *c, struct lock *lock, u32 thread);

#endif
