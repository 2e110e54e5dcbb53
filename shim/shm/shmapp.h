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

/* Exited tasks first (shm_order) for what is attached in a range that is about
 * to change. No lock held. */
void shm_app_order(struct caller *c, u64 addr, u64 len);
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
/* A mapping of the application's own now lies at a range. */
void shm_app_mapped(struct caller *c, u64 addr, u64 len);
/* munmap(2) of a range that concerns us: home mappings stay reserved. */
long shm_app_unmap(struct caller *c, u64 addr, u64 len);

/* shmlock.c: mlockall(2) with MCL_CURRENT, flags valid: 0 or -errno. */
long shm_app_lock_all(struct caller *c, int flags);

/* shmremap.c */
/* mremap(2): the new address or -errno. An attachment cannot grow: -ENOMEM. */
long shm_app_remap(
	struct caller *c, u64 old, u64 old_len, u64 len, int flags, u64 to);
/* remap_file_pages(2) of a range that concerns us. */
long shm_app_remap_pages(
	struct caller *c, u64 addr, u64 len, u64 prot, u64 pgoff, u64 flags);

#endif
