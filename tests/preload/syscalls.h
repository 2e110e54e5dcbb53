// SPDX-License-Identifier: MIT
/*
 * syscalls.h - a child whose system calls are counted, and which others look at
 * while it is on its way into one or out of it.
 *
 * The child calls syscalls_shown() when it is ready, and is then stopped before
 * and after each system call until it stops itself again (syscalls_hidden).
 */
#ifndef SYSCALLS_H
#define SYSCALLS_H

#include "t.h"
#include <sys/ptrace.h>
#include <sys/user.h>

static inline void syscalls_shown(void)
{
	raise(SIGSTOP);
}

static inline void syscalls_hidden(void)
{
	raise(SIGSTOP);
}

/* To the child's next stop by itself: so many of its system calls, or -1 if it
 * has ended. `at` is called at each stop with the call's registers. */
static inline int syscalls_run(
	pid_t pid, void (*at)(const struct user_regs_struct *))
{
	struct user_regs_struct regs;
	int status, n = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) ||
			waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return -1;
		if (WSTOPSIG(status) == SIGSTOP)
			return n / 2;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue;
		n++;
		if (at && !ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			at(&regs);
	}
}

/* A child that runs so. */
static inline pid_t syscalls_child(void (*run)(void))
{
	pid_t pid = t_fork();
	int status;

	if (!pid) {
		alarm(T_LIMIT);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		run();
		_exit(0);
	}
	t_quiet(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	t_quiet(!ptrace(PTRACE_SETOPTIONS, pid, NULL,
		PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
	return pid;
}

#endif
