// SPDX-License-Identifier: MIT
/*
 * Sleeping senders and receivers (KERNEL-SEMANTICS §7.6, §1.9).
 *
 * The structure is that of semop.c: a sleeper's record stands in a queue of the
 * object, the waker performs its operation and grants; a handler of the host
 * runs only after the sleeper has left the queue. Two things differ: a handler
 * with SA_RESTART begins the call again, and a cancelled thread gives back what
 * it was handed meanwhile.
 *
 * Order: by scheduling priority at the time of falling asleep, then arrival.
 * To ask for it costs two system calls, and it matters only to the second
 * sleeper; so the first leaves its own open (SCHED_UNKNOWN), and who comes
 * behind it asks for both.
 */
#include "ipc/mqueue.h"
#include "registry/cancel.h"

#define F_GETFL 3
#define SA_RESTART 0x10000000UL
#define SCHED_UNKNOWN 0u
/* sched_prio: 1 deadline, 2..100 real-time 99..1, 101..140 nice -20..19. */
#define SCHED_RT_BASE 101u
#define SCHED_NICE_BASE 121

/* ---- queues ---- */

void mq_waiter_remove(struct caller *c, struct wait_queue *queue,
	struct waiter *w, s32 result)
{
	if (w->prev)
		journal_set32(c, &wait_at(c, w->prev)->next, w->next);
	else
		journal_set32(c, &queue->head, w->next);
	if (w->next)
		journal_set32(c, &wait_at(c, w->next)->prev, w->prev);
	else
		journal_set32(c, &queue->tail, w->prev);
	journal_set32(c, (u32 *)&w->result, result);
	journal_set32(c, &w->state, WAIT_DONE);
}

struct waiter *mq_first_waiter(struct caller *c, struct wait_queue *queue)
{
	struct waiter *w;

	while ((w = wait_at(c, queue->head)) && wait_dead(w)) {
		mq_waiter_remove(c, queue, w, -EINTR);
		journal_commit(c);
	}
	return w;
}

static u32 sched_prio_of(u32 tid)
{
	int policy = sys_call(__NR_sched_getscheduler, tid), rt = 0;
	int nice;

	if (policy == 6)
		return 1;
	if (policy == 1 || policy == 2) {
		sys_call(__NR_sched_getparam, tid, &rt);
		return SCHED_RT_BASE - rt;
	}
	nice = 20 - (int)sys_call(__NR_getpriority, 0, tid);
	return SCHED_NICE_BASE + nice;
}

static u32 sched_prio_at(struct caller *c, u32 idx)
{
	struct waiter *w = wait_at(c, idx);

	if (w->sched_prio == SCHED_UNKNOWN)
		atom_store_release(&w->sched_prio,
			sched_prio_of(region_thread(&c->region, idx)->tid));
	return w->sched_prio;
}

/* Part of the current operation. */
static void queue_insert(
	struct caller *c, struct wait_queue *queue, struct waiter *w)
{
	u32 idx = wait_index(c, w), behind = queue->tail, before;

	atom_store_release(&w->sched_prio, SCHED_UNKNOWN);
	if (behind)
		atom_store_release(&w->sched_prio, sched_prio_of(c->tid));
	while (behind && sched_prio_at(c, behind) > w->sched_prio)
		behind = wait_at(c, behind)->prev;
	before = behind ? wait_at(c, behind)->next : queue->head;
	atom_store_release(&w->prev, behind);
	atom_store_release(&w->next, before);
	if (behind)
		journal_set32(c, &wait_at(c, behind)->next, idx);
	else
		journal_set32(c, &queue->head, idx);
	if (before)
		journal_set32(c, &wait_at(c, before)->prev, idx);
	else
		journal_set32(c, &queue->tail, idx);
	journal_set32(c, &w->state, WAIT_QUEUED);
}

/* ---- the sleep ---- */

