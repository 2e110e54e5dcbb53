// SPDX-License-Identifier: MIT
/*
 * A user's directory of registries, /dev/shm/ipclift-<uid>. /dev/shm is
 * everybody's: whoever comes first can make it in another's name, with a
 * registry in it that he goes on writing. So before a file in there is used
 * that is not the caller's own, or one is made, the directory has to be that
 * user's alone to write.
 */
#ifndef IPCLIFT_REGISTRY_REGIONHOME_H
#define IPCLIFT_REGISTRY_REGIONHOME_H

#include <stddef.h>
#include "base/types.h"

#define REGIONHOME_PREFIX "/dev/shm/ipclift-"
/* The directory's name with a number of any length. */
#define REGIONHOME_CAP 48u

/* Whose directory an absolute path leads through, and what follows behind its
 * slash: 1 with both, or 0 if it is nobody's. */
int regionhome_of(const char *path, u32 *ret_uid, const char **ret_rest);

/* 1 if the directory that an absolute path leads through is that user's alone
 * to write, or not there, or if it is nobody's; 0 with its name in dir
 * (REGIONHOME_CAP). One system call, none of a path that is nobody's. */
int regionhome_is_owners(const char *path, char *dir);

#endif
