// SPDX-License-Identifier: MIT
/*
 * The tree of the mount: what a FUSE inode number means, and what it looks
 * like in stat(2).
 *
 * An inode number says by itself what it names, so the mount keeps no table of
 * what the kernel knows, and none grows: what is fixed has a small number of
 * its own (the root is 1, as FUSE wants it), and what belongs to an object
 * carries facility, id and a part of the object's generation, which
 * tells it from a later object of the same id.
 */
#ifndef IPCLIFT_FUSE_TREE_H
#define IPCLIFT_FUSE_TREE_H

#include <sys/stat.h>

#include "content.h"
#include "requester.h"

struct sysctl_file;

enum node_kind {
	NODE_DIR,     /* a fixed directory of fixed things */
	NODE_SYSVIPC, /* sysvipc/sem, msg, shm */
	NODE_SYSCTL,  /* sys/kernel/..., sys/fs/mqueue/... */
	NODE_VIEW,    /* a text about the whole registry */
	NODE_LOCKS,   /* that may be written, too */
	NODE_OBJECTS, /* sem/: a directory an object */
	NODE_QUEUES,  /* mqueue/: a file a queue */
	NODE_OBJECT,  /* sem/ID/ */
	NODE_PART,    /* sem/ID/stat */
	NODE_DATA,    /* shm/ID/data */
	NODE_QUEUE,   /* mqueue/NAME */
};

struct node {
	u64 ino;
	enum node_kind kind;
	enum facility fac; /* of SYSVIPC and of what is an object's */
	const struct sysctl_file *sysctl; /* of SYSCTL */
	make_view *view;		  /* of VIEW and LOCKS */
	make_part *part;		  /* of PART */
	int fixed; /* it is always there; else an object's: */
	u32 mode;  /* of what is fixed */
	s32 id;	   /* of the object; of a queue, its slot's id */
	u32 gen;   /* low bits of its generation */
};

#define NODE_ROOT 1u

/* What an inode number names: 0, -ENOENT if it never was one. */
int node_decode(u64 ino, struct node *ret);
int node_is_dir(const struct node *n);
/* sys/ and what is below it: there, as in /proc/sys, no capability helps. */
int node_in_sys(const struct node *n);

/*
 * The slot of the object that a node belongs to, and its ident, if it is still
 * that object: else NULL.
 */
struct slot *node_slot(
	const struct caller *c, const struct node *n, u64 *ret_ident);

/* The file of the queue with this ident. */
int node_of_queue(u64 ident, struct node *ret);

/* The child of a directory by name: 0, -ENOENT, -ENOTDIR, -ENAMETOOLONG. */
int node_lookup(struct caller *c, const struct node *dir, const char *name,
	struct node *ret);

/* Fills everything in; 0, or -ENOENT when the object is gone. */
int node_stat(struct caller *c, const struct node *n, struct stat *ret);

/* May the requester open it so? want: PERM_R, PERM_W. 0, -EACCES, -ENOENT. */
int node_access(
	struct caller *c, struct requester *r, const struct node *n, u32 want);

/* Call fn with each entry of a directory, "." and ".." left out; stops at its
 * first result that is not 0. -ENOTDIR. One pass over what is in use; for
 * queues a lock each. */
typedef int node_list_fn(void *arg, const char *name, u64 ino, int is_dir);
int node_list(
	struct caller *c, const struct node *dir, node_list_fn *fn, void *arg);

#endif
