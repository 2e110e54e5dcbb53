// SPDX-License-Identifier: MIT
/*
 * The last N ids, each as a hash of 16 bytes; in memory, or in a file that is
 * mapped, so that a process that is killed loses none.
 */
#ifndef IPCLIFT_TOOL_BRIDGE_IDSET_H
#define IPCLIFT_TOOL_BRIDGE_IDSET_H

#include <stddef.h>
#include <stdint.h>

struct idset_id {
	uint64_t v[2];
};

struct idset {
	uint32_t n;	/* room for so many; 0: it keeps none */
	uint64_t *next; /* how many were added; in the file, if there is one */
	struct idset_id *ring; /* n of them */
	uint32_t *index;       /* hash table of places in ring + 1 */
	uint32_t mask;
};

/* file NULL: in memory. 0, or EXIT_FAILED after a message. What a file has of
 * more than n is cut to the last n. */
int idset_open(struct idset *s, uint32_t n, const char *file);
int idset_has(const struct idset *s, const char *id, size_t len);
void idset_add(struct idset *s, const char *id, size_t len);

#endif
