// SPDX-License-Identifier: MIT
/*
 * The invariants of a semaphore set: queues, words, undo records; see check.h.
 */
#include "inspect/check.h"
#include "sem/holders.h"
#include "sem/sem.h"
#include "sem/semop.h"

static void check_word(struct check *k, u32 idx, struct slot *s, u32 num,
	const struct sem *sem)
{
	if (SEM_GEN(sem->hi) != (IDENT_GEN(s->ident) & SEM_GEN_MASK) ||
		SEM_VALUE(sem->lo) > SEMVMX)
		check_failed(k, INV_GENERATION, "idx, num", idx, num);
}

static void check_sleeper(struct check *k, u32 idx, struct slot *s,
	struct semset *set, struct waiter *w, u32 num, u32 kind)
{
	/* Of whom only where the registry is counts. */
	const struct caller at = {.region = k->region};
	u32 i, n, n_sems = sem_count(s), block_op = w->block_op;
	const struct sop *sops = waiter_sops(&at, w, &n);

	if (w->state != WAIT_QUEUED || w->ident != s->ident ||
		w->facility != FAC_SEM || w->slot_idx != idx ||
		w->kind != kind || !sops ||
		(kind <= Q_ZERO && w->queue_num != num)) {
		check_failed(
			k, INV_QUEUE, "wrong member, idx, kind", idx, kind);
		return;
	}
	for (i = 0; i < n; i++) {
		u32 op_num = sops[i].num;

		if (op_num >= n_sems ||
			!(sem_array(set)[op_num].lo & SEM_OWNED)) {
			check_failed(k, INV_OWNED, "sleeper's, idx, num", idx,
				op_num);
			return;
		}
	}
	for (i = 0; kind == Q_COMPLEX && n_sems > 1 && i < n && i <= block_op;
		i++)
		if (!sem_array(set)[sops[i].num].arrays) {
			check_failed(k, INV_QUEUE, "array unmarked, idx, num",
				idx, sops[i].num);
			return;
		}
}

static u32 check_queue(struct check *k, u32 idx, struct slot *s,
	struct semset *set, const struct wait_queue *q, u32 num, u32 kind)
{
	u32 at = q->head, prev = 0, n = 0;
	u64 stamp = 0;

	for (; at && n < N_THREADS; n++) {
		struct waiter *w = &region_thread(&k->region, at)->waiter;

		if (w->prev != prev || w->stamp <= stamp) {
			check_failed(k, INV_QUEUE, "links or order, idx, kind",
				idx, kind);
			break;
		}
		check_sleeper(k, idx, s, set, w, num, kind);
		stamp = w->stamp;
		prev = at;
		at = w->next;
	}
	if (q->tail != prev)
		check_failed(k, INV_QUEUE, "tail, idx, kind", idx, kind);
	return n;
}

static void check_record(struct check *k, u32 idx, struct slot *s,
	struct semset *set, struct undo *u)
{
	u32 i, n = 0, n_sems = sem_count(s);

	if (u->ident != s->ident || u->slot_idx != idx || u->n_sems != n_sems ||
		u->cap < n_sems) {
		check_failed(k, INV_UNDO_ALL, "record of another set, idx", idx,
			u->ident);
		return;
	}
	for (i = 0; i < n_sems; i++) {
		if (!u->adj[i])
			continue;
		n++;
		if (!(sem_array(set)[i].lo & SEM_OWNED))
			check_failed(k, INV_OWNED, "undo's, idx, num", idx, i);
	}
	/* The thread that a set is biased to leaves the counts alone. */
	if (!s->bias && n != u->n_nonzero)
		check_failed(k, INV_UNDO_COUNT, "n_nonzero, idx, n", idx, n);
	if (n && !u->is_active)
		check_failed(k, INV_UNDO_ACTIVE, "not active, idx", idx, 0);
}

static void check_undo(
	struct check *k, u32 idx, struct slot *s, struct semset *set)
{
	struct ref at, prev = {0};
	u32 n = 0, n_adj = 0, n_is = 0, n_active = 0;
	struct undo *u;

	for (at = ref_long(set->undo_all); n < N_TASKS; n++) {
		u = region_span(&k->region, at, sizeof(*u));
		if (!u)
			break;
		if (u->set_prev.off != prev.off) {
			check_failed(
				k, INV_UNDO_ALL, "links, idx", idx, at.off);
			break;
		}
		check_record(k, idx, s, set, u);
		n_adj += u->n_nonzero > 0;
		n_is += u->is_active;
		prev = at;
		at = u->set_next;
	}
	k->n_bound += n;
	prev.off = 0;
	u = region_span(&k->region, ref_long(set->undo_active), sizeof(*u));
	if (u && set->n_active >= HOLDERS_STAMPED &&
		u->active_stamp - 1 >= region_header(&k->region)->stamp - 1)
		check_failed(
			k, INV_UNDO_ACTIVE, "stamp, idx", idx, u->active_stamp);
	for (at = ref_long(set->undo_active); n_active < N_TASKS; n_active++) {
		u = region_span(&k->region, at, sizeof(*u));
		if (!u)
			break;
		if (u->active_prev.off != prev.off || !u->is_active ||
			u->ident != s->ident) {
			check_failed(
				k, INV_UNDO_ACTIVE, "links, idx", idx, at.off);
			break;
		}
		prev = at;
		at = u->active_next;
	}
	if (n_active != n_is || n_active != set->n_active)
		check_failed(k, INV_UNDO_ACTIVE, "count, n_active", n_active,
			set->n_active);
	if (!s->bias && n_adj != set->n_adj)
		check_failed(k, INV_UNDO_COUNT, "n_adj is, should be",
			set->n_adj, n_adj);
}

/* At its own place if it fits there, else in the heap. */
static struct semset *check_body(struct check *k, u32 idx, const struct slot *s)
{
	u32 n = sem_count(s);

	if (!n)
		return NULL;
	if (n > 1)
		return check_block(k, s->body, 64 + (u64)n * 64);
	return s->body.off == BODY_OFF(idx) ? region_at(&k->region, s->body.off)
					    : NULL;
}

void check_semset(struct check *k, u32 idx, struct slot *s)
{
	struct semset *set = check_body(k, idx, s);
	u32 i, n = 0;

	if (!set) {
		check_failed(k, INV_SLOT, "body, idx, size", idx, s->size);
		return;
	}
	for (i = 0; i < sem_count(s); i++) {
		struct sem *sem = &sem_array(set)[i];

		check_word(k, idx, s, i, sem);
		n += check_queue(k, idx, s, set, &sem->alter, i, Q_ALTER);
		n += check_queue(k, idx, s, set, &sem->zero, i, Q_ZERO);
	}
	n += check_queue(k, idx, s, set, &set->complex, 0, Q_COMPLEX);
	n += check_queue(k, idx, s, set, &set->zero_arrays, 0, Q_ZERO_ARRAYS);
	k->n_queued += n;
	if (n != set->n_waiters)
		check_failed(k, INV_N_WAITERS, "n_waiters is, should be",
			set->n_waiters, n);
	if (set->pass_pending || (s->size > 1 && sem_array(set)->all.off))
		check_failed(k, INV_PENDING, "idx", idx, 0);
	check_undo(k, idx, s, set);
}
