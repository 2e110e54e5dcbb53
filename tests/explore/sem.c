// SPDX-License-Identifier: MIT
/*
 * Semaphores: the model, and the scenarios. Set 0 (object_id[0]) has three
 * semaphores unless said otherwise.
 */
#include <stdlib.h>
#include <string.h>
#include "explore.h"
#include "sem/undo.h"

#define UNDO SEM_FLG_UNDO
#define NOWAIT SEM_IPC_NOWAIT
#define SEMS 3u
#define MODE 0600u

/* ---- what the registry shows ---- */

static struct {
	int exists;
	u32 mode;
	u16 values[SEMS];
} shown, start;

static void look(struct caller *c)
{
	u32 idx = (u32)object_id[0] & ids_mask(c);
	struct slot *s = region_slot(&c->region, FAC_SEM, idx);
	struct sem_stat st;
	u32 i;

	memset(&shown, 0, sizeof(shown));
	sem_lock_any(c, s);
	sem_unlock(c, s);
	/* As anybody's semctl: it also looks for exited tasks. */
	shown.exists = sem_stat(c, object_id[0], OBJECT_BY_ID, &st) == 0;
	sem_finish_removal(c);
	/* Who had its lock may be dead, and nobody else comes to it. */
	other_visit(c);
	if (!shown.exists)
		return;
	shown.mode = st.mode;
	for (i = 0; i < SEMS && i < st.nsems; i++)
		shown.values[i] = (u16)sem_getval(c, object_id[0], (s32)i);
}

/* ---- the model ---- */

struct sem_model {
	int exists;
	u32 mode;
	s32 values[SEMS];
	s32 adj[MAX_ACTORS][SEMS]; /* of a process, by its first thread */
};

static void init(void *m)
{
	struct sem_model *s = m;
	u32 i;

	s->exists = 1;
	s->mode = MODE;
	for (i = 0; i < SEMS; i++)
		s->values[i] = start.values[i];
}

/* 1: made; 0: it would sleep; else its error. */
static s64 operate(struct sem_model *s, u32 actor, const struct call *k)
{
	struct sem_model was = *s;
	u32 i, process = ctl->actors[actor].leader;

	for (i = 0; i < k->n; i++) {
		const struct sop *op = &k->sops[i];
		s32 *v = &s->values[op->num];

		if (op->op ? *v + op->op < 0 : *v != 0) {
			*s = was;
			return op->flg & NOWAIT ? -EAGAIN : 0;
		}
		*v += op->op;
		if (op->flg & UNDO)
			s->adj[process][op->num] -= op->op;
		if (*v > SEMVMX) {
			*s = was;
			return -ERANGE;
		}
	}
	return 1;
}

static void forget(struct sem_model *s, s64 num)
{
	u32 a, i;

	for (a = 0; a < MAX_ACTORS; a++)
		for (i = 0; i < SEMS; i++)
			if (num < 0 || num == i)
				s->adj[a][i] = 0;
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct sem_model *s = m;
	s64 ret = 0;
	u32 i;

	/* A key is not modelled: what semget says is checked by its use. */
	if (k->op == CALL_SEMGET)
		return 1;
	if (k->op == CALL_FORK)
		return !known || result > 0;
	if (!s->exists)
		return !known || result == -EINVAL || result == -EIDRM;
	switch (k->op) {
	case CALL_SEMOP:
		ret = operate(s, actor, k);
		if (!ret)
			return 0;
		if (ret == 1)
			ret = 0;
		break;
	case CALL_SETVAL:
		s->values[k->arg[0]] = (s32)k->arg[1];
		forget(s, k->arg[0]);
		break;
	case CALL_SETALL:
		for (i = 0; i < SEMS; i++)
			s->values[i] = (s32)k->arg[i];
		forget(s, -1);
		break;
	case CALL_GETVAL:
		ret = s->values[k->arg[0]];
		break;
	case CALL_GETALL:
		ret = 0;
		for (i = 0; known && i < SEMS; i++)
			if (out[i] != s->values[i])
				return 0;
		break;
	case CALL_SEMRM:
		if (k->obj == OTHER)
			return !known || !result;
		s->exists = 0;
		break;
	case CALL_SEMSET:
		s->mode = (u32)k->arg[0];
		break;
	default:
		break;
	}
	if (k->op == CALL_NCNT)
		return 1;
	return !known || ret == result;
}

static void death(void *m, u32 actor)
{
	struct sem_model *s = m;
	u32 i, next;

	actor = ctl->actors[actor].leader;
	next = run_next_image(actor);
	/* exec keeps what is to be undone. */
	for (i = 0; next < MAX_ACTORS && i < SEMS; i++) {
		s->adj[next][i] += s->adj[actor][i];
		s->adj[actor][i] = 0;
	}
	if (!s->exists || (run.scn->actors[actor].flags & ACTOR_EXECS))
		return;
	for (i = 0; i < SEMS; i++) {
		s->values[i] += s->adj[actor][i];
		if (s->values[i] < 0)
			s->values[i] = 0;
		s->adj[actor][i] = 0;
	}
}

