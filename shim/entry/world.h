// SPDX-License-Identifier: MIT
/*
 * The registries ("worlds") of a process that has entered other IPC namespaces
 * (unshare, setns, clone; registry/ipcns.h says which registry is whose). A
 * process that has not has one world, `first`, at no cost.
 *
 * A namespace belongs to a thread: once the process has moved (world_moved),
 * each call of a thread whose caller is stale checks which it is in. What the
 * process has in another world stays: its mappings, its task with attachments,
 * and its open queues. shmdt and calls on such a queue switch to that world for
 * one call (process_enter_other) and make the caller stale.
 *
 * What struct caller has of a world is wiped when its thread switches. The
 * thread's record in the world is kept for the last thread that left (tid,
 * thread, task, generation: stored and read by it alone): if it comes back it
 * claims no second.
 */
#ifndef IPCLIFT_ENTRY_WORLD_H
#define IPCLIFT_ENTRY_WORLD_H

#include "shm/shmmap.h"

/* Most worlds of a process; more is ENOSPC. Arbitrary. */
#define WORLDS 8u

struct world {
	struct shm_process shm; /* first: world_of */
	struct region region;
	u64 ns;	    /* of PATH.ns/N; 0: PATH */
	u64 number; /* of the namespace in which it was mapped; 0: unknown */
	u32 image_found; /* by its task: caller.image_found */
	u32 inherited;	 /* by a fork child, and not yet adopted */
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

/* PATH; "" until a thread moves. Set once, before that, from the path that is
 * mapped (has_number: PATH.ns/N), so that it is absolute, or that would be. */
const char *world_base(void);
void world_set_base(const char *path, int has_number);
/* region_map of the calling thread's registry of PATH into w. */
int world_map(struct world *w, const char *path,
	const struct region_options *options, char *why, size_t cap);
/* The world of the calling thread's namespace, which may not be mapped yet;
 * NULL if there are too many (-ENOSPC), or it cannot be told (-EACCES): *ret_err.
 * Init lock held. */
struct world *world_here(struct world *first, int *ret_err);
/* Those that are mapped, one after the other; NULL at the end. */
struct world *world_each(struct world *first, u32 *at);
/* A fork child has them all. */
void world_inherit(struct world *first);

/*
 * Before and after the caller switches to another world, or is refreshed in the
 * same: the thread's record in the old one is kept, one that was kept in the
 * new is used again. generation: the process's; 0: keep none (a vfork child).
 * Init lock held.
 */
void world_leave(struct caller *c, u32 generation);
void world_return(struct caller *c, struct world *w);

/*
 * Supplied by entry/namespace.c. Around a call that may move this thread, or
 * the child that it makes, into another IPC namespace. before: what
 * world_before returned. world_made: into one that it has just made; called in
 * the child where that is a child's.
 */
u64 world_before(int may_move);
void world_made(void);

#endif
