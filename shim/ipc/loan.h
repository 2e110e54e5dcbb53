// SPDX-License-Identifier: MIT
/*
 * An object's lock lent to the thread that has long been the only one to use
 * it (registry/bias.h), for objects that are always used under their lock.
 *
 * On a lent object nobody sleeps. A call enters by the loan, and if it turns
 * out to need more than the object's own memory (the heap, a sleep, a look at
 * the dead) it leaves again with nothing done and takes the lock, which ends
 * the loan; whoever has the streak gets it back at the end of that call.
 */
#ifndef IPCLIFT_IPC_LOAN_H
#define IPCLIFT_IPC_LOAN_H

#include "registry/bias.h"

/* Calls in a row by one thread before the lock is lent to it; sixteen times
 * more after each revocation. Arbitrary: a revocation costs as much as some
 * hundred calls gain. */
#define LOAN_STREAK 64u
#define LOAN_BACKOFF_MAX 6u

/* Enter the object of ident, if it is lent to us: 1, in a section, with the
 * journal ready; or 0. */
static inline int loan_enter(struct caller *c, struct slot *s, u64 ident)
{
	if (!bias_enter(c, s))
		return 0;
	if (likely(atom_load_relaxed(&s->ident) == ident)) {
		bias_journal_begin(c, s);
		return 1;
	}
	bias_leave(c, s);
	return 0;
}
static inline void loan_leave(struct caller *c, struct slot *s)
{
	bias_journal_end(c);
	bias_leave(c, s);
}

/* The lock was just acquired: the loan, if there is one, is over. loan may be
 * NULL. Must come before the object is looked at. */
void loan_end(struct caller *c, struct slot *s, struct loan *loan);

/* With the lock held, at the end of a call that found nobody asleep: note the
 * user, and lend the lock to one that has long been the only one. */
static inline void loan_consider(
	struct caller *c, struct slot *s, struct loan *loan)
{
	u32 backoff = loan->backoff < LOAN_BACKOFF_MAX ? loan->backoff
						       : LOAN_BACKOFF_MAX;

	if (unlikely(loan->user != c->thread)) {
		loan->user = c->thread;
		loan->streak = 0;
		return;
	}
	if (unlikely(loan->streak++ >= LOAN_STREAK << (4 * backoff))) {
		/* Stays ripe, for a loan that only this thread interrupts. */
		loan->streak--;
		bias_lend(c, s);
	}
}

#endif
