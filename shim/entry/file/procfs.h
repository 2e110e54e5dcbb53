// SPDX-License-Identifier: MIT
/*
 * The kernel's files about IPC, answered from the registry: what paths they
 * are, and opening them by the raw convention (-errno). The calls on their
 * descriptors are in procfile.h.
 */
#ifndef IPCLIFT_ENTRY_FILE_PROCFS_H
#define IPCLIFT_ENTRY_FILE_PROCFS_H

#include <errno.h>
#include "entry/file/mqpath.h"

/* 1 in a process that has opened one of the files; what it inherits over fork
 * counts. */
extern int procfs_used __attribute__((visibility("hidden")));

/*
 * The kernel was asked to open path and has answered fd (or -errno): the
 * descriptor or -errno that the program gets instead if path is one of ours.
 * path is the caller's. For any other one comparison.
 */
long procfs_open_slow(const char *path, int flags, long fd);
/* 0 if the kernel may not have looked at the path, so that we must not. */
static inline int procfs_readable(long ret)
{
	return ret != -EFAULT && ret != -EINVAL;
}
static inline int procfs_prefix(const char *path)
{
	return path[0] == '/' && path[1] == 'p' && path[2] == 'r' &&
	       path[3] == 'o' && path[4] == 'c' && path[5] == '/' &&
	       path[6] == 's' && path[7] == 'y' && path[8] == 's';
}
/* 1 if the last component is a name that one of ours has, too, or a number of
 * a descriptor, which the path leads to. */
int procfs_named(const char *path);
static inline int procfs_maybe(const char *path)
{
	return procfs_prefix(path) || procfs_named(path);
}
static inline long procfs_open(const char *path, int flags, long fd)
{
	if (unlikely(!procfs_readable(fd)))
		return fd;
	if (mqpath_maybe(path))
		fd = mqpath_opened(path, flags, fd);
	if (likely(!procfs_maybe(path)))
		return fd;
	return procfs_open_slow(path, flags, fd);
}
/* The same by libc's convention, for a call before which errno was `before`. */
int procfs_opened_slow(const char *path, int flags, int fd, int before);
static inline int procfs_opened(const char *path, int flags, int fd, int before)
{
	if (unlikely(fd < 0 && !procfs_readable(-*__errno_location())))
		return fd;
	if (mqpath_maybe(path))
		fd = mqpath_opened_as(path, flags, fd, before);
	return likely(!procfs_maybe(path))
		       ? fd
		       : procfs_opened_slow(path, flags, fd, before);
}
/* The number of the file that a path names, which the kernel has opened as fd
 * (or < 0), or -1; and opening that. */
int procfs_find(const char *path, int fd);
long procfs_open_file(int which, int flags);
/* The same for access(2): 0 or -errno. */
long procfs_access(const char *path, int mode, long ret);

#endif
