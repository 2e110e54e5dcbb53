// SPDX-License-Identifier: MIT
/*
 * Which runs are made. Each run gives rise to others: at each of its points
 * after its own decisions another actor could have run (a preemption), or the
 * actor could have been killed; where an actor has ended or sleeps, each of the
 * others could have been next (free), or been killed. Schedules are run in the
 * order of their cost, preemptions and kills, so that a fault is found in its
 * simplest form.
 *
 * Not tried: a preemption before an access that conflicts with none of another
 * actor, as far as is known; a kill before a store that no other actor ever
 * reads (some random runs find that out first, and it is corrected once the
 * schedules of cost 1 are done); the death of one that does not run, in the
 * midst of another's stretch, unless that one asks there who lives; and a
 * decision that was already taken in the same state with the same cost (the
 * hash of all stores and of all that each actor has read).
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "explore.h"

#define MAX_COST 8u
#define FRONTIER_MOST 600000u
#define SEEN_BITS 22
#define WARM_UP 200u
/* Entries of the robust list after which its walk may stop. Arbitrary. */
#define MAX_WALK 3u
/* Timeouts of others for which one stays stopped that is stopped for long.
 * Arbitrary. */
#define LONG_STOP 3u

double seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* ---- text ---- */

void schedule_text(const struct schedule *s, char *buf, u32 cap)
{
	u32 i, n = 0;

	buf[0] = 0;
	for (i = 0; i < s->n && n < cap; i++) {
		struct decision d = s->d[i];

		n += snprintf(buf + n, cap - n, "%s%s%c", i ? "." : "",
			d.signal	 ? "s"
			: d.kind == KILL ? "k"
			: d.kind == WALK ? "w"
			: d.kind == STOP ? "t"
			: d.resume	 ? "c"
					 : "",
			'A' + d.actor);
		if (n < cap && (d.kind == WALK || (d.kind == STOP && d.n) ||
				       (d.kind == GO && d.n != GO_ON)))
			n += snprintf(buf + n, cap - n, "%u%s", d.n,
				d.keep ? "b" : "");
	}
}

int schedule_parse(const char *text, struct schedule *ret)
{
	memset(ret, 0, sizeof(*ret));
	while (*text) {
		struct decision *d = &ret->d[ret->n];

		if (ret->n == MAX_DECISIONS)
			return -1;
		*d = (struct decision){GO, 0, GO_ON, 0, 0, 0};
		if (*text == 's') {
			d->signal = 1;
			text++;
		}
		if (*text == 'k' || *text == 'w')
			d->kind = *text++ == 'k' ? KILL : WALK;
		if (*text == 't') {
			d->kind = STOP;
			d->n = 0;
			text++;
		}
		if (*text == 'c') {
			d->resume = 1;
			text++;
		}
		if (*text < 'A' || *text >= 'A' + (int)MAX_ACTORS)
			return -1;
		d->actor = *text++ - 'A';
		if (*text >= '0' && *text <= '9')
			d->n = strtoul(text, (char **)&text, 10);
		if (*text == 'b') {
			d->keep = 1;
			text++;
		}
		ret->n++;
		if (*text == '.')
			text++;
		else if (*text)
			return -1;
	}
	return 0;
}

/* ---- what was tried ---- */

static u64 *seen;
static u64 n_seen;

/* 1 if it is new. */
static int first_time(u64 key)
{
	u64 h = key >> 7, i;

	key |= 1;
	for (i = 0; i < 32; i++) {
		u64 *at = &seen[(h + i) & ((1u << SEEN_BITS) - 1)];

		if (*at == key)
			return 0;
		if (!*at) {
			*at = key;
			n_seen++;
			return 1;
		}
	}
	return 1;
}

/* ---- the frontier ---- */

static struct level {
	struct schedule *at;
	u32 n, next;
	u64 dropped;
} levels[MAX_COST + 1];

