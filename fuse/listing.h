// SPDX-License-Identifier: MIT
/*
 * Texts of sysvipc/sem, msg and shm, made once for all who ask meanwhile.
 *
 * A hundred readers at the same time need not look at every object a hundred
 * times, which takes CPU time and cache lines from the programs. Who asks while a
 * text is being made waits for the next one, which is begun after that and is the
 * same for all who wait: so nobody is shown a state from before the question. A
 * text does not change; it is freed with its last reader.
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
