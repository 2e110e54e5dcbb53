// SPDX-License-Identifier: MIT
/*
 * What has been received from a queue and not acknowledged (object/lease.h):
 * for the command.
 */
#ifndef IPCLIFT_INSPECT_LEASEVIEW_H
#define IPCLIFT_INSPECT_LEASEVIEW_H

#include "mq/mqueue.h"
#include "registry/caller.h"

/* A message on lease. */
struct lease_view {
	u32 pid, tid; /* who has it; its process may have exited */
	s64 type;     /* POSIX: the priority */
	u64 size;     /* bytes */
	s64 since;    /* realtime seconds */
};

/* At most n into ret, the last received first; the number there are. -EINVAL,
 * -EACCES, -EIDRM, -EBADF, and -ENOMEM of enrolling. One hold of the queue's lock.
 */
s32 msg_leases(struct caller *c, s32 id, struct lease_view *ret, u32 n);
s32 mq_leases(struct caller *c, const struct mq_desc *d, struct lease_view *ret,
	u32 n);

#endif
