// SPDX-License-Identifier: MIT
/*
 * Segments: the model, and the scenarios. Object 0 exists at first, with two
 * pages and not attached. An attachment reads the first word, which must be
 * what was last written there, or 0 in a new segment, and may write it.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "explore.h"
#include "shm/shm.h"
#include "shm/shmapp.h"
#include "shm/shmattach.h"
#include "shm/shmfork.h"

#define SIZE 8192u
#define CREAT 01000
#define MODE 0600u
#define MODE_DEST 01000u
#define MODE_LOCKED 02000u
#define OBJECTS 3u

static struct shm_process process;
static u64 attached_at[OBJECTS][MAX_CALLS];
static u32 n_attached[OBJECTS];
static s32 made_id[OBJECTS];

/* Object 0 is known to all; 1 and 2 are of who has made them. */
s32 shm_id_of(u32 obj)
{
	return obj ? made_id[obj] : object_id[0];
}

/* Where an attachment is made by a given address: nobody else maps there. */
#define PLACE 0x510000000000ULL
#define STRAY 1000 /* something else is mapped there */

/* One line of maps: 1 for a part of a segment that can be accessed. */
static s64 seen_in(const char *line)
{
	unsigned long from, off;
	char perm[5];

	if (sscanf(line, "%lx-%*x %4s %lx", &from, perm, &off) != 3)
		return 0;
	if (from == PLACE && perm[0] != 'r')
		return STRAY;
	return perm[0] == 'r' && off >= REGION_SIZE;
}

/* No other file is mapped so far behind its beginning. */
static s64 what_is_mapped(void)
{
	static char text[1 << 15];
	char *line, *end;
	s64 n = 0;
	long got, len = 0;
	long fd = raw_syscall(
		SYS_open, (long)"/proc/self/maps", O_RDONLY, 0, 0, 0, 0);

	while ((got = raw_syscall(SYS_read, fd, (long)text + len,
			(long)sizeof(text) - 1 - len, 0, 0, 0)) > 0)
		len += got;
	raw_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	text[len] = 0;
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		n += seen_in(line);
	}
	return n;
}

static pid_t idle_child(u32 pid)
{
	pid_t want = (pid_t)pid, child;
	struct clone_args args = {.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&want,
		.set_tid_size = 1};

	child = (pid_t)raw_syscall(
		SYS_clone3, (long)&args, sizeof(args), 0, 0, 0, 0);
	if (child == 0) {
		raw_syscall(SYS_prctl, 1 /* PR_SET_PDEATHSIG */, SIGKILL, 0, 0,
			0, 0);
		for (;;)
			raw_syscall(SYS_pause, 0, 0, 0, 0, 0, 0);
	}
	return child;
}

s64 shm_call_make(struct caller *c, const struct call *k, s64 *out)
{
	u32 obj = (u32)k->obj;
	struct shm_stat st;
	struct shm_fork f;
	u64 addr, *word;
	pid_t child;
	s64 ret;

	switch (k->op) {
	case CALL_SHMGET:
		ret = shm_get(
			c, (s32)k->arg[0], (u64)k->arg[1], (s32)k->arg[2]);
		if (ret >= 0)
			made_id[obj] = (s32)ret;
		return ret;
	case CALL_SHMAT:
		ret = shm_at(
			c, shm_id_of(obj), k->arg[1] ? PLACE : 0, 0, &addr);
		if (ret)
			return ret;
		word = (u64 *)(uintptr_t)addr;
		out[0] = (s64)*word;
		if (k->arg[0])
			*(volatile u64 *)word = (u64)k->arg[0];
		attached_at[obj][n_attached[obj]++] = addr;
		return 0;
	case CALL_SHMDT:
		/* A handler does not know what the call that it is in has
		 * attached: so it detaches nothing. */
		if (!n_attached[obj])
			return call_depth > 1 ? -ENODATA : -EINVAL;
		return shm_dt(c, attached_at[obj][--n_attached[obj]]);
	case CALL_SHMUNMAP:
		if (!n_attached[obj])
			return -EINVAL;
		return shm_app_unmap(
			c, attached_at[obj][--n_attached[obj]], SIZE);
	case CALL_SHMAGAIN:
		if (!n_attached[obj])
			return -EINVAL;
		ret = shm_app_remap(
			c, attached_at[obj][0], 0, SIZE, 1 /* MAYMOVE */, 0);
		if (ret < 0 && ret > -4096)
			return ret;
		attached_at[obj][n_attached[obj]++] = (u64)ret;
		return 0;
	case CALL_SHMSEEN:
		out[0] = what_is_mapped();
		return 0;
	case CALL_SHMRM:
		return shm_remove(c, shm_id_of(obj));
	case CALL_SHMSET:
		return shm_set_perm(c, shm_id_of(obj), 0, 0, (u32)k->arg[0]);
	case CALL_SHMLOCK:
		return shm_set_locked(c, shm_id_of(obj), (int)k->arg[0]);
	case CALL_SHMSTAT:
		ret = shm_stat(c, shm_id_of(obj), OBJECT_BY_ID, &st);
		out[0] = ret < 0 ? 0 : (s64)st.nattch;
		out[1] = ret < 0 ? 0 : st.mode;
		return ret < 0 ? ret : 0;
	case CALL_SHMFORK:
		shm_fork_prepare(c, NULL, &f);
		child = idle_child(CHILD_PID);
		shm_fork_parent(c, &f, child);
		return child < 0 ? child : 0;
	default:
		return -ENOSYS;
	}
}

