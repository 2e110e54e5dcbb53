// SPDX-License-Identifier: MIT
/*
 * Leases (object/lease.h): the model, and the scenarios, for both kinds of
 * queues. Each message has a number; what an actor has received is its until it
 * receives again, or acknowledges, and if it is killed the message is back in
 * its old place. The leases of a thread that exited before its process may have
 * been acknowledged by another thread of it.
 */
#include <stdlib.h>
#include <string.h>
#include "explore.h"
#include "mq/mqlease.h"
#include "msg/msg.h"
#include "msg/msglease.h"
#include "msg/msgqueue.h"

#define NOWAIT MSG_IPC_NOWAIT
#define MOST 8u
#define HELD_MOST 4u

/* kind: the type, or the priority. place: in the order of sending. */
struct message_of {
	s64 kind, size, name;
	u32 place;
	/* On lease: its receiver's call has returned; has not; has behind a
	 * handler's call. */
	enum { RETURNED, IN_CALL, IN_HANDLER } way;
};
struct lease_model {
	int exists;
	u32 n, places;
	struct message_of at[MOST];
	struct message_of held[MAX_ACTORS][HELD_MOST];
	u32 n_held[MAX_ACTORS];
	struct message_of maybe[HELD_MOST]; /* may be back */
	u32 n_maybe;
	u32 batch[MAX_ACTORS]; /* caller.lease_batch */
};
static struct lease_model start;
static struct {
	int exists;
	u32 n, n_read;
	struct message_of at[MOST];
} shown;
static int by_mq;

/* ---- what the registry shows ---- */

static void look_msg(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_MSG, (u32)object_id[0] & ids_mask(c));
	struct msg_stat st;

	msg_lock_any(c, s);
	lock_release(c, &s->lock);
	msg_leases_reclaim(c);
	shown.exists = msg_stat(c, object_id[0], OBJECT_BY_ID, &st) == 0;
	msg_finish_removal(c);
	shown.n = shown.exists ? (u32)st.qnum : 0;
}

static void look_mq(struct caller *c)
{
	struct mq_desc d = mq_queue(c);
	struct mq_stat st;

	mq_lock_any(c, d.s);
	lock_release(c, &d.s->lock);
	mq_leases_reclaim(c);
	shown.exists = 1;
	shown.n = mq_stat(c, &d, &st) ? 0 : st.curmsgs;
}

static void look(struct caller *c)
{
	if (by_mq)
		look_mq(c);
	else
		look_msg(c);
}

static void drain(struct caller *c)
{
	struct call k = {
		by_mq ? CALL_MQRECV : CALL_MSGRCV, 0, {0}, NOWAIT, {{0}}};
	s64 out[CALL_OUT], ret;

	for (shown.n_read = 0; shown.n_read < shown.n && shown.n_read < MOST;
		shown.n_read++) {
		ret = call_make(c, &k, out);
		if (ret < 0) {
			snprintf(ctl->failure, sizeof(ctl->failure),
				"the next user receives %u messages of %u: %ld",
				shown.n_read, shown.n, (long)ret);
			return;
		}
		shown.at[shown.n_read] =
			(struct message_of){out[1], ret, out[0], shown.n_read};
	}
}

/* ---- the model ---- */

static void init(void *m)
{
	memcpy(m, &start, sizeof(start));
}

/* Does a come before b? */
static int before(const struct message_of *a, const struct message_of *b)
{
	if (by_mq && a->kind != b->kind)
		return a->kind > b->kind;
	return a->place < b->place;
}

static void put(struct lease_model *q, struct message_of m)
{
	u32 i = q->n++;

	for (; i > 0 && before(&m, &q->at[i - 1]); i--)
		q->at[i] = q->at[i - 1];
	q->at[i] = m;
}

static void give_back(struct lease_model *q, u32 actor)
{
	u32 i;

	for (i = 0; q->exists && i < q->n_held[actor]; i++)
		put(q, q->held[actor][i]);
	q->n_held[actor] = 0;
}

/* Its place among what may be back; q->n_maybe: it is not. */
static u32 find_maybe(const struct lease_model *q, s64 name)
{
	u32 i;

	for (i = 0; i < q->n_maybe && q->maybe[i].name != name; i++)
		;
	return i;
}

