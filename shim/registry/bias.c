// SPDX-License-Identifier: MIT
/*
 * Lending locks and taking them back; the protocol is in bias.h.
 */
#include "registry/bias.h"
#include "registry/journal/recover.h"

#define MEMBARRIER_GLOBAL_EXPEDITED 2
#define MEMBARRIER_REGISTER_GLOBAL_EXPEDITED 4
/* About a microsecond of looking before the revoker sleeps; the lender needs
 * some nanoseconds unless it was preempted. */
#define SPINS 100
#define SLICE_NS 1000000

void bias_register(struct caller *c)
{
	static struct {
		u32 pid; /* a fork child asks again */
		int may;
	} process;

	if (process.pid != c->pid) {
		process.may = !sys_call(__NR_membarrier,
			MEMBARRIER_REGISTER_GLOBAL_EXPEDITED, 0, 0);
		process.pid = c->pid;
	}
	c->may_borrow = process.may;
}

void bias_lend(struct caller *c, struct slot *s)
{
	if (c->may_borrow)
		atom_store_release(&s->bias, c->bias_id);
}

static void wait_until_out(struct slot *s)
{
	const struct sys_timespec slice = {0, SLICE_NS};
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
		/* The robust list marks the word; this is for a host that
		 * broke its list. */
		if (sys_call(__NR_kill, seen & SYS_TID_MASK, 0) == -ESRCH)
			atom_cas(&s->lock.bias_busy, &seen, SYS_OWNER_DIED);
		else
			sys_futex_wait(&s->lock.bias_busy, seen, &slice);
	}
}

int bias_revoke(struct caller *c, struct slot *s)
{
	u64 lender = s->bias & ~BIAS_REVOKING;

	if (lender == c->bias_id)
		return 0;
	atom_store_release(&s->bias, lender | BIAS_REVOKING);
	sys_call(__NR_membarrier, MEMBARRIER_GLOBAL_EXPEDITED, 0, 0);
	wait_until_out(s);
	if (s->lock.bias_busy & SYS_OWNER_DIED) {
		recover_biased(c, &s->lock, (u32)lender);
		atom_store_release(&s->lock.bias_busy, 0);
	}
	return 1;
}
