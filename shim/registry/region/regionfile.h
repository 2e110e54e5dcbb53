// SPDX-License-Identifier: MIT
/* The file of a registry that is to be made. fd: open for reading and writing;
 * all but regionfile_no_space with the file locked. */
#ifndef IPCLIFT_REGISTRY_REGIONFILE_H
#define IPCLIFT_REGISTRY_REGIONFILE_H

#include "base/types.h"

/*
 * What a creator that died leaves of a file: a size that is one of ours, a
 * header that is empty or as far as write_header came (its version is stored
 * first), the first pages empty, and nothing else. A file that is anything
 * else, a disk image, say, whose first bytes are zeros, is never written.
 */
int regionfile_unfinished(long fd, u64 size);

/* 1 if its file system has less space than a registry needs. */
int regionfile_no_space(long fd);

/*
 * An empty file's size: the larger the better, as far as the file system and
 * RLIMIT_FSIZE allow (beyond that ftruncate would raise SIGXFSZ); without a
 * window no segment can be made, all else works. 0 or -errno.
 */
int regionfile_grow(long fd);

/* Space for the header and the first bucket and slot of each facility, told by
 * an error instead of a SIGBUS: 1 if there is none. All other pages are asked
 * for when they are needed. */
int regionfile_first_pages(long fd);
/* For a new registry's heap.keep. */
u64 regionfile_heap_keep(long fd);
/* For header.on_disk. */
int regionfile_on_disk(long fd);

#endif
