// SPDX-License-Identifier: MIT
/*
 * Sleeping senders and receivers (doc/kernel-semantics.md §7.6, §1.9).
 *
 * The sleep itself is that of sleep.h: the waker performs the sleeper's operation
 * and grants it. After a handler with SA_RESTART the call restarts, and a
 * cancelled thread puts back the message that it was handed meanwhile.
 *
 * Order: by scheduling priority at the time of falling asleep, then by arrival.
 * To read the priority costs a system call, and it matters only from the second
 * sleeper on; so the first leaves its own as SCHED_UNKNOWN, and the one after it
 * reads both.
 */
#include <linux/fcntl.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include "base/copy.h"
#include "base/usdt.h"
#include "mq/mqlease.h"
#include "object/sleep.h"

#define SCHED_UNKNOWN 0u
/* sched_prio: 1 deadline, 2..100 real-time 99..1, 101..140 nice -20..19. */
#define SCHED_RT_BASE 101u
#define SCHED_NICE_BASE 121u

/* ---- queues ---- */

void mq_waiter_remove(struct caller *c, struct wait_queue *queue,
	struct waiter *w, s32 result)
{
	if (w->prev)
		journal_set32(c, &wait_must(c, w->prev)->next, w->next);
	else
		journal_set32(c, &queue->head, w->next);
	if (w->next)
		journal_set32(c, &wait_must(c, w->next)->prev, w->prev);
	else
		journal_set32(c, &queue->tail, w->prev);
	journal_set32(c, (u32 *)&w->result, result);
	journal_set32(c, &w->state, WAIT_DONE);
}

struct waiter *mq_first_waiter(struct caller *c, struct wait_queue *queue)
{
	struct waiter *w;

	while ((w = wait_at(c, queue->head))) {
		/* A queued waiter has state QUEUED; else the queue is damaged,
		 * and the rest of it lost. */
		if (unlikely(w->state != WAIT_QUEUED)) {
			journal_set32(c, &queue->head, 0);
			journal_set32(c, &queue->tail, 0);
			journal_commit(c);
			return NULL;
		}
		if (likely(!wait_dead(w)))
			break;
		mq_waiter_remove(c, queue, w, -EINTR);
		journal_commit(c);
	}
	return w;
}

/* An ordinary thread's at nice 0, if the kernel does not say. */
static u32 sched_prio_of(u32 tid)
{
	struct sched_attr a = {0};

	sys_call(__NR_sched_getattr, tid, &a, sizeof(a), 0);
	if (a.sched_policy == SCHED_DEADLINE)
		return 1;
	if (a.sched_policy == SCHED_FIFO || a.sched_policy == SCHED_RR)
		return SCHED_RT_BASE - a.sched_priority;
	return SCHED_NICE_BASE + (u32)a.sched_nice;
}

static u32 sched_prio_at(struct caller *c, u32 idx)
{
	struct waiter *w = wait_must(c, idx);

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
	struct walk walk = {0};

	atom_store_release(&w->sched_prio, SCHED_UNKNOWN);
	if (behind)
		atom_store_release(&w->sched_prio, sched_prio_of(c->tid));
	while (behind && sched_prio_at(c, behind) > w->sched_prio &&
		walk_goes_on(c, &walk, behind))
		behind = wait_must(c, behind)->prev;
	before = behind ? wait_must(c, behind)->next : queue->head;
	atom_store_release(&w->prev, behind);
	atom_store_release(&w->next, before);
	if (behind)
		journal_set32(c, &wait_must(c, behind)->next, idx);
	else
		journal_set32(c, &queue->head, idx);
	if (before)
		journal_set32(c, &wait_must(c, before)->prev, idx);
	else
		journal_set32(c, &queue->tail, idx);
	journal_set32(c, &w->state, WAIT_QUEUED);
}

/* ---- the sleep ---- */

/* msg: what a receiver gets; NULL of a sender. */
struct mq_sleep {
	struct sleeper sl; /* first */
	const struct mq_desc *d;
	struct mq_msg *msg;
};

static struct wait_queue *queue_of(struct mqueue *q, u32 kind)
{
	return kind == USER_RECEIVER ? &q->receivers : &q->senders;
}

static void class_remove(
	struct caller *c, struct slot *s, struct waiter *w, s32 result)
{
	struct mqueue *q = mq_body(c, s);

	if (q)
		mq_waiter_remove(c, queue_of(q, w->kind), w, result);
}

/* A receiver was handed a message: copy it from the thread's own block to the
 * application's buffer. */
static s32 class_finish(struct caller *c, struct sleeper *sl, s32 result)
{
	struct mq_msg *m = ((struct mq_sleep *)sl)->msg;

	if (result < 0 || !m)
		return result;
	m->len = result;
	m->prio = wait_own(c)->msg_prio;
	m->small = NULL;
	if (unlikely(wait_own(c)->lease_mq.off)) {
		s32 err = mqlease_handed(c, ((struct mq_sleep *)sl)->d,
			wait_own(c)->lease_mq, m->len);

		if (err)
			return err;
	}
	mq_deliver(c, m);
	return 0;
}

