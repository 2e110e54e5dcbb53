// SPDX-License-Identifier: MIT
/*
 * POSIX queues by depth (T3 of doc/reference-tables.md).
 *
 * depth-PATTERN depth=N
 *	send, receive: ns of one on a queue of N - BATCH to N messages of 64
 *	bytes, of constant, increasing, decreasing or random priorities; N = 16
 *	is the empty queue. fill, drain: ns a message, from empty to N and back
 * bystander depth=N
 *	slowdown: by how many percent a job on one CPU takes more CPU time
 *	beside a process on the other that hits such a queue without a pause
 *	than beside one that only spins; the median of rounds in turn
 *
 * The workloads of Ledford 2012. Sends and receives go in short batches, so
 * that reading the clock costs neither of them anything.
 */
#include "tool/bench/work/worker.h"

#include "tool/bench/work/frame.h"

#include <fcntl.h>
#include <mqueue.h>

#define BATCH 16
#define SIZE 64

static char text[SIZE];
static long depth;
static mqd_t queue;
static unsigned (*priority)(long i);

/* Where the messages' share or the user's allows no such queue, there is none
 * to be timed. */
static void queue_make(void)
{
	struct mq_attr attr = {.mq_msgsize = SIZE};

	depth = work_arg("depth", 1000);
	attr.mq_maxmsg = depth;
	queue = mq_open("/bench", O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (queue == -1) {
		fprintf(stderr, "# a queue of %ld messages: %s\n", depth,
			errno == EMFILE ? "beyond RLIMIT_MSGQUEUE"
					: strerror(errno));
		exit(CANNOT_BE_TIMED);
	}
}

/* --- patterns --------------------------------------------------------- */

static unsigned constant(long i)
{
	(void)i;
	return 5;
}

static unsigned increasing(long i)
{
	return (unsigned)(i % depth * 32768 / depth);
}

static unsigned decreasing(long i)
{
	return 32767 - increasing(i);
}

static unsigned at_random(long i)
{
	(void)i;
	return rng_next() >> 40 & 32767;
}

static void pattern_choose(void)
{
	priority = strstr(case_name, "constant")     ? constant
		   : strstr(case_name, "increasing") ? increasing
		   : strstr(case_name, "decreasing") ? decreasing
						     : at_random;
}

/* --- depth ------------------------------------------------------------ */

/* ns each of n, of the pattern from its ith on */
static double send_some(long i, long n)
{
	double t = now_ns();

	for (long end = i + n; i < end; i++)
		must(!mq_send(queue, text, SIZE, priority(i)), "mq_send");
	return (now_ns() - t) / (double)n;
}

static double receive_some(long n)
{
	double t = now_ns();

	for (long i = 0; i < n; i++)
		must(mq_receive(queue, text, SIZE, NULL) == SIZE, "mq_receive");
	return (now_ns() - t) / (double)n;
}

/* The mean of all batches of a round, so that the dear ones count, too. */
static void full_round(double *send, double *receive)
{
	long turns = round_ms * 100;
	double s = 0, r = 0;

	for (long i = 0; i < turns; i++) {
		r += receive_some(BATCH);
		s += send_some(depth + i * BATCH, BATCH);
	}
	keep_min(send, s / (double)turns);
	keep_min(receive, r / (double)turns);
}

static void bench_depth(void)
{
	double fill = NEVER, drain = NEVER, send = NEVER, receive = NEVER, x;

	queue_make();
	pattern_choose();
	for (long r = 0; r < n_rounds; r++) {
		keep_min(&fill, send_some(0, depth));
		full_round(&send, &receive);
		keep_min(&drain, receive_some(depth));
	}
	x = (double)depth;
	figure("send", x, send);
	figure("receive", x, receive);
	if (depth > BATCH) {
		figure("fill", x, fill);
		figure("drain", x, drain);
	}
}

/* --- a bystander ------------------------------------------------------ */

/* Sorted, chased and added up in turn; larger than the caches of one CPU. */
#define VICTIM_WORDS (1u << 20)
#define SORTED 40000
#define CHASED 150000
static uint32_t words[VICTIM_WORDS], sorted[SORTED];

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* About ten milliseconds. */
static uint32_t victim_unit(void)
{
	uint32_t at = 0, sum = 0, x = 1;

	for (long i = 0; i < SORTED; i++)
		sorted[i] = x = x * 1664525 + 1013904223;
	qsort(sorted, SORTED, sizeof(*sorted), by_value);
	for (long i = 0; i < CHASED; i++)
		at = words[at];
	for (long i = 0; i < (long)VICTIM_WORDS; i++)
		sum += words[i];
	return at + sum + sorted[SORTED / 2];
}

/* One cycle through all words, in an order that no prefetcher knows. */
static void victim_prepare(void)
{
	for (uint32_t i = 0; i < VICTIM_WORDS; i++)
		words[i] = i;
	for (uint32_t i = VICTIM_WORDS - 1; i > 0; i--) {
		uint32_t other = (uint32_t)(rng_next() >> 20) % i;
		uint32_t was = words[i];

		words[i] = words[other];
		words[other] = was;
	}
}

static double victim_cpu_ns(void)
{
	struct timespec t[2];

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[0]);
	/* Its result is used, or it would not be worked out. */
	__asm__ volatile("" ::"r"(victim_unit()));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t[1]);
	return (double)(t[1].tv_sec - t[0].tv_sec) * 1e9 +
	       (double)(t[1].tv_nsec - t[0].tv_nsec);
}

/* A process on the CPU, stopped; the queue is hit or not. */
static pid_t neighbour(int cpu, int hits)
{
	pid_t pid = partner_fork();
	int status;

	if (pid) {
		must(waitpid(pid, &status, WUNTRACED) == pid &&
				WIFSTOPPED(status),
			"the neighbour");
		return pid;
	}
	cpu_pin(cpu, cpu);
	if (hits)
		send_some(0, depth - 1);
	raise(SIGSTOP);
	if (hits)
		for (long i = depth;; i++) {
			send_some(i, 1);
			receive_some(1);
		}
	for (;;)
		__asm__ volatile("" ::: "memory");
}

/* The least CPU time of a few units beside it. */
static double beside(pid_t pid)
{
	double least = NEVER;

	kill(pid, SIGCONT);
	victim_cpu_ns();
	for (int i = 0; i < 3; i++)
		keep_min(&least, victim_cpu_ns());
	kill(pid, SIGSTOP);
	return least;
}

static void bench_bystander(void)
{
	int cpu[2] = {cpu_pick(0), cpu_pick(1)};
	long rounds = work_arg("units", 50);
	double *percent = share((size_t)rounds * sizeof(*percent));
	pid_t spins, hits;

	queue_make();
	priority = at_random;
	victim_prepare();
	spins = neighbour(cpu[1], 0);
	hits = neighbour(cpu[1], 1);
	cpu_pin(cpu[0], cpu[0]);
	for (long i = 0; i < rounds; i++) {
		/* Who comes first changes. */
		double a = beside(i & 1 ? hits : spins);
		double b = beside(i & 1 ? spins : hits);

		percent[i] = 100 * ((i & 1 ? a / b : b / a) - 1);
	}
	qsort(percent, (size_t)rounds, sizeof(*percent), by_size);
	figure("slowdown", (double)depth, percent[rounds / 2]);
}

const struct work depth_works[] = {
	{"depth-constant", bench_depth},
	{"depth-increasing", bench_depth},
	{"depth-decreasing", bench_depth},
	{"depth-random", bench_depth},
	{"bystander", bench_bystander},
	{0},
};
