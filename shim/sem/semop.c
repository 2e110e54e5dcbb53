// SPDX-License-Identifier: MIT
/*
 * Executing operation arrays under the set's lock, and sleeping
 * (doc/kernel-semantics.md §4.2-4.5).
 *
 * What needs no lock is in semfast.c; this is the rest. The lock holder first
 * marks the value words as owned (SEM_OWNED); from then on fast callers take the
 * lock too.
 * The commit is one store. If values changed and somebody sleeps, pass_pending
 * is part of the same operation: should we die before all sleepers were tried,
 * the next owner of the lock tries them.
 *
 * Keeps INV_OWNED (inspect/check.h).
 */
#include "object/perm.h"
#include "registry/journal/reserve.h"
#include "sem/semop.h"
#include "object/reap.h"
#include "object/sleep.h"
#include "object/controlfile.h"
#include "object/limits.h"
#include "base/usdt.h"
#include "registry/bias.h"
#include "registry/guard.h"
#include "registry/heap.h"
#include "sem/semthread.h"

/* prewake_next: in the first EARLY_BURST of each EARLY_TURN holds of the lock; not
 * if the operator before us was on our CPU more than SAME_CPU_MANY times in a row,
 * for then all run on that CPU. Arbitrary. */
#define EARLY_BURST 128u
#define EARLY_TURN 1024u
#define SAME_CPU_MANY 8u

/* So many simple operations took the lock without needing it: fast callers may use
 * the word again. Arbitrary: more than one round of a few contenders. */
#define IDLE_LIMIT 32
/* Beyond, a set is never biased again in practice. */
#define BACKOFF_MAX 6
/*
 * With holders of undo: the first slice of a sleep. Each next one is twice as long,
 * since a watched lifeline wakes the sleeper at once; a new holder wakes one
 * sleeper with a longer slice (sem_tell), which then watches it. If not all holders
 * are watched, the slice doubles UNWATCHED_DOUBLED times at most.
 *
 * A lifeline tells the death of one thread: in a killed process the others end
 * after it, which nothing tells. So while a lifeline has fired and its process is
 * still there, slices start again, at 20 ms / 2^7. All arbitrary.
 */
#define UNDO_SLICE_NS 20000000ULL
#define FIRED_HALVED 7
#define UNWATCHED_DOUBLED 3
/* A sleeper's look at all holders holds the lock for some 40 ns per holder. With
 * many sleepers and many holders, each of which somebody watches, looks are spaced
 * so that they take at most 1/32 of the lock's time. */
#define LOOK_APART_NS (32 * 40u)
/* Larger sets are not biased: every word would have to be owned. Arbitrary. */
#define BIAS_MAX_SEMS 4096u
#define LOCAL_SOPS 32u
#define LARGE_SOPS 512u

void sem_own(struct sem *sem)
{
	u64 lo = atom_load_relaxed(&sem->lo), hi = atom_load_relaxed(&sem->hi);

	while (!(lo & SEM_OWNED))
		atom_cas16(&sem->lo, &lo, &hi, lo | SEM_OWNED, hi);
}

/* ---- the set's lock ---- */

/* The set was biased: end that, and bring up to date what its thread did not
 * keep (undo.h). */
static __attribute__((noinline)) void take_back(
	struct caller *c, struct slot *s)
{
	struct semset *set = sem_body(c, s);
	enum bias_was was = bias_revoke(c, s);

	if (set && (s->ident & IDENT_LIVE)) {
		undo_recount(c, set);
		if (was == BIAS_IN_THE_WAY)
			set->bias_backoff = BACKOFF_MAX;
		else if (was == BIAS_FOREIGN && set->bias_backoff < BACKOFF_MAX)
			set->bias_backoff++;
	}
	bias_end(s);
}

HOT void sem_lock_any(struct caller *c, struct slot *s)
{
	struct semset *set;

	int died = lock_acquire(c, &s->lock);

	if (unlikely(s->bias))
		take_back(c, s);
	if (likely(!died))
		return;
	if (!(atom_load_acquire(&s->ident) & IDENT_LIVE))
		return;
	set = sem_body(c, s);
	if (!set)
		return;
	sem_setall_rest(c, s, set);
	if (set->pass_pending)
		sem_pass(c, s, set, NULL, 0);
}

