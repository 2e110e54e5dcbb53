// SPDX-License-Identifier: MIT
/*
 * Which parts of a registry's file have pages: for the command and the mount,
 * who keep a descriptor of it. Whatever a damaged file says is in use, a look
 * at a hole there would take a page of the file system, charged to who looks,
 * and a few MiB can name GiB of them. By lseek(2), which takes what is swapped
 * out or written back for there, as mincore(2) does not.
 *
 * An application has none (region.holes is NULL) and asks nothing: what is in
 * use of its registry is there.
 */
#ifndef IPCLIFT_REGISTRY_HOLES_H
#define IPCLIFT_REGISTRY_HOLES_H

#include "base/types.h"

/* One thread's. What is there stays so, but for pages of segments and of the
 * heap that are given back; so the last extent is remembered, holes are not. */
struct holes {
	int fd;
	u64 from, to; /* 0, 0 at first */
};

/* The first offset >= off that is there, or the end of 64 bits; off itself
 * where the file system does not tell. A system call or two where off is not in
 * the extent that was looked at last. */
u64 holes_next(struct holes *h, u64 off);

/* Are so many bytes there, all of them? Of a size of 0, the place itself. Asks
 * anew, since pages of the heap come and go. A system call for each page of what is
 * small. */
int holes_have(const struct holes *h, u64 off, u64 size);

#endif
