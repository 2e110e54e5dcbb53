// SPDX-License-Identifier: MIT
/*
 * membarrier(2); see barrier.h.
 */
#include <linux/membarrier.h>
#include "registry/barrier.h"

void barrier_register(struct caller *c)
{
	static struct {
		u32 pid; /* a fork child asks again */
		int may;
	} process;

	if (atom_load_acquire(&process.pid) != c->pid) {
		atom_store_release(&process.may,
			!sys_call(__NR_membarrier,
				MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
				0));
		atom_store_release(&process.pid, c->pid);
	}
	c->may_bias = atom_load_relaxed(&process.may);
}

int barrier_everywhere(void)
{
	return (int)sys_call(
		__NR_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}
