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

/* For a registry to be made, by the values of IPCLIFT_LIMITS and IPCLIFT_IDS,
 * each of which may be NULL: idx_bits, profile, limits; with the profile
 * `kernel` the values in /proc/sys when it is made (complete). */
struct region_options;
void limits_choose(
	struct region_options *ret, const char *limits, const char *ids);

/*
 * Report a hit in the event ring; returns error. value is the limit's, asked
 * what would have been needed, 0 if just one more. There is one event per
 * process and value, and at most one per second and value in all: a program
 * that tries again and again does not displace all other events.
 */
int limit_hit(
	struct caller *c, enum limit which, u64 value, u64 asked, int error);

/* Set the option after "ipclift set" that selects this registry, " --name X",
 * for a limit_remedy that is printed where nothing else tells which registry it
 * is. Left out if it is too long. */
void limit_remedy_for(const char *option, const char *value);

/* How to raise a limit that stopped a call, by a command if there is one, into
 * buf (capacity cap, zero-terminated); its length. e is an EVENT_LIMIT. */
size_t limit_remedy(
	const struct header *h, const struct event *e, char *buf, size_t cap);

#endif
