// SPDX-License-Identifier: MIT
/*
 * The names of an open directory, as they were at one moment, for readdir.
 *
 * The place of an entry in it is a number that the kernel hands back to go on
 * there, and that a program may make up by lseek: any is taken, and those
 * beyond the end have no entry.
 */
#ifndef IPCLIFT_FUSE_ENTRIES_H
#define IPCLIFT_FUSE_ENTRIES_H

#include "tree.h"

/* Zeroed: empty. */
struct entries {
	struct text packed; /* struct entry */
	struct text starts; /* size_t: where each begins in packed */
};

struct entry {
	u64 ino;
	u32 is_dir;
	char name[]; /* zero-terminated, padded to 8 */
};

/* "." and ".." and what is in dir now, instead of what was in e. 0, or -errno
 * of node_list. */
int entries_make(struct entries *e, struct caller *c, const struct node *dir);
/* The entry with this number, from 0; NULL if there is none. */
const struct entry *entries_at(const struct entries *e, u64 number);
void entries_deinit(struct entries *e);

#endif
