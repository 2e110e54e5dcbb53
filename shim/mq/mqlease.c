// SPDX-License-Identifier: MIT
/*
 * What is received from a POSIX queue and not acknowledged; see mqlease.h.
 *
 * A message that comes back is put before all of its priority but those that
 * came back before it and are older: their records, in state LEASE_BACK, say
 * which those are as long as they are in the queue.
 *
 * Keeps INV_LEASE (inspect/check.h).
 */
#include "mq/mqlease.h"
#include "base/copy.h"
#include "object/perm.h"

/* Bytes copied in one hold of the lock: some microseconds. Arbitrary. */
#define FETCH_SLICE 32768u

/* ---- the end of a lease ---- */

/* It is acknowledged. An operation of its own; mqlease_settle follows. */
static void end(struct caller *c, struct mqueue *q, struct ref *at)
{
	struct lease *l = lease_at(c, *at);

	if (lease_is_own(c, l))
		journal_set32(c, &l->state, LEASE_READY);
	else
		lease_free(c, &q->leases, at);
	if (l->data.off && l->cap > HEAP_OWN_MOST)
		heap_leave(c, l->cap, &l->data);
	journal_commit(c);
	/* The thread had one already. */
	if (l->data.off && l->cap > HEAP_OWN_MOST)
		heap_free_at(c, l->cap, &l->data);
}

/* The youngest of those in the queue again that are of its priority, and older;
 * its item, or 0. */
static u32 find_before(
	struct caller *c, struct mqueue *q, const struct lease *l)
{
	struct ref *at = &q->leases.used;
	const struct lease *o, *best = NULL;
	struct walk w = {0};

	for (; (o = lease_step(c, &w, *at)); at = (struct ref *)&o->next)
		if (o->state == LEASE_BACK && o->prio == l->prio &&
			o->stamp < l->stamp &&
			(!best || o->stamp > best->stamp))
			best = o;
	return best ? best->item : 0;
}

static void swap_data(
	struct caller *c, struct lease *l, struct ref *data, u64 *cap)
{
	struct prio_block was = {*data, *cap};

	journal_set_ref(c, data, l->data);
	journal_set64(c, cap, l->cap);
	journal_set_ref(c, &l->data, was.data);
	journal_set64(c, &l->cap, was.cap);
}

static void bytes_in(struct caller *c, struct mqueue *q, struct lease *l,
	struct prio_place *at)
{
	struct prio_block *block = (struct prio_block *)(void *)at->data;
	u32 len = atom_load_relaxed(&l->len);

	if (q->msgs.inline_data) {
		if (len > q->msgs.inline_data || len > MQ_COPY_MAX)
			damage_met(c);
		else if (len)
			copy_bytes(at->data, ref_must(c, l->data), len);
		return;
	}
	swap_data(c, l, &block->data, &block->cap);
}

/* The record of a sleeper that leases what it gets, or NULL. */
static struct lease *lease_of_waiter(struct caller *c, const struct waiter *w)
{
	const struct thread *th = region_thread(&c->region, wait_index(c, w));
	struct lease *l = lease_at(c, w->lease_mq);

	return l && l->state == LEASE_READY && l->tid == th->tid &&
			       ref_at(c, l->data)
		       ? l
		       : NULL;
}

struct waiter *mqlease_next_waiter(struct caller *c, struct mqueue *q)
{
	struct waiter *w;

	while ((w = mq_next_waiter(c, &q->receivers)) &&
		unlikely(w->lease_mq.off) && !lease_of_waiter(c, w)) {
		mq_waiter_remove(c, &q->receivers, w, -MQ_ERESTART);
		wait_grant(c, w);
		journal_commit(c);
	}
	return w;
}

/* To a sleeper, whose own it is from then on, in its old place in the order. An
 * operation of its own. */
static void give_on(
	struct caller *c, struct mqueue *q, struct ref *at, struct waiter *w)
{
	struct lease *l = lease_at(c, *at), *to = lease_of_waiter(c, w);
	u32 len = atom_load_relaxed(&l->len);

	if (len && len <= MQ_COPY_MAX)
		copy_bytes(ref_must(c, w->ext), ref_must(c, l->data), len);
	else if (len && !to)
		swap_data(c, l, &w->ext, &w->ext_cap);
	if (to) {
		swap_data(c, l, &to->data, &to->cap);
		journal_set32(c, &to->len, len);
		journal_set32(c, &to->prio, l->prio);
		lease_hold(c, to, l->stamp);
	}
	atom_store_release(&w->msg_prio, l->prio % MQ_N_PRIOS);
	mq_waiter_remove(c, &q->receivers, w, (s32)len);
	lease_free(c, &q->leases, at);
	wait_grant(c, w);
	journal_commit(c);
}