static void push(const struct schedule *s)
{
	struct level *l = &levels[s->preemptions + s->kills];

	if (l->n == FRONTIER_MOST) {
		l->dropped++;
		return;
	}
	if (!l->at)
		l->at = own_memory(FRONTIER_MOST * sizeof(*l->at));
	l->at[l->n++] = *s;
}

static const struct bounds *bounds;
static struct found *found;

static int add(struct schedule *s, struct decision d)
{
	if (s->n == MAX_DECISIONS)
		return 0;
	s->d[s->n++] = d;
	return 1;
}

static u32 max_preemptions, max_kills, max_stops;

static void child(const struct schedule *base, u64 hash, struct decision a,
	int has_a, struct decision b, u32 preemptions, u32 kills,
	const struct point *forestalled)
{
	struct schedule s = *base;
	u64 key;

	s.size = 0;
	if (forestalled && forestalled->kind == POINT_WRITE) {
		s.off = forestalled->off;
		s.size = forestalled->size;
	}

	s.preemptions += preemptions;
	s.kills += kills;
	s.stops += b.kind == STOP;
	if (!preemptions && !kills && b.kind == GO && run.scn->turns &&
		++s.turns > run.scn->turns)
		return;
	if (s.preemptions > max_preemptions || s.kills > max_kills ||
		s.stops > max_stops)
		return;
	/* A partial run costs a preemption only if the same actor could have
	 * gone on. */
	key = mix(
		mix(hash, (u64)b.resume << 45 | (u64)b.signal << 44 |
				  (u64)b.kind << 40 | (u64)b.actor << 32 | b.n),
		(u64)s.preemptions << 8 | s.kills | (u64)a.keep << 16 |
			(u64)s.turns << 24 | (u64)s.stops << 32);
	if (!first_time(key)) {
		found->pruned++;
		return;
	}
	if (has_a && !add(&s, a))
		return;
	if (add(&s, b))
		push(&s);
}

static int conflicts(const struct point *p, u32 who)
{
	u64 at;
	u32 others = ~(1u << who);
	int write = p->kind != POINT_READ;

	switch (p->kind) {
	case POINT_READ:
	case POINT_WRITE:
	case POINT_RMW:
		break;
	case POINT_ROBUST:
	case POINT_BEGIN:
		return 0;
	default:
		return 1;
	}
	for (at = p->off & ~7ULL; at < p->off + p->size; at += 8) {
		struct touched *t = touched_at(at);

		if (!t || (t->writers & others & ~(1u << PROBE)) ||
			(write && (t->readers & others & ~(1u << PROBE))))
			return 1;
	}
	return 0;
}

/* May it matter whether the actor dies before or after this point? */
static int matters_to_the_living(const struct point *p, u32 who)
{
	u64 at;
	u32 others = ~(1u << who);

	switch (p->kind) {
	case POINT_READ:
		return 0;
	case POINT_WRITE:
	case POINT_RMW:
		break;
	default:
		return 1;
	}
	for (at = p->off & ~7ULL; at < p->off + p->size; at += 8) {
		struct touched *t = touched_at(at);

		if (!t || ((t->readers | t->writers) & others))
			return 1;
	}
	return 0;
}

/* b is stopped next, for n timeouts at least; has_a: in the midst of a
 * stretch, else where somebody has come to rest, which costs nothing. */
static void stop(const struct schedule *base, u64 hash, struct decision a,
	int has_a, u32 b, u32 n)
{
	if (max_stops)
		child(base, hash, a, has_a, (struct decision){STOP, b, n, 0},
			(u32)has_a, 0, NULL);
}

/* In front of a point of the running one: it is stopped, or one that sleeps is,
 * or who is stopped is continued and goes on. */
