// SPDX-License-Identifier: MIT
/*
 * GETALL and SETALL (doc/kernel-semantics.md §4.7), which show and set all
 * values as they are at one moment.
 *
 * In a large set that moment is kept short, for everybody waits for the lock
 * meanwhile. 32,000 semaphores, quiet machine: a locked instruction for each
 * and a journal of each, as in a small set, take 2.2 ms; here GETALL needs no
 * lock in a quiet set, else about 50 us, and SETALL about 100.
 *
 * The words are owned beforehand, some a hold. Who takes one free in between
 * does no harm: it is owned again when it is met, and an operation that went by
 * it until then came before.
 *
 * SETALL's values are written to a block first. Its commit hands the block to
 * the set (sem.all of the first semaphore): from then on it has happened, and
 * what remains are plain stores of values that are known. Should the owner die,
 * the next one does them all again before he looks at anything (sem_lock_any).
 */
#include "base/copy.h"
#include "index/ids.h"
#include "object/perm.h"
#include "registry/damage.h"
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "sem/sem.h"
#include "sem/semop.h"

/* A set from this size on is large: the values of a smaller one fit a hold of
 * some microseconds. Semaphores owned in one hold. Both arbitrary; tests/crash
 * and tests/explore stop at each store, so theirs are small. */
#if defined(IPCLIFT_CRASH) || defined(IPCLIFT_EXPLORE)
#define LARGE_SET 3u
#define OWN_STEP 2u
#else
#define LARGE_SET 256u
#define OWN_STEP 256u
#endif
/* Looks without the lock, before it is taken, and after how many semaphores one
 * ends early. Arbitrary. */
#define PEEKS 3
#define PEEK_STEP 64u
/* A block of values this large is not kept. Arbitrary. */
#define KEPT_VALUES 4096u

int sem_set_size(struct caller *c, s32 id, u32 want)
{
	struct slot *s;
	u64 ident;
	int err = object_allowed(c, FAC_SEM, id, want, &s, &ident);

	return err ? err : (int)sem_count(s);
}

static int find(struct caller *c, s32 id, u32 n, struct slot **ret, u64 *ident)
{
	struct slot *s = ids_find(c, FAC_SEM, id, ident);

	*ret = s;
	return !s || sem_count(s) != n ? -EIDRM : caller_enroll(c);
}

/* ---- owning beforehand ---- */

/* Are all of them owned? Reads them, without the lock. A thread that sleeps on
 * one of them goes to *ret_sleeper. */
static int step_owned(const struct sem *sems, u32 n, u32 *ret_sleeper)
{
	u32 i, sleeper = 0;
	u64 owned = SEM_OWNED;

	for (i = 0; i < n; i++) {
		owned &= atom_load_relaxed(&sems[i].lo);
		sleeper |= sems[i].alter.head | sems[i].zero.head;
	}
	for (i = 0; sleeper && i < n; i++) {
		if (sems[i].alter.head | sems[i].zero.head)
			*ret_sleeper = sems[i].alter.head ? sems[i].alter.head
							  : sems[i].zero.head;
	}
	return owned != 0;
}

/* 0, -EIDRM. No lock is held; afterwards most words are owned, and in the
 * cache. */
static int own_beforehand(
	struct caller *c, struct slot *s, u64 ident, u32 n, u32 *ret_sleeper)
{
	struct semset *set;
	u32 i, k, step;

	for (i = 0; i < n; i += step) {
		step = n - i < OWN_STEP ? n - i : OWN_STEP;
		set = sem_body(c, s);
		if (!set || atom_load_acquire(&s->ident) != ident)
			return -EIDRM;
		if (step_owned(sem_array(set) + i, step, ret_sleeper))
			continue;
		if (sem_lock(c, s, ident))
			return -EIDRM;
		set = sem_body(c, s);
		for (k = i; set && k < i + step; k++)
			sem_own(&sem_array(set)[k]);
		sem_unlock(c, s);
	}
	return 0;
}

void sem_warm(struct caller *c, s32 id)
{
	u64 ident;
	struct slot *s = id < 0 ? NULL : ids_find(c, FAC_SEM, id, &ident);
	struct semset *set =
		s && sem_count(s) >= LARGE_SET ? sem_body(c, s) : NULL;
	u32 sleeper;

	if (set && set->n_waiters)
		step_owned(sem_array(set), sem_count(s), &sleeper);
}

void sem_crash_guard_any(
	struct caller *c, struct slot *s, struct semset *set, u32 sleeper)
{
	struct sem *sems = sem_array(set);
	struct waiter *w = wait_at(c, sleeper);
	u32 i;

	if (sem_count(s) <= ALONE_SEMS) {
		sem_crash_guard(c, s, set, NULL, 0);
		return;
	}
	if (w && (w->state != WAIT_QUEUED || w->facility != FAC_SEM ||
			 w->ident != s->ident || wait_dead(w)))
		w = NULL;
	if (!w)
		w = wait_first_alive(c, &set->complex);
	if (!w)
		w = wait_first_alive(c, &set->zero_arrays);
	for (i = 0; i < sem_count(s) && !w; i++) {
		w = wait_first_alive(c, &sems[i].alter);
		if (!w)
			w = wait_first_alive(c, &sems[i].zero);
	}
	if (w)
		wait_crash_guard(c, w);
}

