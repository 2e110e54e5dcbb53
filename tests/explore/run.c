// SPDX-License-Identifier: MIT
/*
 * One run, from the registry as it was after the scenario's setup: the
 * decisions of a schedule one after the other, then all actors run until they
 * are at rest.
 */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "run.h"
#include "object/limits.h"
#include "object/sleep.h"
#include "registry/wait.h"

/* Timeouts that are let pass, at most, and in a row without anybody having got
 * further. */
#define MAX_FIRES 400u
#define VAIN_FIRES 60u

struct run run;
struct caller driver;
const char *explore_dir;
s32 object_id[8];
static struct cred cred = {.euid = ~0u};
static char registry[128];
struct sys_robust_head *run_robust;

const char *const verdict_names[N_VERDICTS] = {"fine", "void", "asleep",
	"stuck", "endless", "crashed", "invariant", "wrong", "repair"};

void run_fail(enum verdict v, const char *format, ...)
{
	va_list ap;

	if (run.verdict != FINE)
		return;
	run.verdict = v;
	va_start(ap, format);
	vsnprintf(run.text, sizeof(run.text), format, ap);
	va_end(ap);
}

u32 run_letter(u32 i)
{
	return 'A' + i;
}

static u32 runnable(void)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		if ((ctl->actors[i].state == ACTOR_READY &&
			    !ctl->actors[i].stopped) ||
			(walk_done & 1u << i))
			mask |= 1u << i;
	return mask;
}

static u32 alive(void)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].state &&
			ctl->actors[i].state != ACTOR_DEAD &&
			!(walk_done & 1u << i) &&
			!(run.scn->actors[i].flags & ACTOR_IMMORTAL) &&
			!(run.scn->max_kills_0))
			mask |= 1u << i;
	return mask;
}

u32 run_signalable(void)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++) {
		const struct actor *a = &ctl->actors[i];

		if (run.scn->actors[i].handler.op && !a->handled &&
			(a->state == ACTOR_READY || a->state == ACTOR_BLOCKED))
			mask |= 1u << i;
	}
	return mask & ~walk_done & ~run_stopped();
}

u32 run_stopped(void)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		mask |= (u32)(ctl->actors[i].stopped != 0) << i;
	return mask;
}

u32 run_stoppable(void)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].state == ACTOR_READY ||
			ctl->actors[i].state == ACTOR_BLOCKED)
			mask |= 1u << i;
	return mask & ~walk_done & ~run_stopped();
}

static u32 sleeping(u32 among)
{
	u32 i, mask = 0;

	for (i = 0; i < run.n_actors; i++)
		mask |= (u32)(ctl->actors[i].state == ACTOR_BLOCKED &&
				ctl->actors[i].interruptible)
			<< i;
	return mask & among;
}

static u64 whole_hash(void)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		sum += mix(ctl->actors[i].local + (ctl->actors[i].state << 1) +
				   ((walk_done >> i & 1) << 8),
			i + 1);
	return mix(ctl->memory, sum);
}

/* Who may be meant by it. */
static u32 choices(struct decision d, const struct segment *g)
{
	switch (d.kind) {
	case GO:
		return d.resume	  ? g->stopped
		       : d.signal ? g->signalable
				  : g->runnable;
	case STOP:
		return g->stoppable;
	default:
		return g->alive;
	}
}

/* Timeouts that pass before who is stopped goes on by default. */
static u32 stop_lasts;

static void go_on(struct actor *a, struct decision d)
{
	if (d.resume) {
		process_continue(d.actor);
		stops_over(a);
	}
	/* It may sleep on, for a lock. */
	if (d.resume && a->state != ACTOR_READY)
		return;
	if (d.signal)
		turn_signal(d.actor);
	a->stop_at = d.n == GO_ON ? ~0u : a->steps + d.n;
	a->keep = d.keep;
	turn_give(d.actor);
	if (d.n != GO_ON && a->state != ACTOR_READY && run.verdict == FINE)
		run.verdict = VOID;
}

