// SPDX-License-Identifier: MIT
/*
 * Paths that lead to a queue by one of the process's own descriptors,
 * /proc/self/fd/N and the like. The kernel, which is asked first, opens the
 * FIFO behind it.
 */
#ifndef IPCLIFT_ENTRY_FILE_MQPATH_H
#define IPCLIFT_ENTRY_FILE_MQPATH_H

#include "entry/file/fd.h"

/* open(2) of path, which the kernel has answered with fd (or -errno): if it is
 * that of a queue by way of /proc/self/fd, what the program gets instead. */
long mqpath_opened(const char *path, int flags, long fd);
/* The same by libc's convention, for a call before which errno was `before`. */
int mqpath_opened_as(const char *path, int flags, int fd, int before);
/* 1 if the path is of that kind; and what the program gets, or -errno. */
int mqpath_names_queue(const char *path);
long mqpath_open(const char *path, int flags);
/* stat(2), and statx(2), which follow links, have answered with *to: what the
 * program gets. The kernel has read the path. */
struct stat;
struct statx;
void mqpath_stat(const char *path, struct stat *to);
void mqpath_statx(const char *path, struct statx *to);
/* 1 if a path may lead to a descriptor; the caller's path can be read. */
static inline int mqpath_maybe(const char *path)
{
	return unlikely(fd_used) && path[0] == '/' &&
	       (path[1] == 'p' || path[1] == 'd');
}
/*
 * readlink(2) of path, which nobody has looked at: what the program gets if it
 * is of that kind, the bytes of buf behind the name as they were; FD_PASS if it
 * is not, or len is refused: the kernel has the answer. Lock: none.
 */
long mqpath_readlink(const char *path, char *buf, size_t len);

#endif
