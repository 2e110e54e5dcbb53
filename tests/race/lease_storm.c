// SPDX-License-Identifier: MIT
/*
 * lease_storm: no message is lost with its receiver from a queue with leases.
 *
 * 	lease_storm [--kills N] [--receivers R] [--seed S]
 *
 * Under the shim with IPCLIFT_LEASE=msg,mq. R receivers work on a System V and
 * R on a POSIX queue; the parent sends numbered messages to both, a few ahead
 * of what was done, and SIGKILLs a receiver at a random moment and starts
 * another in its place, N times. A receiver does a message by counting it in
 * shared memory; now and then it acknowledges at once, or ends in order and is
 * started again. What is looked at:
 *
 * - Each message is done; more than once only where a receiver was killed:
 * there are
 *   no more doubles than kills.
 * - Each is whole: its length and bytes follow from its number.
 * - Nobody hangs, and both queues are empty at the end.
 *
 * Prints one line; the exit status is 1 where any of that is wrong.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#define PROCS_MAX 16
#define NUMBERS_MAX 2000000
#define TEXT_MAX 5000
/* Sent and not done yet; below what the queues hold. */
#define AHEAD 8

struct packet {
	long type;
	uint32_t number;
	unsigned char rest[TEXT_MAX];
};
#define HEAD sizeof(uint32_t)

static struct shared {
	volatile int stop;
	_Atomic uint32_t violations;
	volatile uint64_t progress;
	struct watchdog dog;
} * sh;
static _Atomic uint8_t *done[2]; /* times, by number */
static struct storm_rng rng;
static int msgid;
static mqd_t mq;
static int (*ack)(int kind, int id);
static long n_kills = 3000, n_receivers = 3, seed = 1;
static uint32_t n_sent[2];

static void violation(const char *what, long a, long b)
{
	if (sh->violations++ < 20)
		fprintf(stderr, "violation: %s (%ld, %ld; %s)\n", what, a, b,
			strerror(errno));
}

static uint32_t size_of(uint32_t number)
{
	uint32_t x = number * 2654435761u >> 8;

	return HEAD + (x % 8 ? x % 200 : x % (TEXT_MAX - HEAD));
}

static unsigned char byte_at(uint32_t number, uint32_t i)
{
	return (unsigned char)(number * 31 + i * 7);
}

/* Messages of several types and priorities, so that they are not taken in
 * order. */
static int give(int kind, uint32_t n)
{
	static struct packet p;
	uint32_t i, size = size_of(n);

	p.type = 1 + n % 3;
	p.number = n;
	for (i = 0; i < size - HEAD; i++)
		p.rest[i] = byte_at(n, i);
	return kind ? mq_send(mq, (char *)&p.number, size, n % 3)
		    : msgsnd(msgid, &p, size, 0);
}

static void check(int kind, const struct packet *p, long got)
{
	uint32_t i;

	if (got < (long)HEAD || p->number >= NUMBERS_MAX ||
		got != (long)size_of(p->number)) {
		violation("a torn message", kind, got);
		return;
	}
	for (i = 0; i < got - HEAD; i++)
		if (p->rest[i] != byte_at(p->number, i)) {
			violation("a wrong byte", i, p->number);
			return;
		}
	done[kind][p->number]++;
}

static _Noreturn void receiver_run(int kind, uint32_t salt)
{
	static const long types[] = {0, 0, 0, 1, 2, -2};
	struct storm_rng r;
	struct packet p;
	long got, type;

	storm_seed(&r, (uint64_t)seed, salt + 1000000);
	while (!sh->stop) {
		type = types[storm_random(&r, 6)];
		got = kind ? mq_receive(mq, (char *)&p.number, TEXT_MAX + HEAD,
				     NULL)
			   : msgrcv(msgid, &p, TEXT_MAX + HEAD, type,
				     type ? IPC_NOWAIT : 0);
		if (got < 0 && errno != ENOMSG && !sh->stop)
			violation("receive", kind, errno);
		if (got < 0)
			continue;
		if (!storm_random(&r, 4))
			spin_us(storm_random(&r, 30));
		check(kind, &p, got);
		sh->progress++;
		if (!storm_random(&r, 16))
			ack(kind ? 3 : 1, kind ? (int)mq : msgid);
		if (!storm_random(&r, 64))
			exit(0);
	}
	_exit(0);
}

static pid_t start(int place, uint32_t salt)
{
	pid_t pid = storm_fork();

	if (!pid)
		receiver_run(place & 1, salt);
	return pid;
}

