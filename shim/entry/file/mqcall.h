// SPDX-License-Identifier: MIT
/*
 * Calls on a queue's descriptor, by number and by name, that mean one thing for
 * the regular file it is in the kernel and another, or nothing, for the FIFO it
 * is here.
 */
#ifndef IPCLIFT_ENTRY_FILE_MQCALL_H
#define IPCLIFT_ENTRY_FILE_MQCALL_H

#include "entry/file/fd.h"

/*
 * The call if it is on a queue's descriptor (fd_used is set), -errno; or
 * FD_PASS.
 */
long mqcall(long nr, long a, long b, long c, long d, long e, long f);

/* fcntl on a queue's descriptor: -errno. */
long entry_fcntl(int fd, int cmd, long arg);

#endif