static int is_handlers(u32 actor, const struct call *k)
{
	return k == &run.scn->actors[actor].handler;
}

/* Of what call k receives. */
static int way_of(u32 actor, const struct call *k, int known)
{
	const struct actor *a = &ctl->actors[actor];
	u64 then = a->calls[HANDLER].begun;
	u32 at;

	if (!known)
		return IN_CALL;
	if (!then || is_handlers(actor, k))
		return RETURNED;
	at = (u32)(k - run.scn->actors[actor].calls);
	return a->calls[at].begun < then && then < a->calls[at].ended
		       ? IN_HANDLER
		       : RETURNED;
}

/* By call k: what this actor has, but not what it has not been given. */
static void acknowledge(struct lease_model *q, u32 actor, const struct call *k)
{
	u32 i, n = 0;

	for (i = 0; i < q->n_held[actor]; i++) {
		const struct message_of *m = &q->held[actor][i];

		if (m->way == IN_CALL ||
			(m->way == IN_HANDLER && is_handlers(actor, k)))
			q->held[actor][n++] = *m;
	}
	q->n_held[actor] = n;
}

/* In a call that is over but for its return: acknowledged, or back. */
static void either(struct lease_model *q, u32 actor)
{
	u32 i;

	for (i = 0; i < q->n_held[actor]; i++)
		q->maybe[q->n_maybe++] = q->held[actor][i];
	q->n_held[actor] = 0;
}

static int receive(struct lease_model *q, u32 actor, const struct call *k,
	int known, s64 result, const s64 *out)
{
	s64 type = by_mq ? 0 : k->arg[0];
	u32 i = 0;

	if (!q->batch[actor])
		acknowledge(q, actor, k);
	if (known && result >= 0) {
		u32 back = find_maybe(q, out[0]);

		if (back < q->n_maybe) {
			put(q, q->maybe[back]);
			q->maybe[back] = q->maybe[--q->n_maybe];
		}
	}
	while (i < q->n && type && q->at[i].kind != type)
		i++;
	/* One that was killed in its sleep has acknowledged before that. */
	if (i == q->n)
		return known ? (k->n & NOWAIT) && result == -ENOMSG
			     : (k->n & NOWAIT) ||
				       ctl->actors[actor].state == ACTOR_DEAD;
	if (known && (result != q->at[i].size || out[0] != q->at[i].name ||
			     out[1] != q->at[i].kind))
		return 0;
	q->held[actor][q->n_held[actor]] = q->at[i];
	q->held[actor][q->n_held[actor]++].way = way_of(actor, k, known);
	memmove(&q->at[i], &q->at[i + 1], (q->n - i - 1) * sizeof(q->at[0]));
	q->n--;
	return 1;
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct lease_model *q = m;
	u32 i;

	if (!q->exists && k->op != CALL_LEASES_END)
		return !known || result == -EINVAL || result == -EIDRM;
	switch (k->op) {
	case CALL_MSGSND:
	case CALL_MQSEND:
		put(q, (struct message_of){
			       k->arg[0], k->arg[1], k->arg[2], q->places++});
		return !known || result == 0;
	case CALL_MSGRCV:
	case CALL_MQRECV:
		return receive(q, actor, k, known, result, out);
	case CALL_MSGACK:
	case CALL_MQACK:
		acknowledge(q, actor, k);
		return !known || result == 0;
	case CALL_MSGBACK:
	case CALL_MQBACK:
		give_back(q, actor);
		return !known || result == 0;
	case CALL_BATCH:
		q->batch[actor] = 1;
		return 1;
	case CALL_LEASES_END:
		for (i = 0; i < run.n_actors; i++) {
			if (ctl->actors[i].leader != ctl->actors[actor].leader)
				continue;
			acknowledge(q, i, k);
			if (i != actor && known && !out[0])
				either(q, i);
		}
		return !known || result == 0;
	case CALL_MSGRM:
		q->exists = 0;
		return !known || result == 0;
	default:
		return 1;
	}
}

static int all_returned(u32 actor)
{
	const struct actor *a = &ctl->actors[actor];

	return a->n_calls && a->calls[a->n_calls - 1].ended;
}