/* On the sleeper's stack: where the outcome goes if a handler of the host runs
 * (and perhaps never returns) while it sleeps. */
struct sleep_state {
	struct caller *c;
	const struct mq_desc *d;
	struct mq_msg *msg; /* of a receiver, else NULL */
	char *small;
	int finished;
	s32 result;
	struct cancel_scope scope;
};

static struct wait_queue *queue_of(struct mqueue *q, int receiving)
{
	return receiving ? &q->receivers : &q->senders;
}

/* Leave the queue with `result` unless somebody was faster; the waiter's own
 * result is then final. */
static s32 leave_queue(struct sleep_state *st, s32 result)
{
	struct caller *c = st->c;
	struct waiter *w = wait_own(c);
	struct mqueue *q;

	mq_lock_any(c, st->d->s);
	q = mq_body(c, st->d->s);
	if (w->state == WAIT_QUEUED && q) {
		mq_waiter_remove(c, queue_of(q, st->msg != NULL), w, result);
		journal_commit(c);
		atom_store_release(&w->word, WAIT_WORD_DONE);
	}
	lock_release(c, &st->d->s->lock);
	wait_settle(w);
	return w->result;
}

static void finish(struct sleep_state *st, s32 result)
{
	struct waiter *w = wait_own(st->c);

	st->c->interrupt = NULL;
	st->result = leave_queue(st, result);
	wait_end(st->c, w);
	atom_store_release(&w->word, WAIT_WORD_DONE);
	st->finished = 1;
}

/* A receiver was handed a message: out of the own block with it, if it is
 * small, else (now) all the way to where it belongs. */
static void take_message(struct sleep_state *st, int now)
{
	struct caller *c = st->c;
	struct mq_msg *m = st->msg;

	m->len = st->result;
	m->prio = wait_own(c)->msg_prio;
	m->small = NULL;
	if (m->len <= MQ_COPY_MAX) {
		__builtin_memcpy(st->small, mq_own_bytes(c), m->len);
		m->small = st->small;
	} else if (now) {
		mq_deliver(c, m);
	}
	st->result = 0;
}

/* caller.interrupt: a handler is about to run in this thread. What was handed
 * over before is kept, and out of the handler's way. */
static void interrupt_sleep(struct caller *c)
{
	struct sleep_state *st = c->interrupt_arg;

	cancel_deny(&st->scope);
	section_begin(c);
	finish(st, c->signal_flags & SA_RESTART ? -MQ_ERESTART : -EINTR);
	if (st->msg && st->result >= 0)
		take_message(st, 1);
	section_end(c);
}

/* The thread is cancelled in its sleep. musl calls us with the stack as the
 * cancel signal found it, which may be off by eight. */
static __attribute__((force_align_arg_pointer)) void cancelled(void *arg)
{
	struct sleep_state *st = arg;
	struct caller *c = st->c;

	section_begin(c);
	if (!st->finished) {
		finish(st, -EINTR);
		if (st->msg && st->result >= 0)
			mq_put_back(
				c, st->d, st->result, wait_own(c)->msg_prio);
	}
	section_end(c);
}

/* The waker of our grant died: the lock's recovery has decided. */
static void after_waker_death(struct sleep_state *st)
{
	struct waiter *w = wait_own(st->c);

	mq_lock_any(st->c, st->d->s);
	atom_store_release(
		&w->word, w->state == WAIT_QUEUED ? 0 : WAIT_WORD_DONE);
	lock_release(st->c, &st->d->s->lock);
}

static s32 sleep_queued(
	struct sleep_state *st, const struct sys_timespec *timeout, int spin)
{
	struct caller *c = st->c;
	struct waiter *w = wait_own(c);
	int err;

