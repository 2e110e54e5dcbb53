// SPDX-License-Identifier: MIT
/*
 * Yielding the CPU to the partner instead of sleeping: when it pays. Data:
 * caller.yield, which is the thread's own.
 *
 * With the partner on our CPU one sched_yield lets it run, grant and yield in
 * its turn: little more than half the price of two futex calls. But a third
 * process that is runnable may get a whole slice at a yield. So it is paid for:
 * a yield earns what it was faster than a sleep lately, or costs what it was
 * slower, a quick sleep earns a little, and without credit we sleep. What
 * yielding can lose is thereby a small part of what sleeping takes.
 */
#ifndef IPCLIFT_REGISTRY_YIELD_H
#define IPCLIFT_REGISTRY_YIELD_H

#include "registry/caller.h"

/* In cycles: a sleep that took longer had a third process in between;
 * what one that did not earns; what is needed for a yield, and kept at most. A
 * slice lost to a third process is some millions. Arbitrary. */
#define QUICK_CYCLES 50000
#define QUICK_EARNS 64
#define YIELD_NEEDS 2048
#define YIELD_CREDIT 200000

HOT static inline int yield_pays(const struct caller *c)
{
	return c->yield.credit > YIELD_NEEDS;
}

HOT static inline void yield_earn(struct caller *c, s64 cycles)
{
	c->yield.credit += cycles;
	if (c->yield.credit > YIELD_CREDIT)
		c->yield.credit = YIELD_CREDIT;
}

HOT static inline void yield_once(struct caller *c, struct waiter *w)
{
	u64 start = arch_cycles();
	s64 took;

	sys_call(__NR_sched_yield);
	took = arch_cycles() - start;
	yield_earn(
		c, (atom_load_acquire(&w->word) ? c->yield.usual : 0) - took);
}

/* A longer one had a third process in between: it does not tell what a
 * hand-over costs. */
HOT static inline void yield_note_sleep(struct caller *c, u64 cycles)
{
	if (cycles > QUICK_CYCLES)
		return;
	c->yield.usual += ((s64)cycles - c->yield.usual) / 8;
	yield_earn(c, QUICK_EARNS);
}

#endif
