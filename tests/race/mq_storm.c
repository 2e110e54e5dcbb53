// SPDX-License-Identifier: MIT
/*
 * mq_storm: no message is lost, doubled or out of order, whichever process
 * dies.
 *
 *	mq_storm [--kills N] [--procs P] [--seed S] [--size BYTES]
 *		[--victims senders|receivers|both] [--poll]
 *
 * P senders and P receivers share a queue of a few messages, so that both often
 * sleep and hand over to each other; some use timeouts that pass. Every message
 * has a number of its own and a random priority. The parent SIGKILLs one
 * process at a random moment and starts another, N times. Checked:
 *
 * - no number is received twice;
 * - within one sender and priority, no receiver sees numbers go down;
 * - the bytes are those that were sent;
 * - what mq_send returned 0 for was received in the end, or is one of those
 *   that receivers were about to get when they were killed: at most one each;
 *   with --victims senders none may be missing;
 * - no process hangs (storm.h), and the queue is empty and undamaged at the
 *   end.
 *
 * --poll keeps a process that polls the queue, so that its FIFO is in step.
 * Prints one line; the exit status is 1 if any of that is wrong.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "storm.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stdatomic.h>

#define IDS_MAX (96u << 20)
#define PROCS_MAX 16
#define N_PRIOS 5
#define LIVES_MAX 65536
#define MAXMSG 4

enum { SENT = 1, SENDING = 2 };

struct shared {
	volatile int stop;
	_Atomic uint32_t violations, next_id;
	volatile uint64_t progress;
	_Atomic uint64_t n_sent, n_received, timeouts;
	/* One a process: set while it is in mq_receive. */
	struct {
		_Alignas(64) volatile int in_call;
	} slot[2 * PROCS_MAX];
	struct watchdog dog;
};

struct message {
	uint32_t id, life, prio, size;
	unsigned char fill[8192 - 16];
};

static struct shared *sh;
static unsigned char *sent;
static _Atomic unsigned char *received;
static long n_kills = 5000, n_procs = 2, seed = 1, size = 64;
static int with_poll;
static const char *victims = "both";
static uint32_t n_lives;
static mqd_t queue;

static void violation(const char *what, long a, long b)
{
	if (sh->violations++ < 20)
		fprintf(stderr, "violation: %s (%ld, %ld, %s)\n", what, a, b,
			strerror(errno));
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 500000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static _Noreturn void sender_run(uint32_t life)
{
	static struct message m;
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, life);
	while (!sh->stop) {
		struct timespec until;
		int n = 16 + (size > 16 ? (int)storm_random(&r, size - 15) : 0);
		int ret;

		m.id = sh->next_id++;
		if (m.id >= IDS_MAX)
			break;
		m.life = life;
		m.prio = storm_random(&r, N_PRIOS);
		m.size = n;
		memset(m.fill, (unsigned char)m.id, n - 16);
		sent[m.id] = SENDING;
		do {
			until = soon();
			if (storm_random(&r, 4))
				ret = mq_send(queue, (char *)&m, n, m.prio);
			else
				ret = mq_timedsend(
					queue, (char *)&m, n, m.prio, &until);
			if (ret && errno != ETIMEDOUT && !sh->stop)
				violation("mq_send", ret, errno);
			sh->timeouts += ret != 0;
		} while (ret && !sh->stop);
		if (!ret) {
			sent[m.id] = SENT;
			sh->n_sent++;
		}
		sh->progress++;
	}
	_exit(0);
}

static void check(const struct message *m, ssize_t n, unsigned prio,
	uint32_t (*last)[N_PRIOS])
{
	if (n < 16 || m->id >= IDS_MAX || m->size != n || m->prio != prio) {
		violation("a message is damaged", n, prio);
		return;
	}
	for (ssize_t i = 0; i < n - 16; i++)
		if (m->fill[i] != (unsigned char)m->id) {
			violation("bytes are wrong", m->id, i);
			break;
		}
	if (received[m->id]++)
		violation("received twice", m->id, prio);
	if (last[m->life % LIVES_MAX][prio] > m->id)
		violation("out of order", m->id, prio);
	last[m->life % LIVES_MAX][prio] = m->id;
	sh->n_received++;
}

static _Noreturn void receiver_run(uint32_t life, int slot)
{
	static struct message m;
	uint32_t(*last)[N_PRIOS] = calloc(LIVES_MAX, sizeof(*last));
	struct storm_rng r;

	storm_seed(&r, (uint64_t)seed, life);
	while (!sh->stop) {
		struct timespec until = soon();
		unsigned prio = 99;
		ssize_t n;

		sh->slot[slot].in_call = 1;
		if (storm_random(&r, 4))
			n = mq_receive(queue, (char *)&m, size, &prio);
		else
			n = mq_timedreceive(
				queue, (char *)&m, size, &prio, &until);
		if (n >= 0)
			check(&m, n, prio, last);
		sh->slot[slot].in_call = 0;
		if (n < 0 && errno != ETIMEDOUT && !sh->stop)
			violation("mq_receive", n, errno);
		sh->timeouts += n < 0;
		sh->progress++;
	}
	_exit(0);
}

