// SPDX-License-Identifier: MIT
/*
 * Two objects of a kind, or of several kinds, in one process that is killed:
 * what it leaves in all of them is released, in whatever order others find it.
 * Segments 0 and 1 are shm.c's, sets 1 and 2 have three semaphores each, queues
 * 3 and 4 have leases, and the POSIX queues are mq.c's and a second one. The
 * calls are the other files'; here is their model.
 */
#include <stdlib.h>
#include <string.h>
#include "explore.h"
#include "mq/mqlease.h"
#include "msg/msg.h"
#include "msg/msglease.h"
#include "msg/msgqueue.h"
#include "shm/shm.h"
#include "shm/shmattach.h"

#define UNDO SEM_FLG_UNDO
#define SEM_NOWAIT SEM_IPC_NOWAIT
#define MSG_NOWAIT MSG_IPC_NOWAIT
#define SEMS 3u
#define SET(obj) ((obj)-1)
#define QUEUE(obj) ((obj)-3)
#define MOST 4u

struct set_of {
	int exists;
	s32 values[SEMS];
	s32 adj[MAX_ACTORS][SEMS];
};
/* Names of messages, in the order of sending, which they say. */
struct queue_of {
	int exists;
	u32 n;
	s64 names[MOST];
	s64 held[MAX_ACTORS]; /* 0 = none */
};
struct segment_of {
	int exists, dest;
	u32 nattch[MAX_ACTORS];
};
/* A POSIX one. */
struct posix_of {
	u32 n, registrant; /* actor + 1 */
};
struct both_model {
	struct set_of sets[2];
	struct queue_of queues[2];
	struct segment_of segments[2];
	struct posix_of posix[2];
	u32 notified[MAX_ACTORS], deaths;
};

static struct {
	int exists[2];
	s32 values[2][SEMS];
	struct {
		int exists;
		u32 n, n_read;
		s64 names[MOST];
	} queues[2];
	int there[2];
	u64 nattch[2];
	u32 posix[2], notified[MAX_ACTORS];
} shown;

/* What the scenario is about. */
#define OF_SETS 1
#define OF_QUEUES 2
#define OF_SEGMENTS 4
#define OF_POSIX 8
static u32 of;
static s32 start_value;
static u32 start_n;

/* ---- what the registry shows ---- */

static void look_set(struct caller *c, u32 i)
{
	s32 id = object_id[1 + i];
	struct slot *s =
		region_slot(&c->region, FAC_SEM, (u32)id & ids_mask(c));
	struct sem_stat st;
	u32 k;

	sem_lock_any(c, s);
	sem_unlock(c, s);
	shown.exists[i] = sem_stat(c, id, OBJECT_BY_ID, &st) == 0;
	sem_finish_removal(c);
	for (k = 0; shown.exists[i] && k < SEMS; k++)
		shown.values[i][k] = (s32)sem_getval(c, id, (s32)k);
}

static void look_queue(struct caller *c, u32 i)
{
	s32 id = object_id[3 + i];
	struct slot *s =
		region_slot(&c->region, FAC_MSG, (u32)id & ids_mask(c));
	struct msg_stat st;

	msg_lock_any(c, s);
	lock_release(c, &s->lock);
	msg_leases_reclaim(c);
	shown.queues[i].exists = msg_stat(c, id, OBJECT_BY_ID, &st) == 0;
	msg_finish_removal(c);
	shown.queues[i].n = shown.queues[i].exists ? (u32)st.qnum : 0;
}

static void look_segment(struct caller *c, u32 i)
{
	s32 id = shm_id_of(i);
	struct slot *s =
		region_slot(&c->region, FAC_SHM, (u32)id & ids_mask(c));
	struct shm_stat st;

	object_fac_lock(c, &shm_class);
	object_fac_unlock(c, &shm_class);
	lock_acquire(c, &s->lock);
	lock_release(c, &s->lock);
	shown.there[i] = shm_stat(c, id, OBJECT_BY_ID, &st) == 0;
	shown.nattch[i] = shown.there[i] ? st.nattch : 0;
}

static void look_posix(struct caller *c, u32 i)
{
	struct mq_desc d = i ? mq_second(c) : mq_queue(c);
	struct mq_stat st;

	mq_lock_any(c, d.s);
	lock_release(c, &d.s->lock);
	shown.posix[i] = mq_stat(c, &d, &st) ? 0 : st.curmsgs;
}

static void look(struct caller *c)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		if (of & OF_SETS)
			look_set(c, i);
		if (of & OF_QUEUES)
			look_queue(c, i);
		if (of & OF_SEGMENTS)
			look_segment(c, i);
		if (of & OF_POSIX)
			look_posix(c, i);
	}
}