static void expand_stops(const struct schedule *base, const struct segment *g,
	const struct point *p, struct decision go)
{
	u32 b;

	if (!max_stops || !conflicts(p, g->actor))
		return;
	if (p->deep) {
		stop(base, p->hash, go, 1, g->actor, 0);
		stop(base, p->hash, go, 1, g->actor, LONG_STOP);
	}
	for (b = 0; b < run.n_actors; b++) {
		if (b == g->actor)
			continue;
		if (g->sleeping & 1u << b)
			stop(base, p->hash, go, 1, b, 0);
		if (g->stopped & 1u << b)
			child(base, p->hash, go, 1,
				(struct decision){GO, b, GO_ON, 0, 0, 1}, 1, 0,
				NULL);
	}
}

static void expand_start(const struct schedule *base, const struct segment *g)
{
	struct decision none = {0};
	u32 b;

	for (b = 0; b < run.n_actors; b++) {
		if ((g->runnable & 1u << b) && b != g->actor)
			child(base, g->hash, none, 0,
				(struct decision){GO, b, GO_ON, 0}, 0, 0, NULL);
		if (g->signalable & 1u << b)
			child(base, g->hash, none, 0,
				(struct decision){GO, b, GO_ON, 0, 1}, 1, 0,
				NULL);
		if (g->stopped & 1u << b)
			child(base, g->hash, none, 0,
				(struct decision){GO, b, GO_ON, 0, 0, 1}, 0, 0,
				NULL);
		if (g->sleeping & 1u << b) {
			stop(base, g->hash, none, 0, b, 0);
			stop(base, g->hash, none, 0, b, LONG_STOP);
		}
		if (!(g->alive & 1u << b) ||
			(run.scn->actors[b].flags & ACTOR_WALK))
			continue;
		child(base, g->hash, none, 0, (struct decision){KILL, b, 0, 0},
			0, 1, NULL);
	}
}

/* May a signal to its own actor do something else here than at the point before?
 * In a section it waits for its end. */
static int signal_differs(u32 i)
{
	const struct point *p = &ctl->points[i];

	return !p->section || !i || p[-1].actor != p->actor ||
	       p[-1].section != p->section;
}

/* Is it asked here whether somebody lives: by a signal, by /proc, by a word that
 * the kernel marks? */
static int asks_for_life(const struct point *p)
{
	u64 task = (p->off - TASKS_OFF) % sizeof(struct task);
	u64 thread = (p->off - THREADS_OFF) % THREAD_STRIDE;

	if (p->kind == POINT_CALL)
		return p->off == __NR_kill || p->off == __NR_tgkill ||
		       p->off == __NR_openat || p->off == __NR_open;
	if (p->kind > POINT_RMW || p->off < TASKS_OFF || p->off >= EVENTS_OFF)
		return 0;
	return p->off < THREADS_OFF
		       ? task == offsetof(struct task, life) ||
				 task == offsetof(struct task, exec_life)
		       : thread == offsetof(struct thread, waiter) +
					   offsetof(struct waiter, alive);
}

/* Others are killed in front of point p of a stretch: those that are in no
 * call, or sleep, too. */
static void expand_deaths(const struct schedule *base, const struct segment *g,
	const struct point *p, struct decision go)
{
	u32 b;

	for (b = 0; asks_for_life(p) && b < run.n_actors; b++)
		if (b != g->actor && (g->alive & 1u << b) &&
			!(run.scn->actors[b].flags & ACTOR_WALK))
			child(base, p->hash, go, 1,
				(struct decision){KILL, b, 0, 0}, 0, 1, NULL);
}

/* first: the decision with which the stretch began. */
static void expand_inside(const struct schedule *base, const struct segment *g,
	struct decision first)
{
	const struct actor_def *def = &run.scn->actors[g->actor];
	u32 i, b, others = g->runnable & ~(1u << g->actor);
	u32 signal = first.signal;

