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
/* The same for the journal of a given thread (bias.h). */
void recover_journal(struct caller *c, struct lock *lock, u32 thread);

#endif
