// SPDX-License-Identifier: MIT
/*
 * semop without a lock. There are two fast paths; semop.c does everything else.
 *
 * Compare-and-swap: a single operation that need not wait, without undo, on a
 * word without an owner, is one 16-byte compare-and-swap of {value, pid, otime,
 * generation}, which is its commit point. The generation is that of the set, so
 * it fails if the set was removed meanwhile.
 *
 * Biased: a set that one thread alone has used for long is biased to it
 * (bias.h). Its operations are plain stores: one for a single operation, else
 * journaled. Of an undo record only adj[] is maintained then; whoever revokes
 * the bias recomputes the counts (undo_recount). On a biased set no thread
 * sleeps and no other process has adjustments.
 *
 * Each function for a biased set is there for what it saves; in instructions of
 * a pair of calls, by callgrind (doc/measurements.md §15): one_biased_set and
 * one_biased 378 instead of 1,010, the first of them 110 of that; undo_biased
 * 702 instead of 1,750; array_biased, of two, 756 instead of 1,277.
 *
 * Neither path reports errors: a call that does not simply succeed (or fail
 * with EAGAIN) goes to semop.c, where all checks are made in the kernel's
 * order.
 */
#include "object/perm.h"
#include "registry/journal/reserve.h"
#include "sem/sem.h"
#include "sem/semop.h"
#include "registry/bias.h"
#include "registry/guard.h"
#include "registry/task.h"
#include "sem/semthread.h"

/* Neither 0, an error nor BLOCKED. */
#define FALLBACK 2
/* Longest array that takes a fast path; below JOURNAL_INLINE. */
#define BIAS_SOPS 8u
/* Largest set whose counts an array operation recomputes. */
#define BIAS_RECOUNT 64u

/* The result of a call whose operation sem_value_step refused. */
static inline int refused(int err, const struct sop *op)
{
	return err == BLOCKED && (op->flg & SEM_IPC_NOWAIT) ? -EAGAIN
							    : FALLBACK;
}

/* Store the word and its time; once a second. */
static __attribute__((noinline)) void one_stamped(
	struct caller *c, struct slot *s, struct sem *sem, u64 lo, s64 now)
{
	bias_journal_begin(c, s);
	journal_set64(c, &sem->lo, lo);
	journal_set64(c, &sem->hi, hi_stamp(sem->hi, now));
	journal_commit(c);
	bias_journal_end(c);
}

/* A single operation without undo on a set biased to this thread. */
HOT static inline int one_biased(struct caller *c, struct slot *s, u64 ident,
	struct sem *sem, const struct sop *op)
{
	s64 now;
	s32 value;
	u64 lo;
	int ret = FALLBACK;

	if (!bias_enter(c, s))
		return FALLBACK;
	if (unlikely(atom_load_relaxed(&s->ident) != ident))
		goto out;
	value = SEM_VALUE(sem->lo);
	ret = sem_value_step(&value, op->op);
	if (unlikely(ret)) {
		ret = refused(ret, op);
		goto out;
	}
	lo = lo_add(sem->lo, op->op, c->pid);
	now = sys_realtime_sec();
	if (likely(SEM_OTIME(sem->hi) == now)) {
		/* One store: the commit point. */
		atom_store_release(&sem->lo, lo);
	} else {
		one_stamped(c, s, sem, lo, now);
	}
out:
	bias_leave(c);
	return ret;
}

/*
 * The same, with everything that op_fast looks up known since the set was
 * biased (sem_thread.biased): most calls of a program that does not share its
 * semaphores are of this kind. This is the outermost section (a handler that
 * interrupts one is deferred to its end), so a plain store each opens and
 * closes it, without a counter.
 */
