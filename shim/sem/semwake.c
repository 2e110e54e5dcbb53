// SPDX-License-Identifier: MIT
/*
 * Queues of sleepers, and who is let through when (doc/kernel-semantics.md
 * §4.4-4.5). Everything here runs under the set's lock.
 *
 * Letting one sleeper through is an operation of its own, performed here on its
 * behalf. Each semaphore has two queues for single operations (those that alter,
 * those that wait for zero), each set two for arrays. Without sleeping arrays
 * only the queues of changed semaphores are looked at; with them, all candidates
 * are tried in order of arrival (their stamps), and again from the first one
 * after each that was let through. Whether an array blocks depends only on the
 * semaphores up to its blocking operation; so an array is skipped if none of
 * those has changed since it was last tried.
 *
 * Keeps INV_QUEUE, INV_N_WAITERS, INV_PENDING (inspect/check.h).
 */
#include "object/sleep.h"
#include "registry/journal/reserve.h"
#include "sem/semop.h"

/* ---- queues ---- */

const struct sop *waiter_sops(
	const struct caller *c, const struct waiter *w, u32 *ret_n)
{
	u32 n = atom_load_relaxed(&w->n_sops);
	u64 size = (u64)n * sizeof(struct sop);

	*ret_n = n;
	if (likely(n - 1 < WAITER_SOPS_INLINE))
		return w->sops;
	if (!n || n > SOPS_MOST || size > w->ext_cap)
		return NULL;
	return ref_peek(c, w->ext, size);
}

/* A semaphore number out of range is damage: then any queue of the set will do. */
HOT static struct wait_queue *queue_of(
	const struct slot *s, struct semset *set, const struct waiter *w)
{
	u32 num = atom_load_relaxed(&w->queue_num);
	struct sem *sem = &sem_array(set)[likely(num < sem_count(s)) ? num : 0];

	switch (w->kind) {
	case Q_ALTER:
		return &sem->alter;
	case Q_ZERO:
		return &sem->zero;
	case Q_COMPLEX:
		return &set->complex;
	default:
		return &set->zero_arrays;
	}
}

HOT void queue_append(struct caller *c, const struct slot *s,
	struct semset *set, struct waiter *w)
{
	struct wait_queue *q = queue_of(s, set, w);
	u32 idx = wait_index(c, w);

	w->stamp = atom_add(&caller_header(c)->stamp, 1);
	atom_store_release(&w->next, 0);
	atom_store_release(&w->prev, q->tail);
	if (q->tail)
		journal_set32(c, &wait_must(c, q->tail)->next, idx);
	else
		journal_set32(c, &q->head, idx);
	journal_set32(c, &q->tail, idx);
	journal_set32(c, &set->n_waiters, set->n_waiters + 1);
	journal_set32(c, &w->state, WAIT_QUEUED);
}

HOT void queue_remove(struct caller *c, const struct slot *s,
	struct semset *set, struct waiter *w, s32 result)
{
	struct wait_queue *q = queue_of(s, set, w);

	if (w->prev)
		journal_set32(c, &wait_must(c, w->prev)->next, w->next);
	else
		journal_set32(c, &q->head, w->next);
	if (w->next)
		journal_set32(c, &wait_must(c, w->next)->prev, w->prev);
	else
		journal_set32(c, &q->tail, w->prev);
	journal_set32(c, &set->n_waiters, set->n_waiters - 1);
	journal_set32(c, (u32 *)&w->result, result);
	journal_set32(c, &w->state, WAIT_DONE);
}

/* Have as many been let through as one hold of the lock may (HOLD_LEAVES)? */
static inline int hold_is_over(const struct caller *c)
{
	return !c->may_leave;
}

static inline void one_leaves(struct caller *c)
{
	c->may_leave -= c->may_leave > 0;
}

void sem_cancel(struct caller *c, const struct slot *s, struct semset *set,
	struct waiter *w, s32 result)
{
	one_leaves(c);
	queue_remove(c, s, set, w, result);
	if (!wait_dead(w))
		wait_grant(c, w);
	journal_commit(c);
}

static void each_queue(struct caller *c, struct slot *s, struct semset *set,
	void (*visit)(struct caller *, struct slot *, struct semset *,
		struct wait_queue *, void *),
	void *arg)
{
	struct sem *sems = sem_array(set);
	u32 i;

	for (i = 0; i < sem_count(s) && set->n_waiters && !hold_is_over(c);
		i++) {
		if (sems[i].alter.head)
			visit(c, s, set, &sems[i].alter, arg);
		if (sems[i].zero.head)
			visit(c, s, set, &sems[i].zero, arg);
	}
	visit(c, s, set, &set->complex, arg);
	visit(c, s, set, &set->zero_arrays, arg);
}