static _Noreturn void poller_run(void)
{
	struct pollfd p = {queue, POLLIN | POLLOUT, 0};

	while (!sh->stop) {
		if (poll(&p, 1, 100) == 0)
			violation("poll finds neither IN nor OUT", 0, 0);
		sleep_us(200);
	}
	_exit(0);
}

static pid_t start(int slot)
{
	uint32_t life = n_lives++;
	pid_t pid;

	sh->slot[slot].in_call = 0;
	pid = storm_fork();
	if (pid)
		return pid;
	if (slot < n_procs)
		sender_run(life);
	receiver_run(life, slot);
}

/* Everybody is told to stop; sleepers are helped out. */
static void wind_up(pid_t *pid, uint64_t *ret_missing, long excuses)
{
	static struct message m;
	uint32_t(*last)[N_PRIOS] = calloc(LIVES_MAX, sizeof(*last));
	struct mq_attr attr = {.mq_flags = O_NONBLOCK};
	uint64_t missing = 0;
	unsigned prio;
	ssize_t n;
	int left = 2 * n_procs, status;

	sh->stop = 1;
	mq_setattr(queue, &attr, NULL);
	for (double end = now_ms() + 10000; left && now_ms() < end;) {
		/* senders first: receivers' excuses stay what they were */
		for (int i = 0; i < 2 * n_procs; i++) {
			if (pid[i] && i >= n_procs && sh->slot[i].in_call) {
				m = (struct message){.size = 16, .prio = 0};
				m.id = sh->next_id++;
				m.life = 1;
				sent[m.id] = SENDING;
				if (!mq_send(queue, (char *)&m, 16, 0))
					sent[m.id] = SENT;
			}
			if (pid[i] && waitpid(pid[i], &status, WNOHANG)) {
				pid[i] = 0;
				left--;
			}
		}
		if ((n = mq_receive(queue, (char *)&m, size, &prio)) >= 0)
			check(&m, n, prio, last);
		sleep_us(100);
	}
	if (left)
		violation("processes do not end", left, 0);
	while ((n = mq_receive(queue, (char *)&m, size, &prio)) >= 0)
		check(&m, n, prio, last);
	for (uint32_t i = 0; i < sh->next_id && i < IDS_MAX; i++)
		missing += sent[i] == SENT && !received[i];
	if (missing > (uint64_t)excuses)
		violation("messages are missing", missing, excuses);
	mq_getattr(queue, &attr);
	if (attr.mq_curmsgs)
		violation("messages at the end", attr.mq_curmsgs, 0);
	*ret_missing = missing;
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"procs", .number = &n_procs},
	{"seed", .number = &seed},
	{"size", .number = &size},
	{"victims", .text = &victims},
	{"poll", .flag = &with_poll},
	{0},
};

int main(int argc, char **argv)
{
	struct mq_attr attr = {.mq_maxmsg = MAXMSG};
	pid_t pid[2 * PROCS_MAX], dog, poller = 0;
	struct storm_rng rng;
	uint64_t missing;
	long excuses = 0;
	int status;

	options_only(argc, argv, options);
	if (n_procs > PROCS_MAX || size < 16 || size > 8192)
		options_wrong(argv);
	sh = storm_share(sizeof(*sh));
	sent = storm_share(IDS_MAX);
	received = storm_share(IDS_MAX);
	attr.mq_msgsize = size;
	mq_unlink("/storm");
	queue = mq_open("/storm", O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	if (queue < 0)
		storm_die("mq_open");
	mq_unlink("/storm");
	storm_seed(&rng, (uint64_t)seed, 1u << 31);
	for (int i = 0; i < 2 * n_procs; i++)
		pid[i] = start(i);
	if (with_poll && !(poller = storm_fork()))
		poller_run();
	dog = watchdog_start(&sh->dog, &sh->progress);
	for (long k = 0; k < n_kills && !sh->dog.stuck; k++) {
		int from = victims[0] == 'r' ? n_procs : 0;
		int to = victims[0] == 's' ? n_procs : 2 * n_procs;
		int i = from + (int)storm_random(&rng, to - from);

		storm_pause(&rng);
		kill(pid[i], SIGKILL);
		waitpid(pid[i], &status, 0);
		excuses += i >= n_procs && sh->slot[i].in_call;
		pid[i] = start(i);
	}
	if (sh->dog.stuck)
		violation("no progress", 0, 0);
	sh->dog.hold = 1;
	wind_up(pid, &missing, excuses);
	if (poller && !storm_reap(poller, 5000, &status))
		violation("the poller hangs", 0, 0);
	sh->dog.stop = 1;
	storm_reap(dog, 5000, &status);
	printf("mq_storm: %ld kills, %lu sent, %lu received, %lu missing of "
	       "%ld excused, %lu timeouts, longest stall %.0f ms, "
	       "%u violations\n",
		n_kills, (unsigned long)sh->n_sent,
		(unsigned long)sh->n_received, (unsigned long)missing, excuses,
		(unsigned long)sh->timeouts, sh->dog.stall_net_ms,
		sh->violations);
	return sh->violations != 0;
}