/* ---- what the registry shows ---- */

static struct {
	int exists;
	u32 mode;
	s64 nattch;
} shown;

static void look(struct caller *c)
{
	struct shm_stat st;
	u32 i;

	object_fac_lock(c, &shm_class);
	object_fac_unlock(c, &shm_class);
	for (i = 0; i <= caller_header(c)->ids[FAC_SHM].max_idx + 1; i++) {
		struct slot *s = region_slot(&c->region, FAC_SHM, i);

		lock_acquire(c, &s->lock);
		lock_release(c, &s->lock);
	}
	shown.exists = shm_stat(c, object_id[0], OBJECT_BY_ID, &st) == 0;
	shown.nattch = shown.exists ? (s64)st.nattch : 0;
	shown.mode = shown.exists ? st.mode : 0;
}

/* ---- the model ---- */

struct segment_of {
	int exists, dest;
	u32 perm, locked;
	s64 word;
	u32 nattch[MAX_ACTORS];
	u32 forked, forker; /* of a child that dies with its parent */
	u32 late;	    /* it may be there for a moment longer */
};
struct shm_model {
	struct segment_of at[OBJECTS]; /* objects 1, 2: of each actor its own */
	u32 owner[OBJECTS];
};

static void init(void *m)
{
	struct shm_model *s = m;

	s->at[0] = (struct segment_of){.exists = 1, .perm = MODE};
}

static u32 mode_of(const struct segment_of *g)
{
	return g->perm | (g->dest ? MODE_DEST : 0) |
	       (g->locked ? MODE_LOCKED : 0);
}

static u32 total(const struct segment_of *g)
{
	u32 i, sum = g->forked;

	for (i = 0; i < MAX_ACTORS; i++)
		sum += g->nattch[i];
	return sum;
}

/* What the threads of a process have attached is all the process's. */
static u32 of_process(const struct segment_of *g, u32 leader)
{
	u32 i, sum = 0;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].leader == leader)
			sum += g->nattch[i];
	return sum;
}

/* The actor's own, if it has any, or that of another thread of its process. */
static u32 *any_of_process(struct segment_of *g, u32 actor)
{
	u32 i, leader = ctl->actors[actor].leader;

	for (i = 0; !g->nattch[actor] && i < run.n_actors; i++)
		if (ctl->actors[i].leader == leader && g->nattch[i])
			return &g->nattch[i];
	return &g->nattch[actor];
}

static void tidy(struct segment_of *g)
{
	if (g->exists && g->dest && !total(g))
		g->exists = 0;
}

/* One that is to be destroyed is there for as long as a late child has it. */
static int is_there(const struct segment_of *g, int known, s64 result)
{
	return g->exists || (g->late && known && result >= 0);
}

