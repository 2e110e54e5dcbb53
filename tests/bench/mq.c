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
 *   victim		a unit of work, about ten milliseconds of sorting, of
 *			chasing pointers and of adding up, for each byte that is
 *			read; writes the CPU time of each, in ns
 *   count		--pairs sends and receives on such a queue as hammer's
 *
 * The last four are for `interfere`, beside this file.
 *
 * The workloads of full, fill, drain and hammer are those of Ledford 2012.
 */
#include "bench.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>

static long depth = 65528, size = 64, n_pairs = 1000;
static uint64_t rng = 88172645463325252ULL;
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

static void row(const char *what, double ns)
{
	printf("%s %.1f\n", what, ns);
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

/* All of fill, full and drain for one pattern. */
static void deep(const char *pattern)
{
	double fill = NEVER, full = NEVER, drain = NEVER, t;
	mqd_t q = make("/bench", depth);
	char name[40];
	long n = 100000;

	for (long r = 0; r < n_rounds; r++) {
		t = now_ns();
		for (long i = 0; i < depth - 1; i++)
			send_one(q, priority(pattern[0], i));
		keep_min(&fill, (now_ns() - t) / (depth - 1));
		t = now_ns();
		for (long i = 0; i < n; i++) {
			send_one(q, priority(pattern[0], i % depth));
			receive_one(q);
		}
		keep_min(&full, (now_ns() - t) / n);
		t = now_ns();
		for (long i = 0; i < depth - 1; i++)
			receive_one(q);
		keep_min(&drain, (now_ns() - t) / (depth - 1));
	}
	sprintf(name, "full-%s", pattern);
	row(name, full);
	sprintf(name, "fill-%s", pattern);
	row(name, fill);
	sprintf(name, "drain-%s", pattern);
	row(name, drain);
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
	row("ready", 0);
	while (read(0, &byte, 1) == 1) {
		t = cpu_ns();
		keep = victim_unit();
		row("unit", cpu_ns() - t);
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
	row("ready", 0);
	while (queue) {
		send_one(q, priority('r', 0));
		receive_one(q);
	}
	for (;;)
		__asm__ volatile("" ::: "memory");
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

static void case_deep(void)
{
	deep(case_name + strlen("deep-"));
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

static void case_hammer(void)
{
	hammer(1);
}

static void case_spin(void)
{
	hammer(0);
}

static const struct bench benches[] = {
	{"empty", case_empty},
	{"polled", case_polled},
	{"open", case_open},
	{"create", case_create},
	{"deep-constant", case_deep},
	{"deep-increasing", case_deep},
	{"deep-decreasing", case_deep},
	{"deep-random", case_deep},
	{"pingpong-2cpu", case_pingpong_2cpu},
	{"pingpong-1cpu", case_pingpong_1cpu},
	{"hammer", case_hammer},
	{"spin", case_spin},
	{"victim", victim},
	{"count", count},
	{0},
};

static const struct option_of options[] = {
	{"rounds", .number = &n_rounds},
	{"depth", .number = &depth},
	{"size", .number = &size},
	{"pairs", .number = &n_pairs},
	{0},
};

int main(int argc, char **argv)
{
	n_rounds = 5; /* each fills a deep queue */
	bench_main(argc, argv, options, benches, clean_up);
	return 0;
}
