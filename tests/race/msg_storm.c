// SPDX-License-Identifier: MIT
/*
 * msg_storm: no message is lost, doubled, torn or out of order, whichever
 * process dies.
 *
 *	msg_storm [--kills N] [--senders S] [--receivers R] [--seed S]
 *
 * S senders and R receivers work on one queue; the parent SIGKILLs one of them
 * at a random moment and starts another in its place, N times. Each sender has
 * a row in shared memory: the number of the message it is about to send, and
 * how many msgsnd has accepted; each receiver notes every message it was given.
 * Checked:
 *
 * - A message is received at most once, complete (its length and bytes follow
 *   from its number), and in the order of its sender's numbers per receiver.
 * - An accepted message arrives. The one that a killed receiver was taking is
 *   lost with it, as on the kernel: one per killed receiver. One message of a
 *   killed sender may have come that it did not count.
 * - No process hangs; the emptied queue shows 0 messages and 0 bytes and
 *   accepts a message.
 *
 * Prints one line; the exit status is 1 if any of that is wrong.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#define PROCS_MAX 32
#define LIVES_MAX 40000
#define NUMBERS_MAX 60000 /* of one life: arbitrary; then it idles */
#define TEXT_MAX 5000

struct life {
	_Atomic uint32_t trying;   /* number + 1 of the last msgsnd begun */
	_Atomic uint32_t accepted; /* numbers below are accepted */
};

struct shared {
	volatile int stop, drain;
	_Atomic uint32_t violations;
	volatile uint64_t progress;
	_Atomic uint64_t n_sent, n_received;
	_Atomic uint32_t next_life;
	struct watchdog dog;
	struct life life[LIVES_MAX];
};

struct packet {
	long type;
	uint32_t life, number, size;
	unsigned char rest[TEXT_MAX];
};
#define HEAD (3 * sizeof(uint32_t))

static struct shared *sh;
static _Atomic uint8_t *seen[LIVES_MAX]; /* times given out, by number */
static struct storm_rng rng;
static int id;
static long n_kills = 5000, n_senders = 3, n_receivers = 3, seed = 1;

static void violation(const char *what, long a, long b)
{
	if (sh->violations++ < 20)
		fprintf(stderr, "violation: %s (%ld, %ld; %s)\n", what, a, b,
			strerror(errno));
}

static uint32_t size_of(uint32_t life, uint32_t number)
{
	uint32_t x = (life * 7919 + number) * 2654435761u >> 8;

	return HEAD + (x % 8 ? x % 200 : x % (TEXT_MAX - HEAD));
}

static unsigned char byte_at(const struct packet *p, uint32_t i)
{
	return (unsigned char)(p->number * 31 + i * 7 + p->life);
}

static _Noreturn void sender_run(uint32_t life)
{
	struct life *me = &sh->life[life];
	struct packet p;

	for (uint32_t n = 0; !sh->stop && n < NUMBERS_MAX; n++) {
		p.type = 1 + n % 5;
		p.life = life;
		p.number = n;
		p.size = size_of(life, n);
		for (uint32_t i = 0; i < p.size - HEAD; i++)
			p.rest[i] = byte_at(&p, i);
		me->trying = n + 1;
		if (msgsnd(id, &p, p.size, 0)) {
			violation("msgsnd", life, n);
			break;
		}
		me->accepted = n + 1;
		sh->n_sent++;
		sh->progress++;
	}
	while (!sh->stop) {
		sleep_us(500);
		sh->progress++;
	}
	_exit(0);
}

static void check(const struct packet *p, long got, int64_t *last)
{
	if (got < (long)HEAD || p->life >= LIVES_MAX ||
		p->number >= NUMBERS_MAX || p->size != (uint32_t)got ||
		p->size != size_of(p->life, p->number) ||
		p->type != 1 + p->number % 5) {
		violation("a torn message", got, p->number);
		return;
	}
	for (uint32_t i = 0; i < p->size - HEAD; i++)
		if (p->rest[i] != byte_at(p, i)) {
			violation("a wrong byte", i, p->number);
			return;
		}
	if (seen[p->life][p->number]++)
		violation("given out twice", p->life, p->number);
	/* within its type a sender's messages stay in order */
	int64_t *before = &last[p->life % 4096 * 5 + p->type - 1];
	int64_t now = (int64_t)p->life << 32 | p->number;

	if (*before >> 32 == p->life && *before > now)
		violation("out of order", p->life, p->number);
	*before = now;
}

static _Noreturn void receiver_run(uint32_t salt)
{
	static const long types[] = {0, 0, 1, 2, 3, 4, 5, -5, -3};
	int64_t *last = calloc(4096 * 5, sizeof(*last));
	struct storm_rng r;
	struct packet p;

	storm_seed(&r, (uint64_t)seed, salt + 1000000);
	for (;;) {
		long type = types[storm_random(&r, 9)];
		int flg = type || sh->drain ? IPC_NOWAIT : 0;
		long got = msgrcv(id, &p, TEXT_MAX + HEAD, type, flg);

		if (got < 0 && errno == ENOMSG) {
			if (sh->drain && !type)
				break;
			continue;
		}
		if (got < 0) {
			if (errno != EINTR)
				violation("msgrcv", type, errno);
			break;
		}
		check(&p, got, last);
		sh->n_received++;
		sh->progress++;
	}
	_exit(0);
}

