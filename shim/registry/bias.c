// SPDX-License-Identifier: MIT
/*
 * Lending locks and taking them back; the protocol is in bias.h.
 */
#include "registry/bias.h"
#include "registry/barrier.h"
#include "registry/event.h"
#include "registry/task.h"

/* About a microsecond of looking before the revoker sleeps; the bias owner
 * needs some nanoseconds unless it was preempted. */
#define SPINS 100
#define SLICE_NS 50000 /* and twice as long each time, up to */
#define SLICES 5       /* times */
#define GONE_LOOKS 32  /* slices between looks whether the owner is there */
#define MARKED_LOOKS 64 /* slices, a tenth of a second: bias_busy is believed */
/* Instead of the barrier: longer than a tick of any kernel (10 ms). */
#define BARRIER_NS 20000000ULL

void bias_grant(struct caller *c, struct slot *s)
{
	if (c->may_bias && c->bias_id != ~0ULL &&
		!atom_load_relaxed(&caller_header(c)->bias_off))
		atom_store_release(&s->bias, c->bias_id);
}

/* Is the owner, by its record, in the slot? Not one whose record was taken
 * over: it is dead, and had nothing that was to be rolled back. */
static int is_inside(const struct caller *c, const struct slot *s, u64 owner)
{
	u32 idx = (u32)owner;
	const struct thread *th;

	if (idx - 1 >= N_THREADS - 1)
		return 0;
	th = region_thread(&c->region, idx);
	return atom_load_acquire(&th->bias_at) == region_off(&c->region, s) &&
	       (atom_load_acquire(&th->claims) & 0x7fffffff) == owner >> 32;
}

/* Has the owner, which is_inside, died there? What is marked may be another's
 * death (bias.h), so it is asked for; but not for ever, where its number is
 * that of somebody else and its birth is not known. */
static int died_inside(const struct caller *c, u64 owner, int marked, int looks)
{
	const struct thread *th = region_thread(&c->region, (u32)owner);
	const struct task *t = region_task(&c->region, th->task % N_TASKS);
	u32 tid = atom_load_acquire(&th->tid);

	/* Of a copy all are gone. Our number was that of somebody dead. */
	if (c->detached || !tid || tid == c->tid)
		return 1;
	if (!marked && looks % GONE_LOOKS)
		return 0;
	return thread_gone(c, tid) ||
	       (task_suspect(t) && task_changed_image(c, t)) ||
	       (marked && looks > MARKED_LOOKS);
}

/* 1 if the owner died inside. */
static int wait_until_out(struct caller *c, struct slot *s, u64 owner)
{
	struct sys_timespec slice = {0, SLICE_NS};
	u64 until = c->stuck ? sys_monotonic_ns() + c->patience_ns : 0;
	u32 seen;
	int i = 0, looks = 0, marked;

	while (is_inside(c, s, owner)) {
		seen = atom_load_acquire(&s->lock.bias_busy);
		marked = (seen & SYS_OWNER_DIED) != 0;
		if (i++ < SPINS && !marked && !c->detached) {
			arch_pause();
			continue;
		}
		/* The robust list marks the word; this is for an application
		 * that broke its list, or has none. */
		if (died_inside(c, owner, marked, ++looks))
			return 1;
		sys_futex_wait(&s->lock.bias_busy, seen, &slice);
		if (looks <= SLICES)
			slice.nsec *= 2;
		if (until && sys_monotonic_ns() > until)
			c->stuck(c, &s->lock, seen & SYS_TID_MASK);
	}
	return 0;
}

/* See bias.h. If even the sleep is refused it is spent awake. */
static __attribute__((noinline)) void barrier_refused(struct caller *c, int err)
{
	struct header *h = caller_header(c);
	const struct sys_timespec slice = {0, BARRIER_NS};
	u64 end;
	u32 was = 0;

	if (atom_cas(&h->bias_off, &was, 1))
		event_add(c, EVENT_NO_BARRIER, (u64)-err, 0);
	end = sys_monotonic_ns() + BARRIER_NS;
	while (sys_monotonic_ns() < end)
		if (sys_call(__NR_nanosleep, &slice, NULL))
			arch_pause();
}

enum bias_was bias_revoke(struct caller *c, struct slot *s)
{
	u64 owner = s->bias & ~BIAS_REVOKING;
	int err;

	if (owner == c->bias_id)
		return BIAS_OWN;
	atom_store_release(&s->bias, owner | BIAS_REVOKING);
	err = barrier_everywhere();
	if (unlikely(err))
		barrier_refused(c, err);
	if (wait_until_out(c, s, owner))
		lock_recover_biased(c, &s->lock, (u32)owner);
	if (s->lock.bias_busy & SYS_OWNER_DIED)
		atom_store_release(&s->lock.bias_busy, 0);
	return lock_real_time() ? BIAS_IN_THE_WAY : BIAS_FOREIGN;
}
