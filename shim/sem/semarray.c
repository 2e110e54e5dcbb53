// SPDX-License-Identifier: MIT
/*
 * One array; see semarray.h. It is applied in place under the journal, and
 * rolled back if some operation blocks or overflows. Under the set's lock.
 */
#include "sem/semarray.h"

/* An array this short is planned in locals first. */
#define PLAN_MAX 8u

/* What a short array will have made of its semaphores and adjustments. */
struct plan {
	u64 lo[PLAN_MAX];
	s32 adj[PLAN_MAX];
};

/* The last op before i on the same semaphore (undo: with SEM_UNDO), or -1. */
static inline s32 plan_before(const struct array *a, u32 i, int undo)
{
	s32 k;

	for (k = (s32)i - 1; k >= 0; k--)
		if (a->sops[k].num == a->sops[i].num &&
			(!undo || (a->sops[k].flg & SEM_FLG_UNDO)))
			return k;
	return -1;
}

/* Nothing is changed yet. 0, BLOCKED, -ERANGE as array_try. */
static inline int plan_make(
	struct semset *set, const struct array *a, struct plan *p, u32 *ret_op)
{
	const struct sem *sems = sem_array(set);
	u32 i;

	for (i = 0; i < a->n; i++) {
		const struct sop *op = &a->sops[i];
		s32 k = plan_before(a, i, 0), value;
		int err;

		*ret_op = i;
		p->lo[i] =
			k < 0 ? atom_load_relaxed(&sems[op->num].lo) : p->lo[k];
		value = SEM_VALUE(p->lo[i]);
		err = sem_value_step(&value, op->op);
		if (err)
			return err;
		p->lo[i] = lo_make(p->lo[i], value, a->pid);
		if (!(op->flg & SEM_FLG_UNDO))
			continue;
		k = plan_before(a, i, 1);
		p->adj[i] = k < 0 ? a->undo->adj[op->num] : p->adj[k];
		err = sem_adj_step(&p->adj[i], op->op);
		if (err)
			return err;
	}
	return 0;
}

/* How many more adj of the array's record will be nonzero. */
static inline s32 plan_nonzero(const struct array *a, const struct plan *p)
{
	s32 delta = 0;
	u32 i, k;

	for (i = 0; i < a->n; i++) {
		if (!(a->sops[i].flg & SEM_FLG_UNDO))
			continue;
		for (k = i + 1; k < a->n; k++)
			if (a->sops[k].num == a->sops[i].num &&
				(a->sops[k].flg & SEM_FLG_UNDO))
				break;
		if (k == a->n)
			delta += (p->adj[i] != 0) -
				 (a->undo->adj[a->sops[i].num] != 0);
	}
	return delta;
}

static inline void entry_add(
	struct caller *c, u32 *n, void *p, u64 old, u64 size)
{
	atom_store_release(&c->entries[*n].off,
		region_off(&c->region, p) | size << JOURNAL_SIZE_SHIFT);
	atom_store_release(&c->entries[*n].old, old);
	++*n;
}

/* All old values first, then one store of the count, then all new values. */
static inline void plan_apply(struct caller *c, struct semset *set,
	const struct array *a, const struct plan *p, s32 nonzero)
{
	struct sem *sems = sem_array(set), *first = &sems[a->sops[0].num];
	struct undo *u = a->undo;
	u32 i, n = 0, n_nonzero = u ? u->n_nonzero + nonzero : 0;
	s32 holders = u ? !!n_nonzero - !!u->n_nonzero : 0;
	s64 now = sys_realtime_sec();
	int stamp = SEM_OTIME(first->hi) != now;

	for (i = 0; i < a->n; i++) {
		struct sem *sem = &sems[a->sops[i].num];

		entry_add(c, &n, &sem->lo, sem->lo, 8);
		if (a->sops[i].flg & SEM_FLG_UNDO)
			entry_add(c, &n, &u->adj[a->sops[i].num],
				(u16)u->adj[a->sops[i].num], 2);
	}
	if (nonzero)
		entry_add(c, &n, &u->n_nonzero, u->n_nonzero, 4);
	if (holders)
		entry_add(c, &n, &set->n_adj, set->n_adj, 4);
	if (stamp)
		entry_add(c, &n, &first->hi, first->hi, 8);
	atom_store_release(&c->journal->n, n);
	c->entry_next = c->entries + n;
	for (i = 0; i < a->n; i++) {
		u32 num = a->sops[i].num;

		atom_store_release(&sems[num].lo, p->lo[i]);
		if (!(a->sops[i].flg & SEM_FLG_UNDO))
			continue;
		if (!u->adj[num])
			atom_store_release(&u->since, now);
		atom_store_release(&u->adj[num], (s16)p->adj[i]);
	}
	if (nonzero)
		atom_store_release(&u->n_nonzero, n_nonzero);
	if (holders)
		atom_store_release(&set->n_adj, set->n_adj + holders);
	if (stamp)
		atom_store_release(&first->hi, hi_stamp(first->hi, now));
}

/* Any length: applied as it goes, rolled back if it does not end well. */
static int array_try_long(struct caller *c, struct semset *set,
	const struct array *a, u32 *ret_op)
{
	struct sem *sems = sem_array(set), *sem;
	int err = 0;
	u32 i;

	for (i = 0; i < a->n; i++) {
		const struct sop *op = &a->sops[i];
		s32 value;

		sem = &sems[op->num];
		value = SEM_VALUE(sem->lo);
		err = sem_value_step(&value, op->op);
		if (!err && (op->flg & SEM_FLG_UNDO))
			err = undo_adjust(c, set, a->undo, op->num, op->op);
		if (err)
			break;
		journal_set64(c, &sem->lo, lo_make(sem->lo, value, a->pid));
	}
	if (err) {
		journal_abort(c);
		*ret_op = i;
		return err;
	}
	sem = &sems[a->sops[0].num];
	journal_set64(c, &sem->hi, hi_stamp(sem->hi, sys_realtime_sec()));
	return 0;
}

/* One operation without undo, the usual case. */
HOT static inline int one_try(
	struct caller *c, struct semset *set, const struct array *a)
{
	struct sem *sem = &sem_array(set)[a->sops->num];
	s32 value = SEM_VALUE(sem->lo);
	int err = sem_value_step(&value, a->sops->op);
	s64 now;

	if (err)
		return err;
	now = sys_realtime_sec();
	if (unlikely(SEM_OTIME(sem->hi) != now))
		journal_set64(c, &sem->hi, hi_stamp(sem->hi, now));
	journal_set64(c, &sem->lo, lo_make(sem->lo, value, a->pid));
	return 0;
}

HOT int array_try(struct caller *c, struct semset *set, const struct array *a,
	u32 *ret_op)
{
	struct plan p;
	s32 nonzero;
	int err;

	if (likely(a->n == 1 && !a->undo)) {
		*ret_op = 0;
		return one_try(c, set, a);
	}
	if (unlikely(a->n > PLAN_MAX))
		return array_try_long(c, set, a, ret_op);
	err = plan_make(set, a, &p, ret_op);
	if (err)
		return err;
	nonzero = a->undo ? plan_nonzero(a, &p) : 0;
	/* The record has to go on the set's list first. */
	if (unlikely(nonzero && !a->undo->is_active))
		return array_try_long(c, set, a, ret_op);
	plan_apply(c, set, a, &p, nonzero);
	return 0;
}

u32 array_entries(u32 n, int undo)
{
	/* Words, their undo, the time, the queue links and the waiter. */
	return n * (1 + (undo ? UNDO_ENTRIES : 0)) + 16;
}