void sem_lock_again(struct caller *c, struct slot *s)
{
	int died = lock_acquire(c, &s->lock);
	struct semset *set;

	if (unlikely(s->bias))
		take_back(c, s);
	set = sem_body(c, s);
	if (died && set && (atom_load_acquire(&s->ident) & IDENT_LIVE))
		sem_setall_rest(c, s, set);
}

HOT int sem_lock(struct caller *c, struct slot *s, u64 ident)
{
	sem_lock_any(c, s);
	if (likely(atom_load_acquire(&s->ident) == ident))
		return 0;
	lock_release(c, &s->lock);
	return -EIDRM;
}

HOT void sem_unlock(struct caller *c, struct slot *s)
{
	lock_release(c, &s->lock);
}

/* ---- sleeping ---- */

struct sem_sleep {
	struct sleeper sl; /* first */
	struct wait_watch watch;
	int alone;	/* it came when nobody slept */
	int doubled;	/* slices so far, beside holders; < 0: halved */
	int idle_count; /* nobody else holds anything */
	u64 slept_ns;	/* since the last check, if that was too soon */
};

static u64 looks_apart(const struct semset *set)
{
	return (u64)atom_load_relaxed(&set->n_waiters) *
	       atom_load_relaxed(&set->n_adj) * LOOK_APART_NS;
}

static void class_remove(
	struct caller *c, struct slot *s, struct waiter *w, s32 result)
{
	struct semset *set = sem_body(c, s);

	if (set)
		queue_remove(c, s, set, w, result);
}

/* Slot lock held, so that holders change before or after; the slice that is
 * set begins then. */
static void watch_holders(
	struct caller *c, struct semset *set, struct sem_sleep *ss)
{
	int all = undo_watch(c, set, &ss->watch) && wait_can_watch();
	u64 slice;

	ss->slept_ns = 0;
	ss->idle_count = all && !ss->watch.n;
	if (ss->idle_count) {
		ss->doubled = 0;
		slice = sleep_slice(ss->alone);
	} else {
		slice = ss->doubled < 0 ? UNDO_SLICE_NS >> -ss->doubled
					: UNDO_SLICE_NS << ss->doubled;
		if (all ? slice < SLEEP_SLICE_NS
			: ss->doubled < UNWATCHED_DOUBLED && wait_can_watch())
			ss->doubled++;
		if (!all && ss->doubled >= 0 && slice < looks_apart(set))
			slice = looks_apart(set);
	}
	sleep_slice_set(
		c, &ss->sl, slice < SLEEP_SLICE_NS ? slice : SLEEP_SLICE_NS);
	atom_store_release(&wait_own(c)->wants_wake,
		slice && slice <= UNDO_SLICE_NS ? WAKE_NOT_WANTED
						: WAKE_WANTED);
}

/* One of those that were watched has. */
static int has_fired(const struct wait_watch *watch)
{
	u32 i;

	for (i = 0; i < watch->n; i++)
		if (atom_load_acquire(watch->word[i]) & SYS_OWNER_DIED)
			return 1;
	return 0;
}

/* Something that we watch changed, or it is time: look after exited tasks. A
 * set without holders is not locked for that. */
static void class_recheck(struct caller *c, struct sleeper *sl)
{
	struct sem_sleep *ss = (struct sem_sleep *)sl;
	struct waiter *w = wait_own(c);
	struct semset *set = sem_body(c, sl->slot);
	u32 gone = 0;

	if (ss->idle_count && set && !atom_load_relaxed(&set->n_adj))
		return;
	ss->slept_ns += sl->slice_ns;
	if (set && ss->watch.n == WAIT_WATCHED && ss->doubled >= 0 &&
		ss->slept_ns < looks_apart(set) && !has_fired(&ss->watch) &&
		w->wants_wake != WAKE_SENT)
		return;
	sem_lock_any(c, sl->slot);
	set = sem_body(c, sl->slot);
	if (w->state == WAIT_QUEUED && set) {
		gone = undo_suspect(c, set, 0, TASK_LOOK_NOW);
		if (w->wants_wake == WAKE_SENT)
			ss->doubled = 0;
		if (has_fired(&ss->watch))
			ss->doubled = -FIRED_HALVED;
		watch_holders(c, set, ss);
	}
	lock_release(c, &sl->slot->lock);
	/* Who was let through by that before us goes on before us, as when the
	 * kernel wakes all of them: we only run because the death woke us. (Who was
	 * let through behind us does so, too, if it is of real time: then the
	 * kernel's order is another.) */
	if (gone && reap_task(c, gone))
		sys_call(__NR_sched_yield);
}

