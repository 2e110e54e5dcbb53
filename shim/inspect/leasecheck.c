// SPDX-License-Identifier: MIT
/*
 * The invariant of leases, for both kinds of queues; see check.h.
 */
#include "inspect/check.h"
#include "object/lease.h"

/* 0 if the list cannot be followed further. */
static u32 check_list(struct check *k, u32 idx, struct ref ref, int used,
	void (*each)(void *arg, struct lease *l), void *arg)
{
	struct walk w = {0};
	u32 n = 0;

	for (; ref.off && walk_is_new(&w, ref.off); n++) {
		struct lease *l = check_block(k, ref, sizeof(*l));

		if (!l || (l->state != LEASE_FREE) != used ||
			l->state > LEASE_BACK || l->task >= N_TASKS) {
			check_failed(
				k, INV_LEASE, "record, idx, at", idx, ref.off);
			return n;
		}
		if (l->data.off)
			check_block(k, l->data, l->cap);
		if (used && each)
			each(arg, l);
		ref = l->next;
	}
	if (ref.off)
		check_failed(k, INV_LEASE, "list, idx, at", idx, ref.off);
	return n;
}

void check_leases(struct check *k, u32 idx, const struct leases *ls,
	u32 leasing, void (*each)(void *arg, struct lease *l), void *arg)
{
	u32 n = check_list(k, idx, ls->used, 1, each, arg);

	n += check_list(k, idx, ls->free, 0, NULL, NULL);
	/* A record that a killed thread was allocating. */
	if (ls->spare.off)
		check_block(k, ls->spare, sizeof(struct lease));
	if ((n && !(leasing & LEASES_MADE)) || leasing > 3)
		check_failed(k, INV_LEASE, "leasing, idx", idx, leasing);
}
