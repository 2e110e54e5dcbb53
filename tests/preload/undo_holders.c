// SPDX-License-Identifier: MIT
/*
 * undo_holders: more than forty processes hold a unit of one set with SEM_UNDO,
 * and an operation after the exit of one of them finds its unit released:
 * whether it has checked all of them before, a holder was added or removed
 * since, it is made by a fork child, or a holder has its units by a thread that
 * called exec.
 *
 * This tests that each process notes the holders and walks along them again
 * only when there are others (sem/holders.h). If a new holder does not announce
 * itself, "one has come since" fails.
 */
#include "t.h"

#define MANY 40

static int id, ready[2];
static int held; /* units, as many as there should be */

static void told(void)
{
	char c;

	if (read(ready[0], &c, 1) != 1)
		t_say("FAIL read: errno %d", errno);
}

static void tell(void)
{
	if (write(ready[1], "", 1) != 1)
		_exit(91);
}

/* A process that holds a unit until it is killed. */
static pid_t holder(void)
{
	pid_t pid = t_fork();

	if (!pid) {
		semop(id, OPS({0, 1, U}));
		tell();
		for (;;)
			pause();
	}
	told();
	held++;
	return pid;
}

static void gone(pid_t pid)
{
	kill(pid, SIGKILL);
	t_join(pid);
	held--;
}

/* Operations that look at all holders. */
static void look(void)
{
	int i;

	for (i = 0; i < 3; i++)
		if (semop(id, OPS({1, 1, 0}, {1, -1, 0})))
			t_say("FAIL semop: errno %d", errno);
}

/* Does an operation see as many units as there are? */
static int sees(void)
{
	short n = (short)held;

	return semop(id, OPS({0, -n - 1, NW})) == -1 && errno == EAGAIN &&
	       !semop(id, OPS({0, -n, NW}, {0, n, 0}));
}

static void *take_and_execute(void *arg)
{
	(void)arg;
	semop(id, OPS({0, 1, U}));
	/* Its input does not end. */
	execl("/bin/cat", "cat", (char *)NULL);
	_exit(92);
}

/* The same by a thread that calls exec, which closes the pipe's end. */
static pid_t exec_holder(void)
{
	int in[2], out[2];
	pthread_t thread;
	char c;
	pid_t pid;

	if (pipe(in) || pipe(out))
		_exit(93);
	pid = t_fork();
	if (!pid) {
		dup2(in[0], 0);
		close(out[0]);
		fcntl(out[1], F_SETFD, FD_CLOEXEC);
		pthread_create(&thread, NULL, take_and_execute, NULL);
		for (;;)
			pause();
	}
	close(in[0]);
	close(out[1]);
	t_true(read(out[0], &c, 1) == 0);
	close(out[0]);
	held++;
	return pid;
}

/* A process that holds a unit looks, forks, and is killed: its child sees it. */
static void by_child(void)
{
	int on[2];
	pid_t pid, child = 0;
	char c;

	if (pipe(on))
		_exit(94);
	held++;
	pid = t_fork();
	if (!pid) {
		semop(id, OPS({0, 1, U}));
		look();
		child = t_fork();
		if (child)
			for (;;)
				pause();
		look();
		t_true(sees());
		tell();
		close(on[1]);
		if (read(on[0], &c, 1))
			_exit(95);
		held--;
		t_true(sees());
		tell();
		_exit(0);
	}
	told();
	gone(pid);
	close(on[1]);
	told();
	close(on[0]);
}

int main(void)
{
	pid_t first[MANY], one;
	int i, missed = 0;

	t_begin();
	id = t_set(2, VALS(0, 0));
	if (pipe(ready))
		return 1;
	for (i = 0; i < MANY; i++)
		first[i] = holder();
	look();
	t_true(sees());

	t_story("one after the other is killed");
	for (i = 0; i < 5; i++) {
		gone(first[i]);
		missed += !sees();
		look();
	}
	t_true(missed == 0);

	t_story("one has come since");
	one = holder();
	look();
	gone(one);
	t_true(sees());
	look();

	t_story("one has gone, another come, one has gone");
	gone(first[5]);
	look();
	first[5] = holder();
	look();
	gone(first[5]);
	t_true(sees());

	t_story("a child looks, one of them being its parent");
	look();
	by_child();
	t_true(sees());

	t_story("a thread has called exec");
	one = exec_holder();
	look();
	t_true(sees());
	gone(one);
	t_true(sees());

	t_story("all go");
	for (i = 6; i < MANY; i++)
		gone(first[i]);
	t_true(held == 0);
	t_true(sees());
	t_row(id, GETVAL, "0 0");
	t_rm(id);
	return t_end();
}
