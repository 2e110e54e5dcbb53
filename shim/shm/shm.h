// SPDX-License-Identifier: MIT
/*
 * System V shared memory: doc/kernel-semantics.md §6. All functions return an
 * id, a count or 0, or -errno.
 *
 * shm.c        finding, creating, removing, shmctl's commands
 * shmat.c      attaching and detaching
 * shmattach.c  who has what attached, and exited tasks
 * shmfork.c    what a fork child inherits; shmchild.c what it finds half done;
 *              shmunseen.c children that were not seen to be made
 * shmmap.c     the mappings of one process; shmtable.c its list of them
 * shmapp.c     munmap, mprotect and madvise of attachments by the application;
 *              shmlock.c mlockall, shmremap.c mremap and remap_file_pages
 * shmrun.c     the pages
 */
#ifndef IPCLIFT_SHM_SHM_H
#define IPCLIFT_SHM_SHM_H

#include "object/object.h"
#include "registry/caller.h"

/* shmget(2): the id. -ENOENT -EEXIST -EINVAL -EACCES -ENOSPC -ENOMEM -EPERM. */
int shm_get(struct caller *c, s32 key, u64 size, s32 flg);
/* shmat(2), errors in the order of §6.2: -EINVAL -EACCES -EIDRM -ENOMEM -EPERM.
 */
int shm_at(struct caller *c, s32 id, u64 addr, s32 flg, u64 *ret_addr);
/* shmdt(2): 0 or -EINVAL. */
int shm_dt(struct caller *c, u64 addr);

struct shm_stat {
	OBJECT_STAT;
	u64 size;
	s64 atime, dtime;
	u64 nattch;
	u32 cpid, lpid;
};
struct shm_totals {
	u64 max, mni, all;	   /* IPC_INFO */
	u64 used, pages, resident; /* SHM_INFO */
};

/* The commands of shmctl(2); id < 0 is -EINVAL in each. No lock may be held.
 * IPC_STAT and its kin: 0, or the id if it was named by index; -EINVAL, -EACCES,
 * -EIDRM, -ENOMEM. */
int shm_stat(struct caller *c, s32 id, enum object_by by, struct shm_stat *ret);
/* IPC_SET, IPC_RMID: 0, -EINVAL, -EPERM, -EIDRM, -ENOMEM. Of a segment that is
 * attached the last detach frees the pages. */
int shm_set_perm(struct caller *c, s32 id, u32 uid, u32 gid, u32 mode);
int shm_remove(struct caller *c, s32 id);
/* SHM_LOCK (1), SHM_UNLOCK (0): the mode bit, and who is charged; no page is
 * locked in memory. 0, -EINVAL, -EPERM, -ENOMEM, -EIDRM. */
int shm_set_locked(struct caller *c, s32 id, int lock);
/* Pages in memory of the segment that stands at idx, which must be in use; 0
 * before its first attachment. Some system calls. */
u64 shm_resident(struct caller *c, u32 idx);
/* totals: SHM_INFO, which counts the resident pages. Returns the highest index
 * in use. */
int shm_info(struct caller *c, int totals, struct shm_totals *ret);

#endif
