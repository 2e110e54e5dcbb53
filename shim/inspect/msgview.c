// SPDX-License-Identifier: MIT
/*
 * Reading a message queue; see msgview.h.
 */
#include "inspect/msgview.h"
#include "inspect/waitview.h"
#include "msg/msgqueue.h"
#include "object/perm.h"

_Static_assert((int)MSG_WANT_ANY == (int)MSG_TAKE_ANY &&
		       (int)MSG_WANT_TYPE == (int)MSG_TAKE_TYPE &&
		       (int)MSG_WANT_NOT_TYPE == (int)MSG_TAKE_NOT_TYPE &&
		       (int)MSG_WANT_UP_TO == (int)MSG_TAKE_UP_TO,
	"what a waiter says");

/* The queue with its lock held, if the caller may read it. */
static int view_lock(
	struct caller *c, s32 id, struct slot **ret, struct msgqueue **ret_q)
{
	struct slot *s;
	u64 ident;
	int err = object_allowed(c, FAC_MSG, id, PERM_R, &s, &ident);

	if (!err)
		err = caller_enroll(c);
	if (!err)
		err = msg_lock(c, s, ident);
	if (err)
		return err;
	*ret = s;
	*ret_q = msg_body(c, s);
	return 0;
}

/* The result, or the error of a damaged queue. */
static s64 view_unlock(struct caller *c, struct slot *s, u64 found)
{
	int err = c->damaged ? damage_abort(c) : 0;

	lock_release(c, &s->lock);
	return err ? err : (s64)found;
}

s64 msg_entries(struct caller *c, s32 id, struct msg_entry *ret, u64 n)
{
	const struct msg *m;
	struct msgqueue *q;
	struct slot *s;
	u64 found = 0, left;
	struct walk w = {0};
	int err = view_lock(c, id, &s, &q);

	if (err)
		return err;
	left = MSG_NUM(q->count);
	for (m = msg_at(c, (u32)q->ends);
		m && found < left && walk_goes_on(c, &w, rbtree_link(c, m));
		m = msg_at(c, m->next)) {
		if (found >= n) {
			found = count_believed(left, n);
			break;
		}
		ret[found++] = (struct msg_entry){m->node.key, m->size};
	}
	return view_unlock(c, s, found);
}

static u32 add_queue(struct caller *c, const struct wait_queue *q, u32 found,
	struct msg_sleeper *ret, u32 n)
{
	const struct waiter *w;
	struct walk walk = {0};

	for (w = waitview_from(c, wait_at(c, q->head), &walk); w;
		w = waitview_from(c, wait_at(c, w->next), &walk)) {
		if (found < n)
			ret[found] = (struct msg_sleeper){.pid = w->pid,
				.tid = region_thread(
					&c->region, wait_index(c, w))
					       ->tid,
				.want = w->kind == MSG_Q_SENDER
						? (u32)MSG_WANT_SPACE
						: MSG_TAKE_HOW(w->msg.mode),
				.type = w->msg.want,
				.size = w->msg.max_size,
				.since = w->since};
		found++;
	}
	return found;
}

s32 msg_sleepers(struct caller *c, s32 id, struct msg_sleeper *ret, u32 n)
{
	struct msgqueue *q;
	struct slot *s;
	u32 found;
	int err = view_lock(c, id, &s, &q);

	if (err)
		return err;
	found = add_queue(c, &q->receivers, 0, ret, n);
	found = add_queue(c, &q->senders, found, ret, n);
	return (s32)view_unlock(c, s, found);
}

s32 msg_leases(struct caller *c, s32 id, struct lease_view *ret, u32 n)
{
	struct msgqueue *q;
	struct slot *s;
	u32 found;
	int err = view_lock(c, id, &s, &q);

	if (err)
		return err;
	found = lease_views(c, &q->leases, 1, ret, n);
	return (s32)view_unlock(c, s, found);
}
