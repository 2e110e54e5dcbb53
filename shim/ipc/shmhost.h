// SPDX-License-Identifier: MIT
/*
 * What the host does to its attachments by munmap, mmap and mprotect: nattch
 * counts the pieces (KERNEL-SEMANTICS §6.4).
 */
#ifndef IPCLIFT_IPC_SHMHOST_H
#define IPCLIFT_IPC_SHMHOST_H

#include "ipc/shmmap.h"

enum shm_host_change {
	SHM_HOST_GONE,	/* unmapped or replaced */
	SHM_HOST_SPLIT, /* another protection */
};

/* 1 if [addr, addr+len) may concern an attachment or a home mapping: a few
 * compares, no lock. */
static inline int shm_host_concerns(
	const struct shm_process *p, u64 addr, u64 len)
{
	return (p->n_used && addr < p->high_addr && addr + len > p->low) ||
	       shm_in_home(p, addr, len);
}

/* Note the change of a range; own task's lock held. */
void shm_host_changed_locked(
	struct caller *c, u64 addr, u64 len, enum shm_host_change change);
/* The same after mprotect or a mapping over it by the host. */
void shm_host_changed(
	struct caller *c, u64 addr, u64 len, enum shm_host_change change);
/* A mapping of the host's own now lies at a range. */
void shm_host_mapped(struct caller *c, u64 addr, u64 len);
/* munmap(2) of a range that concerns us: home mappings stay reserved. */
long shm_host_unmap(struct caller *c, u64 addr, u64 len);

#endif