/* ---- GETALL ---- */

/* Without the lock: 1 if all words were owned and nobody took the lock
 * meanwhile, so that the values are of one moment. */
static int getall_peek(
	const struct caller *c, struct slot *s, u64 ident, u16 *ret, u32 n)
{
	struct semset *set = sem_body(c, s);
	u64 count, lo, owned = SEM_OWNED;
	struct sem *sems;
	u32 i = 0, end;

	if (!lock_peek_begin(&s->lock, &count) ||
		atom_load_acquire(&s->ident) != ident || !set ||
		atom_load_relaxed(&s->bias) ||
		(atom_load_acquire(&set->n_adj) && !undo_none_suspect(c, set)))
		return 0;
	sems = sem_array(set);
	while (i < n && owned)
		for (end = n - i < PEEK_STEP ? n : i + PEEK_STEP; i < end;
			i++) {
			lo = atom_load_acquire(&sems[i].lo);
			owned &= lo;
			ret[i] = SEM_VALUE(lo);
		}
	return owned && lock_peek_valid(&s->lock, count) &&
	       !atom_load_relaxed(&s->bias) &&
	       atom_load_acquire(&s->ident) == ident;
}

static int getall_locked(
	struct caller *c, struct slot *s, u64 ident, u16 *ret, u32 n)
{
	struct semset *set;
	struct sem *sems;
	u64 lo, free = 0;
	u32 i;
	int err = sem_lock_reaped(c, s, ident, 0, &set);

	if (err)
		return err;
	sems = sem_array(set);
	/* Owned for the time of the copy: one moment for all values. */
	for (i = 0; i < n; i++) {
		lo = atom_load_acquire(&sems[i].lo);
		free |= ~lo;
		ret[i] = SEM_VALUE(lo);
	}
	for (i = 0; (free & SEM_OWNED) && i < n; i++)
		sem_own(&sems[i]);
	for (i = 0; (free & SEM_OWNED) && i < n; i++)
		ret[i] = SEM_VALUE(sems[i].lo);
	sem_unlock(c, s);
	return n;
}

int sem_getall(struct caller *c, s32 id, u16 *ret, u32 n)
{
	struct slot *s;
	u64 ident;
	u32 sleeper = 0, i;
	int err = find(c, id, n, &s, &ident);

	if (err)
		return err;
	/* Mostly all are owned since the last time: one walk is enough. */
	for (i = 0; n >= LARGE_SET && i < PEEKS; i++) {
		if (getall_peek(c, s, ident, ret, n))
			return n;
		if (own_beforehand(c, s, ident, n, &sleeper))
			return -EIDRM;
	}
	return getall_locked(c, s, ident, ret, n);
}

/* ---- SETALL ---- */

static u64 values_size(u32 n)
{
	return sizeof(struct sem_values) + n * sizeof(u16);
}

/* The values of a set as it has them to store, or NULL. */
static struct sem_values *values_of(
	const struct caller *c, const struct slot *s, struct semset *set)
{
	struct sem_values *v = ref_at(c, sem_array(set)->all);
	u32 n = sem_count(s);

	return v && v->n == n && v->cap >= values_size(n) ? v : NULL;
}

/* The values go to a block of the own thread's. */
static int values_make(struct caller *c, const u16 *values, u32 n)
{
	struct waiter *w = wait_own(c);
	u64 cap = heap_block_size(values_size(n));
	struct sem_values *v;
	int err = 0;

	if (w->ext.off && w->ext_cap != cap)
		heap_free_at(c, w->ext_cap, &w->ext);
	if (!w->ext.off) {
		atom_store_release(&w->ext_cap, cap);
		err = heap_alloc_at(c, cap, &w->ext);
	}
	if (err)
		return err;
	v = region_span(&c->region, w->ext, cap);
	if (!v)
		return -ENOMEM;
	v->cap = cap;
	v->pid = c->pid;
	v->n = n;
	copy_bytes(v->value, values, n * sizeof(u16));
	return 0;
}

/* The set is done with its block, which becomes the thread's. */
static void values_back(struct caller *c, struct semset *set, u64 cap)
{
	struct ref *all = &sem_array(set)->all;
	struct waiter *w = wait_own(c);

	if (w->ext.off) {
		heap_free_at(c, cap, all);
		return;
	}
	atom_store_release(&w->ext_cap, cap);
	journal_set64(c, &w->ext.off, all->off);
	journal_set64(c, &all->off, 0);
	journal_commit(c);
}

/* Semaphores on which somebody sleeps. */
struct wanted {
	u32 n; /* beyond MAX_DIRTY: all */
	u16 num[MAX_DIRTY];
};