static void visit_cancel(struct caller *c, struct slot *s, struct semset *set,
	struct wait_queue *q, void *arg)
{
	struct waiter *w;

	while (q->head && !hold_is_over(c)) {
		w = wait_at(c, q->head);
		/* A queued waiter has state QUEUED until it is cancelled: else
		 * the queue is damaged, and the rest of it lost. */
		if (unlikely(!w || w->state != WAIT_QUEUED)) {
			journal_set32(c, &q->head, 0);
			journal_set32(c, &q->tail, 0);
			journal_commit(c);
			return;
		}
		/* In the kernel a stopped one would have left before that. */
		sem_cancel(c, s, set, w,
			!wait_dead(w) && wait_stopped(c, w) ? -EINTR
							    : *(s32 *)arg);
	}
}

int sem_cancel_some(
	struct caller *c, struct slot *s, struct semset *set, s32 result)
{
	c->may_leave = HOLD_LEAVES;
	if (set->n_waiters)
		each_queue(c, s, set, visit_cancel, &result);
	return hold_is_over(c) && set->n_waiters;
}

struct count_arg {
	u32 num;
	int at_zero;
	u32 count;
};

static void visit_count(struct caller *c, struct slot *s, struct semset *set,
	struct wait_queue *q, void *arg)
{
	struct count_arg *a = arg;
	u32 left = N_THREADS;
	struct waiter *w;

	(void)s, (void)set;
	for (w = wait_at(c, q->head); w; w = wait_next(c, w, &left)) {
		u32 n, at = atom_load_relaxed(&w->block_op);
		const struct sop *sops = waiter_sops(c, w, &n);
		const struct sop *op = sops && at < n ? &sops[at] : NULL;

		if (op && op->num == a->num && !wait_dead(w) &&
			(op->op == 0) == a->at_zero && !wait_stopped(c, w))
			a->count++;
	}
}

u32 sem_count_blocked(struct caller *c, struct slot *s, struct semset *set,
	u32 num, int at_zero)
{
	struct count_arg a = {num, at_zero, 0};
	struct sem *sem = &sem_array(set)[num];

	if (!set->n_waiters)
		return 0;
	visit_count(c, s, set, at_zero ? &sem->zero : &sem->alter, &a);
	visit_count(c, s, set, &set->complex, &a);
	visit_count(c, s, set, &set->zero_arrays, &a);
	return a.count;
}

/* ---- the passes of §4.4 ---- */

struct dirty {
	u32 n;
	int all;
	u16 nums[MAX_DIRTY];
};

/* Not an initializer: that would clear all of nums. */
static inline void dirty_init(struct dirty *d, int all)
{
	d->n = 0;
	d->all = all;
}

static void dirty_add(struct dirty *d, u32 num)
{
	u32 i;

	for (i = 0; i < d->n; i++)
		if (d->nums[i] == num)
			return;
	if (d->n == MAX_DIRTY)
		d->all = 1;
	else
		d->nums[d->n++] = num;
}

/* Try one sleeper. 1 if its array was executed, -1 if it left its queue for
 * another reason, 0 if it sleeps on. */
static int pass_try(
	struct caller *c, struct slot *s, struct semset *set, struct waiter *w)
{
	struct array a = {.pid = w->pid, .n_sems = sem_count(s)};
	u32 op = 0, holders = set->n_adj;
	int err;

