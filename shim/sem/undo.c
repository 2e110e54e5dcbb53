// SPDX-License-Identifier: MIT
/*
 * SEM_UNDO records; see undo.h.
 *
 * A record is in up to three lists: its task's chain (which owns the memory;
 * task lock), the set's list of all records, and the set's list of active ones,
 * which may have adjustments to apply. A record becomes active with its first
 * nonzero adj and stays so when that returns to zero (a semaphore taken and
 * released would link and unlink it each time); idle ones are removed when the
 * list is long.
 *
 * Lock order: task, then slot.
 *
 * Keeps INV_UNDO_ALL, INV_UNDO_ACTIVE, INV_UNDO_COUNT, INV_UNDO_CHAIN
 * (inspect/check.h).
 */
#include "sem/undo.h"
#include "base/usdt.h"
#include "registry/bias.h"
#include "registry/event.h"
#include "registry/heap.h"
#include "registry/task.h"
#include "sem/holders.h"

/* How many active records a caller passes before it removes idle ones.
 * Arbitrary. */
#define ACTIVE_TIDY 4u
/* Size of the cache of own records (places), 64 KiB, and the length of the
 * chain from which on it is made: as many as the caller itself remembers.
 * Arbitrary. */
#define PLACES 4096u
#define PLACES_FROM (2 * OLDER)

static struct ref undo_ref(const struct caller *c, const struct undo *u)
{
	return (struct ref){u ? region_off(&c->region, u) : 0};
}

/* ---- lists of a set; slot lock held, part of the current operation ---- */

static void set_list(struct caller *c, struct short_ref *list, struct ref first)
{
	journal_set32(c, &list->unit, ref_short(first).unit);
}

static void link_set(struct caller *c, struct semset *set, struct undo *u)
{
	struct undo *first = undo_at(c, ref_long(set->undo_all));

	journal_set_ref(c, &u->set_next, ref_long(set->undo_all));
	journal_set_ref(c, &u->set_prev, (struct ref){0});
	if (first)
		journal_set_ref(c, &first->set_prev, undo_ref(c, u));
	set_list(c, &set->undo_all, undo_ref(c, u));
}

static void unlink_set(struct caller *c, struct semset *set, struct undo *u)
{
	struct undo *next = undo_at(c, u->set_next);
	struct undo *prev = undo_at(c, u->set_prev);

	if (next)
		journal_set_ref(c, &next->set_prev, u->set_prev);
	if (prev)
		journal_set_ref(c, &prev->set_next, u->set_next);
	else
		set_list(c, &set->undo_all, u->set_next);
}

/* The list changes: once this is committed, `first` is its first record and it
 * has n_active. */
static void stamp_active(struct caller *c, struct undo *first, u32 n_active)
{
	if (unlikely(first && n_active >= HOLDERS_STAMPED))
		atom_store_release(&first->active_stamp,
			atom_add(&caller_header(c)->stamp, 1));
}

static void link_active(struct caller *c, struct semset *set, struct undo *u)
{
	struct undo *first = undo_at(c, ref_long(set->undo_active));

	stamp_active(c, u, set->n_active + 1);

	/* u is not in the list yet: its own links need no journal. */
	atom_store_release(&u->active_next.off, ref_long(set->undo_active).off);
	atom_store_release(&u->active_prev.off, 0);
	if (first)
		journal_set_ref(c, &first->active_prev, undo_ref(c, u));
	set_list(c, &set->undo_active, undo_ref(c, u));
	journal_set32(c, &u->is_active, 1);
	journal_set32(c, &set->n_active, set->n_active + 1);
}