/* The operation fails: unless one who holds something is gone, and its lifeline
 * has not told. 1 if there was one. */
static __attribute__((noinline)) int reap_holder(
	struct caller *c, struct slot *s, u64 ident)
{
	struct semset *set;
	u32 gone;

	if (sem_lock(c, s, ident))
		return 0;
	set = sem_body(c, s);
	gone = set && set->n_adj ? undo_suspect(c, set, 0, TASK_LOOK_NOW) : 0;
	sem_unlock(c, s);
	return gone && reap_task(c, gone);
}

/* A process gives back what it owes before it sends its parent SIGCHLD. The
 * state is a hint here: who leaves the queue looks at it under the lock. */
static void class_signalled(struct caller *c, struct sleeper *sl)
{
	const struct waiter *w = wait_own(c);

	while (atom_load_relaxed(&w->state) == WAIT_QUEUED &&
		reap_holder(c, sl->slot, w->ident))
		;
}

static s32 class_finish(struct caller *c, struct sleeper *sl, s32 result)
{
	(void)c, (void)sl;
	return result == -ETIMEDOUT ? -EAGAIN : result;
}

const struct sleep_class sem_sleep_class = {
	.lock = sem_lock_any,
	.remove = class_remove,
	.finish_removal = sem_finish_removal,
	.recheck = class_recheck,
	.signalled = class_signalled,
	.finish = class_finish,
};

/* Fill the own waiter and queue it; slot lock held, space reserved. */
HOT static void enqueue(struct caller *c, struct slot *s, struct semset *set,
	const struct array *a, u32 block_op, int alter)
{
	struct waiter *w = wait_own(c);
	struct sop *sops = w->sops;
	u32 i;

	if (a->n > WAITER_SOPS_INLINE)
		sops = ref_must(c, w->ext);
	for (i = 0; i < a->n; i++)
		sops[i] = a->sops[i];
	w->n_sops = a->n;
	w->block_op = block_op;
	w->pid = c->pid;
	w->undo.off = a->undo ? region_off(&c->region, a->undo) : 0;
	w->slot_idx = region_slot_idx(&c->region, FAC_SEM, s);
	w->facility = FAC_SEM;
	w->ident = s->ident;
	w->since = sys_realtime_sec();
	w->queue_num = a->sops[0].num;
	if (a->n == 1)
		w->kind = alter ? Q_ALTER : Q_ZERO;
	else
		w->kind = alter ? Q_COMPLEX : Q_ZERO_ARRAYS;
	if (w->kind == Q_COMPLEX)
		arrays_mark(s, set, sops, block_op);
	wait_begin(c, w);
	queue_append(c, s, set, w);
	journal_commit(c);
}

/*
 * Who operated on the set last, and on which CPU the last other one did: the
 * partner of a hand-over. Hints; under the lock.
 */
HOT static void note_operator(
	struct caller *c, struct slot *s, struct semset *set)
{
	if (likely(set->last_tid == c->tid)) {
		s->lock.streak++;
		return;
	}
	s->lock.streak = 0;
	set->partner_cpu = set->last_cpu;
	set->last_tid = c->tid;
	set->last_cpu = (unsigned char)sys_cpu();
	if (set->last_cpu != set->partner_cpu)
		c->same_cpu = 0;
	else if (c->same_cpu <= SAME_CPU_MANY)
		c->same_cpu++;
}

