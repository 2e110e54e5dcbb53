// SPDX-License-Identifier: MIT
/*
 * shm_fork_unread: a process is killed in fork, before it knows its child, and
 * the child has not run yet; another user, who may not read what /proc says of
 * it, asks how often the segment is attached.
 *
 * The bug: the child could not be told by its stack, so there was none, and its
 * attachments were dropped; with IPC_RMID the segment went from under it.
 */
#include "t.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/shm.h>

static void die(void)
{
	kill(getpid(), SIGKILL);
}
static void stop(void)
{
	raise(SIGSTOP);
}

static long attached(int id)
{
	struct shmid_ds ds;

	return shmctl(id, IPC_STAT, &ds) ? -errno : (long)ds.shm_nattch;
}

static void look(int id, uid_t uid)
{
	pid_t pid = t_fork();

	if (!pid) {
		if (uid && setresuid(uid, uid, uid))
			_exit(1);
		t_say("attached: %ld", attached(id));
		_exit(0);
	}
	t_eq(t_join(pid), 0);
}

/* Attaches, becomes another user, and forks. */
static void fork_and_die(int id, const int *told)
{
	char *at = shmat(id, NULL, 0);

	strcpy(at, "mine");
	if (setresuid(T_OTHER_UID, T_OTHER_UID, T_OTHER_UID))
		_exit(1);
	pthread_atfork(NULL, die, stop);
	if (!fork() && write(told[1], at, 5) == 5)
		pause();
	_exit(1);
}

int main(void)
{
	int id, told[2], status;
	char found[5] = "";
	pid_t parent, child;

	t_story("its parent died in fork, and it may not be read");
	/* The child becomes ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	t_true(pipe(told) == 0);
	id = shmget(IPC_PRIVATE, 4096, 0666);
	parent = t_fork();
	if (!parent)
		fork_and_die(id, told);
	t_eq(t_join(parent), 1000 + SIGKILL);
	child = waitpid(-1, &status, WUNTRACED);
	t_true(WIFSTOPPED(status));
	look(id, T_OTHER_UID - 1);
	look(id, T_OTHER_UID);
	look(id, 0);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	look(id, T_OTHER_UID - 1);
	kill(child, SIGCONT);
	t_true(read(told[0], found, sizeof(found)) == 5);
	t_say("it sees: %s", found);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	t_say("afterwards: %ld", attached(id));
	return t_end();
}
