// SPDX-License-Identifier: MIT
/*
 * Reading and writing the files below /proc/sys that control System V IPC and
 * POSIX queues (sysctltext.h). Used by the mount and by the procfs paths under
 * the shim.
 */
#ifndef IPCLIFT_OBJECT_SYSCTL_H
#define IPCLIFT_OBJECT_SYSCTL_H

#include "object/sysctltext.h"

/* Both first apply what others have written to control files (controlfile.h),
 * so no lock may be held. */

/*
 * pread(2): min(count, length) bytes at offset 0, none beyond. -ENOMEM for 4
 * MiB and more. buf is the caller's own memory.
 */
s64 sysctl_read(struct caller *c, const struct sysctl_file *f, s64 offset,
	char *buf, u64 count);

/*
 * pwrite(2): the bytes consumed. -EPERM (it may not, or no longer), -EINVAL,
 * -ERANGE (the fourth value of kernel/sem), -ENOMEM. Each value is one store,
 * from left to right; those before a fault stay stored. text is the caller's
 * own memory.
 */
s64 sysctl_write(struct caller *c, const struct sysctl_file *f, s64 offset,
	const char *text, u64 count);

#endif