static int apply(void *m, u32 actor, const struct call *k, int known,
	s64 result, const s64 *out)
{
	struct shm_model *s = m;
	struct segment_of *g = &s->at[k->obj];
	u32 i, *n;

	switch (k->op) {
	case CALL_SHMGET:
		memset(g, 0, sizeof(*g));
		g->exists = 1;
		g->perm = MODE;
		return !known || result >= 0;
	case CALL_SHMAT:
		if (!is_there(g, known, result))
			return !known || result == -EINVAL || result == -EIDRM;
		if (known && (result || out[0] != g->word))
			return 0;
		g->exists = 1;
		g->nattch[actor]++;
		if (k->arg[0])
			g->word = k->arg[0];
		return 1;
	case CALL_SHMAGAIN:
		if (!*any_of_process(g, actor))
			return !known || result == -EINVAL;
		g->nattch[actor]++;
		return !known || result == 0;
	case CALL_SHMSEEN:
		/* Nobody waits for a slow fork: of the place itself, which is
		 * taken before that can be said, and left after, a child may
		 * keep what cannot be accessed (shm/shmfork.h). */
		return !known ||
		       out[0] % (k->arg[0] ? STRAY : ~0u) ==
			       of_process(g, ctl->actors[actor].leader);
	case CALL_SHMUNMAP:
	case CALL_SHMDT:
		if (known && result == -ENODATA)
			return 1;
		n = any_of_process(g, actor);
		if (!*n)
			return !known || result == -EINVAL;
		--*n;
		tidy(g);
		return !known || result == 0;
	case CALL_SHMRM:
		if (!is_there(g, known, result))
			return !known || result == -EINVAL || result == -EIDRM;
		g->dest = 1;
		tidy(g);
		return !known || result == 0;
	case CALL_SHMSET:
	case CALL_SHMLOCK:
		if (!is_there(g, known, result))
			return !known || result == -EINVAL || result == -EIDRM;
		if (k->op == CALL_SHMSET)
			g->perm = (u32)k->arg[0];
		else
			g->locked = k->arg[0] != 0;
		return !known || result == 0;
	case CALL_SHMSTAT:
		if (!is_there(g, known, result))
			return !known || result == -EINVAL || result == -EIDRM;
		return !known || (result == 0 && out[0] >= total(g) &&
					 out[0] <= total(g) + g->late &&
					 out[1] == mode_of(g));
	case CALL_FORK:
		for (i = 0; i < OBJECTS; i++)
			s->at[i].nattch[k->arg[0]] = of_process(
				&s->at[i], ctl->actors[actor].leader);
		return !known || result > 0;
	case CALL_SHMFORK:
		g->forked = g->nattch[actor];
		g->forker = actor;
		return !known || result == 0;
	default:
		return 0;
	}
}

/* A child that was counted before it was made, and never was. */
static void unborn_of(struct shm_model *s, const struct call *k)
{
	u32 obj;

	for (obj = 0; k->op == CALL_FORK && obj < OBJECTS; obj++)
		if (!ctl->actors[k->arg[0]].state)
			s->at[obj].nattch[k->arg[0]] = 0;
}

static void unborn(struct shm_model *s, u32 actor)
{
	const struct call *k = run.scn->actors[actor].calls;
	u32 i;

	for (i = 0; i < MAX_CALLS && k[i].op; i++)
		unborn_of(s, &k[i]);
	unborn_of(s, &run.scn->actors[actor].handler);
}

static void death(void *m, u32 actor)
{
	struct shm_model *s = m;
	u32 i;

	unborn(s, actor);
	for (i = 0; i < OBJECTS; i++) {
		s->at[i].nattch[actor] = 0;
		if (s->at[i].forked && s->at[i].forker == actor) {
			s->at[i].late = s->at[i].forked;
			s->at[i].forked = 0;
		}
		tidy(&s->at[i]);
	}
}

/* Children whose fork nobody waits for any more, and which are there: one that
 * was made just before another thread attached has a record all the same
 * (shm/shmfork.h). */
static u32 slow_children(void)
{
	u32 i, k, n = 0;

	for (i = 0; i < run.n_actors; i++)
		for (k = 0; k < MAX_CALLS; k++) {
			const struct call *call = &run.scn->actors[i].calls[k];

			n += call->op == CALL_FORK && call->arg[1] &&
			     ctl->actors[call->arg[0]].state &&
			     ctl->actors[call->arg[0]].state != ACTOR_DEAD;
		}
	return n;
}