static void do_decision(struct decision d, int by_default)
{
	struct segment *g = &run.segments[run.n_segments];
	struct actor *a = &ctl->actors[d.actor];

	if (run.n_segments == MAX_SEGMENTS) {
		run_fail(ENDLESS, "%u switches and no end", MAX_SEGMENTS);
		return;
	}
	if (run.done.n < MAX_DECISIONS)
		run.done.d[run.done.n++] = d;
	g->actor = d.actor;
	g->from = g->to = ctl->n_points;
	g->runnable = runnable();
	g->alive = alive();
	g->signalable = run_signalable();
	g->stoppable = run_stoppable();
	g->stopped = run_stopped();
	g->sleeping = sleeping(g->stoppable);
	g->resumed = d.resume;
	g->hash = whole_hash();
	g->by_default = by_default;
	g->killed = d.kind != GO;
	g->stops = d.kind == STOP;
	if (!(choices(d, g) & 1u << d.actor)) {
		run.verdict = VOID;
		return;
	}
	run.n_segments++;
	if (d.kind == KILL) {
		process_kill(d.actor);
	} else if (d.kind == WALK) {
		buffer_flush(a);
		a->local = mix(a->local, 98);
		walk_begin(d.actor, d.n);
	} else if (d.kind == STOP) {
		process_stop(d.actor);
		stop_lasts = d.n;
	} else if (walk_done & 1u << d.actor) {
		walk_on(d.actor, ~0u);
	} else {
		go_on(a, d);
	}
	g->to = ctl->n_points;
}

/* Whose time is up first; -1 if nobody waits for time. */
static int next_timeout(void)
{
	int best = -1;
	u32 i;

	for (i = 0; i < run.n_actors; i++) {
		struct actor *a = &ctl->actors[i];

		if (a->stopped)
			continue;
		if (a->state == ACTOR_SPINNING)
			a->deadline = ctl->now + 1;
		else if ((a->state != ACTOR_BLOCKED &&
				 a->state != ACTOR_NAPPING) ||
			 !a->deadline)
			continue;
		if (best < 0 || a->deadline < ctl->actors[best].deadline)
			best = (int)i;
	}
	return best;
}

static int is_at_rest(u32 word)
{
	/* Who told it to set a timer died before the wake-up; it had done nothing
	 * else yet (object/sleep.h). */
	return word == SYS_WAITERS ||
	       (word == WAIT_WORD_RECHECK &&
		       caller_header(&driver)->unmarked == UNMARKED_SOME);
}

/* A sleeper on its own word, which is nobody's; else somebody in the middle of
 * something. Whether it still stands in a queue the judge finds out: what a
 * dead waker had not committed does not count. */
static int sleeps_in_queue(u32 i)
{
	const struct actor *a = &ctl->actors[i];
	u64 off = a->words[0] - THREADS_OFF;
	struct thread *th;

	if (a->state != ACTOR_BLOCKED || !a->n_words ||
		a->words[0] < THREADS_OFF || a->words[0] >= EVENTS_OFF)
		return 0;
	th = region_thread(&driver.region, (u32)(off / THREAD_STRIDE));
	return th->tid == a->pid && is_at_rest(th->waiter.word) &&
	       region_off(&driver.region, &th->waiter.word) == a->words[0];
}

static int everybody_rests(void)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++)
		if (ctl->actors[i].state &&
			ctl->actors[i].state != ACTOR_DONE &&
			ctl->actors[i].state != ACTOR_DEAD &&
			!sleeps_in_queue(i))
			return 0;
	return 1;
}

static int describe_stuck(char *buf, u32 cap)
{
	u32 i, n = 0;

	for (i = 0; i < run.n_actors && n < cap; i++) {
		const struct actor *a = &ctl->actors[i];

		if (!a->state || a->state == ACTOR_DONE ||
			a->state == ACTOR_DEAD || sleeps_in_queue(i))
			continue;
		n += snprintf(buf + n, cap - n, " %c (state %u) on %lx = %x;",
			run_letter(i), a->state, (long)a->words[0],
			a->n_words && a->words[0] < REGION_SIZE
				? *(u32 *)(explore_base + a->words[0])
				: 0);
	}
	return (int)n;
}

static void play_first(void)
{
	u32 i;

	for (i = 0; i < run.n_actors; i++) {
		struct actor *a = &ctl->actors[i];

		if (!(run.scn->actors[i].flags & ACTOR_FIRST))
			continue;
		turn_give(i);
		while (a->state == ACTOR_READY || a->state == ACTOR_SPINNING)
			turn_give(i);
		if (a->state != ACTOR_BLOCKED && a->state != ACTOR_DONE)
			run_fail(STUCK, "%c did not come to rest first",
				run_letter(i));
	}
}

