// SPDX-License-Identifier: MIT
/*
 * shm_fork_starved: a child that does not come to run, since it is stopped or
 * the machine is busy, while its parent is killed: what the parent had attached
 * is the child's, once, however long that takes, and is given back if it is
 * killed in its turn.
 *
 * The bug: it was counted twice for five seconds after the fork had begun; and
 * where the one count was not to be had, the other ended then.
 */
#include "shm.h"
#include <poll.h>
#include <sys/ptrace.h>

/* Longer than what was once waited for such a child. */
#define LONG_MS 5500

static int go[2], done[2];

static int stopped_by(pid_t pid, int event)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
	       status >> 16 == event;
}

/* Until it is in the midst of fork; the child, which has done nothing yet. */
static pid_t run_to_fork(pid_t parent)
{
	unsigned long child = 0;

	t_quiet(ptrace(PTRACE_SEIZE, parent, 0, PTRACE_O_TRACEFORK) == 0);
	t_quiet(write(go[1], "", 1) == 1);
	t_true(stopped_by(parent, PTRACE_EVENT_FORK));
	t_true(ptrace(PTRACE_GETEVENTMSG, parent, 0, &child) == 0 && child);
	t_true(stopped_by((pid_t)child, PTRACE_EVENT_STOP));
	return (pid_t)child;
}

static void forks(int seg)
{
	char *p = s_at(seg), c;

	strcpy(p, "mine");
	if (read(go[0], &c, 1) == 1 && fork() == 0)
		s_inheritor(p, go[0], done[1]);
	_exit(1);
}

static char told(void)
{
	char c = 0;

	return read(done[0], &c, 1) == 1 ? c : 0;
}

/* The child goes on after all, beside somebody who has a new segment. */
static void goes_on(pid_t child)
{
	int other;
	char *p = s_fresh(&other, "another's");

	t_true(ptrace(PTRACE_CONT, child, 0, 0) == 0);
	t_eq(told(), 'x');
	t_quiet(write(go[1], "", 1) == 1);
	t_eq(told(), 'y');
	t_true(!strcmp(p, "another's"));
	t_quiet(write(go[1], "", 1) == 1);
	t_eq(told(), 'z');
	t_eq(shmdt(p), 0);
	s_rm(other);
}

static void story(const char *name, int killed)
{
	int seg = s_seg(PAGE);
	pid_t parent, child;
	int status = 0;

	t_story(name);
	parent = t_fork();
	if (!parent)
		forks(seg);
	child = run_to_fork(parent);
	kill(parent, SIGKILL);
	t_true(waitpid(parent, NULL, __WALL) == parent);
	s_nattch(seg, 1);
	if (!killed)
		poll(NULL, 0, LONG_MS);
	s_nattch(seg, 1);
	s_rm(seg);
	if (killed)
		kill(child, SIGKILL);
	else
		goes_on(child);
	/* Who traces it may wait for it. */
	t_true(waitpid(child, &status, __WALL) == child);
	t_eq(status, killed ? SIGKILL : 0);
}

int main(void)
{
	t_begin();
	alarm(3 * T_LIMIT);
	if (pipe(go) || pipe(done))
		return 1;
	story("goes on", 0);
	story("is killed", 1);
	return s_end();
}
