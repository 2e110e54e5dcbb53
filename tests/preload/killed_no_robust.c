// SPDX-License-Identifier: MIT
/*
 * killed_no_robust: sleepers that are refused robust lists are killed, and what
 * comes next is not for them.
 *
 * The bug: nobody marked them dead, so a unit and a message were handed to
 * processes that had been gone for seconds.
 */
#include "three_kinds.h"

static void refused(void)
{
	deny_two(SYS_set_robust_list, SYS_get_robust_list, EPERM);
}

int main(void)
{
	pid_t pids[2 * KINDS];
	int i;

	t_story("two killed sleepers of each kind");
	make_objects();
	for (i = 0; i < 2 * KINDS; i++)
		pids[i] = sleeper(i % KINDS, refused);
	for (i = 0; i < 2 * KINDS; i++) {
		kill(pids[i], SIGKILL);
		t_eq(t_join(pids[i]), 1000 + SIGKILL);
	}
	t_row(all.set, GETNCNT, "0");
	nobody_gets_it();
	remove_objects();
	return t_end();
}
