// SPDX-License-Identifier: MIT
/*
 * msg: what one System V message call costs in the world it is run in.
 *
 *	msg [OPTIONS] CASE		(msg --list names the cases)
 *
 * prints `CASE ns`, the best of several inner rounds. Nothing is asserted. Run
 * it in a fresh namespace, `unshare --ipc --mount ./msg pair64`, and the same
 * binary under LD_PRELOAD of a shim; `compare --bin msg` does both and prints
 * the ratio.
 *
 *   pair64, pair8k	msgsnd and msgrcv of 64 bytes or 8 KiB, one process
 *   typed1000		the same of 8 bytes, by type, behind 999 messages of
 *			other types
 *   stream64		64-byte messages from one process to another on two
 *			CPUs; per message
 *   stream64-1cpu	the same, both on one CPU
 *   msg-pingpong-2cpu	a message there and one back, two processes on two
 *			CPUs; per round trip
 *   msg-pingpong-1cpu	the same, both on one CPU
 *   msg-pingpong-8	eight processes in pairs on two CPUs: elapsed time
 *			by the round trips of all pairs
 *   deep		pairs on an empty queue and on one with 100,000 messages
 *			of 50,000 types, for msgtyp 0, > 0 and < 0: six rows.
 *			Needs qbytes of 200,000: IPC_SET, or msgmnb in /proc
 *
 * Lines that begin with '#' are for people.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAIRS_MAX 64
#define QUEUES_MAX (2 * PAIRS_MAX)
#define DEEP_TYPES 50000
#define DEEP_MESSAGES 100000

/* One line a pair, so that the counters do not share a cache line. */
struct tally {
	_Alignas(64) volatile long round_trips;
};

/* Shared by all processes of pingpong-N. */
struct arena {
	volatile int stop;
	struct tally pair[PAIRS_MAX];
};

static const char *case_name = "?";
static int n_rounds = 7;
static long round_ns = 30 * 1000000L;

static int queue_id[QUEUES_MAX]; /* every queue that this run made */
static int n_queues;
static pid_t owner_pid;
static pid_t helper_pid[2 * PAIRS_MAX + 2];
static int n_helpers;

static int there, back; /* the queues of the running case */
static size_t text_size;
static long send_type, want_type;
static struct {
	long type;
	char text[8192];
} buf;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void sleep_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void clean_up(void)
{
	if (getpid() != owner_pid)
		return;
	for (int i = 0; i < n_helpers; i++)
		kill(helper_pid[i], SIGKILL);
	while (n_helpers > 0)
		waitpid(helper_pid[--n_helpers], NULL, 0);
	while (n_queues > 0)
		msgctl(queue_id[--n_queues], IPC_RMID, NULL);
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "msg: %s: %s: %s\n", case_name, what, strerror(errno));
	exit(1);
}

static void report(const char *suffix, double ns)
{
	printf("%s%s %.1f\n", case_name, suffix, ns);
}

static int queue_make(void)
{
	int id = msgget(IPC_PRIVATE, 0600);

	if (id < 0)
		die("msgget");
	queue_id[n_queues++] = id;
	return id;
}

static void remove_all(void)
{
	while (n_queues > 0)
		if (msgctl(queue_id[--n_queues], IPC_RMID, NULL))
			die("IPC_RMID");
}

static void send_to(int id, long type, size_t size)
{
	buf.type = type;
	if (msgsnd(id, &buf, size, 0))
		die("msgsnd");
}

static double best_of(void (*run)(long n))
{
	double best = 1e18, t, dt;
	long n = 16;

	for (;; n *= 2) {
		t = now_ns();
		run(n);
		dt = now_ns() - t;
		if (dt >= round_ns / 8.0)
			break;
	}
	n = (long)(n * (round_ns / dt)) + 1;
	for (int i = 0; i < n_rounds; i++) {
		t = now_ns();
		run(n);
		dt = (now_ns() - t) / n;
		if (dt < best)
			best = dt;
	}
	return best;
}

/* --- one queue, one process ----------------------------------------- */

static void run_pair(long n)
{
	while (n-- > 0) {
		buf.type = send_type;
		if (msgsnd(there, &buf, text_size, 0) ||
			msgrcv(there, &buf, sizeof(buf.text), want_type, 0) < 0)
			die("pair");
	}
}

