// SPDX-License-Identifier: MIT
/*
 * rpc_storm: servers that answer requests, whose process groups are killed.
 *
 *	rpc_storm [--kills N] [--seed S]
 *
 * Rounds of about 300 kills, in turn on two System V queues and on POSIX
 * queues: a client sends a numbered request and sleeps for the answer, of its
 * own type (or in a queue of its own); a server answers all. Each of three
 * groups has a server and two clients; groups are killed, one or two at once,
 * or stopped and continued, at random moments. After the last kill:
 *
 * - No number comes twice, nor one that was never sent; each message is
 *   complete; a server gets each client's in order.
 * - No receiver sleeps beside a message for it: all that was sent has come,
 *   except one message per killed receiver, without any other call; and the
 *   queues are empty.
 * - A process that is stopped and continued goes on waiting: no call fails.
 * - All find out about the removal.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "herd.h"

#include <mqueue.h>
#include <stdatomic.h>
#include <sys/ipc.h>
#include <sys/msg.h>

#define CLIENTS (HERD_PLACES - HERD_GROUPS)
#define NUMBERS 131072u /* of a client, in a round */
#define ROUND_KILLS 300
#define TEXT_MAX 4000
#define GO_ON 0xffffffffu /* the answer is not to be waited for any more */

struct trace {
	_Atomic uint8_t begun, sent, got, answering, answered, back;
};
static struct shared {
	struct herd_report report;
	volatile int quiet, removed;
	_Atomic uint32_t next[CLIENTS];
	struct trace trace[CLIENTS][NUMBERS];
} * sh;

struct packet {
	long type;
	uint32_t client, number;
	unsigned char rest[TEXT_MAX];
};
#define HEAD (2 * sizeof(uint32_t))

static struct herd herd;
static long n_kills = 2000, seed = 1;
static int by_mq, queue[2];
static mqd_t mq_request, mq_answer[CLIENTS];

static uint32_t size_of(const struct packet *p)
{
	uint32_t x = (p->client + p->number) * 2654435761u >> 8;

	return HEAD + (x % 8 ? x % 100 : x % TEXT_MAX);
}

static unsigned char byte_at(const struct packet *p, uint32_t i)
{
	return (unsigned char)(p->number * 31 + p->client * 5 + i * 7);
}

static int send(int answer, uint32_t client, uint32_t number, int flags)
{
	struct packet p = {answer ? 1 + client : 1, client, number, {0}};
	uint32_t i, size = size_of(&p);

	for (i = 0; i < size - HEAD; i++)
		p.rest[i] = byte_at(&p, i);
	if (by_mq)
		return mq_send(answer ? mq_answer[client] : mq_request,
			(char *)&p.client, size, 0);
	return msgsnd(queue[answer], &p, size, flags);
}

/* Which number of which client came. */
static struct packet receive(int answer, uint32_t client)
{
	struct packet p;
	long size;
	uint32_t i;

	if (by_mq)
		size = mq_receive(answer ? mq_answer[client] : mq_request,
			(char *)&p.client, TEXT_MAX + HEAD, NULL);
	else
		size = msgrcv(queue[answer], &p, TEXT_MAX + HEAD,
			answer ? 1 + client : 0, 0);
	if (size < 0) {
		if (sh->removed && (errno == EIDRM || errno == EINVAL))
			_exit(0);
		violation(&sh->report, "receive", answer, client);
		_exit(3);
	}
	if (size < (long)HEAD || p.client >= CLIENTS ||
		(p.number >= NUMBERS && p.number != GO_ON) ||
		size != (long)size_of(&p)) {
		violation(&sh->report, "a torn message", size, p.number);
		_exit(3);
	}
	for (i = 0; i < size - HEAD; i++)
		if (p.rest[i] != byte_at(&p, i))
			violation(&sh->report, "a wrong byte", p.client,
				p.number);
	return p;
}

static _Noreturn void fail_or_end(const char *what)
{
	if (sh->removed && (errno == EIDRM || errno == EINVAL))
		_exit(0);
	violation(&sh->report, what, 0, 0);
	_exit(3);
}

static _Noreturn void server_run(void)
{
	uint32_t last[CLIENTS] = {0};

	for (;;) {
		struct packet p = receive(0, 0);
		struct trace *t = &sh->trace[p.client][p.number];

		if (t->got++ || !t->begun)
			violation(&sh->report,
				"a request comes twice, or was never sent",
				p.client, p.number);
		if (p.number + 1 <= last[p.client])
			violation(&sh->report,
				"a client's requests are out of order",
				p.client, p.number);
		last[p.client] = p.number + 1;
		t->answering = 1;
		if (send(1, p.client, p.number, 0))
			fail_or_end("answer");
		t->answered = 1;
	}
}

static _Noreturn void client_run(uint32_t client)
{
	for (;;) {
		uint32_t n = GO_ON;
		struct packet p;

		if (!sh->quiet && sh->next[client] < NUMBERS - 1) {
			n = sh->next[client]++;
			sh->trace[client][n].begun = 1;
			if (send(0, client, n, 0))
				fail_or_end("request");
			sh->trace[client][n].sent = 1;
		}
		do {
			p = receive(1, client);
			if (p.client != client)
				violation(&sh->report,
					"an answer for somebody else", p.client,
					client);
			if (p.number == GO_ON)
				break;
			if (sh->trace[client][p.number].back++ ||
				!sh->trace[client][p.number].answering)
				violation(&sh->report,
					"an answer comes twice, or was never "
					"sent",
					client, p.number);
		} while (p.number != n);
	}
}

