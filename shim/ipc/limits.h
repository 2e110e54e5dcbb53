// SPDX-License-Identifier: MIT
/*
 * Limits: Linux's defaults, and what the `roomy` profile lifts.
 */
#ifndef IPCLIFT_IPC_LIMITS_H
#define IPCLIFT_IPC_LIMITS_H

#include "registry/caller.h"

enum limits_profile {
	LIMITS_KERNEL, /* exactly Linux's defaults and checks */
	LIMITS_ROOMY,  /* ceilings that only make calls fail are lifted */
};

/* Which limit stopped a call, for the event ring. */
enum limit {
	LIMIT_SEMMNI = 1,
	LIMIT_SEMMNS,
	LIMIT_SEMMSL,
	LIMIT_SEMOPM,
	LIMIT_MSGMNI,
	LIMIT_SHMMNI,
	LIMIT_SHMALL,
	LIMIT_SHMMAX,
	LIMIT_QUEUES_MAX,
	LIMIT_MSG_MAX,
	LIMIT_MSGSIZE_MAX,
	LIMIT_RLIMIT_MSGQUEUE,
};

/* Its name, as in control.h; "?" if there is no such limit. */
const char *limit_name(u64 which);

/* The limits a new registry starts with. idx_bits as in struct header. */
void limits_init(struct limits *ret, enum limits_profile profile, u32 idx_bits);

/* Report a hit in the event ring, once per cause; returns error. */
int limit_hit(struct caller *c, enum limit which, u64 value, int error);

#endif
