// SPDX-License-Identifier: MIT
/*
 * mq_poll: readiness of a queue for poll, select and epoll, by level and by
 * edge, in this process and another (doc/kernel-semantics.md §7.10).
 */
#include "mq.h"

static mqd_t q;
static int tell[2], ask[2];

static const char *bits(int e)
{
	static char text[40];

	sprintf(text, "%s%s%s", e & POLLIN ? "IN " : "",
		e & POLLOUT ? "OUT " : "",
		e & ~(POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM) ? "more"
								  : "");
	return text;
}

static void look(mqd_t d)
{
	struct pollfd p = {d, POLLIN | POLLOUT, 0};
	struct timeval none = {0, 0};
	fd_set in, out;
	int n;

	poll(&p, 1, 0);
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(d, &in);
	FD_SET(d, &out);
	n = select(d + 1, &in, &out, NULL, &none);
	t_say("     poll %s select %d %s%s", bits(p.revents), n,
		FD_ISSET(d, &in) ? "in " : "", FD_ISSET(d, &out) ? "out" : "");
}

static void levels(long maxmsg)
{
	struct pollfd p = {.events = POLLIN};
	mqd_t r;

	t_say("-- levels, maxmsg %ld", maxmsg);
	q = q_open(NAME, RW | NB, maxmsg, 32);
	t_eq(q_put(q, "early", 0), 0);
	r = mq_open(NAME, O_WRONLY);
	look(q);
	look(r);
	q_say(q);
	look(q);
	for (int i = 0; i < maxmsg; i++) {
		t_eq(q_put(q, "x", i), 0);
		look(r);
	}
	t_err(q_put(q, "x", 0), EAGAIN);
	look(q);
	p.fd = q;
	t_eq(poll(&p, 1, -1), 1);
	t_eq(p.revents, POLLIN);
	for (int i = 0; i < maxmsg; i++) {
		q_say(q);
		look(q);
	}
	mq_close(r);
	q_done(q);
	t_story("the last descriptor was closed and the queue opened anew");
	q = q_open(NAME, RW | NB, 3, 32);
	look(q);
	t_eq(q_put(q, "x", 0), 0);
	look(q);
	mq_close(q);
	q = mq_open(NAME, RW);
	look(q);
	q_say(q);
	look(q);
	q_done(q);
}

static int told(void)
{
	struct pollfd p = {tell[0], POLLIN, 0};
	char c;

	return poll(&p, 1, T_LIMIT * 500) == 1 && read(tell[0], &c, 1) == 1
		       ? c
		       : -1;
}

static pid_t poller(short events)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		struct pollfd p = {q, events, 0};
		int n = poll(&p, 1, -1);

		_exit(n == 1 ? p.revents & 0x7f : 99);
	}
	t_asleep(pid);
	return pid;
}

static void wake(void)
{
	pid_t a, b;

	t_story("a poller in another process is woken");
	q = q_open(NAME, RW | NB, 2, 32);
	a = poller(POLLIN);
	b = poller(POLLIN);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(t_join(a), POLLIN);
	t_eq(t_join(b), POLLIN);
	t_eq(q_put(q, "x", 0), 0);
	a = poller(POLLOUT);
	q_say(q);
	t_eq(t_join(a), POLLOUT);
	q_say(q);
	a = poller(POLLIN);
	b = t_fork();
	if (b == 0) {
		mqd_t own = mq_open(NAME, O_WRONLY);

		_exit(q_put(own, "by another", 0) ? errno : 0);
	}
	t_eq(t_join(b), 0);
	t_eq(t_join(a), POLLIN);
	q_done(q);
}

