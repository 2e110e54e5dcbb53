// SPDX-License-Identifier: MIT
/*
 * On whose behalf a request is served: the process that made it, not the mount.
 *
 * FUSE tells its file system uid and gid. Supplementary groups and
 * capabilities are read from /proc only when uid and gid alone would refuse;
 * the process waits for our answer meanwhile, so they are its own. They count
 * only if we see that it is in our user namespace: a mount that does not run as
 * root sees that of its own user's processes alone.
 */
#ifndef IPCLIFT_FUSE_REQUESTER_H
#define IPCLIFT_FUSE_REQUESTER_H

#include <sys/types.h>

#include "object/perm.h"

struct requester {
	struct cred cred; /* first: cred_read gets its address */
	u32 ruid;	  /* real, if it is known, else as told */
	pid_t tid;	  /* 0 = not in our pid namespace */
	pid_t pid;	  /* of its process, if it is known, else tid */
	int known;	  /* what /proc says was read */
	u32 *many;	  /* all its groups, malloced */
};

/* Start anew for a request of this thread. */
void requester_init(struct requester *r, uid_t uid, gid_t gid, pid_t tid);
/* Give its memory back. */
void requester_deinit(struct requester *r);

/* 1 if it has one of these capabilities (CRED_*). */
int requester_capable(struct requester *r, u32 caps);

#endif