	a.sops = waiter_sops(c, w, &a.n);
	/* A damaged queue may list a waiter twice. */
	if (unlikely(w->state != WAIT_QUEUED))
		return 0;
	if (wait_dead(w) || !a.sops) {
		sem_cancel(c, s, set, w, -EINTR);
		return -1;
	}
	/* Our journal is too small for its array; its own is not. */
	if (journal_reserve(c, array_entries(a.n, w->undo.off != 0))) {
		sem_cancel(c, s, set, w, SLEEP_RETRY);
		return -1;
	}
	if (w->undo.off) {
		u32 task = region_thread(&c->region, wait_index(c, w))->task;

		a.undo = undo_at(c, w->undo);
		/* Its process is exiting: the undo records may be gone before
		 * the kernel marks this thread. */
		if (!a.undo || a.undo->ident != w->ident ||
			a.undo->task != task) {
			sem_cancel(c, s, set, w, -EINTR);
			return -1;
		}
	}
	err = array_try(c, set, &a, &op);
	if (err == BLOCKED && !(a.sops[op].flg & SEM_IPC_NOWAIT)) {
		if (w->block_op != op) {
			if (w->kind == Q_COMPLEX)
				arrays_mark(s, set, a.sops, op);
			atom_store_release(&w->block_op, op);
		}
		return 0;
	}
	if (err == BLOCKED)
		err = -EAGAIN;
	if (unlikely(wait_stopped(c, w))) {
		journal_abort(c);
		sem_cancel(c, s, set, w, -EINTR);
		return -1;
	}
	queue_remove(c, s, set, w, err);
	one_leaves(c);
	if (set->n_adj > holders && set->n_waiters)
		sem_tell(c, set, &a);
	wait_grant(c, w);
	journal_commit(c);
	return err ? -1 : 1;
}

static void try_zero_queue(struct caller *c, struct slot *s, struct semset *set,
	struct wait_queue *q)
{
	struct waiter *w = wait_at(c, q->head), *next;
	u32 left = N_THREADS;

	for (; w && !hold_is_over(c); w = next) {
		next = wait_next(c, w, &left);
		pass_try(c, s, set, w);
	}
}

static void zero_pass_one(struct caller *c, struct slot *s, struct semset *set,
	u32 num, int *found_zero)
{
	struct sem *sem = &sem_array(set)[num];

	if (SEM_VALUE(sem->lo))
		return;
	*found_zero = 1;
	try_zero_queue(c, s, set, &sem->zero);
}

static void zero_pass(struct caller *c, struct slot *s, struct semset *set,
	const struct dirty *d)
{
	int found = 0;
	u32 i;

	if (d->all)
		for (i = 0; i < sem_count(s) && !hold_is_over(c); i++)
			zero_pass_one(c, s, set, i, &found);
	else
		for (i = 0; i < d->n; i++)
			zero_pass_one(c, s, set, d->nums[i], &found);
	if (found)
		try_zero_queue(c, s, set, &set->zero_arrays);
}

/* w was let through: collect the semaphores that it touched, and let through who
 * waits for zero there. w's record can still be read: the sleeper has it back
 * only after we unlock. */
static void after_success(struct caller *c, struct slot *s, struct semset *set,
	struct waiter *w, struct dirty *ret_touched)
{
	u32 i, n, num, n_sems = sem_count(s);
	const struct sop *sops = waiter_sops(c, w, &n);

	dirty_init(ret_touched, 0);
	for (i = 0; sops && i < n; i++) {
		num = atom_load_relaxed(&sops[i].num);
		if (likely(num < n_sems))
			dirty_add(ret_touched, num);
	}
	zero_pass(c, s, set, ret_touched);
}

/*
 * Without sleeping arrays the semaphores are independent, and one walk along the
 * queue is enough: a sleeper that is let through only lowers the value, so those
 * before it still block.
 */
static void alter_pass_simple(
	struct caller *c, struct slot *s, struct semset *set, u32 num)
{
	struct sem *sem = &sem_array(set)[num];
	struct waiter *w, *next;
	struct dirty touched;
	u32 left = N_THREADS;

	/* A decrement cannot succeed at 0, and an increment never sleeps. */
	for (w = wait_at(c, sem->alter.head);
		w && SEM_VALUE(sem->lo) && !hold_is_over(c); w = next) {
		next = wait_next(c, w, &left);
		if (pass_try(c, s, set, w) > 0)
			after_success(c, s, set, w, &touched);
	}
}

/*
 * A pass over arrays and single operations in order of arrival. For each queue
 * with candidates it holds the one to be tried next; for arrays also how far
 * (`reach`) they were tried already, and what has changed since.
 *
 * Groups of semaphores are kept as 64 bits, num % 64: an array that only shares a
 * bit with a changed semaphore is tried for nothing, which does no harm.
 */
struct pass {
	struct waiter *array; /* next in set->complex */
	u64 reach;	      /* stamp of the last array that was tried */
	u64 changed;	      /* by the operation, and in this pass */
	u64 changed_since;    /* since the arrays up to reach were tried */
	u64 looked_at;	      /* what arrays that still block depend on */
	/* More semaphores have candidates than `num` holds: then the next one is
	 * searched for from the heads of all queues (`stamp`). */
	int wide;
	u64 stamp; /* of the last sleeper that was tried */
	u32 n_granted;
	u32 n;
	u16 num[MAX_DIRTY];
	struct waiter *single[MAX_DIRTY]; /* next in num's queue */
};