static void unlink_active(struct caller *c, struct semset *set, struct undo *u)
{
	struct undo *next = undo_at(c, u->active_next);
	struct undo *prev = undo_at(c, u->active_prev);

	stamp_active(c, prev ? undo_at(c, ref_long(set->undo_active)) : next,
		set->n_active - 1);
	if (next)
		journal_set_ref(c, &next->active_prev, u->active_prev);
	if (prev)
		journal_set_ref(c, &prev->active_next, u->active_next);
	else
		set_list(c, &set->undo_active, u->active_next);
	journal_set32(c, &u->is_active, 0);
	journal_set32(c, &set->n_active, set->n_active - 1);
}

static void set_adj(
	struct caller *c, struct semset *set, struct undo *u, u32 num, s32 adj)
{
	s32 old = u->adj[num];

	journal_set16(c, (u16 *)&u->adj[num], (u16)adj);
	if (!old == !adj)
		return;
	if (adj)
		atom_store_release(&u->since, sys_realtime_sec());
	journal_set32(c, &u->n_nonzero, u->n_nonzero + (adj ? 1 : -1));
	if (adj && u->n_nonzero == 1) {
		journal_set32(c, &set->n_adj, set->n_adj + 1);
		if (!u->is_active)
			link_active(c, set, u);
	} else if (!adj && u->n_nonzero == 0) {
		journal_set32(c, &set->n_adj, set->n_adj - 1);
	}
}

int undo_adjust(
	struct caller *c, struct semset *set, struct undo *u, u32 num, s32 op)
{
	s32 adj;
	int err;

	if (unlikely(num >= undo_n_sems(u)))
		return -EIO;
	adj = u->adj[num];
	err = sem_adj_step(&adj, op);
	if (!err && op)
		set_adj(c, set, u, num, adj);
	return err;
}

/* A biased set has one holder at most, and few semaphores. */
void undo_recount(struct caller *c, struct semset *set)
{
	struct undo *u = undo_at(c, ref_long(set->undo_active));
	struct walk w = {0};
	u32 i, n, n_sems;

	for (; u && undo_walk(c, &w, u); u = undo_at(c, u->active_next)) {
		n_sems = undo_n_sems(u);
		for (i = n = 0; i < n_sems; i++)
			n += u->adj[i] != 0;
		if (n == u->n_nonzero)
			continue;
		if (!n != !u->n_nonzero)
			journal_set32(
				c, &set->n_adj, set->n_adj + (n ? 1 : -1));
		journal_set32(c, &u->n_nonzero, n);
		journal_commit(c);
	}
}

/* ---- finding and making this process's record ---- */

static void stamp(struct caller *c, struct undo *u)
{
	undo_touch(c, u);
	task_check_lifeline(c);
}

static struct undo *chain_find(struct caller *c, u64 ident, u32 n_sems)
{
	struct undo *u, *empty = NULL;
	struct walk w = {0};

	sem_thread(c)->undo_walked = 0;
	for (u = undo_at(c, task_own(c)->undo_head); u && undo_walk(c, &w, u);
		u = undo_at(c, u->task_next)) {
		sem_thread(c)->undo_walked++;
		if (atom_load_relaxed(&u->ident) == ident)
			return u;
		if (!atom_load_relaxed(&u->ident) && u->cap >= n_sems && !empty)
			empty = u;
	}
	return empty;
}

/* Add a record at the head of this process's chain; task lock held. */
static int chain_add(struct caller *c, u32 n_sems, struct undo **ret)
{
	struct task *t = task_own(c);
	struct undo *u;
	int err;

	if (!t->spare.off) {
		err = heap_alloc_at(c, undo_size(n_sems), &t->spare);
		if (err)
			return err;
	}
	u = undo_at(c, t->spare);
	if (!u)
		return -ENOMEM;
	/* Not reachable yet: plain stores. */
	*u = (struct undo){.task_next = t->undo_head,
		.task = c->task,
		.cap = n_sems,
		.n_sems = n_sems};
	journal_set_ref(c, &t->undo_head, t->spare);
	journal_set_ref(c, &t->spare, (struct ref){0});
	journal_commit(c);
	*ret = u;
	return 0;
}

