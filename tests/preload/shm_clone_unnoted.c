// SPDX-License-Identifier: MIT
/*
 * shm_clone_unnoted: a process is killed before it knows the child that it has just
 * made in another pid namespace, and that has its segment attached.
 *
 * The bug: such a child gave up the lock by which others see that somebody still
 * has what the parent had. So there was nobody, and with IPC_RMID the segment went
 * from under it.
 */
#include "t.h"
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/shm.h>

static int told[2], go[2];
static char *at;

static int child(void *arg)
{
	char c;

	(void)arg;
	close(go[1]);
	if (write(told[1], "here", 5) != 5 || read(go[0], &c, 1) != 1 ||
		write(told[1], at, 5) != 5 || read(go[0], &c, 1) != 0)
		_exit(1);
	_exit(0);
}

static void attach(int id)
{
	close(go[1]);
	at = shmat(id, NULL, 0);
	strcpy(at, "mine");
}

static void clones(int id)
{
	static char stack[65536] __attribute__((aligned(16)));

	attach(id);
	/* CLONE_VFORK: it waits in the call until the child ends. */
	clone(child, stack + sizeof(stack),
		CLONE_NEWPID | CLONE_VFORK | SIGCHLD, NULL);
	_exit(1);
}

static void die(void)
{
	raise(SIGKILL);
}

static void forks(int id)
{
	attach(id);
	if (unshare(CLONE_NEWPID))
		_exit(1);
	pthread_atfork(NULL, die, NULL);
	if (!fork())
		child(NULL);
	_exit(1);
}

static long attached(int id)
{
	struct shmid_ds ds;

	return shmctl(id, IPC_STAT, &ds) ? -errno : (long)ds.shm_nattch;
}

static void killed(const char *story, void (*makes_child)(int))
{
	int id, status;
	char found[5] = "";
	pid_t parent;

	t_story(story);
	t_true(pipe(told) == 0 && pipe(go) == 0);
	id = shmget(IPC_PRIVATE, 4096, 0600);
	parent = t_fork();
	if (!parent)
		makes_child(id);
	t_true(read(told[0], found, sizeof(found)) == 5);
	kill(parent, SIGKILL);
	t_eq(t_join(parent), 1000 + SIGKILL);
	t_say("attached: %ld", attached(id));
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	t_say("attached: %ld", attached(id));
	t_true(write(go[1], "", 1) == 1);
	t_true(read(told[0], found, sizeof(found)) == 5);
	t_say("it sees: %s", found);
	close(go[1]);
	t_true(waitpid(-1, &status, 0) > 0);
	t_say("its end: %d", status);
	t_say("afterwards: %ld", attached(id));
}

int main(void)
{
	/* The children become ours. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	killed("in clone with CLONE_NEWPID", clones);
	killed("in fork, after unshare(CLONE_NEWPID)", forks);
	return t_end();
}