/* Two queues and a pipe in one set. */
static void two_queues(void)
{
	struct epoll_event ev[4] = {0};
	mqd_t r;
	int ep = epoll_create1(0);

	t_story("two queues and a pipe in one epoll set");
	q = q_open(NAME, RW | NB, 2, 32);
	r = q_open("/other", RW | NB, 2, 32);
	ev[0] = (struct epoll_event){EPOLLIN, {.u32 = 1}};
	t_eq(epoll_ctl(ep, EPOLL_CTL_ADD, q, ev), 0);
	ev[0].data.u32 = 2;
	t_eq(epoll_ctl(ep, EPOLL_CTL_ADD, r, ev), 0);
	t_err(epoll_ctl(ep, EPOLL_CTL_ADD, r, ev), EEXIST);
	ev[0].data.u32 = 3;
	t_eq(epoll_ctl(ep, EPOLL_CTL_ADD, ask[0], ev), 0);
	t_eq(epoll_wait(ep, ev, 4, 0), 0);
	t_eq(q_put(r, "x", 0), 0);
	t_eq(epoll_wait(ep, ev, 4, -1), 1);
	t_eq(ev[0].data.u32, 2);
	t_eq(epoll_wait(ep, ev, 4, -1), 1);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(write(ask[1], "x", 1), 1);
	t_eq(epoll_wait(ep, ev, 4, -1), 3);
	q_say(q);
	q_say(r);
	t_eq(epoll_wait(ep, ev, 4, -1), 1);
	t_eq(ev[0].data.u32, 3);
	t_eq(read(ask[0], (char[1]){0}, 1), 1);
	mq_close(r);
	mq_unlink("/other");
	q_done(q);
	close(ep);
}

static void edge(int ep, const char *what)
{
	struct epoll_event ev = {0};
	int n = epoll_wait(ep, &ev, 1, 0);

	t_say("     %s: %d %s", what, n, n == 1 ? bits(ev.events) : "");
}

static void edges(unsigned events)
{
	struct epoll_event ev = {events | EPOLLET, {0}};
	int ep = epoll_create1(0);

	t_say("-- edges, asked for %s", bits(events));
	q = q_open(NAME, RW | NB, 3, 32);
	t_eq(epoll_ctl(ep, EPOLL_CTL_ADD, q, &ev), 0);
	edge(ep, "empty");
	edge(ep, "again");
	for (int i = 0; i < 3; i++) {
		q_put(q, "x", 0);
		edge(ep, "sent");
		edge(ep, "again");
	}
	for (int i = 0; i < 3; i++) {
		mq_receive(q, (char[32]){0}, 32, NULL);
		edge(ep, "received");
		edge(ep, "again");
	}
	q_put(q, "x", 0);
	q_put(q, "x", 0);
	edge(ep, "sent two");
	edge(ep, "again");
	q_done(q);
	close(ep);
}

/* A process that counts the edges it sees and tells of each. */
static void edges_elsewhere(void)
{
	struct epoll_event ev = {EPOLLIN | EPOLLET, {0}};
	pid_t pid;
	int ep;

	t_story("edges in another process: one for each message");
	q = q_open(NAME, RW | NB, 8, 32);
	pid = t_fork();
	if (pid == 0) {
		ep = epoll_create1(0);
		epoll_ctl(ep, EPOLL_CTL_ADD, q, &ev);
		write(tell[1], "r", 1);
		for (int i = 0; i < 5; i++) {
			epoll_wait(ep, &ev, 1, -1);
			write(tell[1], "e", 1);
		}
		_exit(0);
	}
	t_eq(told(), 'r');
	for (int i = 0; i < 5; i++) {
		t_asleep(pid);
		t_eq(q_put(q, "x", 0), 0);
		t_eq(told(), 'e');
	}
	t_eq(t_join(pid), 0);
	q_done(q);
}

static void sleepers(void)
{
	pid_t a, b;

	t_story("a message that is handed over wakes no poller");
	q = q_open(NAME, RW, 1, 32);
	a = poller(POLLIN);
	b = t_fork();
	if (b == 0)
		_exit(mq_receive(q, (char[32]){0}, 32, NULL) == 1 ? 0 : 1);
	t_asleep(b);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(t_join(b), 0);
	t_asleep(a);
	t_eq(q_put(q, "y", 0), 0);
	t_eq(t_join(a), POLLIN);
	t_story("nor does one that takes the place of another");
	a = poller(POLLOUT);
	b = t_fork();
	if (b == 0)
		_exit(q_put(q, "z", 0) ? errno : 0);
	t_asleep(b);
	q_say(q);
	t_eq(t_join(b), 0);
	t_asleep(a);
	look(q);
	q_say(q);
	t_eq(t_join(a), POLLOUT);
	q_done(q);
}

int main(void)
{
	t_begin();
	pipe(tell);
	pipe(ask);
	levels(1);
	levels(2);
	levels(4);
	wake();
	two_queues();
	edges(EPOLLIN | EPOLLOUT);
	edges(EPOLLIN);
	edges(EPOLLOUT);
	edges_elsewhere();
	sleepers();
	return t_end();
}
