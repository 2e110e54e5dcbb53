// SPDX-License-Identifier: MIT
/*
 * Judging a run when all actors are at rest: each is dead, has made its calls,
 * or sleeps in a queue. The judge uses a copy of the registry, so that its
 * repairs wake no actor; it finds what the next user of the registry would
 * find:
 *
 *   - the recovery of all that exited tasks have left terminates, and all
 *     invariants hold;
 *   - it lets no sleeper through, and no sleeper's call is possible afterwards:
 *     otherwise the sleeper should have been woken, and no actor is left to do
 *     so (ASLEEP, after enough time for all timeouts);
 *   - the calls (an unfinished call of a dead actor being made or not) can be
 *     put in an order that keeps the order in time and each actor's own, in
 *     which the sequential model gives the same results and the same final
 *     state.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "explore.h"
#include "inspect/check.h"
#include "object/reap.h"
#include "registry/heap.h"
#include "registry/journal/journal.h"
#include "registry/task.h"
#include "registry/wait.h"
#include "sem/semthread.h"

struct caller probe_caller;
static char *copy;

void judge_init(void)
{
	if (!copy)
		copy = own_memory(REGION_SIZE);
	else
		madvise(copy, REGION_SIZE, MADV_DONTNEED);
}

static void blame(enum verdict v, const char *text)
{
	if (run.verdict != FINE)
		return;
	run.verdict = v;
	snprintf(run.text, sizeof(run.text), "%s", text);
}

/* ---- the look ---- */

static char broken[400];
static void on_invariant(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	size_t n = strlen(broken);

	(void)arg;
	snprintf(broken + n, sizeof(broken) - n, " %d (%s %lu %lu)", which,
		what, (unsigned long)a, (unsigned long)b);
}

static void take(struct caller *c, struct lock *lock)
{
	lock_acquire(c, lock);
	lock_release(c, lock);
}

/* What any survivor comes to do sooner or later. */
static void go_on(struct caller *c)
{
	struct header *h = caller_header(c);
	u32 i, k;

	run.scn->look(c);
	for (i = 0; i < run.n_actors; i++) {
		struct actor *a = &ctl->actors[i];
		struct task *t = region_task(&c->region, a->pid);

		if (a->leader != i)
			continue;
		take(c, &t->lock);
		if (a->died)
			reap_task(c, a->pid);
		/* The next one is of who has its number and found that place
		 * taken. */
		take(c, &t[1].lock);
		reap_task(c, a->pid + 1);
		/* Where one that is being made for a child begins. */
		k = (a->pid + N_TASKS / 2) % N_TASKS;
		take(c, &region_task(&c->region, k)->lock);
		reap_task(c, k);
	}
	run.scn->look(c);
	heap_acquire(c);
	heap_release(c);
	take(c, &h->repair_lock.lock);
}

/* The one that it sleeps on: of its number there may be another record, of the
 * program image before. */
static struct waiter *waiter_of(struct caller *c, u32 i)
{
	const struct actor *a = &ctl->actors[i];
	u64 off = a->words[0] - THREADS_OFF;

	if (!a->n_words || a->words[0] < THREADS_OFF ||
		a->words[0] >= EVENTS_OFF)
		return NULL;
	return &region_thread(&c->region, (u32)(off / THREAD_STRIDE))->waiter;
}

/* ---- the order of calls ---- */

#define MAX_EVENTS (MAX_ACTORS * (MAX_CALLS + 3))
#define DEATH (MAX_CALLS + 2) /* as a call */
#define MODEL_SIZE 2048u
/* Orders tried at most; beyond, nothing is said. */
#define MAX_ORDERS 200000u

static struct event_of {
	u32 actor, call; /* HANDLER: its handler's; INHERITED; DEATH */
	u64 begun, ended;
	int must, known;
	/* Stopped in its sleep: its effect is not between these two. */
	u64 stopped, continued;
} events[MAX_EVENTS];
static u32 n_events, orders, best_why;
static char model_why[256];

const struct call *judge_call(u32 actor, u32 call)
{
	const struct actor_def *def = &run.scn->actors[actor];
	const struct actor *a = &ctl->actors[actor];

	if (call == INHERITED)
		return &run.scn->actors[a->parent].calls[a->parent_call];
	return call == HANDLER ? &def->handler : &def->calls[call];
}

/*
 * When it had its effect at the latest. Who slept as the signal came is out of
 * its queue before its handler runs: the call has been granted by then, or was
 * interrupted, or begins again after it.
 */
