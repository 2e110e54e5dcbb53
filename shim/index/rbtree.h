// SPDX-License-Identifier: MIT
/*
 * A red-black tree in the region, with journaled links. Keys are types of
 * messages; each is in the tree once.
 *
 * A node is the first member of a struct in the heap, at a multiple of 64
 * bytes; a link is that offset divided by 64, in 32 bits, 0 = none, so that it
 * is valid in every mapping. The owner keeps the root (a u32, 0 = empty) and
 * the memory. Every link of a node in the tree is changed through the journal
 * of the running operation; links of a node outside it may hold anything.
 *
 * All functions need the lock of the object that the tree belongs to. Those
 * that change it are part of an operation and need journal capacity for
 * RBTREE_ENTRIES, also in a damaged tree: no path is followed further than a
 * tree can be high. Cost: O(log nodes); replace O(1).
 */
#ifndef IPCLIFT_INDEX_RBTREE_H
#define IPCLIFT_INDEX_RBTREE_H

#include "registry/damage.h"

_Static_assert(REGION_SIZE >> 6 <= 1u << 31, "links have 31 bits");

/*
 * 2 log2(n) levels at most, n < 2^29: an insertion recolours three nodes per
 * two levels and then rotates twice; a removal recolours one node per level,
 * rotates three times, and exchanges two nodes before.
 */
#define RBTREE_ENTRIES 128u

static inline void *rbtree_at(const struct caller *c, u32 link)
{
	return link_at(c, link);
}
static inline u32 rbtree_link(const struct caller *c, const void *node)
{
	return region_off(&c->region, node) >> 6;
}

/* The node with this key, or NULL. */
struct rbtree_node *rbtree_find(const struct caller *c, u32 root, s64 key);
/* The node with the lowest key; NULL if the tree is empty. */
struct rbtree_node *rbtree_first(const struct caller *c, u32 root);
/* The node with the lowest key above this one, or NULL. */
struct rbtree_node *rbtree_above(const struct caller *c, u32 root, s64 key);

/* Insert the node; node->key is set and not yet in the tree. */
void rbtree_insert(struct caller *c, u32 *root, struct rbtree_node *node);
void rbtree_remove(struct caller *c, u32 *root, struct rbtree_node *node);
/* Replace node by `successor`, which is not in a tree and gets its key. */
void rbtree_replace(struct caller *c, u32 *root, struct rbtree_node *node,
	struct rbtree_node *successor);

#endif