static void run(int place)
{
	int group = place / HERD_MEMBERS, member = place % HERD_MEMBERS;

	if (!member)
		server_run();
	client_run((uint32_t)(group * (HERD_MEMBERS - 1) + member - 1));
}

/* ---- rounds ---- */

static char *mq_name(int i)
{
	static char name[64];

	snprintf(name, sizeof(name), "/rpc_storm.%d.%d", getpid(), i);
	return name;
}

static void make(void)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = TEXT_MAX + HEAD};
	const int flags = O_RDWR | O_CREAT | O_EXCL;
	int i;

	memset(sh, 0, sizeof(*sh));
	if (by_mq) {
		mq_request = mq_open(mq_name(CLIENTS), flags, 0600, &attr);
		if (mq_request < 0)
			storm_die("mq_open");
	}
	for (i = 0; by_mq && i < (int)CLIENTS; i++) {
		mq_answer[i] = mq_open(mq_name(i), flags, 0600, &attr);
		if (mq_answer[i] < 0)
			storm_die("mq_open");
	}
	for (i = 0; !by_mq && i < 2; i++) {
		queue[i] = msgget(IPC_PRIVATE, 0600);
		if (queue[i] < 0)
			storm_die("msgget");
	}
}

/* Whose request or answer went with somebody who was killed would wait for
 * ever. */
static void let_go_on(void)
{
	struct mq_attr attr;
	uint32_t i;

	for (i = 0; i < CLIENTS; i++) {
		if (by_mq && (mq_getattr(mq_answer[i], &attr) ||
				     attr.mq_curmsgs > 3))
			continue;
		send(1, i, GO_ON, IPC_NOWAIT);
	}
}

/* Sent and not come: requests, or answers. */
static long missing(int answers)
{
	long n = 0;
	uint32_t c, i;

	for (c = 0; c < CLIENTS; c++)
		for (i = 0; i < sh->next[c]; i++) {
			struct trace *t = &sh->trace[c][i];

			n += answers ? t->answered && !t->back
				     : t->sent && !t->got;
		}
	return n;
}

static bool nothing_missing(void)
{
	return !missing(0) && !missing(1);
}

static long left(void)
{
	struct mq_attr attr;
	struct msqid_ds ds;
	long n = 0;
	uint32_t i;

	if (by_mq) {
		n = mq_getattr(mq_request, &attr) ? -1 : attr.mq_curmsgs;
		for (i = 0; i < CLIENTS; i++)
			n += mq_getattr(mq_answer[i], &attr) ? -1
							     : attr.mq_curmsgs;
		return n;
	}
	for (i = 0; i < 2; i++)
		n += msgctl(queue[i], IPC_STAT, &ds) ? -1 : (long)ds.msg_qnum;
	return n;
}

static bool none_left(void)
{
	return !left();
}

static void settle(long kills)
{
	long was[2];

	sh->quiet = 1;
	let_go_on();
	/* Longer than the backstop of whoever sleeps. */
	herd_wait(nothing_missing, 3000);
	was[0] = missing(0);
	was[1] = missing(1);
	if (!herd_wait(none_left, 5000))
		herd_complain(&herd, "left in the queues", left(), by_mq, 0);
	if (missing(0) != was[0] || missing(1) != was[1])
		herd_complain(&herd, "somebody slept until he was asked for",
			was[0] - missing(0), was[1] - missing(1), by_mq);
	if (missing(0) > kills || missing(1) > kills)
		herd_complain(&herd, "lost, more than receivers died",
			missing(0), missing(1), kills);
}

static void finish(void)
{
	int i, status;

	sh->removed = 1;
	if (by_mq) {
		herd_end(&herd);
		mq_close(mq_request);
		mq_unlink(mq_name(CLIENTS));
		for (i = 0; i < (int)CLIENTS; i++) {
			mq_close(mq_answer[i]);
			mq_unlink(mq_name(i));
		}
		return;
	}
	for (i = 0; i < 2; i++)
		if (msgctl(queue[i], IPC_RMID, NULL))
			herd_complain(&herd, "IPC_RMID", errno, 0, 0);
	for (i = 0; i < HERD_PLACES; i++)
		if (!storm_reap(herd.pid[i], 5000, &status) || status)
			herd_complain(
				&herd, "did not see the removal", i, status, 0);
}

static long round_of(void)
{
	long before = herd.kills, lost;

	alarm(HERD_HANG_S);
	make();
	herd_start_all(&herd);
	while (herd.kills - before < ROUND_KILLS && !sh->report.wrong) {
		herd_hit(&herd);
		let_go_on();
	}
	settle(herd.kills - before);
	lost = missing(0) + missing(1);
	if (sh->report.wrong)
		herd_complain(
			&herd, sh->report.what, sh->report.wrong, by_mq, 0);
	finish();
	return lost;
}

static const struct option_of options[] = {
	{"kills", .number = &n_kills},
	{"seed", .number = &seed},
	{0},
};

int main(int argc, char **argv)
{
	long lost = 0;

	options_only(argc, argv, options);
	sh = storm_share(sizeof(*sh));
	storm_seed(&herd.rng, (uint64_t)seed, 0);
	herd.run = run;
	while (herd.kills < n_kills && !herd.wrong) {
		lost += round_of();
		by_mq = !by_mq;
	}
	printf("%ld kills, %ld stops, %ld messages lost with their receivers, "
	       "%ld wrong\n",
		herd.kills, herd.stops, lost, herd.wrong);
	return herd.wrong != 0;
}