	for (i = g->from; i < g->to && i < MAX_POINTS; i++) {
		const struct point *p = &ctl->points[i];
		struct decision go = {
			GO, g->actor, i - g->from, 0, signal, first.resume};

		if (i - g->from >= GO_ON)
			break;
		for (b = 0; i > g->from && b < run.n_actors; b++)
			if ((g->signalable & 1u << b) &&
				(b == g->actor ? !signal && signal_differs(i)
					       : conflicts(p, g->actor)))
				child(base, p->hash, go, 1,
					(struct decision){GO, b, GO_ON, 0, 1},
					1, 0, NULL);
		if (i > g->from && !(def->flags & ACTOR_STEADY) &&
			conflicts(p, g->actor)) {
			for (b = 0; b < run.n_actors; b++) {
				struct decision next = {GO, b, GO_ON, 0};

				if (!(others & 1u << b))
					continue;
				go.keep = 0;
				child(base, p->hash, go, 1, next, 1, 0, NULL);
				if (!p->buffered)
					continue;
				go.keep = 1;
				child(base, p->hash, go, 1, next, 1, 0, NULL);
				go.keep = 0;
			}
		}
		if (i > g->from) {
			expand_stops(base, g, p, go);
			expand_deaths(base, g, p, go);
		}
		if (i > g->from && (g->alive & 1u << g->actor) &&
			matters_to_the_living(p, g->actor)) {
			if (!(def->flags & ACTOR_WALK))
				child(base, p->hash, go, 1,
					(struct decision){KILL, g->actor, 0, 0},
					0, 1, p);
			/* Where the list is something else than before. */
			for (b = 1; (def->flags & ACTOR_WALK) &&
				    (p->kind == POINT_ROBUST ||
					    p->kind == POINT_WAKE) &&
				    b <= MAX_WALK;
				b++)
				child(base, p->hash, go, 1,
					(struct decision){WALK, g->actor, b, 0},
					0, 1, NULL);
		}
		if (p->woke)
			for (b = 0; b < run.n_actors; b++)
				others |= (run.segments[0].alive | g->alive) &
					  (1u << b) & ~(1u << g->actor);
	}
}

/* ---- what is the same as another run ---- */

static int same_word(const struct point *a, const struct point *b)
{
	return a->off < b->off + b->size && b->off < a->off + a->size;
}

/* Would it be another run if a had come before b instead of behind it? */
static int exchangeable(const struct point *a, const struct point *b)
{
	int memory_a = a->kind <= POINT_RMW, memory_b = b->kind <= POINT_RMW;

	if (a->kind == POINT_ROBUST || a->kind == POINT_BEGIN ||
		b->kind == POINT_ROBUST || b->kind == POINT_BEGIN)
		return 1;
	if (a->kind > POINT_WAKE || b->kind > POINT_WAKE)
		return 0;
	if (memory_a && memory_b && a->kind == POINT_READ &&
		b->kind == POINT_READ)
		return 1;
	return !same_word(a, b);
}

/*
 * The last preemption: the first point of the preempted one when it goes on
 * again could as well have come before it, for those who ran meanwhile did
 * nothing that this touches. Then a later preemption shows the same.
 */
static int preempted_too_early(const struct schedule *s)
{
	const struct segment *g;
	u32 i, k, from, to;

	if (s->n < 2 || s->d[s->n - 2].kind != GO ||
		s->d[s->n - 2].n == GO_ON || s->d[s->n - 2].keep ||
		s->d[s->n - 1].kind != GO || s->d[s->n - 1].signal ||
		s->d[s->n - 1].resume)
		return 0;
	g = &run.segments[run.n_explicit - 2];
	from = g->to;
	for (i = run.n_explicit - 1; i < run.n_segments; i++) {
		if (run.segments[i].killed)
			return 0;
		if (run.segments[i].actor == g->actor)
			break;
	}
	if (i == run.n_segments)
		return 0;
	to = run.segments[i].from;
	if (to >= ctl->n_points || to >= MAX_POINTS)
		return 0;
	for (k = from; k < to; k++)
		if (!exchangeable(&ctl->points[to], &ctl->points[k]))
			return 0;
	return 1;
}

