// SPDX-License-Identifier: MIT
/*
 * Bias: an object's lock biased to the one thread that uses it.
 *
 * A locked instruction costs more here than all the rest of an uncontended
 * operation, and an object that only one thread uses needs none. A thread that
 * has used an object many times in a row gets its lock biased to it: slot.bias
 * names its thread record. It then enters by plain stores,
 *
 *     thread.bias_word = tid;  thread.bias_at = slot;  (no fence)
 *     is bias still mine?
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
 * While inside, bias_word is the pending entry of the thread's robust list: if
 * it dies there the kernel marks OWNER_DIED, and the revoker rolls its journal
 * back as for a lock. Only the revoker may: the bias owner's journal lists
 * lock.by_bias, not the lock, and recovery of the lock's own dead owner, which may
 * still find the bias owner's index in lock.journal, skips that journal. The bias
 * owner may be alive and storing until the revoker has seen it leave.
 *
 * Processes that cannot register for membarrier (old kernel, seccomp) never become
 * bias owners. They revoke all the same, and so does one whose filter came after
 * it registered. Whoever is refused the barrier stops biasing in this registry for
 * good (header.bias_off), adds an event once, and waits BARRIER_NS instead: a
 * store that has retired leaves the store buffer of an x86 CPU within
 * microseconds, and an interrupt, such as the tick, empties it (Morrison and Afek,
 * "Temporally Bounding TSO", ASPLOS 2015). That is paid only for objects biased
 * before.
 *
 * Whether the owner is inside, and whether it died there, is in two words of its
 * own thread record, to which only the owner stores and, at its end or exec, the
 * kernel: bias_word is its robust list's pending entry while it is inside. A word
 * in the slot would not do: a thread that was preempted between its look at bias
 * and its stores makes them whenever it runs again, long after the bias was
 * revoked and given to another, whose mark it would then overwrite.
 *
 * State of slot.bias: 0 -> owner (lock holder, who becomes it) -> owner |
 * BIAS_REVOKING -> 0 (lock holder). bias_at: 0 <-> the slot (its thread).
 * bias_word: 0 <-> the tid (its thread) -> OWNER_DIED (the kernel) -> 0 (the next
 * thread to claim the record). A revoker that dies leaves BIAS_REVOKING, and the
 * next owner of the lock revokes again.
 */
#ifndef IPCLIFT_REGISTRY_BIAS_H
#define IPCLIFT_REGISTRY_BIAS_H

#include "registry/journal/journal.h"
#include "registry/lock.h"

#define BIAS_REVOKING (1ULL << 63)

/* What of the object's owner by bias is to be seen without its lock. Nothing
 * that the owner stored under the bias is seen before it is seen inside. */
enum bias_seen {
	BIAS_OUT, /* or nobody's */
	BIAS_INSIDE,
	BIAS_DIED, /* inside: what it left is to be rolled back */
};
static inline enum bias_seen bias_look(
	const struct region *r, const struct slot *s)
{
	u64 owner = atom_load_acquire(&s->bias) & ~BIAS_REVOKING;
	u32 idx = (u32)owner;
	const struct thread *th;

	if (likely(!owner) || idx - 1 >= N_THREADS - 1)
		return BIAS_OUT;
	th = region_thread(r, idx);
	/* A record that was taken over: its owner died, and left nothing. */
	if (atom_load_acquire(&th->bias_at) != region_off(r, s) ||
		(atom_load_acquire(&th->claims) & 0x7fffffff) != owner >> 32)
		return BIAS_OUT;
	return atom_load_acquire(&th->bias_word) & SYS_OWNER_DIED ? BIAS_DIED
								  : BIAS_INSIDE;
}

/* Who takes its lock now would wait, for its holder or its owner by bias. */
static inline int bias_lock_waits(const struct region *r, const struct slot *s)
{
	return (atom_load_relaxed(&s->lock.word) & SYS_TID_MASK) ||
	       bias_look(r, s) == BIAS_INSIDE;
}

/* The own record by what is at hand: a multiplication less. */
static inline struct thread *bias_own(const struct caller *c)
{
	return (struct thread *)(void *)((char *)c->journal -
					 __builtin_offsetof(
						 struct thread, journal));
}

/* The word is pending, not on the list proper, before the tid is there and until
 * it is not; bias_at is set only meanwhile: who dies with it is marked. */
static inline void bias_go_in(struct caller *c, const struct slot *s)
{
	struct thread *th = bias_own(c);

	crash_point();
	__atomic_store_n(&c->robust->pending, robust_node(c, &th->bias_word),
		__ATOMIC_RELEASE);
	atom_store_release(&th->bias_word, c->tid);
	atom_store_release(&th->bias_at, region_off(&c->region, s));
	atom_compiler_barrier();
}

static inline void bias_go_out(struct caller *c)
{
	struct thread *th = bias_own(c);

	atom_store_release(&th->bias_at, 0);
	atom_store_release(&th->bias_word, 0);
	crash_point();
	__atomic_store_n(&c->robust->pending, NULL, __ATOMIC_RELEASE);
}

static inline void bias_leave(struct caller *c)
{
	bias_go_out(c);
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
	bias_go_in(c, s);
	if (likely(atom_load_relaxed(&s->bias) == c->bias_id))
		return 1;
	bias_leave(c);
	return 0;
}

/* Before the first journaled change inside, and after the commit: tells the
 * revoker which lock the journal is about. */
static inline void bias_journal_begin(struct caller *c, struct slot *s)
{
	atom_store_release(&c->journal->locks[0],
		region_off(&c->region, &s->lock.by_bias));
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

/* With the lock held: bias it to the caller, if its process may be a bias owner
 * (caller.may_bias). */
void bias_grant(struct caller *c, struct slot *s);

#endif
