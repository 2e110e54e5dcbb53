// SPDX-License-Identifier: MIT
/*
 * killed_waker_refused: who is refused robust lists lets a sleeper through, and is
 * killed before it has woken it.
 *
 * The bug: a sleeper that had come when nobody else slept had no timer and slept
 * for ever, for the kernel woke it only for wakers with a list.
 */
#include "three_kinds.h"

static void refused(void)
{
	deny_two(SYS_set_robust_list, SYS_get_robust_list, EPERM);
	lock_something();
	wakes_no_more();
}

int main(void)
{
	make_objects();
	t_story("asleep before the first such waker came");
	sleepers_go_on(refused);
	t_story("and after it");
	sleepers_go_on(refused);
	remove_objects();
	return t_end();
}
