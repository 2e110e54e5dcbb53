// SPDX-License-Identifier: MIT
/*
 * What semop.c (the call, its sleep), semfast.c (without the lock) and
 * semwake.c (the queues of sleepers, wake passes) share.
 */
#ifndef IPCLIFT_SEM_SEMOP_H
#define IPCLIFT_SEM_SEMOP_H

#include "sem/semarray.h"

/* In larger sets every sleeper looks for itself (object/sleep.h): to find the
 * oldest takes a look at each queue. Arbitrary. */
#define ALONE_SEMS 8u
/* Semaphores remembered as changed during one pass; more count as "all". */
#define MAX_DIRTY 64u

enum queue_kind {
	Q_ALTER, /* semaphore's queue of single operations */
	Q_ZERO,
	Q_COMPLEX, /* set's queue of arrays */
	Q_ZERO_ARRAYS,
};

/* What a sleeper waits for; NULL if that is damaged. Slot lock held. */
const struct sop *waiter_sops(
	const struct caller *c, const struct waiter *w, u32 *ret_n);

/*
 * Put the thread's own waiter into its queue; part of the current operation. Slot
 * lock held. This decides who is let through first: within a queue the one nearer
 * to its head, among several queues the one with the lower stamp; the two must
 * agree (INV_QUEUE). It is the order of arrival. sem_crash_guard relies on that,
 * too: the first in order is the one that may sleep without a timer.
 */
void queue_append(struct caller *c, const struct slot *s, struct semset *set,
	struct waiter *w);
/* Take any waiter out of its queue with a result; likewise. */
void queue_remove(struct caller *c, const struct slot *s, struct semset *set,
	struct waiter *w, s32 result);

/* May a change of the semaphore concern a sleeping array that alters? */
static inline int arrays_concerned(
	const struct slot *s, const struct semset *set, const struct sem *sem)
{
	return set->complex.head && (s->size == 1 || sem->arrays);
}
/* When an array is queued, or found blocked at another operation: mark the
 * semaphores that it depends on (sem.arrays). Slot lock held. */
static inline void arrays_mark(const struct slot *s, struct semset *set,
	const struct sop *sops, u32 block_op)
{
	u32 i, num, n_sems = sem_count(s);

	for (i = 0; n_sems > 1 && i <= block_op; i++) {
		num = atom_load_relaxed(&sops[i].num);
		if (likely(num < n_sems))
			sem_array(set)[num].arrays = 1;
	}
}

/*
 * For a single increment without undo while one thread sleeps on the set: if that
 * lets the sleeper through, perform both operations at once, commit, and return 1;
 * else 0, nothing changed. Slot lock held, set->n_waiters is 1.
 */
int sem_hand_over(struct caller *c, const struct slot *s, struct semset *set,
	const struct sop *op);

/* waiter.wants_wake */
enum {
	WAKE_NOT_WANTED, /* it looks soon */
	WAKE_WANTED,
	WAKE_SENT,
};

/* The array's task becomes a holder (SEM_UNDO): wake one sleeper that this concerns
 * and whose next look by itself is far off (a spurious wake), so that it watches
 * the task from then on. Before the commit: a death between the two then does no
 * harm. Slot lock held. */
void sem_tell(struct caller *c, struct semset *set, const struct array *a);

/* One call: its array, and what request_scan finds in it. */
struct request {
	struct array a;
	int alter, undo;
	u32 max_num;
	u64 deadline_ns; /* 0 = none */
	int no_wait;
};

static inline void request_scan(struct request *r)
{
	u32 i;

	for (i = 0; i < r->a.n; i++) {
		const struct sop *op = &r->a.sops[i];

		r->alter |= op->op != 0;
		r->undo |= (op->flg & SEM_FLG_UNDO) != 0;
		if (op->num > r->max_num)
			r->max_num = op->num;
	}
}

/* One operation without undo or timeout, after all checks: under the lock, and
 * asleep if need be. s is a slot of the table, op not the application's memory.
 */
int sem_op_one(
	struct caller *c, struct slot *s, u64 ident, const struct sop *op);

/* The whole of semtimedop, with every check in its order. */
int sem_op_slow(struct caller *c, s32 id, const struct sop *user, u32 n,
	const struct sys_timespec *timeout);

/* Operations in a row by one thread before a set is biased to it; sixteen times
 * more after each revocation. Arbitrary: a revocation costs as much as some
 * hundred operations gain. */
#define BIAS_STREAK 64u

#endif
