// SPDX-License-Identifier: MIT
/*
 * Calls on a queue's descriptor that have a meaning for a regular file and
 * another one, or none, for the FIFO that it is here; by number and by name.
 */
#ifndef IPCLIFT_ENTRY_MQCALL_H
#define IPCLIFT_ENTRY_MQCALL_H

#include "entry/fd.h"

/* Neither a result nor an error: the kernel's own answer is right. */
#define MQCALL_PASS (-0x7fffffffL)

/*
 * The call if it is on a queue's descriptor (fd_used is set), -errno; or
 * MQCALL_PASS.
 */
long mqcall(long nr, long a, long b, long c, long d, long e, long f);

/* open(2) of path, which the kernel has answered with fd (or -errno): if it is
 * that of a queue by way of /proc/self/fd, what the program gets instead. */
long mqcall_opened(const char *path, int flags, long fd);
/* The same by libc's convention, for a call before which errno was `before`. */
int mqcall_opened_as(const char *path, int flags, int fd, int before);
/* 1 if the path is of that kind; and what the program gets, or -errno. */
int mqcall_names_queue(const char *path);
long mqcall_open(const char *path, int flags);
/* 1 if a path may lead to a descriptor; the caller's path can be read. */
static inline int mqcall_maybe(const char *path)
{
	return unlikely(fd_used) && path[0] == '/' &&
	       (path[1] == 'p' || path[1] == 'd');
}

#endif