static void drain(struct caller *c)
{
	s64 out[CALL_OUT];
	u32 i, n;

	for (i = 0; (of & OF_QUEUES) && i < 2; i++) {
		struct call k = {
			CALL_MSGRCV, (s32)(3 + i), {0}, MSG_NOWAIT, {{0}}};

		for (n = 0; n < shown.queues[i].n && n < MOST; n++) {
			if (call_make(c, &k, out) < 0)
				break;
			shown.queues[i].names[n] = out[0];
		}
		shown.queues[i].n_read = n;
	}
}

static void rest(void)
{
	u32 i;

	signals_settle();
	for (i = 0; i < run.n_actors; i++)
		shown.notified[i] = ctl->actors[i].signals;
}

/* ---- the model ---- */

static void init(void *m)
{
	struct both_model *b = m;
	u32 i, k;

	for (i = 0; i < 2; i++) {
		b->sets[i].exists = b->queues[i].exists =
			b->segments[i].exists = 1;
		for (k = 0; k < SEMS; k++)
			b->sets[i].values[k] = start_value;
		for (k = 0; k < start_n; k++)
			b->queues[i].names[b->queues[i].n++] = 1 + k;
	}
}

static int operate(
	struct set_of *s, u32 process, const struct call *k, s64 *ret)
{
	struct set_of was = *s;
	u32 i;

	*ret = 0;
	for (i = 0; i < k->n; i++) {
		const struct sop *op = &k->sops[i];
		s32 *v = &s->values[op->num];

		if (op->op ? *v + op->op < 0 : *v != 0) {
			*s = was;
			*ret = -EAGAIN;
			return (op->flg & SEM_NOWAIT) != 0;
		}
		*v += op->op;
		if (op->flg & UNDO)
			s->adj[process][op->num] -= op->op;
		if (*v > SEMVMX) {
			*s = was;
			*ret = -ERANGE;
			return 1;
		}
	}
	return 1;
}

static int apply_set(struct set_of *s, u32 actor, const struct call *k,
	int known, s64 result)
{
	u32 a, i;
	s64 ret;

	if (!s->exists)
		return !known || result == -EINVAL || result == -EIDRM;
	switch (k->op) {
	case CALL_SEMOP:
		if (!operate(s, ctl->actors[actor].leader, k, &ret))
			return 0;
		return !known || result == ret;
	case CALL_SETALL:
		for (i = 0; i < SEMS; i++) {
			s->values[i] = (s32)k->arg[i];
			for (a = 0; a < MAX_ACTORS; a++)
				s->adj[a][i] = 0;
		}
		return !known || !result;
	case CALL_GETVAL:
		return !known || result == s->values[k->arg[0]];
	default: /* CALL_SEMRM */
		s->exists = 0;
		return !known || !result;
	}
}

static void put(struct queue_of *q, s64 name)
{
	u32 i = q->n++;

	for (; i > 0 && q->names[i - 1] > name; i--)
		q->names[i] = q->names[i - 1];
	q->names[i] = name;
}

static int apply_queue(struct queue_of *q, u32 actor, const struct call *k,
	int known, s64 result, const s64 *out)
{
	if (!q->exists)
		return !known || result == -EINVAL || result == -EIDRM;
	switch (k->op) {
	case CALL_MSGSND:
		put(q, k->arg[2]);
		return !known || !result;
	case CALL_MSGRCV:
		q->held[actor] = 0;
		if (!q->n)
			return (k->n & MSG_NOWAIT) &&
			       (!known || result == -ENOMSG);
		if (known && (result < 0 || out[0] != q->names[0]))
			return 0;
		q->held[actor] = q->names[0];
		memmove(&q->names[0], &q->names[1],
			--q->n * sizeof(q->names[0]));
		return 1;
	default: /* CALL_MSGRM */
		q->exists = 0;
		return !known || !result;
	}
}

static u32 total(const struct segment_of *g)
{
	u32 i, sum = 0;

	for (i = 0; i < MAX_ACTORS; i++)
		sum += g->nattch[i];
	return sum;
}

static void tidy(struct segment_of *g)
{
	if (g->dest && !total(g))
		g->exists = 0;
}

static int apply_segment(struct segment_of *g, u32 actor, const struct call *k,
	int known, s64 result, const s64 *out)
{
	if (!g->exists)
		return !known || result == -EINVAL || result == -EIDRM ||
		       (k->op == CALL_SHMDT && result == -ENODATA);
	switch (k->op) {
	case CALL_SHMAT:
		g->nattch[actor]++;
		break;
	case CALL_SHMDT:
		if (!g->nattch[actor])
			return !known || result == -EINVAL ||
			       result == -ENODATA;
		g->nattch[actor]--;
		tidy(g);
		break;
	case CALL_SHMRM:
		g->dest = 1;
		tidy(g);
		break;
	default: /* CALL_SHMSTAT */
		return !known || (!result && out[0] == total(g));
	}
	return !known || !result;
}

