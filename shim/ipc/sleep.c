// SPDX-License-Identifier: MIT
/*
 * Sleeping; see sleep.h. The waiter's protocol is in registry/wait.h.
 */
#include "ipc/sleep.h"
#include "registry/journal.h"

/* As in registry/wait.c: about the cost of one sleep and wake-up. */
#define SPIN_PAUSES 200
/* How long a sleeper may miss a wake-up whose sender died between its commit
 * and its look at the sleepers. */
#define SLICE_NS 50000000ULL

/* Leave the queue with `result` unless somebody was faster; the waiter's own
 * result is then final. */
static s32 leave_queue(struct caller *c, struct sleeper *sl, s32 result)
{
	struct waiter *w = wait_own(c);

	sl->k->lock(c, sl->slot);
	/* While it is queued the body stays, even in mid-removal. */
	if (w->state == WAIT_QUEUED) {
		sl->k->remove(c, sl->slot, w, result);
		journal_commit(c);
		atom_store_release(&w->word, WAIT_WORD_DONE);
	}
	lock_release(c, &sl->slot->lock);
	wait_settle(w);
	return w->result;
}

static void record_done(struct caller *c)
{
	wait_end(c, wait_own(c));
	atom_store_release(&wait_own(c)->word, WAIT_WORD_DONE);
}

/* caller.interrupt: a handler is about to run in this thread. */
static void interrupt_sleep(struct caller *c)
{
	struct sleeper *sl = c->interrupt_arg;
	s32 result;

	if (sl->cancellable)
		cancel_deny(&sl->scope);
	section_begin(c);
	c->interrupt = NULL;
	result = leave_queue(c, sl, -EINTR);
	if (result == SLEEP_RETRY)
		result = -EINTR;
	sl->result = sl->k->finish(c, sl, result);
	record_done(c);
	sl->finished = 1;
	section_end(c);
}

/* The thread is cancelled in its sleep. musl calls us with the stack as the
 * cancel signal found it, which may be off by eight. */
static __attribute__((force_align_arg_pointer)) void cancelled(void *arg)
{
	struct sleeper *sl = arg;
	struct caller *c = sl->c;

	section_begin(c);
	c->interrupt = NULL;
	if (!sl->finished) {
		sl->k->abandon(c, sl, leave_queue(c, sl, -EINTR));
		record_done(c);
		sl->finished = 1;
	}
	section_end(c);
}

/* The waker of our grant died, or it is time to look: taking the lock repairs
 * what a dead owner left, and tells whether we still wait. */
static void look_again(struct caller *c, struct sleeper *sl, int waker_died)
{
	struct waiter *w = wait_own(c);
	int removed;

	sl->k->lock(c, sl->slot);
	if (waker_died)
		atom_store_release(
			&w->word, w->state == WAIT_QUEUED ? 0 : WAIT_WORD_DONE);
	removed = w->state == WAIT_QUEUED &&
		  atom_load_acquire(&sl->slot->ident) != w->ident;
	lock_release(c, &sl->slot->lock);
	/* Still queued on what is gone: its remover died. */
	if (removed)
		sl->k->finish_removal(c);
}

static void sleep_loop(struct caller *c, struct sleeper *sl)
{
	struct waiter *w = wait_own(c);
	int err;

	while (!sl->finished) {
		if (sl->cancellable)
			cancel_allow(&sl->scope);
		err = wait_sleep(c, w, 0, SLICE_NS, 0, NULL);
		if (sl->cancellable)
			cancel_deny(&sl->scope);
		if (sl->finished || err == 0)
			break;
		section_begin(c);
		if (err == -EOWNERDEAD || err == -EAGAIN)
			look_again(c, sl, err == -EOWNERDEAD);
		else
			/* Stopped and continued: the kernel restarts the call,
			 * access check, place in the queue and all. */
			leave_queue(
				c, sl, err == -ERESTART ? SLEEP_RETRY : err);
		section_end(c);
	}
}

void sleep_arm(struct caller *c, struct sleeper *sl)
{
	sl->c = c;
	sl->finished = 0;
	sl->scope.active = 0;
	c->interrupt_arg = sl;
	c->interrupt = interrupt_sleep;
}

/* 1 once the waker has come. */
static int spin_for(const struct waiter *w)
{
	int i;

	for (i = 0; i < SPIN_PAUSES; i++) {
		if (atom_load_acquire(&w->word))
			return 1;
		arch_pause();
	}
	return 0;
}

s32 sleep_run(struct caller *c, struct sleeper *sl, int spin)
{
	struct waiter *w = wait_own(c);

	if (spin)
		spin_for(w);
	if (atom_load_acquire(&w->word) == WAIT_WORD_DONE) {
		;
	} else if (sl->cancellable) {
		cancel_begin(&sl->scope, cancelled, sl);
		sleep_loop(c, sl);
		cancel_end(&sl->scope);
	} else {
		sleep_loop(c, sl);
	}
	section_begin(c);
	c->interrupt = NULL;
	if (!sl->finished) {
		sl->result = sl->k->finish(c, sl, w->result);
		wait_end(c, w);
	}
	if (!sl->stay)
		section_end(c);
	return sl->result;
}
