// SPDX-License-Identifier: MIT
/*
 * msg_gone: a queue is removed while another process is in msgrcv, at any
 * instruction before it sleeps. The queue's memory is then used for something
 * else: here for the adjustments that a third process applies at its exit, by
 * SEM_UNDO. All units must come back. (The receiver stored its CPU there
 * without the lock.)
 */
#include "t.h"
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/sem.h>

#define N_SEMS 100
#define STEPS_MAX 1200
#define STRIDE 5 /* the store is met from a few instructions before it */

static int q, set, other_cpu[2];
static struct {
	long type;
	char text[8];
} msg = {.type = 1};

static void run_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Two that this process may run on; the same one twice if there is no other. */
static void find_cpus(void)
{
	cpu_set_t cpus;
	int n = 0;

	sched_getaffinity(0, sizeof(cpus), &cpus);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &cpus))
			other_cpu[n++] = i;
	if (n == 1)
		other_cpu[1] = other_cpu[0];
}

static _Noreturn void receiver(void)
{
	/* The last who received, on one CPU, and is on another by now. */
	run_on(other_cpu[0]);
	msgrcv(q, &msg, sizeof(msg.text), 0, 0);
	run_on(other_cpu[1]);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	msgrcv(q, &msg, sizeof(msg.text), 0, 0);
	_exit(errno == EIDRM || errno == EINVAL ? 0 : errno);
}

/* 0 if it sleeps by now. */
static int step(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
		return 0;
	for (int i = 0; i < 300; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSTOPPED(status) &&
			       WSTOPSIG(status) == SIGTRAP;
		if (i > 100)
			t_nap();
	}
	return 0;
}

/* By another process: 0 if it waits for the one that is stopped, which then has
 * the queue for itself. */
static int removed(void)
{
	pid_t pid = t_fork();
	int status;

	if (pid == 0)
		_exit(msgctl(q, IPC_RMID, NULL) != 0);
	for (int i = 0; i < 1000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return 1;
		t_nap();
	}
	return 0;
}

static pid_t holder(int *ret_wait)
{
	struct sembuf ops[N_SEMS];
	int tell[2];
	pid_t pid;
	char c;

	pipe(tell);
	pid = t_fork();
	if (pid == 0) {
		for (int i = 0; i < N_SEMS; i++)
			ops[i] =
				(struct sembuf){(unsigned short)i, 1, SEM_UNDO};
		semop(set, ops, N_SEMS);
		write(tell[1], "x", 1);
		pause();
		_exit(0);
	}
	read(tell[0], &c, 1);
	close(tell[0]);
	close(tell[1]);
	*ret_wait = 0;
	return pid;
}

static int all_zero(void)
{
	unsigned short value[N_SEMS];

	semctl(set, 0, GETALL, value);
	for (int i = 0; i < N_SEMS; i++)
		if (value[i])
			return 0;
	return 1;
}

/* Stopped after n steps. 0 if it was asleep before that. */
static int stopped_at(int n)
{
	int status, slept = 0;
	pid_t pid, third;

	q = msgget(IPC_PRIVATE, 0600);
	pid = t_fork();
	if (pid == 0)
		receiver();
	run_on(other_cpu[0]);
	msgsnd(q, &msg, sizeof(msg.text), 0);
	waitpid(pid, &status, 0);
	for (int i = 0; i < n && !slept; i++)
		slept = !step(pid);
	if (!removed()) {
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		t_join(pid);
		waitpid(-1, &status, 0);
		return 0;
	}
	third = holder(&status);
	if (slept) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	} else {
		ptrace(PTRACE_DETACH, pid, NULL, NULL);
		t_quiet(t_join(pid) == 0);
	}
	kill(third, SIGKILL);
	waitpid(third, &status, 0);
	t_quiet(all_zero());
	return !slept;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	time_t end = time(NULL) + T_LIMIT / 4;

	t_begin();
	if (!getenv("LD_BIND_NOW") && !setenv("LD_BIND_NOW", "1", 1))
		execv("/proc/self/exe", argv);
	find_cpus();
	set = t_set(N_SEMS, NULL);
	semctl(set, 0, SETALL, (unsigned short[N_SEMS]){0});
	while (n < STEPS_MAX && !t_failed && time(NULL) < end && stopped_at(n))
		n += STRIDE;
	t_true(!t_failed);
	t_rm(set);
	return t_end();
}
