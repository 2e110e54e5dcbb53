// SPDX-License-Identifier: MIT
/*
 * Lending locks and taking them back; the protocol is in bias.h.
 */
#include "registry/bias.h"
#include "registry/event.h"
#include "registry/thread.h"

#define MEMBARRIER_GLOBAL_EXPEDITED 2
#define MEMBARRIER_REGISTER_GLOBAL_EXPEDITED 4
/* About a microsecond of looking before the revoker sleeps; the bias owner
 * needs some nanoseconds unless it was preempted. */
#define SPINS 100
#define SLICE_NS 50000 /* and twice as long each time, up to */
#define SLICES 5       /* times */
#define GONE_LOOKS 32  /* slices between looks whether the owner is there */
/* Instead of the barrier: longer than a tick of any kernel (10 ms). */
#define BARRIER_NS 20000000ULL

void bias_register(struct caller *c)
{
	static struct {
		u32 pid; /* a fork child asks again */
		int may;
	} process;

	if (atom_load_acquire(&process.pid) != c->pid) {
		atom_store_release(&process.may,
			!sys_call(__NR_membarrier,
				MEMBARRIER_REGISTER_GLOBAL_EXPEDITED, 0, 0));
		atom_store_release(&process.pid, c->pid);
	}
	c->may_bias = atom_load_relaxed(&process.may);
}

void bias_grant(struct caller *c, struct slot *s)
{
	if (c->may_bias && c->bias_id != ~0ULL &&
		!atom_load_relaxed(&caller_header(c)->bias_off))
		atom_store_release(&s->bias, c->bias_id);
}

static void wait_until_out(struct caller *c, struct slot *s)
{
	struct sys_timespec slice = {0, SLICE_NS};
	u64 until = c->stuck ? sys_monotonic_ns() + c->patience_ns : 0;
	u32 seen;
	int i = 0;

	for (;;) {
		seen = atom_load_acquire(&s->lock.bias_busy);
		if (!(seen & SYS_TID_MASK))
			return;
		if (i++ < SPINS) {
			arch_pause();
			continue;
		}
		/* The robust list marks the word; this is for an application
		 * that broke its list, or has none. */
		if (i % GONE_LOOKS == 0 && thread_gone(c, seen & SYS_TID_MASK))
			atom_cas(&s->lock.bias_busy, &seen, SYS_OWNER_DIED);
		else
			sys_futex_wait(&s->lock.bias_busy, seen, &slice);
		if (i <= SPINS + SLICES)
			slice.nsec *= 2;
		if (until && sys_monotonic_ns() > until)
			c->stuck(c, &s->lock, seen & SYS_TID_MASK);
	}
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
	err = sys_call(__NR_membarrier, MEMBARRIER_GLOBAL_EXPEDITED, 0, 0);
	if (unlikely(err))
		barrier_refused(c, err);
	wait_until_out(c, s);
	if (s->lock.bias_busy & SYS_OWNER_DIED) {
		lock_recover_biased(c, &s->lock, (u32)owner);
		atom_store_release(&s->lock.bias_busy, 0);
	}
	return lock_real_time() ? BIAS_IN_THE_WAY : BIAS_FOREIGN;
}