/* For the owner's way only, and with both rights: else every call looks. */
static void note_bias(
	struct caller *c, struct slot *s, struct sem *sems, s32 id)
{
	struct biased *l = &sem_thread(c)->biased[(u32)id % OLDER];
	u32 euid = c->cred->euid;

	/* In neither place stays an entry of the slot, which may be that of an
	 * earlier set: sem_thread.biased. */
	if (l->slot != s)
		l[OLDER] = *l;
	*l = (struct biased){0};
	if ((euid == s->uid || euid == s->cuid) && (s->mode & 0600) == 0600)
		*l = (struct biased){id, s->size, s, sems, euid};
}

/*
 * The lock is held and the set quiet: bias it to a caller that has long been
 * the only one (bias.h). Its words are owned from then on.
 */
HOT static void consider_bias(
	struct caller *c, struct slot *s, struct semset *set, u64 ident)
{
	u32 need, i, backoff = set->bias_backoff; /* which may be damaged */
	const struct in_row *row = &c->streak[(u32)ident % OLDER];
	struct sem *sems = sem_array(set);
	struct walk w = {0};
	struct undo *u;

	if (unlikely(backoff > BACKOFF_MAX))
		backoff = BACKOFF_MAX;
	need = BIAS_STREAK << (4 * backoff);
	/* To own each word has to pay, too. */
	if (s->size > need)
		need = s->size;
	if (row->ident != ident)
		row += OLDER;
	if (s->lock.streak < need && (row->ident != ident || row->n < need))
		return;
	s->lock.streak = 0;
	if (set->n_waiters || s->size > BIAS_MAX_SEMS)
		return;
	for (u = undo_at(c, ref_long(set->undo_active));
		u && undo_walk(c, &w, u); u = undo_at(c, u->active_next))
		if (u->n_nonzero && u->task != c->task)
			return;
	for (i = 0; i < sem_count(s); i++) {
		sem_own(&sems[i]);
		if (SEM_PID(sems[i].lo) && SEM_PID(sems[i].lo) != c->pid)
			return;
	}
	bias_grant(c, s);
	if (s->bias == c->bias_id)
		note_bias(c, s, sems, IDENT_ID(ident));
}

/* Two came before us: what comes next is not for us. */
static int others_first(const struct caller *c, const struct waiter *w)
{
	return w->prev && wait_must(c, w->prev)->prev;
}

/* By where the partner runs, and whether spinning has lately been worth it. */
HOT static enum wait_first what_first(
	struct caller *c, struct semset *set, u64 ident)
{
	struct spin spin = {0};

	set->last_cpu = (unsigned char)sys_cpu();
	if (c->spun.ident == ident)
		spin_note(&set->spin, c->spun.result);
	c->spun.ident = 0;
	if (set->partner_cpu == set->last_cpu)
		return WAIT_FIRST_YIELD;
	if (unlikely(others_first(c, wait_own(c))))
		return WAIT_FIRST_NOTHING;
	if (spin_begin(&spin, set->spin))
		return WAIT_FIRST_SPIN;
	spin_note(&set->spin, spin.result);
	return WAIT_FIRST_NOTHING;
}

/* ---- the call ---- */

/* A word that a sleeping array names stays owned: it is executed without
 * owning it anew. Which words those are is not kept. */
static inline int word_wanted(const struct semset *set, const struct sem *sem)
{
	return sem->alter.head || sem->zero.head || set->complex.head ||
	       set->zero_arrays.head || set->n_adj;
}

HOT static void note_idle(
	const struct slot *s, struct semset *set, struct sem *sem)
{
	unsigned char *idle_count =
		s->size > 1 ? &sem->idle_count : &set->idle_count;

	if (word_wanted(set, sem)) {
		*idle_count = 0;
	} else if (++*idle_count >= IDLE_LIMIT) {
		*idle_count = 0;
		sem_disown(sem);
	}
}

/* Somebody sleeps whom the change may concern. Arrays of waits for zero are
 * tried whenever some semaphore is zero, as Linux does: it shows in GETZCNT. */
