// SPDX-License-Identifier: MIT
/*
 * What the host does to its attachments by munmap, mmap and mprotect: nattch
 * counts the pieces (KERNEL-SEMANTICS §6.4).
 */
#ifndef IPCLIFT_IPC_SHMHOST_H
#define IPCLIFT_IPC_SHMHOST_H

#include "ipc/shmmap.h"

/* 1 if [addr, addr+len) may concern an attachment or a home mapping: a few
 * compares, no lock. */
static inline int shm_host_concerns(
	const struct shm_process *p, u64 addr, u64 len)
{
	return (p->n_used && addr < p->high_addr && addr + len > p->low) ||
	       shm_in_home(p, addr, len);
}

/* The dead first (shm_order) for what is attached in a range that is about to
 * change. No lock held. */
void shm_host_order(struct caller *c, u64 addr, u64 len);
/* A range was unmapped or replaced (SHM_CUT_GONE) or got a protection. Own
 * task's lock held. */
void shm_host_changed_locked(struct caller *c, u64 addr, u64 len, int prot);
/* mprotect(2) of a range that concerns us: what the host has unmapped of a home
 * is not there for it. */
long shm_host_protect(struct caller *c, u64 addr, u64 len, int prot);
/* A mapping of the host's own now lies at a range. */
void shm_host_mapped(struct caller *c, u64 addr, u64 len);
/* munmap(2) of a range that concerns us: home mappings stay reserved. */
long shm_host_unmap(struct caller *c, u64 addr, u64 len);

#endif
