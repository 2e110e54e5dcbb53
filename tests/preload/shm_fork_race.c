// SPDX-License-Identifier: MIT
/*
 * shm_fork_race: a process forks while another of its threads attaches its
 * first segments, and the children attach some too. A child must not be left
 * with what that thread was in the middle of.
 *
 * The bug: a child forked while the list of attachments grew could never attach
 * anything (ENOMEM), or died of its list.
 */
#include "t.h"

#include <pthread.h>
#include <sys/shm.h>

#define PROCESSES 300
/* More than any list has room for at first. */
#define SEGMENTS 300

static int id;

static void *attach_many(void *arg)
{
	volatile int *done = arg;
	int i;

	for (i = 0; i < SEGMENTS; i++)
		if (shmat(id, NULL, 0) == (void *)-1)
			break;
	*done = 1;
	return NULL;
}

/* In a child: 0, or errno; with 128 if it could attach, and not detach. */
static int attach_one(void)
{
	void *p = shmat(id, NULL, 0);

	if (p == (void *)-1)
		return errno;
	return shmdt(p) ? 128 + errno : 0;
}

/* Forks as long as its thread attaches; how many children could not. */
static int process(unsigned spin)
{
	volatile int done = 0;
	int status, failed = 0;
	volatile unsigned i;
	pthread_t t;
	pid_t pid;

	pthread_create(&t, NULL, attach_many, (void *)&done);
	for (i = 0; i < spin; i++)
		;
	do {
		pid = fork();
		if (!pid)
			_exit(attach_one());
		waitpid(pid, &status, 0);
		if (status) {
			failed++;
			dprintf(1, "a child: %s %d\n",
				WIFSIGNALED(status) ? "signal" : "errno",
				WIFSIGNALED(status) ? WTERMSIG(status)
						    : WEXITSTATUS(status));
		}
	} while (!done);
	pthread_join(t, NULL);
	return failed != 0;
}

int main(void)
{
	struct shmid_ds ds;
	int i, failed = 0;
	pid_t pid;

	t_begin();
	id = shmget(IPC_PRIVATE, 4096, 0600);
	for (i = 0; i < PROCESSES; i++) {
		pid = t_fork();
		if (!pid)
			_exit(process((unsigned)i * 101 % 20000));
		failed += t_join(pid) != 0;
	}
	t_true(failed == 0);
	t_eq(shmctl(id, IPC_STAT, &ds), 0);
	t_true(ds.shm_nattch == 0);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	return t_end();
}
