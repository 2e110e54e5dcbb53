// SPDX-License-Identifier: MIT
/*
 * POSIX queues: the model, and the scenarios. The queue is opened once, before
 * the actors are forked. If it is polled its FIFO is a pipe of the kernel,
 * outside the registry: its state is restored before each run, and at rest it
 * must report a message, and space, if there is any. (It may report one too
 * many if an actor died.)
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "explore.h"
#include "mq/mqlease.h"

#define MOST 8u

struct mq_model {
	u32 n, max;
	int named;
	struct {
		s64 prio, name;
	} at[MOST];
	u32 registrant; /* of mq_notify: actor + 1 */
	u32 notified[MAX_ACTORS];
	u32 deaths;
};
static struct mq_model start, shown;
static struct mq_desc queue = {.fd = -1};
static u64 queue_slot;
static int polled, fifo_bytes;
static short ready;
static int contents_known;
static struct mq_desc second = {.fd = -1};
static u64 second_slot;

static struct mq_desc here(const struct caller *c)
{
	struct mq_desc d = queue;

	d.s = region_at(&c->region, queue_slot);
	return d;
}

struct mq_desc mq_second(const struct caller *c)
{
	struct mq_desc d = second;

	d.s = region_at(&c->region, second_slot);
	return d;
}

s64 mq_call_make(struct caller *c, const struct call *k, s64 *out)
{
	static __thread struct {
		u64 name;
		char rest[MESSAGE_MOST];
	} messages[2];
	struct mq_event event = {.signo = SIGUSR2};
	struct sys_timespec until = {
		REALTIME_START + (s64)(CLOCK_START / 1000000000) + k->n, 0};
	const struct sys_timespec *limit = k->n ? &until : NULL;
	struct mq_desc d = k->obj ? mq_second(c) : here(c);
	struct mq_stat st;
	u32 prio = 0, at = call_depth & 1;
	s64 ret;

	switch (k->op) {
	case CALL_MQSEND:
		messages[at].name = (u64)k->arg[2];
		do
			ret = mqueue_send(c, &d, &messages[at], (u64)k->arg[1],
				(u32)k->arg[0], limit);
		while (ret == -MQ_ERESTART);
		return ret;
	case CALL_MQRECV:
		messages[at].name = 0;
		do
			ret = mqueue_receive(c, &d, &messages[at],
				sizeof(messages[at]), &prio, limit);
		while (ret == -MQ_ERESTART);
		out[0] = (s64)messages[at].name;
		out[1] = prio;
		return ret;
	case CALL_MQNOTIFY:
		return mq_set_notify(c, &d, &event);
	case CALL_MQACK:
		return mq_acknowledge(c, &d);
	case CALL_MQBACK:
		return mq_give_back(c, &d);
	case CALL_MQUNLINK:
		return mqueue_unlink(c, k->obj ? "r" : "q", 1);
	case CALL_MQATTR:
		ret = mq_stat(c, &d, &st);
		out[0] = ret ? 0 : st.curmsgs;
		return ret;
	case CALL_MQPOLL:
		if (mq_poll_begin(c, &d, MQ_POLLED_IN | MQ_POLLED_OUT) &&
			!k->arg[0])
			mq_poll_end(c, &d);
		return 0;
	default:
		return -ENOSYS;
	}
}

/* ---- what the registry shows ---- */

static void rest(void)
{
	struct pollfd p = {queue.fd, POLLIN | POLLOUT, 0};
	u32 i;

	signals_settle();
	for (i = 0; i < run.n_actors; i++)
		shown.notified[i] = ctl->actors[i].signals;
	ready = polled && poll(&p, 1, 0) > 0 ? p.revents : 0;
}

static void reset(void)
{
	char byte[2];
	int i, n = 0;

	while (!ioctl(queue.fd, FIONREAD, &n) && n > 0)
		if (read(queue.fd, byte, 1) != 1)
			break;
	for (i = 0; i < fifo_bytes; i++)
		if (write(queue.fd, "m", 1) != 1)
			abort();
}

