// SPDX-License-Identifier: MIT
/*
 * Files beside the registry, in the directory REGISTRY.mq: the FIFOs of POSIX
 * queues (mqfifo.c) and the control files that are open for writing
 * (controlfile.c).
 *
 * A name is 128 random bits that only processes which map the registry know, in
 * a directory that all users may search and write but not list: so a process
 * that gave up its privileges after it mapped the registry can still open them,
 * and no other process can.
 */
#ifndef IPCLIFT_OBJECT_SIDEFILE_H
#define IPCLIFT_OBJECT_SIDEFILE_H

#include "registry/caller.h"

/* A new name; token[0] is not 0. */
void sidefile_name(const struct caller *c, u64 token[2]);
/* Its path, into sidefile_path_size bytes, of the exact size since they are on
 * the stack, which may be small. region.path must be known. */
size_t sidefile_path_size(const struct caller *c);
void sidefile_path(const struct caller *c, const u64 token[2], char *path);
/* Make the directory if there is none: 0, or -errno of mkdir(2). */
int sidefile_make_dir(const struct caller *c);
void sidefile_unlink(const struct caller *c, const u64 token[2]);

#endif
