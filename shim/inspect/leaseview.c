// SPDX-License-Identifier: MIT
/*
 * Reading leases; see leaseview.h.
 */
#include "inspect/leaseview.h"
#include "msg/msgqueue.h"
#include "object/lease.h"

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

u32 lease_views(struct caller *c, const struct leases *ls, int by_msg,
	struct lease_view *ret, u32 n)
{
	const struct lease *l;
	struct ref at = ls->used;
	struct walk w = {0};
	u32 found = 0;

	for (; (l = lease_step(c, &w, at)); at = l->next) {
		if (l->state != LEASE_HELD)
			continue;
		if (found < n)
			ret[found] = view_of(c, l, by_msg);
		found++;
	}
	return found;
}