static void look(struct caller *c)
{
	struct mq_desc d = here(c), found;
	struct mq_stat st;

	mq_lock_any(c, d.s);
	lock_release(c, &d.s->lock);
	shown.named = mq_find_name(c, "q", 1, &found) == 0;
	shown.n = mq_stat(c, &d, &st) ? 0 : st.curmsgs;
}

static void drain(struct caller *c)
{
	struct call k = {CALL_MQRECV, 0, {0}, 0, {{0}}};
	s64 out[CALL_OUT];
	u32 i;

	contents_known = 1;
	for (i = 0; i < run.n_actors; i++)
		contents_known &= ctl->actors[i].state != ACTOR_BLOCKED;
	/* A sender that sleeps would be let in. */
	if (!contents_known)
		return;
	for (i = 0; i < shown.n && i < MOST; i++) {
		if (mq_call_make(c, &k, out) < 0) {
			snprintf(ctl->failure, sizeof(ctl->failure),
				"the next user cannot receive message %u of %u",
				i, shown.n);
			return;
		}
		shown.at[i].prio = out[1];
		shown.at[i].name = out[0];
	}
}

/* ---- the model ---- */

static void init(void *m)
{
	memcpy(m, &start, sizeof(start));
}

static void put(struct mq_model *q, s64 prio, s64 name)
{
	u32 i = q->n;

	while (i > 0 && q->at[i - 1].prio < prio) {
		q->at[i] = q->at[i - 1];
		i--;
	}
	q->at[i].prio = prio;
	q->at[i].name = name;
	q->n++;
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct mq_model *q = m;

	switch (k->op) {
	case CALL_MQSEND:
		if (q->n == q->max)
			return k->n && (!known || result == -ETIMEDOUT);
		if (!q->n && q->registrant) {
			q->notified[q->registrant - 1]++;
			q->registrant = 0;
		}
		put(q, k->arg[0], k->arg[2]);
		return !known || result == 0;
	case CALL_MQRECV:
		if (!q->n)
			return k->n && (!known || result == -ETIMEDOUT);
		if (known && (result < 8 || out[0] != q->at[0].name ||
				     out[1] != q->at[0].prio))
			return 0;
		memmove(&q->at[0], &q->at[1], (q->n - 1) * sizeof(q->at[0]));
		q->n--;
		return 1;
	case CALL_MQNOTIFY:
		if (q->registrant)
			return !known || result == -EBUSY;
		q->registrant = actor + 1;
		return !known || result == 0;
	case CALL_MQUNLINK:
		if (!q->named)
			return !known || result == -ENOENT;
		q->named = 0;
		return !known || result == 0;
	case CALL_MQATTR:
		return !known || (result == 0 && out[0] == q->n);
	case CALL_MQPOLL:
		return 1;
	case CALL_FORK:
		return !known || result > 0;
	default:
		return 0;
	}
}

static void death(void *m, u32 actor)
{
	struct mq_model *q = m;

	if (q->registrant == actor + 1)
		q->registrant = 0;
	q->deaths++;
}

/* A message that is handed to a receiver notifies nobody; which one is, the
 * order of the calls does not tell. */
static int receives(void)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		if (run.scn->actors[i].calls[0].op == CALL_MQRECV)
			return 1;
	return 0;
}

