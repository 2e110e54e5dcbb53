// SPDX-License-Identifier: MIT
/*
 * System V message queues: the model, and the scenarios. The third argument is
 * the message's number, so that each is known: none is lost but with a killed
 * receiver, none comes twice, and they are in order.
 */
#include <stdlib.h>
#include <string.h>
#include "explore.h"
#include "msg/msg.h"
#include "msg/msgqueue.h"
#include "registry/bias.h"

#define NOWAIT MSG_IPC_NOWAIT
#define MOST 12u

struct message_of {
	s64 type, size, name;
};
struct msg_model {
	int exists;
	u32 n;
	s64 qbytes;
	struct message_of at[MOST];
};
static struct msg_model start, shown;
static u64 shown_qnum, shown_cbytes;

/* ---- what the registry shows ---- */

static void look(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_MSG, (u32)object_id[0] & ids_mask(c));
	struct msg_stat st;

	msg_lock_any(c, s);
	lock_release(c, &s->lock);
	shown.exists = msg_stat(c, object_id[0], OBJECT_BY_ID, &st) == 0;
	msg_finish_removal(c);
	shown_qnum = shown.exists ? st.qnum : 0;
	shown_cbytes = shown.exists ? st.cbytes : 0;
}

static void drain(struct caller *c)
{
	struct call k = {CALL_MSGRCV, 0, {0, 0, 0}, NOWAIT, {{0}}};
	s64 out[CALL_OUT], ret;
	u64 i;

	shown.n = 0;
	for (i = 0; i < shown_qnum && shown.n < MOST; i++) {
		ret = call_make(c, &k, out);
		if (ret < 0) {
			snprintf(ctl->failure, sizeof(ctl->failure),
				"the next user's msgrcv of message %lu of %lu "
				"says %ld",
				(unsigned long)i, (unsigned long)shown_qnum,
				(long)ret);
			return;
		}
		shown.at[shown.n++] = (struct message_of){out[1], ret, out[0]};
	}
}

/* ---- the model ---- */

static void init(void *m)
{
	memcpy(m, &start, sizeof(start));
}

static s64 bytes(const struct msg_model *q)
{
	s64 sum = 0;
	u32 i;

	for (i = 0; i < q->n; i++)
		sum += q->at[i].size;
	return sum;
}

/* Index of what a receiver would get, or -1. */
static s32 find(const struct msg_model *q, s64 type, u32 flags)
{
	s32 best = -1;
	u32 i;

	if (flags & MSG_FLG_COPY)
		return type < q->n ? (s32)type : -1;
	for (i = 0; i < q->n; i++) {
		s64 t = q->at[i].type;

		if (flags & MSG_FLG_EXCEPT ? t != type
			: type == 0	   ? 1
			: type > 0	   ? t == type
					   : 0)
			return (s32)i;
		if (type < 0 && t <= -type &&
			(best < 0 || t < q->at[best].type))
			best = (s32)i;
	}
	return best;
}

static void take_out(struct msg_model *q, u32 i)
{
	memmove(&q->at[i], &q->at[i + 1], (q->n - i - 1) * sizeof(q->at[0]));
	q->n--;
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct msg_model *q = m;
	s32 i;

	(void)actor;
	if (k->op == CALL_MSGGET)
		return !known || result >= 0;
	if (!q->exists)
		return !known || result == -EINVAL || result == -EIDRM;
	switch (k->op) {
	case CALL_MSGSND:
		if (bytes(q) + k->arg[1] > q->qbytes || q->n == MOST)
			return (k->n & NOWAIT) && (!known || result == -EAGAIN);
		q->at[q->n++] =
			(struct message_of){k->arg[0], k->arg[1], k->arg[2]};
		return !known || result == 0;
	case CALL_MSGRCV:
		i = find(q, k->arg[0], k->n);
		if (i < 0)
			return (k->n & NOWAIT) && (!known || result == -ENOMSG);
		if (k->arg[1] && q->at[i].size > k->arg[1])
			return !known || result == -E2BIG;
		if (known &&
			(result != q->at[i].size || out[0] != q->at[i].name ||
				out[1] != q->at[i].type))
			return 0;
		if (!(k->n & MSG_FLG_COPY))
			take_out(q, (u32)i);
		return 1;
	case CALL_MSGRM:
		q->exists = 0;
		return !known || result == 0;
	case CALL_MSGSTAT:
		return !known ||
		       (result == 0 && out[0] == q->n && out[1] == bytes(q));
	case CALL_MSGSET:
		q->qbytes = k->arg[0];
		return !known || result == 0;
	default:
		return 1;
	}
}

