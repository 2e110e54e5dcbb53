// SPDX-License-Identifier: MIT
/*
 * The files of mqueue/: what open(2), creat, mknod, poll, chmod, truncate and
 * their like do to a POSIX queue, as in the kernel's mqueue file system
 * (doc/kernel-semantics.md §9.1).
 *
 * Who has a file of a queue open has the queue open: the mount opens it too
 * (its FIFO, registry's mqueue.h), so that an unlinked queue stays as long as
 * somebody reads its file, and poll has something to wait on. All rights are
 * the requester's. The errors are -errno of the mqueue functions.
 */
#ifndef IPCLIFT_FUSE_QUEUE_H
#define IPCLIFT_FUSE_QUEUE_H

#include <sys/stat.h>

#include "mq/mqueue.h"
#include "tree.h"

struct fuse_pollhandle;

/* Open the queue of this node: *ret is to be given to queue_close. flags as of
 * open(2); -ENOENT if it has no name any more. */
int queue_open(
	struct caller *c, const struct node *n, int flags, struct mq_desc *ret);
/* Make it with the default attributes, or open it if it is there and flags have
 * no O_EXCL. mode: the umask was applied. */
int queue_create(struct caller *c, const char *name, int flags, u32 mode,
	struct node *ret_node, struct mq_desc *ret);
/* c NULL: the registry is gone. */
void queue_close(struct caller *c, struct mq_desc *d);

/* chmod, chown, utimensat, truncate: FUSE_SET_ATTR_* in to_set. open: by a
 * descriptor that may write. */
int queue_set(struct caller *c, const struct node *n, const struct stat *attr,
	int to_set, int open);

/*
 * The events of poll(2) that are there. With a handle, whoever waits is told of
 * every change from now on, until queue_unpoll of the same key; the handle is
 * ours then. One thread of the mount waits for all. POLLERR if it cannot.
 */
u32 queue_poll(struct caller *c, const struct mq_desc *d, void *key,
	struct fuse_pollhandle *handle);
void queue_unpoll(void *key);

#endif
