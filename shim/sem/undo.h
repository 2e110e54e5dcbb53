// SPDX-License-Identifier: MIT
/*
 * SEM_UNDO: doc/kernel-semantics.md §4.6.
 *
 * One record per (process, set), in the registry. A dying process runs no code
 * of ours: the kernel marks its lifeline, and the next thread that finds the
 * record (a sleeper that watches the lifeline, or any caller that takes the
 * set's lock while the record has adjustments) applies all records of that
 * process, most recently used set first.
 */
#ifndef IPCLIFT_SEM_UNDO_H
#define IPCLIFT_SEM_UNDO_H

#include "sem/semthread.h"
#include "object/reap.h"
#include "registry/damage.h"
#include "sem/semset.h"
#include "registry/task.h"
#include "registry/wait.h"

static inline struct undo *undo_at(const struct caller *c, struct ref ref)
{
	return ref_at(c, ref);
}

/* The length of adj[], bounded by the most that a set can have. */
static inline u32 undo_n_sems(const struct undo *u)
{
	u32 n = atom_load_relaxed(&u->n_sems);

	return n < SEMS_MOST ? n : SEMS_MOST;
}

/* A walk along records has reached u: 1, or 0 if it was there before, which is
 * noted as damage (registry/damage.h). */
static inline int undo_walk(
	const struct caller *c, struct walk *w, const struct undo *u)
{
	return walk_goes_on(c, w, region_off(&c->region, u));
}

static inline u64 undo_size(u32 n_sems)
{
	return sizeof(struct undo) + (u64)n_sems * sizeof(s16);
}

/* The caller's record for the set of (s, ident), made if there is none; its
 * stamp is set. 0, -EIDRM, -ENOMEM. No lock may be held. */
int undo_get(struct caller *c, struct slot *s, u64 ident, struct undo **ret);

/* Note that the record is used now. If threads of the process race, their
 * stamps may be in either order, or equal. */
static inline void undo_touch(const struct caller *c, struct undo *u)
{
	struct task *t = task_own(c);
	u64 seq = atom_load_relaxed(&t->use_seq) + 1;

	atom_store_release(&t->use_seq, seq);
	atom_store_release(&u->stamp, seq);
}

/* This thread's cached record of the set, if it has used it lately, else NULL.
 * The stamp is not set. */
static inline struct undo *undo_at_place(
	const struct caller *c, const struct undo_place *p, u64 ident)
{
	struct undo *u;

	if (p->ident != ident)
		return NULL;
	u = region_at(&c->region, p->off);
	return likely(u->ident == ident && u->task == c->task) ? u : NULL;
}
static inline struct undo *undo_used_lately(const struct caller *c, u64 ident)
{
	const struct undo_place *p =
		&sem_thread(c)->undo_cache[(u32)ident % OLDER];

	if (likely(p->ident == ident))
		return undo_at_place(c, p, ident);
	return undo_at_place(c, p + OLDER, ident);
}

/* sem_adj_step on adj[num] as part of the current operation. Slot lock held. */
int undo_adjust(
	struct caller *c, struct semset *set, struct undo *u, u32 num, s32 op);
#define UNDO_ENTRIES 8u

/* Recompute n_nonzero of the records and n_adj of the set from adj[]: the bias
 * owner does not maintain them. An operation of its own, under the slot's lock
 * or by the bias owner. */
void undo_recount(struct caller *c, struct semset *set);

/* A task with adjustments of this set whose process has exited, or 0; look: how
 * thoroughly to check. all: check idle records too. Slot lock held. */
u32 undo_suspect(
	struct caller *c, struct semset *set, int all, enum task_look look);
/* 1 if there is certainly no such task, idle records included; 0 if unknown.
 * Needs no lock: for a copy that is found valid afterwards
 * (lock_peek_valid). */
int undo_none_suspect(const struct caller *c, const struct semset *set);

/* Apply this process's own adjustments, as at its exit; the records stay for
 * its next use. In a section; no lock may be held. */
void undo_apply_own(struct caller *c);
/* undo_release_locked, for the reaper: object/reap.h. */

/* adj[num] = 0 in every record of the set; num < 0: all. Slot lock held; part
 * of the current operation: needs journal capacity for undo_clear_entries.
 * Stops, with caller.damaged, at the end of the space reserved by the
 * counts. */
void undo_clear(struct caller *c, struct semset *set, s32 num);
u32 undo_clear_entries(struct caller *c, struct semset *set, s32 num);

/* Unlink every record of the set (RMID). Operations of their own. */
void undo_drop_all(struct caller *c, struct semset *set);

/* Lifelines of other holders, for a sleeper to watch; 1 if these are all, 0 if
 * there are more, or some have no working lifeline. Slot lock held. */
int undo_watch(struct caller *c, struct semset *set, struct wait_watch *ret);

#endif
