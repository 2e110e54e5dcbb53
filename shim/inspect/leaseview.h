// SPDX-License-Identifier: MIT
/*
 * Messages received from a queue and not acknowledged (object/lease.h): shared
 * by msgview.h and mqview.h.
 */
#ifndef IPCLIFT_INSPECT_LEASEVIEW_H
#define IPCLIFT_INSPECT_LEASEVIEW_H

#include "registry/caller.h"

/* A message on lease. */
struct lease_view {
	u32 pid, tid; /* who has it; its process may have exited */
	s64 type;     /* POSIX: the priority */
	u64 size;     /* bytes */
	s64 since;    /* realtime seconds */
};

/* At most n into ret, the last received first; returns the number there are.
 * by_msg: of a System V queue. The queue's lock is held; the caller tests
 * `damaged`. */
u32 lease_views(struct caller *c, const struct leases *ls, int by_msg,
	struct lease_view *ret, u32 n);

#endif