static int final(const void *m, char *why, u32 cap)
{
	const struct mq_model *q = m;
	u32 i, n = (u32)snprintf(why, cap, "the registry has");

	for (i = 0; i < shown.n && i < MOST; i++)
		n += (u32)snprintf(
			why + n, cap - n, " %ld", (long)shown.at[i].name);
	n += (u32)snprintf(why + n, cap - n, "; the model");
	for (i = 0; i < q->n; i++)
		n += (u32)snprintf(
			why + n, cap - n, " %ld", (long)q->at[i].name);
	if (q->n != shown.n || q->named != shown.named)
		return 0;
	for (i = 0; contents_known && i < q->n; i++)
		if (q->at[i].prio != shown.at[i].prio ||
			q->at[i].name != shown.at[i].name)
			return 0;
	for (i = 0; i < run.n_actors; i++) {
		if (ctl->actors[i].state == ACTOR_DEAD)
			continue;
		if ((shown.notified[i] < q->notified[i] && !receives()) ||
			shown.notified[i] > q->notified[i] + q->deaths) {
			snprintf(why, cap, "%c was notified %u times, not %u",
				'A' + i, shown.notified[i], q->notified[i]);
			return 0;
		}
	}
	if (polled && ((q->n && !(ready & POLLIN)) ||
			      (q->n < q->max && !(ready & POLLOUT)))) {
		snprintf(why, cap,
			"%u of %u messages, and poll tells IN %d, OUT %d", q->n,
			q->max, !!(ready & POLLIN), !!(ready & POLLOUT));
		return 0;
	}
	if (polled && !q->deaths &&
		((!q->n && (ready & POLLIN)) ||
			(q->n == q->max && (ready & POLLOUT)))) {
		snprintf(why, cap,
			"nobody died, %u of %u messages, and poll tells IN %d, "
			"OUT %d",
			q->n, q->max, !!(ready & POLLIN), !!(ready & POLLOUT));
		return 0;
	}
	return 1;
}

static const struct facility_model model = {
	sizeof(struct mq_model), init, apply, death, final};

/* ---- setups ---- */

static void make(struct caller *c, u32 n, u32 max, int is_polled)
{
	struct mq_limits_attr attr = {max, MESSAGE_MOST};
	s64 out[CALL_OUT];
	u32 i;

	if (queue.fd >= 0)
		close(queue.fd);
	if (mqueue_open(
		    c, "q", 1, MQ_O_CREAT | MQ_O_RDWR, 0600, &attr, &queue) < 0)
		abort();
	queue.access = MQ_O_RDWR;
	queue_slot = region_off(&c->region, queue.s);
	start = (struct mq_model){.n = 0, .max = max, .named = 1};
	for (i = 0; i < n; i++) {
		struct call k = {CALL_MQSEND, 0, {1, 8, 1 + i}, 0, {{0}}};

		if (mq_call_make(c, &k, out))
			abort();
		put(&start, 1, 1 + i);
	}
	polled = is_polled;
	fifo_bytes = 0;
	if (polled) {
		long flags = fcntl(queue.fd, F_GETFL);

		mq_watch(c, &queue, MQ_POLLED_IN | MQ_POLLED_OUT);
		fcntl(queue.fd, F_SETFL, flags | O_DIRECT);
		ioctl(queue.fd, FIONREAD, &fifo_bytes);
	}
}

void mq_queue_make(struct caller *c, u32 n, u32 max)
{
	make(c, n, max, 0);
}

void mq_second_make(struct caller *c, u32 max)
{
	struct mq_limits_attr attr = {max, MESSAGE_MOST};

	if (second.fd >= 0)
		close(second.fd);
	if (mqueue_open(c, "r", 1, MQ_O_CREAT | MQ_O_RDWR, 0600, &attr,
		    &second) < 0)
		abort();
	second.access = MQ_O_RDWR;
	second_slot = region_off(&c->region, second.s);
}

struct mq_desc mq_queue(const struct caller *c)
{
	return here(c);
}

void mq_queue_use(const struct mq_desc *d)
{
	if (queue.fd >= 0)
		close(queue.fd);
	if (d)
		queue = *d;
	else
		queue.fd = -1;
}

static void empty(struct caller *c)
{
	make(c, 0, 2, 0);
}
static void empty_other(struct caller *c)
{
	make(c, 0, 2, 0);
	other_make(c);
}
static void one_of_two(struct caller *c)
{
	make(c, 1, 2, 0);
}
static void full(struct caller *c)
{
	make(c, 2, 2, 0);
}
/* Kept in step by those who poll in the scenario; what poll tells is looked at,
 * so somebody must be left there. */
static void empty_looked_at(struct caller *c)
{
	make(c, 0, 2, 0);
	polled = 1;
}
static void one_looked_at(struct caller *c)
{
	make(c, 1, 2, 0);
	polled = 1;
}
static void empty_polled(struct caller *c)
{
	make(c, 0, 2, 1);
}
static void one_polled(struct caller *c)
{
	make(c, 1, 2, 1);
}
static void full_polled(struct caller *c)
{
	make(c, 2, 2, 1);
}