static int apply_posix(struct both_model *b, struct posix_of *q, u32 actor,
	const struct call *k, int known, s64 result)
{
	if (k->op == CALL_MQSEND) {
		if (!q->n++ && q->registrant) {
			b->notified[q->registrant - 1]++;
			q->registrant = 0;
		}
		return !known || !result;
	}
	if (q->registrant)
		return !known || result == -EBUSY;
	q->registrant = actor + 1;
	return !known || !result;
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct both_model *b = m;
	u32 i;

	switch (k->op) {
	case CALL_SEMOP:
	case CALL_SETALL:
	case CALL_GETVAL:
	case CALL_SEMRM:
		return apply_set(
			&b->sets[SET(k->obj)], actor, k, known, result);
	case CALL_MSGSND:
	case CALL_MSGRCV:
	case CALL_MSGRM:
		return apply_queue(&b->queues[QUEUE(k->obj)], actor, k, known,
			result, out);
	case CALL_SHMAT:
	case CALL_SHMDT:
	case CALL_SHMRM:
	case CALL_SHMSTAT:
		return apply_segment(
			&b->segments[k->obj], actor, k, known, result, out);
	case CALL_MQSEND:
	case CALL_MQNOTIFY:
		return apply_posix(
			b, &b->posix[k->obj], actor, k, known, result);
	case CALL_FORK:
		for (i = 0; i < 2; i++)
			b->segments[i].nattch[k->arg[0]] =
				b->segments[i].nattch[actor];
		return !known || result > 0;
	default: /* CALL_GC */
		return !known || !result;
	}
}

static void death(void *m, u32 actor)
{
	struct both_model *b = m;
	u32 i, k, leader = ctl->actors[actor].leader;

	b->deaths++;
	for (i = 0; i < 2; i++) {
		struct set_of *s = &b->sets[i];
		struct queue_of *q = &b->queues[i];

		for (k = 0; k < SEMS; k++) {
			s32 v = s->values[k] + s->adj[leader][k];

			s->values[k] = v < 0 ? 0 : v > SEMVMX ? SEMVMX : v;
			s->adj[leader][k] = 0;
		}
		if (q->held[actor] && q->exists)
			put(q, q->held[actor]);
		q->held[actor] = 0;
		b->segments[i].nattch[actor] = 0;
		tidy(&b->segments[i]);
		if (b->posix[i].registrant == actor + 1)
			b->posix[i].registrant = 0;
	}
}

static int final_set(const struct set_of *s, u32 i, char *why, u32 cap)
{
	u32 k;

	for (k = 0; k < SEMS; k++)
		if (s->exists && s->values[k] != shown.values[i][k])
			break;
	snprintf(why, cap,
		"set %u: there %d, %d %d %d; in the model %d, %d %d %d", 1 + i,
		shown.exists[i], shown.values[i][0], shown.values[i][1],
		shown.values[i][2], s->exists, s->values[0], s->values[1],
		s->values[2]);
	return s->exists == shown.exists[i] && k == SEMS;
}

static int final_queue(const struct queue_of *q, u32 i, char *why, u32 cap)
{
	u32 k, n;

	n = (u32)snprintf(
		why, cap, "queue %u: there %d,", 3 + i, shown.queues[i].exists);
	for (k = 0; k < shown.queues[i].n_read; k++)
		n += (u32)snprintf(why + n, cap - n, " %ld",
			(long)shown.queues[i].names[k]);
	n += (u32)snprintf(why + n, cap - n, " of %u; in the model %d,",
		shown.queues[i].n, q->exists);
	for (k = 0; k < q->n; k++)
		n += (u32)snprintf(why + n, cap - n, " %ld", (long)q->names[k]);
	if (q->exists != shown.queues[i].exists)
		return 0;
	return !q->exists ||
	       (q->n == shown.queues[i].n && q->n == shown.queues[i].n_read &&
		       !memcmp(q->names, shown.queues[i].names,
			       q->n * sizeof(q->names[0])));
}

static int final_segment(const struct segment_of *g, u32 i, char *why, u32 cap)
{
	snprintf(why, cap,
		"segment %u: there %d, attached %lu; in the model %d, %u", i,
		shown.there[i], (unsigned long)shown.nattch[i], g->exists,
		total(g));
	return g->exists == shown.there[i] &&
	       (!g->exists || total(g) == shown.nattch[i]);
}

