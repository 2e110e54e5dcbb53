// SPDX-License-Identifier: MIT
/*
 * The registries of a process that has come into other IPC namespaces
 * (unshare, setns, clone; registry/ipcns.h says which registry is whose). One
 * that has not has one world, `first`, and pays nothing for this.
 *
 * A namespace is a thread's: each call of a thread whose caller is stale asks
 * which it is in, once the process has moved (world_moved). What the process
 * has of another world stays: its mappings, its task there, with what is
 * attached, and its open queues. shmdt and the calls on such a queue go there
 * for one call (process_enter_other) and make the caller stale.
 *
 * What struct caller has of a world is wiped when its thread goes to another. The
 * thread's record there is kept for the last thread that left (tid, thread, task,
 * generation: stored and read by it alone): one that comes back claims no second.
 */
#ifndef IPCLIFT_ENTRY_WORLD_H
#define IPCLIFT_ENTRY_WORLD_H

#include "shm/shmmap.h"

/* At once in a process; arbitrary. More is ENOSPC. */
#define WORLDS 8u

struct world {
	struct shm_process shm; /* first: world_of */
	struct region region;
	u64 ns;		 /* of PATH.ns/N; 0: PATH */
	u32 image_found; /* by its task: caller.image_found */
	u32 inherited;	 /* a fork child has not looked at what it got */
	u32 tid, thread, task, generation;
};

/* caller.shm names the world. */
static inline struct world *world_of(struct shm_process *shm)
{
	return (struct world *)(void *)shm;
}

/* 1 once a thread of this process, or an ancestor since exec, has moved. */
extern int world_moved __attribute__((visibility("hidden")));

#define WORLD_PATH_CAP 1024u

/* PATH; "" as long as nobody moves. Set once, before that: as it is mapped
 * (has_number: as PATH.ns/N), so that it is absolute, or as it would be. */
const char *world_base(void);
void world_set_base(const char *path, int has_number);
/* region_map of the calling thread's registry of PATH into w. */
int world_map(struct world *w, const char *path,
	const struct region_options *options, char *why, size_t cap);
/* The world of the calling thread's namespace, perhaps not mapped yet; NULL if
 * there are too many. init lock held. */
struct world *world_here(struct world *first);
/* Those that are mapped, one after the other; NULL at the end. */
struct world *world_each(struct world *first, u32 *at);
/* A fork child has them all. */
void world_inherit(struct world *first);

/*
 * Before and after the caller becomes one of another world, or anew of the
 * same: what was is put away, a record of before is taken up. generation: the
 * process's; 0: keep nothing (a vfork child). init lock held.
 */
void world_leave(struct caller *c, u32 generation);
void world_return(struct caller *c, struct world *w);

/*
 * Supplied by entry/namespace.c. Around a call that may take this thread, or
 * the child that it makes, into another IPC namespace. before: what
 * world_before returned. world_made: into one that it has just made; called in
 * the child where that is a child's.
 */
u64 world_before(int may_move);
void world_made(void);

#endif
