// SPDX-License-Identifier: MIT
/*
 * The limits by name, with the ranges of the kernel's sysctl files
 * (doc/kernel-semantics.md §3.1) and their one-shot counterparts *_next_id (§2.3).
 */
#ifndef IPCLIFT_OBJECT_CONTROL_H
#define IPCLIFT_OBJECT_CONTROL_H

#include "registry/caller.h"

struct control {
	const char *name; /* as in /proc/sys, the values of `sem` one by one */
	const char *about;
	u16 offset;   /* in struct header */
	u16 size;     /* bytes: 4 signed, 8 unsigned */
	u16 by_ids;   /* max is the number of idx instead */
	s64 min, max; /* of a 4-byte value */
};

extern const struct control controls[];
extern const u32 n_controls;

/* The control of that name (a file's in /proc/sys, without its directory), or
 * NULL. */
const struct control *control_find(const char *name);
/* The value; a 4-byte one is sign-extended. */
u64 control_get(const struct caller *c, const struct control *k);
/* 0, or -EINVAL out of range. */
int control_check(const struct caller *c, const struct control *k, u64 value);
/* The same, and set it. One store; takes effect at the next call. */
int control_set(struct caller *c, const struct control *k, u64 value);
/* Set it as part of the current operation; in range, facility's lock held. */
void control_set_journaled(
	struct caller *c, const struct control *k, u64 value);

#endif
