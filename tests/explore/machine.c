// SPDX-License-Identifier: MIT
/*
 * Time, the CPU and /proc as the core sees them: virtual or fixed, so that the
 * same schedule is the same run. Linked in place of sys.c's (--wrap).
 */
#include <unistd.h>
#include "point.h"

int64_t __wrap_sys_realtime_sec(void)
{
	return REALTIME_START + (int64_t)(ctl->now / 1000000000);
}
int64_t __wrap_sys_realtime_ns(void)
{
	return REALTIME_START * 1000000000 + (int64_t)ctl->now;
}
int64_t __wrap_sys_realtime_coarse_ns(void)
{
	return __wrap_sys_realtime_ns();
}
uint64_t __wrap_sys_monotonic_ns(void)
{
	return ctl->now;
}
uint64_t __wrap_sys_boottime_ns(void)
{
	return ctl->now;
}
unsigned __wrap_sys_cpu(void)
{
	/* Another one in each call. */
	return self ? (self_idx + self->n_calls) % 2 : 0;
}

/* Threads of its process that have not been waited for: a first thread that
 * has ended is a zombie as long as there are others. */
static u32 count_threads(const struct actor *a)
{
	u32 i, n = 0;

	for (i = 0; i < ctl->n_actors; i++)
		n += ctl->actors[i].leader == a->leader &&
		     ctl->actors[i].state && ctl->actors[i].state != ACTOR_DEAD;
	return n;
}

/* Is somebody in /proc by its number? A zombie is; or who has the number now.
 */
static int is_listed(const struct actor *a)
{
	if (!a->state)
		return 0;
	if (a->state != ACTOR_DEAD || a->succeeded)
		return 1;
	return &ctl->actors[a->leader] == a && count_threads(a);
}

int __wrap_sys_process_read(uint32_t pid, uint32_t tid, struct sys_process *ret)
{
	u32 i, number = tid ? tid : pid;

	*ret = (struct sys_process){.stack = STACK_START, .n_threads = 1};
	if (number == (u32)raw_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0) &&
		!self) {
		/* Of an actor that gets ready; the first of its number that is
		 * not dead. Of the controller none is known, for its children's
		 * might be another one. */
		ret->stack = 0;
		for (i = 0; !ret->start && i < ctl->n_actors; i++)
			if (ctl->actors[i].pid == number &&
				ctl->actors[i].state != ACTOR_DEAD) {
				ret->start = ctl->actors[i].start;
				ret->stack = ctl->actors[i].stack;
			}
		if (!ret->start)
			ret->start = 50;
		return 1;
	}
	for (i = 0; i < ctl->n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (a->pid != number || !is_listed(a))
			continue;
		if (tid && pid != tid &&
			(a->succeeded || ctl->actors[a->leader].pid != pid))
			return 0;
		ret->start = a->start;
		ret->stack = a->stack;
		ret->n_threads = count_threads(a);
		ret->n_threads += a->state == ACTOR_DEAD;
		ret->ending = a->state == ACTOR_DEAD && !a->succeeded;
		ret->stopped = a->stopped != 0;
		if (self && ret->stopped)
			point_learn(5, number);
		return 1;
	}
	ret->start = 50;
	return number == 1;
}

int __wrap_sys_process_read_self(struct sys_process *ret)
{
	u32 pid = (u32)raw_syscall(__NR_getpid, 0, 0, 0, 0, 0, 0);

	return __wrap_sys_process_read(pid, 0, ret) && (ret->pid = pid);
}

uint64_t __wrap_sys_start_time(uint32_t pid, int *ret_exiting)
{
	struct sys_process p;

	if (!__wrap_sys_process_read(pid, 0, &p))
		return 0;
	if (ret_exiting)
		*ret_exiting = p.ending;
	return p.start;
}
