// SPDX-License-Identifier: MIT
/*
 * The end of a section in which signals arrived. They were queued again and all
 * signals blocked (entry/signal.c), so restoring the mask delivers them as if
 * they had come now. Those that the kernel could not queue are tried once more,
 * else their handler is called directly.
 */
#include "registry/caller.h"

#define SIG_SETMASK 2

void (*section_direct)(int signo, void *info, u64 mask);

void section_raise(struct caller *c)
{
	/* A handler that runs now may defer signals of its own. */
	struct deferred_signals d = c->deferred;
	u32 i;

	c->deferred.n = 0;
	c->deferred.has_mask = 0;
	for (i = 0; i < d.n; i++)
		if (sys_call(__NR_rt_tgsigqueueinfo, c->pid, c->tid,
			    d.at[i].signo, d.at[i].info) &&
			section_direct)
			section_direct(d.at[i].signo, d.at[i].info, d.mask);
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &d.mask, NULL, 8);
}
