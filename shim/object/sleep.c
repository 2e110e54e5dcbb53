// SPDX-License-Identifier: MIT
/*
 * Sleeping, and spinning before it; see sleep.h. The waiter's protocol is in
 * registry/wait.h.
 */
#include "object/sleep.h"
#include "index/ids.h"
#include "registry/journal/journal.h"
#include "registry/lock.h"
#include "registry/task.h"
#include "registry/thread.h"

#define SA_RESTART 0x10000000UL

/* Pauses between two reads of the word: the time of some messages. Arbitrary. */
#define BATCH_PAUSES 12
/* Most reads, about a tenth of a millisecond: with several threads at the queue
 * the word may change for ever and never be `enough`. Arbitrary. */
#define BATCH_POLLS 256

/* ---- spinning ---- */

void sleep_batch(const struct sleep_poll *poll)
{
	u64 word = atom_load_relaxed(poll->word), was;
	int i, polls = 0;

	do {
		was = word;
		for (i = 0; i < BATCH_PAUSES; i++)
			arch_pause();
		word = atom_load_relaxed(poll->word);
	} while (word != was && ++polls < BATCH_POLLS &&
		 !poll->enough(word, poll->arg));
}

/* Each read takes the cache line from the partner, so they get rarer. */
static int next_poll(int i)
{
	return i + (i < 24 ? i / 2 : 12) + 1;
}

int sleep_spin(struct spin *spin, const struct sleep_poll *poll)
{
	int i, next = 1;
	u64 word;

	spin_resume(spin);
	for (i = 0; spin_on(spin); i++) {
		if (i < next)
			continue;
		next = next_poll(i);
		word = atom_load_relaxed(poll->word);
		if (word == poll->seen)
			continue;
		if (poll->batch)
			sleep_batch(poll);
		else if (!poll->enough(word, poll->arg))
			continue;
		return 1;
	}
	return 0;
}

/* ---- sleeping ---- */

/* Does the kernel wake for an exited thread's pending word whatever its value is?
 * It does from 6.2 on. */
static int kernel_tells(void)
{
	static int known; /* 1 no, 2 yes; the same for all threads */
	char release[6][65] = {{0}};
	u32 major = 0, minor = 0;
	const char *p;
	int tells = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (likely(tells))
		return tells == 2;
	sys_call(__NR_uname, release);
	for (p = release[2]; *p >= '0' && *p <= '9'; p++)
		major = major * 10 + (u32)(*p - '0');
	for (p += *p == '.'; *p >= '0' && *p <= '9'; p++)
		minor = minor * 10 + (u32)(*p - '0');
	tells = major > 6 || (major == 6 && minor >= 2) ? 2 : 1;
	__atomic_store_n(&known, tells, __ATOMIC_RELAXED);
	return tells == 2;
}

u64 sleep_slice(int first)
{
	return first && likely(kernel_tells()) ? 0 : SLEEP_SLICE_NS;
}

/* Leave the queue with `result`, or with the waker's result if it has been
 * granted or ended before. */
static s32 leave_queue(struct caller *c, struct sleeper *sl, s32 result)
{
	struct waiter *w = wait_own(c);

	sl->k->lock(c, sl->slot);
	/* The object's body is not freed while we are queued, even if its removal
	 * has begun. */
	if (w->state == WAIT_QUEUED) {
		sl->k->remove(c, sl->slot, w, result);
		journal_commit(c);
		wait_dequeued(c, w);
	}
	lock_release(c, &sl->slot->lock);
	wait_for_waker(c, w);
	return w->result;
}

/* Where a sleeper is queued, as its record says at this moment. */
struct place {
	const struct sleep_class *k;
	struct slot *s;
	u32 facility, slot_idx;
};