static int ended_before(u32 actor)
{
	u32 flags = run.scn->actors[actor].flags;

	return (flags & ACTOR_EXITS) && !(flags & ACTOR_ENDS) &&
	       all_returned(actor);
}

static void death(void *m, u32 actor)
{
	struct lease_model *q = m;
	u32 i, next;

	next = run_next_image(ctl->actors[actor].leader);
	/* exec keeps what the process has. */
	for (i = 0; next < MAX_ACTORS && i < q->n_held[actor]; i++) {
		q->held[next][q->n_held[next]] = q->held[actor][i];
		q->held[next][q->n_held[next]++].way = RETURNED;
	}
	if (next < MAX_ACTORS) {
		q->n_held[actor] = 0;
		return;
	}
	for (i = 0; ended_before(actor) && i < q->n_held[actor]; i++)
		q->maybe[q->n_maybe++] = q->held[actor][i];
	if (ended_before(actor))
		q->n_held[actor] = 0;
	give_back(q, actor);
	/* The threads of a process are killed at once, and what they had is
	 * back at once. */
	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].leader == ctl->actors[actor].leader &&
			all_returned(i) && !ended_before(i))
			give_back(q, i);
}

static int final(const void *m, char *why, u32 cap)
{
	const struct lease_model *q = m;
	u32 i, at, n = (u32)snprintf(why, cap, "the registry has");

	for (i = 0; i < shown.n_read; i++)
		n += (u32)snprintf(
			why + n, cap - n, " %ld", (long)shown.at[i].name);
	n += (u32)snprintf(why + n, cap - n, "; the model");
	for (i = 0; i < q->n; i++)
		n += (u32)snprintf(
			why + n, cap - n, " %ld", (long)q->at[i].name);
	if (q->exists != shown.exists)
		return 0;
	if (!q->exists)
		return 1;
	if (shown.n != shown.n_read)
		return 0;
	for (i = at = 0; i < shown.n; i++)
		if (at < q->n && q->at[at].name == shown.at[i].name &&
			q->at[at].kind == shown.at[i].kind &&
			q->at[at].size == shown.at[i].size)
			at++;
		else if (find_maybe(q, shown.at[i].name) == q->n_maybe)
			return 0;
	return at == q->n;
}

static const struct facility_model model = {
	sizeof(struct lease_model), init, apply, death, final};

/* ---- setups ---- */

static void make_msg(struct caller *c, u32 n, s64 size)
{
	s64 out[CALL_OUT];
	u32 i;

	by_mq = 0;
	memset(&start, 0, sizeof(start));
	start.exists = 1;
	object_id[0] = msg_get(c, 1, 0600 | 01000);
	if (object_id[0] < 0 || msg_set_leasing(c, object_id[0], 1))
		abort();
	for (i = 0; i < n; i++) {
		struct call k = {
			CALL_MSGSND, 0, {1 + i, size, 1 + i}, 0, {{0}}};

		if (call_make(c, &k, out))
			abort();
		put(&start, (struct message_of){
				    1 + i, size, 1 + i, start.places++});
	}
}

static void make_mq(struct caller *c, u32 n)
{
	struct mq_desc d;
	u32 i;

	by_mq = 1;
	memset(&start, 0, sizeof(start));
	start.exists = 1;
	mq_queue_make(c, n, 3);
	d = mq_queue(c);
	if (mq_set_leasing(c, &d, 1))
		abort();
	for (i = 0; i < n; i++)
		put(&start, (struct message_of){1, 8, 1 + i, start.places++});
}

static void empty(struct caller *c)
{
	make_msg(c, 0, 8);
}
static void one(struct caller *c)
{
	make_msg(c, 1, 8);
}
static void two(struct caller *c)
{
	make_msg(c, 2, 8);
}
static void three(struct caller *c)
{
	make_msg(c, 3, 8);
}
static void large(struct caller *c)
{
	make_msg(c, 2, 3000);
}
static void mq_empty(struct caller *c)
{
	make_mq(c, 0);
}
static void mq_one(struct caller *c)
{
	make_mq(c, 1);
}
static void mq_three(struct caller *c)
{
	make_mq(c, 3);
}

