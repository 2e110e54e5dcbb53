// SPDX-License-Identifier: MIT
/*
 * What an action of posix_spawn(3) opens: libc's child does so by system calls of
 * its own, so a queue in /dev/mqueue and the kernel's files about IPC are opened
 * by the parent, and the child copies the descriptor.
 */
#ifndef IPCLIFT_ENTRY_FILE_SPAWNFILE_H
#define IPCLIFT_ENTRY_FILE_SPAWNFILE_H

#include "base/types.h"

struct spawnfile {
	const void *actions; /* in place of the program's */
	/* of the copy, which begins with the numbers of our descriptors */
	u64 size;
	int *fds;
	u32 n_fds;
};

/* 1 if one of the actions, a posix_spawn_file_actions_t or NULL, opens a path
 * of ours by an absolute name. */
int spawnfile_concerns(const void *actions);
/* Open them: 0 with *ret, or the errno that posix_spawn would have had. After
 * the call, spawnfile_end. */
int spawnfile_begin(struct spawnfile *ret, const void *actions);
void spawnfile_end(const struct spawnfile *s);

#endif
