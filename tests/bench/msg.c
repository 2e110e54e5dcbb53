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
#include "bench.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#define QUEUES_MAX (2 * PAIRS_MAX)
#define DEEP_TYPES 50000
#define DEEP_MESSAGES 100000

static int queue_id[QUEUES_MAX]; /* every queue that this run made */
static int n_queues;
static int there, back; /* the queues of the running case */
static size_t text_size;
static long send_type, want_type;
static struct {
	long type;
	char text[8192];
} buf;

static void clean_up(void)
{
	while (n_queues > 0)
		msgctl(queue_id[--n_queues], IPC_RMID, NULL);
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

static void answer(int out, int in)
{
	while (hand_over(out, in, false))
		;
}

static void partner(void)
{
	answer(back, there);
}

static void run_pingpong(long n)
{
	while (n-- > 0)
		if (!hand_over(there, back, true))
			die("pingpong");
}

static void pingpong_pair(int cpu_a, int cpu_b)
{
	there = queue_make();
	back = queue_make();
	report("", pair_best(cpu_a, cpu_b, partner, run_pingpong, remove_all));
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

static void receiver(void)
{
	while (msgrcv(there, &buf, 64, 0, 0) >= 0)
		;
}

static void stream(int cpu_a, int cpu_b)
{
	there = queue_make();
	report("", pair_best(cpu_a, cpu_b, receiver, run_stream, remove_all));
}

static void pair_start(struct arena *arena, int nth)
{
	int a = queue_make(), b = queue_make();

	if (!partner_fork()) {
		while (!arena->stop && hand_over(a, b, true))
			arena->pair[nth].round_trips++;
		_exit(0);
	}
	if (!partner_fork()) {
		answer(b, a);
		partner_exit();
	}
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
	report("", pairs_best(4, false, pair_start, remove_all));
}

/* --- the command ---------------------------------------------------- */

static const struct bench benches[] = {
	{"pair64", case_pair64},
	{"pair8k", case_pair8k},
	{"typed1000", case_typed1000},
	{"stream64", case_stream},
	{"stream64-1cpu", case_stream_1cpu},
	{"msg-pingpong-2cpu", case_pingpong_2cpu},
	{"msg-pingpong-1cpu", case_pingpong_1cpu},
	{"msg-pingpong-8", case_pingpong_8},
	{"deep", case_deep},
	{0},
};

int main(int argc, char **argv)
{
	bench_main(argc, argv, NULL, benches, clean_up);
	return 0;
}