/* The message goes to who sleeps for one, or back into the queue. 1; 0 where
 * there is no place for it yet: it stays. Operations of their own. */
static int put_back(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	struct ref *ref)
{
	struct lease *l = lease_at(c, *ref);
	u32 n = prioq_count(&q->msgs), prio = l->prio % MQ_N_PRIOS, idx, before;
	struct waiter *w = mqlease_next_waiter(c, q);
	struct prio_place at;
	int tell = 0;

	if (l->len > q->msgsize || l->len > MQ_HARD_MSGSIZE ||
		(l->len && (l->cap < l->len || !ref_at(c, l->data))))
		return 0;
	if (w) {
		give_on(c, q, ref, w);
		return 1;
	}
	if (prioq_reserve(c, &q->msgs, prio))
		return 0;
	idx = prioq_item_alloc(c, &q->msgs);
	at = prioq_place(c, &q->msgs, idx);
	bytes_in(c, q, l, &at);
	atom_store_release(&at.item->len, l->len);
	before = find_before(c, q, l);
	if (before)
		prioq_insert_behind(c, &q->msgs, idx, l->len, prio, before);
	else
		prioq_insert_len(c, &q->msgs, idx, l->len, prio, 1);
	journal_set32(c, &l->item, idx);
	journal_set32(c, &l->state, LEASE_BACK);
	if (unlikely(c->damaged)) {
		damage_abort(c);
		return 0;
	}
	mq_raise(c, q, d, n + 1);
	if (!n && q->notify.state == MQ_NOTIFY_ARMED)
		tell = mq_notify_fire(c, q);
	journal_commit(c);
	mq_settle(c, q, d);
	if (tell)
		mq_notify_tell(c, q);
	return 1;
}

struct ends_of {
	const struct mq_desc *d;
	struct mqueue *q;
};

static void end_one(struct caller *c, void *arg, struct ref *at)
{
	end(c, ((struct ends_of *)arg)->q, at);
}

static int put_one_back(struct caller *c, void *arg, struct ref *at)
{
	const struct ends_of *of = arg;

	return put_back(c, of->d, of->q, at);
}

static u32 walk(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	lease_decide *decide, enum task_look look)
{
	static const struct lease_ends ends = {end_one, put_one_back};
	struct ends_of of = {d, q};

	return lease_walk(c, &q->leases, decide, look, &ends, &of);
}

void mqlease_begin(struct caller *c, const struct mq_desc *d, struct mqueue *q)
{
	if (!q->leases.used.off)
		return;
	if (!c->lease_batch)
		walk(c, d, q, lease_own, TASK_LOOK_NOT);
	walk(c, d, q, lease_orphans, TASK_LOOK_NOT);
}

u32 mqlease_reclaim(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	enum task_look look)
{
	return q->leases.used.off ? walk(c, d, q, lease_orphans, look) : 0;
}

/* ---- receiving ---- */

struct lease *mqlease_ready(struct caller *c, struct mqueue *q)
{
	return lease_ready(c, &q->leases, &q->leasing, MQ_COPY_MAX);
}

void mqlease_taken(struct caller *c, struct mqueue *q, u32 idx, struct lease *l)
{
	struct ref *at = &q->leases.used;
	struct walk w = {0};
	struct lease *o;

	for (; (o = lease_step(c, &w, *at)); at = &o->next)
		if (o->state == LEASE_BACK && o->item == idx) {
			if (l)
				journal_set64(c, &l->stamp, o->stamp);
			lease_free(c, &q->leases, at);
			break;
		}
	if (l)
		c->lease_stamp = l->stamp;
}

void mqlease_hold(struct caller *c, struct mqueue *q, struct lease *l,
	const struct mq_msg *m)
{
	if (m->small && m->len)
		copy_bytes(ref_must(c, l->data), m->small, m->len);
	journal_set32(c, &l->len, m->len);
	journal_set32(c, &l->prio, m->prio);
	lease_hold(c, l, ++q->leases.stamp);
}

/* Where the record stands, if it is what this thread has; or NULL. */
static struct ref *find_held(struct caller *c, struct mqueue *q, u64 record)
{
	struct ref *at = &q->leases.used;
	struct walk w = {0};
	struct lease *l;

