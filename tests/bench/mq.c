// SPDX-License-Identifier: MIT
/*
 * mq: what one message queue call costs in the world it is run in.
 *
 *	mq [--size BYTES] [--rounds N] CASE
 *
 * prints `CASE ns`, the best of several inner rounds. Nothing is asserted. Run
 * it in a fresh namespace, `unshare --ipc --mount ./mq empty`, and the same
 * binary under LD_PRELOAD; compare-mq beside it does both.
 *
 *   empty		send + receive of 64 B, the queue empty; per pair
 *   polled		empty, after somebody polled the queue
 *   open		mq_open of an existing queue and mq_close
 *   create		mq_open(O_CREAT), mq_close, mq_unlink
 *   pingpong-2cpu	two processes on two CPUs, two queues; per round trip
 *   pingpong-1cpu	the same on one CPU
 *
 * Deep queues, and what they cost a bystander, are measured by `ipclift bench`.
 */
#include "bench.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>

static long size = 64;
static char buf[65536];

static mqd_t make(const char *name, long maxmsg)
{
	struct mq_attr attr = {.mq_maxmsg = maxmsg, .mq_msgsize = size};
	mqd_t q;

	if (size > (long)sizeof(buf))
		die("--size");
	mq_unlink(name);
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (q < 0)
		die("mq_open");
	return q;
}

static void send_one(mqd_t q, unsigned prio)
{
	if (mq_send(q, buf, size, prio))
		die("mq_send");
}

static unsigned receive_one(mqd_t q)
{
	unsigned prio;

	if (mq_receive(q, buf, size, &prio) < 0)
		die("mq_receive");
	return prio;
}

static void pairs(mqd_t q, long n)
{
	double best = NEVER;

	for (long r = 0; r < n_rounds; r++) {
		double t = now_ns();

		for (long i = 0; i < n; i++) {
			send_one(q, 0);
			receive_one(q);
		}
		keep_min(&best, (now_ns() - t) / n);
	}
	report("", best);
}

static void empty(int polled)
{
	mqd_t q = make("/bench", 10);
	struct pollfd p = {q, POLLIN | POLLOUT, 0};

	if (polled)
		poll(&p, 1, 0);
	pairs(q, 200000);
}

static void opening(int create)
{
	double best = NEVER;
	long n = 3000;

	if (!create)
		mq_close(make("/bench", 10));
	for (long r = 0; r < n_rounds; r++) {
		double t = now_ns();

		for (long i = 0; i < n; i++) {
			mq_close(create ? make("/bench", 10)
					: mq_open("/bench", O_RDWR));
			if (create)
				mq_unlink("/bench");
		}
		keep_min(&best, (now_ns() - t) / n);
	}
	report("", best);
}

static void pingpong(int other_cpu)
{
	mqd_t a = make("/ping", 2), b = make("/pong", 2);
	double best = NEVER;

	if (!partner_fork()) {
		cpu_pin(other_cpu, other_cpu);
		for (;;) {
			receive_one(a);
			send_one(b, 0);
		}
	}
	cpu_pin(cpu_pick(0), cpu_pick(0));
	/* Short ones: a third process on one of the CPUs is no part of it. */
	for (long r = 0; r < 5 * n_rounds; r++) {
		double t = now_ns();
		long n = 0;

		while (now_ns() - t < 2e7) {
			for (int i = 0; i < 20; i++, n++) {
				send_one(a, 0);
				receive_one(b);
			}
		}
		keep_min(&best, (now_ns() - t) / n);
	}
	partners_kill();
	mq_unlink("/ping");
	mq_unlink("/pong");
	report("", best);
}

static void clean_up(void)
{
	mq_unlink("/bench");
	mq_unlink("/ping");
	mq_unlink("/pong");
}

static void case_empty(void)
{
	empty(0);
}

static void case_polled(void)
{
	empty(1);
}

static void case_open(void)
{
	opening(0);
}

static void case_create(void)
{
	opening(1);
}

static void case_pingpong_2cpu(void)
{
	pingpong(cpu_pick(1));
}

static void case_pingpong_1cpu(void)
{
	pingpong(cpu_pick(0));
}

static const struct bench benches[] = {
	{"empty", case_empty},
	{"polled", case_polled},
	{"open", case_open},
	{"create", case_create},
	{"pingpong-2cpu", case_pingpong_2cpu},
	{"pingpong-1cpu", case_pingpong_1cpu},
	{0},
};

static const struct option_of options[] = {
	{"rounds", .number = &n_rounds},
	{"size", .number = &size},
	{0},
};

int main(int argc, char **argv)
{
	bench_main(argc, argv, options, benches, clean_up);
	return 0;
}