static inline __attribute__((always_inline)) int one_biased_set(
	struct caller *c, const struct biased *l, s32 id,
	const struct sop *user)
{
	struct sem *sem;
	struct sop op;
	s32 value;
	int ret = FALLBACK;

	if (unlikely(guard_readable(c, user, sizeof(op))))
		return FALLBACK;
	op = *user;
	if (unlikely(op.num >= l->n || (op.flg & SEM_FLG_UNDO) ||
		     c->cred->euid != l->euid ||
		     !caller_header(c)->limits.semopm ||
		     atom_load_relaxed(&l->slot->bias) != c->bias_id))
		return FALLBACK;
	c->in_section = 1;
	atom_compiler_barrier();
	/* First read outside the section: a handler's calls may have put
	 * another set into this entry since. */
	if (unlikely(l->id != id || op.num >= l->n))
		goto out;
	sem = &l->sems[op.num];
	/* As in bias_enter. */
	if (unlikely(c->robust->pending))
		goto out;
	bias_go_in(c, l->slot);
	if (likely(atom_load_relaxed(&l->slot->bias) == c->bias_id)) {
		value = SEM_VALUE(sem->lo);
		if (likely(!sem_value_step(&value, op.op) &&
			    SEM_OTIME(sem->hi) == sys_realtime_sec())) {
			/* One store: the commit point. */
			atom_store_release(
				&sem->lo, lo_add(sem->lo, op.op, c->pid));
			ret = 0;
		}
	}
	bias_go_out(c);
out:
	atom_compiler_barrier();
	c->in_section = 0;
	if (unlikely(c->deferred.pending))
		section_raise(c);
	return ret;
}

/* Journal one old value, at a known entry. */
static inline void entry_put(
	struct caller *c, u32 at, void *p, u64 old, u64 size)
{
	atom_store_release(&c->entries[at].off,
		region_off(&c->region, p) | size << JOURNAL_SIZE_SHIFT);
	atom_store_release(&c->entries[at].old, old);
}

/* The commit point of entries made by entry_put. That does not advance
 * entry_next, so there is less to do than in journal_commit. */
static inline void entries_commit(struct caller *c)
{
	atom_store_release(&c->journal->n, 0);
}

/* This process's record of the set, if this thread used it lately, the
 * process's lifeline is linked, and the record is in the set's active list
 * (which undo_recount walks); else NULL. */
static inline struct undo *undo_cached(struct caller *c, u64 ident)
{
	struct undo *u = undo_used_lately(c, ident);
	u32 life = atom_load_relaxed(&task_own(c)->life);

	return likely(u && u->is_active && life && !(life & SYS_OWNER_DIED))
		       ? u
		       : NULL;
}

/* A single operation with undo on a set biased to this thread. */
static __attribute__((noinline)) int undo_biased(struct caller *c,
	struct slot *s, u64 ident, struct sem *sem, const struct sop *op)
{
	struct undo *u = undo_cached(c, ident);
	s32 value, adj;
	int ret = FALLBACK;

	if (unlikely(!u) || !bias_enter(c, s))
		return FALLBACK;
	value = SEM_VALUE(sem->lo);
	adj = u->adj[op->num];
	if (unlikely(atom_load_relaxed(&s->ident) != ident ||
		     sem_value_step(&value, op->op) ||
		     sem_adj_step(&adj, op->op) ||
		     SEM_OTIME(sem->hi) != sys_realtime_sec()))
		goto out;
	bias_journal_begin(c, s);
	entry_put(c, 0, &sem->lo, sem->lo, 8);
	entry_put(c, 1, &u->adj[op->num], (u16)u->adj[op->num], 2);
	if (!u->adj[op->num])
		atom_store_release(&u->since, SEM_OTIME(sem->hi));
	atom_store_release(&c->journal->n, 2);
	atom_store_release(&sem->lo, lo_add(sem->lo, op->op, c->pid));
	atom_store_release(&u->adj[op->num], (s16)adj);
	entries_commit(c);
	bias_journal_end(c);
	/* Sets are undone in the order of their last use. After the commit: a
	 * thread that dies in between leaves an older stamp, which affects that
	 * order only. */
	undo_touch(c, u);
	ret = 0;
out:
	bias_leave(c);
	return ret;
}

/* A few operations on different semaphores, without undo, on a set biased to
 * this thread: first all values, then all stores. */
static __attribute__((noinline)) int array_biased(
	struct caller *c, s32 id, const struct sop *user, u32 n)
{
	u64 ident, body, seen = 0, head;
	struct sem *sems, *first;
	struct slot *s;
	struct sop op;
	u32 i, flags = 0, alter = 0, nums[BIAS_SOPS], values[BIAS_SOPS];
	int ret = FALLBACK;

