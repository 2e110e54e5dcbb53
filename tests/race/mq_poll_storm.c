// SPDX-License-Identifier: MIT
/*
 * mq_poll_storm: what poll reports of a queue after all its users were killed
 * together.
 *
 * mq_poll_storm [--kills N] [--seed S] [--maxmsg M] [--edge | --by-name]
 *
 * N times two senders and two receivers work at a queue that is polled, without
 * sleeping, and are killed at a random moment. Then, before any other call on
 * the queue, it is polled by an inlined system call, as by a process asleep in
 * poll(2): this must report a message or space if there is one, and may report
 * one that is not. poll(2) by name must be right, and agree with mq_getattr(2)
 * before and after that.
 *
 * --by-name: it is polled only by poll(2), now and then, also by some of the
 * senders and receivers; then only its results are checked. --edge: a process
 * polls edge-triggered, which takes more packets per message. Prints one line;
 * the exit status is 1 if any of that is wrong.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "../preload/raw.h"
#include "storm.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#define N_WORKERS 4

static long n_rounds = 1500, seed = 1, maxmsg = 2;
static int with_edge, by_name;
static mqd_t q;
static unsigned n_wrong;

static int raw_poll(void)
{
	struct pollfd p = {q, POLLIN | POLLOUT, 0};
	struct timespec none = {0, 0};
	long ret = raw(SYS_ppoll, (long)&p, 1, (long)&none, 0);

	return ret < 0 ? -1 : p.revents & (POLLIN | POLLOUT);
}

static int named_poll(void)
{
	struct pollfd p = {q, POLLIN | POLLOUT, 0};

	return poll(&p, 1, 0) < 0 ? -1 : p.revents & (POLLIN | POLLOUT);
}

static _Noreturn void work(int sends)
{
	char buf[16] = "x";
	unsigned n = 0;

	for (;;) {
		if (by_name && !(++n & 3))
			named_poll();
		if (sends)
			mq_send(q, buf, 8, 0);
		else
			mq_receive(q, buf, sizeof(buf), NULL);
	}
}

static void wrong(const char *what, int got, long count)
{
	if (n_wrong++ < 20)
		fprintf(stderr, "wrong: %s: %s%swith %ld of %ld messages\n",
			what, got & POLLIN ? "IN " : "",
			got & POLLOUT ? "OUT " : "", count, maxmsg);
}

static void look(void)
{
	struct mq_attr attr;
	int before = raw_poll(), named = named_poll(), due;

	if (mq_getattr(q, &attr))
		storm_die("mq_getattr");
	due = (attr.mq_curmsgs ? POLLIN : 0) |
	      (attr.mq_curmsgs < maxmsg ? POLLOUT : 0);
	if (!by_name && (due & ~before))
		wrong("a sleeping poller", before, attr.mq_curmsgs);
	if (named != due)
		wrong("poll", named, attr.mq_curmsgs);
	if (!by_name && raw_poll() != due)
		wrong("poll after mq_getattr", raw_poll(), attr.mq_curmsgs);
}

static void one_round(struct storm_rng *rng)
{
	pid_t pid[N_WORKERS];
	int status;

	for (int i = 0; i < N_WORKERS; i++) {
		pid[i] = storm_fork();
		if (!pid[i])
			work(i & 1);
	}
	sleep_us(100 + storm_random(rng, 1500));
	for (int i = 0; i < N_WORKERS; i++)
		kill(pid[i], SIGKILL);
	for (int i = 0; i < N_WORKERS; i++)
		waitpid(pid[i], &status, 0);
	look();
}

static const struct option_of options[] = {
	{"kills", .number = &n_rounds},
	{"seed", .number = &seed},
	{"maxmsg", .number = &maxmsg},
	{"edge", .flag = &with_edge},
	{"by-name", .flag = &by_name},
	{0},
};

int main(int argc, char **argv)
{
	struct mq_attr attr = {.mq_msgsize = 16};
	struct epoll_event ev = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
	struct storm_rng rng;
	int ep;

	options_only(argc, argv, options);
	attr.mq_maxmsg = maxmsg;
	mq_unlink("/storm");
	q = mq_open(
		"/storm", O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &attr);
	if (q < 0)
		storm_die("mq_open");
	mq_unlink("/storm");
	storm_seed(&rng, (uint64_t)seed, 0);
	/* By number: then it is kept in step for good. */
	if (!by_name)
		syscall(SYS_poll, &(struct pollfd){q, POLLIN, 0}, 1, 0);
	if (with_edge) {
		ep = epoll_create1(0);
		epoll_ctl(ep, EPOLL_CTL_ADD, q, &ev);
	}
	for (long i = 0; i < n_rounds; i++) {
		/* A call that hangs is killed, and so the test. */
		alarm(20);
		one_round(&rng);
	}
	printf("mq_poll_storm: %ld rounds, maxmsg %ld%s, %u wrong\n", n_rounds,
		maxmsg, with_edge ? ", edges" : "", n_wrong);
	return n_wrong != 0;
}
