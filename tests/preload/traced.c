// SPDX-License-Identifier: MIT
/*
 * traced: a process whose system calls are shown (strace) meets no error that
 * it would not meet without; one that a debugger stops in its sleep is passed
 * over and has EINTR, as one stopped by a signal.
 *
 * The bug: a waker read in /proc whether the sleeper is stopped, which said
 * "tracing stop" also of one that strace held for a moment on its way into the
 * futex: semop failed with EINTR, in a third of the runs of 1,000 round trips.
 */
#include "msg.h"
#include "mq.h"

#include <sys/ptrace.h>

#define TRIPS 300
/* A tracer that prints holds its tracee for as long. */
#define PRINTS_NS 100000
/* Between a side's two calls, so that the one comes at any moment of the other
 * side's way into its sleep. */
#define PAUSE_NS(i) ((i) % 8 * PRINTS_NS / 2)

static int set, queue;

static void spin_ns(long ns)
{
	struct timespec t, begun;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while ((t.tv_sec - begun.tv_sec) * 1000000000 + t.tv_nsec -
			begun.tv_nsec <
		ns);
}

/* As strace does: each system call of pid stops before and after it. The exit
 * status of pid. */
static int show_calls(pid_t pid)
{
	int status;

	for (;;) {
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
		spin_ns(PRINTS_NS);
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL))
			return 98;
	}
}

/* Its calls, which answer those of the other side. 0, or an errno. */
static int sem_side(struct sembuf *first, struct sembuf *second)
{
	for (int i = 0; i < TRIPS; i++) {
		if (semop(set, first, 1))
			return errno;
		spin_ns(PAUSE_NS(i));
		if (semop(set, second, 1))
			return errno;
	}
	return 0;
}
static int sem_ask(void)
{
	return sem_side(&(struct sembuf){0, 1, 0}, &(struct sembuf){1, -1, 0});
}
static int sem_answer(void)
{
	return sem_side(&(struct sembuf){0, -1, 0}, &(struct sembuf){1, 1, 0});
}
/* A lock that both want. */
static int lock_side(void)
{
	for (int i = 0; i < TRIPS; i++) {
		if (semop(set, OPS({0, -1, U})))
			return errno;
		spin_ns(PAUSE_NS(i));
		if (semop(set, OPS({0, 1, U})))
			return errno;
	}
	return 0;
}

static int msg_side(long sends, long takes, int first_takes)
{
	struct m_buf b = {.type = sends};

	for (int i = 0; i < TRIPS; i++) {
		if (first_takes && msgrcv(queue, &b, 8, takes, 0) != 8)
			return errno;
		spin_ns(PAUSE_NS(i));
		b.type = sends;
		if (msgsnd(queue, &b, 8, 0))
			return errno;
		if (!first_takes && msgrcv(queue, &b, 8, takes, 0) != 8)
			return errno;
	}
	return 0;
}
static int msg_ask(void)
{
	return msg_side(1, 2, 0);
}
static int msg_answer(void)
{
	return msg_side(2, 1, 1);
}

/* One side traced, the other not, and the other way round. */
static void both(int (*ask)(void), int (*answer)(void))
{
	int (*const traced[])(void) = {ask, answer};
	int (*const free[])(void) = {answer, ask};
	pid_t a, b;

	for (int i = 0; i < 2; i++) {
		a = t_fork();
		if (!a) {
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
			raise(SIGSTOP);
			_exit(traced[i]());
		}
		b = t_fork();
		if (!b)
			_exit(free[i]());
		t_eq(show_calls(a), 0);
		t_eq(t_join(b), 0);
	}
}

/* A debugger comes to a sleeper, and looks around: for longer than a second, for
 * until then the shim takes it for a tracer that prints. */
static void debugged(void)
{
	pid_t a, b;
	int status;

	a = t_sleeper(set, OPS({0, -1, 0}));
	t_asleep(a);
	b = t_sleeper(set, OPS({0, -1, 0}));
	t_asleep(b);
	t_eq(ptrace(PTRACE_ATTACH, a, NULL, NULL), 0);
	t_true(waitpid(a, &status, 0) == a && WIFSTOPPED(status));
	spin_ns(1500000000);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_eq(t_join(b), 0);
	t_eq(ptrace(PTRACE_DETACH, a, NULL, NULL), 0);
	t_eq(t_join(a), EINTR);
	t_row(set, GETVAL, "0 0");
}

int main(void)
{
	t_begin();
	set = t_set(2, VALS(0, 0));
	queue = msgget(IPC_PRIVATE, 0600);
	t_story("semop");
	both(sem_ask, sem_answer);
	t_story("a lock with SEM_UNDO");
	t_eq(semctl(set, 0, SETVAL, 1), 0);
	both(lock_side, lock_side);
	t_eq(semctl(set, 0, SETVAL, 0), 0);
	t_story("msgsnd and msgrcv");
	both(msg_ask, msg_answer);
	t_story("a debugger");
	debugged();
	t_rm(set);
	msgctl(queue, IPC_RMID, NULL);
	return t_end();
}
