// SPDX-License-Identifier: MIT
/*
 * Looking into a set; see semview.h.
 */
#include "inspect/semview.h"

#include <stdlib.h>

#include "object/perm.h"
#include "sem/sem.h"
#include "sem/semop.h"

/* The set with its lock held and exited tasks' undo applied. */
static int view_lock(
	struct caller *c, s32 id, struct slot **ret, struct semset **ret_set)
{
	struct sem_stat st;
	struct slot *s;
	u64 ident;
	int err;

	/* Checks the rights and reaps. */
	err = sem_stat(c, id, OBJECT_BY_ID, &st);
	if (err)
		return err;
	s = ids_find(c, FAC_SEM, id, &ident);
	if (!s)
		return -EINVAL;
	err = sem_lock(c, s, ident);
	if (err)
		return err;
	*ret_set = sem_body(c, s);
	if (!*ret_set) {
		sem_unlock(c, s);
		return -EINVAL;
	}
	*ret = s;
	return 0;
}

s32 sem_holders(struct caller *c, s32 id, struct sem_holder *ret, u32 n)
{
	struct semset *set;
	struct undo *u;
	struct slot *s;
	struct walk w = {0};
	u32 i, has, n_sems, found = 0;
	int err = view_lock(c, id, &s, &set);

	if (err)
		return err;
	/* A damaged record may have more than the set. */
	n_sems = sem_count(s);
	for (u = undo_at(c, ref_long(set->undo_active));
		u && undo_walk(c, &w, u); u = undo_at(c, u->active_next))
		for (i = 0, has = undo_n_sems(u); i < has && i < n_sems; i++) {
			if (!u->adj[i])
				continue;
			if (found < n)
				ret[found] = (struct sem_holder){
					.pid = region_task(&c->region, u->task)
						       ->pid,
					.num = i,
					.adj = u->adj[i],
					.since = u->since};
			found++;
		}
	sem_unlock(c, s);
	return (s32)found;
}

static int fill_value(struct caller *c, s32 id, u32 num, struct sem_value *ret)
{
	int pid = sem_getpid(c, id, (s32)num);
	int ncnt = sem_getncnt(c, id, (s32)num);
	int zcnt = sem_getzcnt(c, id, (s32)num);

	if (pid < 0 || ncnt < 0 || zcnt < 0)
		return -EIDRM;
	ret->num = num;
	ret->ncnt = (u32)ncnt;
	ret->zcnt = (u32)zcnt;
	ret->pid = (u32)pid;
	return 0;
}

s32 sem_values(struct caller *c, s32 id, struct sem_value *ret, u32 n)
{
	int n_sems = sem_set_size(c, id, PERM_R), err = 0;
	u16 *values;
	u32 i;

	if (n_sems < 0 || n < (u32)n_sems)
		return n_sems;
	values = malloc((size_t)n_sems * sizeof(*values));
	if (!values)
		return -ENOMEM;
	err = sem_getall(c, id, values, (u32)n_sems);
	for (i = 0; i < (u32)n_sems && err >= 0; i++) {
		err = fill_value(c, id, i, &ret[i]);
		ret[i].value = values[i];
	}
	free(values);
	return err < 0 ? err : n_sems;
}

/* As many as top reads. Arbitrary. */
#define BRIEF_LOOKED 1024u

int sem_brief(struct caller *c, s32 id, struct sem_brief *ret)
{
	s64 otime, latest = -1;
	struct semset *set;
	struct slot *s;
	u32 i, n;
	u64 ident, lo;
	int err;

	s = ids_find(c, FAC_SEM, id, &ident);
	set = s ? sem_body(c, s) : NULL;
	err = set ? perm_check(c, s, PERM_R) : -EINVAL;
	if (err)
		return err;
	*ret = (struct sem_brief){0};
	n = sem_count(s);
	for (i = 0; i < n && i < BRIEF_LOOKED; i++) {
		const struct sem *sem = &sem_array(set)[i];

		otime = SEM_OTIME(atom_load_relaxed(&sem->hi));
		lo = atom_load_relaxed(&sem->lo);
		if (i < SEM_BRIEF_VALUES)
			ret->values[ret->n++] = (u16)SEM_VALUE(lo);
		if (!SEM_PID(lo) || otime <= latest)
			continue;
		latest = otime;
		ret->pid = SEM_PID(lo);
	}
	return 0;
}

struct sleepers {
	struct sem_sleeper *ret;
	u32 n, found;
};

static void add_queue(
	struct caller *c, const struct wait_queue *q, struct sleepers *to)
{
	const struct waiter *w;
	u32 left = N_THREADS;

	for (w = wait_at(c, q->head); w; w = wait_next(c, w, &left)) {
		u32 n, at = atom_load_relaxed(&w->block_op);
		const struct sop *sops;

		if (wait_dead(w))
			continue;
		sops = waiter_sops(c, w, &n);

		if (to->found < to->n)
			to->ret[to->found] = (struct sem_sleeper){.pid = w->pid,
				.tid = region_thread(
					&c->region, wait_index(c, w))
					       ->tid,
				.since = w->since,
				.n_sops = n,
				.op = sops && at < n ? sops[at]
						     : (struct sop){0}};
		to->found++;
	}
}

s32 sem_sleepers(struct caller *c, s32 id, struct sem_sleeper *ret, u32 n)
{
	struct sleepers to = {ret, n, 0};
	struct semset *set;
	struct slot *s;
	u32 i;
	int err = view_lock(c, id, &s, &set);

	if (err)
		return err;
	for (i = 0; i < sem_count(s); i++) {
		add_queue(c, &sem_array(set)[i].alter, &to);
		add_queue(c, &sem_array(set)[i].zero, &to);
	}
	add_queue(c, &set->complex, &to);
	add_queue(c, &set->zero_arrays, &to);
	sem_unlock(c, s);
	return (s32)to.found;
}
