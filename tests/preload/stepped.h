// SPDX-License-Identifier: MIT
/*
 * stepped.h - a thread that another process steps through its calls, an
 * instruction at a time, while the rest of its process receives requests at
 * chosen places.
 *
 * The traced process's thread sets `tid`, waits for `go` and sets `done` when
 * its call is over; another thread of it reads requests from stepped_ask[0] and
 * writes an answer to each into stepped_answer[1]. The tracer calls the rest.
 */
#ifndef STEPPED_H
#define STEPPED_H

#include "t.h"
#include <poll.h>
#include <sys/ptrace.h>

static struct stepped {
	volatile pid_t tid;
	volatile int go, done;
} * stepped;
static int stepped_ask[2], stepped_answer[2];

/* Before the process is made. */
static inline int stepped_make(void)
{
	stepped = t_shared(sizeof(*stepped));
	return !pipe(stepped_ask) && !pipe(stepped_answer);
}

/* The process, which runs program; its thread is stopped before its first call. */
static inline pid_t stepped_start(void (*program)(void))
{
	pid_t pid = t_fork();
	int status;

	if (!pid)
		program();
	close(stepped_ask[0]);
	close(stepped_answer[1]);
	while (!stepped->tid)
		sched_yield();
	t_true(ptrace(PTRACE_SEIZE, stepped->tid, 0, 0) == 0);
	t_quiet(ptrace(PTRACE_INTERRUPT, stepped->tid, 0, 0) == 0);
	t_quiet(waitpid(stepped->tid, &status, __WALL) == stepped->tid);
	return pid;
}

/* One instruction of the call. 0: it is over. */
static inline int stepped_step(void)
{
	int status;

	return !stepped->done &&
	       !ptrace(PTRACE_SINGLESTEP, stepped->tid, 0, 0) &&
	       waitpid(stepped->tid, &status, __WALL) == stepped->tid &&
	       WIFSTOPPED(status);
}

/* A new call, so many instructions of it. */
static inline void stepped_begin(int go, long place)
{
	long i;

	stepped->done = 0;
	stepped->go = go;
	for (i = 0; i < place && stepped_step(); i++)
		;
}

/* The rest of the call, at full speed. */
static inline void stepped_finish(void)
{
	int status;

	if (stepped->done)
		return;
	t_quiet(ptrace(PTRACE_CONT, stepped->tid, 0, 0) == 0);
	while (!stepped->done) {
		/* A signal stops it. */
		if (waitpid(stepped->tid, &status, __WALL | WNOHANG) ==
			stepped->tid)
			ptrace(PTRACE_CONT, stepped->tid, 0, 0);
		poll(NULL, 0, 1);
	}
	t_quiet(ptrace(PTRACE_INTERRUPT, stepped->tid, 0, 0) == 0);
	t_quiet(waitpid(stepped->tid, &status, __WALL) == stepped->tid);
}

/* The answer to a request of one byte, or -1. It may have to wait for a lock
 * that the call holds, which then goes on: the steps that took. */
static inline int stepped_asked(char what, long *ret_steps)
{
	struct pollfd told = {.fd = stepped_answer[0], .events = POLLIN};
	int is = -1, i;

	if (write(stepped_ask[1], &what, 1) != 1)
		return -1;
	while (poll(&told, 1, stepped->done ? -1 : 20) == 0)
		for (i = 0; i < 100 && stepped_step(); i++)
			++*ret_steps;
	return read(told.fd, &is, sizeof(is)) == sizeof(is) ? is : -1;
}

/* No more requests: the process is to end, with 0. */
static inline void stepped_end(pid_t pid)
{
	int status;

	ptrace(PTRACE_DETACH, stepped->tid, 0, 0);
	close(stepped_ask[1]);
	t_true(waitpid(pid, &status, 0) == pid && status == 0);
}

#endif