static int final(const void *m, char *why, u32 cap)
{
	const struct sem_model *s = m;
	u32 i, n;

	n = snprintf(why, cap, "the registry has");
	if (!shown.exists)
		n += snprintf(why + n, cap - n, " no set");
	for (i = 0; shown.exists && i < SEMS; i++)
		n += snprintf(why + n, cap - n, " %u", shown.values[i]);
	if (s->exists)
		snprintf(why + n, cap - n, ", the model %d %d %d", s->values[0],
			s->values[1], s->values[2]);
	if (s->exists != shown.exists)
		return 0;
	if (s->exists && s->mode != shown.mode) {
		snprintf(why, cap, "the registry has mode %o, the model %o",
			shown.mode, s->mode);
		return 0;
	}
	for (i = 0; s->exists && i < SEMS; i++)
		if (s->values[i] != shown.values[i])
			return 0;
	return 1;
}

static const struct facility_model model = {
	sizeof(struct sem_model), init, apply, death, final};

/* ---- setups ---- */

static void make(struct caller *c, u16 a, u16 b, u16 d)
{
	u16 values[SEMS] = {a, b, d};

	object_id[0] = sem_get(c, 1, SEMS, MODE | SEM_IPC_CREAT);
	if (object_id[0] < 0 || sem_setall(c, object_id[0], values, SEMS))
		abort();
	memcpy(start.values, values, sizeof(values));
}

static void zeros(struct caller *c)
{
	make(c, 0, 0, 0);
}
static void zeros_other(struct caller *c)
{
	make(c, 0, 0, 0);
	other_make(c);
}
static void fives_other(struct caller *c)
{
	make(c, 5, 5, 5);
	other_make(c);
}
static void zero_one(struct caller *c)
{
	make(c, 0, 1, 0);
}
static void ones(struct caller *c)
{
	make(c, 1, 1, 1);
}
static void fives(struct caller *c)
{
	make(c, 5, 5, 5);
}

/* ---- preludes ---- */

static int one(struct caller *c, u16 num, s16 op, s16 flg)
{
	struct sop sop = {num, op, flg};

	return sem_op(c, object_id[0], &sop, 1, NULL);
}

/* Used so often by this one alone that it is biased. */
static void biased(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_SEM, (u32)object_id[0] & ids_mask(c));
	u32 i;

	/* The last one of each must be this one. */
	sem_setall(c, object_id[0], start.values, SEMS);
	for (i = 0; i < 2000 && s->bias != c->bias_id; i++) {
		one(c, 2, 1, 0);
		one(c, 2, -1, 0);
	}
	if (s->bias != c->bias_id)
		abort();
}

/* As one that has long used it alone: its next call by the lock has it biased
 * to it. */
static void long_alone(struct caller *c)
{
	struct slot *s = region_slot(
		&c->region, FAC_SEM, (u32)object_id[0] & ids_mask(c));

	in_row_at(c->streak, s->ident)->n = 1u << 30;
}

/* The same, in the second place of two for its low bits (sem_thread.biased). */
static void biased_older(struct caller *c)
{
	struct sop up = {0, 1, 0};
	struct slot *s;
	s32 id = -1;
	u32 i;

	biased(c);
	for (i = 0; i < OLDER; i++)
		id = sem_get(c, 0 /* IPC_PRIVATE */, 1, 0600);
	s = region_slot(&c->region, FAC_SEM, (u32)id & ids_mask(c));
	for (i = 0; i < 2000 && s->bias != c->bias_id; i++)
		sem_op(c, id, &up, 1, NULL);
	if (s->bias != c->bias_id ||
		sem_thread(c)->biased[(u32)object_id[0] % OLDER + OLDER].id !=
			object_id[0])
		abort();
}

/* Has a record, so that the first call with SEM_UNDO makes none. */
static void with_undo(struct caller *c)
{
	one(c, 2, 1, UNDO);
	one(c, 2, -1, UNDO);
}

/* In the set that is not modelled, too, and newer there: whoever gives back for
 * this one comes to that first. */
static void with_undo_of_two(struct caller *c)
{
	struct sop sop = {0, 1, UNDO};

	with_undo(c);
	if (sem_op(c, object_id[OTHER], &sop, 1, NULL))
		abort();
}

/* ---- scenarios ---- */

#define SEMOP1(a, op, f)                 \
	{                                \
		CALL_SEMOP, 0, {0}, 1,   \
		{                        \
			{                \
				a, op, f \
			}                \
		}                        \
	}
#define SEMOP2(a, op, f, b, op2, f2)       \
	{                                  \
		CALL_SEMOP, 0, {0}, 2,     \
		{                          \
			{a, op, f},        \
			{                  \
				b, op2, f2 \
			}                  \
		}                          \
	}
#define SETVAL(num, v)                       \
	{                                    \
		CALL_SETVAL, 0, {num, v}, 0, \
		{                            \
			{                    \
				0            \
			}                    \
		}                            \
	}
#define SETALL(a, b, d)                       \
	{                                     \
		CALL_SETALL, 0, {a, b, d}, 0, \
		{                             \
			{                     \
				0             \
			}                     \
		}                             \
	}
#define GETVAL(num)                       \
	{                                 \
		CALL_GETVAL, 0, {num}, 0, \
		{                         \
			{                 \
				0         \
			}                 \
		}                         \
	}
#define GETALL                          \
	{                               \
		CALL_GETALL, 0, {0}, 0, \
		{                       \
			{               \
				0       \
			}               \
		}                       \
	}
#define SET(mode)                          \
	{                                  \
		CALL_SEMSET, 0, {mode}, 0, \
		{                          \
			{                  \
				0          \
			}                  \
		}                          \
	}
