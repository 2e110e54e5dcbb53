// SPDX-License-Identifier: MIT
/*
 * pidns.h - a PID namespace of the test's own, in which it chooses the number
 * of the next process or thread: so the reuse of a number is not left to
 * chance.
 *
 *   int main(void)
 *   {
 *           t_begin();
 *           if (!p_enter())
 *                   return 0;       (not allowed: the same on both sides)
 *           ...
 *           p_next(n);
 *           pid = t_fork();         has number n, if that is free
 */
#ifndef PIDNS_H
#define PIDNS_H

#include "t.h"
#include <sys/mount.h>
#include <sys/prctl.h>

/* Wait for whatever ends, as the first process of a namespace has to. */
static inline void p_first(pid_t test)
{
	int status, ret = 99;
	pid_t pid;

	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		if (pid == test)
			ret = WIFEXITED(status) ? WEXITSTATUS(status) : 98;
	_exit(ret);
}

/* 1 in a process of a new namespace, whose parent, the caller, never returns
 * from here; 0 where namespaces are not allowed. */
static inline int p_enter(void)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS)) {
		t_say("skipped: no PID namespace");
		return 0;
	}
	pid = fork();
	if (pid) {
		while (waitpid(pid, &status, 0) != pid)
			;
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 97);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount("proc", "/proc", "proc", 0, NULL)) {
		t_say("FAIL mount: errno %d", errno);
		_exit(96);
	}
	pid = fork();
	if (pid)
		p_first(pid);
	/* p_first ends with the last process, not with the test. */
	alarm(T_LIMIT);
	return 1;
}

/* The next process or thread to be made gets this number. */
static inline void p_next(pid_t number)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "%d", (int)number - 1) < 0) {
		t_say("FAIL ns_last_pid: errno %d", errno);
		_exit(95);
	}
	close(fd);
}

/* A thread of this process with that number, which may take a moment to become
 * free; arg is passed to f, which must return for a thread with another. */
struct p_thread {
	pid_t number;
	int got;  /* this one has it */
	int told; /* got is known */
	int stay; /* until it is 0 */
};

static inline void *p_body(void *arg)
{
	struct p_thread *p = arg;

	p->got = syscall(SYS_gettid) == p->number;
	__atomic_store_n(&p->told, 1, __ATOMIC_RELEASE);
	while (p->got && __atomic_load_n(&p->stay, __ATOMIC_ACQUIRE))
		t_nap();
	return NULL;
}

/* Returns with a thread of that number, which runs until p->stay is 0. */
static inline pthread_t p_thread(struct p_thread *p, pid_t number)
{
	pthread_t t;

	for (;;) {
		*p = (struct p_thread){.number = number, .stay = 1};
		p_next(number);
		pthread_create(&t, NULL, p_body, p);
		while (!__atomic_load_n(&p->told, __ATOMIC_ACQUIRE))
			t_nap();
		if (p->got)
			return t;
		pthread_join(t, NULL);
	}
}

#endif
