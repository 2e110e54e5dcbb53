// SPDX-License-Identifier: MIT
/*
 * Stopped and continued processes: the effect on calls under way. In the kernel
 * (signal(7)):
 *
 *   - a semop that sleeps leaves its queue when it is stopped, and ends with
 *     EINTR;
 *   - msgsnd, msgrcv and mq_* leave it, too, and begin anew when continued;
 *   - so a stopped sleeper is given nothing, and GETNCNT does not count it.
 *
 * A call that is stopped elsewhere counts as stopped before it or after it, or
 * in its sleep. A sleeper that was continued and has not run yet may still be
 * given something, for it cannot be distinguished from one that is about to
 * sleep.
 */
#include "explore.h"
#include "object/sleep.h"

/* More than any sleeper has to have slept to be asked for. */
#define LONG_CYCLES (1u << 20)

static u64 now(void)
{
	return 2 * ctl->n_points + 2;
}

/* Of the call that it is in; NULL: in none. */
static u32 call_in(const struct actor *a)
{
	if (!a->n_calls && !a->calls[INHERITED].begun)
		return ~0u;
	return actor_within(a, actor_call(a)) ? actor_call(a) : ~0u;
}

/* The record that it sleeps on, in whatever queue; NULL: it sleeps on none. */
static const struct waiter *waiter_of(const struct actor *a)
{
	u64 off = a->words[0] - THREADS_OFF;
	const struct thread *th;

	if (a->state != ACTOR_BLOCKED || !a->interruptible || !a->n_words ||
		a->words[0] < THREADS_OFF || a->words[0] >= EVENTS_OFF)
		return NULL;
	th = region_thread(&driver.region, (u32)(off / THREAD_STRIDE));
	return th->tid == a->pid ? &th->waiter : NULL;
}

/* Was it given what it slept for since it was stopped, by one who had not begun
 * before? Stopped once more before it has run, that stop counts: between the two
 * nobody can tell. */
static int was_given(const struct actor *a, u32 k)
{
	const struct waiter *w = waiter_of(a);
	u32 i, j;

	if (!w || w->state != WAIT_DONE || w->result == -EINTR ||
		w->result == SLEEP_RETRY || w->result == SLEEP_ANEW ||
		w->result == mq_sleep_class.restart)
		return 0;
	for (i = 0; i < run.n_actors; i++)
		for (j = 0; j < MAX_CALLS + 2; j++) {
			const struct actor *b = &ctl->actors[i];

			/* Who sleeps, too, gives nothing. */
			if (a != b && b->calls[j].begun &&
				(b->calls[j].ended || !waiter_of(b)) &&
				b->calls[j].begun < a->calls[k].stopped_last &&
				(!b->calls[j].ended ||
					b->calls[j].ended >
						a->calls[k].stopped_last))
				return 0;
		}
	return 1;
}

void stops_begin(struct actor *a)
{
	u32 k = call_in(a);

	a->stopped = 1;
	a->local = mix(a->local, 96);
	ctl->cycles += LONG_CYCLES;
	if (k == ~0u)
		return;
	a->calls[k].stopped = now();
	if (a->state != ACTOR_BLOCKED || !a->interruptible)
		return;
	if (!a->calls[k].stopped_asleep)
		a->calls[k].stopped_asleep = now();
	a->calls[k].stopped_last = now();
	a->calls[k].continued = 0;
}

void stops_end(struct actor *a)
{
	u32 k = call_in(a);

	a->stopped = 0;
	a->local = mix(a->local, 95);
	if (k == ~0u || !a->calls[k].stopped_asleep || a->calls[k].continued)
		return;
	a->calls[k].continued = now();
	a->calls[k].given |= (u32)was_given(a, k);
}

static void sleep_on(struct actor *a)
{
	u32 k = call_in(a);

	if (k != ~0u && a->calls[k].stopped_asleep)
		a->calls[k].slept_on = 1;
}

void stops_sleep(struct actor *a, u64 off, u32 val)
{
	u64 in = (off - THREADS_OFF) % THREAD_STRIDE;

	a->interruptible = off >= THREADS_OFF && off < EVENTS_OFF &&
			   in == offsetof(struct thread, waiter.word);
	if (a->interruptible && val == SYS_WAITERS)
		sleep_on(a);
}

void stops_over(struct actor *a)
{
	if (a->state == ACTOR_BLOCKED && a->interruptible)
		sleep_on(a);
}

int stops_end_call(const struct call *k)
{
	return k->op == CALL_SEMOP;
}

int stops_ended(const struct actor *a, u32 which, const struct call *k)
{
	return stops_end_call(k) && a->calls[which].ended &&
	       a->calls[which].result == -EINTR && a->calls[which].stopped;
}