/* ---- scenarios ---- */

#define CALL(op_, a, b, name, flags)                       \
	{                                                  \
		.op = op_, .arg = {a, b, name}, .n = flags \
	}
#define SEND(type, size, name) CALL(CALL_MSGSND, type, size, name, 0)
#define RECEIVE(type) CALL(CALL_MSGRCV, type, 0, 0, 0)
#define RECEIVE_NOWAIT(type) CALL(CALL_MSGRCV, type, 0, 0, NOWAIT)
#define ACK CALL(CALL_MSGACK, 0, 0, 0, 0)
#define RMID CALL(CALL_MSGRM, 0, 0, 0, 0)
#define MQSEND(prio, size, name) CALL(CALL_MQSEND, prio, size, name, 0)
#define MQRECEIVE CALL(CALL_MQRECV, 0, 0, 0, 0)
#define MQACK CALL(CALL_MQACK, 0, 0, 0, 0)
#define BATCH CALL(CALL_BATCH, 0, 0, 0, 0)
#define BACK CALL(CALL_MSGBACK, 0, 0, 0, 0)
#define MQBACK CALL(CALL_MQBACK, 0, 0, 0, 0)
#define END CALL(CALL_LEASES_END, 0, 0, 0, 0)
#define GC CALL(CALL_GC, 0, 0, 0, 0)
#define SLEEPER (ACTOR_FIRST | ACTOR_IMMORTAL)
#define ENDING (ACTOR_THREAD | ACTOR_EXITS | ACTOR_ENDS)
#define EXECUTING (ACTOR_EXECS | ACTOR_EXITS | ACTOR_IMMORTAL)

#define SCENARIO(n, s)                                                 \
	.name = "lease." n, .model = &model, .setup = s, .look = look, \
	.drain = drain

