// SPDX-License-Identifier: MIT
/*
 * fork_first_call: a thread forks while another one of its process is in the
 * middle of the process's first call, at many places of it. The child, in which
 * no thread continues that call, makes calls of all kinds itself.
 *
 * The bug: the registry counted as mapped before its name was stored, and a
 * child made at that moment died of SIGSEGV when it attached a segment.
 */
#include "stepped.h"
#include <sys/msg.h>
#include <sys/shm.h>

#define STRIDE 97 /* instructions from one fork to the next; arbitrary */
#define MOST 400  /* forks, so that it takes seconds; arbitrary */

static void *first_call(void *arg)
{
	(void)arg;
	stepped->tid = (pid_t)syscall(SYS_gettid);
	while (!stepped->go)
		;
	semctl(semget(IPC_PRIVATE, 1, 0600), 0, IPC_RMID);
	stepped->done = 1;
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
	close(stepped_ask[1]);
	if (pthread_create(&t, NULL, first_call, NULL))
		_exit(1);
	while (read(stepped_ask[0], &c, 1) == 1) {
		int status = -1;
		pid_t pid = fork();

		if (!pid)
			_exit(calls_of_child());
		waitpid(pid, &status, 0);
		if (write(stepped_answer[1], &status, sizeof(status)) < 0)
			_exit(1);
	}
	pthread_join(t, NULL);
	_exit(0);
}

int main(void)
{
	int status, forks = 0, bad = 0;
	long steps = 0;
	pid_t pid;

	t_begin();
	alarm(5 * T_LIMIT);
	if (!stepped_make())
		return 1;
	pid = stepped_start(forker);
	stepped->go = 1;
	for (; stepped_step(); steps++) {
		if (steps % STRIDE || forks == MOST)
			continue;
		forks++;
		status = stepped_asked(0, &steps);
		if (status && !bad++)
			fprintf(stderr, "after %ld steps: status %x\n", steps,
				(unsigned)status);
	}
	t_true(stepped->done);
	t_true(forks > 0);
	t_true(bad == 0);
	stepped_end(pid);
	return t_end();
}
