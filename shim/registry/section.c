// SPDX-License-Identifier: MIT
/*
 * The end of a section in which signals arrived: raise them again, with their
 * siginfo, and let the kernel deliver them as if they had come now.
 *
 * Real-time signals are delivered in the order in which they were sent. One
 * that is raised again goes to the end of the thread's queue, so those of its
 * number that came meanwhile are taken out first and follow it.
 */
#include "registry/caller.h"

#define SIG_SETMASK 2
#define FIRST_REAL_TIME 32
/* So many of one number keep their order behind the deferred one; more than
 * that keep it if they were sent to the process, not the thread. Arbitrary:
 * stack. */
#define REORDERED 8

struct raised {
	unsigned char info[128];
};

static void raise(struct caller *c, int sig, const void *info)
{
	sys_call(__NR_rt_tgsigqueueinfo, c->pid, c->tid, sig, info);
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

/* Where a tool (valgrind) does not let the trampoline block the others, the
 * handler runs within this loop and may end a section itself: from a copy. */
void section_raise(struct caller *c)
{
	const struct deferred_signals d = c->deferred;
	u64 pending = 0;
	u32 i;

	c->deferred.n = 0;
	c->deferred.has_mask = 0;
	sys_call(__NR_rt_sigpending, &pending, 8);
	for (i = 0; i < d.n; i++) {
		int sig = d.at[i].signo;

		if (sig >= FIRST_REAL_TIME && (pending >> (sig - 1) & 1))
			raise_first(c, sig, d.at[i].info);
		else
			raise(c, sig, d.at[i].info);
	}
	if (d.has_mask)
		sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &d.mask, NULL, 8);
}
