// SPDX-License-Identifier: MIT
/*
 * Executing operation arrays: the lock-free path, the locked one, sleeping and
 * waking (KERNEL-SEMANTICS §4.2-4.5).
 *
 * Lock-free: a single operation that need not wait, without undo, on a word
 * that nobody owns, is one 16-byte compare-and-swap of {value, pid, otime,
 * generation}: its commit point, whole or not at all. The generation is that
 * of the set, so a set removed meanwhile makes it fail.
 *
 * Locked: everything else. The lock holder first owns the words (SEM_OWNED),
 * from then on fast callers come to the lock too. The commit is one store. If
 * values changed and somebody sleeps, pass_pending is part of the same
 * operation: should we die before all sleepers were tried, the next owner of
 * the lock tries them.
 */
#include "ipc/perm.h"
#include "ipc/semop.h"
#include "ipc/limits.h"
#include "registry/guard.h"
#include "registry/heap.h"

/* Locked simple operations without need before a word is given free again.
 * Arbitrary: more than one lock-step of a few contenders. */
#define CALM_LIMIT 32
/* With undo records about, sleepers look so often for holders that they do not
 * watch: those that came after they fell asleep. */
#define UNDO_SLICE_NS 20000000ULL
#define LOCAL_SOPS 32u
#define STACK_SOPS 512u

void sem_own(struct sem *sem)
{
	u64 lo = atom_load_relaxed(&sem->lo), hi = atom_load_relaxed(&sem->hi);

	while (!(lo & SEM_OWNED))
		atom_cas16(&sem->lo, &lo, &hi, lo | SEM_OWNED, hi);
}

/* ---- the set's lock ---- */

void sem_lock_any(struct caller *c, struct slot *s)
{
	struct semset *set;

	if (likely(!lock_acquire(c, &s->lock)))
		return;
	if (!(atom_load_acquire(&s->ident) & IDENT_LIVE))
		return;
	set = sem_body(c, s);
	if (set && set->pass_pending)
		sem_pass(c, s, set, NULL, 0);
}

int sem_lock(struct caller *c, struct slot *s, u64 ident)
{
	sem_lock_any(c, s);
	if (likely(atom_load_acquire(&s->ident) == ident))
		return 0;
	lock_release(c, &s->lock);
	return -EIDRM;
}

void sem_unlock(struct caller *c, struct slot *s)
{
	lock_release(c, &s->lock);
}

/* ---- sleeping ---- */

/* On the sleeper's stack: where the outcome goes if a signal handler of the
 * host runs (and perhaps never returns) while it sleeps. */
struct sleep_state {
	struct slot *slot;
	int finished;
	s32 result;
};

/* Leave the queue with `result` unless somebody was faster; the waiter's own
 * result is then final. The lock is taken and released. */
static s32 leave_queue(struct caller *c, struct slot *s, s32 result)
{
	struct waiter *w = wait_own(c);
	struct semset *set;

	sem_lock_any(c, s);
	set = sem_body(c, s);
	if (w->state == WAIT_QUEUED && set) {
		queue_remove(c, set, w, result);
		journal_commit(c);
		atom_store_release(&w->word, WAIT_WORD_DONE);
	}
	lock_release(c, &s->lock);
	wait_settle(w);
	return w->result;
}

/* caller.interrupt: a handler is about to run in this thread. */
static void interrupt_sleep(struct caller *c)
{
	struct sleep_state *st = c->interrupt_arg;

	section_begin(c);
	c->interrupt = NULL;
	st->result = leave_queue(c, st->slot, -EINTR);
	wait_end(c, wait_own(c));
	atom_store_release(&wait_own(c)->word, WAIT_WORD_DONE);
	st->finished = 1;
	section_end(c);
}

/* Something that we watch changed, or it is time: look after the dead. */
static void look_again(
	struct caller *c, struct slot *s, struct wait_watch *watch)
{
	struct waiter *w = wait_own(c);
	struct semset *set;
	u32 gone = 0;

	watch->n = 0;
	sem_lock_any(c, s);
	set = sem_body(c, s);
	if (w->state == WAIT_QUEUED && set) {
		gone = undo_suspect(c, set, 0);
		undo_watch(c, set, watch);
	}
	lock_release(c, &s->lock);
	if (gone)
		undo_reap(c, gone);
}