static void death(void *m, u32 actor)
{
	(void)m, (void)actor;
}

static u32 say(const struct msg_model *q, char *buf, u32 cap)
{
	u32 i, n = 0;

	buf[0] = 0;
	if (!q->exists)
		return (u32)snprintf(buf, cap, " no queue");
	for (i = 0; i < q->n && n < cap; i++)
		n += (u32)snprintf(
			buf + n, cap - n, " %ld", (long)q->at[i].name);
	return n;
}

static int final(const void *m, char *why, u32 cap)
{
	const struct msg_model *q = m;
	u32 n = (u32)snprintf(why, cap, "the registry has");

	n += say(&shown, why + n, cap - n);
	n += (u32)snprintf(why + n, cap - n, "; the model");
	say(q, why + n, cap - n);
	if (q->exists != shown.exists)
		return 0;
	if (!q->exists)
		return 1;
	if (shown_qnum != q->n || shown_cbytes != (u64)bytes(q))
		return 0;
	return q->n == shown.n &&
	       !memcmp(q->at, shown.at, q->n * sizeof(q->at[0]));
}

static const struct facility_model model = {
	sizeof(struct msg_model), init, apply, death, final};

/* ---- setups ---- */

static void make(struct caller *c, u32 n, s64 size, s64 qbytes)
{
	u32 i;

	start = (struct msg_model){1, n, qbytes ? qbytes : 16384, {{0}}};
	object_id[0] = msg_get(c, 1, 0600 | 01000);
	if (object_id[0] < 0 ||
		(qbytes && msg_set(c, object_id[0], 0, 0, 0600, (u64)qbytes)))
		abort();
	for (i = 0; i < n; i++) {
		struct call k = {
			CALL_MSGSND, 0, {1 + i, size, 1 + i}, 0, {{0}}};
		s64 out[CALL_OUT];

		start.at[i] = (struct message_of){1 + i, size, 1 + i};
		if (call_make(c, &k, out))
			abort();
	}
}

static void empty(struct caller *c)
{
	make(c, 0, 0, 0);
}
static void one(struct caller *c)
{
	make(c, 1, 8, 0);
}
static void one_other(struct caller *c)
{
	make(c, 1, 8, 0);
	other_make(c);
}
static void empty_other(struct caller *c)
{
	make(c, 0, 0, 0);
	other_make(c);
}
static void three(struct caller *c)
{
	make(c, 3, 8, 0);
}
static void full(struct caller *c)
{
	make(c, 2, 8, 16);
}
static void full_of_one(struct caller *c)
{
	make(c, 1, 16, 16);
}
static void large_ones(struct caller *c)
{
	make(c, 2, 3000, 0);
}

/* ---- preludes ---- */

/* Used by this one alone for so long that it is biased. */
static void biased(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_MSG, (u32)object_id[0] & ids_mask(c));
	struct call snd = {CALL_MSGSND, 0, {9, 8, 99}, 0, {{0}}};
	struct call rcv = {CALL_MSGRCV, 0, {9, 0, 0}, 0, {{0}}};
	s64 out[CALL_OUT];
	u32 i;

	for (i = 0; i < 3000 && s->bias != c->bias_id; i++) {
		call_make(c, &snd, out);
		call_make(c, &rcv, out);
	}
	if (s->bias != c->bias_id)
		abort();
}

/* As one that has long used it alone: its next call by the lock has it biased
 * to it. */
static void long_alone(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_MSG, (u32)object_id[0] & ids_mask(c));
	struct users *users = &msg_body(c, s)->users;

	in_row_at(c->alone, s->ident)->n = 1u << 30;
	users->thread[USER_SENDER] = c->thread;
	users->thread[USER_RECEIVER] = c->thread;
}

