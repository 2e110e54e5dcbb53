// SPDX-License-Identifier: MIT
/*
 * What this process has asked to be told when it registered with a queue, in
 * its own memory: in a registry that others may write they could put there
 * another signal, a pointer (si_value) that its handler follows, or another of
 * its sockets and what the kernel is to say by it. So what is delivered by the
 * process itself, or by its notification thread, comes from here; the registry
 * says only which registration fires, by its stamp.
 *
 * An entry is free, or somebody's who works on it, or set; each change is a
 * compare-and-swap, since threads, handlers and the notification thread meet
 * here and none may wait for another. A vfork child that is killed in between
 * takes an entry with it.
 */
#ifndef IPCLIFT_MQ_MQASKED_H
#define IPCLIFT_MQ_MQASKED_H

#include "registry/caller.h"

/* Registrations of one process that are remembered. Beyond it the oldest is
 * forgotten, and in a registry that others may write not told. Arbitrary. */
#define MQASKED_MOST 1024u

/* A registration: remembered by its stamp, for the process n->pid. */
void mqasked_put(const struct mq_notify *n);
/* The process's registration with that stamp, which is forgotten: its own
 * values into ret, whose other fields stay. 1, or 0 if there is none. */
int mqasked_take(u32 pid, u64 stamp, struct mq_notify *ret);

#endif
