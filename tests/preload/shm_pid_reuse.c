// SPDX-License-Identifier: MIT
/*
 * shm_pid_reuse: a process with a segment forks, the child is killed before it
 * has run anything of the program's, and its number is a long-lived process's
 * later. Nobody has the segment.
 *
 * The bug: of such a child the number was known, and nothing else: it was taken
 * to be there as long as anybody had that.
 */
#include "shm.h"
#include "pidns.h"

static void die(void)
{
	kill(getpid(), SIGKILL);
}

int main(void)
{
	int seg, answer[2];
	pid_t parent, child = 0, other;

	t_begin();
	if (!p_enter())
		return 0;
	if (pipe(answer))
		return 1;
	seg = s_seg(PAGE);
	parent = t_fork();
	if (!parent) {
		s_at(seg);
		pthread_atfork(NULL, NULL, die);
		child = fork();
		waitpid(child, NULL, 0);
		t_quiet(write(answer[1], &child, sizeof(child)) ==
			sizeof(child));
		_exit(0);
	}
	t_eq(read(answer[0], &child, sizeof(child)), sizeof(child));
	t_eq(t_join(parent), 0);
	/* Of a child that has said nothing the birth is known to two hundredths
	 * of a second. */
	usleep(50000);
	p_next(child);
	other = t_fork();
	if (!other)
		for (;;)
			pause();
	t_true(other == child);
	s_nattch(seg, 0);
	s_rm(seg);
	t_err(shmctl(seg, IPC_STAT, &(struct shmid_ds){0}), EINVAL);
	kill(other, SIGKILL);
	t_eq(t_join(other), 1000 + SIGKILL);
	return s_end();
}
