// SPDX-License-Identifier: MIT
/*
 * Whose turn it is: the controller gives the baton to an actor and waits until
 * it is back, and all sleepers are in the kernel's queues. This is found out by
 * a requeue of a sleeper's word to itself, which counts those queued there and
 * changes nothing.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "run.h"

#define FUTEX_REQUEUE 3
#define HANG_S 10

void signals_settle(void)
{
	struct sys_timespec nap = {0, 1000000};
	u32 i, k, was;

	for (i = 0; i < run.n_actors; i++) {
		struct actor *a = &ctl->actors[i];

		if (a->state != ACTOR_DONE || a->endless)
			continue;
		was = a->answers;
		process_signal(a, SIGUSR1);
		for (k = 0; k < 2000 && __atomic_load_n(&a->answers,
						__ATOMIC_SEQ_CST) == was;
			k++)
			raw_futex(&a->answers, 0, was, &nap);
	}
}

static int waiting_on(u64 off)
{
	return (int)raw_syscall(SYS_futex, (long)(explore_base + off),
		FUTEX_REQUEUE, 0, 1000, (long)(explore_base + off), 0);
}

/* How many words actor i should be queued on; 0: it is not asleep. */
static u32 words_of(u32 i)
{
	const struct actor *a = &ctl->actors[i];
	u32 state = __atomic_load_n(&a->state, __ATOMIC_SEQ_CST);

	return state == ACTOR_BLOCKED && !a->stopped ? a->n_words : 0;
}

/* How many blocked actors should be queued there. */
static int expected_on(u64 off)
{
	int n = 0;
	u32 i, k;

	for (i = 0; i < run.n_actors; i++)
		for (k = 0; k < words_of(i); k++)
			n += ctl->actors[i].words[k] == off;
	return n;
}

static int all_queued(void)
{
	u32 i, k;

	for (i = 0; i < run.n_actors; i++)
		for (k = 0; k < words_of(i); k++) {
			u64 off = ctl->actors[i].words[k];

			if (off != ~0ULL && waiting_on(off) != expected_on(off))
				return 0;
		}
	return 1;
}

/* Until everybody who is said to sleep is in the kernel's queues, and everybody
 * who was woken has said so. */
void turn_settle(void)
{
	struct sys_timespec nap = {0, 200000};
	u32 tries = 0, was;
	double until = 0;

	for (;;) {
		was = __atomic_load_n(&ctl->announce, __ATOMIC_SEQ_CST);
		if (all_queued())
			return;
		if (tries++ < 20) {
			sched_yield();
			continue;
		}
		if (!until)
			until = seconds_now() + HANG_S;
		if (seconds_now() > until) {
			run_fail(STUCK, "the explorer: a sleeper is neither "
					"queued nor awake");
			return;
		}
		raw_futex(&ctl->announce, 0, was, &nap);
	}
}

/* In a system call that does not end: /proc says what it does. */
static int sleeps_elsewhere(const struct actor *a)
{
	int i;

	for (i = 0; i < 5; i++) {
		if (process_state(a) != 'S' ||
			__atomic_load_n(&ctl->baton, __ATOMIC_SEQ_CST))
			return 0;
		usleep(5000);
	}
	return 1;
}

/* Give the baton to an actor and wait until it comes back. */
void turn_give(u32 i)
{
	struct actor *a = &ctl->actors[i];
	struct sys_timespec slice = {0, 50000000};
	u64 others = 0;
	u32 k;
	int status;
	double until = 0;

	for (k = 0; k < run.n_actors; k++)
		if (k != i)
			others += mix(ctl->actors[k].local, k + 1);
	ctl->others = others;
	ctl->woke = 0;
	ctl->baton = 0;
	__atomic_store_n(&a->go, 1, __ATOMIC_SEQ_CST);
	raw_futex(&a->go, 1, 1, NULL);
	while (!__atomic_load_n(&ctl->baton, __ATOMIC_SEQ_CST)) {
		if (raw_futex(&ctl->baton, 0, 0, &slice) != -ETIMEDOUT)
			continue;
		if (waitpid(process_of(a), &status, WNOHANG) > 0) {
			process_died(i);
			run_fail(CRASHED, "%c died by signal %d", run_letter(i),
				WIFSIGNALED(status) ? WTERMSIG(status) : 0);
			return;
		}
		if (!until)
			until = seconds_now() + HANG_S;
		if (sleeps_elsewhere(a) || seconds_now() > until) {
			run_fail(STUCK,
				"%c passes no point and does not sleep, "
				"or sleeps outside a futex",
				run_letter(i));
			process_kill(i);
			return;
		}
	}
	if (a->state == ACTOR_LEAVING) {
		process_ends(i);
		ctl->woke = 1;
	}
	if (a->endless)
		run_fail(ENDLESS, "%c has passed %u points and goes on",
			run_letter(i), MAX_STEPS);
	if (ctl->failure[0])
		run_fail(WRONG, "%s", ctl->failure);
	if (ctl->woke || a->state == ACTOR_BLOCKED)
		turn_settle();
}

/* Until it has left the sleep that a signal interrupts. */
static void wait_awake(const struct actor *a)
{
	struct sys_timespec nap = {0, 1000000};
	u32 was;

	for (;;) {
		was = __atomic_load_n(&ctl->announce, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&a->state, __ATOMIC_SEQ_CST) !=
			ACTOR_BLOCKED)
			break;
		raw_futex(&ctl->announce, 0, was, &nap);
	}
	turn_settle();
}

void turn_fire(u32 i)
{
	struct actor *a = &ctl->actors[i];

	if (a->deadline > ctl->now)
		ctl->now = a->deadline;
	if (a->state == ACTOR_BLOCKED) {
		a->fired = 1;
		process_signal(a, SIGUSR1);
		wait_awake(a);
	} else {
		a->state = ACTOR_READY;
	}
}

void turn_signal(u32 i)
{
	struct actor *a = &ctl->actors[i];

	a->handled = 1;
	if (a->state != ACTOR_BLOCKED) {
		a->signal = 1;
		return;
	}
	handler_send(a);
	wait_awake(a);
}
