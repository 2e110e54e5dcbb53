// SPDX-License-Identifier: MIT
/*
 * mq: what one message queue call costs in the world it is run in.
 *
 *	mq [--depth N] [--size BYTES] [--rounds N] [--pairs N] CASE
 *
 * prints `CASE ns`, the best of several inner rounds. Nothing is asserted. Run
 * it in a fresh namespace, `unshare --ipc --mount ./mq empty`, and the same
 * binary under LD_PRELOAD; compare-mq beside it does both.
 *
 *   empty		send + receive of 64 B, the queue empty; per pair
 *   deep-PATTERN	three rows:
 *   full-PATTERN	on a queue of depth messages (less one): a receive and
 *			a send, per pair; PATTERN constant, increasing,
 *			decreasing, random: the priorities, of the fill too
 *   fill-PATTERN	filling it from empty; per message
 *   drain-PATTERN	draining it; per message
 *   polled		empty, after somebody polled the queue
 *   open		mq_open of an existing queue and mq_close
 *   create		mq_open(O_CREAT), mq_close, mq_unlink
 *   pingpong-2cpu	two processes on two CPUs, two queues; per round trip
 *   pingpong-1cpu	the same on one CPU
 *   hammer		send and receive without pause on a queue of depth
 *			messages of random priorities, until killed
 *   spin		only spin, until killed
 *
 * The last two are for `interfere`, beside this file, which pins them and runs
 * another job meanwhile.
 *
 * The workloads of full, fill, drain and hammer are those of Ledford 2012.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long depth = 65528, size = 64, n_pairs = 1000;
static int n_rounds = 5;
static uint64_t rng = 88172645463325252ULL;
static char buf[65536];

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "mq: %s: %s\n", what, strerror(errno));
	exit(1);
}

static mqd_t make(const char *name, long maxmsg)
{
	struct mq_attr attr = {.mq_maxmsg = maxmsg, .mq_msgsize = size};
	mqd_t q;

	mq_unlink(name);
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (q < 0)
		die("mq_open");
	return q;
}

static unsigned priority(char pattern, long i)
{
	switch (pattern) {
	case 'c':
		return 5;
	case 'i':
		return (unsigned)(i * 32768 / depth) % 32768;
	case 'd':
		return 32767 - (unsigned)(i * 32768 / depth) % 32768;
	default:
		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		return rng >> 40 & 32767;
	}
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

static void report(const char *what, double ns)
{
	printf("%s %.1f\n", what, ns);
	fflush(stdout);
}

static void pairs(const char *name, mqd_t q, long n)
{
	double best = 1e18;

	for (int r = 0; r < n_rounds; r++) {
		double t = now_ns();

		for (long i = 0; i < n; i++) {
			send_one(q, 0);
			receive_one(q);
		}
		t = (now_ns() - t) / n;
		if (t < best)
			best = t;
	}
	report(name, best);
}

static void empty(const char *name, int polled)
{
	mqd_t q = make("/bench", 10);
	struct pollfd p = {q, POLLIN | POLLOUT, 0};

	if (polled)
		poll(&p, 1, 0);
	pairs(name, q, 200000);
}

/* All of fill, full and drain for one pattern. */
static void deep(const char *pattern)
{
	double fill = 1e18, full = 1e18, drain = 1e18, t;
	mqd_t q = make("/bench", depth);
	char name[40];
	long n = 100000;

	for (int r = 0; r < n_rounds; r++) {
		t = now_ns();
		for (long i = 0; i < depth - 1; i++)
			send_one(q, priority(pattern[0], i));
		t = (now_ns() - t) / (depth - 1);
		fill = t < fill ? t : fill;
		t = now_ns();
		for (long i = 0; i < n; i++) {
			send_one(q, priority(pattern[0], i % depth));
			receive_one(q);
		}
		t = (now_ns() - t) / n;
		full = t < full ? t : full;
		t = now_ns();
		for (long i = 0; i < depth - 1; i++)
			receive_one(q);
		t = (now_ns() - t) / (depth - 1);
		drain = t < drain ? t : drain;
	}
	sprintf(name, "full-%s", pattern);
	report(name, full);
	sprintf(name, "fill-%s", pattern);
	report(name, fill);
	sprintf(name, "drain-%s", pattern);
	report(name, drain);
}

