// SPDX-License-Identifier: MIT
/*
 * shm_vfork: a vfork child that uses segments and sets itself, in a process
 * that has attachments; and one of a fork child that has made no call yet, and
 * so has not said what it inherited.
 */
#include "shm.h"
#include <sys/syscall.h>

static int id, set;

static int wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* 0, or which call went wrong. */
static int use(void)
{
	struct sembuf op = {0, 1, 0};
	struct shmid_ds ds;

	if (semop(set, &op, 1))
		return 1;
	if (shmctl(id, IPC_STAT, &ds))
		return 2;
	return 10 + (int)ds.shm_nattch;
}

static void in_parent(void)
{
	char *p = s_at(id);
	volatile pid_t pid;

	t_story("a vfork child's own calls");
	pid = vfork();
	if (!pid)
		_exit(use());
	t_eq(wait_for(pid), 11);
	s_nattch(id, 1);
	p[0] = 'p';
	pid = vfork();
	if (!pid) {
		use();
		kill(getpid(), SIGKILL);
	}
	t_eq(wait_for(pid), 1000 + SIGKILL);
	s_nattch(id, 1);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
}

/* raw: not by libc's fork, so that the child's first call tells it. */
static void in_silent_child(int raw)
{
	char *p = s_at(id), *q = s_at(id);
	volatile pid_t inner;
	pid_t pid;

	t_story(raw ? "vfork before the first call of a raw fork child"
		    : "vfork before the first call of a fork child");
	pid = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	if (!pid) {
		inner = vfork();
		if (!inner)
			_exit(use() > 9 ? 5 : 6);
		if (wait_for(inner) != 5)
			_exit(1);
		p[1] = 'c';
		if (shmdt(p))
			_exit(2);
		if (use() != 13)
			_exit(use());
		if (shmdt(q))
			_exit(3);
		_exit(use());
	}
	t_eq(wait_for(pid), 12);
	s_nattch(id, 2);
	t_eq(p[1], 'c');
	t_eq(shmdt(p), 0);
	t_eq(shmdt(q), 0);
	s_nattch(id, 0);
}

int main(void)
{
	t_begin();
	id = shmget(IPC_PRIVATE, 8192, 0600);
	set = t_set(1, VALS(0));
	in_parent();
	in_silent_child(0);
	in_silent_child(1);
	t_eq(semctl(set, 0, GETVAL), 8);
	t_rm(set);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	return t_end();
}
