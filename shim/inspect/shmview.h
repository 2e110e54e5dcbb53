// SPDX-License-Identifier: MIT
/*
 * The attachments and the bytes of a segment, for the command and the mount.
 */
#ifndef IPCLIFT_INSPECT_SHMVIEW_H
#define IPCLIFT_INSPECT_SHMVIEW_H

#include "shm/shm.h"

/* One attachment of one process. */
struct shm_attachment {
	u32 pid;
	u32 count; /* mapping fragments: what it counts for in nattch */
	u64 addr;  /* where it began, in that process */
	u32 read_only;
	u32 pad;
	/* When it was attached, or inherited by fork; realtime seconds. */
	s64 since;
};

/* At most n into ret; returns the number there are. Those of exited tasks are
 * dropped first. Takes the segment's lock for one pass. -EINVAL, -EACCES,
 * -EIDRM, -ENOMEM. */
s32 shm_attachments(
	struct caller *c, s32 id, struct shm_attachment *ret, u32 n);

/*
 * Copy bytes [off, off + len) of a segment out of it or into it (write),
 * through `fd`, an open descriptor of the registry file that the caller
 * provides: this process need not have it attached. The bytes copied, fewer at
 * the segment's end; 0 beyond it. Bytes never written read as zeros.
 * Other writers are not kept out, as with any attachment; removal is.
 * -EINVAL, -EACCES (PERM_R, PERM_W), -EIDRM, -ENOMEM, errors of pread(2).
 */
s64 shm_copy(struct caller *c, s32 id, int fd, u64 off, void *buf, u64 len,
	int write);
/* The first byte from `off` on that is in no hole of the file, or the segment's
 * size; fd and errors as above. */
s64 shm_next_data(struct caller *c, s32 id, int fd, u64 off);

#endif
