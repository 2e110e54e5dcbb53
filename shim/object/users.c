// SPDX-License-Identifier: MIT
/*
 * Users, and the end of a bias; see users.h.
 */
#include "object/users.h"

__attribute__((noinline)) void users_bias_end(
	struct caller *c, struct slot *s, struct users *users)
{
	enum bias_was was = bias_revoke(c, s);

	if (was == BIAS_FOREIGN && users)
		atom_store_release(&users->backoff, users->backoff + 1);
	if (was == BIAS_IN_THE_WAY && users)
		atom_store_release(&users->backoff, USERS_BIAS_BACKOFF_MAX);
	bias_end(s);
}

__attribute__((noinline)) void users_changed(
	struct caller *c, struct slot *s, struct users *users, u32 kind)
{
	if (users->thread[kind])
		in_row_at(c->alone, s->ident)->n = 0;
	atom_store_release(&users->thread[kind], c->thread);
}

__attribute__((noinline)) void users_moved(
	struct caller *c, struct users *users)
{
	if (users->recent.thread != c->thread) {
		atom_store_release(&users->other.thread, users->recent.thread);
		atom_store_release(&users->other.cpu, users->recent.cpu);
		atom_store_release(&users->recent.thread, c->thread);
	}
	atom_store_release(&users->recent.cpu, sys_cpu());
}

int users_elsewhere(const struct caller *c, const struct users *users)
{
	const struct queue_user *u = &users->recent;

	if (atom_load_relaxed(&u->thread) == c->thread)
		u = &users->other;
	return atom_load_relaxed(&u->thread) &&
	       atom_load_relaxed(&u->cpu) != sys_cpu();
}