/* ---- memory that is used again ---- */

/*
 * object_id[1] is a set of so many semaphores that an undo record of it has the
 * size of a queue's body. Who removes the queue gives back what it made with
 * SEM_UNDO when it ends, whatever somebody else does to the queue.
 */
#define REUSED_SEMS 100u
static s32 reused[2];

static void queue_and_set(struct caller *c)
{
	make(c, 0, 0, 0);
	object_id[1] = sem_get(c, 2, REUSED_SEMS, 0600 | 01000);
	if (object_id[1] < 0)
		abort();
}

static void received_once(struct caller *c)
{
	struct call snd = {CALL_MSGSND, 0, {9, 8, 99}, 0, {{0}}};
	struct call rcv = {CALL_MSGRCV, 0, {9, 0, 0}, 0, {{0}}};
	s64 out[CALL_OUT];

	call_make(c, &snd, out);
	call_make(c, &rcv, out);
}

static void look_reused(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_SEM, (u32)object_id[1] & ids_mask(c));

	look(c);
	sem_lock_any(c, s);
	sem_unlock(c, s);
	reused[0] = sem_getval(c, object_id[1], 6);
	reused[1] = sem_getval(c, object_id[1], 7);
}

static int apply_reused(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	if (k->op == CALL_SEMOP)
		return !known || result == 0;
	return apply(m, actor, k, known, result, out);
}

static int final_reused(const void *m, char *why, u32 cap)
{
	if (reused[0] || reused[1]) {
		snprintf(why, cap, "semaphores 6 and 7 are %d and %d",
			reused[0], reused[1]);
		return ctl->actors[1].state != ACTOR_DEAD;
	}
	return final(m, why, cap);
}

static const struct facility_model model_reused = {
	sizeof(struct msg_model), init, apply_reused, death, final_reused};

/* ---- scenarios ---- */

#define SEND(type, size, name)                         \
	{                                              \
		CALL_MSGSND, 0, {type, size, name}, 0, \
		{                                      \
			{                              \
				0                      \
			}                              \
		}                                      \
	}
#define SEND_NOWAIT(type, size, name)                       \
	{                                                   \
		CALL_MSGSND, 0, {type, size, name}, NOWAIT, \
		{                                           \
			{                                   \
				0                           \
			}                                   \
		}                                           \
	}
#define RECEIVE(type)                      \
	{                                  \
		CALL_MSGRCV, 0, {type}, 0, \
		{                          \
			{                  \
				0          \
			}                  \
		}                          \
	}
#define RECEIVE_ROOM(type, room)                 \
	{                                        \
		CALL_MSGRCV, 0, {type, room}, 0, \
		{                                \
			{                        \
				0                \
			}                        \
		}                                \
	}
#define RECEIVE_NOWAIT(type)                    \
	{                                       \
		CALL_MSGRCV, 0, {type}, NOWAIT, \
		{                               \
			{                       \
				0               \
			}                       \
		}                               \
	}
#define EXCEPT(type)                                             \
	{                                                        \
		CALL_MSGRCV, 0, {type}, MSG_FLG_EXCEPT | NOWAIT, \
		{                                                \
			{                                        \
				0                                \
			}                                        \
		}                                                \
	}
#define COPY(n)                                             \
	{                                                   \
		CALL_MSGRCV, 0, {n}, MSG_FLG_COPY | NOWAIT, \
		{                                           \
			{                                   \
				0                           \
			}                                   \
		}                                           \
	}
#define RMID                           \
	{                              \
		CALL_MSGRM, 0, {0}, 0, \
		{                      \
			{              \
				0      \
			}              \
		}                      \
	}
#define STAT                             \
	{                                \
		CALL_MSGSTAT, 0, {0}, 0, \
		{                        \
			{                \
				0        \
			}                \
		}                        \
	}
#define SET(qbytes)                          \
	{                                    \
		CALL_MSGSET, 0, {qbytes}, 0, \
		{                            \
			{                    \
				0            \
			}                    \
		}                            \
	}