static pid_t place_start(int place)
{
	uint32_t life = sh->next_life++;
	pid_t pid = storm_fork();

	if (!pid) {
		if (place < n_senders)
			sender_run(life);
		receiver_run(life);
	}
	return pid;
}

static long storm(pid_t *proc, long *ret_senders)
{
	long receivers = 0;
	int status;

	for (long i = 0; i < n_kills && !sh->dog.stuck; i++) {
		int place = (int)storm_random(
			&rng, (uint32_t)(n_senders + n_receivers));

		storm_pause(&rng);
		kill(proc[place], SIGKILL);
		if (waitpid(proc[place], &status, 0) != proc[place])
			storm_die("waitpid");
		if (!WIFSIGNALED(status))
			violation("a process ended by itself", place, status);
		if (place < n_senders)
			(*ret_senders)++;
		else
			receivers++;
		proc[place] = place_start(place);
	}
	return receivers;
}

/* What was accepted and did not arrive; what arrived uncounted. */
static void tally(long *ret_lost, long *ret_extra)
{
	for (uint32_t l = 0; l < sh->next_life; l++)
		for (uint32_t n = 0; n < sh->life[l].trying; n++) {
			if (n < sh->life[l].accepted && !seen[l][n])
				++*ret_lost;
			if (n >= sh->life[l].accepted && seen[l][n])
				++*ret_extra;
		}
}

/* A signal ends the sleep of a receiver, but not one that it is just about to
 * begin. False if it had to be killed after 5 s. */
static bool signal_until_gone(pid_t pid)
{
	double end = now_ms() + 5000;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (now_ms() > end) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return false;
		}
		kill(pid, SIGUSR1);
		sleep_us(500);
	}
	return true;
}

static void finish(pid_t *proc)
{
	struct msqid_ds ds;
	struct packet p;
	int status;

	sh->stop = 1;
	for (int i = 0; i < n_senders; i++)
		if (!storm_reap(proc[i], 5000, &status))
			violation("a sender hung", i, 0);
	sh->drain = 1;
	for (int i = 0; i < n_receivers; i++)
		if (!signal_until_gone(proc[n_senders + i]))
			violation("a receiver hung", i, 0);
	if (!storm_fork()) {
		sh->drain = 1;
		receiver_run(999999);
	}
	if (wait(&status) < 0)
		storm_die("wait");
	if (msgctl(id, IPC_STAT, &ds) || ds.msg_qnum || ds.__msg_cbytes)
		violation("the emptied queue holds", (long)ds.msg_qnum,
			(long)ds.__msg_cbytes);
	p.type = 9;
	if (msgsnd(id, &p, 1000, IPC_NOWAIT) ||
		msgrcv(id, &p, 1000, 9, IPC_NOWAIT) != 1000)
		violation("the queue is of no use", 0, 0);
}

static void on_signal(int sig)
{
	(void)sig;
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"senders", .number = &n_senders},
	{"receivers", .number = &n_receivers},
	{"seed", .number = &seed},
	{0},
};

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = on_signal};
	long lost = 0, extra = 0, killed_r, killed_s = 0;
	pid_t proc[PROCS_MAX], dog;
	int status, ok;

	options_only(argc, argv, options);
	if (n_senders < 1 || n_receivers < 1 ||
		n_senders + n_receivers > PROCS_MAX ||
		n_kills + PROCS_MAX > LIVES_MAX)
		options_wrong(argv);
	sh = storm_share(sizeof(*sh));
	for (long i = 0; i < n_kills + PROCS_MAX; i++)
		seen[i] = storm_share(NUMBERS_MAX);
	storm_seed(&rng, (uint64_t)seed, 0);
	id = msgget(IPC_PRIVATE, 0600);
	if (id < 0)
		storm_die("msgget");
	sigaction(SIGUSR1, &act, NULL);
	printf("seed %ld\n", seed);
	fflush(stdout);
	for (int i = 0; i < n_senders + n_receivers; i++)
		proc[i] = place_start(i);
	dog = watchdog_start(&sh->dog, &sh->progress);
	killed_r = storm(proc, &killed_s);
	sh->dog.stop = 1;
	storm_reap(dog, 5000, &status);
	finish(proc);
	tally(&lost, &extra);
	ok = !sh->violations && !sh->dog.stuck && lost <= killed_r &&
	     extra <= killed_s;
	printf("kills %ld of senders, %ld of receivers, sent %llu, received "
	       "%llu, gone with a receiver %ld, uncounted by a sender %ld, "
	       "violations %u, longest stall %.1f ms (net %.0f, noise %.1f): "
	       "%s\n",
		killed_s, killed_r, (unsigned long long)sh->n_sent,
		(unsigned long long)sh->n_received, lost, extra, sh->violations,
		sh->dog.stall_ms, sh->dog.stall_net_ms, sh->dog.noise_ms,
		ok ? "ok" : "WRONG");
	msgctl(id, IPC_RMID, NULL);
	return !ok;
}