	cancel_begin(&st->scope, cancelled, st);
	section_end(c);
	while (!st->finished) {
		err = wait_sleep_restart(c, w, timeout, spin, &st->scope);
		spin = 0;
		if (st->finished || err == 0)
			break;
		section_begin(c);
		if (err == -EOWNERDEAD)
			after_waker_death(st);
		else
			leave_queue(st, err);
		section_end(c);
	}
	section_begin(c);
	cancel_end(&st->scope);
	c->interrupt = NULL;
	if (!st->finished) {
		st->result = w->result;
		wait_end(c, w);
		if (st->msg && st->result >= 0)
			take_message(st, 0);
	}
	return st->result;
}

/* The partner of the last hand-over ran on another CPU than ours: worth
 * spinning. Only wakers store theirs (mqio.c). */
static int should_spin(const struct mqueue *q)
{
	return q->cpu[0] != sys_cpu();
}

/* Slot lock held and released. */
static s32 sleep_in(struct sleep_state *st, struct mqueue *q,
	const struct sys_timespec *timeout)
{
	struct caller *c = st->c;
	struct waiter *w = wait_own(c);
	struct slot *s = st->d->s;
	int spin;

	w->slot_idx = s - region_slot(&c->region, FAC_MQ, 0);
	w->facility = FAC_MQ;
	w->kind = st->msg != NULL;
	w->pid = c->pid;
	w->ident = st->d->ident;
	w->stamp = atom_add(&caller_header(c)->stamp, 1);
	w->since = sys_realtime_sec();
	wait_begin(c, w);
	queue_insert(c, queue_of(q, st->msg != NULL), w);
	journal_commit(c);
	spin = should_spin(q);
	c->interrupt_arg = st;
	c->interrupt = interrupt_sleep;
	lock_release(c, &s->lock);
	return sleep_queued(st, timeout, spin);
}

/* What a call that cannot go on returns instead of sleeping, or 0. */
static int may_sleep(
	const struct mq_desc *d, const struct sys_timespec *timeout)
{
	long flags = sys_call(__NR_fcntl, d->fd, F_GETFL);
	s64 now;

	if (flags < 0)
		return -EBADF;
	if (flags & MQ_O_NONBLOCK)
		return -EAGAIN;
	if (!timeout)
		return 0;
	now = sys_realtime_ns();
	if (timeout->sec < now / 1000000000 ||
		(timeout->sec == now / 1000000000 &&
			timeout->nsec <= now % 1000000000))
		return -ETIMEDOUT;
	return 0;
}

int mq_sleep_send(struct caller *c, const struct mq_desc *d,
	const struct mq_msg *m, const struct sys_timespec *timeout)
{
	struct sleep_state st = {.c = c, .d = d};
	struct mqueue *q = mq_body(c, d->s);
	int err = may_sleep(d, timeout);

	if (!err)
		err = mq_own_block(c, m->len);
	if (err)
		return err;
	if (m->small)
		__builtin_memcpy(mq_own_bytes(c), m->small, m->len);
	err = mq_lock(c, d);
	if (err)
		return err;
	err = mq_try_send(c, d, q, m);
	if (err != BLOCKED) {
		lock_release(c, &d->s->lock);
		return err;
	}
	wait_own(c)->msg_len = m->len;
	wait_own(c)->msg_prio = m->prio;
	return sleep_in(&st, q, timeout);
}

int mq_sleep_receive(struct caller *c, const struct mq_desc *d,
	struct mq_msg *ret, char *small, const struct sys_timespec *timeout)
{
	struct sleep_state st = {.c = c, .d = d, .msg = ret, .small = small};
	struct mqueue *q = mq_body(c, d->s);
	int err = may_sleep(d, timeout);

	if (!err)
		err = mq_own_block(c, MQ_COPY_MAX);
	if (!err)
		err = mq_lock(c, d);
	if (err)
		return err;
	err = mq_try_receive(c, d, q, ret, small);
	if (err != BLOCKED) {
		lock_release(c, &d->s->lock);
		return err;
	}
	return sleep_in(&st, q, timeout);
}
