// SPDX-License-Identifier: MIT
/*
 * What the application does to its attachments by munmap, mmap, mprotect,
 * madvise, mlock and mremap: nattch counts the pieces (doc/kernel-semantics.md
 * §6.4).
 */
#ifndef IPCLIFT_SHM_SHMAPP_H
#define IPCLIFT_SHM_SHMAPP_H

#include "shm/shmmap.h"

/* 1 if [addr, addr+len) may concern an attachment or a home mapping: a few
 * compares, no lock. */
static inline int shm_app_concerns(
	const struct shm_process *p, u64 addr, u64 len)
{
	return (p->n_used && addr < p->high_addr && addr + len > p->low) ||
	       shm_in_home(p, addr, len);
}

/*
 * Around a change of a range: a fork child has all of it or nothing. Only for
 * what is attached there are forks waited for: the application may hold locks
 * that its own handlers of fork want (an allocator's). 0, and nothing to end,
 * if the process is not served.
 */
int shm_app_begin(struct caller *c, u64 addr, u64 len);
void shm_app_end(struct caller *c);
/* Pages of a range were changed. Own task's lock held. */
void shm_app_changed_locked(
	struct caller *c, u64 addr, u64 len, struct shm_change change);
/* mprotect(2) of a range that concerns us: what the application has unmapped of
 * a home is not there for it. */
long shm_app_protect(struct caller *c, u64 addr, u64 len, int prot);
/* Another call (number nr, arguments addr, len, arg) that changes attributes of
 * a range that concerns us: madvise(2), mlock(2) and its kin. */
long shm_app_advise(struct caller *c, long nr, u64 addr, u64 len, u64 arg,
	struct shm_change change);
/* What madvise(2) with this advice changes; nothing, if it leaves mappings as
 * they are. */
struct shm_change shm_app_advice(int advice);
/* mmap(2) with MAP_FIXED of a range that concerns us. */
struct shm_app_mmap {
	int prot, flags, fd;
	s64 off;
};
long shm_app_map(
	struct caller *c, u64 addr, u64 len, const struct shm_app_mmap *how);
/* A mapping of the application's own now lies at a range. Between begin and end.
 */
void shm_app_mapped_locked(struct caller *c, u64 addr, u64 len);
/* mmap(2) with MAP_FIXED_NOREPLACE, which the kernel has refused: where a home
 * is free for the application it is mapped after all. The address or -errno. */
long shm_app_map_free(
	struct caller *c, u64 addr, u64 len, const struct shm_app_mmap *how);
/* 1 if the range lies in one home mapping and nothing in it belongs to the
 * application: neither an attachment that is still there, nor its own. Own
 * task's lock held. */
int shm_app_is_free(struct caller *c, u64 addr, u64 len);
/* munmap(2) of a range that concerns us: home mappings stay reserved; and
 * between begin and end, of pages. */
long shm_app_unmap(struct caller *c, u64 addr, u64 len);
long shm_app_unmap_locked(struct caller *c, u64 addr, u64 len);

/* shmlock.c: mlockall(2) with MCL_CURRENT, flags valid: 0 or -errno. */
long shm_app_lock_all(struct caller *c, int flags);

/* shmremap.c */
/* mremap(2): the new address or -errno. */
long shm_app_remap(
	struct caller *c, u64 old, u64 old_len, u64 len, int flags, u64 to);
/* remap_file_pages(2) of a range that concerns us. */
long shm_app_remap_pages(
	struct caller *c, u64 addr, u64 len, u64 prot, u64 pgoff, u64 flags);

#endif