/* 0 if the record names no object. */
static int find_place(
	const struct caller *c, const struct waiter *w, struct place *at)
{
	static const struct sleep_class *const classes[N_FAC] = {
		[FAC_SEM] = &sem_sleep_class,
		[FAC_MSG] = &msg_receiver_class,
		[FAC_MQ] = &mq_sleep_class,
	};

	at->facility = w->facility;
	at->slot_idx = w->slot_idx;
	at->k = at->facility < N_FAC ? classes[at->facility] : NULL;
	if (!at->k || at->slot_idx > ids_mask(c))
		return 0;
	at->s = region_slot(&c->region, at->facility, at->slot_idx);
	return 1;
}

/* In a section, the slot's lock held. State is read first: a waiter stores in
 * which queue it is before it stores WAIT_QUEUED. */
static int is_queued_at(const struct place *at, const struct waiter *w)
{
	return atom_load_acquire(&w->state) == WAIT_QUEUED &&
	       w->facility == at->facility && w->slot_idx == at->slot_idx &&
	       w->ident == at->s->ident;
}

void sleep_remove_dead(struct caller *c, u32 idx)
{
	struct waiter *w = wait_must(c, idx);
	struct place at;

	if (!find_place(c, w, &at))
		return;
	section_begin(c);
	at.k->lock(c, at.s);
	if (is_queued_at(&at, w) && wait_dead(w)) {
		at.k->remove(c, at.s, w, -EINTR);
		journal_commit(c);
	}
	lock_release(c, &at.s->lock);
	section_end(c);
}

/* ---- timers for all ---- */

/* It sleeps again at once, and sets a timer then. */
static void tell_to_set_timer(struct caller *c, struct waiter *w)
{
	struct place at;

	if (!find_place(c, w, &at))
		return;
	at.k->lock(c, at.s);
	if (is_queued_at(&at, w))
		wait_spurious_wake(c, w);
	lock_release(c, &at.s->lock);
}

/* A sleeper stores has_timer and WAIT_QUEUED before it gives the object's lock up. So either we find it here, or it reads `unmarked` after our
 * compare-and-swap (sleep_once). */
void sleep_need_timers(struct caller *c)
{
	u32 *unmarked = &caller_header(c)->unmarked, seen = 0, idx = 1;
	struct waiter *w;

	if (c->telling || atom_load_acquire(unmarked) == UNMARKED_TOLD)
		return;
	section_begin(c);
	c->telling = 1;
	atom_cas(unmarked, &seen, UNMARKED_SOME);
	for (; (idx = thread_next(&c->region, idx)) < N_THREADS; idx++) {
		w = wait_must(c, idx);
		if (atom_load_acquire(&w->state) == WAIT_QUEUED &&
			!atom_load_relaxed(&w->has_timer))
			tell_to_set_timer(c, w);
	}
	atom_store_release(unmarked, UNMARKED_TOLD);
	c->telling = 0;
	section_end(c);
}

/* The lock under which the waiter was queued has been released since: by a
 * compare-and-swap, a full barrier. */
