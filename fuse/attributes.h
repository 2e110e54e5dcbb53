// SPDX-License-Identifier: MIT
/*
 * chmod, chown, utimensat and truncate of what is in the mount.
 *
 * Only queues have a mode, an owner and times that can be set. Of all else:
 *   mode, owner  the owner may set them to what they are; any other is -EPERM. In
 *                sys/ both are -EPERM for all, as in /proc/sys
 *   times        who may set them gets 0; they stay as they are, as in procfs
 *   size         who may write gets 0; nothing changes
 */
#ifndef IPCLIFT_FUSE_ATTRIBUTES_H
#define IPCLIFT_FUSE_ATTRIBUTES_H

#include "tree.h"

/* FUSE_SET_ATTR_* in to_set. open: by a descriptor that may write. 0, -EPERM,
 * -EACCES, -ENOENT, or what queue_set returns. */
int attributes_set(struct caller *c, struct requester *who,
	const struct node *n, const struct stat *attr, int to_set, int open);

#endif
