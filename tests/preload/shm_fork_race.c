// SPDX-License-Identifier: MIT
/*
 * shm_fork_race: a process forks while another of its threads attaches its
 * first segments, and the children attach some too. A child must not be left
 * with what that thread was in the middle of.
 *
 * The bugs: a child forked while the list of attachments grew could never
 * attach anything (ENOMEM), or died of its list; a parent read the list before
 * the fork without its lock, and died if it grew just then.
 */
#include "t.h"

#include <pthread.h>
#include <sys/shm.h>

#define PROCESSES 100
/* More than any list has space for at first. */
#define SEGMENTS 300

/* So many that none has many attachments: then exited tasks among those are
 * looked for before each fork. */
#define IDS 32

static int ids[IDS];

static void *attach_many(void *arg)
{
	volatile int *n = arg;

	while (*n < SEGMENTS && shmat(ids[*n % IDS], NULL, 0) != (void *)-1)
		(*n)++;
	*n = SEGMENTS;
	return NULL;
}

/* In a child: 0, or errno; with 128 if it could attach, and not detach. */
static int attach_one(void)
{
	void *p = shmat(ids[0], NULL, 0);

	if (p == (void *)-1)
		return errno;
	return shmdt(p) ? 128 + errno : 0;
}

/* Forks as long as its thread attaches, once that has so many; how many
 * children could not. */
static int process(int from)
{
	volatile int n = 0;
	int status, failed = 0;
	pthread_t t;
	pid_t pid;

	pthread_create(&t, NULL, attach_many, (void *)&n);
	while (n < from)
		sched_yield();
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
	} while (n < SEGMENTS);
	pthread_join(t, NULL);
	return failed != 0;
}

int main(void)
{
	struct shmid_ds ds;
	int i, status, failed = 0;
	pid_t pid;

	t_begin();
	for (i = 0; i < IDS; i++)
		ids[i] = shmget(IPC_PRIVATE, 4096, 0600);
	for (i = 0; i < PROCESSES; i++) {
		pid = t_fork();
		if (!pid)
			_exit(process(i * 101 % SEGMENTS));
		status = t_join(pid);
		if (status)
			printf("process %d: %d\n", i, status);
		failed += status != 0;
	}
	t_true(failed == 0);
	for (i = 0; i < IDS; i++) {
		t_eq(shmctl(ids[i], IPC_STAT, &ds), 0);
		t_true(ds.shm_nattch == 0);
		t_eq(shmctl(ids[i], IPC_RMID, NULL), 0);
	}
	return t_end();
}
