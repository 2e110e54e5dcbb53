// SPDX-License-Identifier: MIT
/*
 * A stock: some free small blocks kept under a lock that the caller holds
 * anyway, so that making and dropping small objects in turn does not need the
 * heap's lock as well, and finds the block that was dropped last, which is
 * still in the cache.
 *
 * To the heap the blocks are handed out. Only whole classes up to
 * STOCK_CLASSES * 64 bytes, at most STOCK_DEPTH blocks of each.
 */
#ifndef IPCLIFT_REGISTRY_STOCK_H
#define IPCLIFT_REGISTRY_STOCK_H

#include "registry/journal.h"

/* Journal room for a call. */
#define STOCK_ENTRIES 4u

/* Move a block for this size from the stock to *ret, or from *ref to the
 * stock; journaled, the stock's lock is held. 1, or 0 with nothing changed:
 * the heap has to do it. */
int stock_take_locked(
	struct caller *c, struct stock *stock, u64 size, struct ref *ret);
int stock_put_locked(
	struct caller *c, struct stock *stock, u64 size, struct ref *ref);

#endif