/* The waker of our grant died: the lock's recovery has decided. */
static void after_waker_death(struct caller *c, struct slot *s)
{
	struct waiter *w = wait_own(c);

	sem_lock_any(c, s);
	atom_store_release(
		&w->word, w->state == WAIT_QUEUED ? 0 : WAIT_WORD_DONE);
	lock_release(c, &s->lock);
}

/* Sleep until the queued waiter is done; its result. */
static s32 sleep_queued(struct caller *c, struct sleep_state *st,
	u64 deadline_ns, int spin, struct wait_watch *watch, int *undo_about)
{
	struct waiter *w = wait_own(c);
	s32 result;
	int err;

	while (!st->finished) {
		err = wait_sleep(c, w, deadline_ns,
			*undo_about ? UNDO_SLICE_NS : 0, spin, watch);
		spin = 0;
		if (st->finished || err == 0)
			break;
		section_begin(c);
		if (err == -EOWNERDEAD) {
			after_waker_death(c, st->slot);
		} else if (err == -EAGAIN) {
			look_again(c, st->slot, watch);
			*undo_about |= watch->n > 0;
		} else {
			leave_queue(c, st->slot,
				err == -ETIMEDOUT ? -EAGAIN : err);
		}
		section_end(c);
	}
	section_begin(c);
	c->interrupt = NULL;
	result = st->result;
	if (!st->finished) {
		result = w->result;
		wait_end(c, w);
	}
	section_end(c);
	return result;
}

/* Fill the own waiter and queue it; slot lock held, room reserved. */
static void enqueue(struct caller *c, struct slot *s, struct semset *set,
	const struct array *a, u32 block_op, int alter)
{
	struct waiter *w = wait_own(c);
	struct header *h = caller_header(c);
	struct sop *sops = w->sops;
	u32 i;

	if (a->n > WAITER_SOPS_INLINE)
		sops = region_span(&c->region, w->sops_ext,
			a->n * sizeof(struct sop));
	for (i = 0; i < a->n; i++)
		sops[i] = a->sops[i];
	w->n_sops = a->n;
	w->block_op = block_op;
	w->pid = c->pid;
	w->undo.off = a->undo ? region_off(&c->region, a->undo) : 0;
	w->slot_idx = s - region_slot(&c->region, FAC_SEM, 0);
	w->facility = FAC_SEM;
	w->ident = s->ident;
	w->stamp = atom_add(&h->stamp, 1);
	w->since = sys_realtime_sec();
	w->queue_num = a->sops[0].num;
	if (a->n == 1)
		w->kind = alter ? Q_ALTER : Q_ZERO;
	else
		w->kind = alter ? Q_COMPLEX : Q_ZERO_ARRAYS;
	wait_begin(c, w);
	queue_append(c, set, w);
	journal_commit(c);
}

/* The partner of a hand-over ran on another CPU than ours: worth spinning. */
static int should_spin(struct slot *s)
{
	u32 cpu = sys_cpu(), last = s->lock.cpu;

	s->lock.cpu = cpu;
	return last != cpu;
}

/* ---- the call ---- */

struct request {
	struct array a;
	int alter, undo;
	u32 max_num;
	u64 deadline_ns; /* 0 = none */
	int no_wait;
};

static void request_scan(struct request *r)
{
	u32 i;

	for (i = 0; i < r->a.n; i++) {
		const struct sop *op = &r->a.sops[i];

		r->alter |= op->op != 0;
		r->undo |= (op->flg & SEM_FLG_UNDO) != 0;
		if (op->num > r->max_num)
			r->max_num = op->num;
	}
}

static void stay_calm(struct semset *set, struct sem *sem)
{
	if (set->n_waiters || set->n_adj) {
		sem->calm = 0;
	} else if (++sem->calm >= CALM_LIMIT) {
		sem->calm = 0;
		atom_store_release(&sem->lo, sem->lo & ~SEM_OWNED);
	}
}

