// SPDX-License-Identifier: MIT
/*
 * The barrier that a revoker needs (bias.h): membarrier(2), which executes one
 * on every CPU that runs a thread of a registered process.
 */
#ifndef IPCLIFT_REGISTRY_BARRIER_H
#define IPCLIFT_REGISTRY_BARRIER_H

#include "registry/caller.h"

/* Register the process, so that locks may be biased to it (caller.may_bias); at
 * a thread's first call, since an application may forbid system calls later. */
void barrier_register(struct caller *c);
/* 0, or -errno where it is refused. */
int barrier_everywhere(void);

#endif