static inline int must_pass(
	const struct slot *s, struct semset *set, const struct request *r)
{
	u32 i;

	if (!r->alter || !set->n_waiters)
		return 0;
	if (set->zero_arrays.head || r->a.n > MAX_DIRTY)
		return 1;
	for (i = 0; i < r->a.n; i++) {
		const struct sem *sem = &sem_array(set)[r->a.sops[i].num];

		if (sem->alter.head || sem->zero.head ||
			arrays_concerned(s, set, sem))
			return 1;
	}
	return 0;
}

/*
 * A sleeper was granted that will most likely let the next one through in a
 * moment. The next one is woken now, so that it spins until its turn comes: a
 * queue in which each sleeper is woken only when it is granted stays as slow as
 * a wake-up. It does not pay where those granted have other things to do first;
 * so it is done for a burst of holds now and then, and in every other burst
 * while such spins succeed; not where all have run on one CPU lately.
 */
static void prewake_next(
	struct caller *c, struct slot *s, struct semset *set, u32 num)
{
	struct waiter *w = wait_at(c, sem_array(set)[num].alter.head);

	if (w && c->same_cpu <= SAME_CPU_MANY &&
		(s->lock.count % EARLY_TURN < EARLY_BURST ||
			(s->lock.count / EARLY_BURST % 2 &&
				spin_pays(set->spin))))
		wait_prewake(c, w);
}

/* The array was applied: commit it and let others through. As sem_pass. */
HOT static int finish(struct caller *c, struct slot *s, struct semset *set,
	const struct request *r, u32 holders)
{
	u16 nums[MAX_DIRTY];
	u32 i;

	if (set->n_adj > holders && set->n_waiters)
		sem_tell(c, set, &r->a);
	if (must_pass(s, set, r)) {
		int all = r->a.n > MAX_DIRTY;

		for (i = 0; i < r->a.n && !all; i++)
			nums[i] = r->a.sops[i].num;
		journal_set16(c, &set->pass_pending, 1);
		sem_crash_guard(c, s, set, all ? NULL : nums, r->a.n);
		journal_commit(c);
		if (unlikely(sem_pass(c, s, set, all ? NULL : nums, r->a.n)))
			return -EIDRM;
		if (r->a.n == 1 && c->n_grants == 1)
			prewake_next(c, s, set, nums[0]);
	} else {
		journal_commit(c);
	}
	if (r->a.n == 1 && !r->undo)
		note_idle(s, set, &sem_array(set)[r->a.sops[0].num]);
	return 0;
}

/* Space for enqueue; the lock is held and nothing under way. Not before: a
 * signal handler's calls use the same block. */
static int sops_reserve(struct caller *c, u32 n)
{
	struct waiter *w = wait_own(c);
	u64 need = (u64)n * sizeof(struct sop);

	if (likely(n <= WAITER_SOPS_INLINE) ||
		(w->ext.off && w->ext_cap >= need))
		return 0;
	/* The capacity counts only while there is a block: it is right at
	 * every moment, for the record's next owner too. */
	if (w->ext.off)
		heap_free_at(c, w->ext_cap, &w->ext);
	atom_store_release(&w->ext_cap, need);
	return heap_alloc_at(c, need, &w->ext);
}

/* The array blocks at `op`; the lock is held and is released. A frame of its
 * own, for few calls sleep. */
HOT static __attribute__((noinline)) int sleep_for(struct caller *c,
	struct slot *s, struct semset *set, const struct request *r, u32 op)
{
	const struct sop blocked = r->a.sops[op];
	const u32 last = SEM_PID(sem_array(set)[blocked.num].lo);
	const s32 id = IDENT_ID(s->ident);
	struct sem_sleep ss;
	int result;

	ss.sl = (struct sleeper){&sem_sleep_class, s,
		.deadline_ns = r->deadline_ns, .watch = &ss.watch};
	ss.alone = !set->n_waiters && s->size <= ALONE_SEMS;
	ss.doubled = 0;
	enqueue(c, s, set, &r->a, op, r->alter);
	watch_holders(c, set, &ss);
	ss.watch.late = 1;
	ss.sl.first = what_first(c, set, wait_own(c)->ident);
	sleep_arm(c, &ss.sl);
	sem_unlock(c, s);
	USDT4(sem_wait, id, blocked.num, blocked.op, last);
	result = sleep_run(c, &ss.sl);
	USDT3(sem_granted, id, blocked.num, result);
	return result;
}

