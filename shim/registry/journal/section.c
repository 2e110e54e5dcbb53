// SPDX-License-Identifier: MIT
/*
 * Signals that arrive inside a section: queued again at once with all signals
 * blocked (entry/signal.c), so that restoring the mask at the section's end
 * delivers them as if they had come then. What the kernel cannot queue is kept
 * in a slot, tried again at the end, and else its handler is called directly.
 *
 * Real-time signals are delivered in the order in which they were sent. One
 * that is raised again goes to the end of the thread's queue, so those of its
 * number that came meanwhile are taken out first and follow it.
 */
#include <linux/signal.h>
#include "registry/event.h"

#define FIRST_REAL_TIME 32
/* With which the libcs cancel: glibc 32, musl 33. */
#define CANCEL_SIGNALS (1ULL << 31 | 1ULL << 32)
/* So many of one number keep their order behind the deferred one; more than
 * that keep it if they were sent to the process, not the thread. Arbitrary:
 * stack. */
#define REORDERED 8

void (*section_direct)(int signo, void *info, u64 mask);

struct raised {
	unsigned char info[128];
};

/* With all signals blocked (entry/signal.c), so it is delivered when the mask
 * is restored. A slot only where the kernel's queue is full
 * (RLIMIT_SIGPENDING). */
static void raise(struct caller *c, int sig, const void *info)
{
	struct deferred_signals *d = &c->deferred;

	if (!sys_call(__NR_rt_tgsigqueueinfo, c->pid, c->tid, sig, info) ||
		d->n == MAX_DEFERRED)
		return;
	d->at[d->n].signo = sig;
	__builtin_memcpy(d->at[d->n].info, info, sizeof(d->at[0].info));
	d->n++;
}

static __attribute__((noinline)) void raise_first(
	struct caller *c, int sig, const void *info)
{
	const struct sys_timespec now = {0, 0};
	const u64 set = 1ULL << (sig - 1);
	struct raised later[REORDERED];
	u32 n = 0, i;

	while (n < REORDERED &&
		sys_call(__NR_rt_sigtimedwait, &set, &later[n], &now, 8) == sig)
		n++;
	raise(c, sig, info);
	for (i = 0; i < n; i++)
		raise(c, sig, &later[i]);
}

void section_requeue(struct caller *c, int sig, const void *info)
{
	u64 pending = 0;

	if (sig >= FIRST_REAL_TIME)
		sys_call(__NR_rt_sigpending, &pending, 8);
	if (pending >> (sig - 1) & 1)
		raise_first(c, sig, info);
	else
		raise(c, sig, info);
}

void section_shield(struct caller *c)
{
	const u64 set = CANCEL_SIGNALS;
	u64 was = 0;

	if (c->in_section)
		return;
	sys_call(__NR_rt_sigprocmask, SIG_BLOCK, &set, &was, 8);
	c->deferred.shielded = set & ~was;
	c->deferred.pending |= DEFERRED_SHIELD;
}

/* Without a bias_id it enters nothing by bias: bias_enter does not shield. */
void section_async(struct caller *c, int on)
{
	c->async = on;
	atom_compiler_barrier();
	c->bias_id = ~0ULL;
	if (!on && c->region.base)
		caller_set_bias_id(c);
}

/* The outermost section has ended. Copied and cleared first: each signal may
 * run a handler here, which makes calls and has sections of its own. The mask
 * comes last, with all that was deferred queued again: it delivers them. */
void section_raise(struct caller *c)
{
	/* A handler that runs now may defer signals of its own. */
	struct deferred_signals d = c->deferred;
	/* The mask was taken in a section: the shield is in it. */
	const u64 mask = ~d.open & ~d.shielded;
	u32 i;

	c->deferred.n = 0;
	c->deferred.pending = 0;
	c->deferred.open = 0;
	c->deferred.shielded = 0;
	for (i = 0; i < d.n; i++)
		if (sys_call(__NR_rt_tgsigqueueinfo, c->pid, c->tid,
			    d.at[i].signo, d.at[i].info) &&
			section_direct)
			section_direct(d.at[i].signo, d.at[i].info, ~d.open);
	if (d.pending & DEFERRED_LOG)
		event_log_now(c);
	if (d.pending & DEFERRED_MASK)
		sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	else if (d.shielded)
		sys_call(
			__NR_rt_sigprocmask, SIG_UNBLOCK, &d.shielded, NULL, 8);
}