/* ---- scenarios ---- */

#define SEND(prio, name)                            \
	{                                           \
		CALL_MQSEND, 0, {prio, 8, name}, 0, \
		{                                   \
			{                           \
				0                   \
			}                           \
		}                                   \
	}
#define SEND_LARGE(prio, name)                         \
	{                                              \
		CALL_MQSEND, 0, {prio, 2000, name}, 0, \
		{                                      \
			{                              \
				0                      \
			}                              \
		}                                      \
	}
#define RECEIVE                         \
	{                               \
		CALL_MQRECV, 0, {0}, 0, \
		{                       \
			{               \
				0       \
			}               \
		}                       \
	}
/* For ten seconds at most. */
#define RECEIVE_TIMED                    \
	{                                \
		CALL_MQRECV, 0, {0}, 10, \
		{                        \
			{                \
				0        \
			}                \
		}                        \
	}
#define SEND_TIMED(prio, name)                       \
	{                                            \
		CALL_MQSEND, 0, {prio, 8, name}, 10, \
		{                                    \
			{                            \
				0                    \
			}                            \
		}                                    \
	}
#define NOTIFY                            \
	{                                 \
		CALL_MQNOTIFY, 0, {0}, 0, \
		{                         \
			{                 \
				0         \
			}                 \
		}                         \
	}
#define UNLINK                            \
	{                                 \
		CALL_MQUNLINK, 0, {0}, 0, \
		{                         \
			{                 \
				0         \
			}                 \
		}                         \
	}
#define ATTR                            \
	{                               \
		CALL_MQATTR, 0, {0}, 0, \
		{                       \
			{               \
				0       \
			}               \
		}                       \
	}
#define POLL(stays)                         \
	{                                   \
		CALL_MQPOLL, 0, {stays}, 0, \
		{                           \
			{                   \
				0           \
			}                   \
		}                           \
	}
#define SLEEPER (ACTOR_FIRST | ACTOR_IMMORTAL)
#define RETURNING (ACTOR_CHILD | ACTOR_RETURNS)
#define SCENARIO(n, s)                                              \
	.name = "mq." n, .model = &model, .setup = s, .look = look, \
	.drain = drain, .reset = reset, .rest = rest

#define STOPS(n, s, deaths)                                   \
	SCENARIO("stop-" n, s), .stops = 1, .preemptions = 2, \
				.kills = (deaths), .max_kills_0 = !(deaths)