static int final_posix(const struct both_model *b, char *why, u32 cap)
{
	u32 i;

	for (i = 0; i < 2; i++)
		if (b->posix[i].n != shown.posix[i]) {
			snprintf(why, cap,
				"posix queue %u: %u messages, not %u", i,
				shown.posix[i], b->posix[i].n);
			return 0;
		}
	for (i = 0; i < run.n_actors; i++) {
		if (ctl->actors[i].state == ACTOR_DEAD)
			continue;
		snprintf(why, cap, "%c was notified %u times, not %u", 'A' + i,
			shown.notified[i], b->notified[i]);
		/* Two of the same signal may be one. */
		if (shown.notified[i] < (b->notified[i] != 0) ||
			shown.notified[i] > b->notified[i] + b->deaths)
			return 0;
	}
	return 1;
}

static int final(const void *m, char *why, u32 cap)
{
	const struct both_model *b = m;
	u32 i;

	for (i = 0; i < 2; i++)
		if (((of & OF_SETS) && !final_set(&b->sets[i], i, why, cap)) ||
			((of & OF_QUEUES) &&
				!final_queue(&b->queues[i], i, why, cap)) ||
			((of & OF_SEGMENTS) &&
				!final_segment(&b->segments[i], i, why, cap)))
			return 0;
	return !(of & OF_POSIX) || final_posix(b, why, cap);
}

static const struct facility_model model = {
	sizeof(struct both_model), init, apply, death, final};

/* ---- setups ---- */

static void sets_make(struct caller *c, u16 value)
{
	u16 values[SEMS] = {value, value, value};
	u32 i;

	start_value = value;
	for (i = 0; i < 2; i++) {
		object_id[1 + i] = sem_get(c, 0, SEMS, 0600);
		if (object_id[1 + i] < 0 ||
			sem_setall(c, object_id[1 + i], values, SEMS))
			abort();
	}
}

static void queues_make(struct caller *c, u32 n)
{
	s64 out[CALL_OUT];
	u32 i, k;

	start_n = n;
	for (i = 0; i < 2; i++) {
		object_id[3 + i] = msg_get(c, 0, 0600);
		if (object_id[3 + i] < 0 ||
			msg_set_leasing(c, object_id[3 + i], 1))
			abort();
		for (k = 0; k < n; k++) {
			struct call snd = {CALL_MSGSND, (s32)(3 + i),
				{1, 8, 1 + k}, 0, {{0}}};

			if (call_make(c, &snd, out))
				abort();
		}
	}
}

static void sets(struct caller *c)
{
	of = OF_SETS;
	sets_make(c, 2);
}
static void sets_empty(struct caller *c)
{
	of = OF_SETS;
	sets_make(c, 0);
}
static void sets_most(struct caller *c)
{
	of = OF_SETS;
	sets_make(c, SEMVMX);
}
static void queues(struct caller *c)
{
	of = OF_QUEUES;
	queues_make(c, 2);
}
static void segments(struct caller *c)
{
	of = OF_SEGMENTS;
	shm_two_make(c);
}
static void posix(struct caller *c)
{
	of = OF_POSIX;
	mq_queue_make(c, 0, 2);
	mq_second_make(c, 2);
}
static void sets_queues_segments(struct caller *c)
{
	of = OF_SETS | OF_QUEUES | OF_SEGMENTS;
	shm_two_make(c);
	sets_make(c, 2);
	queues_make(c, 2);
}
static void sets_segments(struct caller *c)
{
	of = OF_SETS | OF_SEGMENTS;
	shm_two_make(c);
	sets_make(c, 2);
}

/* ---- scenarios ---- */

#define CALL(op_, obj_, a, b, name, flags)                               \
	{                                                                \
		.op = op_, .obj = obj_, .arg = {a, b, name}, .n = flags, \
	}
#define SOP(obj_, num, by, flags)              \
	{                                      \
		CALL_SEMOP, obj_, {0}, 1,      \
		{                              \
			{                      \
				num, by, flags \
			}                      \
		}                              \
	}
#define SOP3(obj_, by, flags)                           \
	{                                               \
		CALL_SEMOP, obj_, {0}, 3,               \
		{                                       \
			{0, by, flags}, {1, by, flags}, \
			{                               \
				2, by, flags            \
			}                               \
		}                                       \
	}