/* The array was applied: commit it and let others through. */
static void finish(struct caller *c, struct slot *s, struct semset *set,
	const struct request *r)
{
	u16 nums[MAX_DIRTY];
	u32 i;

	if (r->alter && set->n_waiters)
		journal_set32(c, &set->pass_pending, 1);
	journal_commit(c);
	if (set->pass_pending) {
		s->lock.cpu = sys_cpu();
		if (r->a.n > MAX_DIRTY) {
			sem_pass(c, s, set, NULL, 0);
			return;
		}
		for (i = 0; i < r->a.n; i++)
			nums[i] = r->a.sops[i].num;
		sem_pass(c, s, set, nums, r->a.n);
	}
	if (r->a.n == 1 && !r->undo)
		stay_calm(set, &sem_array(set)[r->a.sops[0].num]);
}

/* Room for what enqueue and the array need, before any lock is taken. */
static int prepare(struct caller *c, const struct request *r)
{
	struct waiter *w = wait_own(c);
	u64 need = (u64)r->a.n * sizeof(struct sop);
	int err = journal_reserve(c, array_entries(r->a.n, r->undo));

	if (err || r->a.n <= WAITER_SOPS_INLINE ||
		(w->sops_ext.off && w->sops_ext_cap >= need))
		return err;
	if (w->sops_ext.off)
		heap_free_at(c, w->sops_ext_cap, &w->sops_ext);
	/* The size counts only while there is a block, and stands first: a
	 * crash leaves no block of unknown size to the record's next owner. */
	atom_store_release(&w->sops_ext_cap, need);
	return heap_alloc_at(c, need, &w->sops_ext);
}

static int op_locked(struct caller *c, struct slot *s, u64 ident,
	struct request *r)
{
	struct sleep_state st = {s, 0, 0};
	struct wait_watch watch = {0};
	struct semset *set;
	u32 i, op = 0, gone;
	int err, spin, undo_about;

	for (;;) {
		err = sem_lock(c, s, ident);
		if (err)
			return err;
		set = sem_body(c, s);
		if (!set) {
			sem_unlock(c, s);
			return -EINVAL;
		}
		gone = set->n_adj ? undo_suspect(c, set, 0) : 0;
		if (likely(!gone))
			break;
		sem_unlock(c, s);
		/* Alive after all (exec, another thread ended): go on. */
		if (undo_reap(c, gone))
			continue;
		err = sem_lock(c, s, ident);
		if (err)
			return err;
		break;
	}
	for (i = 0; i < r->a.n; i++)
		sem_own(&sem_array(set)[r->a.sops[i].num]);
	err = array_try(c, set, &r->a, &op);
	if (err == 0) {
		finish(c, s, set, r);
		sem_unlock(c, s);
		return 0;
	}
	if (err == BLOCKED &&
		((r->a.sops[op].flg & SEM_IPC_NOWAIT) || r->no_wait))
		err = -EAGAIN;
	if (err != BLOCKED) {
		sem_unlock(c, s);
		return err;
	}
	enqueue(c, s, set, &r->a, op, r->alter);
	undo_about = set->undo_all.off != 0;
	undo_watch(c, set, &watch);
	spin = should_spin(s);
	c->interrupt_arg = &st;
	c->interrupt = interrupt_sleep;
	sem_unlock(c, s);
	return sleep_queued(c, &st, r->deadline_ns, spin, &watch, &undo_about);
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
		return -EFBIG;
	err = perm_check(c, s, r->alter ? PERM_W : PERM_R);
	if (err)
		return err;
	err = prepare(c, r);
	if (err)
		return err;
	return op_locked(c, s, ident, r);
}

