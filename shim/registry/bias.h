// SPDX-License-Identifier: MIT
/*
 * Bias: an object's lock biased to the one thread that uses it.
 *
 * A locked instruction costs more here than all the rest of an uncontended
 * operation, and an object that only one thread uses needs none. A thread that
 * has used an object many times in a row gets its lock biased to it: slot.bias
 * names its thread record. It then enters by plain stores,
 *
 *     bias_busy = tid;  thread.bias_at = slot;  (no fence)  is bias still mine?
 *
 * and anybody else who has taken the real lock revokes first:
 *
 *     bias = REVOKING;  membarrier(2);  wait while its bias_at is the slot
 *
 * The membarrier is what makes the missing fence right: it executes a full
 * barrier on every CPU that runs a thread of a registered process, so either
 * the revoker sees bias_at or the bias owner sees REVOKING. A revocation
 * costs a few microseconds, and each makes the object wait sixteen times longer
 * before it is biased again, so shared objects are soon left alone.
 *
 * While inside, bias_busy is the pending entry of the thread's robust list: if
 * it dies there the kernel marks OWNER_DIED, and the revoker rolls its journal
 * back as for a lock. Only the revoker may: the bias owner's journal lists
 * bias_busy, not the lock, and recovery of the lock's own dead owner, which may
 * still find the bias owner's name in lock.journal, passes over that. The bias
 * owner may be alive and storing until the revoker has seen it out.
 *
 * Processes that cannot register (old kernel, seccomp) are never biased to.
 * They revoke, all the same, and so does one whose filter came after it
 * registered. Who is refused the barrier stops biasing in this registry for
 * good (header.bias_off), tells the event ring once, and waits BARRIER_NS
 * instead: a store that has retired leaves the store buffer of an x86 CPU
 * within microseconds, and an interrupt, such as the tick, empties it (Morrison
 * and Afek, "Temporally Bounding TSO", ASPLOS 2015). Only what was biased
 * before pays that.
 *
 * That the owner is inside only its own bias_at says, to which nobody else
 * stores. bias_busy is the slot's, and a thread that was preempted between its
 * look at bias and its stores makes them whenever it runs again: long after the
 * bias was taken back and given to another one, whose tid it then overwrites,
 * and clears. So bias_busy is what the kernel marks, and a hint for those who
 * only look; a mark counts only of an owner whose bias_at is the slot and who
 * is gone, or has called exec (task.h); or, where that cannot be told, if
 * nothing has changed for a tenth of a second.
 *
 * State of slot.bias: 0 -> owner (lock holder, who becomes it) -> owner |
 * BIAS_REVOKING -> 0 (lock holder). bias_busy: 0 <-> the owner's tid, or an
 * earlier one's (they, without the lock), or OWNER_DIED (the kernel) -> 0
 * (revoker). bias_at: 0 <-> the slot (its thread). A revoker who dies leaves
 * BIAS_REVOKING, and the next owner of the lock begins anew.
 */
#ifndef IPCLIFT_REGISTRY_BIAS_H
#define IPCLIFT_REGISTRY_BIAS_H

#include "registry/journal/journal.h"
#include "registry/lock.h"

#define BIAS_REVOKING (1ULL << 63)

/* bias_busy becomes, or was, what is pending. It has no node to be on the list
 * proper with. */
static inline void bias_pend(struct caller *c, u32 *busy)
{
	crash_point();
	__atomic_store_n(&c->robust->pending,
		busy ? robust_node(c, busy) : NULL, __ATOMIC_RELEASE);
}

/* After bias_busy is stored and before it is 0 again: whoever dies with a
 * bias_at has the word pending. */
static inline void bias_is_at(const struct caller *c, u64 off)
{
	/* The own record by what is at hand: a multiplication less. */
	struct thread *th = (struct thread *)(void *)((char *)c->journal -
			    __builtin_offsetof(struct thread, journal));

	atom_store_release(&th->bias_at, off);
}

static inline void bias_leave(struct caller *c, struct slot *s)
{
	bias_is_at(c, 0);
	atom_store_release(&s->lock.bias_busy, 0);
	bias_pend(c, NULL);
	section_end(c);
}

/* Enter the object by bias: 1, inside a section; or 0, nothing changed: so also
 * where the application has something pending (lock.h), or cancellation may
 * come at any time, for such a thread has no bias_id. */
static inline int bias_enter(struct caller *c, struct slot *s)
{
	if (atom_load_relaxed(&s->bias) != c->bias_id)
		return 0;
	c->in_section++;
	atom_compiler_barrier();
	if (unlikely(c->robust->pending)) {
		section_end(c);
		return 0;
	}
	bias_pend(c, &s->lock.bias_busy);
	atom_store_release(&s->lock.bias_busy, c->tid);
	bias_is_at(c, region_off(&c->region, s));
	atom_compiler_barrier();
	if (likely(atom_load_relaxed(&s->bias) == c->bias_id))
		return 1;
	bias_leave(c, s);
	return 0;
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
 * bias_end follows once the object has been brought up to date; whoever dies
 * before leaves that to the next owner. */
enum bias_was {
	BIAS_OWN,
	BIAS_FOREIGN,	/* another thread's */
	BIAS_IN_THE_WAY /* the same, and a real-time thread had to wait for it:
			 * the object should not be biased again */
};
enum bias_was bias_revoke(struct caller *c, struct slot *s);
static inline void bias_end(struct slot *s)
{
	atom_store_release(&s->bias, 0);
}

/* With the lock held: lend it to the caller, if its process may be. */
void bias_grant(struct caller *c, struct slot *s);

#endif
