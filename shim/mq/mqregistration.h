// SPDX-License-Identifier: MIT
/*
 * The notifications that this process has registered for, in its own memory. If
 * others may write to the registry they could put another signal there, a
 * pointer (si_value) that a handler follows, or another of the process's
 * sockets and what is sent on it. So what the process, or its notification
 * thread, delivers to itself is taken from here; the registry says only which
 * registration fires, by its stamp.
 *
 * An entry is free, claimed by a thread that works on it, or set; each change
 * is a compare-and-swap, since threads, handlers and the notification thread
 * use it at the same time and none may wait for another. If a vfork child is
 * killed in between, the entry is lost.
 */
#ifndef IPCLIFT_MQ_MQREGISTRATION_H
#define IPCLIFT_MQ_MQREGISTRATION_H

#include "registry/caller.h"

/* Most registrations of one process that are remembered. Beyond that the oldest
 * is forgotten, and never delivered in a registry that others may write.
 * Arbitrary. */
#define MQREGISTRATION_MOST 1024u

/* Remember a registration by its stamp, for the process n->pid. */
void mqregistration_put(const struct mq_notify *n);
/* Forget the process's registration with that stamp, and copy its values to
 * ret, whose other fields stay. 1, or 0 if there is none. */
int mqregistration_take(u32 pid, u64 stamp, struct mq_notify *ret);

/*
 * The same for the notification thread, which alone calls it: 1 also for one of the
 * last MQREGISTRATION_TOLD that it has taken, once more. For a sender that is
 * killed before its commit may have sent what is told too early, and the next
 * message has it sent again, with the same stamp.
 */
#define MQREGISTRATION_TOLD 8u /* arbitrary */
int mqregistration_tell(u32 pid, u64 stamp, struct mq_notify *ret);

#endif