static u64 end_of(u32 actor, u32 call)
{
	const struct actor *a = &ctl->actors[actor];

	if (a->woken && call == a->calls_then - 1 &&
		!(run.scn->actors[actor].flags & ACTOR_RESTARTS))
		return a->calls[HANDLER].begun - 1;
	return a->calls[call].ended;
}

/* Interrupted in its sleep by the actor's handler: nothing was done. */
static int interrupted(const struct actor *a, u32 call)
{
	if (call == HANDLER || !a->calls[call].ended ||
		a->calls[call].result != -EINTR)
		return 0;
	return call == INHERITED ||
	       (a->calls[HANDLER].begun > a->calls[call].begun &&
		       a->calls[HANDLER].begun < a->calls[call].ended);
}

static void collect_one(u32 i, u32 k)
{
	const struct actor *a = &ctl->actors[i];
	int known = a->calls[k].ended != 0;

	if (!a->calls[k].begun || interrupted(a, k) ||
		stops_ended(a, k, judge_call(i, k)) ||
		is_other(judge_call(i, k)))
		return;
	/* Not ended: of a dead actor, perhaps made, and of one in whose midst a
	 * handler sleeps; of a sleeper, not. */
	if (!known && a->state != ACTOR_DEAD && k == actor_call(a))
		return;
	events[n_events++] = (struct event_of){i, k, a->calls[k].begun,
		known ? end_of(i, k) : ~0ULL, known || a->calls[k].must, known,
		a->calls[k].stopped_asleep, a->calls[k].continued};
}

static void collect(void)
{
	u32 i, k;

	n_events = 0;
	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		collect_one(i, INHERITED);
		for (k = 0; k <= HANDLER; k++)
			collect_one(i, k);
		if (a->died)
			events[n_events++] = (struct event_of){
				i, DEATH, a->died, ~0ULL, 1, 0, 0, 0};
	}
}

/* May it come next: nothing that is left has ended before it began, and of its
 * actor nothing stands before it. (Its handler's call comes in the midst of
 * another.) */
static int may_be_next(u64 done, u32 e)
{
	u32 i;

	for (i = 0; i < n_events; i++) {
		if ((done >> i & 1) || i == e)
			continue;
		if (events[i].must && events[i].ended < events[e].begun)
			return 0;
		if (events[i].actor == events[e].actor && i < e &&
			events[i].must &&
			(events[e].call == DEATH ||
				(events[e].call != HANDLER &&
					events[i].call != HANDLER)))
			return 0;
	}
	return 1;
}

/* What a dead actor has not ended comes before its death or not at all. */
static u64 events_of(u32 actor)
{
	u64 mask = 0;
	u32 i;

	for (i = 0; i < n_events; i++)
		mask |= (u64)(events[i].actor == actor) << i;
	return mask;
}

/* ---- a child that returned into its parent's call ---- */

/* Place of a call among the events; n_events: it is none of them. */
static u32 event_find(u32 actor, u32 call)
{
	u32 i;

	for (i = 0; i < n_events; i++)
		if (events[i].actor == actor && events[i].call == call)
			break;
	return i;
}

/* Handler's event e, a fork, comes next: whose parents' calls had their effect
 * before it. Bits of children. */
static u32 forked_behind(u64 done, u32 e)
{
	u32 i, p, mask = 0;

	if (events[e].call != HANDLER)
		return 0;
	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (!a->calls[INHERITED].begun || a->parent != events[e].actor)
			continue;
		p = event_find(a->parent, a->parent_call);
		mask |= (u32)(p < n_events && (done >> p & 1)) << i;
	}
	return mask;
}

/* The parent had made it: its result is the child's, and nothing is done. */
static int same_as_parent(u32 child)
{
	const struct actor *a = &ctl->actors[child];
	const struct actor *p = &ctl->actors[a->parent];
	u32 k = a->parent_call;

	return !a->calls[INHERITED].ended || !p->calls[k].ended ||
	       (a->calls[INHERITED].result == p->calls[k].result &&
		       !memcmp(a->calls[INHERITED].out, p->calls[k].out,
			       sizeof(p->calls[k].out)));
}

/* Both or neither were interrupted in their sleep; and who was born with an
 * ended call does not sleep in it. */
