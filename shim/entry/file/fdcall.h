// SPDX-License-Identifier: MIT
/*
 * The calls on a descriptor that both a queue and a file of procfs.h answer,
 * each in its own way.
 */
#ifndef IPCLIFT_ENTRY_FILE_FDCALL_H
#define IPCLIFT_ENTRY_FILE_FDCALL_H

#include "entry/file/fd.h"

/* The call by number, if it is on a descriptor of such a file or of a queue: a
 * result, or -errno; else FD_PASS. */
long fdcall_served(long nr, long a, long b, long c, long d, long e, long f);
static inline long fdcall(
	long nr, long a, long b, long c, long d, long e, long f)
{
	return unlikely(fd_used || fd_is_proc((int)a))
		       ? fdcall_served(nr, a, b, c, d, e, f)
		       : FD_PASS;
}

#endif