const struct scenario lease_scenarios[] = {
	{SCENARIO("receive-receive", one),
		.actors = {{.calls = {RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("again", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(2), RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("three-receivers", three), .preemptions = 1,
		.actors = {{.calls = {RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}},
			{ACTOR_IMMORTAL, NULL,
				{RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("two-die-beside-a-sleeper", two), .preemptions = 1,
		.actors = {{.calls = {RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}},
			{SLEEPER, NULL, {RECEIVE(3)}},
			{ACTOR_IMMORTAL, NULL, {SEND(3, 8, 11)}}}},
	{SCENARIO("ack", one), .actors = {{.calls = {RECEIVE_NOWAIT(0), ACK}},
				       {.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("large", large),
		.actors = {{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("send-receive", empty),
		.actors = {{.calls = {SEND(1, 8, 11), SEND(2, 8, 12)}},
			{.calls = {RECEIVE(0), RECEIVE(0)}}}},
	{SCENARIO("sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("sleeper-large", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 3000, 11)}}}},
	{SCENARIO("two-sleepers", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{SLEEPER, NULL, {RECEIVE(0)}},
			{.calls = {SEND(2, 8, 11)}}}},
	{SCENARIO("holder-dies", one),
		.actors = {{.calls = {RECEIVE(0)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE(0)}}}},
	/* An acknowledgement that is killed may have got through a part of the
	 * batch: no model says which, so that actor is immortal. */
	{SCENARIO("batch", three),
		.actors = {{.calls = {BATCH, RECEIVE_NOWAIT(0),
				    RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("batch-ack", three),
		.actors = {{ACTOR_IMMORTAL, NULL,
				   {BATCH, RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0),
					   ACK}},
			{.calls = {RECEIVE_NOWAIT(0), SEND(1, 8, 11)}}}},
	{SCENARIO("batch-back", three),
		.actors = {{.calls = {BATCH, RECEIVE_NOWAIT(0),
				    RECEIVE_NOWAIT(0), BACK}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("batch-back-large", large),
		.actors = {{.calls = {BATCH, RECEIVE_NOWAIT(0),
				    RECEIVE_NOWAIT(0), BACK}},
			{SLEEPER, NULL, {RECEIVE(2)}}}},
	{SCENARIO("rmid", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}},
			{.calls = {RMID}}}},
	{SCENARIO("rmid-large", large),
		.actors = {{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}},
			{.calls = {RMID}}}},
	{SCENARIO("mq-receive-receive", mq_one),
		.actors = {{.calls = {MQRECEIVE}},
			{ACTOR_IMMORTAL, NULL, {MQRECEIVE}}}},
	{SCENARIO("mq-again", mq_three),
		.actors = {{.calls = {MQRECEIVE, MQRECEIVE}},
			{.calls = {MQRECEIVE}}}},
	{SCENARIO("mq-three-receivers", mq_three), .preemptions = 1,
		.actors = {{.calls = {MQRECEIVE}}, {.calls = {MQRECEIVE}},
			{ACTOR_IMMORTAL, NULL, {MQRECEIVE, MQRECEIVE}}}},
	{SCENARIO("mq-ack", mq_one), .actors = {{.calls = {MQRECEIVE, MQACK}},
					     {.calls = {MQSEND(1, 8, 11)}}}},
	{SCENARIO("mq-batch-back", mq_three),
		.actors = {{.calls = {BATCH, MQRECEIVE, MQRECEIVE, MQBACK}},
			{.calls = {MQRECEIVE}}}},
	{SCENARIO("mq-batch-sleeper", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {BATCH, MQRECEIVE, MQRECEIVE}},
			{.calls = {MQSEND(1, 8, 11), MQSEND(1, 3000, 12)}}}},
	{SCENARIO("mq-sleeper", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}},
			{.calls = {MQSEND(1, 8, 11)}},
			{ACTOR_IMMORTAL, NULL, {MQSEND(2, 8, 12)}}}},
	{SCENARIO("mq-sleeper-large", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}},
			{.calls = {MQSEND(1, 3000, 11)}}}},
	{SCENARIO("mq-two-sleepers", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}},
			{SLEEPER, NULL, {MQRECEIVE}},
			{.calls = {MQSEND(2, 8, 11)}}}},
	/* B is a thread of A's process. */
	{SCENARIO("thread-receive", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}},
			{ACTOR_THREAD, NULL, {RECEIVE_NOWAIT(0), ACK}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("thread-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_THREAD, NULL, {RECEIVE_NOWAIT(0), ACK}},
			{.calls = {SEND(1, 8, 11), SEND(2, 8, 12)}}}},
	{SCENARIO("thread-sleeper-large", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_THREAD, NULL, {RECEIVE_NOWAIT(0)}},
			{.calls = {SEND(1, 3000, 11)}}}},
	{SCENARIO("thread-sleepers", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}},
			{SLEEPER, NULL, {RECEIVE(0)}}}},
	{SCENARIO("thread-ends", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0),
				    RECEIVE_NOWAIT(0)}},
			{ACTOR_THREAD | ACTOR_EXITS, NULL, {RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("thread-back", three),
		.actors = {{.calls = {BATCH, RECEIVE_NOWAIT(0),
				    RECEIVE_NOWAIT(0), BACK}},
			{ACTOR_THREAD, NULL, {RECEIVE_NOWAIT(0), ACK}}}},
	{SCENARIO("thread-rmid", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}},
			{ACTOR_THREAD, NULL, {RMID}}}},
	/* B ends their process, in order. */
	{SCENARIO("thread-exit", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(0)}},
			{ENDING, NULL, {RECEIVE_NOWAIT(0), END}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("thread-exit-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ENDING, NULL, {END}}, {.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("mq-thread-receive", mq_three),
		.actors = {{.calls = {MQRECEIVE, MQRECEIVE}},
			{ACTOR_THREAD, NULL, {MQRECEIVE, MQACK}}}},
	{SCENARIO("mq-thread-sleeper", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}},
			{ACTOR_THREAD, NULL, {MQACK, MQRECEIVE}},
			{.calls = {MQSEND(1, 8, 11), MQSEND(2, 3000, 12)}}}},
	{SCENARIO("mq-thread-sleepers", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {MQRECEIVE}},
			{.calls = {MQSEND(1, 8, 11)}},
			{SLEEPER, NULL, {MQRECEIVE}}}},
	/* Both have one when they are killed, beside D's walk along the
	 * records; C sleeps. */
	{SCENARIO("mq-thread-both", mq_empty), .preemptions = 1,
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {MQRECEIVE}},
			{ACTOR_IMMORTAL, NULL,
				{MQSEND(1, 8, 11), MQSEND(2, 8, 12),
					MQRECEIVE}},
			{ACTOR_IMMORTAL, NULL, {GC}}}},
	{SCENARIO("mq-thread-ends", mq_three),
		.actors = {{.calls = {MQRECEIVE, MQRECEIVE}},
			{ACTOR_THREAD | ACTOR_EXITS, NULL, {MQRECEIVE}}}},
	{SCENARIO("mq-thread-back", mq_three),
		.actors = {{.calls = {BATCH, MQRECEIVE, MQRECEIVE, MQBACK}},
			{ACTOR_THREAD, NULL, {MQRECEIVE, MQACK}}}},
	{SCENARIO("mq-thread-exit", mq_three),
		.actors = {{.calls = {MQRECEIVE}},
			{ENDING, NULL, {MQRECEIVE, END}},
			{.calls = {MQRECEIVE}}}},
	{SCENARIO("mq-thread-exit-sleeper", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}},
			{ENDING, NULL, {END}}, {.calls = {MQSEND(1, 8, 11)}}}},
	/* Two are killed in the removal, or beside it, and another recovers. */
	{SCENARIO("rmid-recovered", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}},
			{.calls = {RMID}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("rmid-sleeper-recovered", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}}, {.calls = {RMID}},
			{SLEEPER, NULL, {RECEIVE(0)}}}},
	/* B is A's next program image, which has what A had; and ends in
	 * order. */
	{SCENARIO("exec", three),
		.actors = {{EXECUTING, NULL, {RECEIVE_NOWAIT(0)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL,
				{RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("exec-ack", three),
		.actors = {{EXECUTING, NULL, {RECEIVE_NOWAIT(0)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {ACK}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("exec-exit", three),
		.actors = {{EXECUTING, NULL, {RECEIVE_NOWAIT(0)}},
			{ACTOR_NEXT | ACTOR_NEW | ACTOR_EXITS, NULL, {END}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("mq-exec", mq_three),
		.actors = {{EXECUTING, NULL, {MQRECEIVE}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {MQRECEIVE, MQACK}},
			{.calls = {MQRECEIVE}}}},
	/* B is another process with A's number. */
	{SCENARIO("reused-next-ack", three),
		.actors = {{ACTOR_REUSED, NULL, {RECEIVE_NOWAIT(0)}},
			{ACTOR_NEWCOMER, NULL, {ACK}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("reused-next-exit", three),
		.actors = {{ACTOR_REUSED, NULL, {RECEIVE_NOWAIT(0)}},
			{ACTOR_NEWCOMER | ACTOR_EXITS, NULL,
				{RECEIVE_NOWAIT(0), END}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("mq-reused-next", mq_three),
		.actors = {{ACTOR_REUSED, NULL, {MQRECEIVE}},
			{ACTOR_NEWCOMER, NULL, {MQRECEIVE, MQACK}},
			{.calls = {MQRECEIVE}}}},
	/* It closes the queue, or ends, and another gets the number. */
	{SCENARIO("mq-exit", mq_three),
		.actors = {{ACTOR_EXITS, NULL, {MQRECEIVE, MQRECEIVE, END}},
			{.calls = {MQRECEIVE}}}},
	{SCENARIO("exit", three),
		.actors = {{ACTOR_EXITS, NULL, {RECEIVE_NOWAIT(0), END}},
			{.calls = {RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	/* A's signal handler makes a call, too. */
	{SCENARIO("handler-receive", three),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(0)},
				   RECEIVE_NOWAIT(0)},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-ack", three),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0), BACK}, ACK},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}, SEND(2, 8, 12)},
			{.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("handler-mq", mq_three),
		.actors = {{0, NULL, {MQRECEIVE, MQRECEIVE}, MQACK},
			{.calls = {MQRECEIVE}}}},
	{SCENARIO("handler-mq-sleeper", mq_empty),
		.actors = {{ACTOR_FIRST, NULL, {MQRECEIVE}, MQSEND(2, 8, 12)},
			{.calls = {MQSEND(1, 8, 11)}}}},
	{0}};
