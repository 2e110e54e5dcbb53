// SPDX-License-Identifier: MIT
/*
 * Semaphore sets: creation, removal, and the commands of semctl(2)
 * (doc/kernel-semantics.md §4.1, §4.7-4.9).
 *
 * Keeps INV_GENERATION (inspect/check.h).
 */
#include "object/controlfile.h"
#include "object/limits.h"
#include "object/object.h"
#include "object/perm.h"
#include "object/reap.h"
#include "registry/bias.h"
#include "registry/journal/reserve.h"
#include "sem/sem.h"
#include "sem/undo.h"

/* ---- the class ---- */

static struct limits *limits(struct caller *c)
{
	return &caller_header(c)->limits;
}

static int class_check(struct caller *c, const struct slot *s, u64 size)
{
	(void)c;
	return size > s->size ? -EINVAL : 0;
}

static int class_admit(struct caller *c, u64 size)
{
	struct id_table *t = &caller_header(c)->ids[FAC_SEM];
	s64 max = limits(c)->semmns;

	if (size == 0)
		return -EINVAL;
	if ((s64)(t->total + size) > max)
		return limit_hit(
			c, LIMIT_SEMMNS, (u64)max, t->total + size, -ENOSPC);
	return 0;
}

static s32 class_max(struct caller *c)
{
	return limits(c)->semmni;
}

static u64 class_body_size(u64 size)
{
	return size <= SEMS_MOST ? sem_body_size(size) : ~0ULL;
}

static void body_init(void *body, u64 gen, u64 size)
{
	struct semset *set = body;
	struct sem *sems = sem_array(set);
	u64 i;

	*set = (struct semset){.pass_pending = 0};
	for (i = 0; i < size; i++) {
		/* First what makes a fast operation on the set that was here
		 * before fail, then what it compares with. */
		atom_store_release(&sems[i].hi, SEM_GEN_HI(gen));
		atom_store_release(&sems[i].lo, SEM_GEN_LO(gen));
		sems[i].alter = sems[i].zero = (struct wait_queue){0, 0};
		if (size > 1)
			sems[i].arrays = 0;
	}
	if (size > 1)
		sems[0].all.off = 0;
}

static void class_init(struct caller *c, struct slot *s, u64 gen, u64 size)
{
	struct semset *set = sem_body(c, s);

	if (likely(set))
		body_init(set, gen, size);
}

static u64 class_weight(u64 size)
{
	return size;
}

/*
 * The words become owned, so that a fast operation under way fails. By plain
 * stores, a tenth of the price of compare-and-swaps: one that comes between the
 * load and the store has happened before the removal, and the value that it
 * left counts no more. Behind the fence none can come.
 */