#define TAKE(obj) SOP(obj, 0, -1, UNDO)
#define TAKE_ALL(obj) SOP3(obj, -1, UNDO)
#define DEC(obj) SOP(obj, 0, -1, 0)
#define INC(obj) SOP(obj, 0, 1, 0)
#define SETALL(obj, v) CALL(CALL_SETALL, obj, v, v, v, 0)
#define GETVAL(obj) CALL(CALL_GETVAL, obj, 0, 0, 0, 0)
#define RMSET(obj) CALL(CALL_SEMRM, obj, 0, 0, 0, 0)
#define SEND(obj, name) CALL(CALL_MSGSND, obj, 1, 8, name, 0)
#define LEASE(obj) CALL(CALL_MSGRCV, obj, 0, 0, 0, MSG_NOWAIT)
#define RECEIVE(obj) CALL(CALL_MSGRCV, obj, 0, 0, 0, 0)
#define RMQUEUE(obj) CALL(CALL_MSGRM, obj, 0, 0, 0, 0)
#define AT(obj) CALL(CALL_SHMAT, obj, 0, 0, 0, 0)
#define DT(obj) CALL(CALL_SHMDT, obj, 0, 0, 0, 0)
#define RMSEG(obj) CALL(CALL_SHMRM, obj, 0, 0, 0, 0)
#define STAT(obj) CALL(CALL_SHMSTAT, obj, 0, 0, 0, 0)
#define NOTIFY(obj) CALL(CALL_MQNOTIFY, obj, 0, 0, 0, 0)
#define MQSEND(obj, name) CALL(CALL_MQSEND, obj, 1, 8, name, 0)
#define GC CALL(CALL_GC, 0, 0, 0, 0, 0)
#define SLEEPER (ACTOR_FIRST | ACTOR_IMMORTAL)
/* Has made all its calls before anything is explored, and may be killed. */
#define LEAVES (ACTOR_FIRST | ACTOR_STEADY)

#define SCENARIO(n, s)                                                \
	.name = "both." n, .model = &model, .setup = s, .look = look, \
	.drain = drain, .reset = segments_reset, .rest = rest