static void class_abandon(struct caller *c, struct sleeper *sl, s32 result)
{
	struct mq_sleep *ms = (struct mq_sleep *)sl;

	if (result >= 0 && ms->msg && unlikely(wait_own(c)->lease_mq.off))
		mqlease_give_back(c, ms->d, wait_own(c)->lease_mq.off);
	else if (result >= 0 && ms->msg)
		mq_put_back(c, ms->d, result, wait_own(c)->msg_prio);
	mq_own_trim(c, 0);
}

/* The slice is over. In a queue with leases: has a process that holds one
 * exited? */
static void class_recheck(struct caller *c, struct sleeper *sl)
{
	const struct mq_sleep *ms = (const struct mq_sleep *)sl;
	struct mqueue *q = mq_body(c, sl->slot);

	if (!ms->msg || !q || !mqlease_concerns(c, q))
		return;
	task_check_lifeline(c);
	if (mq_lock(c, ms->d))
		return;
	mqlease_reclaim(c, ms->d, q, TASK_LOOK);
	lock_release(c, &sl->slot->lock);
	mqlease_settle(c);
}

const struct sleep_class mq_sleep_class = {
	.lock = mq_lock_any,
	.remove = class_remove,
	.recheck = class_recheck,
	.finish = class_finish,
	.abandon = class_abandon,
	.restart = -MQ_ERESTART,
};

struct waiter *mq_next_waiter(struct caller *c, struct wait_queue *queue)
{
	struct waiter *w;

	while ((w = mq_first_waiter(c, queue)) &&
		unlikely(wait_stopped(c, w))) {
		mq_waiter_remove(c, queue, w, mq_sleep_class.restart);
		wait_grant(c, w);
		journal_commit(c);
	}
	return w;
}

/* Slot lock held and released. */
static s32 sleep_in(struct caller *c, struct mqueue *q, struct mq_sleep *ms,
	const struct sys_timespec *timeout, const struct lease *l)
{
	u64 slice = sleep_slice(
		!queue_of(q, ms->msg ? USER_RECEIVER : USER_SENDER)->head);
	struct waiter *w = wait_own(c);
	struct slot *s = ms->d->s;
	u32 note = lease_keep(c) + 1;
	s32 result;

	ms->sl.k = &mq_sleep_class;
	ms->sl.slot = s;
	ms->sl.deadline = timeout;
	ms->sl.cancellable = 1;
	ms->sl.stay = 1;
	w->slot_idx = region_slot_idx(&c->region, FAC_MQ, s);
	w->facility = FAC_MQ;
	w->kind = ms->msg ? USER_RECEIVER : USER_SENDER;
	w->pid = c->pid;
	w->ident = ms->d->ident;
	w->stamp = atom_add(&caller_header(c)->stamp, 1);
	w->since = sys_realtime_sec();
	w->lease_mq.off = l ? region_off(&c->region, l) : 0;
	if (unlikely(q->leasing) && ms->msg)
		slice = LEASE_SLICE_NS;
	sleep_slice_set(c, &ms->sl, slice);
	wait_begin(c, w);
	queue_insert(c, queue_of(q, w->kind), w);
	journal_commit(c);
	sleep_arm(c, &ms->sl);
	lock_release(c, &s->lock);
	section_end(c);
	USDT2(mq_wait, w->slot_idx, !ms->msg);
	result = sleep_run(c, &ms->sl);
	USDT2(mq_granted, w->slot_idx, result);
	/* The lease is delivered (object/lease.h). */
	lease_note_end(c, FAC_MQ, note);
	/* Whoever closed the last descriptor meanwhile found us asleep here, and
	 * left the removal to us. While our own number is still the queue's there
	 * is none to be made: so this spares us the facility's lock. */
	if (unlikely(atom_load_relaxed(&q->unlinked)) &&
		mq_number_changed(c, ms->d))
		mq_closed(c, ms->d);
	return result;
}

/* ---- spinning before the sleep ---- */

static int poll_some(u64 count, u64 arg)
{
	return PRIOQ_N(count) > arg;
}
static int poll_space(u64 count, u64 arg)
{
	return PRIOQ_N(count) < arg;
}

/* If the partner runs on another CPU, spin for a while. No lock is held: what is
 * read is a hint. */
static void try_spin(
	struct caller *c, struct spin *spin, const struct mqueue *q, u32 kind)
{
	struct sleep_poll poll = {&q->msgs.count,
		atom_load_relaxed(&q->msgs.count), poll_some, 0, 0};