static int inherited_wrong(u32 i, u32 behind)
{
	const struct actor *a = &ctl->actors[i], *p;

	if (!a->calls[INHERITED].begun ||
		(run.scn->actors[a->parent].flags & ACTOR_RESTARTS))
		return 0;
	p = &ctl->actors[a->parent];
	if (!a->calls[INHERITED].ended)
		return a->state == ACTOR_BLOCKED && (behind >> i & 1);
	return p->calls[a->parent_call].ended &&
	       (a->calls[INHERITED].result == -EINTR) !=
		       (p->calls[a->parent_call].result == -EINTR);
}

static int any_inherited_wrong(u32 behind)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		if (inherited_wrong(i, behind)) {
			snprintf(model_why, sizeof(model_why),
				"%c, forked in %c's handler, returns otherwise",
				'A' + i, 'A' + ctl->actors[i].parent);
			return 1;
		}
	return 0;
}

static int any_sleeper_could(const void *m)
{
	char after[MODEL_SIZE];
	u32 i;

	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (a->state != ACTOR_BLOCKED ||
			(!a->n_calls && !a->calls[INHERITED].begun))
			continue;
		memcpy(after, m, run.scn->model->size);
		if (run.scn->model->apply(after, i,
			    judge_call(i, actor_call(a)), 0, 0, NULL)) {
			snprintf(model_why, sizeof(model_why),
				"the call of %c, asleep, is possible", 'A' + i);
			return 1;
		}
	}
	return 0;
}

/* Event e comes next. */
static int apply(void *m, u32 e, u32 behind)
{
	const struct event_of *v = &events[e];
	const struct actor *a = &ctl->actors[v->actor];

	if (v->call == DEATH) {
		run.scn->model->death(m, v->actor);
		return 1;
	}
	if (v->call == INHERITED && (behind >> v->actor & 1))
		return same_as_parent(v->actor);
	return run.scn->model->apply(m, v->actor, judge_call(v->actor, v->call),
		v->known, a->calls[v->call].result, a->calls[v->call].out);
}

/* 0: no order; 1: one that is right; 2: one but for a sleeper. behind: see
 * forked_behind. */
static int find_order(const void *m, u64 done, u32 behind)
{
	const struct facility_model *model = run.scn->model;
	char after[MODEL_SIZE], why[256] = "";
	u32 e, left = 0;
	int ret, best = 0;

	if (++orders > MAX_ORDERS)
		return 1;
	for (e = 0; e < n_events; e++)
		left += !(done >> e & 1) && events[e].must;
	if (!left && !any_inherited_wrong(behind) &&
		model->final(m, why, sizeof(why))) {
		if (!any_sleeper_could(m))
			return 1;
		best = 2;
	} else if (!left && !best_why++) {
		/* What is said first is mostly about the natural order. */
		strcpy(model_why, why);
	}
	for (e = 0; e < n_events; e++) {
		const struct event_of *v = &events[e];

		if ((done >> e & 1) || !may_be_next(done, e))
			continue;
		memcpy(after, m, model->size);
		if (!apply(after, e, behind))
			continue;
		ret = find_order(after,
			done | 1ULL << e |
				(v->call == DEATH ? events_of(v->actor) : 0),
			behind | forked_behind(done, e));
		if (ret == 1)
			return 1;
		if (ret > best)
			best = ret;
	}
	return best;
}

/* Each call that a stop met in its sleep had its effect before that or, who was
 * continued, behind it; as find_order. */
static int find_order_from(const void *m, u32 e)
{
	struct event_of *v;
	u64 begun, ended;
	int ret, before = 0;

	while (e < n_events && !events[e].stopped)
		e++;
	if (e == n_events)
		return find_order(m, 0, 0);
	v = &events[e];
	begun = v->begun;
	ended = v->ended;
	if (v->stopped < ended) {
		v->ended = v->stopped;
		before = find_order_from(m, e + 1);
		v->ended = ended;
	}
	if (before == 1 || !v->continued)
		return before;
	v->begun = v->continued;
	ret = find_order_from(m, e + 1);
	v->begun = begun;
	return ret == 1 || ret > before ? ret : before;
}

