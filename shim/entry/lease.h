// SPDX-License-Identifier: MIT
/*
 * What the process has on lease, at its end (lease.c).
 */
#ifndef IPCLIFT_ENTRY_LEASE_H
#define IPCLIFT_ENTRY_LEASE_H

#include "object/lease.h"

/* The process is about to end in order. One load where it has nothing on lease.
 */
void lease_process_ends(void);

/* Before a fork: what _exit passes on to is looked up once here, and not in each
 * child, which touches some pages for it. */
void lease_fork_begins(void);

#endif