	s = ids_find(c, FAC_SEM, id, &ident);
	if (!s || guard_readable(c, user, n * sizeof(op)) || !bias_enter(c, s))
		return FALLBACK;
	body = sem_off(atom_load_relaxed(&s->body.off), 0);
	if (unlikely(sem_off_nowhere(body) ||
		     atom_load_relaxed(&s->ident) != ident))
		goto out;
	sems = region_at(&c->region, body);
	/* n is never 0, which the compiler does not know. */
	nums[0] = 0;
	for (i = 0; i < n; i++) {
		s32 value;

		op = user[i];
		flags |= (u16)op.flg;
		alter |= (u16)op.op;
		/* A bit for each number modulo 64. If it is set already, it may
		 * be the same semaphore again: left to any_biased, since here
		 * all values are read before any is stored. */
		if (unlikely(op.num >= s->size || (seen >> op.num % 64 & 1)))
			goto out;
		seen |= 1ULL << op.num % 64;
		nums[i] = op.num;
		value = SEM_VALUE(sems[op.num].lo);
		if (unlikely(sem_value_step(&value, op.op)))
			goto out;
		values[i] = (u32)value;
	}
	first = &sems[nums[0]];
	if (unlikely((flags & SEM_FLG_UNDO) ||
		     perm_check(c, s, alter ? PERM_W : PERM_R) ||
		     SEM_OTIME(first->hi) != sys_realtime_sec()))
		goto out;
	bias_journal_begin(c, s);
	for (i = 0; i < n; i++)
		entry_put(c, i, &sems[nums[i]].lo, sems[nums[i]].lo, 8);
	atom_store_release(&c->journal->n, n);
	/* All words of a set have the same generation, and now the same pid. */
	head = lo_make(first->lo, 0, c->pid);
	for (i = 0; i < n; i++)
		atom_store_release(&sems[nums[i]].lo, head | values[i]);
	entries_commit(c);
	bias_journal_end(c);
	ret = 0;
out:
	bias_leave(c);
	return ret;
}

/* Any short array on a set biased to this thread: with undo, with a semaphore
 * twice, or in a new second, which must be stored. */
static __attribute__((noinline)) int any_biased(
	struct caller *c, s32 id, const struct sop *user, u32 n)
{
	struct sop buf[BIAS_SOPS];
	struct request r = {.a = {.sops = buf, .n = n, .pid = c->pid}};
	struct semset *set;
	struct slot *s;
	u64 ident;
	u32 i, op = 0;
	int err = FALLBACK;

	s = ids_find(c, FAC_SEM, id, &ident);
	if (!s || atom_load_relaxed(&s->bias) != c->bias_id ||
		guard_readable(c, user, n * sizeof(buf[0])))
		return FALLBACK;
	for (i = 0; i < n; i++)
		buf[i] = user[i];
	request_scan(&r);
	if (r.max_num >= s->size || perm_check(c, s, r.alter ? PERM_W : PERM_R))
		return FALLBACK;
	/* To recompute the counts of many records with many semaphores takes
	 * longer than the lock. */
	set = sem_body(c, s);
	if (s->size > BIAS_RECOUNT && (!set || set->undo_active.unit || r.undo))
		return FALLBACK;
	if (r.undo && undo_get(c, s, ident, &r.a.undo))
		return FALLBACK;
	if (journal_reserve(c, array_entries(n, r.undo)) || !bias_enter(c, s))
		return FALLBACK;
	set = sem_body(c, s);
	if (atom_load_relaxed(&s->ident) == ident && set) {
		bias_journal_begin(c, s);
		/* The counts first: array_try maintains them. */
		undo_recount(c, set);
		r.a.n_sems = sem_count(s);
		err = array_try(c, set, &r.a, &op);
		if (!err)
			journal_commit(c);
		bias_journal_end(c);
	}
	bias_leave(c);
	return err == BLOCKED ? refused(err, &buf[op]) : err;
}

/* A word without an owner: one compare-and-swap. */
HOT static inline int one_cas(struct caller *c, u64 ident, struct slot *s,
	struct sem *sem, const struct sop *op)
{
	u64 lo, hi;
	s32 value;
	int err;

	do {
		lo = atom_load_relaxed(&sem->lo);
		hi = atom_load_relaxed(&sem->hi);
		/* What was read is the set's: the values compared below, which
		 * include its generation, cannot be in memory that was reused
		 * since. */
		if (unlikely(atom_load_acquire(&s->ident) != ident ||
			     (lo & SEM_OWNED)))
			return FALLBACK;
		value = SEM_VALUE(lo);
		err = sem_value_step(&value, op->op);
		if (unlikely(err))
			return refused(err, op);
	} while (unlikely(
		!atom_cas16(&sem->lo, &lo, &hi, lo_add(lo, op->op, c->pid),
			(hi & ~SEM_OTIME_MASK) | (u64)sys_realtime_sec())));
	return 0;
}

/* At every power of two from BIAS_STREAK on the lock is taken, so that the set
 * can be biased. Not by a thread that never took a lock: that needs system
 * calls which this path does not (an application under strict seccomp depends
 * on that). */