static void say_history(char *buf, u32 cap)
{
	u32 i, k, n = 0;

	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		n += snprintf(buf + n, n < cap ? cap - n : 0, " %c:", 'A' + i);
		if (a->calls[INHERITED].begun && n < cap)
			n += snprintf(buf + n, cap - n,
				a->calls[INHERITED].ended ? " (returned %ld)"
							  : " (returned -)",
				(long)a->calls[INHERITED].result);
		for (k = 0; k < a->n_calls && n < cap; k++) {
			if (a->calls[k].ended)
				n += snprintf(buf + n, cap - n, " %ld",
					(long)a->calls[k].result);
			else
				n += snprintf(buf + n, cap - n, " -");
		}
		if (a->calls[HANDLER].begun && n < cap)
			n += snprintf(buf + n, cap - n,
				a->calls[HANDLER].ended ? " (handler %ld)"
							: " (handler -)",
				(long)a->calls[HANDLER].result);
		if (n < cap)
			n += snprintf(buf + n, cap - n, "%s",
				a->state == ACTOR_DEAD	    ? " dead"
				: a->state == ACTOR_BLOCKED ? " asleep"
							    : "");
	}
}

/* ---- the other object ---- */

static s64 other_is;

/* As often as a handler's call ended; once more where one was killed in it. */
static int other_wrong(char *buf, u32 cap)
{
	s64 least = 0, most = 0;
	u32 i;

	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (!is_other(&run.scn->actors[i].handler))
			continue;
		least += a->calls[HANDLER].ended != 0;
		most += a->calls[HANDLER].begun != 0;
	}
	snprintf(buf, cap, "the handlers' semaphore is %ld, not %ld to %ld",
		(long)other_is, (long)least, (long)most);
	return most && (other_is < least || other_is > most);
}

/* ---- the judgement ---- */

static u32 could, who;

static void find_sleepers(struct caller *c)
{
	u32 i;

	could = 0;
	for (i = 0; i < run.n_actors; i++) {
		struct waiter *w = waiter_of(c, i);

		if (ctl->actors[i].state == ACTOR_BLOCKED &&
			(!w || w->state != WAIT_QUEUED)) {
			could++;
			who = i;
		}
	}
}

static int look(struct caller *c)
{
	int how = sigsetjmp(probe_end, 0);

	if (!how) {
		probe_arm(&c->region);
		go_on(c);
		broken[0] = 0;
		check_region(&c->region, on_invariant, NULL);
		other_is = object_id[OTHER] < 0 ? 0 : other_value(c);
		find_sleepers(c);
		if (run.scn->drain && !broken[0]) {
			run.scn->drain(c);
			check_region(&c->region, on_invariant, NULL);
		}
	}
	probe_arm(NULL);
	return how;
}

int judge(int last)
{
	char m[MODEL_SIZE], line[768], calls[256];
	struct caller *c = &probe_caller;
	int how, ret;
	u64 now = ctl->now;

	if (run.scn->rest)
		run.scn->rest();
	image_scan();
	image_copy(copy);
	*c = driver;
	c->region.base = copy;
	journal_find(c);
	memset(c->reserved_page, 0, sizeof(c->reserved_page));
	memset(sem_thread(c)->undo_cache, 0, sizeof(sem_thread(c)->undo_cache));
	how = look(c);
	ctl->now = now;
	say_history(calls, sizeof(calls));
	if (how) {
		snprintf(line, sizeof(line),
			"the next user's recovery %s (%s);%s",
			how == PROBE_ENDLESS ? "never ends" : "waits for ever",
			probe_text, calls);
		if (how == PROBE_WAITS && !last)
			return 1;
		blame(REPAIR, line);
		return 0;
	}
	if (broken[0]) {
		snprintf(line, sizeof(line), "invariants broken:%s;%s", broken,
			calls);
		blame(INVARIANT, line);
		return 0;
	}
	if (other_wrong(line, sizeof(line)) ||
		stops_wrong(line, sizeof(line))) {
		snprintf(line + strlen(line), sizeof(line) - strlen(line),
			";%s", calls);
		blame(WRONG, line);
		return 0;
	}
	if (could && !last)
		return 1;
	if (could) {
		snprintf(line, sizeof(line),
			"%c sleeps on though it could go on, as the next user "
			"of the registry finds;%s",
			'A' + who, calls);
		blame(ASLEEP, line);
		return 0;
	}
	collect();
	orders = best_why = 0;
	model_why[0] = 0;
	memset(m, 0, sizeof(m));
	run.scn->model->init(m);
	ret = find_order_from(m, 0);
	if (ret == 1) {
		snprintf(run.text, sizeof(run.text), "%s", calls);
		return 0;
	}
	if (ret == 2 && !last)
		return 1;
	snprintf(line, sizeof(line), "%s: %s;%s",
		ret == 2 ? "asleep" : "no order of the calls explains this",
		model_why, calls);
	blame(ret == 2 ? ASLEEP : WRONG, line);
	return 0;
}