static u64 num_bit(u32 num)
{
	return 1ULL << num % 64;
}

/* The semaphores that the result of trying w depends on. */
static u64 array_looks_at(const struct caller *c, struct waiter *w)
{
	u32 i, n, at = atom_load_relaxed(&w->block_op);
	const struct sop *sops = waiter_sops(c, w, &n);
	u64 bits = 0;

	if (!sops || at >= n)
		return ~0ULL;
	for (i = 0; i <= at; i++)
		bits |= num_bit(sops[i].num);
	return bits;
}

/* The sleepers on num are candidates, from the first one on. */
static void pass_add(
	const struct caller *c, struct semset *set, struct pass *p, u32 num)
{
	struct sem *sem = &sem_array(set)[num];
	u32 i;

	if (!sem->alter.head || !SEM_VALUE(sem->lo))
		return;
	for (i = 0; i < p->n && p->num[i] != num; i++)
		;
	if (i == MAX_DIRTY) {
		p->wide = 1;
		return;
	}
	p->num[i] = num;
	p->single[i] = wait_at(c, sem->alter.head);
	p->n += i == p->n;
}

static void pass_begin(const struct caller *c, const struct slot *s,
	struct semset *set, struct pass *p, const struct dirty *d)
{
	u32 i;

	p->array = wait_at(c, set->complex.head);
	p->reach = p->stamp = p->changed_since = p->looked_at = 0;
	p->changed = d->all ? ~0ULL : 0;
	p->wide = 0;
	p->n = p->n_granted = 0;
	for (i = 0; d->all && i < sem_count(s); i++)
		pass_add(c, set, p, i);
	for (i = 0; !d->all && i < d->n; i++) {
		pass_add(c, set, p, d->nums[i]);
		p->changed |= num_bit(d->nums[i]);
	}
}

/* Move p->array on to the next array that may be let through. */
static struct waiter *pass_array(const struct caller *c, struct pass *p)
{
	u32 left = N_THREADS;
	struct waiter *w;
	u64 looks;

	for (w = p->array; w; w = wait_next(c, w, &left)) {
		looks = array_looks_at(c, w);
		p->looked_at |= looks;
		if (looks &
			(w->stamp <= p->reach ? p->changed_since : p->changed))
			break;
	}
	p->array = w;
	return w;
}

static struct waiter *earlier(struct waiter *a, struct waiter *b)
{
	return !a || (b && b->stamp < a->stamp) ? b : a;
}

static struct waiter *first_after(
	const struct caller *c, const struct wait_queue *q, u64 stamp)
{
	struct waiter *w = wait_at(c, q->head);
	u32 left = N_THREADS;

	while (w && w->stamp <= stamp)
		w = wait_next(c, w, &left);
	return w;
}

/* The next to be tried: the earliest of the single operations and `best`. */
static struct waiter *pass_single(const struct caller *c, struct slot *s,
	struct semset *set, const struct pass *p, struct waiter *best)
{
	struct sem *sems = sem_array(set);
	u32 i;

	for (i = 0; !p->wide && i < p->n; i++)
		if (p->single[i] && SEM_VALUE(sems[p->num[i]].lo))
			best = earlier(best, p->single[i]);
	for (i = 0; p->wide && i < sem_count(s); i++)
		if (sems[i].alter.head && SEM_VALUE(sems[i].lo))
			best = earlier(
				best, first_after(c, &sems[i].alter, p->stamp));
	return best;
}

/* w is about to be tried: note who comes after it. */
static void pass_step(const struct caller *c, struct pass *p, struct waiter *w)
{
	u32 i;

	p->stamp = w->stamp;
	if (w == p->array) {
		p->array = wait_at(c, w->next);
		if (w->stamp > p->reach) {
			p->reach = w->stamp;
			p->changed_since = 0;
		}
		return;
	}
	for (i = 0; i < p->n; i++)
		if (p->single[i] == w)
			p->single[i] = wait_at(c, w->next);
}

/* w was let through: start again with those that this may have unblocked. */
static void pass_restart(struct caller *c, struct slot *s, struct semset *set,
	struct pass *p, struct waiter *w)
{
	struct dirty touched;
	int concerned = 0;
	u32 i;