/* The set's lock, with what the operation needs at hand and exited holders
 * looked after: 0 with *ret_set and the lock held. */
static inline int op_begin(struct caller *c, struct slot *s, u64 ident,
	struct request *r, struct semset **ret_set)
{
	struct semset *set;
	u32 gone;
	int err;

	for (;;) {
		err = sem_lock(c, s, ident);
		if (err)
			return err;
		*ret_set = set = sem_body(c, s);
		if (!set) {
			sem_unlock(c, s);
			return -EINVAL;
		}
		/* A signal handler has forked, and we are the child. */
		if (unlikely(r->undo && r->a.undo->task != c->task)) {
			sem_unlock(c, s);
			err = undo_get(c, s, ident, &r->a.undo);
			if (err)
				return err;
			continue;
		}
		/* Its journal, too: what was reserved was the parent's. */
		err = journal_reserve(c, array_entries(r->a.n, r->undo));
		if (unlikely(err)) {
			sem_unlock(c, s);
			return err;
		}
		gone = set->n_adj ? undo_suspect(c, set, 0, TASK_LOOK_NOT) : 0;
		if (likely(!gone))
			return 0;
		sem_unlock(c, s);
		/* Alive after all (exec, another thread ended): go on. */
		if (!reap_task(c, gone))
			return sem_lock(c, s, ident);
	}
}

HOT static int op_once(
	struct caller *c, struct slot *s, u64 ident, struct request *r)
{
	struct semset *set;
	u32 i, op = 0, holders;
	int err = op_begin(c, s, ident, r, &set);

	if (err)
		return err;
	/* It was checked without the lock: what differs now is damaged. */
	r->a.n_sems = sem_count(s);
	if (unlikely(r->max_num >= r->a.n_sems)) {
		sem_unlock(c, s);
		return -EIO;
	}
	note_operator(c, s, set);
	if (set->n_waiters == 1 && r->a.n == 1 && !r->undo &&
		sem_hand_over(c, s, set, r->a.sops)) {
		sem_unlock(c, s);
		return 0;
	}
	for (i = 0; i < r->a.n; i++)
		sem_own(&sem_array(set)[r->a.sops[i].num]);
	holders = set->n_adj;
	err = array_try(c, set, &r->a, &op);
	if (err == 0) {
		if (likely(!finish(c, s, set, r, holders)))
			consider_bias(c, s, set, ident);
		sem_unlock(c, s);
		return 0;
	}
	if (err == BLOCKED &&
		((r->a.sops[op].flg & SEM_IPC_NOWAIT) || r->no_wait))
		err = -EAGAIN;
	if (err == BLOCKED)
		err = sops_reserve(c, r->a.n);
	if (err) {
		sem_unlock(c, s);
		return err;
	}
	return sleep_for(c, s, set, r, op);
}

/* After an error: is it worth another try? */
static __attribute__((noinline)) int try_again(
	struct caller *c, struct slot *s, u64 ident, int err)
{
	return err == SLEEP_RETRY ||
	       (err == -EAGAIN && reap_holder(c, s, ident));
}

HOT static int op_locked(
	struct caller *c, struct slot *s, u64 ident, struct request *r)
{
	int err;

	do
		err = op_once(c, s, ident, r);
	while (unlikely(err) && try_again(c, s, ident, err));
	return err;
}

HOT int sem_op_one(
	struct caller *c, struct slot *s, u64 ident, const struct sop *op)
{
	struct request r = {.a = {.sops = op, .n = 1, .pid = c->pid},
		.alter = op->op != 0,
		.max_num = op->num};
	int err = caller_enroll(c);

	if (likely(!err))
		err = journal_reserve(c, array_entries(1, 0));
	return unlikely(err) ? err : op_locked(c, s, ident, &r);
}