/* The first number that is not done. */
static uint32_t first_open(int kind)
{
	static uint32_t first[2];

	while (first[kind] < n_sent[kind] && done[kind][first[kind]])
		first[kind]++;
	return first[kind];
}

static void feed(void)
{
	int kind;

	for (kind = 0; kind < 2; kind++)
		while (n_sent[kind] < NUMBERS_MAX &&
			n_sent[kind] < first_open(kind) + AHEAD)
			if (give(kind, n_sent[kind]++))
				violation("send", kind, errno);
}

/* Nobody is killed any more: until all is done. */
static void finish(pid_t *proc, uint32_t n)
{
	uint32_t salt = 1u << 30, i;
	int status;

	while (!sh->dog.stuck &&
		(first_open(0) < n_sent[0] || first_open(1) < n_sent[1])) {
		for (i = 0; i < n; i++)
			if (waitpid(proc[i], &status, WNOHANG) == proc[i])
				proc[i] = start((int)i, salt++);
		sleep_us(1000);
	}
	sh->dog.hold = 1;
}

static long storm(pid_t *proc, uint32_t n)
{
	uint32_t salt = n;
	long kills = 0, place;
	int status;

	while (kills < n_kills && !sh->dog.stuck) {
		feed();
		storm_pause(&rng);
		place = storm_random(&rng, n);
		kill(proc[place], SIGKILL);
		if (waitpid(proc[place], &status, 0) != proc[place])
			storm_die("waitpid");
		if (WIFSIGNALED(status))
			kills++;
		else if (WEXITSTATUS(status))
			violation("a receiver's end", place, status);
		proc[place] = start((int)place, salt++);
	}
	feed();
	return kills;
}

static void parse(int argc, char **argv)
{
	static const struct option_of options[] = {
		{"kills", .number = &n_kills},
		{"receivers", .number = &n_receivers},
		{"seed", .number = &seed},
		{0},
	};

	options_read(argc, argv, options);
	if (n_receivers < 1 || 2 * n_receivers > PROCS_MAX) {
		fprintf(stderr, "--receivers: 1 to %d\n", PROCS_MAX / 2);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = TEXT_MAX + HEAD};
	pid_t proc[PROCS_MAX];
	struct msqid_ds ds;
	long kills, doubles = 0;
	uint32_t i, n;
	int kind, status;

	parse(argc, argv);
	ack = (int (*)(int, int))dlsym(RTLD_DEFAULT, "ipclift_ack");
	if (!ack) {
		fputs("no ipclift_ack: only under the shim\n", stderr);
		return 2;
	}
	n = 2 * (uint32_t)n_receivers;
	sh = storm_share(sizeof(*sh));
	for (kind = 0; kind < 2; kind++)
		done[kind] = storm_share(NUMBERS_MAX);
	storm_seed(&rng, (uint64_t)seed, 0);
	msgid = msgget(IPC_PRIVATE, 0600);
	mq = mq_open("/lease_storm", O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (msgid < 0 || mq < 0)
		storm_die("queues");
	for (i = 0; i < n; i++)
		proc[i] = start((int)i, i);
	watchdog_start(&sh->dog, &sh->progress);
	kills = storm(proc, n);
	finish(proc, n);
	sh->stop = 1;
	for (i = 0; i < n; i++)
		kill(proc[i], SIGKILL);
	sh->dog.stop = 1;
	while (wait(&status) > 0)
		;
	if (sh->dog.stuck)
		violation("no progress", first_open(0), first_open(1));
	for (kind = 0; kind < 2; kind++)
		for (i = 0; i < n_sent[kind]; i++) {
			if (!done[kind][i])
				violation("lost", kind, i);
			doubles += done[kind][i] > 1 ? done[kind][i] - 1 : 0;
		}
	if (doubles > kills)
		violation("more doubles than kills", doubles, kills);
	msgctl(msgid, IPC_STAT, &ds);
	mq_getattr(mq, &attr);
	if (ds.msg_qnum > (unsigned long)n || attr.mq_curmsgs > (long)n)
		violation("left in the queues", (long)ds.msg_qnum,
			attr.mq_curmsgs);
	msgctl(msgid, IPC_RMID, NULL);
	mq_close(mq);
	mq_unlink("/lease_storm");
	printf("%ld kills, %u and %u messages, %ld doubles, longest stall %.0f "
	       "ms, %u violations\n",
		kills, n_sent[0], n_sent[1], doubles, sh->dog.stall_net_ms,
		sh->violations);
	return sh->violations != 0;
}
