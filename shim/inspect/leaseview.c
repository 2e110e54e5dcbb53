// SPDX-License-Identifier: MIT
/*
 * Looking at leases; see leaseview.h.
 */
#include "inspect/leaseview.h"
#include "msg/msgqueue.h"
#include "object/lease.h"
#include "object/perm.h"

static struct lease_view view_of(
	const struct caller *c, const struct lease *l, int by_msg)
{
	const struct msg *m = by_msg ? link_must(c, l->msg) : NULL;

	return (struct lease_view){.pid = l->pid,
		.tid = l->tid,
		.type = m ? m->node.key : (s64)l->prio,
		.size = m ? m->size : l->len,
		.since = l->since};
}

/* The lock is held, and given back. */
static s32 views(struct caller *c, struct slot *s, const struct leases *ls,
	int by_msg, struct lease_view *ret, u32 n)
{
	const struct lease *l;
	struct ref at = ls->used;
	struct walk w = {0};
	u32 found = 0;
	int err = 0;

	for (; (l = lease_step(c, &w, at)); at = l->next) {
		if (l->state != LEASE_HELD)
			continue;
		if (found < n)
			ret[found] = view_of(c, l, by_msg);
		found++;
	}
	if (c->damaged)
		err = damage_abort(c);
	lock_release(c, &s->lock);
	return err ? err : (s32)found;
}

s32 msg_leases(struct caller *c, s32 id, struct lease_view *ret, u32 n)
{
	struct slot *s;
	u64 ident;
	int err;

	s = ids_find(c, FAC_MSG, id, &ident);
	if (!s)
		return -EINVAL;
	err = perm_check_of(c, s, ident, PERM_R);
	if (!err)
		err = caller_enroll(c);
	if (!err)
		err = msg_lock(c, s, ident);
	return err ? err : views(c, s, &msg_body(c, s)->leases, 1, ret, n);
}

s32 mq_leases(struct caller *c, const struct mq_desc *d, struct lease_view *ret,
	u32 n)
{
	int err = caller_enroll(c);

	if (!err)
		err = mq_lock(c, d);
	return err ? err
		   : views(c, d->s, &mq_body(c, d->s)->leases, 0, ret, n);
}
