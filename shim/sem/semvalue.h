// SPDX-License-Identifier: MIT
/*
 * What operations make of a semaphore's value and of its adjustment with
 * SEM_UNDO: the rules of semop(2) about values (doc/kernel-semantics.md §4.3),
 * each once. Every path of semop and the giving back of undo ask here; what
 * they differ in is how they store the result. Nothing here reads or writes
 * shared memory, so it needs no lock.
 */
#ifndef IPCLIFT_SEM_SEMVALUE_H
#define IPCLIFT_SEM_SEMVALUE_H

#include <errno.h>
#include "base/atom.h"
#include "base/types.h"

#define SEMVMX 32767
#define SEMAEM 32767
/* An operation, or an array of them, that has to wait. */
#define BLOCKED 1

/*
 * One operation: *value, 0 to SEMVMX, becomes what it is after op, -32768 to
 * 32767. 0; BLOCKED: op is 0 and the value is not, or it would fall below 0;
 * -ERANGE: above SEMVMX. *value is changed only with 0.
 */
static inline __attribute__((always_inline)) int sem_value_step(
	s32 *value, s32 op)
{
	s32 next = *value + op;

	if (unlikely((u32)next > SEMVMX || (!op && next)))
		return next > SEMVMX && op ? -ERANGE : BLOCKED;
	*value = next;
	return 0;
}

/*
 * The same operation, with SEM_UNDO: *adj, what the process will give back at
 * its end, -SEMAEM - 1 to SEMAEM, becomes what it is after op. 0 or -ERANGE,
 * then with nothing changed. An operation's value comes first: what blocks is
 * not out of range.
 */
static inline __attribute__((always_inline)) int sem_adj_step(s32 *adj, s32 op)
{
	s32 next = *adj - op;

	if (unlikely(next < -SEMAEM - 1 || next > SEMAEM))
		return -ERANGE;
	*adj = next;
	return 0;
}

/* A value after an exited process's adjustment was given back: no further than
 * to 0 and SEMVMX, and never blocked. */
static inline s32 sem_value_undone(s32 value, s32 adj)
{
	value += adj;
	return value < 0 ? 0 : value > SEMVMX ? SEMVMX : value;
}

#endif
