// SPDX-License-Identifier: MIT
/*
 * The thread that is an actor: when its exploration begins, and the baton that
 * it passes and receives; see actor.h.
 */
#define _GNU_SOURCE
#include <unistd.h>
#include "point.h"

struct control *ctl;
char *explore_base;

__thread struct actor *self; /* NULL: not armed */
__thread u32 self_idx;

long raw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	return arch_syscall6(nr, a, b, c, d, e, f);
}

void baton_pass(void)
{
	__atomic_store_n(&ctl->baton, 1, __ATOMIC_SEQ_CST);
	raw_futex(&ctl->baton, 1, 1, NULL);
}

void baton_wait(void)
{
	while (!__atomic_load_n(&self->go, __ATOMIC_SEQ_CST))
		raw_futex(&self->go, 0, 0, NULL);
	self->go = 0;
	self->state = ACTOR_RUNNING;
	if (self->signal) {
		self->signal = 0;
		handler_raise();
	}
}

void actor_park(u32 state)
{
	self->state = state;
	baton_pass();
	baton_wait();
}

void actor_born(void)
{
	baton_wait();
}

void actor_point(void)
{
	if (!self)
		return;
	point_fold();
	point_record(POINT_CALL, __NR_clone, 0, PC);
}

void actor_leave(void)
{
	long how =
		self->threaded && !self->ends_all ? __NR_exit : __NR_exit_group;

	self->state = ACTOR_LEAVING;
	baton_pass();
	for (;;)
		raw_syscall(how, 0, 0, 0, 0, 0, 0);
}

void actor_arm(u32 me)
{
	self = &ctl->actors[me];
	self_idx = me;
	point_begin();
}

void actor_disarm(void)
{
	point_fold();
	buffer_flush(self);
	self = NULL;
}

void actor_begin(u32 which)
{
	point_fold();
	point_record(POINT_BEGIN, which, 0, NULL);
}