static void set_timer_if_unmarked(struct caller *c, struct sleeper *sl)
{
	if (unlikely(atom_load_acquire(&caller_header(c)->unmarked)) &&
		!sl->slice_ns)
		sl->slice_ns = SLEEP_SLICE_NS;
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
	s32 intr = -EINTR, result;

	cancel_deny(&sl->scope);
	section_begin(c);
	c->interrupt = NULL;
	if (sl->k->restart && (c->signal_flags & SA_RESTART))
		intr = sl->k->restart;
	if (sl->k->signalled)
		sl->k->signalled(c, sl);
	result = leave_queue(c, sl, intr);
	/* If it was taken out because the process was stopped (wait_stopped), the
	 * handler that runs now decides the result. */
	if (result == SLEEP_RETRY || result == SLEEP_ANEW ||
		(sl->k->restart && result == sl->k->restart))
		result = intr;
	sl->result = sl->k->finish(c, sl, result);
	record_done(c);
	sl->finished = 1;
	/* The handler may leave by siglongjmp, which in musl drops no cancellation
	 * handler. */
	cancel_end(&sl->scope);
	sl->scope.active = 0;
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

/*
 * A waker died: taking the lock repairs what it left, and then shows whether we
 * are still queued. If the object is gone, the waker died while removing it, and
 * others may still be queued there: we, woken by its death, finish the removal.
 */
static void after_waker_death(struct caller *c, struct sleeper *sl)
{
	struct waiter *w = wait_own(c);
	int removed;

	sl->k->lock(c, sl->slot);
	wait_recheck(c, w);
	removed = atom_load_acquire(&sl->slot->ident) != w->ident;
	lock_release(c, &sl->slot->lock);
	if (!removed || !sl->k->finish_removal)
		return;
	sl->k->finish_removal(c);
	/* Still queued after that: the queue was damaged, no waker will
	 * come. */
	sl->k->lock(c, sl->slot);
	if (w->state == WAIT_QUEUED) {
		atom_store_release((u32 *)&w->result, (u32)-EIDRM);
		atom_store_release(&w->state, WAIT_DONE);
		wait_dequeued(c, w);
	}
	lock_release(c, &sl->slot->lock);
}

/* In case the kernel has not marked the lock, check whether its owner exists. A
 * tid that has been in our word for long may be that of a waker that died
 * unmarked. */
int sleep_pending(const struct caller *c, const struct slot *s, u64 ident)
{
	u32 word = atom_load_acquire(&s->lock.word);

	return (word & SYS_OWNER_DIED) ||
	       (atom_load_relaxed(&wait_own(c)->word) & SYS_TID_MASK) ||
	       atom_load_acquire(&s->ident) != ident ||
	       lock_owner_gone(c, &s->lock, word);
}

/* One sleep; as wait_sleep. */
static int sleep_once(struct caller *c, struct sleeper *sl)
{
	struct waiter *w = wait_own(c);
	int err;

	set_timer_if_unmarked(c, sl);
	if (sl->k->restart)
		return wait_sleep_restart(
			c, w, sl->deadline, sl->slice_ns, 1, &sl->scope);
	cancel_allow(&sl->scope);
	err = wait_sleep(
		c, w, sl->deadline_ns, sl->slice_ns, sl->first, sl->watch);
	cancel_deny(&sl->scope);
	sl->first = WAIT_FIRST_NOTHING;
	return err;
}

static s32 restart_of(const struct sleeper *sl)
{
	return sl->k->restart ? sl->k->restart : SLEEP_ANEW;
}

/* The sleep ended with err: must we take the object's lock and recheck? */
static int must_recheck(
	const struct caller *c, const struct sleeper *sl, int err)
{
	const struct waiter *w = wait_own(c);

	if (err == -EINTR || err == -ERESTART)
		return atom_load_acquire(&w->word) == WAIT_WORD_RECHECK;
	return err == -EOWNERDEAD ||
	       (err == -EAGAIN && sleep_pending(c, sl->slot, w->ident));
}

static void sleep_loop(struct caller *c, struct sleeper *sl)
{
	int err;

	while (!sl->finished) {
		err = sleep_once(c, sl);
		if (sl->finished || err == 0)
			break;
		section_begin(c);
		if (must_recheck(c, sl, err))
			after_waker_death(c, sl);
		if (err == -EINTR && sl->k->signalled)
			sl->k->signalled(c, sl);
		if (err != -EOWNERDEAD && err != -EAGAIN)
			/* Stopped and continued: the kernel restarts the whole
			 * call, with a new access check at the queue's end. */
			leave_queue(
				c, sl, err == -ERESTART ? restart_of(sl) : err);
		else if (sl->k->recheck)
			sl->k->recheck(c, sl);
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

s32 sleep_run(struct caller *c, struct sleeper *sl)
{
	struct waiter *w = wait_own(c);

	if (atom_load_acquire(&w->word) == WAIT_WORD_DONE) {
		;
	} else if (sl->cancellable) {
		section_begin(c);
		cancel_begin(&sl->scope, cancelled, sl);
		section_end(c);
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