	after_success(c, s, set, w, &touched);
	p->n_granted++;
	p->stamp = 0;
	if (touched.all) {
		p->changed = p->changed_since = ~0ULL;
		concerned = 1;
		for (i = 0; i < sem_count(s); i++)
			pass_add(c, set, p, i);
	}
	for (i = 0; !touched.all && i < touched.n; i++) {
		u32 num = touched.nums[i];

		p->changed |= num_bit(num);
		p->changed_since |= num_bit(num);
		concerned |= arrays_concerned(s, set, &sem_array(set)[num]);
		/* A lone decrement leaves less for those before it. */
		if (w->n_sops > 1)
			pass_add(c, set, p, num);
	}
	if (concerned)
		p->array = wait_at(c, set->complex.head);
}

/* All arrays were looked at. If none was let through, unmark those of the changed
 * semaphores that no array depends on. */
static void pass_unmark(
	struct semset *set, const struct pass *p, const struct dirty *d)
{
	u32 i;

	for (i = 0; !p->n_granted && !d->all && i < d->n; i++)
		if (!(p->looked_at & num_bit(d->nums[i])))
			sem_array(set)[d->nums[i]].arrays = 0;
}

/* Single operations and arrays together. */
static __attribute__((noinline)) void alter_pass_arrays(struct caller *c,
	struct slot *s, struct semset *set, const struct dirty *d)
{
	u32 left = N_THREADS;
	struct waiter *w;
	struct pass p;
	int got;

	pass_begin(c, s, set, &p, d);
	while (!hold_is_over(c) &&
		(w = pass_single(c, s, set, &p, pass_array(c, &p))) && left--) {
		pass_step(c, &p, w);
		got = pass_try(c, s, set, w);
		if (got > 0)
			left = N_THREADS;
		if (got > 0)
			pass_restart(c, s, set, &p, w);
		else if (!got && w->kind == Q_COMPLEX)
			p.looked_at |= array_looks_at(c, w);
	}
	if (s->size > 1 && !hold_is_over(c))
		pass_unmark(set, &p, d);
}

static void alter_pass(struct caller *c, struct slot *s, struct semset *set,
	const struct dirty *d)
{
	u32 i;

	if (set->complex.head) {
		alter_pass_arrays(c, s, set, d);
		return;
	}
	for (i = 0; !d->all && i < d->n; i++)
		alter_pass_simple(c, s, set, d->nums[i]);
	/* Stop when the hold is over, for the next one starts from the first: to
	 * look at the rest of 32,000 would take most of the hold. */
	for (i = 0; d->all && i < sem_count(s) && !hold_is_over(c); i++)
		alter_pass_simple(c, s, set, i);
}

/* The set's only sleeper, if it waits in this semaphore's queue for a single
 * decrement without undo and has not exited; else NULL. */
HOT static struct waiter *sole_taker(
	struct caller *c, struct semset *set, struct sem *sem)
{
	struct waiter *w = wait_at(c, sem->alter.head);

	if (set->n_waiters != 1 || !w || w->n_sops != 1 || w->undo.off ||
		wait_dead(w))
		return NULL;
	return w;
}

/*
 * Shortcut for array_try, sem_crash_guard and sem_pass where there is one sleeper
 * and the operation lets it through. One commit for both, so nothing is pending
 * in between and no crash guard is needed.
 */
HOT int sem_hand_over(struct caller *c, const struct slot *s,
	struct semset *set, const struct sop *op)
{
	struct sem *sem = &sem_array(set)[op->num];
	struct waiter *w = sole_taker(c, set, sem);
	s32 value = SEM_VALUE(sem->lo);
	s64 now;

	if (!w || op->op <= 0 || sem_value_step(&value, op->op) ||
		sem_value_step(&value, w->sops[0].op) ||
		/* Last, for it is a system call. */
		wait_stopped(c, w))
		return 0;
	now = sys_realtime_sec();
	if (unlikely(SEM_OTIME(sem->hi) != now))
		journal_set64(c, &sem->hi, hi_stamp(sem->hi, now));
	journal_set64(c, &sem->lo, lo_make(sem->lo, value, w->pid));
	queue_remove(c, s, set, w, 0);
	wait_grant(c, w);
	journal_commit(c);
	return 1;
}

/* Let others have the lock, and take it again. 1 if nobody had it meanwhile. */
static int pass_pause(struct caller *c, struct slot *s)
{
	u64 count = s->lock.count;

	wait_pause_begin(c);
	wait_pause_end(c, lock_pause(c, &s->lock));
	sem_lock_again(c, s);
	section_end(c);
	return s->lock.count == count + 1;
}