/* Bind an empty record to the set; task lock held. */
static int bind(struct caller *c, struct slot *s, u64 ident, struct undo *u)
{
	struct semset *set;
	u32 i, n;
	int err = sem_lock(c, s, ident);

	if (err)
		return err;
	set = sem_body(c, s);
	n = sem_count(s);
	if (unlikely(!set || n > u->cap)) {
		sem_unlock(c, s);
		return -EIDRM;
	}
	for (i = 0; i < n; i++)
		atom_store_release((u16 *)&u->adj[i], 0);
	atom_store_release(&u->n_sems, n);
	atom_store_release(&u->n_nonzero, 0);
	atom_store_release(&u->is_active, 0);
	atom_store_release(
		&u->slot_idx, region_slot_idx(&c->region, FAC_SEM, s));
	journal_set64(c, &u->ident, ident);
	link_set(c, set, u);
	journal_commit(c);
	sem_unlock(c, s);
	return 0;
}

/* A spare block left by an operation that was cut off may have another size. */
static void drop_spare(struct caller *c, u32 n_sems)
{
	struct task *t = task_own(c);
	struct undo *u = undo_at(c, t->spare);

	if (u && t->spare_size != undo_size(n_sems))
		heap_free_at(c, t->spare_size, &t->spare);
	if (!t->spare.off)
		atom_store_release(&t->spare_size, undo_size(n_sems));
}

/*
 * A cache of this process's records, in place of a walk along the chain. What
 * is found in it is verified, so a torn or stale entry is only a miss. Made
 * once the chain is long, for one registry.
 */
static struct {
	struct undo_place *at; /* PLACES of them */
	const char *base;      /* of that registry */
} places;

static struct undo_place *place_of(const struct caller *c, u64 ident)
{
	struct undo_place *at = __atomic_load_n(&places.at, __ATOMIC_ACQUIRE);

	return at && places.base == c->region.base ? &at[(u32)ident % PLACES]
						   : NULL;
}

static struct undo *place_find(struct caller *c, u64 ident)
{
	const struct undo_place *p = place_of(c, ident);
	struct undo_place seen;

	if (!p)
		return NULL;
	seen.ident = atom_load_acquire(&p->ident);
	seen.off = atom_load_acquire(&p->off);
	return seen.off ? undo_at_place(c, &seen, ident) : NULL;
}