	for (; (l = lease_step(c, &w, *at)); at = &l->next)
		if (at->off == record)
			return l->state == LEASE_HELD && lease_is_own(c, l)
				       ? at
				       : NULL;
	return NULL;
}

int mqlease_fetch(
	struct caller *c, const struct mq_desc *d, u64 record, u32 len)
{
	int err = len <= MQ_HARD_MSGSIZE ? mq_own_block(c, len) : -EIO;
	const struct lease *l;
	const struct ref *at;
	const char *from;
	u32 done = 0, n;

	if (err) {
		mqlease_give_back(c, d, record);
		return err;
	}
	for (; !err && done < len; done += n) {
		err = mq_lock(c, d);
		if (err)
			return err;
		at = find_held(c, mq_body(c, d->s), record);
		l = at ? lease_at(c, *at) : NULL;
		from = l && l->len == len
			       ? region_span(&c->region, l->data, len)
			       : NULL;
		n = len - done < FETCH_SLICE ? len - done : FETCH_SLICE;
		if (likely(from != NULL))
			copy_bytes(mq_own_bytes(c) + done, from + done, n);
		else
			err = -EIO;
		if (unlikely(c->damaged))
			err = damage_abort(c);
		lock_release(c, &d->s->lock);
	}
	return err;
}

void mqlease_give_back(struct caller *c, const struct mq_desc *d, u64 record)
{
	struct mqueue *q;
	struct ref *at;

	if (mq_lock(c, d))
		return;
	q = mq_body(c, d->s);
	at = find_held(c, q, record);
	if (at)
		put_back(c, d, q, at);
	lock_release(c, &d->s->lock);
	mqlease_settle(c);
}

/* ---- from outside ---- */

/* One queue's records by `decide`, LEASE_MOST that go back in a hold of the
 * lock; 0, or what mq_enter or mq_lock says. */
static int settle(
	struct caller *c, const struct mq_desc *d, lease_decide *decide)
{
	int err = mq_enter(c);
	u32 n_back = 0;

	do {
		section_begin(c);
		if (!err)
			err = mq_lock(c, d);
		if (!err) {
			n_back = walk(
				c, d, mq_body(c, d->s), decide, TASK_LOOK_NOW);
			lock_release(c, &d->s->lock);
			mqlease_settle(c);
		}
		section_end(c);
	} while (!err && n_back == LEASE_MOST);
	return err;
}

void mqlease_polled(struct caller *c, const struct mq_desc *d)
{
	const struct mqueue *q = mq_body(c, d->s);

	if (q && unlikely(atom_load_relaxed(&q->leases.used.off)))
		settle(c, d, lease_orphans);
}

int mq_acknowledge(struct caller *c, const struct mq_desc *d)
{
	return settle(c, d, lease_own);
}

int mq_give_back(struct caller *c, const struct mq_desc *d)
{
	return settle(c, d, lease_return);
}

static void each_queue(struct caller *c, lease_decide *decide)
{
	u32 idx = 0;

	for (; (idx = ids_next(c, FAC_MQ, idx)) < IDX_MAX; idx++) {
		struct mq_desc d = {.fd = -1};
		const struct mqueue *q;

		d.s = region_slot(&c->region, FAC_MQ, idx);
		d.ident = atom_load_acquire(&d.s->ident);
		q = d.ident & IDENT_LIVE ? mq_body(c, d.s) : NULL;
		if (q && atom_load_relaxed(&q->leases.used.off))
			settle(c, &d, decide);
	}
}

void mq_acknowledge_all(struct caller *c)
{
	each_queue(c, lease_ours);
}

void mq_leases_reclaim(struct caller *c)
{
	each_queue(c, lease_orphans);
}

int mq_set_leasing(struct caller *c, const struct mq_desc *d, int on)
{
	struct waiter *w;
	struct mqueue *q;
	int err = perm_owner_file(c, d->s) ? mq_enter(c) : -EPERM;

	if (!err)
		err = mq_lock(c, d);
	if (err)
		return err;
	q = mq_body(c, d->s);
	journal_set32(c, &q->leasing,
		on ? q->leasing | LEASES_ON : q->leasing & ~LEASES_ON);
	journal_commit(c);
	/* Who sleeps has no record, or one too many, and begins its call again.
	 */
	while ((w = mq_next_waiter(c, &q->receivers))) {
		mq_waiter_remove(c, &q->receivers, w, -MQ_ERESTART);
		wait_grant(c, w);
		journal_commit(c);
	}
	lock_release(c, &d->s->lock);
	return 0;
}