static int op_checked(struct caller *c, s32 id, struct request *r)
{
	struct slot *s;
	u64 ident;
	int err;

	s = ids_find(c, FAC_SEM, id, &ident);
	if (!s)
		return -EINVAL;
	err = caller_enroll(c);
	if (err)
		return err;
	request_scan(r);
	if (r->undo) {
		err = undo_get(c, s, ident, &r->a.undo);
		if (err)
			return err == -EIDRM ? -EINVAL : err;
	}
	if (r->max_num >= s->size)
		return perm_refusal(s, ident, -EFBIG);
	err = perm_check_of(c, s, ident, r->alter ? PERM_W : PERM_R);
	if (err)
		return err;
	err = journal_reserve(c, array_entries(r->a.n, r->undo));
	if (err)
		return err;
	return op_locked(c, s, ident, r);
}

/* timeout as read: 0 with r->deadline_ns and no_wait, or -EINVAL. */
static int deadline_of(const struct sys_timespec *t, struct request *r)
{
	const u64 forever = ~0ULL >> 1;
	u64 now;

	if (t->sec < 0 || t->nsec < 0 || t->nsec >= 1000000000)
		return -EINVAL;
	r->no_wait = !t->sec && !t->nsec;
	now = sys_monotonic_ns();
	r->deadline_ns = t->sec > 4000000000LL
				 ? forever
				 : now + (u64)t->sec * 1000000000 + t->nsec;
	return 0;
}

static int op_copied(struct caller *c, s32 id, const struct sop *user,
	const struct sys_timespec *timeout, struct request *r, struct sop *buf)
{
	int err = guard_read(c, buf, user, r->a.n * sizeof(struct sop));

	if (err)
		return err;
	if (id < 0)
		return -EINVAL;
	if (timeout) {
		err = deadline_of(timeout, r);
		if (err)
			return err;
	}
	r->a.sops = buf;
	return op_checked(c, id, r);
}

/* The usual large array: not on the stack, which may be a handler's. */
static __attribute__((noinline)) int op_large(struct caller *c, s32 id,
	const struct sop *user, const struct sys_timespec *timeout,
	struct request *r)
{
	static void *kept;
	const size_t size = LARGE_SOPS * sizeof(struct sop);
	struct sop *buf = sys_kept_take(&kept, size);
	int err;

	if ((unsigned long)buf > -4096UL)
		return -ENOMEM;
	err = op_copied(c, id, user, timeout, r, buf);
	sys_kept_give(&kept, buf, size);
	return err;
}

static __attribute__((noinline)) int op_huge(struct caller *c, s32 id,
	const struct sop *user, const struct sys_timespec *timeout,
	struct request *r)
{
	u64 len = (u64)r->a.n * sizeof(struct sop);
	struct sop *buf = sys_mmap_private(len);
	int err;

	if ((unsigned long)buf > -4096UL)
		return -ENOMEM;
	err = op_copied(c, id, user, timeout, r, buf);
	sys_call(__NR_munmap, buf, len);
	if (c->thread) {
		journal_trim(c);
		heap_trim(c, wait_own(c)->ext_cap, &wait_own(c)->ext);
	}
	return err;
}

int sem_op_slow(struct caller *c, s32 id, const struct sop *user, u32 n,
	const struct sys_timespec *timeout)
{
	struct request r = {.a = {.n = n, .pid = c->pid}};
	struct sys_timespec t;
	struct sop buf[LOCAL_SOPS];
	u32 opm;

	controlfile_drain(c);
	opm = caller_header(c)->limits.semopm;
	if (timeout && guard_read(c, &t, timeout, sizeof(t)))
		return -EFAULT;
	if (n > opm)
		return limit_hit(c, LIMIT_SEMOPM, opm, n, -E2BIG);
	if (n == 0)
		return -EINVAL;
	if (n > SOPS_MOST)
		return -ENOMEM;
	timeout = timeout ? &t : NULL;
	if (n <= LOCAL_SOPS)
		return op_copied(c, id, user, timeout, &r, buf);
	if (n <= LARGE_SOPS)
		return op_large(c, id, user, timeout, &r);
	return op_huge(c, id, user, timeout, &r);
}
