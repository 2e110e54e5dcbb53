// SPDX-License-Identifier: MIT
/*
 * Who waits for whom, over all facilities: for the command and the mount.
 *
 * A sleeper in semop waits for every process whose death would give back what
 * it asks for (SEM_UNDO): the one who took a lock and has not given it back.
 * Semaphores taken without SEM_UNDO have no holder that anybody knows of. A
 * sleeper in msgrcv, msgsnd, mq_receive or mq_send waits for no process in
 * particular. Circles of the former are deadlocks.
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
	u32 holder; /* pid, 0 = nobody known */
	s64 since;  /* realtime seconds */
	u32 in_circle;
	u32 pad;
};

/*
 * At most n edges into ret, in the order of thread records; the number there
 * are. A sleeper without known holder is one edge, with several as many. Takes
 * each object's lock in turn, so the whole is not one moment: see wait_circles.
 * The undo of exited tasks is applied first. -ENOMEM of enrolling.
 */
s32 wait_edges(struct caller *c, struct wait_edge *ret, u32 n);

/* The same without any lock and without storing anything: what was being
 * changed at each of some looks is left out, and so is the undo of exited
 * tasks. */
s32 wait_edges_peek(struct caller *c, struct wait_edge *ret, u32 n);

/* The same sleeper, in the same sleep, and the same holder. */
static inline int wait_edge_same(
	const struct wait_edge *a, const struct wait_edge *b)
{
	return a->tid == b->tid && a->facility == b->facility &&
	       a->id == b->id && a->num == b->num && a->holder == b->holder &&
	       a->since == b->since;
}

/*
 * Mark the edges that lie on a circle (or lead from one to another); how many.
 * A circle seen in one reading may be made of edges that never were at the same
 * time: it is a deadlock if a second reading, begun after the first, has it
 * too. O(n^2) a round, few rounds.
 */
u32 wait_circles(struct wait_edge *edges, u32 n);

/* A queue's sleepers in its order, without those that have exited: the first one
 * from w on, or NULL. The walk begins with zeros; a queue that leads in a circle
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
