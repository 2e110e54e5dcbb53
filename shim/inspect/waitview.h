// SPDX-License-Identifier: MIT
/*
 * The wait-for graph over all facilities, for the command and the mount.
 *
 * A sleeper in semop waits for every process whose exit would release what it
 * needs (SEM_UNDO): a process that took a semaphore and has not released it.
 * Semaphores taken without SEM_UNDO have no known holder. A sleeper in msgrcv,
 * msgsnd, mq_receive or mq_send waits for no particular process. Cycles of the
 * former are deadlocks.
 */
#ifndef IPCLIFT_INSPECT_WAITVIEW_H
#define IPCLIFT_INSPECT_WAITVIEW_H

#include "object/object.h"
#include "registry/damage.h"
#include "registry/wait.h"

enum wait_what {
	WAIT_FOR_UNITS, /* semop: a value of at least -op */
	WAIT_FOR_ZERO,	/* semop: the value 0 */
	WAIT_FOR_MESSAGE,
	WAIT_FOR_SPACE,
};

/* One sleeper, and one of those it waits for. */
struct wait_edge {
	u32 pid, tid;
	u32 facility;
	u32 what;   /* WAIT_FOR_* */
	s32 id;	    /* of the object */
	u32 num;    /* FAC_SEM: which semaphore, */
	s32 op;	    /* and by how much */
	u32 holder; /* pid, 0 = unknown */
	s64 since;  /* realtime seconds */
	u32 in_circle;
	u32 pad;
};

/*
 * At most n edges into ret, in the order of thread records; returns the number
 * there are. A sleeper without known holder is one edge, with several holders
 * as many; but if there are very many, for some only the first, or none. Takes
 * each object's lock in turn, so the whole is not of one moment: see
 * wait_circles. The undo of exited tasks is applied first. -ENOMEM of
 * enrolling.
 */
s32 wait_edges(struct caller *c, struct wait_edge *ret, u32 n);

/* The same without any lock or store: what was being changed at each of several
 * tries is left out, and the undo of exited tasks is not applied. */
s32 wait_edges_peek(struct caller *c, struct wait_edge *ret, u32 n);

/*
 * Mark the edges on a cycle (or from one to another) by in_circle =
 * WAIT_CIRCLE, the others by 0; returns how many, or -ENOMEM. A cycle in one
 * reading may consist of edges that never existed at the same time: it is a
 * deadlock if a second reading, begun after the first, has it too. O(n log n)
 * for any graph.
 */
#define WAIT_CIRCLE 1u
s32 wait_circles(struct wait_edge *edges, u32 n);

/* Edges on a cycle that were on one in an earlier reading: the same sleeper, in
 * the same sleep, and the same holder. They get WAIT_CIRCLE_AGAIN; returns how
 * many, or -ENOMEM. O(n log n). */
#define WAIT_CIRCLE_AGAIN 2u
s32 wait_circles_confirm(struct wait_edge *edges, u32 n,
	const struct wait_edge *before, u32 n_before);

/* A queue's sleepers in its order, without those that have exited: the first
 * one from w on, or NULL. The walk begins with zeros; a cycle in the queue
 * counts as damage (c->damaged). Object's lock held. */
static inline const struct waiter *waitview_from(
	struct caller *c, const struct waiter *w, struct walk *walk)
{
	while (w && walk_goes_on(c, walk, wait_index(c, w))) {
		if (!wait_dead(w))
			return w;
		w = wait_at(c, w->next);
	}
	return NULL;
}

#endif
