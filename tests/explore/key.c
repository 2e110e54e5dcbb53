// SPDX-License-Identifier: MIT
/*
 * Creation and removal with key look-up, by sets of semaphores: a key's lookup
 * always returns the id of a set that has it. Key 1 exists at first, with three
 * semaphores, and its slot is the next that a new set gets.
 */
#include <stdlib.h>
#include <string.h>
#include "explore.h"

#define CREAT SEM_IPC_CREAT
#define EXCL SEM_IPC_EXCL
#define KEYS 4u

struct key_model {
	s32 id[KEYS]; /* 0 = none, -1 = somebody killed made or removed it */
	s32 n[KEYS];
	int first; /* object_id[0] is there */
};
static struct key_model shown;
static u32 most; /* sets at once (semmni); 0 = enough */

static void look(struct caller *c)
{
	u32 i;

	memset(&shown, 0, sizeof(shown));
	sem_finish_removal(c);
	for (i = 1; i < KEYS; i++) {
		s32 id = sem_get(c, (s32)i, 0, 0);
		struct sem_stat st;

		if (id < 0)
			continue;
		shown.id[i] = id + 1;
		if (!sem_stat(c, id, OBJECT_BY_ID, &st))
			shown.n[i] = (s32)st.nsems;
	}
}

static void init(void *m)
{
	struct key_model *k = m;

	memset(k, 0, sizeof(*k));
	k->id[1] = object_id[0] + 1;
	k->n[1] = 3;
	k->first = 1;
}

static int is_full(const struct key_model *s)
{
	u32 i, n = 0;

	for (i = 1; i < KEYS; i++)
		n += s->id[i] != 0;
	return most && n >= most;
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct key_model *s = m;
	s32 want = (s32)k->arg[0], flags = (s32)k->arg[1];
	u32 key = (u32)k->obj;
	s64 ret;

	(void)actor, (void)out;
	if (k->op == CALL_SEMRM) {
		if (!s->first)
			return !known || result == -EINVAL || result == -EIDRM;
		s->first = 0;
		for (key = 0; key < KEYS; key++)
			if (s->id[key] == object_id[0] + 1)
				s->id[key] = 0;
		return !known || result == 0;
	}
	if (k->op != CALL_SEMGET)
		return 0;
	if (s->id[key]) {
		ret = (flags & CREAT) && (flags & EXCL) ? -EEXIST
		      : want > s->n[key]		? -EINVAL
							: 0;
		if (!ret && s->id[key] == -1 && known && result >= 0)
			s->id[key] = (s32)result + 1;
		if (!ret)
			ret = s->id[key] - 1;
		return !known || result == ret;
	}
	if (!(flags & CREAT))
		return !known || result == -ENOENT;
	if (is_full(s))
		return !known || result == -ENOSPC;
	s->id[key] = known ? (s32)result + 1 : -1;
	s->n[key] = want;
	return !known || result >= 0;
}

static void death(void *m, u32 actor)
{
	(void)m, (void)actor;
}

static int final(const void *m, char *why, u32 cap)
{
	const struct key_model *k = m;
	u32 i, n = 0;
	int ok = 1;

	for (i = 1; i < KEYS && n < cap; i++) {
		n += (u32)snprintf(why + n, cap - n,
			" key %u: %d of %d, is "
			"%d of %d;",
			i, k->id[i] - 1, k->n[i], shown.id[i] - 1, shown.n[i]);
		if (!k->id[i] != !shown.id[i] ||
			(k->id[i] > 0 && k->id[i] != shown.id[i]) ||
			(k->id[i] && k->n[i] != shown.n[i]))
			ok = 0;
	}
	return ok;
}

static const struct facility_model model = {
	sizeof(struct key_model), init, apply, death, final};

static void setup(struct caller *c)
{
	struct header *h = caller_header(c);

	most = 0;
	object_id[0] = sem_get(c, 1, 3, 0600 | CREAT);
	if (object_id[0] < 0)
		abort();
	/* The next set takes this one's slot, if that is free by then. */
	h->ids[FAC_SEM].next_id = object_id[0] + (1 << 15);
}

/* As it is in use: one slot is tried after the other. */
static void setup_no_request(struct caller *c)
{
	most = 0;
	object_id[0] = sem_get(c, 1, 3, 0600 | CREAT);
	if (object_id[0] < 0)
		abort();
}

/* No more than that one fits. */
static void setup_full(struct caller *c)
{
	setup_no_request(c);
	most = 1;
	caller_header(c)->limits.semmni = 1;
}

#define GET(key, n, flags)                                   \
	{                                                    \
		CALL_SEMGET, key, {n, 0600 | (flags), 0}, 0, \
		{                                            \
			{                                    \
				0                            \
			}                                    \
		}                                            \
	}
#define FIND(key, n)                            \
	{                                       \
		CALL_SEMGET, key, {n, 0, 0}, 0, \
		{                               \
			{                       \
				0               \
			}                       \
		}                               \
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
#define SCENARIO(n, s) \
	.name = "key." n, .model = &model, .setup = s, .look = look

const struct scenario key_scenarios[] = {
	{SCENARIO("create-create", setup_no_request),
		.actors = {{.calls = {GET(2, 1, CREAT)}},
			{.calls = {GET(2, 1, CREAT)}}}},
	{SCENARIO("create-excl", setup_no_request),
		.actors = {{.calls = {GET(2, 1, CREAT | EXCL)}},
			{.calls = {GET(2, 1, CREAT | EXCL)}}}},
	{SCENARIO("create-two-keys", setup_no_request),
		.actors = {{.calls = {GET(2, 1, CREAT)}},
			{.calls = {GET(3, 2, CREAT)}}}},
	{SCENARIO("find-remove", setup),
		.actors = {{.calls = {FIND(1, 3)}}, {.calls = {RMID}}}},
	{SCENARIO("find-reused", setup),
		.actors = {{.calls = {FIND(1, 3)}},
			{.calls = {RMID, GET(2, 1, CREAT)}}}},
	{SCENARIO("create-reused", setup),
		.actors = {{.calls = {GET(1, 3, CREAT)}},
			{.calls = {RMID, GET(2, 1, CREAT)}}}},
	{SCENARIO("remove-remove", setup),
		.actors = {{.calls = {RMID}}, {.calls = {RMID}}}},
	{SCENARIO("remove-create", setup),
		.actors = {{.calls = {RMID}}, {.calls = {GET(1, 3, CREAT)}}}},
	{SCENARIO("remove-create-find", setup),
		.actors = {{.calls = {RMID}}, {.calls = {GET(1, 2, CREAT)}},
			{.calls = {FIND(1, 0)}}}},
	{SCENARIO("full-remove-create", setup_full),
		.actors = {{.calls = {RMID}}, {.calls = {GET(2, 1, CREAT)}},
			{ACTOR_IMMORTAL, NULL, {GET(3, 2, CREAT)}}}},
	{SCENARIO("full-removed-create", setup_full),
		.actors = {{.calls = {RMID, GET(2, 1, CREAT)}},
			{.calls = {RMID, GET(3, 2, CREAT)}}}},
	/* A's signal handler makes a call, too. */
	{SCENARIO("handler-create", setup_no_request),
		.actors = {{0, NULL, {GET(2, 1, CREAT)}, GET(3, 2, CREAT)},
			{.calls = {GET(2, 1, CREAT)}}}},
	{SCENARIO("handler-remove", setup),
		.actors = {{0, NULL, {GET(1, 3, CREAT)}, RMID},
			{.calls = {FIND(1, 3)}}}},
	{0},
};