static void opening(int create)
{
	double best = 1e18;
	long n = 3000;

	if (!create)
		mq_close(make("/bench", 10));
	for (int r = 0; r < n_rounds; r++) {
		double t = now_ns();

		for (long i = 0; i < n; i++) {
			mq_close(create ? make("/bench", 10)
					: mq_open("/bench", O_RDWR));
			if (create)
				mq_unlink("/bench");
		}
		t = (now_ns() - t) / n;
		best = t < best ? t : best;
	}
	report(create ? "create" : "open", best);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void pingpong(const char *name, int other_cpu)
{
	mqd_t a = make("/ping", 2), b = make("/pong", 2);
	double best = 1e18;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(other_cpu);
		for (;;) {
			receive_one(a);
			send_one(b, 0);
		}
	}
	pin(0);
	/* Short ones: a third process on one of the CPUs is no part of it. */
	for (int r = 0; r < 5 * n_rounds; r++) {
		double t = now_ns();
		long n = 0;

		while (now_ns() - t < 2e7) {
			for (int i = 0; i < 20; i++, n++) {
				send_one(a, 0);
				receive_one(b);
			}
		}
		t = (now_ns() - t) / n;
		best = t < best ? t : best;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	mq_unlink("/ping");
	mq_unlink("/pong");
	report(name, best);
}

/* Sorted, chased and added up in turn; larger than the caches of one CPU. */
#define VICTIM_WORDS (1u << 20)
static uint32_t victim_words[VICTIM_WORDS], victim_sorted[40000];

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t victim_unit(void)
{
	uint32_t at = 0, sum = 0;
	long i;

	rng = 88172645463325252ULL;
	for (i = 0; i < 40000; i++)
		victim_sorted[i] = priority('r', i) << 15 | priority('r', i);
	qsort(victim_sorted, 40000, sizeof(*victim_sorted), by_value);
	for (i = 0; i < 150000; i++)
		at = victim_words[at];
	for (i = 0; i < (long)VICTIM_WORDS; i++)
		sum += victim_words[i];
	return at + sum + victim_sorted[20000];
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* One cycle through all words, in an order that no prefetcher knows. */
static void victim(void)
{
	volatile uint32_t keep;
	double t;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (uint32_t i = 0; i < VICTIM_WORDS; i++)
		victim_words[i] = i;
	for (uint32_t i = VICTIM_WORDS - 1; i > 0; i--) {
		uint32_t other = (priority('r', 0) << 15 | priority('r', 0)) %
				 i,
			 was = victim_words[i];

		victim_words[i] = victim_words[other];
		victim_words[other] = was;
	}
	report("ready", 0);
	while (read(0, &byte, 1) == 1) {
		t = cpu_ns();
		keep = victim_unit();
		report("unit", cpu_ns() - t);
	}
	(void)keep;
}

static void count(void)
{
	mqd_t q = make("/bench", depth);

	for (long i = 0; i < depth - 1; i++)
		send_one(q, priority('r', i));
	for (long i = 0; i < n_pairs; i++) {
		send_one(q, priority('r', 0));
		receive_one(q);
	}
}

static _Noreturn void hammer(int queue)
{
	mqd_t q = make("/bench", depth);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (long i = 0; queue && i < depth - 1; i++)
		send_one(q, priority('r', i));
	report("ready", 0);
	while (queue) {
		send_one(q, priority('r', 0));
		receive_one(q);
	}
	for (;;)
		__asm__ volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	static const struct option o[] = {{"depth", 1, 0, 'd'},
		{"size", 1, 0, 's'}, {"rounds", 1, 0, 'r'},
		{"pairs", 1, 0, 'p'}, {0}};
	const char *name;
	int c;

	while ((c = getopt_long(argc, argv, "", o, NULL)) != -1) {
		if (c == 'd')
			depth = atol(optarg);
		else if (c == 's')
			size = atol(optarg);
		else if (c == 'r')
			n_rounds = atoi(optarg);
		else if (c == 'p')
			n_pairs = atol(optarg);
		else
			return 2;
	}
	if (optind >= argc || size > (long)sizeof(buf))
		return 2;
	name = argv[optind];
	if (!strcmp(name, "empty"))
		empty(name, 0);
	else if (!strcmp(name, "polled"))
		empty(name, 1);
	else if (!strcmp(name, "open"))
		opening(0);
	else if (!strcmp(name, "create"))
		opening(1);
	else if (!strncmp(name, "deep-", 5))
		deep(name + 5);
	else if (!strcmp(name, "pingpong-2cpu"))
		pingpong(name, 1);
	else if (!strcmp(name, "pingpong-1cpu"))
		pingpong(name, 0);
	else if (!strcmp(name, "hammer") || !strcmp(name, "spin"))
		hammer(name[0] == 'h');
	else if (!strcmp(name, "victim"))
		victim();
	else if (!strcmp(name, "count"))
		count();
	else
		return 2;
	mq_unlink("/bench");
	return 0;
}
