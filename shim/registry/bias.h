// SPDX-License-Identifier: MIT
/*
 * Bias: an object's lock lent to the one thread that uses it.
 *
 * A locked instruction costs more here than all the rest of an uncontended
 * operation, and an object that only one thread uses needs none. A thread that
 * has used an object many times in a row gets its lock lent: slot.bias names
 * its thread record. It then enters by plain stores,
 *
 *     bias_busy = tid;  (no fence)  is bias still mine?
 *
 * and anybody else who has taken the real lock revokes first:
 *
 *     bias = REVOKING;  membarrier(2);  wait until bias_busy is 0
 *
 * The membarrier is what makes the missing fence right: it executes a full
 * barrier on every CPU that runs a thread of a registered process, so either
 * the revoker sees bias_busy or the lender sees REVOKING. A revocation costs a
 * few microseconds, and each makes the object wait sixteen times longer before
 * it is lent again, so shared objects are soon left alone.
 *
 * While inside, bias_busy is the pending entry of the thread's robust list: if
 * it dies there the kernel marks OWNER_DIED, and the revoker rolls its journal
 * back as for a lock. Only the revoker may: the bias owner's journal lists
 * bias_busy, not the lock, and recovery of the lock's own dead owner, which may
 * still find the bias owner's name in lock.journal, passes over that. The bias
 * owner may be alive and storing until the revoker has seen it out.
 *
 * Processes that cannot register (old kernel, seccomp) are never lent to.
 */
#ifndef IPCLIFT_REGISTRY_BIAS_H
#define IPCLIFT_REGISTRY_BIAS_H

#include "registry/journal/journal.h"
#include "registry/lock.h"

#define BIAS_REVOKING (1ULL << 63)

/* Enter the object by bias: 1, inside a section; or 0, nothing changed. */
static inline int bias_enter(struct caller *c, struct slot *s)
{
	if (atom_load_relaxed(&s->bias) != c->bias_id)
		return 0;
	section_begin(c);
	c->host_pending = c->robust->pending;
	robust_pend(c, &s->lock.bias_busy);
	atom_store_release(&s->lock.bias_busy, c->tid);
	atom_compiler_barrier();
	if (likely(atom_load_relaxed(&s->bias) == c->bias_id))
		return 1;
	atom_store_release(&s->lock.bias_busy, 0);
	robust_pend(c, NULL);
	section_end(c);
	return 0;
}

static inline void bias_leave(struct caller *c, struct slot *s)
{
	atom_store_release(&s->lock.bias_busy, 0);
	robust_pend(c, NULL);
	section_end(c);
}

/* Before the first journaled change inside, and after the commit: tells the
 * revoker which lock the journal is about. */
static inline void bias_journal_begin(struct caller *c, struct slot *s)
{
	atom_store_release(&c->journal->locks[0],
		region_off(&c->region, &s->lock.bias_busy));
	atom_store_release(&c->journal->n_locks, 1);
}
static inline void bias_journal_end(struct caller *c)
{
	atom_store_release(&c->journal->n_locks, 0);
}

/* With the lock just acquired and s->bias found set: take the object back.
 * 1 if it was lent to another thread. bias_end follows once the object has been
 * brought up to date; whoever dies before leaves that to the next owner. */
int bias_revoke(struct caller *c, struct slot *s);
static inline void bias_end(struct slot *s)
{
	atom_store_release(&s->bias, 0);
}

/* Register the process with membarrier(2), so that locks may be lent to it; at
 * a thread's first call, since a host may forbid system calls later. */
void bias_register(struct caller *c);

/* With the lock held: lend it to the caller, if its process may be. */
void bias_lend(struct caller *c, struct slot *s);

#endif
