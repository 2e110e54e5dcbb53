// SPDX-License-Identifier: MIT
/*
 * Calls on a queue's descriptor that have a meaning for a regular file and
 * another one, or none, for the FIFO that it is here; by number and by name.
 */
#ifndef IPCLIFT_ENTRY_FILE_MQCALL_H
#define IPCLIFT_ENTRY_FILE_MQCALL_H

#include "entry/file/fd.h"

/* Neither a result nor an error: the kernel's own answer is right. */
#define MQCALL_PASS (-0x7fffffffL)

/*
 * The call if it is on a queue's descriptor (fd_used is set), -errno; or
 * MQCALL_PASS.
 */
long mqcall(long nr, long a, long b, long c, long d, long e, long f);

#endif