static void pair(size_t size)
{
	there = queue_make();
	text_size = size;
	send_type = 1;
	want_type = 0;
	report("", best_of(run_pair));
}

static void case_pair64(void)
{
	pair(64);
}

static void case_pair8k(void)
{
	pair(8192);
}

static void case_typed1000(void)
{
	there = queue_make();
	for (long type = 1; type < 1000; type++)
		send_to(there, type, 8);
	text_size = 8;
	send_type = want_type = 1000;
	report("", best_of(run_pair));
}

static void qbytes_raise(int id, unsigned long qbytes)
{
	struct msqid_ds ds;
	int fd;

	if (msgctl(id, IPC_STAT, &ds))
		die("IPC_STAT");
	ds.msg_qbytes = qbytes;
	if (!msgctl(id, IPC_SET, &ds))
		return;
	fd = open("/proc/sys/kernel/msgmnb", O_WRONLY);
	if (fd >= 0) {
		dprintf(fd, "%lu\n", qbytes);
		close(fd);
	}
	if (!msgctl(id, IPC_SET, &ds))
		return;
	fprintf(stderr, "# deep: qbytes of %lu not allowed\n", qbytes);
	exit(77);
}

static void deep_rows(const char *depth, long type)
{
	char name[32];

	send_type = type;
	want_type = 0;
	snprintf(name, sizeof(name), "-%s-any", depth);
	report(name, best_of(run_pair));
	want_type = type;
	snprintf(name, sizeof(name), "-%s-type", depth);
	report(name, best_of(run_pair));
	send_type = 1;
	want_type = -DEEP_TYPES;
	snprintf(name, sizeof(name), "-%s-below", depth);
	report(name, best_of(run_pair));
}

static void case_deep(void)
{
	there = queue_make();
	qbytes_raise(there, 2 * DEEP_MESSAGES);
	text_size = 0;
	deep_rows("0", DEEP_TYPES / 2);
	/* odd steps visit every type, in no order */
	for (long i = 0; i < DEEP_MESSAGES; i++)
		send_to(there, 2 + i * 7919 % DEEP_TYPES, 0);
	deep_rows("100000", DEEP_TYPES + 5);
}

/* --- handing over --------------------------------------------------- */

static int cpu_pick(int nth)
{
	cpu_set_t all;

	if (sched_getaffinity(0, sizeof(all), &all))
		die("sched_getaffinity");
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nth-- == 0)
			return cpu;
	fprintf(stderr, "# %s needs two CPUs\n", case_name);
	exit(77);
}

static void cpu_pin(int a, int b)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(a, &set);
	CPU_SET(b, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/* 0 in the child, which ends with its parent */
static pid_t helper_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != owner_pid)
			_exit(1);
		return 0;
	}
	helper_pid[n_helpers++] = pid;
	return pid;
}

static void helpers_wait(void)
{
	while (n_helpers > 0) {
		int status;

		if (waitpid(helper_pid[--n_helpers], &status, 0) < 0 ||
			(WIFEXITED(status) && WEXITSTATUS(status))) {
			errno = ECHILD;
			die("a partner failed");
		}
	}
}

/* false once the queues are gone */
static bool hand_over(int out, int in, bool first)
{
	struct {
		long type;
		char text[64];
	} m;

	m.type = 1;
	if (first)
		return !msgsnd(out, &m, 64, 0) && msgrcv(in, &m, 64, 0, 0) >= 0;
	if (msgrcv(in, &m, 64, 0, 0) < 0)
		return false;
	m.type = 1;
	return !msgsnd(out, &m, 64, 0);
}

static _Noreturn void partner_run(int out, int in)
{
	while (hand_over(out, in, false))
		;
	_exit(errno == EIDRM || errno == EINVAL ? 0 : 1);
}

static void run_pingpong(long n)
{
	while (n-- > 0)
		if (!hand_over(there, back, true))
			die("pingpong");
}

static void pingpong_pair(int cpu_a, int cpu_b)
{
	double ns;

	there = queue_make();
	back = queue_make();
	if (!helper_fork()) {
		cpu_pin(cpu_b, cpu_b);
		partner_run(back, there);
	}
	cpu_pin(cpu_a, cpu_a);
	ns = best_of(run_pingpong);
	remove_all();
	helpers_wait();
	report("", ns);
}

/* The sender's time is the stream's: it cannot be more than a full queue
 * ahead. */