static inline int streak_is_long(struct caller *c, u64 ident)
{
	u64 n = ++in_row_at(c->streak, ident)->n;

	return n >= BIAS_STREAK && !(n & (n - 1)) && c->thread && c->may_bias;
}

/* The paths without a lock; FALLBACK if none applies. */
HOT static inline __attribute__((always_inline)) int op_fast(
	struct caller *c, s32 id, const struct sop *user, int timed)
{
	u64 ident, body;
	struct slot *s;
	struct sem *sem;
	struct sop op;
	int ret;

	if (unlikely(guard_readable(c, user, sizeof(op))))
		return FALLBACK;
	op = *user;
	s = ids_find(c, FAC_SEM, id, &ident);
	if (unlikely(!s || op.num >= s->size))
		return FALLBACK;
	if (unlikely(!caller_header(c)->limits.semopm))
		return FALLBACK;
	if (unlikely(perm_check(c, s, op.op ? PERM_W : PERM_R)))
		return FALLBACK;
	body = sem_off(atom_load_relaxed(&s->body.off), op.num);
	if (unlikely(sem_off_nowhere(body)))
		return FALLBACK;
	sem = region_at(&c->region, body);
	if (atom_load_relaxed(&s->bias) == c->bias_id)
		return op.flg & SEM_FLG_UNDO
			       ? undo_biased(c, s, ident, sem, &op)
			       : one_biased(c, s, ident, sem, &op);
	if (unlikely(op.flg & SEM_FLG_UNDO))
		return FALLBACK;
	if (likely(!streak_is_long(c, ident))) {
		ret = one_cas(c, ident, s, sem, &op);
		if (likely(ret != FALLBACK))
			return ret;
	}
	if (unlikely(atom_load_relaxed(&s->ident) != ident || timed))
		return FALLBACK;
	return sem_op_one(c, s, ident, &op);
}

/* All but the fastest path, in a function of its own so that the fastest needs
 * no stack frame. */
static __attribute__((noinline)) int op_falls_back(struct caller *c, s32 id,
	const struct sop *user, u32 n, const struct sys_timespec *timeout)
{
	int ret = FALLBACK;

	if (!timeout && n - 1 < BIAS_SOPS) {
		if (n > 1)
			ret = array_biased(c, id, user, n);
		if (ret == FALLBACK)
			ret = any_biased(c, id, user, n);
		if (ret != FALLBACK)
			return ret;
	}
	return sem_op_slow(c, id, user, n, timeout);
}

/* A single operation whose set is in the second entry of sem_thread.biased. */
static __attribute__((noinline)) int op_older(
	struct caller *c, s32 id, const struct sop *user)
{
	const struct biased *l =
		&sem_thread(c)->biased[(u32)id % OLDER + OLDER];

	return l->id == id && l->n ? one_biased_set(c, l, id, user) : FALLBACK;
}

/* With a valid timeout: as without one, if it need not wait. */
static __attribute__((noinline)) int op_timed(struct caller *c, s32 id,
	const struct sop *user, const struct sys_timespec *timeout)
{
	const struct biased *l = &sem_thread(c)->biased[(u32)id % OLDER];
	struct sys_timespec t;
	int ret = FALLBACK;

	if (guard_read(c, &t, timeout, sizeof(t)) || t.sec < 0 ||
		(u64)t.nsec >= 1000000000)
		return FALLBACK;
	if (likely(l->id == id && l->n))
		ret = one_biased_set(c, l, id, user);
	return likely(ret != FALLBACK) ? ret : op_fast(c, id, user, 1);
}

HOT int sem_op(struct caller *c, s32 id, const struct sop *user, u32 n,
	const struct sys_timespec *timeout)
{
	const struct biased *l = &sem_thread(c)->biased[(u32)id % OLDER];
	int ret = FALLBACK;

	if (likely(n == 1 && !timeout)) {
		if (likely(l->id == id && l->n))
			ret = one_biased_set(c, l, id, user);
		else if (l[OLDER].id == id)
			ret = op_older(c, id, user);
		if (likely(ret != FALLBACK))
			return ret;
		ret = op_fast(c, id, user, 0);
		if (likely(ret != FALLBACK))
			return ret;
	} else if (n == 1) {
		ret = op_timed(c, id, user, timeout);
		if (likely(ret != FALLBACK))
			return ret;
	}
	return op_falls_back(c, id, user, n, timeout);
}
