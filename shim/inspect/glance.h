// SPDX-License-Identifier: MIT
/*
 * A glance at a registry in use, for commands that read it again and again:
 * objects, sleepers, processes, locks, events. Nothing is stored in the
 * registry, no lock is taken and no task enrolled, so it works on a read-only
 * mapping (region_map_glance), and costs the programs only the cache lines that
 * are read. An object's data may be of several moments, and what exited tasks
 * have left is not reaped first.
 *
 * Rates are differences of two glances' counters, which the registry has
 * anyway:
 *   locks      how often the object's lock was taken: by an operation, a semctl, a
 *              command. Operations without a lock (one compare-and-swap on a
 *              semaphore; all on an object that is biased to one thread) do not
 *              count
 *   held, slept    those of them that found it held, and that had to sleep for it
 *   sent       messages sent to System V queues, by any path; may skip some if a
 *              sender died
 */
#ifndef IPCLIFT_INSPECT_GLANCE_H
#define IPCLIFT_INSPECT_GLANCE_H

#include "inspect/lockview.h"
#include "inspect/waitview.h"
#include "mq/mqueue.h"

struct glance_object {
	u32 facility, idx;
	u64 ident;
	s32 id, key; /* id of a POSIX queue: its idx */
	u32 uid, mode;
	u32 lockless; /* there may be operations that take no lock */
	u32 waiters;
	s64 oldest; /* since when the first of them waits, 0 = none does */
	s64 used;   /* last operation, realtime seconds; 0 = never */
	u64 locks, held, slept, sent;
	/* sem: semaphores; queues: messages; shm: attachments */
	u64 depth, depth_most; /* 0 = no such limit */
	u64 bytes, bytes_most;
	u32 leased;	  /* queues: messages received and not acknowledged */
	s64 leased_since; /* the first of them; 0 = none is */
	char name[MQ_NAME_MAX + 2]; /* of a POSIX queue, with the slash */
};

struct glance_task {
	u32 idx, pid;
	u32 n_threads, n_waiting;
	s64 oldest;   /* since when its first sleeper waits, 0 = none does */
	u32 n_holds;  /* sets it has undo records for */
	u32 n_leased; /* messages it has received and not acknowledged */
	u32 gone;     /* it has exited; only what it left exists */
};

/* Counts of one class of locks (LOCK_*, and a facility of LOCK_OBJECT). */
struct glance_locks {
	u64 taken, held, slept;
};

/* The edges of one process, or of one object. */
struct glance_edges {
	u64 key;
	u32 first;    /* index of the first of them */
	u32 deadlock; /* 1: one of them is of a deadlock */
};
/* Sorted by key, each once. */
struct glance_index {
	struct glance_edges *of;
	u32 n;
};

struct glance {
	struct caller *c;
	u64 at_ns; /* monotonic */
	s64 now;   /* realtime seconds */
	struct glance_object *objects;
	struct glance_task *tasks;
	struct lock_view *locks;
	struct wait_edge *edges;
	u32 n_objects, n_tasks, n_locks, n_edges;
	u32 n_circle; /* edges of deadlocks: see glance_confirm */
	struct glance_index by_pid, by_object; /* as above */
	u32 failed; /* out of memory: something is missing */
};

/* 0, or -ENOMEM: then it has as much as fits. glance_deinit follows. */
int glance_take(struct caller *c, struct glance *ret);
/* Edges on circles (in_circle) are a deadlock if an earlier glance had them so
 * too: mark those; without memory for it none. And sort them by process and by
 * object. O(n log n). */
#define GLANCE_DEADLOCK WAIT_CIRCLE_AGAIN
void glance_confirm(struct glance *g, const struct glance *before);
void glance_deinit(struct glance *g);

/* After glance_confirm: NULL if there are none, or was no memory. O(log n). */
const struct glance_edges *glance_edges_of_process(
	const struct glance *g, u32 pid);
const struct glance_edges *glance_edges_of_object(
	const struct glance *g, u32 facility, s32 id);

/* The object at an index, or NULL. */
const struct glance_object *glance_object_at(
	const struct glance *g, u32 facility, u32 idx);
/* The same object or lock in another glance, or NULL. *hint: 0 at first, then
 * as it was left, for locks asked for in their order. */
const struct glance_object *glance_object_of(
	const struct glance *g, const struct glance_object *o);
const struct lock_view *glance_lock_of(
	const struct glance *g, const struct lock_view *l, u32 *hint);

/* Locks of a kind taken since the registry was made, including those of removed
 * objects. */
void glance_count_locks(
	struct caller *c, u32 class, u32 facility, struct glance_locks *ret);

#endif
