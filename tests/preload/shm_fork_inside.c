// SPDX-License-Identifier: MIT
/*
 * shm_fork_inside: daemon and forkpty fork inside of libc, while another thread
 * attaches the process's first segment: their children are counted, too.
 *
 * The bug: nothing was attached when they were called, so libc's own functions
 * ran, whose fork was not announced; the attachment was made in between. The
 * child was counted only when its parent had exited, or at its own next call.
 */
#include "shm.h"
#include <pty.h>

static int seg, held, at_hand[2], told[2];
static char *at;

static void *attach(void *arg)
{
	at = s_at(seg);
	return arg;
}

/* The handler of pthread_atfork: the fork has begun. */
static void prepare(void)
{
	pthread_t t;

	if (!held)
		return;
	held = 0;
	pthread_create(&t, NULL, attach, NULL);
	pthread_join(t, NULL);
}

static void *wait_for_end(void *arg)
{
	pause();
	return arg;
}

/* A second thread, so that the process is not single-threaded. */
static void be_two(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_for_end, NULL);
}

/* In the child: without a call it says that it runs, and waits. */
static void child_end(void)
{
	char c;

	*at = 'c';
	t_quiet(write(told[1], "x", 1) == 1);
	t_quiet(read(at_hand[0], &c, 1) == 1);
	_exit(*at != 'c');
}

static void by_daemon(void)
{
	be_two();
	held = 1;
	if (daemon(1, 1))
		_exit(90);
	child_end();
}

static void by_forkpty(void)
{
	int master, runs[2];
	pid_t pid;
	char c;

	if (pipe(runs))
		_exit(92);
	/* Its terminal goes with its parent. */
	signal(SIGHUP, SIG_IGN);
	be_two();
	held = 1;
	pid = forkpty(&master, NULL, NULL, NULL);
	if (pid < 0)
		_exit(90);
	if (!pid) {
		t_quiet(write(runs[1], "x", 1) == 1);
		child_end();
	}
	/* Not before the child has its terminal. */
	t_quiet(read(runs[0], &c, 1) == 1);
	s_nattch(seg, 2);
	_exit(t_failed);
}

static void counted(const char *name, void (*make)(void))
{
	char *p, c;
	pid_t pid;

	t_story(name);
	if (pipe(told) || pipe(at_hand))
		exit(90);
	seg = s_seg(PAGE);
	pid = fork();
	if (!pid) {
		alarm(T_LIMIT);
		make();
		_exit(91);
	}
	t_eq(t_join(pid), 0);
	t_eq(read(told[0], &c, 1), 1);
	/* musl's daemon forks twice: the one in between may not have ended. */
	while (s_stat(seg).shm_nattch > 1)
		sched_yield();
	s_nattch(seg, 1);
	s_rm(seg);
	s_nattch(seg, 1);
	close(told[1]);
	t_eq(write(at_hand[1], "x", 1), 1);
	/* It has ended when nobody can write any more. */
	t_eq(read(told[0], &c, 1), 0);
	p = shmat(seg, NULL, 0);
	t_true(p == BAD);
	close(told[0]);
	close(at_hand[0]);
	close(at_hand[1]);
}

int main(void)
{
	t_begin();
	alarm(60);
	pthread_atfork(prepare, NULL, NULL);
	counted("daemon", by_daemon);
	counted("forkpty", by_forkpty);
	return s_end();
}