static int final(const void *m, char *why, u32 cap)
{
	const struct shm_model *s = m;

	snprintf(why, cap,
		"the registry has %d, attached %ld, mode %o; the model %d, %u, "
		"%o",
		shown.exists, (long)shown.nattch, shown.mode, s->at[0].exists,
		total(&s->at[0]), mode_of(&s->at[0]));
	return s->at[0].exists == shown.exists &&
	       (!shown.exists ||
		       (shown.mode == mode_of(&s->at[0]) &&
			       shown.nattch >= total(&s->at[0]) &&
			       shown.nattch <=
				       total(&s->at[0]) + slow_children()));
}

static const struct facility_model model = {
	sizeof(struct shm_model), init, apply, death, final};

static void setup(struct caller *c)
{
	memset(&process, 0, sizeof(process));
	memset(n_attached, 0, sizeof(n_attached));
	c->shm = &process;
	object_id[0] = shm_get(c, 1, SIZE, MODE | CREAT);
	if (object_id[0] < 0)
		abort();
}
/* Object 1, too, is known to all. */
void shm_two_make(struct caller *c)
{
	setup(c);
	made_id[1] = shm_get(c, 0 /* IPC_PRIVATE */, SIZE, MODE | CREAT);
	if (made_id[1] < 0)
		abort();
}

/* ---- scenarios ---- */

#define AT(obj, word)                       \
	{                                   \
		CALL_SHMAT, obj, {word}, 0, \
		{                           \
			{                   \
				0           \
			}                   \
		}                           \
	}
#define AT_PLACE(obj)                       \
	{                                   \
		CALL_SHMAT, obj, {0, 1}, 0, \
		{                           \
			{                   \
				0           \
			}                   \
		}                           \
	}
#define SIMPLE(op)                \
	{                         \
		op, 0, {0}, 0,    \
		{                 \
			{         \
				0 \
			}         \
		}                 \
	}
#define UNMAP SIMPLE(CALL_SHMUNMAP)
#define AGAIN SIMPLE(CALL_SHMAGAIN)
#define SEEN SIMPLE(CALL_SHMSEEN)
#define SEEN_BUT_PLACE                   \
	{                                \
		CALL_SHMSEEN, 0, {1}, 0, \
		{                        \
			{                \
				0        \
			}                \
		}                        \
	}
#define DT(obj)                          \
	{                                \
		CALL_SHMDT, obj, {0}, 0, \
		{                        \
			{                \
				0        \
			}                \
		}                        \
	}
#define RMID(obj)                        \
	{                                \
		CALL_SHMRM, obj, {0}, 0, \
		{                        \
			{                \
				0        \
			}                \
		}                        \
	}
#define SET(mode)                          \
	{                                  \
		CALL_SHMSET, 0, {mode}, 0, \
		{                          \
			{                  \
				0          \
			}                  \
		}                          \
	}
#define LOCK(on)                          \
	{                                 \
		CALL_SHMLOCK, 0, {on}, 0, \
		{                         \
			{                 \
				0         \
			}                 \
		}                         \
	}
#define STAT                             \
	{                                \
		CALL_SHMSTAT, 0, {0}, 0, \
		{                        \
			{                \
				0        \
			}                \
		}                        \
	}
#define MAKE(obj)                                             \
	{                                                     \
		CALL_SHMGET, obj, {0, SIZE, MODE | CREAT}, 0, \
		{                                             \
			{                                     \
				0                             \
			}                                     \
		}                                             \
	}
#define FORK                             \
	{                                \
		CALL_SHMFORK, 0, {0}, 0, \
		{                        \
			{                \
				0        \
			}                \
		}                        \
	}
#define SCENARIO(n)                                                      \
	.name = "shm." n, .model = &model, .setup = setup, .look = look, \
	.reset = segments_reset