const struct scenario mq_scenarios[] = {
	{STOPS("receiver", empty, 0), .actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
					      {.calls = {SEND(1, 11)}}}},
	{STOPS("receiver-timed", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE_TIMED}},
			{.calls = {SEND(1, 11), RECEIVE}}}},
	{STOPS("two-receivers", empty, 1),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{SLEEPER, NULL, {RECEIVE}}, {.calls = {SEND(1, 11)}}}},
	{STOPS("two-receivers-timed", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE_TIMED}},
			{ACTOR_FIRST, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11)}}}},
	{STOPS("sender", full, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 11)}},
			{.calls = {RECEIVE}}}},
	{STOPS("sender-timed", full, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEND_TIMED(1, 11)}},
			{.calls = {RECEIVE}}}},
	{STOPS("two-senders", full, 1),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 11)}},
			{SLEEPER, NULL, {SEND_LARGE(3, 12)}},
			{.calls = {RECEIVE}}}},
	{STOPS("falls-asleep", empty, 0),
		.actors = {{.calls = {RECEIVE}}, {.calls = {SEND(1, 11)}}}},
	{STOPS("unlink", empty, 0), .actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
					    {.calls = {UNLINK, SEND(1, 11)}}}},
	{STOPS("notify", empty, 0),
		.actors = {{.calls = {NOTIFY}}, {.calls = {SEND(1, 11)}}}},
	/* A is stopped, so B's registration is told, not A. */
	{STOPS("notify-receiver", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_FIRST, NULL, {NOTIFY}},
			{.calls = {SEND(1, 11)}}}},
	{STOPS("sender-dies", empty, 1),
		.actors = {{SLEEPER, NULL, {RECEIVE}}, {.calls = {SEND(1, 11)}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 12)}}}},
	{STOPS("polled", empty_polled, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("send-receive", empty),
		.actors = {{.calls = {SEND(1, 11)}}, {.calls = {RECEIVE}}}},
	{SCENARIO("send-send", empty),
		.actors = {{.calls = {SEND(1, 11)}}, {.calls = {SEND(2, 12)}}}},
	{SCENARIO("receive-receive", full),
		.actors = {{.calls = {RECEIVE}}, {.calls = {RECEIVE}}}},
	{SCENARIO("large", one_of_two),
		.actors = {{.calls = {SEND_LARGE(1, 11)}},
			{.calls = {RECEIVE}}}},
	{SCENARIO("attr-send", empty),
		.actors = {{.calls = {ATTR}}, {.calls = {SEND(1, 11)}}}},
	{SCENARIO("sleeper", empty), .actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
					     {.calls = {SEND(1, 11)}}}},
	{SCENARIO("killed-asleep", empty), .kills = 1,
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 11)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {RECEIVE}}}},
	{SCENARIO("two-sleepers", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_FIRST, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("sender-dies", empty), .kills = 1,
		.actors = {{SLEEPER, NULL, {RECEIVE, RECEIVE}},
			{.calls = {SEND(1, 11)}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 12)}}}},
	{SCENARIO("full-sender", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 11)}},
			{.calls = {RECEIVE}}}},
	{SCENARIO("full-two-senders", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 11)}},
			{ACTOR_FIRST, NULL, {SEND_LARGE(3, 12)}},
			{.calls = {RECEIVE}}}},
	{SCENARIO("unlink-send", empty),
		.actors = {{.calls = {UNLINK}}, {.calls = {SEND(1, 11)}}}},
	{SCENARIO("unlink-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{.calls = {UNLINK}}}},
	{SCENARIO("notify-send", empty),
		.actors = {{.calls = {NOTIFY}}, {.calls = {SEND(1, 11)}}}},
	{SCENARIO("notified", empty), .actors = {{SLEEPER, NULL, {NOTIFY}},
					      {.calls = {SEND(1, 11)}}}},
	{SCENARIO("notified-receiver", empty),
		.actors = {{SLEEPER, NULL, {NOTIFY}},
			{ACTOR_FIRST, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11), SEND(1, 12)}}}},
	{SCENARIO("notify-notify", empty),
		.actors = {{.calls = {NOTIFY}}, {.calls = {NOTIFY}},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("reused-notified", empty),
		.actors = {{ACTOR_FIRST | ACTOR_REUSED, NULL, {NOTIFY}},
			{.calls = {NOTIFY}}, {.calls = {SEND(1, 11)}}}},
	{SCENARIO("exec-notified", empty),
		.actors = {{ACTOR_FIRST | ACTOR_EXECS, NULL, {NOTIFY}},
			{.calls = {NOTIFY}}, {.calls = {SEND(1, 11)}}}},
	{SCENARIO("reused-sleepers", empty),
		.actors = {{ACTOR_FIRST | ACTOR_REUSED, NULL, {RECEIVE}},
			{ACTOR_FIRST | ACTOR_REUSED, NULL, {RECEIVE}},
			{ACTOR_REUSED, NULL, {SEND(1, 11)}}}},
	{SCENARIO("reused-next-sleeper", empty),
		.actors = {{ACTOR_FIRST | ACTOR_REUSED, NULL, {RECEIVE}},
			{ACTOR_NEWCOMER, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11), SEND(1, 12)}}}},
	{SCENARIO("reused-next-sender", empty),
		.actors = {{ACTOR_REUSED, NULL, {SEND(1, 11)}},
			{ACTOR_NEWCOMER, NULL, {SEND(1, 12)}},
			{SLEEPER, NULL, {RECEIVE}}}},
	{SCENARIO("polled-send", empty_polled),
		.actors = {{.calls = {SEND(1, 11)}}, {.calls = {SEND(2, 12)}}}},
	{SCENARIO("polled-send-receive", one_polled),
		.actors = {{.calls = {SEND(1, 11)}}, {.calls = {RECEIVE}}}},
	{SCENARIO("polled-receive", full_polled),
		.actors = {{.calls = {RECEIVE}}, {.calls = {RECEIVE}}}},
	{SCENARIO("polled-receive-sleep", one_polled),
		.actors = {{.calls = {RECEIVE}}, {.calls = {RECEIVE}},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("polled-full-sender", full_polled),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 11)}},
			{.calls = {RECEIVE}}}},
	{SCENARIO("poller-send", empty_looked_at),
		.actors = {{ACTOR_IMMORTAL, NULL, {POLL(1)}},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("poller-receive", one_looked_at),
		.actors = {{ACTOR_IMMORTAL, NULL, {POLL(1)}},
			{.calls = {RECEIVE}}}},
	{SCENARIO("pollers-send-receive", empty_looked_at),
		.actors = {{ACTOR_IMMORTAL, NULL, {POLL(1)}},
			{.calls = {POLL(0)}},
			{.calls = {SEND(1, 11), RECEIVE}}}},
	/* A's signal handler makes a call, too. */
	{SCENARIO("handler-send", empty),
		.actors = {{0, NULL, {SEND(1, 11)}, SEND(2, 12)},
			{.calls = {RECEIVE}}}},
	{SCENARIO("handler-receive", full),
		.actors = {{0, NULL, {RECEIVE}, RECEIVE},
			{.calls = {SEND_LARGE(1, 11)}}}},
	{SCENARIO("handler-large", one_of_two),
		.actors = {{0, NULL, {SEND_LARGE(1, 11)}, RECEIVE},
			{.calls = {ATTR}}}},
	{SCENARIO("handler-other", empty_other),
		.actors = {{0, NULL, {SEND(1, 11)}, COUNT},
			{.calls = {RECEIVE}}}},
	{SCENARIO("handler-notify", empty),
		.actors = {{0, NULL, {SEND(1, 11)}, NOTIFY},
			{ACTOR_IMMORTAL, NULL, {NOTIFY}}}},
	{SCENARIO("handler-unlink", empty),
		.actors = {{0, NULL, {NOTIFY}, UNLINK},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("handler-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}, SEND(2, 12)},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("handler-sleeper-restarts", empty),
		.actors = {{ACTOR_FIRST | ACTOR_RESTARTS, NULL, {RECEIVE},
				   SEND(2, 12)},
			{.calls = {SEND(1, 11)}},
			{ACTOR_FIRST, NULL, {RECEIVE}}}},
	/* The handler sleeps in its turn. */
	{SCENARIO("handler-sleeps", empty),
		.actors = {{ACTOR_FIRST | ACTOR_RESTARTS, NULL, {RECEIVE},
				   RECEIVE},
			{.calls = {SEND(1, 11), SEND(2, 12)}}}},
	{SCENARIO("handler-sleeper-other", empty_other),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}, COUNT},
			{.calls = {SEND(1, 11)}}}},
	{SCENARIO("handler-full", full),
		.actors = {{ACTOR_FIRST | ACTOR_RESTARTS, NULL, {SEND(1, 11)},
				   RECEIVE},
			{.calls = {RECEIVE}}}},
	{SCENARIO("handler-poll", empty_looked_at),
		.actors = {{0, NULL, {POLL(0)}, SEND(1, 11)},
			{.calls = {SEND(2, 12)}},
			{ACTOR_IMMORTAL | ACTOR_FIRST, NULL, {POLL(1)}}}},
	/* A's signal handler forks B. */
	{SCENARIO("handler-forks", one_of_two),
		.actors = {{0, NULL, {SEND(1, 11), RECEIVE}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {RECEIVE}}}},
	{SCENARIO("handler-forks-large", one_of_two),
		.actors = {{0, NULL, {SEND_LARGE(1, 11)}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {RECEIVE}}}},
	{SCENARIO("handler-forks-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11), SEND(1, 12)}}}},
	/* Two are killed in the removal, or beside it, and another recovers. */
	{SCENARIO("unlink-recovered", one_of_two),
		.actors = {{.calls = {UNLINK}}, {.calls = {SEND(1, 11)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE, ATTR}}}},
	{SCENARIO("unlink-unlink-recovered", one_of_two),
		.actors = {{.calls = {UNLINK}}, {.calls = {UNLINK}},
			{ACTOR_IMMORTAL, NULL, {UNLINK, RECEIVE}}}},
	{SCENARIO("unlink-sleeper-recovered", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}}, {.calls = {UNLINK}},
			{SLEEPER, NULL, {RECEIVE}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 11)}}}},
	/* Asleep with a time limit. */
	{SCENARIO("unlink-timed", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE_TIMED}},
			{ACTOR_FIRST, NULL, {RECEIVE_TIMED}},
			{.calls = {UNLINK, SEND(1, 11)}}}},
	{SCENARIO("unlink-timed-full", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND_TIMED(1, 11)}},
			{ACTOR_FIRST, NULL, {SEND_TIMED(2, 12)}},
			{.calls = {UNLINK, RECEIVE}}}},
	{SCENARIO("unlink-notified-recovered", empty),
		.actors = {{.calls = {NOTIFY, UNLINK}},
			{.calls = {SEND(1, 11)}},
			{ACTOR_IMMORTAL, NULL, {UNLINK}}}},
	/* The same, and B returns from it into the call. */
	{SCENARIO("child-returns-send", empty),
		.actors = {{0, NULL, {SEND(1, 11)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE}},
			{.calls = {SEND(1, 12)}}}},
	{SCENARIO("child-returns-receive", one_of_two),
		.actors = {{0, NULL, {RECEIVE}, MAKE_CHILD(1)},
			{RETURNING, NULL, {SEND(1, 11)}},
			{.calls = {SEND(1, 12)}}}},
	{SCENARIO("child-returns-large", one_of_two),
		.actors = {{0, NULL, {SEND_LARGE(1, 11)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE}}}},
	{SCENARIO("child-returns-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}, MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11), SEND(1, 12)}}}},
	{SCENARIO("child-returns-restarts", empty),
		.actors = {{ACTOR_FIRST | ACTOR_RESTARTS, NULL, {RECEIVE},
				   MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11), SEND(1, 12)}}}},
	{SCENARIO("child-returns-full", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 11)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE}}, {.calls = {RECEIVE}}}},
	{SCENARIO("handler-forks-notified", empty),
		.actors =
			{{ACTOR_IMMORTAL, NULL, {NOTIFY, ATTR}, MAKE_CHILD(1)},
				{ACTOR_CHILD, NULL, {SEND(1, 11)}}}},
	{SCENARIO("handler-forks-polled", one_polled),
		.actors = {{0, NULL, {RECEIVE}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {SEND(1, 11)}}}},
	/* A and B sleep, threads of one process, which is killed. */
	{SCENARIO("thread-sleepers", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {RECEIVE}},
			{.calls = {SEND(1, 11)}}, {SLEEPER, NULL, {RECEIVE}}}},
	{SCENARIO("thread-sleepers-full", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 11)}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {SEND_LARGE(2, 12)}},
			{.calls = {RECEIVE}}, {SLEEPER, NULL, {SEND(1, 13)}}}},
	/* B is a thread that calls exec, C the new program. */
	{SCENARIO("exec-by-thread", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_EXECS, NULL,
				{SEND(1, 11)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {SEND(1, 12)}},
			{SLEEPER, NULL, {RECEIVE}}}},
	/* Who lets a sleeper through has no robust list. */
	{SCENARIO("sleeper-no-list", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_NO_LIST, NULL, {SEND(1, 11)}}}},
	{SCENARIO("sleeper-no-list-new", empty),
		.actors = {{.calls = {RECEIVE}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 11)}}}},
	{SCENARIO("sleeper-no-list-two", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 11)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 12)}}}},
	{SCENARIO("sleepers-no-list", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_FIRST | ACTOR_NO_LIST, NULL, {RECEIVE}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 11)}},
			{.calls = {SEND(1, 12)}}}},
	{SCENARIO("sleeper-no-list-handler", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 11)},
				SEND(1, 12)}}},
	{0},
};