static void wanted_add(struct wanted *to, const struct sem *sem, u32 num)
{
	if (likely(!(sem->alter.head | sem->zero.head)))
		return;
	if (to->n < MAX_DIRTY)
		to->num[to->n] = (u16)num;
	to->n++;
}

/* Store them all; committed. v NULL: they are not there, for somebody else has
 * written to the block. */
static void values_store(struct caller *c, struct slot *s, struct semset *set,
	const struct sem_values *v, struct wanted *to)
{
	struct sem *sems = sem_array(set);
	u32 i, n = sem_count(s), pid;

	if (unlikely(!v)) {
		atom_store_release(&sems->all.off, 0);
		return;
	}
	pid = v->pid;
	for (i = 0; i < n; i++) {
		sem_own(&sems[i]);
		atom_store_release(&sems[i].lo,
			lo_make(sems[i].lo, v->value[i] & SEMVMX, pid));
		wanted_add(to, &sems[i], i);
	}
	values_back(c, set, v->cap);
}

void sem_setall_rest(struct caller *c, struct slot *s, struct semset *set)
{
	struct wanted to = {.n = 0};

	if (unlikely(sem_count(s) >= LARGE_SET && sem_array(set)->all.off))
		values_store(c, s, set, values_of(c, s, set), &to);
}

/* Arrays are looked at by what they name, waits for zero in any case. */
static void pass(struct caller *c, struct slot *s, struct semset *set,
	const struct wanted *to)
{
	if (to->n > MAX_DIRTY || set->complex.head || set->zero_arrays.head)
		sem_pass(c, s, set, NULL, 0);
	else
		sem_pass(c, s, set, to->num, to->n);
}

/* What both ways commit. */
static void commit(
	struct caller *c, struct slot *s, struct semset *set, u32 sleeper)
{
	journal_set64(c, (u64 *)&s->ctime, sys_realtime_sec());
	journal_set16(c, &set->pass_pending, 1);
	if (set->n_waiters)
		sem_crash_guard_any(c, s, set, sleeper);
	journal_commit(c);
}

static int setall_large(
	struct caller *c, struct slot *s, struct semset *set, u32 sleeper)
{
	struct ref *all = &sem_array(set)->all;
	struct waiter *w = wait_own(c);
	struct wanted to = {.n = 0};

	undo_clear(c, set, -1);
	if (unlikely(c->damaged))
		return damage_abort(c);
	journal_set64(c, &all->off, w->ext.off);
	journal_set64(c, &w->ext.off, 0);
	commit(c, s, set, sleeper);
	values_store(c, s, set, values_of(c, s, set), &to);
	pass(c, s, set, &to);
	return 0;
}

/* n: semaphores and values, for which there is space. */
static int setall_small(struct caller *c, struct slot *s, struct semset *set,
	const u16 *values, u32 n)
{
	struct sem *sems = sem_array(set);
	u32 i;

	undo_clear(c, set, -1);
	if (unlikely(journal_left(c) < (s64)n + 16))
		damage_met(c);
	if (unlikely(c->damaged))
		return damage_abort(c);
	for (i = 0; i < n; i++) {
		sem_own(&sems[i]);
		journal_set64(
			c, &sems[i].lo, lo_make(sems[i].lo, values[i], c->pid));
	}
	commit(c, s, set, 0);
	sem_pass(c, s, set, NULL, 0);
	return 0;
}

static int setall_once(struct caller *c, struct slot *s, u64 ident,
	const u16 *values, u32 n, u32 sleeper)
{
	int small = n < LARGE_SET, err;
	struct semset *set;

	err = sem_lock_reaped(c, s, ident, 0, &set);
	if (err)
		return err;
	err = sem_count(s) != n
		      ? -EIDRM
		      : journal_reserve(
				c, (small ? n : 0) + 16 +
					   undo_clear_entries(c, set, -1));
	if (!err)
		err = small ? setall_small(c, s, set, values, n)
			    : setall_large(c, s, set, sleeper);
	sem_unlock(c, s);
	journal_trim(c);
	return err;
}

int sem_setall(struct caller *c, s32 id, const u16 *values, u32 n)
{
	u32 sleeper = 0, i;
	struct slot *s;
	u64 ident;
	int err;

	for (i = 0; i < n; i++)
		if (values[i] > SEMVMX)
			return -ERANGE;
	err = find(c, id, n, &s, &ident);
	if (err)
		return err;
	if (n < LARGE_SET)
		return setall_once(c, s, ident, values, n, 0);
	/* A handler's calls use the block of values, too. */
	section_begin(c);
	err = values_make(c, values, n);
	if (!err)
		err = own_beforehand(c, s, ident, n, &sleeper);
	if (!err)
		err = setall_once(c, s, ident, values, n, sleeper);
	if (values_size(n) > KEPT_VALUES && wait_own(c)->ext.off)
		heap_free_at(c, wait_own(c)->ext_cap, &wait_own(c)->ext);
	section_end(c);
	return err;
}