/* timeout as read: 0 with *ret_deadline, or -EINVAL. */
static int deadline_of(const struct sys_timespec *t, struct request *r)
{
	const u64 forever = ~0ULL >> 1;
	u64 now;

	if (t->sec < 0 || t->nsec < 0 || t->nsec >= 1000000000)
		return -EINVAL;
	r->no_wait = !t->sec && !t->nsec;
	now = sys_monotonic_ns();
	r->deadline_ns = t->sec > 4000000000LL ?
		forever :
		now + (u64)t->sec * 1000000000 + t->nsec;
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

/* Stack for the usual large array, apart from the common path's frame. */
static __attribute__((noinline)) int op_large(struct caller *c, s32 id,
	const struct sop *user, const struct sys_timespec *timeout,
	struct request *r)
{
	struct sop buf[STACK_SOPS];

	return op_copied(c, id, user, timeout, r, buf);
}

static __attribute__((noinline)) int op_huge(struct caller *c, s32 id,
	const struct sop *user, const struct sys_timespec *timeout,
	struct request *r)
{
	u64 len = (u64)r->a.n * sizeof(struct sop);
	struct sop *buf = sys_mmap(NULL, len, 3, 0x22, -1, 0);
	int err;

	if ((unsigned long)buf > -4096UL)
		return -ENOMEM;
	err = op_copied(c, id, user, timeout, r, buf);
	sys_call(__NR_munmap, buf, len);
	return err;
}

static __attribute__((noinline)) int op_slow(struct caller *c, s32 id,
	const struct sop *user, u32 n, const struct sys_timespec *timeout)
{
	struct request r = {.a = {NULL, n, c->pid, NULL}};
	struct sys_timespec t;
	struct sop buf[LOCAL_SOPS];
	u32 opm = caller_header(c)->limits.semopm;

	if (timeout && guard_read(c, &t, timeout, sizeof(t)))
		return -EFAULT;
	if (n > opm)
		return limit_hit(c, LIMIT_SEMOPM, opm, -E2BIG);
	if (n == 0)
		return -EINVAL;
	timeout = timeout ? &t : NULL;
	if (n <= LOCAL_SOPS)
		return op_copied(c, id, user, timeout, &r, buf);
	if (n <= STACK_SOPS)
		return op_large(c, id, user, timeout, &r);
	return op_huge(c, id, user, timeout, &r);
}

#define NOT_FAST 1

/* The lock-free path; NOT_FAST if this call is not for it. */
static inline int op_fast(struct caller *c, s32 id, const struct sop *user)
{
	u64 ident, lo, hi, gen, body;
	struct slot *s;
	struct sem *sem;
	struct sop op;
	s32 value;

	if (unlikely(guard_readable(c, user, sizeof(op))))
		return NOT_FAST;
	op = *user;
	s = ids_find(c, FAC_SEM, id, &ident);
	if (unlikely(!s || op.num >= s->size || (op.flg & SEM_FLG_UNDO)))
		return NOT_FAST;
	if (unlikely(perm_check(c, s, op.op ? PERM_W : PERM_R)))
		return NOT_FAST;
	body = atom_load_relaxed(&s->body.off);
	if (unlikely(body < HEAP_OFF))
		return NOT_FAST;
	sem = (struct sem *)((char *)region_at(&c->region, body) +
		      sizeof(struct semset)) +
		op.num;
	gen = (u64)IDENT_GEN(ident) << 40;
	lo = atom_load_relaxed(&sem->lo);
	hi = atom_load_relaxed(&sem->hi);
	/* Still the set's memory when we read it: what is compared below cannot
	 * stand in anything that came after. */
	if (unlikely(atom_load_acquire(&s->ident) != ident))
		return NOT_FAST;
	do {
		if (unlikely((lo & SEM_OWNED) || (hi & ~0xffffffffffULL) != gen))
			return NOT_FAST;
		value = SEM_VALUE(lo);
		if (op.op == 0 && value)
			return op.flg & SEM_IPC_NOWAIT ? -EAGAIN : NOT_FAST;
		value += op.op;
		if (unlikely(value < 0))
			return op.flg & SEM_IPC_NOWAIT ? -EAGAIN : NOT_FAST;
		if (unlikely(value > SEMVMX))
			return NOT_FAST;
	} while (unlikely(!atom_cas16(&sem->lo, &lo, &hi,
		(u64)c->pid << 32 | (u32)value,
		gen | (u64)sys_realtime_sec())));
	return 0;
}

int sem_op(struct caller *c, s32 id, const struct sop *user, u32 n,
	const struct sys_timespec *timeout)
{
	int ret;

	if (likely(n == 1 && !timeout)) {
		ret = op_fast(c, id, user);
		if (likely(ret != NOT_FAST))
			return ret;
	}
	return op_slow(c, id, user, n, timeout);
}