static void run_stream(long n)
{
	while (n-- > 0) {
		buf.type = 1;
		if (msgsnd(there, &buf, 64, 0))
			die("msgsnd");
	}
}

static void stream(int cpu_a, int cpu_b)
{
	double ns;

	there = queue_make();
	if (!helper_fork()) {
		cpu_pin(cpu_b, cpu_b);
		while (msgrcv(there, &buf, 64, 0, 0) >= 0)
			;
		_exit(errno == EIDRM || errno == EINVAL ? 0 : 1);
	}
	cpu_pin(cpu_a, cpu_a);
	ns = best_of(run_stream);
	remove_all();
	helpers_wait();
	report("", ns);
}

static void pair_start(struct arena *arena, int nth)
{
	int a = queue_make(), b = queue_make();

	if (!helper_fork()) {
		while (!arena->stop && hand_over(a, b, true))
			arena->pair[nth].round_trips++;
		_exit(0);
	}
	if (!helper_fork())
		partner_run(b, a);
}

static long pairs_total(struct arena *arena, int n_pairs)
{
	long sum = 0;

	for (int i = 0; i < n_pairs; i++)
		sum += arena->pair[i].round_trips;
	return sum;
}

static void pingpong_many(int n_procs)
{
	struct arena *arena = mmap(NULL, sizeof(*arena), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double best = 1e18;

	if (arena == MAP_FAILED)
		die("mmap");
	cpu_pin(cpu_pick(0), cpu_pick(1));
	for (int i = 0; i < n_procs / 2; i++)
		pair_start(arena, i);
	sleep_ms(100);
	for (int i = 0; i < n_rounds; i++) {
		long before = pairs_total(arena, n_procs / 2);
		double t = now_ns();

		sleep_ms(10 * round_ns / 1000000);
		t = now_ns() - t;
		before = pairs_total(arena, n_procs / 2) - before;
		if (before && t / before < best)
			best = t / before;
	}
	arena->stop = 1;
	remove_all();
	helpers_wait();
	report("", best);
}

static void case_stream(void)
{
	stream(cpu_pick(0), cpu_pick(1));
}

static void case_stream_1cpu(void)
{
	stream(cpu_pick(0), cpu_pick(0));
}

static void case_pingpong_2cpu(void)
{
	pingpong_pair(cpu_pick(0), cpu_pick(1));
}

static void case_pingpong_1cpu(void)
{
	pingpong_pair(cpu_pick(0), cpu_pick(0));
}

static void case_pingpong_8(void)
{
	pingpong_many(8);
}

/* --- the command ---------------------------------------------------- */

static const struct bench {
	const char *name;
	void (*run)(void);
} benches[] = {
	{"pair64", case_pair64},
	{"pair8k", case_pair8k},
	{"typed1000", case_typed1000},
	{"stream64", case_stream},
	{"stream64-1cpu", case_stream_1cpu},
	{"msg-pingpong-2cpu", case_pingpong_2cpu},
	{"msg-pingpong-1cpu", case_pingpong_1cpu},
	{"msg-pingpong-8", case_pingpong_8},
	{"deep", case_deep},
};

#define N_BENCHES (sizeof(benches) / sizeof(benches[0]))

static _Noreturn void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: msg [--rounds N] [--round-ms MS] CASE | --list\n");
	exit(status);
}

static const char *options_read(int argc, char **argv)
{
	static const struct option longs[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"round-ms", required_argument, NULL, 'm'},
		{"list", no_argument, NULL, 'l'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 'r')
			n_rounds = atoi(optarg);
		else if (c == 'm')
			round_ns = atol(optarg) * 1000000;
		else if (c == 'l') {
			for (size_t i = 0; i < N_BENCHES; i++)
				puts(benches[i].name);
			exit(0);
		} else
			usage(c == 'h' ? 0 : 2);
	}
	if (optind + 1 != argc || n_rounds < 1 || round_ns < 1)
		usage(2);
	return argv[optind];
}

int main(int argc, char **argv)
{
	case_name = options_read(argc, argv);
	owner_pid = getpid();
	setvbuf(stdout, NULL, _IOLBF, 0);
	atexit(clean_up);
	for (size_t i = 0; i < N_BENCHES; i++)
		if (!strcmp(case_name, benches[i].name)) {
			benches[i].run();
			return 0;
		}
	usage(2);
}
