// SPDX-License-Identifier: MIT
/*
 * The registry that this mount shows: one for the life of the process.
 *
 * The mount is a caller like any program: each of its threads enrolls, takes
 * the same locks, and is repaired by the others if it dies. Unlike the shim it
 * keeps a descriptor of the file, by which it reads what must not be touched
 * through the mapping (reading a hole of a tmpfs file there fills it).
 *
 * The file may be removed or replaced while it is shown; the mapping then
 * shows what nobody uses any more. Every way into the mount asks source_check
 * first.
 */
#ifndef IPCLIFT_FUSE_SOURCE_H
#define IPCLIFT_FUSE_SOURCE_H

#include <sys/types.h>

#include "registry/caller.h"

struct requester;

/* Map the registry; make it first if there is none and create is set. limits
 * and ids: as IPCLIFT_LIMITS and IPCLIFT_IDS, or NULL. 0, or -1 with one line
 * of explanation in why. */
int source_open(const char *path, int create, const char *limits,
	const char *ids, char *why, size_t cap);
/* The default path, as the shim and the command find it: 0, or -1. */
int source_default_path(char *path, size_t cap, char *why, size_t why_cap);

/* Its absolute name, without links. */
const char *source_path(void);
int source_fd(void);
/* Whose it is: they stand where root stands in the kernel's files. */
uid_t source_uid(void);
gid_t source_gid(void);

/* 0, or -ESTALE if it was removed, replaced or truncated, which is logged once.
 * Cost: a stat(2). */
int source_check(void);

/* The calling thread as a caller, in the name of r. Valid until the thread's
 * next call of it. */
struct caller *source_caller(struct requester *r);

#endif
