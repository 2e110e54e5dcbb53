// SPDX-License-Identifier: MIT
/*
 * What a process has mapped of the registry's file, as the kernel tells it in
 * /proc/PID/maps: for its own user and root. Dear: some system calls, and the
 * kernel writes a line for every mapping of the process. For looks that nobody
 * waits for, and where nothing else tells (task_changed_image, check).
 */
#ifndef IPCLIFT_REGISTRY_MAPPED_H
#define IPCLIFT_REGISTRY_MAPPED_H

#include "registry/caller.h"

struct mapped_part {
	u64 addr, len;
	u64 off;  /* in the file */
	u32 prot; /* PROT_*: what the process may do there */
};

struct mapped {
	int fd;
	u32 at, n;    /* in buf */
	u64 dev, ino; /* of the registry's file, as maps has it */
	char buf[1024];
};

/* 0, or -errno where it may not be read or is not there. */
int mapped_open(struct mapped *m, const struct caller *c, u32 pid);
/* Of the next process, after mapped_open and mapped_close: half as dear. */
int mapped_reopen(struct mapped *m, u32 pid);
/* The next part, in the order of addresses: 1, or 0 at the end. */
int mapped_next(struct mapped *m, struct mapped_part *ret);
void mapped_close(struct mapped *m);

/* 1 if the process has anything of the file mapped, 0 if not, or -errno. */
int mapped_any(const struct caller *c, u32 pid);

#endif
