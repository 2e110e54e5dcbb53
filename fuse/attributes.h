// SPDX-License-Identifier: MIT
/*
 * chmod, chown, utimensat and truncate of what is in the mount.
 *
 * Only queues have a mode, an owner and times that can be set. All else keeps
 * what it has, and asking for that is no error; its times, which mean little in
 * procfs too, whoever may set them sets without success. What is in sys/
 * refuses chmod and chown to all, as /proc/sys does. A size may be given to all
 * that may be written, and changes nothing.
 */
#ifndef IPCLIFT_FUSE_ATTRIBUTES_H
#define IPCLIFT_FUSE_ATTRIBUTES_H

#include "tree.h"

/* FUSE_SET_ATTR_* in to_set. open: by a descriptor that may write. 0, -EPERM,
 * -EACCES, -ENOENT, or what queue_set returns. */
int attributes_set(struct caller *c, struct requester *who,
	const struct node *n, const struct stat *attr, int to_set, int open);

#endif
