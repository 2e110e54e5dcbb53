// SPDX-License-Identifier: MIT
/*
 * fork_first_call: a thread forks while another one of its process is in the
 * midst of the process's first call, at many places of it. The child, which has
 * nobody who goes on with that call, makes calls of all kinds itself.
 *
 * The bug: the registry was taken for mapped before its name was noted, and a
 * child of that moment died of SIGSEGV when it attached a segment.
 */
#include "t.h"
#include <poll.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/shm.h>

#define STRIDE 97 /* instructions from one fork to the next; arbitrary */
#define MOST 400  /* forks, so that it takes seconds; arbitrary */

static struct shared {
	volatile pid_t tid;
	volatile int go, done;
} * sh;
static int ask[2], answer[2];

static void *first_call(void *arg)
{
	(void)arg;
	sh->tid = (pid_t)syscall(SYS_gettid);
	while (!sh->go)
		;
	semctl(semget(IPC_PRIVATE, 1, 0600), 0, IPC_RMID);
	sh->done = 1;
	return NULL;
}

/* What is wrong; 0: nothing. */
static int calls_of_child(void)
{
	struct {
		long type;
		char text[8];
	} m = {1, "text"};
	int set = semget(IPC_PRIVATE, 1, 0600);
	int queue = msgget(IPC_PRIVATE, 0600);
	int id = shmget(IPC_PRIVATE, 4096, 0600), bad = 0;
	struct shmid_ds ds;
	char *p = shmat(id, NULL, 0);

	bad |= (semop(set, OPS({0, 1, U}, {0, -1, U})) != 0) << 0;
	bad |= (msgsnd(queue, &m, 8, 0) || msgrcv(queue, &m, 8, 0, 0) != 8)
	       << 1;
	if (p == (char *)-1) {
		bad |= 4;
	} else {
		p[0] = 1;
		bad |= (shmctl(id, IPC_STAT, &ds) || ds.shm_nattch != 1) << 3;
		bad |= (shmdt(p) != 0) << 4;
	}
	bad |= (shmctl(id, IPC_RMID, NULL) || msgctl(queue, IPC_RMID, NULL) ||
		       semctl(set, 0, IPC_RMID))
	       << 5;
	return bad;
}

static void forker(void)
{
	pthread_t t;
	char c;

	alarm(5 * T_LIMIT);
	close(ask[1]);
	if (pthread_create(&t, NULL, first_call, NULL))
		_exit(1);
	while (read(ask[0], &c, 1) == 1) {
		int status = -1;
		pid_t pid = fork();

		if (!pid)
			_exit(calls_of_child());
		waitpid(pid, &status, 0);
		if (write(answer[1], &status, sizeof(status)) < 0)
			_exit(1);
	}
	pthread_join(t, NULL);
	_exit(0);
}

/* One instruction of the first call. 0: it is over. */
static int step(void)
{
	int status;

	return !sh->done && !ptrace(PTRACE_SINGLESTEP, sh->tid, 0, 0) &&
	       waitpid(sh->tid, &status, __WALL) == sh->tid &&
	       WIFSTOPPED(status);
}

/* A fork here: what waitpid said of the child. It may have to wait for a lock
 * that the call holds, so that goes on if need be. */
static int forked_here(long *steps)
{
	struct pollfd told = {.fd = answer[0], .events = POLLIN};
	int status = -1, i;

	if (write(ask[1], "", 1) != 1)
		return -1;
	while (poll(&told, 1, sh->done ? -1 : 20) == 0)
		for (i = 0; i < STRIDE && step(); i++)
			++*steps;
	return read(answer[0], &status, sizeof(status)) == sizeof(status)
		       ? status
		       : -1;
}

int main(void)
{
	int status, forks = 0, bad = 0;
	long steps = 0;
	pid_t pid;

	t_begin();
	alarm(5 * T_LIMIT);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || pipe(ask) || pipe(answer))
		return 1;
	pid = t_fork();
	if (!pid)
		forker();
	close(ask[0]);
	close(answer[1]);
	while (!sh->tid)
		sched_yield();
	t_true(ptrace(PTRACE_SEIZE, sh->tid, 0, 0) == 0);
	t_quiet(ptrace(PTRACE_INTERRUPT, sh->tid, 0, 0) == 0);
	t_quiet(waitpid(sh->tid, &status, __WALL) == sh->tid);
	sh->go = 1;
	for (; step(); steps++) {
		if (steps % STRIDE || forks == MOST)
			continue;
		forks++;
		status = forked_here(&steps);
		if (status && !bad++)
			fprintf(stderr, "after %ld steps: status %x\n", steps,
				(unsigned)status);
	}
	t_true(sh->done);
	t_true(forks > 0);
	t_true(bad == 0);
	ptrace(PTRACE_DETACH, sh->tid, 0, 0);
	close(ask[1]);
	t_true(waitpid(pid, &status, 0) == pid && status == 0);
	return t_end();
}
