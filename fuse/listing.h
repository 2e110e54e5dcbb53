// SPDX-License-Identifier: MIT
/*
 * Texts of sysvipc/sem, msg and shm, made once for all who ask meanwhile.
 *
 * A hundred readers at the same time need not look at every object a hundred
 * times: that would keep CPUs from the programs, and their caches warm for
 * nobody. Whoever asks while a text is being made waits for the next one, which
 * begins after he asked and is the same for all who wait: so nobody is shown
 * what was before. A text does not change; it goes with its last reader.
 */
#ifndef IPCLIFT_FUSE_LISTING_H
#define IPCLIFT_FUSE_LISTING_H

#include "registry/caller.h"
#include "inspect/text.h"

struct listing {
	struct text text;
	u32 next_idx; /* behind the last row */
	u32 refs;
};

/* 0 with *ret, to be given to listing_put; -errno of making it. */
int listing_get(struct caller *c, enum facility fac, struct listing **ret);
void listing_put(struct listing *l);

#endif