/* A has it attached to begin with. */
static void attach(struct caller *c)
{
	if (shm_at(c, object_id[0], 0, 0, &attached_at[0][0]))
		abort();
	n_attached[0] = 1;
}
static void init_attached(void *m)
{
	struct shm_model *s = m;

	init(m);
	s->at[0].nattch[0] = 1;
}
static const struct facility_model model_attached = {
	sizeof(struct shm_model), init_attached, apply, death, final};
#define ATTACHED(n)                                                 \
	.name = "shm." n, .model = &model_attached, .setup = setup, \
	.look = look, .reset = segments_reset

static void init_two(void *m)
{
	struct shm_model *s = m;

	init(m);
	s->at[1] = (struct segment_of){.exists = 1, .perm = MODE};
}
static const struct facility_model model_two = {
	sizeof(struct shm_model), init_two, apply, death, final};
#define TWO(n)                                                        \
	.name = "shm." n, .model = &model_two, .setup = shm_two_make, \
	.look = look, .reset = segments_reset

const struct scenario shm_scenarios[] = {
	{SCENARIO("attach-attach"),
		.actors = {{.calls = {AT(0, 1)}}, {.calls = {AT(0, 2)}}}},
	{SCENARIO("attach-detach"), .actors = {{.calls = {AT(0, 1), DT(0)}},
					    {.calls = {AT(0, 0)}}}},
	{SCENARIO("attach-rmid"),
		.actors = {{.calls = {AT(0, 1)}}, {.calls = {RMID(0)}}}},
	{SCENARIO("detach-rmid"),
		.actors = {{.calls = {AT(0, 1), DT(0)}}, {.calls = {RMID(0)}}}},
	{SCENARIO("attached-rmid-attach"),
		.actors = {{ACTOR_FIRST, NULL, {AT(0, 1)}},
			{.calls = {RMID(0)}}, {.calls = {AT(0, 0)}}}},
	{SCENARIO("attached-dies-stat"),
		.actors = {{ACTOR_FIRST, NULL, {AT(0, 1)}}, {.calls = {STAT}},
			{.calls = {RMID(0)}}}},
	{SCENARIO("rmid-rmid"),
		.actors = {{.calls = {RMID(0)}}, {.calls = {RMID(0)}}}},
	{SCENARIO("set-attach"),
		.actors = {{.calls = {SET(0640), STAT}},
			{.calls = {AT(0, 1), DT(0)}}, {.calls = {SET(0644)}}}},
	{SCENARIO("set-rmid"),
		.actors = {{ACTOR_FIRST, NULL, {AT(0, 1)}},
			{.calls = {SET(0640), STAT}}, {.calls = {RMID(0)}}}},
	{SCENARIO("lock-unlock"),
		.actors = {{.calls = {LOCK(1), STAT}}, {.calls = {LOCK(0)}},
			{.calls = {LOCK(1), SET(0640)}}}},
	{SCENARIO("lock-rmid"),
		.actors = {{.calls = {LOCK(1), LOCK(0)}},
			{.calls = {RMID(0), MAKE(1)}}, {.calls = {STAT}}}},
	{SCENARIO("locked-rmid"),
		.actors = {{ACTOR_FIRST, NULL, {AT(0, 1), LOCK(1)}},
			{.calls = {RMID(0), STAT}}, {.calls = {LOCK(0)}}}},
	{SCENARIO("lock-fork"),
		.actors = {{.calls = {AT(0, 1), FORK}},
			{.calls = {LOCK(1), STAT}}, {.calls = {RMID(0)}}}},
	/* B removes one of two segments, and makes another in its place, while
	 * C gives back what A had attached of both. */
	{TWO("rmid-beside-reaper"), .kills = 1,
		.actors = {{ACTOR_FIRST | ACTOR_STEADY, NULL,
				   {AT(0, 1), AT(1, 7)}},
			{ACTOR_IMMORTAL, NULL, {RMID(1), MAKE(2)}},
			{ACTOR_IMMORTAL, NULL, {STAT}}}},
	{TWO("rmid-beside-reapers"),
		.actors = {{ACTOR_FIRST | ACTOR_STEADY, NULL,
				   {AT(0, 1), AT(1, 7)}},
			{.calls = {RMID(1)}}, {.calls = {STAT}},
			{ACTOR_IMMORTAL, NULL, {STAT}}}},
	{SCENARIO("removed-new"),
		.actors = {{.calls = {AT(0, 1), DT(0), RMID(0)}},
			{.calls = {MAKE(1), AT(1, 0)}}}},
	{SCENARIO("new-new"), .actors = {{.calls = {MAKE(1), AT(1, 7)}},
				      {.calls = {MAKE(2), AT(2, 8)}}}},
	{SCENARIO("fork-stat"),
		.actors = {{.calls = {AT(0, 1), FORK}}, {.calls = {STAT}}}},
	{SCENARIO("fork-rmid"),
		.actors = {{.calls = {AT(0, 1), FORK}}, {.calls = {RMID(0)}}}},
	{SCENARIO("reused-stat"), .actors = {{ACTOR_REUSED, NULL, {AT(0, 1)}},
					  {.calls = {STAT}}}},
	{SCENARIO("reused-rmid"), .actors = {{ACTOR_REUSED, NULL, {AT(0, 1)}},
					  {.calls = {RMID(0), STAT}}}},
	{SCENARIO("exec-stat"),
		.actors = {{ACTOR_EXECS, NULL, {AT(0, 1)}}, {.calls = {STAT}}}},
	{SCENARIO("exec-rmid"), .actors = {{ACTOR_EXECS, NULL, {AT(0, 1)}},
					{.calls = {RMID(0), STAT}}}},
	/* C is the child of A, whose thread B attaches and detaches. */
	{SCENARIO("thread-fork"), .kills = 1,
		.actors = {{.calls = {MAKE_CHILD(2)}},
			{ACTOR_THREAD, NULL, {AT(0, 0)}},
			{ACTOR_CHILD, NULL, {STAT}}, {.calls = {RMID(0)}}}},
	{SCENARIO("thread-fork-detach"), .kills = 1,
		.actors = {{.calls = {MAKE_CHILD(2)}},
			{ACTOR_THREAD, NULL, {AT(0, 0), DT(0)}},
			{ACTOR_CHILD, NULL, {AT(0, 0)}}, {.calls = {RMID(0)}}}},
	/* C has what is counted for it, wherever B was when A forked. */
	{SCENARIO("fork-first-attach"), .kills = 1,
		.actors = {{.calls = {MAKE_CHILD(2)}},
			{ACTOR_THREAD, NULL, {AT_PLACE(0)}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	{ATTACHED("fork-attach"), .kills = 1,
		.actors = {{0, attach, {MAKE_CHILD(2)}},
			{ACTOR_THREAD, NULL, {AT_PLACE(0)}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	{ATTACHED("fork-detach"), .kills = 1,
		.actors = {{0, attach, {MAKE_CHILD(2)}},
			{ACTOR_THREAD, NULL, {DT(0), AT(0, 0)}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	{ATTACHED("fork-unmap"), .kills = 1,
		.actors = {{0, attach, {MAKE_CHILD(2)}},
			{ACTOR_THREAD, NULL, {UNMAP}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	{ATTACHED("fork-remap"), .kills = 1,
		.actors = {{0, attach, {MAKE_CHILD(2)}},
			{ACTOR_THREAD, NULL, {AGAIN}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	{SCENARIO("slow-fork-attach"), .kills = 1,
		.actors = {{.calls = {MAKE_CHILD_SLOWLY(2)}},
			{ACTOR_THREAD, NULL, {AT(0, 0)}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	{ATTACHED("slow-fork-attach-there"), .kills = 1,
		.actors = {{0, attach, {MAKE_CHILD_SLOWLY(2)}},
			{ACTOR_THREAD, NULL, {AT_PLACE(0)}},
			{ACTOR_CHILD, NULL, {SEEN_BUT_PLACE}}}},
	{ATTACHED("slow-fork-detach"), .kills = 1,
		.actors = {{0, attach, {MAKE_CHILD_SLOWLY(2)}},
			{ACTOR_THREAD, NULL, {DT(0), AT(0, 0)}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	{ATTACHED("slow-fork-remap"), .kills = 1,
		.actors = {{0, attach, {MAKE_CHILD_SLOWLY(2)}},
			{ACTOR_THREAD, NULL, {AGAIN}},
			{ACTOR_CHILD, NULL, {SEEN}}}},
	/* B is A's next program image, which has nothing attached. */
	{SCENARIO("exec-next"),
		.actors = {{ACTOR_EXECS | ACTOR_EXITS, NULL, {AT(0, 1)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {AT(0, 0), DT(0)}},
			{.calls = {RMID(0)}}}},
	{SCENARIO("exec-next-stat"),
		.actors = {{ACTOR_EXECS | ACTOR_EXITS, NULL, {AT(0, 1)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {STAT, AT(0, 0)}},
			{.calls = {STAT}}}},
	/* B is A's child: with what A has attached, and after A's death. */
	{SCENARIO("child-rmid"), .kills = 1,
		.actors = {{.calls = {AT(0, 1), MAKE_CHILD(1), DT(0)}},
			{ACTOR_CHILD, NULL, {DT(0)}}, {.calls = {RMID(0)}}}},
	{ATTACHED("child-rmid-two-die"), .kills = 2, .preemptions = 1,
		.actors = {{0, attach, {MAKE_CHILD(1)}},
			{ACTOR_CHILD, NULL, {SEEN}}, {.calls = {RMID(0)}}}},
	{SCENARIO("two-die-rmid"), .kills = 2,
		.actors = {{.calls = {AT(0, 0)}}, {.calls = {AT(0, 0), DT(0)}},
			{.calls = {RMID(0)}}}},
	{SCENARIO("child-attach-stat"), .kills = 1, .preemptions = 1,
		.actors = {{.calls = {AT(0, 1), MAKE_CHILD(1)}},
			{ACTOR_CHILD, NULL, {AT(0, 0), DT(0)}},
			{.calls = {STAT}}}},
	{SCENARIO("child-reused"), .kills = 1, .preemptions = 1,
		.actors = {{ACTOR_REUSED, NULL, {AT(0, 1), MAKE_CHILD(1)}},
			{ACTOR_CHILD | ACTOR_REUSED, NULL, {DT(0)}},
			{.calls = {RMID(0)}}}},
	/* A's signal handler makes a call, too. (What the first word says is
	 * no part of an attachment: nobody writes it beside another one.) */
	{SCENARIO("handler-attach"),
		.actors = {{0, NULL, {AT(0, 0), DT(0)}, AT(0, 0)},
			{.calls = {RMID(0)}}}},
	{SCENARIO("handler-detach"),
		.actors = {{0, NULL, {AT(0, 0), AT(0, 0)}, DT(0)},
			{.calls = {RMID(0)}}}},
	{SCENARIO("handler-rmid"),
		.actors = {{0, NULL, {AT(0, 1), DT(0)}, RMID(0)},
			{.calls = {STAT}}}},
	{SCENARIO("handler-new"),
		.actors = {{0, NULL, {AT(0, 1), RMID(0)}, MAKE(1)},
			{.calls = {MAKE(2), AT(2, 0)}}}},
	/* A's signal handler forks B. */
	{SCENARIO("handler-forks"), .kills = 1,
		.actors = {{0, NULL, {AT(0, 0), DT(0)}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {STAT}}, {.calls = {RMID(0)}}}},
	{SCENARIO("handler-forks-attach"), .kills = 1,
		.actors = {{ACTOR_NEW, NULL, {AT(0, 0)}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {AT(0, 0), DT(0)}},
			{.calls = {RMID(0)}}}},
	{SCENARIO("handler-forks-rmid"), .kills = 1,
		.actors = {{0, NULL, {AT(0, 0), RMID(0), DT(0)}, MAKE_CHILD(1)},
			{ACTOR_CHILD, NULL, {DT(0)}}}},
	/* B is a thread that calls exec, C the new program. */
	{SCENARIO("exec-by-thread"), .kills = 1,
		.actors = {{0, NULL, {AT(0, 0), DT(0)}},
			{ACTOR_THREAD | ACTOR_EXITS | ACTOR_EXECS, NULL,
				{AT(0, 0)}},
			{ACTOR_NEXT | ACTOR_NEW, NULL, {AT(0, 0)}},
			{.calls = {RMID(0)}}}},
	{0},
};