#define RMID                           \
	{                              \
		CALL_SEMRM, 0, {0}, 0, \
		{                      \
			{              \
				0      \
			}              \
		}                      \
	}
/* Not modelled: what else there is must not suffer. */
#define RMID_OTHER                         \
	{                                  \
		CALL_SEMRM, OTHER, {0}, 0, \
		{                          \
			{                  \
				0          \
			}                  \
		}                          \
	}
#define NEW_SET                                  \
	{                                        \
		CALL_SEMGET, 0, {1, 0600, 0}, 0, \
		{                                \
			{                        \
				0                \
			}                        \
		}                                \
	}
#define NCNT(num)                       \
	{                               \
		CALL_NCNT, 0, {num}, 0, \
		{                       \
			{               \
				0       \
			}               \
		}                       \
	}
#define INC SEMOP1(0, 1, 0)
#define DEC SEMOP1(0, -1, 0)
#define INC_UNDO SEMOP1(0, 1, UNDO)
#define DEC_UNDO SEMOP1(0, -1, UNDO)
#define ZERO SEMOP1(0, 0, 0)
#define MOVE SEMOP2(0, -1, 0, 1, 1, 0)
#define MOVE_BACK SEMOP2(1, -1, 0, 0, 1, 0)

#define RETURNING (ACTOR_CHILD | ACTOR_RETURNS)
/* Asleep from the beginning, and never killed. */
#define SLEEPER (ACTOR_FIRST | ACTOR_IMMORTAL)

#define SCENARIO(n, s) \
	.name = "sem." n, .model = &model, .setup = s, .look = look
/* One of them is stopped and continued, beside what may also be killed. */
#define STOPS(n, s, deaths)                                   \
	SCENARIO("stop-" n, s), .stops = 1, .preemptions = 2, \
				.kills = (deaths), .max_kills_0 = !(deaths)