void run_schedule(
	const struct schedule *s, int (*chooser)(u32, u32, struct decision *))
{
	u32 i, fires = 0, vain = 0, last = 0, mask, points = 0;
	struct decision d;
	int who;

	image_scan();
	image_restore();
	ctl->n_points = 0;
	ctl->memory = ctl->cycles = 0;
	ctl->now = CLOCK_START;
	stop_lasts = 0;
	ctl->failure[0] = 0;
	ctl->n_actors = run.n_actors;
	if (run.scn->reset)
		run.scn->reset();
	walk_done = 0;
	run.n_segments = 0;
	run.done.n = 0;
	run.verdict = FINE;
	run.text[0] = 0;
	for (i = 0; i < run.n_actors; i++)
		process_begin(i);
	for (i = 0; i < run.n_actors; i++)
		process_start(i);
	ctl->memory = 0;
	play_first();
	for (i = 0; i < s->n && run.verdict == FINE; i++)
		do_decision(s->d[i], 0);
	run.n_explicit = run.done.n;
	/* Behind a stop whoever ran goes on. */
	for (i = s->n; i && s->d[i - 1].kind == STOP; i--)
		;
	if (i && s->d[i - 1].kind != KILL)
		last = s->d[i - 1].actor;
	while (run.verdict == FINE) {
		mask = runnable();
		if (mask) {
			if (chooser && chooser(mask, alive(), &d)) {
				do_decision(d, 1);
				last = d.actor;
				continue;
			}
			if (!(mask & 1u << last))
				last = (u32)__builtin_ctz(mask);
			do_decision((struct decision){GO, last, GO_ON, 0}, 1);
			if (ctl->n_points > points + 12)
				vain = 0;
			points = ctl->n_points;
			continue;
		}
		who = next_timeout();
		mask = run_stopped();
		if (mask && stop_lasts && who >= 0) {
			stop_lasts--;
			turn_fire((u32)who);
			continue;
		}
		if (mask) {
			last = (u32)__builtin_ctz(mask);
			do_decision((struct decision){.kind = GO,
					    .actor = last,
					    .n = GO_ON,
					    .resume = 1},
				1);
			continue;
		}
		if (everybody_rests() &&
			!judge(fires >= MAX_FIRES || vain >= VAIN_FIRES))
			break;
		if (who < 0 || fires >= MAX_FIRES || vain >= VAIN_FIRES) {
			if (everybody_rests()) {
				judge(1);
			} else {
				char buf[256] = "";

				describe_stuck(buf, sizeof(buf));
				run_fail(STUCK, "nobody can go on:%s", buf);
			}
			break;
		}
		fires++;
		vain++;
		turn_fire((u32)who);
	}
	process_end_all();
}

void run_setup(const struct scenario *scn)
{
	struct region_options opt = {
		.idx_bits = IDX_BITS_NORMAL, .profile = LIMITS_ROOMY};
	char why[256];
	u32 i;

	limits_init(&opt.limits, opt.profile, opt.idx_bits);
	if (driver.region.base)
		munmap(driver.region.base, REGION_SIZE);
	memset(ctl, 0, sizeof(*ctl));
	ctl->now = CLOCK_START;
	run.scn = scn;
	object_id[OTHER] = -1;
	for (i = 0; i < MAX_ACTORS && scn->actors[i].calls[0].op; i++)
		;
	run.n_actors = i;
	unlink(registry);
	driver = (struct caller){.cred = &cred};
	if (region_map(&driver.region, registry, &opt, why, sizeof(why))) {
		fprintf(stderr, "explore: %s\n", why);
		exit(2);
	}
	image_begin(registry);
	explore_base = driver.region.base;
	caller_refresh(&driver);
	run_robust = driver.robust;
	if (caller_enroll(&driver)) {
		fprintf(stderr, "explore: cannot enrol\n");
		exit(2);
	}
	scn->setup(&driver);
	image_save();
	judge_init();
}

void run_init(void)
{
	snprintf(registry, sizeof(registry), "%s/registry", explore_dir);
	ctl = mmap(NULL, sizeof(*ctl), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

void run_deinit(void)
{
	unlink(registry);
}
