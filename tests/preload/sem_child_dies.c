// SPDX-License-Identifier: MIT
/*
 * sem_child_dies: a parent sleeps for what a child holds with SEM_UNDO, and the
 * child is killed. It gives that back before it sends SIGCHLD, so semop
 * succeeds and is not interrupted: with a handler for the signal, and under a
 * tracer, for which a signal that is ignored ends a sleep, too.
 *
 * The bug: the parent acted on the signal first.
 */
#include "t.h"
#include <sys/ptrace.h>

#define ROUNDS 300

static int id;
static volatile int caught;

static void on_child(int sig)
{
	(void)sig;
	caught++;
}

static void ended(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* How often semop fails while a child that holds the unit is killed. */
static int rounds(int n)
{
	int i, failed = 0;
	pid_t child, killer;

	for (i = 0; i < n; i++) {
		semctl(id, 0, SETALL, VALS(1, 0));
		child = t_fork();
		if (!child) {
			semop(id, OPS({0, -1, U}, {1, 1, 0}));
			for (;;)
				pause();
		}
		semop(id, OPS({1, -1, 0}));
		killer = t_fork();
		if (!killer) {
			while (semctl(id, 0, GETNCNT) != 1)
				t_nap();
			kill(child, SIGKILL);
			/* Its own SIGCHLD comes when all is over. */
			semop(id, OPS({1, -1, 0}));
			_exit(0);
		}
		failed += semop(id, OPS({0, -1, 0})) != 0;
		semop(id, OPS({1, 1, 0}));
		ended(child);
		ended(killer);
	}
	return failed;
}

/* Stopped at each system call and signal; the signals are delivered. */
static int traced(pid_t pid)
{
	int status, sig;

	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
		PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	for (sig = 0;; sig = WSTOPSIG(status)) {
		if (sig & 0x80)
			sig = 0;
		if (ptrace(PTRACE_SYSCALL, pid, NULL, (long)sig) ||
			waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
	}
}

int main(void)
{
	pid_t pid;

	t_begin();
	id = t_set(2, VALS(1, 0));
	t_story("traced");
	pid = t_fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(rounds(20));
	}
	t_eq(traced(pid), 0);
	t_story("with a handler");
	t_catch(SIGCHLD, on_child, 0);
	t_true(rounds(ROUNDS) == 0);
	t_true(caught >= ROUNDS);
	t_rm(id);
	return t_end();
}