static void own_all(struct sem *sems, u64 n)
{
	u64 i;

	for (i = 0; i < n; i++)
		atom_store_release(&sems[i].lo,
			atom_load_relaxed(&sems[i].lo) | SEM_OWNED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static void class_scrub(void *body, u64 bytes)
{
	u64 n = bytes / sizeof(struct sem);

	own_all(sem_array(body), n ? n - 1 : 0);
}

/* Of a large set they do later; an operation that succeeds until then was
 * before the removal. */
static int class_empty(struct caller *c, struct slot *s)
{
	struct semset *set = sem_body(c, s);

	if (!set)
		return 0;
	if (s->size == 1 || sem_body_size(sem_count(s)) < HEAP_LARGE)
		own_all(sem_array(set), sem_count(s));
	if (unlikely(sem_cancel_some(c, s, set, -EIDRM)))
		return 1;
	wait_crash_guard_end(c);
	undo_drop_all(c, set);
	return 0;
}

static void class_crash_guard(struct caller *c, struct slot *s)
{
	struct semset *set = sem_body(c, s);

	if (set && set->n_waiters)
		sem_crash_guard_any(c, s, set, 0);
}

static const struct object_class sem_class = {
	.facility = FAC_SEM,
	.check = class_check,
	.admit = class_admit,
	.max_objects = class_max,
	.max_limit = LIMIT_SEMMNI,
	.body_size = class_body_size,
	.has_bodies = 1,
	.init = class_init,
	.init_early = body_init,
	.scrub = class_scrub,
	.weight = class_weight,
	.empty = class_empty,
	.lock = sem_lock_any,
	.crash_guard = class_crash_guard,
};

void sem_finish_removal(struct caller *c)
{
	object_fac_lock(c, &sem_class);
	object_fac_unlock(c, &sem_class);
}

int sem_get(struct caller *c, s32 key, s32 nsems, s32 flg)
{
	s32 max;

	controlfile_drain(c);
	max = limits(c)->semmsl;
	if (unlikely(nsems < 0 || nsems > max))
		return nsems < 0 ? -EINVAL
				 : limit_hit(c, LIMIT_SEMMSL, (u64)(s64)max,
					   (u64)nsems, -EINVAL);
	return object_get(c, &sem_class, key, nsems, flg);
}

/* A pass over many sleepers is under way, others having their turn: better
 * finished before the facility's lock is held. */
static void finish_pass(struct caller *c, s32 id)
{
	u64 ident;
	struct slot *s = id < 0 ? NULL : ids_find(c, FAC_SEM, id, &ident);

	if (likely(!s || !(atom_load_relaxed(&s->lock.word) & SYS_OWNER_DIED)))
		return;
	if (!caller_enroll(c) && !sem_lock(c, s, ident))
		sem_unlock(c, s);
}

int sem_remove(struct caller *c, s32 id)
{
	sem_warm(c, id);
	finish_pass(c, id);
	return object_remove(c, &sem_class, id);
}

/* ---- commands on one semaphore ---- */

/* Turns that reaped nobody, after which what exited tasks left stays for
 * whoever comes next; arbitrary. */
#define REAPED_IN_VAIN 1000u

int sem_lock_reaped(struct caller *c, struct slot *s, u64 ident, int all,
	struct semset **ret)
{
	struct semset *set;
	u32 gone, in_vain = 0;
	int err;

	for (;;) {
		err = sem_lock(c, s, ident);
		if (err)
			return err;
		set = sem_body(c, s);
		if (!set) {
			sem_unlock(c, s);
			return -EINVAL;
		}
		gone = all || set->n_adj ? undo_suspect(c, set, all, TASK_LOOK)
					 : 0;
		if (likely(!gone) || in_vain == REAPED_IN_VAIN) {
			*ret = set;
			return 0;
		}
		sem_unlock(c, s);
		/* Each turn that reaps one leaves fewer. */
		if (!reap_task(c, gone))
			in_vain++;
	}
}

/*
 * Value and pid of a word without the lock: if it is not owned, its one load
 * is the answer. If it is, it counts when nobody held the lock before and
 * after, and nobody took it between, or if the set is biased to us. 0 if it
 * cannot be told.
 */
static int peek(const struct caller *c, const struct slot *s,
	const struct semset *set, const struct sem *sem, u64 *ret_lo)
{
	u64 count, lo = atom_load_acquire(&sem->lo);
	u64 bias = atom_load_relaxed(&s->bias);

	if (likely(!(lo & SEM_OWNED) || bias == c->bias_id)) {
		*ret_lo = lo;
		return 1;
	}
	count = atom_load_acquire(&s->lock.count);
	if (bias || lock_busy(&s->lock) || atom_load_acquire(&set->n_adj))
		return 0;
	lo = atom_load_acquire(&sem->lo);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	*ret_lo = lo;
	return !lock_busy(&s->lock) && !atom_load_relaxed(&s->bias) &&
	       atom_load_relaxed(&s->lock.count) == count;
}

/* The word of semaphore num: id, rights, num in this order. */
static int read_word(struct caller *c, s32 id, s32 num, u64 *ret_lo)
{
	struct semset *set;
	struct slot *s;
	u64 ident;
	int err;

	s = ids_find(c, FAC_SEM, id, &ident);
	if (unlikely(!s))
		return -EINVAL;
	err = perm_check_of(c, s, ident, PERM_R);
	if (unlikely(err))
		return err;
	if (unlikely(num < 0 || (u32)num >= sem_count(s)))
		return -EINVAL;
	set = sem_body(c, s);
	if (likely(set && peek(c, s, set, &sem_array(set)[num], ret_lo) &&
		    atom_load_acquire(&s->ident) == ident))
		return 0;
	err = caller_enroll(c);
	if (!err)
		err = sem_lock_reaped(c, s, ident, 0, &set);
	if (err)
		return err;
	*ret_lo = sem_array(set)[num].lo;
	sem_unlock(c, s);
	return 0;
}

static __attribute__((noinline)) int getval_slow(
	struct caller *c, s32 id, s32 num)
{
	u64 lo;
	int err = read_word(c, id, num, &lo);

	return err ? err : (int)SEM_VALUE(lo);
}

/* The common case of read_word, without calls. */
int sem_getval(struct caller *c, s32 id, s32 num)
{
	u64 ident, lo, body;
	struct slot *s = ids_find(c, FAC_SEM, id, &ident);

	if (unlikely(!s || (u32)num >= s->size || perm_check(c, s, PERM_R)))
		return getval_slow(c, id, num);
	body = sem_off(atom_load_relaxed(&s->body.off), (u32)num);
	if (unlikely(sem_off_nowhere(body)))
		return getval_slow(c, id, num);
	lo = atom_load_acquire(
		&((struct sem *)region_at(&c->region, body))->lo);
	if (unlikely((lo & SEM_OWNED) &&
		     atom_load_relaxed(&s->bias) != c->bias_id))
		return getval_slow(c, id, num);
	if (unlikely(atom_load_acquire(&s->ident) != ident))
		return getval_slow(c, id, num);
	return SEM_VALUE(lo);
}

int sem_getpid(struct caller *c, s32 id, s32 num)
{
	u64 lo;
	int err = read_word(c, id, num, &lo);

	return err ? err : (int)SEM_PID(lo);
}

static int get_count(struct caller *c, s32 id, s32 num, int at_zero)
{
	struct semset *set;
	struct slot *s;
	u64 ident, lo;
	int err = read_word(c, id, num, &lo);

	if (err)
		return err;
	s = ids_find(c, FAC_SEM, id, &ident);
	if (!s)
		return -EIDRM;
	err = caller_enroll(c);
	if (!err)
		err = sem_lock_reaped(c, s, ident, 0, &set);
	if (err)
		return err;
	err = sem_count_blocked(c, s, set, num, at_zero);
	sem_unlock(c, s);
	return err;
}

int sem_getncnt(struct caller *c, s32 id, s32 num)
{
	return get_count(c, id, num, 0);
}

int sem_getzcnt(struct caller *c, s32 id, s32 num)
{
	return get_count(c, id, num, 1);
}

/* Commit a SETVAL and let sleepers through; as sem_pass. Linux then tries all
 * that sleep on the set. Of single operations only those on this semaphore can
 * go on; arrays of zeros are tried in any case, which shows in GETZCNT. */
static int changed(
	struct caller *c, struct slot *s, struct semset *set, u16 num)
{
	const u16 *nums = set->zero_arrays.head ? NULL : &num;

	journal_set64(c, (u64 *)&s->ctime, sys_realtime_sec());
	journal_set16(c, &set->pass_pending, 1);
	if (set->n_waiters)
		sem_crash_guard(c, s, set, nums, 1);
	journal_commit(c);
	return sem_pass(c, s, set, nums, 1);
}

int sem_setval(struct caller *c, s32 id, s32 num, s32 val)
{
	struct semset *set;
	struct slot *s;
	struct sem *sem;
	u64 ident;
	int err;

	if (id < 0)
		return -EINVAL;
	if (val < 0 || val > SEMVMX)
		return -ERANGE;
	s = ids_find(c, FAC_SEM, id, &ident);
	if (!s || num < 0 || (u32)num >= sem_count(s))
		return -EINVAL;
	err = perm_check_of(c, s, ident, PERM_W);
	if (!err)
		err = caller_enroll(c);
	if (!err)
		err = sem_lock_reaped(c, s, ident, 0, &set);
	if (err)
		return err;
	err = journal_reserve(c, undo_clear_entries(c, set, num) + 8);
	if (!err) {
		sem = &sem_array(set)[num];
		sem_own(sem);
		undo_clear(c, set, num);
		if (unlikely(c->damaged)) {
			err = damage_abort(c);
		} else {
			journal_set64(c, &sem->lo,
				lo_make(atom_load_relaxed(&sem->lo), val,
					c->pid));
			if (!changed(c, s, set, (u16)num) && !set->n_waiters &&
				!set->n_adj)
				sem_disown(sem);
		}
	}
	sem_unlock(c, s);
	journal_trim(c);
	return err;
}

/* ---- the set as a whole ---- */

static s64 otime(struct semset *set, u32 nsems)
{
	struct sem *sems = sem_array(set);
	s64 latest = 0, t;
	u32 i;

	for (i = 0; i < nsems; i++) {
		t = SEM_OTIME(atom_load_relaxed(&sems[i].hi));
		if (t > latest)
			latest = t;
	}
	return latest;
}

/* A thread that the set is biased to changes none of these fields but the
 * times, one store each. */
static int stat_fill(struct caller *c, const struct slot *s, u64 ident,
	int locked, void *ret)
{
	struct sem_stat *st = ret;
	const struct ref body = {atom_load_relaxed(&s->body.off)};
	const u32 nsems = atom_load_relaxed(&s->size);
	struct semset *set = nsems <= SEMS_MOST ? region_span(&c->region, body,
							  sem_body_size(nsems))
						: NULL;

	if (!locked && (!set || !undo_none_suspect(c, set) ||
			       bias_look(&c->region, s) == BIAS_DIED))
		return -EBUSY;
	object_stat(c, s, ident, &st->object);
	st->nsems = nsems;
	st->otime = otime(set, nsems);
	return 1;
}

static int stat_lock(struct caller *c, struct slot *s, u64 ident)
{
	struct semset *set;

	return sem_lock_reaped(c, s, ident, 1, &set);
}

int sem_stat(struct caller *c, s32 id, enum object_by by, struct sem_stat *ret)
{
	static const struct object_stat_class k = {
		FAC_SEM, stat_fill, stat_lock};

	return object_stat_by(c, &k, id, by, &ret->object);
}

int sem_set_perm(struct caller *c, s32 id, u32 uid, u32 gid, u32 mode)
{
	struct semset *set;
	struct slot *s;
	u64 ident;
	int err = object_owned(c, FAC_SEM, id, &s, &ident);

	if (err)
		return err;
	if (uid == 0xffffffffu || gid == 0xffffffffu)
		return -EINVAL;
	err = caller_enroll(c);
	if (!err)
		err = sem_lock_reaped(c, s, ident, 0, &set);
	if (err)
		return err;
	object_set_locked(c, s, uid, gid, mode);
	journal_commit(c);
	sem_unlock(c, s);
	return 0;
}

int sem_info(struct caller *c, int totals, struct sem_info *ret)
{
	struct id_table *t = &caller_header(c)->ids[FAC_SEM];
	const struct limits *l = limits(c);
	int highest, err = caller_enroll(c);

	if (err)
		return err;
	controlfile_drain(c);
	object_fac_lock(c, &sem_class);
	*ret = (struct sem_info){
		.semmap = 1024000000,
		.semmni = l->semmni,
		.semmns = l->semmns,
		.semmnu = 1024000000,
		.semmsl = l->semmsl,
		.semopm = l->semopm,
		.semume = 500,
		.semusz = totals ? (s32)t->in_use : 20,
		.semvmx = SEMVMX,
		.semaem = totals ? (s32)t->total : SEMAEM,
	};
	highest = t->in_use ? ids_highest_locked(c, FAC_SEM) : 0;
	object_fac_unlock(c, &sem_class);
	return highest;
}