const struct scenario sem_scenarios[] = {
	{SCENARIO("inc-dec", zeros),
		.actors = {{.calls = {INC}}, {.calls = {DEC}}}},
	{SCENARIO("dec-dec-inc", ones),
		.actors = {{.calls = {DEC}}, {.calls = {DEC}},
			{.calls = {INC}}}},
	{SCENARIO("sleeper", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {.calls = {INC}}}},
	{SCENARIO("sleeper-two-wakers", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC, DEC}}, {.calls = {INC}},
			{.calls = {INC}}}},
	{SCENARIO("waker-dies", zeros), .kills = 1,
		.actors = {{ACTOR_FIRST | ACTOR_IMMORTAL, NULL, {DEC, DEC}},
			{.calls = {INC}}, {ACTOR_IMMORTAL, NULL, {INC}}}},
	/* The newcomer takes A out where it finds it asleep and dead. */
	{SCENARIO("killed-asleep", zeros), .kills = 1,
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_IMMORTAL, NULL, {INC}},
			{ACTOR_NEW | ACTOR_IMMORTAL, NULL, {DEC}}}},
	{SCENARIO("killed-newcomer", zeros), .kills = 2,
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {ACTOR_NEW, NULL, {INC}},
			{ACTOR_FIRST | ACTOR_IMMORTAL, NULL, {DEC}}}},
	{SCENARIO("two-sleepers", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_FIRST, NULL, {DEC}}, {.calls = {INC}}}},
	{SCENARIO("two-sleepers-array", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_FIRST, NULL, {SEMOP2(0, -1, 0, 1, 0, 0)}},
			{.calls = {SEMOP2(0, 1, 0, 1, 1, 0),
				 SEMOP1(1, -1, 0)}}}},
	{SCENARIO("sleeper-rmid", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {.calls = {RMID}}}},
	{SCENARIO("two-sleepers-rmid", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_FIRST, NULL, {DEC}}, {.calls = {RMID}}}},
	{SCENARIO("set-inc", zeros),
		.actors = {{.calls = {SET(0640), SEMOP1(0, 1, 0)}},
			{.calls = {SEMOP1(0, 1, 0), SET(0644)}}}},
	{SCENARIO("set-rmid", zeros),
		.actors = {{.calls = {SET(0640)}}, {.calls = {RMID}},
			{.calls = {SET(0644)}}}},
	{SCENARIO("sleeper-set", zeros),
		.actors = {{ACTOR_FIRST, NULL, {SEMOP1(0, -1, 0)}},
			{.calls = {SET(0640)}},
			{.calls = {SEMOP1(0, 1, UNDO)}}}},
	{SCENARIO("sleeper-setval", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{.calls = {SETVAL(0, 2)}}}},
	{SCENARIO("two-sleepers-setall", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_FIRST, NULL, {SEMOP1(1, -1, 0)}},
			{.calls = {SETALL(1, 1, 1)}}}},
	/* B and C are woken by one call. */
	{SCENARIO("herd", zeros), .kills = 1,
		.actors = {{SLEEPER, NULL, {DEC}}, {SLEEPER, NULL, {DEC}},
			{SLEEPER, NULL, {DEC}}, {.calls = {SEMOP1(0, 3, 0)}}}},
	{SCENARIO("herd-rmid", zeros), .kills = 1,
		.actors = {{SLEEPER, NULL, {DEC}}, {SLEEPER, NULL, {DEC}},
			{SLEEPER, NULL, {SEMOP1(0, -2, 0)}},
			{.calls = {RMID}}}},
	{SCENARIO("zero-sleeper", ones),
		.actors = {{ACTOR_FIRST, NULL, {ZERO}}, {.calls = {DEC}}}},
	{SCENARIO("undo-dies", ones),
		.actors = {{.calls = {DEC_UNDO}}, {.calls = {DEC}}}},
	{SCENARIO("undo-sleeper", ones),
		.actors = {{ACTOR_FIRST, with_undo, {DEC_UNDO}},
			{ACTOR_FIRST, with_undo, {DEC_UNDO}},
			{.calls = {INC}}}},
	{SCENARIO("undo-exits", ones),
		.actors = {{ACTOR_EXITS, with_undo, {DEC_UNDO}},
			{0, NULL, {DEC, INC}}}},
	{SCENARIO("undo-setval", ones), .actors = {{0, with_undo, {DEC_UNDO}},
						{.calls = {SETVAL(0, 3)}}}},
	{SCENARIO("undo-rmid", ones),
		.actors = {{0, with_undo, {DEC_UNDO}}, {.calls = {RMID}}}},
	{SCENARIO("move-move", fives),
		.actors = {{.calls = {MOVE}}, {.calls = {MOVE_BACK}}}},
	{SCENARIO("move-getall", fives),
		.actors = {{.calls = {MOVE}}, {.calls = {GETALL}}}},
	{SCENARIO("setall-op", fives),
		.actors = {{.calls = {SETALL(1, 2, 3)}}, {.calls = {DEC}}}},
	{SCENARIO("setval-op", fives),
		.actors = {{.calls = {SETVAL(0, 3)}}, {.calls = {DEC}}}},
	{SCENARIO("rmid-op", fives),
		.actors = {{.calls = {RMID}}, {.calls = {DEC}}}},
	{SCENARIO("biased-op", fives),
		.actors = {{0, biased, {DEC}}, {.calls = {DEC}}}},
	{SCENARIO("biased-move", fives),
		.actors = {{0, biased, {MOVE}}, {.calls = {MOVE_BACK}},
			{.calls = {MOVE}}}},
	{SCENARIO("biased-taker-dies", fives), .kills = 1,
		.actors = {{ACTOR_IMMORTAL, biased, {MOVE}},
			{0, NULL, {MOVE_BACK}},
			{ACTOR_IMMORTAL, NULL, {MOVE}}}},
	{SCENARIO("biased-undo", fives),
		.actors = {{0, biased, {DEC_UNDO}}, {.calls = {DEC}}}},
	/* B has it biased to it while A is about to enter. */
	{SCENARIO("biased-again", fives), .max_kills_0 = 1,
		.actors = {{0, biased, {MOVE}},
			{ACTOR_THREAD, long_alone, {MOVE_BACK, MOVE_BACK}}}},
	{SCENARIO("biased-again-kills", fives),
		.actors = {{0, biased, {DEC_UNDO}},
			{ACTOR_THREAD, long_alone, {MOVE_BACK, MOVE_BACK}},
			{.calls = {DEC}}}},
	{SCENARIO("biased-rmid", fives),
		.actors = {{0, biased, {DEC}}, {.calls = {RMID}}}},
	{SCENARIO("biased-older-op", fives),
		.actors = {{0, biased_older, {DEC}}, {.calls = {DEC}}}},
	{SCENARIO("biased-older-undo", fives),
		.actors = {{0, biased_older, {DEC_UNDO}}, {.calls = {DEC}}}},
	{SCENARIO("biased-older-rmid", fives),
		.actors = {{0, biased_older, {DEC}}, {.calls = {RMID}}}},
	{SCENARIO("biased-older-no-barrier", fives),
		.actors = {{ACTOR_TSO, biased_older, {DEC}},
			{ACTOR_NO_BARRIER, NULL, {DEC}}}},
	{SCENARIO("biased-sleeper", zeros),
		.actors = {{0, biased, {INC}}, {.calls = {DEC}}}},
	{SCENARIO("biased-barrier", fives),
		.actors = {{ACTOR_TSO, biased, {DEC}}, {.calls = {DEC}}}},
	{SCENARIO("biased-no-barrier", fives),
		.actors = {{ACTOR_TSO, biased, {DEC}},
			{ACTOR_NO_BARRIER, NULL, {DEC}}}},
	{SCENARIO("reused-undo", ones), .kills = 1,
		.actors = {{ACTOR_REUSED, NULL, {DEC_UNDO}},
			{ACTOR_FIRST, NULL, {DEC}}}},
	{SCENARIO("reused-undo-exits", ones),
		.actors = {{ACTOR_EXITS | ACTOR_REUSED, with_undo, {DEC_UNDO}},
			{0, with_undo, {DEC_UNDO}}}},
	{SCENARIO("reused-sleepers", zeros),
		.actors = {{ACTOR_FIRST | ACTOR_REUSED, NULL, {DEC}},
			{ACTOR_FIRST | ACTOR_REUSED, NULL, {DEC}},
			{ACTOR_REUSED, NULL, {INC}}}},
	{SCENARIO("reused-biased", fives),
		.actors = {{ACTOR_REUSED, biased, {DEC_UNDO}},
			{ACTOR_REUSED, NULL, {DEC}}}},
	{SCENARIO("biased-newcomer", fives),
		.actors = {{0, biased, {DEC}}, {ACTOR_NEW, NULL, {DEC}},
			{.calls = {DEC}}}},
	{SCENARIO("reused-next-biased", fives), /* B has A's number */
		.actors = {{ACTOR_REUSED, biased, {DEC_UNDO}},
			{ACTOR_NEWCOMER, NULL, {DEC}}, {.calls = {DEC}}}},
	{SCENARIO("exec-undo", ones), .kills = 1,
		.actors = {{ACTOR_EXECS, with_undo, {DEC_UNDO}},
			{ACTOR_IMMORTAL, NULL, {DEC}}}},
	{SCENARIO("exec-sleepers", zeros),
		.actors = {{ACTOR_FIRST | ACTOR_EXECS, NULL, {DEC}},
			{ACTOR_FIRST | ACTOR_EXECS, NULL, {DEC}},
			{ACTOR_EXECS, NULL, {INC}}}},
	{SCENARIO("exec-biased", fives),
		.actors = {{ACTOR_EXECS, biased, {DEC}}, {.calls = {DEC}}}},
	/* B is A's next program image. */
	{SCENARIO("exec-next-undo", ones), .kills = 2,
		.actors = {{ACTOR_EXECS, with_undo, {DEC_UNDO}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {INC_UNDO, INC}},
			{ACTOR_IMMORTAL, NULL, {DEC}}}},
	{SCENARIO("exec-next-sleeper", ones),
		.actors = {{ACTOR_EXECS | ACTOR_EXITS, with_undo, {DEC_UNDO}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {DEC}},
			{.calls = {INC}}}},
	/* B is a thread of A's process: their SEM_UNDO is one. */
	{SCENARIO("thread-undo", ones),
		.actors = {{0, with_undo, {DEC_UNDO}},
			{ACTOR_THREAD, with_undo, {INC_UNDO}},
			{.calls = {DEC}}}},
	{SCENARIO("thread-ends", ones),
		.actors = {{0, NULL, {GETVAL(0), INC_UNDO}},
			{ACTOR_THREAD | ACTOR_EXITS, with_undo, {DEC_UNDO}},
			{ACTOR_FIRST, NULL, {SEMOP1(0, -2, 0)}}}},
	{SCENARIO("leader-ends", ones),
		.actors = {{ACTOR_EXITS, with_undo, {DEC_UNDO}},
			{ACTOR_THREAD, NULL, {INC, INC_UNDO}},
			{ACTOR_FIRST, NULL, {SEMOP1(0, -3, 0)}}}},
	{SCENARIO("threads-end", ones),
		.actors = {{ACTOR_EXITS, with_undo, {DEC_UNDO}},
			{ACTOR_THREAD | ACTOR_EXITS, NULL, {DEC_UNDO}},
			{0, NULL, {DEC, INC}}}},
	{SCENARIO("threads-new", ones),
		.actors = {{ACTOR_NEW, NULL, {DEC_UNDO}},
			{ACTOR_THREAD | ACTOR_NEW, NULL, {INC_UNDO}},
			{.calls = {DEC}}}},
	{SCENARIO("thread-sleepers", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {DEC_UNDO}},
			{.calls = {INC}}}},
	{SCENARIO("thread-waker", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC, INC}},
			{ACTOR_THREAD | ACTOR_EXITS, NULL, {INC}},
			{ACTOR_FIRST, NULL, {DEC}}}},
	{SCENARIO("thread-biased", fives),
		.actors = {{0, biased, {MOVE}},
			{ACTOR_THREAD, NULL, {MOVE_BACK}},
			{.calls = {GETALL}}}},
	{SCENARIO("thread-biased-ends", fives),
		.actors = {{0, NULL, {DEC}},
			{ACTOR_THREAD | ACTOR_EXITS, biased, {DEC_UNDO}},
			{.calls = {DEC}}}},
	{SCENARIO("thread-rmid", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_THREAD, NULL, {RMID}}, {.calls = {INC}}}},
	/* A and B sleep, threads of one process, which is killed. */
	{SCENARIO("thread-sleepers-beside", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {DEC}},
			{.calls = {INC}}, {SLEEPER, NULL, {DEC}}}},
	{SCENARIO("thread-sleepers-undo", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC_UNDO}},
			{ACTOR_THREAD | ACTOR_FIRST, NULL, {DEC_UNDO}},
			{.calls = {SEMOP1(0, 2, 0)}}, {SLEEPER, NULL, {DEC}}}},
	/* B is a thread that calls exec, C the new program. */
	{SCENARIO("exec-by-thread", ones),
		.actors = {{0, with_undo, {DEC_UNDO}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_EXECS, with_undo,
				{INC_UNDO}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {INC_UNDO}},
			{.calls = {DEC}}}},
	{SCENARIO("exec-by-thread-sleeper", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC_UNDO}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_EXECS, NULL,
				{INC_UNDO}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {INC}},
			{SLEEPER, NULL, {DEC}}}},
	/* B is A's child: A's SEM_UNDO is not its own. */
	{SCENARIO("child-undo", ones), .kills = 1,
		.actors = {{ACTOR_EXITS, with_undo, {DEC_UNDO, MAKE_CHILD(1)}},
			{ACTOR_CHILD | ACTOR_EXITS, NULL, {DEC_UNDO}},
			{.calls = {GETVAL(0)}}}},
	/* The third in a hold of its own (HOLD_LEAVES). */
	{SCENARIO("pause-setval", zeros), .preemptions = 1,
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {SLEEPER, NULL, {DEC}},
			{SLEEPER, NULL, {DEC}}, {.calls = {SETVAL(0, 3)}}}},
	{SCENARIO("pause-rmid", zeros), .kills = 1, .preemptions = 1,
		.actors = {{SLEEPER, NULL, {DEC}}, {SLEEPER, NULL, {DEC}},
			{SLEEPER, NULL, {DEC}}, {.calls = {SETVAL(0, 3)}},
			{.calls = {RMID}}}},
	/* D's end lets three through. */
	{SCENARIO("pause-undo", zero_one), .preemptions = 1,
		.actors = {{ACTOR_FIRST, NULL, {SEMOP1(1, 0, 0)}},
			{SLEEPER, NULL, {SEMOP1(1, 0, 0)}},
			{SLEEPER, NULL, {SEMOP1(1, 0, 0)}},
			{ACTOR_EXITS, with_undo,
				{SEMOP1(1, 1, UNDO), SEMOP1(1, -1, 0)}}}},
	/* D's end lets three through; E comes while nobody has the lock, and
	 * lets through whom D's end has the crash guard. */
	{SCENARIO("pause-undo-beside", zero_one), .kills = 1, .preemptions = 1,
		.actors = {{ACTOR_FIRST, NULL, {SEMOP1(1, 0, 0)}},
			{SLEEPER, NULL, {SEMOP1(1, 0, 0)}},
			{SLEEPER, NULL, {SEMOP1(1, 0, 0)}},
			{ACTOR_EXITS, with_undo,
				{SEMOP1(1, 1, UNDO), SEMOP1(1, -1, 0)}},
			{ACTOR_IMMORTAL, NULL, {SETVAL(1, 0)}}}},
	/* A is the crash guard, and B to D are let through before it. */
	{SCENARIO("flush-under-lock", zero_one), .kills = 1, .preemptions = 1,
		.turns = 1,
		.actors = {{SLEEPER | ACTOR_STEADY, NULL, {DEC}},
			{SLEEPER | ACTOR_STEADY, NULL, {SEMOP1(1, 0, 0)}},
			{SLEEPER | ACTOR_STEADY, NULL, {SEMOP1(1, 0, 0)}},
			{SLEEPER | ACTOR_STEADY, NULL, {SEMOP1(1, 0, 0)}},
			{ACTOR_WALK | ACTOR_STEADY, with_undo,
				{SEMOP1(2, 1, UNDO),
					SEMOP2(0, 1, 0, 1, -1, 0)}},
			{ACTOR_IMMORTAL, NULL, {INC}}}},
	/* A's signal handler makes a call, too. */
	{SCENARIO("handler-same", fives),
		.actors = {{0, NULL, {DEC}, INC_UNDO}, {.calls = {DEC}}}},
	{SCENARIO("handler-other", fives_other),
		.actors = {{0, NULL, {MOVE}, COUNT}, {.calls = {MOVE_BACK}}}},
	{SCENARIO("handler-setall", fives),
		.actors = {{0, with_undo, {DEC_UNDO}, SETALL(1, 2, 3)},
			{.calls = {DEC}}}},
	{SCENARIO("handler-rmid", fives),
		.actors = {{0, NULL, {MOVE}, RMID}, {.calls = {DEC}}}},
	{SCENARIO("handler-new", ones),
		.actors = {{ACTOR_NEW, NULL, {DEC_UNDO}, INC_UNDO},
			{.calls = {INC}}}},
	{SCENARIO("handler-biased", fives),
		.actors = {{0, biased, {MOVE}, DEC_UNDO}, {.calls = {DEC}}}},
	{SCENARIO("handler-biased-other", fives_other),
		.actors = {{0, biased, {DEC}, COUNT}, {.calls = {DEC}}}},
	{SCENARIO("handler-sleeper", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC, INC}, SEMOP1(1, 1, 0)},
			{.calls = {INC}}}},
	{SCENARIO("handler-sleeper-itself", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}, INC}, {.calls = {INC}},
			{ACTOR_FIRST, NULL, {DEC}}}},
	{SCENARIO("handler-sleeper-other", zeros_other),
		.actors = {{ACTOR_FIRST, NULL, {DEC}, COUNT},
			{.calls = {INC}}}},
	{SCENARIO("handler-sleeper-rmid", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}, INC}, {.calls = {RMID}}}},
	/* The handler sleeps in its turn. */
	{SCENARIO("handler-sleeps", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}, SEMOP1(1, -1, 0)},
			{.calls = {SEMOP2(0, 1, 0, 1, 1, 0)}}}},
	{SCENARIO("handler-falls-asleep", zeros),
		.actors = {{0, NULL, {DEC}, SEMOP1(0, 1, UNDO)},
			{.calls = {INC}}}},
	{SCENARIO("handler-thread", ones),
		.actors = {{0, with_undo, {DEC_UNDO}, INC_UNDO},
			{ACTOR_THREAD, NULL, {INC_UNDO},
				SEMOP1(0, -1, UNDO | NOWAIT)}}},
	/* A's signal handler forks B. */
	{SCENARIO("handler-forks", fives),
		.actors = {{0, with_undo, {DEC_UNDO, INC}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {DEC_UNDO}}, {.calls = {DEC}}}},
	{SCENARIO("handler-forks-new", fives),
		.actors = {{ACTOR_NEW, NULL, {DEC_UNDO}, MAKE_CHILD(1)},
			{ACTOR_CHILD | ACTOR_EXITS, NULL, {DEC_UNDO}}}},
	{SCENARIO("handler-forks-biased", fives),
		.actors = {{0, biased, {MOVE, MOVE}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {MOVE_BACK}}}},
	{SCENARIO("handler-forks-sleeper", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC_UNDO}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {DEC_UNDO}},
			{.calls = {SEMOP1(0, 2, 0)}}}},
	{SCENARIO("handler-forks-rmid", fives),
		.actors = {{0, NULL, {RMID}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {DEC_UNDO}}}},
	/* Two are killed in the removal, or beside it, and D recovers. */
	{SCENARIO("rmid-recovered", ones),
		.actors = {{.calls = {RMID}}, {0, with_undo, {DEC_UNDO}},
			{ACTOR_IMMORTAL, NULL, {DEC, GETVAL(0)}}}},
	{SCENARIO("rmid-rmid-recovered", fives),
		.actors = {{.calls = {RMID}}, {.calls = {RMID}},
			{ACTOR_IMMORTAL, NULL, {MOVE, RMID}}}},
	{SCENARIO("rmid-sleeper-recovered", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {.calls = {RMID}},
			{SLEEPER, NULL, {DEC}}, {ACTOR_IMMORTAL, NULL, {INC}}}},
	{SCENARIO("rmid-waker-recovered", zeros), .preemptions = 1,
		.actors = {{SLEEPER, NULL, {DEC}}, {.calls = {INC}},
			{.calls = {RMID}}, {ACTOR_IMMORTAL, NULL, {INC}}}},
	{SCENARIO("rmid-biased-recovered", fives),
		.actors = {{0, biased, {DEC_UNDO}}, {.calls = {RMID}},
			{ACTOR_IMMORTAL, NULL, {DEC}}}},
	/* B calls exec, and C is the new program, beside what A left. */
	{SCENARIO("exec-beside-reaper", ones),
		.actors = {{ACTOR_FIRST | ACTOR_STEADY, with_undo, {DEC_UNDO}},
			{ACTOR_EXECS | ACTOR_EXITS, with_undo,
				{SEMOP1(1, -1, UNDO)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {SEMOP1(1, 1, UNDO)}},
			{ACTOR_IMMORTAL, NULL, {DEC}}}},
	/* B removes one of two sets while C gives back what A has in both. */
	{SCENARIO("rmid-beside-reaper", fives_other), .kills = 1,
		.actors = {{ACTOR_FIRST | ACTOR_STEADY, with_undo_of_two,
				   {DEC_UNDO}},
			{ACTOR_IMMORTAL, NULL, {RMID_OTHER}},
			{ACTOR_IMMORTAL, NULL, {DEC}}}},
	/* The same in a new set's place; two that give back; B clears. */
	{SCENARIO("rmid-new-beside-reaper", fives_other), .kills = 1,
		.actors = {{ACTOR_FIRST | ACTOR_STEADY, with_undo_of_two,
				   {DEC_UNDO}},
			{ACTOR_IMMORTAL, NULL, {RMID_OTHER, NEW_SET}},
			{ACTOR_IMMORTAL, NULL, {DEC}}}},
	{SCENARIO("rmid-beside-reapers", fives_other),
		.actors = {{ACTOR_FIRST | ACTOR_STEADY, with_undo_of_two,
				   {DEC_UNDO}},
			{.calls = {RMID_OTHER}}, {.calls = {DEC}},
			{ACTOR_IMMORTAL, NULL, {INC}}}},
	{SCENARIO("setval-beside-reaper", fives_other), .kills = 1,
		.actors = {{ACTOR_FIRST | ACTOR_STEADY, with_undo_of_two,
				   {DEC_UNDO}},
			{ACTOR_IMMORTAL, NULL, {SETVAL(0, 3)}},
			{ACTOR_IMMORTAL, NULL, {DEC}}}},
	{STOPS("sleeper", zeros, 0),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {.calls = {INC}}}},
	/* B lets nobody through, twice. */
	{STOPS("sleeper-beside", zeros, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEMOP1(0, -2, 0)}},
			{.calls = {INC, SEMOP1(0, -1, 0)}}}},
	{STOPS("sleeper-array", zeros, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEMOP2(0, -1, 0, 1, -1, 0)}},
			{.calls = {INC, SEMOP1(1, 1, 0)}}}},
	{STOPS("sleeper-undo", ones, 0),
		.actors = {{ACTOR_FIRST, with_undo, {SEMOP1(0, -2, UNDO)}},
			{.calls = {INC}}}},
	{STOPS("sleeper-exits", ones, 0),
		.actors = {{ACTOR_FIRST, with_undo, {SEMOP1(0, -2, UNDO)}},
			{ACTOR_EXITS, with_undo, {DEC_UNDO, INC}}}},
	/* Stopped as it finds B's name in its word. */
	{STOPS("falls-asleep", zeros, 0),
		.actors = {{.calls = {SEMOP1(0, -2, 0)}}, {.calls = {INC}}}},
	{STOPS("zero-sleeper", ones, 0),
		.actors = {{ACTOR_FIRST, NULL, {ZERO}}, {.calls = {DEC, INC}}}},
	{STOPS("rmid", zeros, 0),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {.calls = {RMID}}}},
	{STOPS("rmid-two", zeros, 1),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {SLEEPER, NULL, {DEC}},
			{.calls = {RMID}}}},
	{STOPS("setval", zeros, 0), .actors = {{ACTOR_FIRST, NULL, {DEC}},
					    {.calls = {SETVAL(0, 2)}}}},
	{STOPS("setall", zeros, 0),
		.actors = {{ACTOR_FIRST, NULL, {SEMOP2(0, -1, 0, 1, -1, 0)}},
			{.calls = {SETALL(1, 1, 1)}}}},
	{STOPS("ncnt", zeros, 0), .actors = {{ACTOR_FIRST, NULL, {DEC}},
					  {.calls = {NCNT(0), NCNT(0)}}}},
	{STOPS("ncnt-two", zeros, 0),
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_FIRST, NULL, {SEMOP2(0, -1, 0, 1, -1, 0)}},
			{.calls = {NCNT(0)}}}},
	{STOPS("biased", fives, 0),
		.actors = {{0, biased, {DEC, MOVE}}, {.calls = {MOVE_BACK}}}},
	{STOPS("biased-undo", fives, 1),
		.actors = {{0, biased, {DEC_UNDO}}, {.calls = {DEC}}}},
	{STOPS("biased-sleeper", zeros, 0),
		.actors = {{0, biased, {INC}}, {.calls = {DEC}}}},
	{STOPS("two-sleepers", zeros, 1),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {SLEEPER, NULL, {DEC}},
			{.calls = {INC}}}},
	{STOPS("two-sleepers-array", zeros, 1),
		.actors = {{ACTOR_FIRST, NULL, {SEMOP2(0, -1, 0, 1, -1, 0)}},
			{SLEEPER, NULL, {DEC}},
			{.calls = {SEMOP2(0, 1, 0, 1, 1, 0)}}}},
	{SCENARIO("stop-two", zeros), .stops = 2, .preemptions = 2,
		.max_kills_0 = 1,
		.actors = {{ACTOR_FIRST, NULL, {DEC}},
			{ACTOR_FIRST, NULL, {DEC}}, {.calls = {INC}}}},
	{STOPS("herd", zeros, 1),
		.actors = {{ACTOR_FIRST, NULL, {DEC}}, {SLEEPER, NULL, {DEC}},
			{SLEEPER, NULL, {DEC}}, {.calls = {SEMOP1(0, 3, 0)}}}},
	{STOPS("waker-dies", zeros, 1),
		.actors = {{SLEEPER, NULL, {DEC}}, {.calls = {INC}},
			{ACTOR_IMMORTAL, NULL, {INC}}}},
	/* The same, and B returns from it into the call. */
	{SCENARIO("child-returns", fives),
		.actors = {{0, with_undo, {DEC_UNDO}, MAKE_CHILD(1)},
			{RETURNING, NULL, {DEC}}, {.calls = {DEC}}}},
	{SCENARIO("child-returns-move", fives),
		.actors = {{0, NULL, {MOVE, MOVE_BACK}, MAKE_CHILD(1)},
			{RETURNING, NULL, {DEC_UNDO}}, {.calls = {MOVE}}}},
	{SCENARIO("child-returns-new", fives),
		.actors = {{ACTOR_NEW, NULL, {DEC_UNDO}, MAKE_CHILD(1)},
			{RETURNING | ACTOR_EXITS, NULL, {DEC_UNDO}}}},
	{SCENARIO("child-returns-biased", fives),
		.actors = {{0, biased, {MOVE, DEC}, MAKE_CHILD(1)},
			{RETURNING, NULL, {MOVE_BACK}}}},
	{SCENARIO("child-returns-biased-undo", fives),
		.actors = {{0, biased, {DEC_UNDO}, MAKE_CHILD(1)},
			{RETURNING, NULL, {DEC}}}},
	{SCENARIO("child-returns-sleeper", zeros),
		.actors = {{ACTOR_FIRST, NULL, {DEC_UNDO}, MAKE_CHILD(1)},
			{RETURNING, NULL, {DEC_UNDO}},
			{.calls = {SEMOP1(0, 2, 0)}}}},
	{SCENARIO("child-returns-falls-asleep", zeros),
		.actors = {{0, NULL, {DEC}, MAKE_CHILD(1)},
			{RETURNING, NULL, {INC}},
			{.calls = {SEMOP1(0, 2, 0)}}}},
	{SCENARIO("child-returns-waker", zeros),
		.actors = {{0, NULL, {INC}, MAKE_CHILD(1)},
			{RETURNING, NULL, {INC}},
			{ACTOR_FIRST, NULL, {SEMOP1(0, -2, 0), DEC}}}},
	{SCENARIO("child-returns-setall", fives),
		.actors = {{0, with_undo, {SETALL(1, 2, 3)}, MAKE_CHILD(1)},
			{RETURNING, NULL, {DEC_UNDO}}, {.calls = {DEC}}}},
	{SCENARIO("child-returns-rmid", fives),
		.actors = {{0, NULL, {RMID}, MAKE_CHILD(1)},
			{RETURNING, NULL, {DEC_UNDO}}}},
	{0},
};
