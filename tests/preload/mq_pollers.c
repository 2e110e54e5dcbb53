// SPDX-License-Identifier: MIT
/*
 * mq_pollers: threads begin and end sleeping in poll(2) or select(2) on a
 * queue. The shim keeps the descriptor in step with the queue only while there
 * are pollers (mq/mqfifo.c): so each one's beginning and end counts, however it
 * ends, and a poll after messages were sent and received without pollers is
 * right.
 */
#include "mq.h"

static mqd_t q;
static volatile sig_atomic_t forks;
static pid_t made;

static int ready(int events)
{
	struct pollfd p = {q, (short)events, 0};

	return poll(&p, 1, 0) < 0 ? -1 : p.revents;
}

/* A process that polls until it is told, and ends with what it was told. */
static pid_t poller(int events, int times)
{
	pid_t pid = fork();
	struct pollfd p = {q, (short)events, 0};
	int n = 0;

	if (pid) {
		t_asleep(pid);
		return pid;
	}
	while (times--)
		while ((n = poll(&p, 1, -1)) < 0)
			;
	_exit(n == 1 ? p.revents : 99);
}

static int told(pid_t pid)
{
	int status;

	alarm(10);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static void between_polls(void)
{
	t_story("a poll after messages that nobody has polled for");
	t_eq(ready(POLLIN | POLLOUT), POLLOUT);
	for (int i = 0; i < 5; i++) {
		t_eq(q_put(q, "x", 0), 0);
		t_eq(q_put(q, "y", 0), 0);
		q_say(q);
		t_eq(ready(POLLIN), i == 5 ? 0 : POLLIN);
		q_say(q);
	}
	t_eq(ready(POLLIN | POLLOUT), POLLOUT);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(q_put(q, "y", 0), 0);
	t_eq(ready(POLLIN | POLLOUT), POLLIN);
	q_say(q);
	q_say(q);
	t_eq(ready(POLLIN), 0);
}

static void asleep(void)
{
	pid_t one, two, third;

	t_story("each sleeper is woken, though others have gone");
	one = poller(POLLIN, 1);
	two = poller(POLLIN, 1);
	third = poller(POLLIN, 1);
	kill(one, SIGKILL);
	t_eq(told(one), -1);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(told(two), POLLIN);
	t_eq(told(third), POLLIN);
	q_say(q);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(q_put(q, "y", 0), 0);
	one = poller(POLLOUT, 1);
	two = poller(POLLOUT, 1);
	q_say(q);
	t_eq(told(one), POLLOUT);
	t_eq(told(two), POLLOUT);
	q_say(q);
}

static void forking(int sig)
{
	(void)sig;
	if (!forks++)
		made = fork();
}

/* Both return from the handler into the poll, which ends in both. */
static pid_t forked_in_poll(void)
{
	struct sigaction act = {.sa_handler = forking};
	struct pollfd p = {q, POLLIN, 0};
	pid_t pid = fork();

	if (pid) {
		t_asleep(pid);
		return pid;
	}
	sigaction(SIGUSR1, &act, NULL);
	/* The handler may come before the poll. */
	while (!forks)
		poll(&p, 1, 20000);
	if (!made)
		_exit(0);
	while (waitpid(made, NULL, 0) < 0)
		;
	_exit(0);
}

static void forked(void)
{
	pid_t other, pid;

	t_story("one leaves a poll twice, by a handler that forks");
	for (int i = 0; i < 3; i++) {
		pid = forked_in_poll();
		other = poller(POLLIN, 1);
		kill(pid, SIGUSR1);
		t_eq(told(pid), 0);
		t_eq(q_put(q, "x", 0), 0);
		t_eq(told(other), POLLIN);
		q_say(q);
	}
	t_eq(ready(POLLIN), 0);
}

static void selected(void)
{
	struct timeval none = {0, 0};
	fd_set in;

	t_story("select");
	t_eq(q_put(q, "x", 0), 0);
	for (int i = 0; i < 3; i++) {
		FD_ZERO(&in);
		FD_SET(q, &in);
		t_eq(select(q + 1, &in, NULL, NULL, &none), 1);
		t_true(FD_ISSET(q, &in));
		q_say(q);
		FD_SET(q, &in);
		t_eq(select(q + 1, &in, NULL, NULL, &none), 0);
		t_eq(q_put(q, "x", 0), 0);
	}
	q_say(q);
}

int main(void)
{
	t_begin();
	q = q_open(NAME, RW | NB, 2, 32);
	between_polls();
	asleep();
	forked();
	selected();
	q_done(q);
	return t_end();
}
