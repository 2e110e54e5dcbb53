// SPDX-License-Identifier: MIT
/*
 * Users, and the end of a loan; see loan.h.
 */
#include "object/loan.h"

__attribute__((noinline)) void loan_end(
	struct caller *c, struct slot *s, struct users *users)
{
	int foreign = bias_revoke(c, s);

	if (foreign && users)
		atom_store_release(&users->backoff, users->backoff + 1);
	bias_end(s);
}

__attribute__((noinline)) void users_changed(
	struct caller *c, struct slot *s, struct users *users, u32 kind)
{
	u32 k = (u32)s->ident % 8;

	if (users->thread[kind])
		c->alone[k].n = 0;
	atom_store_release(&users->thread[kind], c->thread);
	atom_store_release(&users->cpu[kind], sys_cpu());
}

int users_elsewhere(struct caller *c, struct users *users, u32 kind)
{
	u32 cpu = sys_cpu(), other = !kind;

	if (users->cpu[kind] != cpu)
		atom_store_release(&users->cpu[kind], cpu);
	return users->thread[other] && users->thread[other] != c->thread &&
	       users->cpu[other] != cpu;
}