const struct scenario both_scenarios[] = {
	{SCENARIO("sets-two-die", sets), .preemptions = 1,
		.actors = {{LEAVES, NULL, {TAKE(1), TAKE(2)}},
			{LEAVES, NULL, {TAKE(2), TAKE(1)}},
			{.calls = {DEC(1), DEC(2)}}}},
	{SCENARIO("sets-sleepers", sets),
		.actors = {{LEAVES, NULL, {TAKE_ALL(1), TAKE_ALL(2)}},
			{SLEEPER, NULL, {SOP3(1, -2, 0)}},
			{SLEEPER, NULL, {SOP3(2, -2, UNDO)}}, {.calls = {GC}}}},
	{SCENARIO("sets-reapers", sets),
		.actors = {{LEAVES, NULL, {TAKE_ALL(1), TAKE_ALL(2)}},
			{.calls = {GC}}, {.calls = {GC}},
			{ACTOR_IMMORTAL, NULL, {SOP3(1, -2, 0)}}}},
	/* A third goes on where two died that gave back. */
	{SCENARIO("sets-three-die", sets), .kills = 3, .preemptions = 1,
		.actors = {{LEAVES, NULL, {TAKE(1), TAKE(2)}}, {.calls = {GC}},
			{.calls = {GC}}, {ACTOR_IMMORTAL, NULL, {DEC(2)}}}},
	{SCENARIO("segments-three-die", segments), .kills = 3, .preemptions = 1,
		.actors = {{LEAVES, NULL, {AT(0), AT(1), RMSEG(0)}},
			{.calls = {GC}}, {.calls = {STAT(1)}},
			{ACTOR_IMMORTAL, NULL, {STAT(0)}}}},
	{SCENARIO("queues-three-die", queues), .kills = 3, .preemptions = 1,
		.actors = {{LEAVES, NULL, {LEASE(3), LEASE(4)}},
			{.calls = {GC}}, {.calls = {LEASE(4)}},
			{ACTOR_IMMORTAL, NULL, {LEASE(3)}}}},
	/* B removes one and C gives back; one of them dies. */
	{SCENARIO("sets-rmid-reaper", sets),
		.actors = {{LEAVES, NULL, {TAKE(1), TAKE(2)}},
			{.calls = {RMSET(1)}}, {.calls = {GC}},
			{ACTOR_IMMORTAL, NULL, {DEC(2)}}}},
	{SCENARIO("sets-rmid-rmid", sets),
		.actors = {{LEAVES, NULL, {TAKE(1), TAKE(2)}},
			{.calls = {RMSET(1)}}, {.calls = {RMSET(2)}},
			{ACTOR_IMMORTAL, NULL, {GC}}}},
	{SCENARIO("sets-setall", sets),
		.actors = {{LEAVES, NULL, {TAKE_ALL(1), TAKE_ALL(2)}},
			{.calls = {SETALL(1, 5)}}, {.calls = {GC}},
			{ACTOR_IMMORTAL, NULL, {SOP3(2, -2, 0)}}}},
	/* A sleeper with undo elsewhere is killed, as its set is removed. */
	{SCENARIO("sets-sleeper-rmid", sets_empty),
		.actors = {{ACTOR_FIRST, NULL, {SOP(1, 1, 1, UNDO), DEC(2)}},
			{.calls = {RMSET(2)}},
			{SLEEPER, NULL, {SOP(1, 1, -2, 0)}},
			{ACTOR_IMMORTAL, NULL, {SOP(1, 1, 1, 0)}}}},
	/* What the dead have taken does not fit any more. */
	{SCENARIO("sets-most", sets_most),
		.actors = {{LEAVES, NULL, {TAKE_ALL(1), TAKE_ALL(2)}},
			{0, NULL, {SOP3(1, 1, 0), DEC(1)}}, {.calls = {GC}},
			{ACTOR_IMMORTAL, NULL, {SOP3(2, 1, UNDO)}}}},
	{SCENARIO("sets-most-array", sets_most),
		.actors = {{LEAVES, NULL, {TAKE_ALL(1)}},
			{.calls = {SOP3(1, 1, UNDO)}},
			{ACTOR_IMMORTAL, NULL, {GETVAL(1)}}}},
	{SCENARIO("sets-newcomer", sets),
		.actors = {{LEAVES, NULL, {TAKE(1), TAKE(2)}},
			{ACTOR_NEW, NULL, {TAKE(1)}},
			{ACTOR_NEW, NULL, {DEC(2), TAKE(2)}}}},
	/* B takes A's record over, while C recovers A's lock. */
	{SCENARIO("sets-newcomer-recovery", sets_empty), .kills = 1,
		.actors = {{.calls = {INC(1)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {INC(2)}},
			{SLEEPER, NULL, {DEC(1)}}}},
	{SCENARIO("sets-newcomer-reaper", sets), .kills = 1,
		.actors = {{.calls = {TAKE(1), DEC(2)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {TAKE(2)}},
			{ACTOR_IMMORTAL, NULL, {GC, DEC(1)}}}},
	{SCENARIO("sets-two-newcomers", sets), .kills = 1,
		.actors = {{.calls = {TAKE(1)}}, {ACTOR_NEW, NULL, {TAKE(2)}},
			{ACTOR_NEW, NULL, {DEC(1)}}}},
	{SCENARIO("queues-newcomer-recovery", queues), .kills = 1,
		.actors = {{.calls = {SEND(3, 3)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {SEND(4, 3)}},
			{ACTOR_IMMORTAL, NULL, {LEASE(3), LEASE(3)}}}},
	{SCENARIO("sets-newcomer-sleeper", sets_empty), .kills = 1,
		.actors = {{ACTOR_FIRST, NULL, {DEC(1)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {DEC(2)}},
			{ACTOR_IMMORTAL, NULL, {INC(1), INC(2)}}}},
	{SCENARIO("queues-newcomer-sleeper", queues), .kills = 1,
		.actors = {{ACTOR_FIRST, NULL,
				   {RECEIVE(3), RECEIVE(3), RECEIVE(3)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL,
				{RECEIVE(4), RECEIVE(4), RECEIVE(4)}},
			{ACTOR_IMMORTAL, NULL, {SEND(3, 3), SEND(4, 3)}}}},
	/* A dies under two locks, and one comes by each. */
	{SCENARIO("sets-newcomer-rmid", sets), .kills = 1,
		.actors = {{.calls = {RMSET(1)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {DEC(2)}},
			{ACTOR_IMMORTAL, NULL, {RMSET(1)}},
			{ACTOR_IMMORTAL, NULL, {DEC(1)}}}},
	{SCENARIO("segments-newcomer-recovery", segments), .kills = 1,
		.actors = {{.calls = {AT(0), DT(0)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {AT(1)}},
			{ACTOR_IMMORTAL, NULL, {AT(0), RMSEG(0)}}}},
	{SCENARIO("posix-newcomer-recovery", posix), .kills = 1,
		.actors = {{.calls = {MQSEND(0, 1)}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {MQSEND(1, 1)}},
			{ACTOR_IMMORTAL, NULL, {NOTIFY(1), NOTIFY(0)}}}},
	{SCENARIO("sets-newcomer-reused", sets),
		.actors = {{LEAVES | ACTOR_REUSED, NULL, {TAKE(1), TAKE(2)}},
			{ACTOR_NEW | ACTOR_REUSED, NULL, {TAKE(1)}},
			{.calls = {DEC(2), DEC(1)}}}},
	/* B is another process with the number of A, or of A's thread. */
	{SCENARIO("reused-next-undo", sets),
		.actors = {{ACTOR_REUSED, NULL, {TAKE(1), TAKE(2)}},
			{ACTOR_NEWCOMER, NULL, {TAKE(1), DEC(2)}},
			{.calls = {SOP3(1, -1, 0)}}}},
	{SCENARIO("reused-next-left", sets),
		.actors = {{LEAVES | ACTOR_REUSED, NULL, {TAKE(1), TAKE(2)}},
			{ACTOR_NEWCOMER, NULL, {TAKE(1)}},
			{ACTOR_IMMORTAL, NULL, {SOP3(2, -2, 0)}}}},
	{SCENARIO("reused-next-sleeper", sets_empty),
		.actors = {{ACTOR_FIRST | ACTOR_REUSED, NULL, {DEC(1)}},
			{ACTOR_NEWCOMER, NULL, {TAKE(1)}},
			{.calls = {INC(1)}}}},
	{SCENARIO("reused-next-waker", sets_empty),
		.actors = {{ACTOR_REUSED, NULL, {INC(1)}},
			{ACTOR_NEWCOMER, NULL, {INC(2)}},
			{SLEEPER, NULL, {DEC(1)}}}},
	{SCENARIO("reused-next-thread", sets),
		.actors = {{.calls = {TAKE(1)}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_REUSED, NULL,
				{TAKE(2)}},
			{ACTOR_NEWCOMER, NULL, {TAKE(1)}},
			{.calls = {DEC(2), DEC(1)}}}},
	{SCENARIO("reused-next-thread-waker", sets_empty),
		.actors = {{.calls = {INC(2)}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_REUSED, NULL,
				{INC(1)}},
			{ACTOR_NEWCOMER, NULL, {DEC(2)}},
			{SLEEPER, NULL, {DEC(1)}}}},
	{SCENARIO("reused-next-lease", queues),
		.actors = {{ACTOR_REUSED, NULL, {LEASE(3), LEASE(4)}},
			{ACTOR_NEWCOMER, NULL, {LEASE(3)}},
			{.calls = {RECEIVE(4)}}}},
	{SCENARIO("reused-next-segment", segments),
		.actors = {{ACTOR_REUSED, NULL, {AT(0), AT(1), RMSEG(0)}},
			{ACTOR_NEWCOMER, NULL, {AT(0), AT(1)}},
			{.calls = {STAT(1), GC}}}},
	{SCENARIO("reused-next-thread-segment", segments),
		.actors = {{.calls = {AT(0)}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_REUSED, NULL,
				{AT(1)}},
			{ACTOR_NEWCOMER, NULL, {AT(0)}},
			{.calls = {STAT(1), RMSEG(0)}}}},
	{SCENARIO("reused-next-notified", posix),
		.actors =
			{{LEAVES | ACTOR_REUSED, NULL, {NOTIFY(0), NOTIFY(1)}},
				{ACTOR_NEWCOMER, NULL, {NOTIFY(1)}},
				{ACTOR_IMMORTAL, NULL,
					{MQSEND(0, 1), MQSEND(1, 1)}}}},
	{SCENARIO("queues-two-die", queues), .preemptions = 1,
		.actors = {{LEAVES, NULL, {LEASE(3), LEASE(4)}},
			{LEAVES, NULL, {LEASE(4), LEASE(3)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE(3)}},
			{ACTOR_IMMORTAL, NULL, {RECEIVE(4)}}}},
	{SCENARIO("queues-reapers", queues),
		.actors = {{LEAVES, NULL, {LEASE(3), LEASE(4)}},
			{.calls = {GC}}, {.calls = {GC}},
			{ACTOR_IMMORTAL, NULL, {LEASE(4)}}}},
	{SCENARIO("queues-rmid", queues),
		.actors = {{LEAVES, NULL, {LEASE(3), LEASE(4)}},
			{.calls = {RMQUEUE(3)}}, {.calls = {LEASE(4)}},
			{ACTOR_IMMORTAL, NULL, {GC}}}},
	{SCENARIO("queues-lease-dies", queues),
		.actors = {{.calls = {LEASE(3), LEASE(4)}}, {.calls = {GC}},
			{.calls = {LEASE(3), SEND(4, 3)}}}},
	{SCENARIO("segments-one-removed", segments),
		.actors = {{LEAVES, NULL, {AT(0), AT(1)}},
			{.calls = {RMSEG(0)}}, {.calls = {GC}},
			{ACTOR_IMMORTAL, NULL, {STAT(1), AT(1)}}}},
	{SCENARIO("segments-both-removed", segments),
		.actors = {{LEAVES, NULL, {AT(0), AT(1), RMSEG(0), RMSEG(1)}},
			{.calls = {GC}}, {.calls = {AT(0), DT(0)}},
			{ACTOR_IMMORTAL, NULL, {STAT(1)}}}},
	{SCENARIO("segments-two-die", segments), .preemptions = 1,
		.actors = {{LEAVES, NULL, {AT(0), AT(1)}},
			{LEAVES, NULL, {AT(1), AT(0)}},
			{.calls = {RMSEG(1), STAT(0)}}}},
	/* B is A's child, and dies at once. */
	{SCENARIO("segments-child", segments), .preemptions = 1,
		.actors = {{.calls = {AT(0), AT(1), MAKE_CHILD(1), RMSEG(0)}},
			{ACTOR_CHILD | ACTOR_EXITS, NULL, {STAT(1)}},
			{.calls = {GC}}}},
	{SCENARIO("segments-child-beside", segments), .preemptions = 1,
		.actors = {{.calls = {AT(0), AT(1), MAKE_CHILD(1)}},
			{ACTOR_CHILD, NULL, {DT(0)}}, {.calls = {RMSEG(0)}},
			{.calls = {GC}}}},
	{SCENARIO("notified-two", posix),
		.actors = {{LEAVES, NULL, {NOTIFY(0), NOTIFY(1)}},
			{.calls = {MQSEND(0, 1)}}, {.calls = {MQSEND(1, 1)}}}},
	{SCENARIO("notified-reaper", posix),
		.actors = {{LEAVES, NULL, {NOTIFY(0), NOTIFY(1)}},
			{.calls = {GC, NOTIFY(1)}}, {.calls = {NOTIFY(0)}},
			{ACTOR_IMMORTAL, NULL, {MQSEND(0, 1), MQSEND(1, 1)}}}},
	/* All that one process leaves; two that give it back, and one dies. */
	{SCENARIO("all-reapers", sets_queues_segments), .kills = 2,
		.actors = {{LEAVES, NULL,
				   {TAKE(1), TAKE(2), LEASE(3), LEASE(4), AT(0),
					   AT(1)}},
			{.calls = {GC}}, {.calls = {GC}}}},
	{SCENARIO("all-removed", sets_queues_segments), .kills = 2,
		.preemptions = 1,
		.actors = {{LEAVES, NULL,
				   {TAKE(1), TAKE(2), LEASE(3), LEASE(4), AT(0),
					   AT(1)}},
			{.calls = {RMSET(1), RMQUEUE(3), RMSEG(0)}},
			{.calls = {GC}}}},
	{SCENARIO("all-newcomer", sets_segments), .kills = 2,
		.actors = {{LEAVES, NULL, {TAKE(1), AT(0), TAKE(2), AT(1)}},
			{ACTOR_NEW, NULL, {AT(0), TAKE(2)}},
			{ACTOR_IMMORTAL, NULL, {RMSEG(0), DEC(2)}}}},
	{SCENARIO("all-reused", sets_segments), .kills = 2,
		.actors = {{LEAVES | ACTOR_REUSED, NULL,
				   {TAKE(1), AT(0), TAKE(2), AT(1)}},
			{ACTOR_REUSED, NULL, {GC, TAKE(1)}},
			{ACTOR_IMMORTAL, NULL, {STAT(0), DEC(2)}}}},
	/* Who lets a sleeper through has no robust list. */
	{SCENARIO("sleeper-no-list", sets_empty),
		.actors = {{ACTOR_FIRST, NULL, {DEC(1)}},
			{ACTOR_NO_LIST, NULL, {INC(1)}}}},
	{SCENARIO("sleeper-no-list-new", sets_empty),
		.actors = {{.calls = {DEC(1)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {INC(1)}}}},
	{SCENARIO("sleeper-no-list-two", sets_empty),
		.actors = {{ACTOR_FIRST, NULL, {DEC(1)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {INC(1)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {INC(1)}}}},
	{SCENARIO("sleepers-no-list", sets_empty),
		.actors = {{ACTOR_FIRST, NULL, {DEC(1)}},
			{ACTOR_FIRST | ACTOR_NO_LIST, NULL, {DEC(1)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {INC(1)}},
			{.calls = {INC(1)}}}},
	{SCENARIO("sleeper-no-list-handler", sets_empty),
		.actors = {{ACTOR_FIRST, NULL, {DEC(1)}},
			{ACTOR_NO_LIST | ACTOR_NEW, NULL, {INC(1)}, INC(1)}}},
	{0},
};
