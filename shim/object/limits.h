// SPDX-License-Identifier: MIT
/*
 * Limits: Linux's defaults, and what the `roomy` profile lifts.
 */
#ifndef IPCLIFT_OBJECT_LIMITS_H
#define IPCLIFT_OBJECT_LIMITS_H

#include "registry/caller.h"

enum limits_profile {
	LIMITS_KERNEL, /* exactly Linux's checks, and the kernel's limits */
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
	LIMIT_MSGMAX,
	LIMIT_MSGMNB,
	LIMIT_IDS, /* no idx is free, or none from the requested one on */
};

/* Its name, as in control.h; "?" if there is no such limit. Only the low half
 * of which counts: arg0 of an EVENT_LIMIT may be given. */
const char *limit_name(u64 which);

/* The limits a new registry starts with. idx_bits as in struct header. */
void limits_init(struct limits *ret, enum limits_profile profile, u32 idx_bits);

/* For a registry to be made, by the words of IPCLIFT_LIMITS and IPCLIFT_IDS,
 * each of which may be NULL: idx_bits, profile, limits; of the profile `kernel`
 * what /proc/sys says when it is made (complete). */
struct region_options;
void limits_choose(
	struct region_options *ret, const char *limits, const char *ids);

/*
 * Report a hit in the event ring; returns error. value is the limit's, asked
 * what would have been needed, 0 if that is just one more. The ring is told
 * once for a process and value, and of one value no more than once a second
 * whoever meets it: a program that tries again and again does not push
 * everything else out.
 */
int limit_hit(
	struct caller *c, enum limit which, u64 value, u64 asked, int error);

/* The words after "ipclift set" that lead to this registry, " --name X", from
 * now on: for who reads limit_remedy where nothing else says which one it is.
 * Cut to nothing if they are too long. */
void limit_remedy_for(const char *option, const char *value);

/* What raises a limit that stopped a call, a command if there is one, into buf
 * (capacity cap, zero-terminated); its length. e is an EVENT_LIMIT. */
size_t limit_remedy(
	const struct header *h, const struct event *e, char *buf, size_t cap);

#endif