static void places_make(struct caller *c)
{
	struct undo_place *none = NULL, *at;
	const char *base = NULL;

	if (!__atomic_compare_exchange_n(&places.base, &base, c->region.base, 0,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
		base != c->region.base)
		return;
	at = sys_mmap_private(PLACES * sizeof(*at));
	if ((unsigned long)at > -4096UL)
		return;
	if (!__atomic_compare_exchange_n(&places.at, &none, at, 0,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		sys_call(__NR_munmap, at, PLACES * sizeof(*at));
}

static void place_note(struct caller *c, u64 ident, struct undo *u)
{
	struct undo_place *p = &sem_thread(c)->undo_cache[(u32)ident % OLDER];
	u64 off = region_off(&c->region, u);

	if (p->ident != ident)
		p[OLDER] = *p;
	*p = (struct undo_place){ident, off};
	p = place_of(c, ident);
	if (!p && sem_thread(c)->undo_walked > PLACES_FROM)
		places_make(c);
	if (!p)
		return;
	atom_store_release(&p->ident, 0);
	atom_store_release(&p->off, off);
	atom_store_release(&p->ident, ident);
}

static int get_slow(
	struct caller *c, struct slot *s, u64 ident, struct undo **ret)
{
	u32 n_sems = sem_count(s);
	struct undo *u;
	struct task *t;
	int err = 0;

	/* A signal handler that forks would make it another's task. */
	section_begin(c);
	t = task_own(c);
	lock_acquire(c, &t->lock);
	task_check_lifeline(c);
	u = chain_find(c, ident, n_sems);
	if (!u) {
		drop_spare(c, n_sems);
		err = chain_add(c, n_sems, &u);
	}
	/* Every record of the chain is this task's, unless it is damaged. */
	if (!err && unlikely(u->task != c->task))
		atom_store_release(&u->task, c->task);
	if (!err && u->ident != ident)
		err = bind(c, s, ident, u);
	lock_release(c, &t->lock);
	if (!err) {
		place_note(c, ident, u);
		stamp(c, u);
		*ret = u;
	}
	section_end(c);
	return err;
}

int undo_get(struct caller *c, struct slot *s, u64 ident, struct undo **ret)
{
	struct undo *u = undo_used_lately(c, ident);

	if (unlikely(!u))
		u = place_find(c, ident);
	if (unlikely(!u))
		return get_slow(c, s, ident, ret);
	stamp(c, u);
	*ret = u;
	return 0;
}

/* ---- exited tasks ---- */

static void tidy_active(struct caller *c, struct semset *set)
{
	struct undo *u = undo_at(c, ref_long(set->undo_active)), *next;
	u32 looked = 0;

	for (; u && looked < 2 * ACTIVE_TIDY; u = next, looked++) {
		next = undo_at(c, u->active_next);
		if (u->n_nonzero == 0) {
			unlink_active(c, set, u);
			journal_commit(c);
		}
	}
}

u32 undo_suspect(
	struct caller *c, struct semset *set, int all, enum task_look look)
{
	struct undo *u =
		undo_at(c, ref_long(all ? set->undo_all : set->undo_active));
	u64 now = look && u ? sys_monotonic_ns() : 0, stamp = 0;
	struct holders *h = NULL;
	struct walk w = {0};
	u32 n = 0, gone = 0;

	if (!all && set->n_active > ACTIVE_TIDY && set->n_active > set->n_adj) {
		tidy_active(c, set);
		u = undo_at(c, ref_long(set->undo_active));
	}
	if (unlikely(u && !all && set->n_active >= HOLDERS_STAMPED &&
		     look != TASK_LOOK_NOW)) {
		stamp = atom_load_relaxed(&u->active_stamp);
		h = holders_take(c, set);
		if (h && holders_none_suspect(c, h, stamp, now)) {
			holders_give(h);
			return 0;
		}
		if (h)
			holders_begin(h);
	}
	for (; u && !gone && undo_walk(c, &w, u);
		u = undo_at(c, all ? u->set_next : u->active_next)) {
		struct task *t = region_task(&c->region, u->task);

		if (unlikely(h != NULL))
			holders_add(h, u->task);
		if (u->task == c->task || (!all && !u->n_nonzero))
			continue;
		if (look == TASK_LOOK_NOW && n++ == TASK_FEW)
			look = TASK_LOOK;
		if (look == TASK_LOOK && task_looked_lately(t, now))
			continue;
		if (task_look(c, t, look))
			gone = u->task;
	}
	if (unlikely(h != NULL)) {
		if (!u && !gone)
			holders_end(c, h, stamp);
		holders_give(h);
	}
	return gone;
}

/* Most records read without the lock, in a list that may change meanwhile.
 * Arbitrary. */
#define PEEKED_RECORDS 64

int undo_none_suspect(const struct caller *c, const struct semset *set)
{
	const struct undo *u = undo_at(c, ref_long(set->undo_all));
	u64 now = u ? sys_monotonic_ns() : 0;
	int steps;

	/* Not all would be checked: the owner of the lock does it. */
	if (atom_load_relaxed(&set->n_active) > PEEKED_RECORDS)
		return 0;
	for (steps = 0; u && steps < PEEKED_RECORDS; steps++) {
		struct task *t = region_task(&c->region, u->task);

		if (t != task_own(c) && !task_looked_lately(t, now) &&
			(task_suspect(t) || task_look(c, t, TASK_LOOK)))
			return 0;
		u = undo_at(c, u->set_next);
	}
	return !u;
}

int undo_watch(struct caller *c, struct semset *set, struct wait_watch *ret)
{
	struct undo *u = undo_at(c, ref_long(set->undo_active));
	u32 n = set->n_adj, skip;
	struct walk w = {0};
	int all = 1;

	/* If there are many, different sleepers watch different ones. */
	skip = n > WAIT_WATCHED ? c->thread % (n - WAIT_WATCHED + 1) : 0;
	ret->n = 0;
	for (; u && undo_walk(c, &w, u); u = undo_at(c, u->active_next)) {
		struct task *t = region_task(&c->region, u->task);
		u32 life = atom_load_acquire(&t->life);

		if (u->task == c->task || !u->n_nonzero)
			continue;
		if (skip || ret->n == WAIT_WATCHED || (life & SYS_OWNER_DIED) ||
			!life) {
			skip -= skip > 0;
			all = 0;
			continue;
		}
		ret->word[ret->n] = &t->life;
		ret->seen[ret->n++] = life;
	}
	return all;
}

/* Take a record off its set; part of the current operation. */
static void unbind(struct caller *c, struct semset *set, struct undo *u)
{
	if (u->is_active)
		unlink_active(c, set, u);
	unlink_set(c, set, u);
	journal_set64(c, &u->ident, 0);
}

/* Adjustments applied in one operation, and journal entries of the last one:
 * all fit into the journal that every thread has, for a repair must not need
 * space. */
#define APPLY_STEP 16u
#define APPLY_LAST 12u
_Static_assert(2 * APPLY_STEP + APPLY_LAST <= JOURNAL_INLINE, "no room");

/* Apply one semaphore's adjustment, and clear it. */
static void apply_one(
	struct caller *c, struct sem *sem, struct undo *u, u32 num, u32 pid)
{
	s32 value;

	sem_own(sem);
	value = sem_value_undone(SEM_VALUE(sem->lo), u->adj[num]);
	journal_set64(c, &sem->lo, lo_make(sem->lo, (u32)value, pid));
	journal_set16(c, (u16 *)&u->adj[num], 0);
}

/*
 * Apply a dead process's record. A large one takes several operations, under
 * one hold of the lock; if the thread dies between them, the record says what
 * remains. 1: this may let more sleepers through than one hold should, so the
 * caller makes the pass, with lock_pause, once it has released the task's lock.
 */
static int apply(struct caller *c, struct slot *s, struct semset *set,
	struct undo *u, u32 pid)
{
	struct sem *sems = sem_array(set);
	u32 i, n = undo_n_sems(u), done = 0;

	/* The caller has checked that there are as many. */
	if (unlikely(n > sem_count(s)))
		n = sem_count(s);
	for (i = 0; i < n; i++) {
		if (!u->adj[i])
			continue;
		if (done == APPLY_STEP) {
			journal_set32(c, &u->n_nonzero, u->n_nonzero - done);
			journal_set16(c, &set->pass_pending, 1);
			journal_commit(c);
			done = 0;
		}
		apply_one(c, &sems[i], u, i, pid);
		done++;
	}
	sem_own(&sems[0]);
	journal_set64(c, &sems[0].hi, hi_stamp(sems[0].hi, sys_realtime_sec()));
	if (u->n_nonzero) {
		journal_set32(c, &u->n_nonzero, 0);
		journal_set32(c, &set->n_adj, set->n_adj - 1);
	}
	unbind(c, set, u);
	journal_set16(c, &set->pass_pending, 1);
	if (set->n_waiters)
		sem_crash_guard(c, s, set, NULL, 0);
	journal_commit(c);
	if (unlikely(set->n_waiters > HOLD_LEAVES))
		return 1;
	sem_pass(c, s, set, NULL, 0);
	return 0;
}

/* Records found by one walk: a process may have one per set, and a walk for
 * each of them would be quadratic. Arbitrary. */
#define RECENT 32u

/* Find the records used last, the most recent first; returns how many. */
static u32 most_recent(
	struct caller *c, const struct task *t, struct undo *ret[RECENT])
{
	struct undo *u;
	struct walk w = {0};
	u32 i, n = 0;

	for (u = undo_at(c, t->undo_head); u && undo_walk(c, &w, u);
		u = undo_at(c, u->task_next)) {
		if (!u->ident)
			continue;
		i = n < RECENT ? n++ : RECENT;
		for (; i > 0 && u->stamp > ret[i - 1]->stamp; i--)
			if (i < RECENT)
				ret[i] = ret[i - 1];
		if (i < RECENT)
			ret[i] = u;
	}
	return n;
}

/* Apply one record. Returns its set if the pass over its sleepers is left to be
 * made, else NULL. */
static struct slot *apply_record(
	struct caller *c, struct task *t, struct undo *u)
{
	u64 ident = atom_load_relaxed(&u->ident);
	struct semset *set;
	struct slot *s;

	/* Read without the set's lock: a removal may have unlinked the record
	 * since it was found. */
	if (unlikely(!ident))
		return NULL;
	s = region_slot(&c->region, FAC_SEM, u->slot_idx & ids_mask(c));
	sem_lock_any(c, s);
	set = sem_body(c, s);
	if (unlikely(!set || (s->ident == ident && u->n_sems != s->size))) {
		/* Its set no longer exists. */
		journal_set64(c, &u->ident, 0);
		journal_commit(c);
	} else if (u->ident == ident && s->ident == ident) {
		if (unlikely(apply(c, s, set, u, t->pid))) {
			wait_pause_begin(c);
			wait_pause_end(c, lock_pause(c, &s->lock));
			return s;
		}
	} else if (u->ident == ident) {
		/* A removal has begun and has not reached its records. The body
		 * still exists: it is freed after them. */
		unbind(c, set, u);
		journal_commit(c);
	}
	sem_unlock(c, s);
	/* Not applied: damaged. Drop it, so as not to find it again. */
	if (unlikely(u->ident == ident)) {
		journal_set64(c, &t->undo_head.off, 0);
		journal_commit(c);
	}
	return NULL;
}

/* Apply all records. Returns the set whose pass is left to be made, and then
 * there may be more to apply; or NULL. */
static struct slot *apply_all(struct caller *c, struct task *t)
{
	struct undo *recent[RECENT];
	struct slot *left = NULL;
	u32 n, i;

	while (!left && (n = most_recent(c, t, recent)))
		for (i = 0; i < n && !left; i++)
			left = apply_record(c, t, recent[i]);
	return left;
}

static void free_chain(struct caller *c, struct task *t)
{
	struct undo *u;
	struct walk w = {0}, v = {0};

	if (t->spare.off)
		heap_free_at(c, t->spare_size, &t->spare);
	/* Check first that the chain ends: a block must not be freed twice. */
	for (u = undo_at(c, t->undo_head); u; u = undo_at(c, u->task_next))
		if (unlikely(!undo_walk(c, &w, u))) {
			journal_set64(c, &t->undo_head.off, 0);
			journal_commit(c);
			break;
		}
	while ((u = undo_at(c, t->undo_head)) && undo_walk(c, &v, u)) {
		u64 size = undo_size(u->cap);

		atom_store_release(&t->spare_size, size);
		journal_set_ref(c, &t->spare, t->undo_head);
		journal_set_ref(c, &t->undo_head, u->task_next);
		journal_commit(c);
		heap_free_at(c, size, &t->spare);
	}
}

/* Has the exited task anything to apply? Decided by adj[] itself: where a set
 * was biased to it, the counts beside adj[] may be out of date. */
static int holds_any(struct caller *c, const struct task *t)
{
	const struct undo *u;
	struct walk w = {0};
	u32 i, n;

	for (u = undo_at(c, t->undo_head); u && undo_walk(c, &w, u);
		u = undo_at(c, u->task_next)) {
		n = u->ident ? undo_n_sems(u) : 0;
		for (i = 0; i < n; i++)
			if (u->adj[i])
				return 1;
	}
	return 0;
}

int undo_release_waits(const struct caller *c, const struct task *t)
{
	const struct undo *u;
	struct walk w = {0};

	for (u = undo_at(c, t->undo_head); u && undo_walk(c, &w, u);
		u = undo_at(c, u->task_next))
		if (bias_lock_waits(
			    &c->region, region_slot(&c->region, FAC_SEM,
						u->slot_idx & ids_mask(c))))
			return 1;
	return 0;
}

/* An exit with nothing to apply is no event. */
struct slot *undo_release_locked(struct caller *c, struct task *t)
{
	int any = holds_any(c, t);
	struct slot *left = apply_all(c, t);

	if (any) {
		USDT1(undo, t->pid);
		event_add(c, EVENT_REAPED, t->pid, 0);
	}
	if (unlikely(left))
		return left;
	free_chain(c, t);
	return NULL;
}

void undo_pass_left(struct caller *c, struct slot *s)
{
	/* Marked: whoever takes the lock makes the pass. */
	sem_lock_any(c, s);
	section_end(c);
	sem_unlock(c, s);
}

void undo_apply_own(struct caller *c)
{
	struct slot *left;

	do {
		task_lock_own(c);
		left = apply_all(c, task_own(c));
		lock_release(c, &task_own(c)->lock);
		if (left)
			undo_pass_left(c, left);
	} while (left);
}

/* ---- SETVAL, SETALL, RMID ---- */

/* Journal entries of one adj, and of the rest of SETVAL. SETALL reserves space
 * for a whole set in addition. */
#define CLEAR_ENTRIES 3
#define CLEAR_BESIDE 8

u32 undo_clear_entries(struct caller *c, struct semset *set, s32 num)
{
	struct undo *u;
	struct walk w = {0};
	u32 n = 0;

	for (u = undo_at(c, ref_long(set->undo_all)); u && undo_walk(c, &w, u);
		u = undo_at(c, u->set_next)) {
		u32 most = undo_n_sems(u), nonzero = u->n_nonzero;

		if (num >= 0)
			n += (u32)num < most && u->adj[num] ? 3 : 0;
		else
			n += 2 * (nonzero < most ? nonzero : most) + 1;
	}
	return n;
}

static void clear_one(
	struct caller *c, struct semset *set, struct undo *u, u32 num)
{
	if (unlikely(journal_left(c) < CLEAR_ENTRIES + CLEAR_BESIDE))
		damage_met(c);
	else
		set_adj(c, set, u, num, 0);
}

void undo_clear(struct caller *c, struct semset *set, s32 num)
{
	struct undo *u;
	struct walk w = {0};
	u32 i, n;

	for (u = undo_at(c, ref_long(set->undo_all)); u && undo_walk(c, &w, u);
		u = undo_at(c, u->set_next)) {
		n = undo_n_sems(u);
		if (num >= 0 && (u32)num < n && u->adj[num])
			clear_one(c, set, u, (u32)num);
		for (i = 0; num < 0 && u->n_nonzero && i < n && !c->damaged;
			i++)
			if (u->adj[i])
				clear_one(c, set, u, i);
	}
}

void undo_drop_all(struct caller *c, struct semset *set)
{
	struct undo *u;

	while ((u = undo_at(c, ref_long(set->undo_all)))) {
		/* Not bound: the list is damaged, and its rest is dropped. */
		if (unlikely(!u->ident))
			set_list(c, &set->undo_all, (struct ref){0});
		else
			unbind(c, set, u);
		journal_commit(c);
	}
}