#define SLEEPER (ACTOR_FIRST | ACTOR_IMMORTAL)
#define RETURNING (ACTOR_CHILD | ACTOR_RETURNS)

#define SCENARIO(n, s)                                               \
	.name = "msg." n, .model = &model, .setup = s, .look = look, \
	.drain = drain

#define STOPS(n, s, deaths)                                   \
	SCENARIO("stop-" n, s), .stops = 1, .preemptions = 2, \
				.kills = (deaths), .max_kills_0 = !(deaths)

const struct scenario msg_scenarios[] = {
	{STOPS("receiver", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}}}},
	{STOPS("receiver-large", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 3000, 11)}}}},
	{STOPS("receiver-typed", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(2)}},
			{.calls = {SEND(1, 8, 11), SEND(2, 8, 12)}}}},
	{STOPS("receiver-room", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE_ROOM(0, 8)}},
			{.calls = {SEND(1, 16, 11)}}}},
	{STOPS("falls-asleep", empty, 0), .actors = {{.calls = {RECEIVE(2)}},
						  {.calls = {SEND(1, 8, 11)}}}},
	{STOPS("receiver-rmid", empty, 0),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {RMID}}}},
	{STOPS("two-receivers", empty, 1),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{SLEEPER, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}}}},
	{STOPS("two-receivers-typed", empty, 1),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{SLEEPER, NULL, {RECEIVE(2)}},
			{.calls = {SEND(2, 8, 11), SEND(1, 8, 12)}}}},
	{STOPS("sender", full, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{.calls = {RECEIVE(0)}}}},
	{STOPS("two-senders", full, 1),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{SLEEPER, NULL, {SEND(1, 8, 12)}},
			{.calls = {RECEIVE(0)}}}},
	{STOPS("sender-set", full, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{.calls = {SET(64)}}}},
	{STOPS("sender-rmid", full, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{.calls = {RMID}}}},
	{STOPS("biased", three, 0), .actors = {{0, biased, {SEND(1, 8, 11)}},
					    {.calls = {RECEIVE(0)}}}},
	{STOPS("sender-dies", empty, 1),
		.actors = {{SLEEPER, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 8, 12)}}}},
	{SCENARIO("send-receive", empty),
		.actors = {{.calls = {SEND(1, 8, 11)}},
			{.calls = {RECEIVE(0)}}}},
	{SCENARIO("send-send", one), .actors = {{.calls = {SEND(1, 8, 11)}},
					     {.calls = {SEND(2, 8, 12)}}}},
	{SCENARIO("receive-receive", one),
		.actors = {{.calls = {RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("typed-first", three),
		.actors = {{.calls = {RECEIVE_NOWAIT(2)}},
			{.calls = {RECEIVE_NOWAIT(0), RECEIVE_NOWAIT(-3)}}}},
	{SCENARIO("except-send", three), .actors = {{.calls = {EXCEPT(1)}},
						 {.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("copy-receive", three),
		.actors = {{.calls = {COPY(1)}}, {.calls = {RECEIVE(0)}}}},
	{SCENARIO("stat-send", one),
		.actors = {{.calls = {STAT}}, {.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("large", large_ones),
		.actors = {{.calls = {RECEIVE_NOWAIT(0)}},
			{.calls = {SEND(1, 3500, 11)}}}},
	{SCENARIO("sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("sleeper-large", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 3000, 11)}}}},
	{SCENARIO("killed-asleep", empty), .kills = 1,
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 8, 11)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {RECEIVE(0)}}}},
	{SCENARIO("two-sleepers", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_FIRST, NULL, {RECEIVE(2)}},
			{.calls = {SEND(2, 8, 11)}}}},
	{SCENARIO("sender-dies", empty), .kills = 1,
		.actors = {{SLEEPER, NULL, {RECEIVE(0), RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 8, 12)}}}},
	{SCENARIO("reused-sleepers", empty),
		.actors = {{ACTOR_FIRST | ACTOR_REUSED, NULL, {RECEIVE(0)}},
			{ACTOR_FIRST | ACTOR_EXECS, NULL, {RECEIVE(0)}},
			{ACTOR_REUSED, NULL, {SEND(1, 8, 11)}}}},
	{SCENARIO("reused-next-sleeper", empty),
		.actors = {{ACTOR_FIRST | ACTOR_REUSED, NULL, {RECEIVE(0)}},
			{ACTOR_NEWCOMER, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11), SEND(1, 8, 12)}}}},
	{SCENARIO("reused-next-sender", empty),
		.actors = {{ACTOR_REUSED, NULL, {SEND(1, 8, 11)}},
			{ACTOR_NEWCOMER, NULL, {SEND(1, 8, 12)}},
			{SLEEPER, NULL, {RECEIVE(0), RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("sleeper-rmid", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {RMID}}}},
	{SCENARIO("two-sleepers-rmid", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_FIRST, NULL, {RECEIVE(1)}}, {.calls = {RMID}}}},
	{SCENARIO("full-receive", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{.calls = {RECEIVE(0)}}}},
	{SCENARIO("full-two-senders", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 16, 11)}},
			{ACTOR_FIRST, NULL, {SEND(1, 8, 12)}},
			{.calls = {RECEIVE(0)}}}},
	{SCENARIO("full-receivers", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 16, 11)}},
			{SLEEPER, NULL, {SEND(1, 8, 12)}},
			{.calls = {RECEIVE(0)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("set-senders", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{SLEEPER, NULL, {SEND(1, 8, 12)}}, {.calls = {SET(24)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("set-receivers", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{SLEEPER, NULL, {RECEIVE(2)}}, {.calls = {SET(64)}},
			{ACTOR_IMMORTAL, NULL, {SEND(2, 8, 11)}}}},
	{SCENARIO("full-set", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{.calls = {SET(64)}}}},
	{SCENARIO("full-rmid", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{.calls = {RMID}}}},
	{SCENARIO("full-nowait", full),
		.actors = {{.calls = {SEND_NOWAIT(1, 8, 11)}},
			{.calls = {RECEIVE(0)}}}},
	/* The third in a hold of its own (HOLD_LEAVES). */
	{SCENARIO("pause-receive", full_of_one), .preemptions = 1,
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 4, 11)}},
			{SLEEPER, NULL, {SEND(1, 4, 12)}},
			{SLEEPER, NULL, {SEND(1, 4, 13)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("pause-set", full), .preemptions = 1,
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{SLEEPER, NULL, {SEND(1, 8, 12)}},
			{SLEEPER, NULL, {SEND(1, 8, 13)}},
			{.calls = {SET(64)}}}},
	{SCENARIO("pause-rmid", full), .kills = 1, .preemptions = 1,
		.actors = {{SLEEPER, NULL, {SEND(1, 8, 11)}},
			{SLEEPER, NULL, {SEND(1, 8, 12)}},
			{SLEEPER, NULL, {SEND(1, 8, 13)}}, {.calls = {SET(64)}},
			{.calls = {RMID}}}},
	{SCENARIO("too-large", empty), .kills = 1, .preemptions = 1,
		.actors = {{SLEEPER, NULL,
				   {RECEIVE_ROOM(0, 4), RECEIVE_NOWAIT(0)}},
			{SLEEPER, NULL, {RECEIVE_ROOM(1, 4)}},
			{SLEEPER, NULL, {RECEIVE_ROOM(0, 4)}},
			{.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("too-large-but-one", empty), .kills = 1, .preemptions = 1,
		.actors = {{SLEEPER, NULL, {RECEIVE_ROOM(0, 4)}},
			{SLEEPER, NULL, {RECEIVE_ROOM(1, 4)}},
			{SLEEPER, NULL, {RECEIVE_ROOM(0, 4)}},
			{SLEEPER, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11), SEND(1, 8, 12)}}}},
	{SCENARIO("rmid-send", one),
		.actors = {{.calls = {RMID}}, {.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("rmid-receive", one),
		.actors = {{.calls = {RMID}}, {.calls = {RECEIVE(0)}}}},
	{SCENARIO("biased-send", empty),
		.actors = {{0, biased, {SEND(1, 8, 11)}},
			{.calls = {SEND(1, 8, 12)}}}},
	{SCENARIO("biased-receive", one),
		.actors = {{0, biased, {RECEIVE_NOWAIT(1)}},
			{.calls = {SEND(1, 8, 12)}}}},
	{SCENARIO("biased-three", one),
		.actors = {{0, biased, {SEND(1, 8, 11)}},
			{.calls = {SEND(2, 8, 12)}},
			{.calls = {RECEIVE_NOWAIT(1)}}}},
	/* B has it biased to it while A is about to enter. */
	{SCENARIO("biased-again", one), .max_kills_0 = 1,
		.actors = {{0, biased, {SEND(1, 8, 11)}},
			{0, long_alone,
				{SEND(1, 8, 12), RECEIVE_NOWAIT(0),
					SEND(1, 8, 13)}}}},
	{SCENARIO("biased-again-kills", one),
		.actors = {{0, biased, {SEND(1, 8, 11)}},
			{0, long_alone,
				{SEND(1, 8, 12), RECEIVE_NOWAIT(0),
					SEND(1, 8, 13)}}}},
	{SCENARIO("biased-rmid", one),
		.actors = {{0, biased, {SEND(1, 8, 11)}}, {.calls = {RMID}}}},
	{SCENARIO("biased-no-barrier", empty),
		.actors = {{ACTOR_TSO, biased, {SEND(1, 8, 11)}},
			{ACTOR_NO_BARRIER, NULL, {SEND(1, 8, 12)}}}},
	/* A's signal handler makes a call, too. */
	{SCENARIO("handler-send", one),
		.actors = {{0, NULL, {SEND(1, 8, 11)}, SEND(2, 8, 12)},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-receive", three),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0)}, RECEIVE_NOWAIT(0)},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-large", large_ones),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0)}, SEND(1, 3500, 11)},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-other", one_other),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0)}, COUNT},
			{.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("handler-rmid", one),
		.actors = {{0, NULL, {SEND(1, 8, 11)}, RMID},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-biased", one),
		.actors = {{0, biased, {SEND(1, 8, 11)}, RECEIVE_NOWAIT(0)},
			{.calls = {SEND(1, 8, 12)}}}},
	{SCENARIO("handler-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}, SEND(2, 8, 12)},
			{.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("handler-sleeper-large", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}, RECEIVE_NOWAIT(0)},
			{.calls = {SEND(1, 3000, 11)}}}},
	/* The handler sleeps in its turn. */
	{SCENARIO("handler-sleeps", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(2)}, RECEIVE(1)},
			{.calls = {SEND(1, 8, 11), SEND(2, 8, 12)}}}},
	{SCENARIO("handler-sleeper-other", empty_other),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}, COUNT},
			{.calls = {SEND(1, 8, 11)}}}},
	{SCENARIO("handler-full", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)},
				   RECEIVE_NOWAIT(0)},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	/* A's signal handler forks B. */
	{SCENARIO("handler-forks", three),
		.actors = {{0, NULL, {SEND(1, 8, 11), RECEIVE_NOWAIT(0)},
				   MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-forks-biased", one),
		.actors = {{0, biased, {SEND(1, 8, 11)}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("handler-forks-large", large_ones),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0)}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {SEND(1, 3500, 11)}}}},
	{SCENARIO("handler-forks-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11), SEND(1, 8, 12)}}}},
	/* Two are killed in the removal, or beside it, and D recovers. */
	{SCENARIO("rmid-recovered", large_ones),
		.actors = {{.calls = {RMID}}, {.calls = {SEND(1, 3500, 11)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE_NOWAIT(0), STAT}}}},
	{SCENARIO("rmid-rmid-recovered", three),
		.actors = {{.calls = {RMID}}, {.calls = {RMID}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE_NOWAIT(0), RMID}}}},
	{SCENARIO("rmid-sleeper-recovered", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}}, {.calls = {RMID}},
			{SLEEPER, NULL, {RECEIVE(2)}},
			{ACTOR_IMMORTAL, NULL, {SEND(2, 8, 11)}}}},
	{SCENARIO("rmid-sender-recovered", empty), .preemptions = 1,
		.actors = {{SLEEPER, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}}, {.calls = {RMID}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 8, 12)}}}},
	{SCENARIO("rmid-full-recovered", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{.calls = {RMID}}, {SLEEPER, NULL, {SEND(1, 8, 12)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("rmid-biased-recovered", one),
		.actors = {{0, biased, {SEND(1, 8, 11)}}, {.calls = {RMID}},
			{ACTOR_IMMORTAL, NULL, {SEND(1, 8, 12)}}}},
	/* The same, and B returns from it into the call. */
	{SCENARIO("child-returns-send", one),
		.actors = {{0, NULL, {SEND(1, 8, 11)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE_NOWAIT(0)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("child-returns-receive", three),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {SEND(1, 8, 11)}},
			{.calls = {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("child-returns-new", three),
		.actors = {{ACTOR_NEW, NULL, {SEND(1, 8, 11)}, MAKE_CHILD(1)},
			{RETURNING | ACTOR_EXITS, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("child-returns-biased", one),
		.actors = {{0, biased, {SEND(1, 8, 11), RECEIVE_NOWAIT(0)},
				   MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE_NOWAIT(0)}}}},
	{SCENARIO("child-returns-large", large_ones),
		.actors = {{0, NULL, {RECEIVE_NOWAIT(0)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {SEND(1, 3500, 11)}}}},
	{SCENARIO("child-returns-send-large", empty),
		.actors = {{0, NULL, {SEND(1, 3000, 11)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {SEND(1, 3500, 12)}}}},
	{SCENARIO("child-returns-sleeper", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11), SEND(1, 8, 12)}}}},
	{SCENARIO("child-returns-sleeper-large", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {RECEIVE_NOWAIT(0)}},
			{.calls = {SEND(1, 3000, 11)}}}},
	{SCENARIO("child-returns-full", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {SEND_NOWAIT(1, 8, 12)}},
			{.calls = {RECEIVE(0)}}}},
	/* A and B sleep, threads of one process, which is killed. */
	{SCENARIO("thread-sleepers", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{.calls = {SEND(1, 8, 11)}},
			{SLEEPER, NULL, {RECEIVE(0)}}}},
	{SCENARIO("thread-sleepers-full", full),
		.actors = {{ACTOR_FIRST, NULL, {SEND(1, 8, 11)}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {SEND(1, 8, 12)}},
			{.calls = {RECEIVE_NOWAIT(0)}},
			{SLEEPER, NULL, {SEND(1, 8, 13)}}}},
	/* B is a thread that calls exec, C the new program. */
	{SCENARIO("exec-by-thread", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_EXECS, NULL,
				{SEND(1, 8, 11)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {SEND(1, 8, 12)}},
			{SLEEPER, NULL, {RECEIVE(0)}}}},
	{.name = "msg.rmid-reused",
		.model = &model_reused,
		.setup = queue_and_set,
		.look = look_reused,
		.drain = drain,
		.kills = 1,
		.actors = {{0, received_once, {RECEIVE(0)}},
			{ACTOR_EXITS, NULL,
				{RMID, {CALL_SEMOP, 1, {0}, 2,
					       {{6, 1, SEM_FLG_UNDO},
						       {7, 1, SEM_FLG_UNDO}}}}}}},
	/* Who lets a sleeper through has no robust list. */
	{SCENARIO("sleeper-no-list", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_NO_LIST, NULL, {SEND(1, 8, 11)}}}},
	{SCENARIO("sleeper-no-list-new", empty),
		.actors = {{.calls = {RECEIVE(0)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 8, 11)}}}},
	{SCENARIO("sleeper-no-list-two", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 8, 11)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 8, 12)}}}},
	{SCENARIO("sleepers-no-list", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_FIRST | ACTOR_NO_LIST, NULL, {RECEIVE(0)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 8, 11)}},
			{.calls = {SEND(1, 8, 12)}}}},
	{SCENARIO("sleeper-no-list-handler", empty),
		.actors = {{ACTOR_FIRST, NULL, {RECEIVE(0)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {SEND(1, 8, 11)},
				SEND(1, 8, 12)}}},
	{0},
};