/* The set that is in the slot by now, if a pass over it is still pending; else
 * NULL. */
static struct semset *pass_left(struct caller *c, struct slot *s)
{
	struct semset *set = atom_load_acquire(&s->ident) & IDENT_LIVE
				     ? sem_body(c, s)
				     : NULL;

	return set && set->pass_pending ? set : NULL;
}

int sem_pass(struct caller *c, struct slot *s, struct semset *set,
	const u16 *nums, u32 n)
{
	u64 ident = s->ident;
	struct dirty d;
	int arrays;
	u32 i;

	dirty_init(&d, nums == NULL);
	for (i = 0; nums && i < n; i++)
		dirty_add(&d, nums[i]);
	while (set && set->n_waiters) {
		arrays = set->complex.head || set->zero_arrays.head;
		c->may_leave = HOLD_LEAVES;
		zero_pass(c, s, set, &d);
		alter_pass(c, s, set, &d);
		if (likely(!hold_is_over(c)))
			break;
		/* d lacks what arrays changed, and what others did that had the
		 * lock meanwhile. */
		if (!pass_pause(c, s) || arrays)
			d.all = 1;
		set = pass_left(c, s);
	}
	if (set && set->pass_pending)
		atom_store_release(&set->pass_pending, 0);
	wait_crash_guard_end(c);
	return likely(s->ident == ident) ? 0 : -EIDRM;
}

void sem_tell(struct caller *c, struct semset *set, const struct array *a)
{
	struct waiter *w = NULL;
	struct sem *sem;
	u32 i, num;

	for (i = 0; i < a->n && !w; i++) {
		num = atom_load_relaxed(&a->sops[i].num);
		if (unlikely(num >= a->n_sems))
			continue;
		sem = &sem_array(set)[num];
		w = wait_first_alive(c, &sem->alter);
		if (!w)
			w = wait_first_alive(c, &sem->zero);
	}
	if (!w)
		w = wait_first_alive(c, &set->complex);
	if (!w)
		w = wait_first_alive(c, &set->zero_arrays);
	if (!w || w->wants_wake != WAKE_WANTED)
		return;
	/* In this order: if we die in between, the next one repeats it. */
	wait_spurious_wake(c, w);
	atom_store_release(&w->wants_wake, WAKE_SENT);
}

/* The sleeper that has waited longest, if alive: the only one that may sleep
 * without slices (object/sleep.h). For sets of at most ALONE_SEMS. */
static struct waiter *oldest(
	const struct caller *c, const struct slot *s, struct semset *set)
{
	struct waiter *best = earlier(wait_at(c, set->complex.head),
		wait_at(c, set->zero_arrays.head));
	struct sem *sems = sem_array(set);
	u32 i;

	for (i = 0; i < sem_count(s); i++) {
		best = earlier(best, wait_at(c, sems[i].alter.head));
		best = earlier(best, wait_at(c, sems[i].zero.head));
	}
	return best && !wait_dead(best) ? best : NULL;
}

/* The oldest sleeper; where that is not needed any live one, preferably the one
 * about to be let through, whose grant then takes the guard's place at no cost. */
void sem_crash_guard(struct caller *c, struct slot *s, struct semset *set,
	const u16 *nums, u32 n)
{
	struct sem *sems = sem_array(set);
	struct waiter *w = NULL, *old;
	u32 i;

	if (!nums)
		n = sem_count(s);
	for (i = 0; i < n && !w; i++) {
		struct sem *sem = &sems[nums ? nums[i] : i];

		w = wait_first_alive(
			c, SEM_VALUE(sem->lo) ? &sem->alter : &sem->zero);
	}
	/* Nobody by value; but a removal (nums NULL) concerns all sleepers. */
	for (i = 0; !nums && i < n && !w; i++) {
		w = wait_first_alive(c, &sems[i].alter);
		if (!w)
			w = wait_first_alive(c, &sems[i].zero);
	}
	if (!w)
		w = wait_first_alive(c, &set->complex);
	if (!w)
		w = wait_first_alive(c, &set->zero_arrays);
	if (!w)
		return;
	old = set->n_waiters > 1 && s->size <= ALONE_SEMS ? oldest(c, s, set)
							  : NULL;
	wait_crash_guard(c, old ? old : w);
}
