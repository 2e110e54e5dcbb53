// SPDX-License-Identifier: MIT
/*
 * two_queues: an event loop over two message queues and a socket.
 *
 *	cc -o two_queues two_queues.c
 *	ipclift run --private -- ./two_queues
 *
 * What you will see: three children write to the loop, each its own way, and
 * the loop prints what comes, urgent orders before the others:
 *
 *	orders: 'urgent order' (priority 9)
 *	orders: 'order 1' (priority 1)
 *	...
 *	log: 'child says hello'
 *	socket: 'over the socket'
 *	done: 4 orders, 2 log lines, 1 over the socket
 *
 * Nothing in it knows of ipclift: a queue's descriptor is put into an epoll set
 * beside a socket's, which Linux allows and POSIX does not promise.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ORDERS, LOG, SOCKET };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static mqd_t make(const char *name)
{
	struct mq_attr attr = {.mq_maxmsg = 8, .mq_msgsize = 64};
	mqd_t q;

	mq_unlink(name);
	q = mq_open(
		name, O_RDONLY | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attr);
	if (q < 0)
		die(name);
	return q;
}

static void child(const char *name, const char *const *lines,
	const unsigned *prios, int n)
{
	mqd_t q;

	if (fork())
		return;
	q = mq_open(name, O_WRONLY);
	if (q < 0)
		die("mq_open in a child");
	for (int i = 0; i < n; i++)
		if (mq_send(q, lines[i], strlen(lines[i]), prios[i]))
			die("mq_send");
	_exit(0);
}

static int drain(const char *what, mqd_t q)
{
	char text[65];
	unsigned prio;
	ssize_t len;
	int n = 0;

	while ((len = mq_receive(q, text, 64, &prio)) >= 0) {
		text[len] = 0;
		printf("%s: '%s' (priority %u)\n", what, text, prio);
		n++;
	}
	if (errno != EAGAIN)
		die("mq_receive");
	return n;
}

static void watch(int ep, int fd, unsigned what)
{
	struct epoll_event ev = {EPOLLIN, {.u32 = what}};

	if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
		die("epoll_ctl");
}

int main(void)
{
	static const char *const orders[] = {
		"order 1", "order 2", "urgent order", "order 3"};
	static const char *const lines[] = {"child says hello", "and goodbye"};
	static const unsigned prios[] = {1, 1, 9, 1};
	int ep = epoll_create1(0), pair[2], count[3] = {0};
	mqd_t q = make("/example-orders"), log = make("/example-log");
	struct epoll_event ev;
	char text[64];
	ssize_t len;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		die("socketpair");
	watch(ep, q, ORDERS);
	watch(ep, log, LOG);
	watch(ep, pair[0], SOCKET);
	child("/example-orders", orders, prios, 4);
	child("/example-log", lines, prios, 2);
	if (!fork()) {
		len = write(pair[1], "over the socket", 15);
		_exit(len != 15);
	}
	while (count[ORDERS] < 4 || count[LOG] < 2 || !count[SOCKET]) {
		if (epoll_wait(ep, &ev, 1, 5000) != 1)
			die("epoll_wait");
		if (ev.data.u32 == ORDERS)
			count[ORDERS] += drain("orders", q);
		if (ev.data.u32 == LOG)
			count[LOG] += drain("log", log);
		if (ev.data.u32 == SOCKET) {
			len = read(pair[0], text, sizeof(text));
			printf("socket: '%.*s'\n", (int)len, text);
			count[SOCKET]++;
		}
	}
	while (wait(NULL) > 0)
		;
	mq_unlink("/example-orders");
	mq_unlink("/example-log");
	printf("done: %d orders, %d log lines, %d over the socket\n",
		count[ORDERS], count[LOG], count[SOCKET]);
	return 0;
}