/* May GETNCNT, in call n of actor c, have counted call k of actor i? */
static int may_count(u32 c, u32 n, u32 i, u32 k)
{
	const struct actor *a = &ctl->actors[i];
	const struct call *call = judge_call(i, k);
	u64 from = ctl->actors[c].calls[n].begun;
	u64 to = ctl->actors[c].calls[n].ended;
	u32 j;
	int takes = 0;

	if (call->op != CALL_SEMOP || !a->calls[k].begun ||
		a->calls[k].begun > to ||
		(a->calls[k].ended && a->calls[k].ended < from))
		return 0;
	for (j = 0; j < call->n; j++)
		takes |= call->sops[j].op < 0 &&
			 call->sops[j].num == judge_call(c, n)->arg[0];
	if (!takes)
		return 0;
	return !a->calls[k].stopped_asleep ||
	       a->calls[k].stopped_asleep > from ||
	       (a->calls[k].continued && a->calls[k].continued < to);
}

/* And must it have: it sleeps, and did so all the while, and nobody stopped
 * it. */
static int must_count(u32 c, u32 n, u32 i, u32 k)
{
	const struct actor *a = &ctl->actors[i];

	return may_count(c, n, i, k) && !a->calls[k].stopped &&
	       !a->calls[k].ended && a->state == ACTOR_BLOCKED &&
	       (run.scn->actors[i].flags & ACTOR_FIRST) && k == 0;
}

static int count_wrong(u32 c, u32 n, char *text, u32 cap)
{
	s64 least = 0, most = 0, result = ctl->actors[c].calls[n].result;
	u32 i, k;

	for (i = 0; i < run.n_actors; i++)
		for (k = 0; i != c && k < MAX_CALLS; k++) {
			least += must_count(c, n, i, k);
			most += may_count(c, n, i, k);
		}
	if (result < 0 || (result >= least && result <= most))
		return 0;
	snprintf(text, cap, "%c is told of %ld sleepers, not %ld to %ld",
		'A' + c, (long)result, (long)least, (long)most);
	return 1;
}

/* Who was continued begins anew, behind those who sleep for the same; but all
 * who send a message that fits are woken, and try. */
static int overtakes(u32 i, u32 k)
{
	const struct actor *a = &ctl->actors[i];
	const struct call *call = judge_call(i, k), *other;
	u32 j;

	if (call->op == CALL_MSGSND || !a->calls[k].slept_on ||
		!a->calls[k].ended || a->calls[k].result < 0)
		return 0;
	for (j = 0; j < run.n_actors; j++) {
		const struct actor *b = &ctl->actors[j];

		/* One that slept before anything else was done. */
		if (j == i || b->n_calls != 1 || b->state != ACTOR_BLOCKED ||
			actor_call(b) ||
			!(run.scn->actors[j].flags & ACTOR_FIRST))
			continue;
		other = judge_call(j, actor_call(b));
		if (other->op == call->op && other->arg[0] == call->arg[0] &&
			other->arg[1] == call->arg[1] &&
			!b->calls[actor_call(b)].stopped &&
			b->calls[actor_call(b)].begun <
				a->calls[k].stopped_asleep)
			return 1;
	}
	return 0;
}

/* Calls that sleep for what another call gives. */
static int gives(const struct call *k)
{
	return k->op == CALL_SEMOP || k->op == CALL_MSGSND ||
	       k->op == CALL_MSGRCV || k->op == CALL_MQSEND ||
	       k->op == CALL_MQRECV;
}

int stops_wrong(char *text, u32 cap)
{
	u32 i, k;

	for (i = 0; i < run.n_actors; i++)
		for (k = 0; k < MAX_CALLS + 2; k++) {
			const struct actor *a = &ctl->actors[i];

			if (!a->calls[k].begun)
				continue;
			if (a->calls[k].slept_on &&
				stops_end_call(judge_call(i, k))) {
				snprintf(text, cap,
					"%c was stopped and continued in its "
					"sleep, and sleeps on",
					'A' + i);
				return 1;
			}
			if (a->calls[k].given && gives(judge_call(i, k))) {
				snprintf(text, cap,
					"%c was given what it slept for, or "
					"told of a removal, while it was "
					"stopped",
					'A' + i);
				return 1;
			}
			if (overtakes(i, k)) {
				snprintf(text, cap,
					"%c was stopped, and stood in front of "
					"others when it was continued",
					'A' + i);
				return 1;
			}
			if (judge_call(i, k)->op == CALL_NCNT &&
				a->calls[k].ended &&
				count_wrong(i, k, text, cap))
				return 1;
		}
	return 0;
}
