// SPDX-License-Identifier: MIT
/* What statfs(2) and fstatfs(2) fill in on x86-64, and types of file systems
 * (linux/magic.h). */
#ifndef IPCLIFT_BASE_STATFS_H
#define IPCLIFT_BASE_STATFS_H

#include "base/types.h"

struct sys_statfs {
	u64 type, block_size, n_blocks, n_free, n_available, n_files, n_ffree;
	u64 rest[8];
};

#define SYS_TMPFS 0x01021994
#define SYS_BTRFS 0x9123683e
#define SYS_PIDFS 0x50494446
#define SYS_PROCFS 0x9fa0

#endif
