// SPDX-License-Identifier: MIT
/*
 * Setting attributes; see attributes.h.
 */
#define FUSE_USE_VERSION 312
#include "attributes.h"

#include <errno.h>
#include <fuse_lowlevel.h>

#include "queue.h"
#include "source.h"

static int is_owner(struct requester *who, const struct stat *now)
{
	return who->cred.euid == now->st_uid ||
	       who->cred.euid == source_uid() ||
	       requester_capable(who, CRED_FOWNER);
}

static int is_as_wanted(
	const struct stat *now, const struct stat *wanted, int to_set)
{
	if ((to_set & FUSE_SET_ATTR_MODE) &&
		(wanted->st_mode ^ now->st_mode) & 07777)
		return 0;
	if ((to_set & FUSE_SET_ATTR_UID) && wanted->st_uid != now->st_uid)
		return 0;
	return !(to_set & FUSE_SET_ATTR_GID) || wanted->st_gid == now->st_gid;
}

/* Whoever may write may set both times to now. */
static int may_set_times(struct caller *c, struct requester *who,
	const struct node *n, const struct stat *now, int to_set)
{
	const int touch = FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW;

	if (is_owner(who, now))
		return 0;
	return (to_set & touch) == touch ? node_access(c, who, n, PERM_W)
					 : -EPERM;
}

int attributes_set(struct caller *c, struct requester *who,
	const struct node *n, const struct stat *attr, int to_set, int open)
{
	const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME;
	const int whose =
		FUSE_SET_ATTR_MODE | FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID;
	struct stat now;
	int err;

	if (n->kind == NODE_QUEUE)
		return queue_set(c, n, attr, to_set, open);
	err = node_stat(c, n, &now);
	if (!err && (to_set & whose) &&
		(node_in_sys(n) || !is_owner(who, &now) ||
			!is_as_wanted(&now, attr, to_set)))
		err = -EPERM;
	if (!err && (to_set & FUSE_SET_ATTR_SIZE) && !open)
		err = node_access(c, who, n, PERM_W);
	else if (!err && (to_set & times) && !(to_set & FUSE_SET_ATTR_SIZE))
		err = may_set_times(c, who, n, &now, to_set);
	return err;
}