/* The last kill: nobody has looked at what the dead one was about to store; so
 * it might as well have come behind that. */
static int killed_too_early(const struct schedule *s)
{
	struct point lost = {.off = s->off, .size = s->size};
	u64 at;
	u32 k;

	if (!s->size || !s->n || s->d[s->n - 1].kind != KILL)
		return 0;
	for (at = s->off & ~7ULL; at < s->off + s->size; at += 8) {
		struct touched *t = touched_at(at);

		if (!t || (t->readers & 1u << PROBE))
			return 0;
	}
	for (k = run.segments[run.n_explicit - 1].from; k < ctl->n_points; k++)
		if (ctl->points[k].kind <= POINT_WAKE &&
			ctl->points[k].kind != POINT_ROBUST &&
			same_word(&lost, &ctl->points[k]))
			return 0;
	return 1;
}

static void expand(const struct schedule *s)
{
	struct schedule base = *s;
	u32 i;

	for (i = run.n_explicit; i < run.n_segments; i++) {
		const struct segment *g = &run.segments[i];
		struct decision d = {GO, g->actor, GO_ON, 0, 0, g->resumed};

		/* Behind a preemption somebody else was chosen already. */
		expand_start(&base, g);
		expand_inside(&base, g, d);
		if (!add(&base, d))
			break;
	}
	/* The last decision's own stretch is open, too. */
	if (s->n && s->d[s->n - 1].kind == GO && s->d[s->n - 1].n == GO_ON &&
		run.n_explicit && run.n_explicit <= run.n_segments) {
		base = *s;
		base.n--;
		expand_inside(&base, &run.segments[run.n_explicit - 1],
			s->d[s->n - 1]);
	}
}

static void note(const struct schedule *s)
{
	u32 i;

	found->runs++;
	if (run.verdict == VOID) {
		found->voids++;
		return;
	}
	for (i = 0; i < run.n_actors; i++)
		found->deaths += ctl->actors[i].died != 0;
	for (i = 0; i < run.done.n; i++)
		found->stops += run.done.d[i].kind == STOP;
	found->by_verdict[run.verdict]++;
	if (run.verdict != FINE && !found->first_text[0]) {
		schedule_text(s, found->first, sizeof(found->first));
		snprintf(found->first_text, sizeof(found->first_text), "%s: %s",
			verdict_names[run.verdict], run.text);
	}
}

/* ---- at random ---- */

static u64 rng;
static u32 random_kills, random_stops;
static u32 random_below(u32 n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (u32)(rng >> 33) % n;
}

static u32 pick(u32 mask)
{
	u32 n = random_below((u32)__builtin_popcount(mask));

	while (n--)
		mask &= mask - 1;
	return (u32)__builtin_ctz(mask);
}

static int choose(u32 may_go, u32 may_die, struct decision *ret)
{
	if (run.done.n >= MAX_DECISIONS - 2)
		return 0;
	if (may_die && random_kills && random_below(6) == 0) {
		random_kills--;
		*ret = (struct decision){KILL, pick(may_die), 0, 0};
		return 1;
	}
	if (random_stops && run_stoppable() && random_below(6) == 0) {
		random_stops--;
		*ret = (struct decision){STOP, pick(run_stoppable()),
			random_below(2) ? LONG_STOP : 0, 0, 0, 0};
		return 1;
	}
	*ret = (struct decision){GO, pick(may_go), GO_ON, 0, 0, 0};
	if (run_stopped() && random_below(4) == 0) {
		ret->actor = pick(run_stopped());
		ret->resume = 1;
		return 1;
	}
	if (run_signalable() && random_below(6) == 0) {
		ret->actor = pick(run_signalable());
		ret->signal = 1;
	}
	if (random_below(3))
		ret->n = 1 + random_below(random_below(2) ? 12 : 120);
	return 1;
}

