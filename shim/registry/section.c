// SPDX-License-Identifier: MIT
/*
 * The end of a section in which signals arrived: raise them again, with their
 * siginfo, and let the kernel deliver them as if they had come now.
 */
#include "registry/caller.h"

#define SIG_SETMASK 2

void section_raise(struct caller *c)
{
	struct deferred_signals *d = &c->deferred;
	u64 mask = d->mask;
	u32 n = d->n, i;

	for (i = 0; i < n; i++)
		sys_call(__NR_rt_tgsigqueueinfo, c->pid, c->tid,
			d->at[i].signo, d->at[i].info);
	d->n = 0;
	if (d->has_mask) {
		d->has_mask = 0;
		sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	}
}
