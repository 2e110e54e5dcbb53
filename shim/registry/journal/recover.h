// SPDX-License-Identifier: MIT
/*
 * What recovery does with a dead thread's journal. Which journal that is, and
 * who may, is the matter of the lock (lock.c).
 */
#ifndef IPCLIFT_REGISTRY_JOURNAL_RECOVER_H
#define IPCLIFT_REGISTRY_JOURNAL_RECOVER_H

#include "registry/caller.h"

/* 1 if the journal lists entry: the offset of a lock, or of its by_bias. */
int recover_listed(const struct journal *j, u64 entry);
/* Write back what the journal's owner, who is dead, had not committed. Nobody
 * else may be doing so. May be cut off anywhere and run again. */
void recover_rollback(struct caller *c, struct journal *j);

#endif