static void search_random(double until)
{
	struct schedule none = {0};

	while (seconds_now() < until) {
		random_kills = random_below(4);
		random_stops = max_stops ? random_below(max_stops + 2) : 0;
		run_schedule(&none, choose);
		if (run.verdict == VOID) {
			/* A stretch that ended before its count. */
			found->voids++;
			found->runs++;
			continue;
		}
		note(&run.done);
		if (run.verdict != FINE && !bounds->keep_going)
			break;
	}
}

/* ---- all ---- */

/* The same schedule twice must be the same run. */
static u64 run_hash(void)
{
	u64 h = run.verdict;
	u32 i;

	for (i = 0; i < ctl->n_points; i++)
		h = mix(h, ctl->points[i].hash);
	return h;
}

static void start_over(void)
{
	struct schedule none = {0};
	u32 i;

	memset(seen, 0, sizeof(*seen) << SEEN_BITS);
	n_seen = 0;
	for (i = 0; i <= MAX_COST; i++)
		levels[i].n = levels[i].next = 0, levels[i].dropped = 0;
	push(&none);
}

/* Who touches what, to begin with: some runs at random, always the same. */
static int warm_up(double until)
{
	struct schedule none = {0};
	u32 i;

	rng = 0x853c49e6748fea9bULL;
	for (i = 0; i < WARM_UP && (!until || seconds_now() < until); i++) {
		random_kills = max_kills ? random_below(max_kills + 1) : 0;
		random_stops = max_stops ? random_below(max_stops + 1) : 0;
		run_schedule(&none, choose);
		if (run.verdict == VOID)
			continue;
		note(&run.done);
		if (run.verdict != FINE && !bounds->keep_going)
			return 0;
	}
	return 1;
}

static void search_all(double until)
{
	u32 cost = 0, most = max_preemptions + max_kills, restarts = 0, known;
	u64 before;

	if (!warm_up(until))
		return;
	start_over();
	known = ctl->n_touched_new;
	while (cost <= most) {
		struct level *l = &levels[cost];
		struct schedule s;

		if (l->next == l->n) {
			/* What was left out for nobody seemed to look at it may
			 * matter after all. */
			if (cost == 1 && ctl->n_touched_new != known &&
				restarts++ < 3) {
				known = ctl->n_touched_new;
				cost = 0;
				start_over();
				continue;
			}
			if (l->dropped)
				break;
			found->complete = cost++;
			continue;
		}
		s = l->at[l->next++];
		if (until && seconds_now() > until)
			return;
		run_schedule(&s, NULL);
		note(&s);
		if (run.verdict == VOID)
			continue;
		if (run.verdict != FINE) {
			if (!bounds->keep_going)
				return;
			continue;
		}
		if (preempted_too_early(&s) || killed_too_early(&s))
			found->pruned++;
		else
			expand(&s);
		if (found->runs % 512 == 1) {
			before = run_hash();
			run_schedule(&s, NULL);
			found->diverged += run_hash() != before;
		}
	}
	found->exhausted = cost > most;
	found->late = ctl->n_touched_new - known;
}

void search(
	const struct scenario *scn, const struct bounds *b, struct found *ret)
{
	double began = seconds_now();

	memset(ret, 0, sizeof(*ret));
	found = ret;
	bounds = b;
	max_preemptions = scn->preemptions ? scn->preemptions : b->preemptions;
	max_kills = scn->max_kills_0 ? 0 : scn->kills ? scn->kills : b->kills;
	max_stops = b->stops ? b->stops : scn->stops;
	if (!seen)
		seen = own_memory(sizeof(*seen) << SEEN_BITS);
	run_setup(scn);
	rng = b->seed * 0x9e3779b97f4a7c15ULL + 1;
	if (b->seed)
		search_random(began + b->seconds);
	else
		search_all(b->seconds ? began + b->seconds : 0);
	ret->seconds = seconds_now() - began;
}
