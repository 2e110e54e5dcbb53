// SPDX-License-Identifier: MIT
/*
 * killed_unmarked: processes are killed whose deaths the kernel does not tell: their
 * memory is taken before they end (process_mrelease(2), as the kernel itself does
 * when there is none left), or they have broken their robust lists. What comes next
 * is not for them.
 *
 * The bug: a unit and a message went to such sleepers; the notification that such a
 * one had asked for was refused to others.
 */
#include "three_kinds.h"
#include <sched.h>

#define NR_PIDFD_OPEN 434
#define NR_MRELEASE 448

/* More than are asked for in one hold of a lock. */
#define SLEEPERS 6

static void kill_and_release(pid_t pid)
{
	int fd = (int)syscall(NR_PIDFD_OPEN, pid, 0);

	t_quiet(fd >= 0);
	kill(pid, SIGKILL);
	/* An older kernel has no such call. */
	syscall(NR_MRELEASE, fd, 0);
	close(fd);
	t_quiet(t_join(pid) == 1000 + SIGKILL);
}

static void registered(void)
{
	struct sigevent none = {.sigev_notify = SIGEV_NONE},
			usr1 = {.sigev_notify = SIGEV_SIGNAL,
				.sigev_signo = SIGUSR1};
	static void *head[3];
	pid_t pid = t_fork();

	if (!pid) {
		mq_notify(all.mq, &usr1);
		/* As if it had broken it. */
		head[0] = head;
		syscall(SYS_set_robust_list, head, 24);
		pause();
	}
	t_asleep(pid);
	t_err(mq_notify(all.mq, &none), EBUSY);
	kill_and_release(pid);
	t_eq(mq_notify(all.mq, &none), 0);
	t_eq(mq_notify(all.mq, NULL), 0);
}

int main(void)
{
	pid_t pids[SLEEPERS * KINDS];
	cpu_set_t one;
	int i;

	t_story("killed sleepers of each kind, whose memory is taken");
	/* So they do not run before that is so. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	make_objects();
	registered();
	for (i = 0; i < SLEEPERS * KINDS; i++)
		pids[i] = sleeper(i % KINDS, NULL);
	for (i = 0; i < SLEEPERS * KINDS; i++)
		kill_and_release(pids[i]);
	nobody_gets_it();
	remove_objects();
	return t_end();
}
