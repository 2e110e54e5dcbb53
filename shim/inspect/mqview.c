// SPDX-License-Identifier: MIT
/*
 * Reading POSIX message queues; see mqview.h.
 */
#include "inspect/mqview.h"
#include "inspect/waitview.h"

static s64 later(s64 a, s64 b)
{
	return a > b ? a : b;
}

static u32 count_waiters(struct caller *c, const struct wait_queue *q)
{
	const struct waiter *w;
	struct walk walk = {0};
	u32 n = 0;

	for (w = wait_at(c, q->head);
		w && walk_goes_on(c, &walk, wait_index(c, w));
		w = wait_at(c, w->next))
		n += !wait_dead(w);
	return n;
}

static void fill_notify(const struct mqueue *q, struct mq_view *ret)
{
	ret->notify_how = MQ_VIEW_NOBODY;
	if (q->notify.state != MQ_NOTIFY_ARMED)
		return;
	ret->notify_how = q->notify.how;
	ret->notify_pid = q->notify.pid;
	ret->notify_signo =
		q->notify.how == MQ_VIEW_SIGNAL ? q->notify.signo : 0;
}

/* The slot's lock is held. */
static void fill(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	struct mq_view *ret)
{
	const struct slot *s = d->s;
	u32 i;

	*ret = (struct mq_view){
		.desc = *d,
		.idx = region_slot_idx(&c->region, FAC_MQ, s),
		.unlinked = q->unlinked,
		.mode = s->mode,
		.uid = s->uid,
		.gid = s->gid,
		.maxmsg = q->maxmsg,
		.msgsize = q->msgsize,
		.curmsgs = prioq_count(&q->msgs),
		.qsize = prioq_bytes(&q->msgs),
		.charge = q->charge,
		.ruid = q->ruid,
		.n_receivers = count_waiters(c, &q->receivers),
		.n_senders = count_waiters(c, &q->senders),
		.atime = later(q->atime, q->mtime),
		.mtime = q->mtime,
		.ctime = later(q->ctime, q->mtime),
		.name_len =
			q->name_len <= MQ_NAME_MAX ? q->name_len : MQ_NAME_MAX,
	};
	for (i = 0; i < ret->name_len; i++)
		ret->name[i] = q->name[i];
	fill_notify(q, ret);
}

/* The queue in the slot: 1, or 0 if there is none (any more). */
static int view_slot(struct caller *c, struct slot *s, struct mq_view *ret)
{
	struct mq_desc d = {.s = s, .fd = -1};
	struct mqueue *q;

	d.ident = atom_load_acquire(&s->ident);
	if (!(d.ident & IDENT_LIVE) || mq_lock(c, &d))
		return 0;
	q = mq_body(c, s);
	if (q) {
		mq_notify_drop_dead(c, q);
		fill(c, &d, q, ret);
	}
	lock_release(c, &s->lock);
	return q != NULL;
}

int mq_view_next(struct caller *c, u32 *at, struct mq_view *ret)
{
	int err = caller_enroll(c);
	u32 idx;

	if (err)
		return err;
	while ((idx = ids_next(c, FAC_MQ, *at)) < IDX_MAX) {
		*at = idx + 1;
		if (view_slot(c, region_slot(&c->region, FAC_MQ, idx), ret))
			return 1;
	}
	return 0;
}

int mq_view_find(
	struct caller *c, const char *name, size_t len, struct mq_view *ret)
{
	struct mq_desc d;
	int err = mq_find_name(c, name, len, &d);

	if (err)
		return err == -ENOENT ? 0 : err;
	return view_slot(c, d.s, ret) && ret->desc.ident == d.ident;
}

/* The queue with its lock held. */
static int view_lock(
	struct caller *c, const struct mq_desc *d, struct mqueue **ret)
{
	int err = caller_enroll(c);

	if (!err)
		err = mq_lock(c, d);
	if (err)
		return err;
	*ret = mq_body(c, d->s);
	if (*ret)
		return 0;
	lock_release(c, &d->s->lock);
	return -EBADF;
}

/* The result, or the error of a damaged queue. */
static s32 view_unlock(struct caller *c, const struct mq_desc *d, u32 found)
{
	int err = c->damaged ? damage_abort(c) : 0;

	lock_release(c, &d->s->lock);
	return err ? err : (s32)found;
}

s32 mq_entries(
	struct caller *c, const struct mq_desc *d, struct mq_entry *ret, u32 n)
{
	struct mqueue *q;
	struct prioq_walk walk = {0, 0, 0};
	u32 found = 0, left;
	int err = view_lock(c, d, &q);

	if (err)
		return err;
	while (found < n && prioq_walk_next(c, &q->msgs, &walk))
		ret[found++] = (struct mq_entry){
			walk.prio, prioq_at(c, &q->msgs, walk.item)->len};
	left = prioq_count(&q->msgs);
	if (found == n && left > n)
		found = (u32)count_believed(left, n);
	return view_unlock(c, d, found);
}

static u32 add_queue(struct caller *c, const struct wait_queue *q, int sending,
	u32 found, struct mq_sleeper *ret, u32 n)
{
	const struct waiter *w;
	struct walk walk = {0};

	for (w = waitview_from(c, wait_at(c, q->head), &walk); w;
		w = waitview_from(c, wait_at(c, w->next), &walk)) {
		if (found < n)
			ret[found] = (struct mq_sleeper){.pid = w->pid,
				.tid = region_thread(
					&c->region, wait_index(c, w))
					       ->tid,
				.sending = (u32)sending,
				.prio = sending ? w->msg_prio : ~0u,
				.len = sending ? w->msg_len : ~0u,
				.since = w->since};
		found++;
	}
	return found;
}

s32 mq_sleepers(struct caller *c, const struct mq_desc *d,
	struct mq_sleeper *ret, u32 n)
{
	struct mqueue *q;
	u32 found;
	int err = view_lock(c, d, &q);

	if (err)
		return err;
	found = add_queue(c, &q->receivers, 0, 0, ret, n);
	found = add_queue(c, &q->senders, 1, found, ret, n);
	return view_unlock(c, d, found);
}

s32 mq_leases(struct caller *c, const struct mq_desc *d, struct lease_view *ret,
	u32 n)
{
	struct mqueue *q;
	u32 found;
	int err = view_lock(c, d, &q);

	if (err)
		return err;
	found = lease_views(c, &q->leases, 0, ret, n);
	return view_unlock(c, d, found);
}

int mq_in_use(struct caller *c, const struct mq_desc *d)
{
	const struct mqueue *q = mq_body(c, d->s);
	u64 token[2];

	if (!q || atom_load_acquire(&d->s->ident) != d->ident)
		return 0;
	token[0] = q->token[0];
	token[1] = q->token[1];
	return !mq_fifo_unused(c, token);
}