	if (!users_elsewhere(c, &q->users))
		return;
	if (kind == USER_SENDER) {
		poll.enough = poll_space;
		poll.arg = q->maxmsg;
	}
	if (!poll.enough(poll.seen, poll.arg) &&
		spin_begin(spin, atom_load_relaxed(&q->users.spin[0])))
		sleep_spin(spin, &poll);
}

/* Under the lock: note whether the spin was worthwhile. */
static void note_spin(struct mqueue *q, struct spin *spin, int found)
{
	if (found)
		spin_found(spin);
	/* Something came, but another thread was faster. */
	else if (spin->spinning)
		spin->result = SPIN_FAILED;
	spin_note(&q->users.spin[0], spin->result);
}

/* What a call that cannot go on returns instead of sleeping, or 0. */
static int may_sleep(const struct caller *c, const struct mq_desc *d,
	const struct sys_timespec *timeout)
{
	long flags = sys_call(__NR_fcntl, d->fd, F_GETFL);
	s64 now;

	if (unlikely(mq_number_changed(c, d)))
		return -MQ_ERESTART;
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
	struct mq_sleep ms = {.d = d};
	struct mqueue *q = mq_body(c, d->s);
	struct spin spin = {0};
	int err = may_sleep(c, d, timeout);

	if (!err)
		err = mq_own_block(c, m->len);
	if (err)
		return err;
	if (m->small)
		copy_bytes(mq_own_bytes(c), m->small, m->len);
	if (unlikely(c->damaged))
		return damage_abort(c);
	try_spin(c, &spin, q, USER_SENDER);
	err = mq_lock(c, d);
	if (err)
		return err;
	err = mq_try_send(c, d, q, m);
	note_spin(q, &spin, err != BLOCKED);
	if (err != BLOCKED) {
		lock_release(c, &d->s->lock);
		mq_notify_end(c);
		return err;
	}
	wait_own(c)->msg_len = m->len;
	wait_own(c)->msg_prio = m->prio;
	return sleep_in(c, q, &ms, timeout, NULL);
}

/* The queue is empty: has a process exited that had messages on lease? If so
 * -MQ_ERESTART; else BLOCKED, with the record for a receiver that may sleep, or
 * -ENOMEM. */
static int lease_look(struct caller *c, const struct mq_desc *d,
	struct mqueue *q, int may, struct lease **ret)
{
	if (mqlease_reclaim(c, d, q, may ? TASK_LOOK_NOW : TASK_LOOK))
		return -MQ_ERESTART;
	if (may || !mqlease_wanted(c, q))
		return BLOCKED;
	*ret = mqlease_ready(c, q);
	return *ret ? BLOCKED : -ENOMEM;
}

/* may: 0, or what is returned instead of sleeping. */
static __attribute__((noinline)) int receive_asleep(struct caller *c,
	const struct mq_desc *d, struct mq_msg *ret, char *small, int may,
	const struct sys_timespec *timeout)
{
	struct mq_sleep ms = {.d = d, .msg = ret};
	struct lease *l = NULL;
	struct mqueue *q = mq_body(c, d->s);
	struct spin spin = {0};
	int err = 0;

	if (!may)
		err = mq_own_block(c, MQ_COPY_MAX);
	if (mqlease_concerns(c, q))
		task_check_lifeline(c);
	if (!may && !err)
		try_spin(c, &spin, q, USER_RECEIVER);
	if (!err)
		err = mq_lock(c, d);
	if (err)
		return err;
	/* Not noted yet if it only looked by way of the bias. */
	users_note(c, d->s, &q->users, USER_RECEIVER);
	/* Also for one that must not sleep: only under the lock it is certain
	 * that the queue is empty. */
	err = mq_try_receive(c, d, q, ret, small);
	note_spin(q, &spin, err != BLOCKED);
	if (err == BLOCKED && mqlease_concerns(c, q))
		err = lease_look(c, d, q, may, &l);
	if (err != BLOCKED || may) {
		lock_release(c, &d->s->lock);
		if (mqlease_concerns(c, q))
			mqlease_settle(c);
		return err == BLOCKED ? may : err;
	}
	/* So that there is an item for the message if this thread is cancelled
	 * after it was handed one (mq_put_back). */
	prioq_reserve(c, &q->msgs, 0);
	return sleep_in(c, q, &ms, timeout, l);
}

/* Programs often poll an empty queue with O_NONBLOCK: so nothing is set up for
 * the sleep before that is checked (a tenth of such a call). */
int mq_sleep_receive(struct caller *c, const struct mq_desc *d,
	struct mq_msg *ret, char *small, int looked,
	const struct sys_timespec *timeout)
{
	int may = may_sleep(c, d, timeout);

	if (may && looked && !mqlease_concerns(c, mq_body(c, d->s)))
		return may;
	return receive_asleep(c, d, ret, small, may, timeout);
}
