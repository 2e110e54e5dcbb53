// SPDX-License-Identifier: MIT
/*
 * Reading locks; see lockview.h.
 */
#include "inspect/lockview.h"
#include "mq/mqueue.h"
#include "registry/task.h"

#define NAME_MAX_SHOWN 40u

/* A lock, as the walk counts them: from LOCK_OBJECT on, one class per
 * facility. */
struct which {
	u32 class, at;
};

/* The next lock of a slot, from at->at on, or NULL. Slots that were never used
 * are holes of the file: beyond slots_ready only those in use are read, and if
 * the header's values are too large there is none. */
static struct lock *next_of_slots(
	struct caller *c, u32 f, struct lock_cursor *at)
{
	const struct id_table *t = &caller_header(c)->ids[f];
	u32 idx;

	if (at->at > atom_load_relaxed(&t->max_idx))
		return NULL;
	idx = ids_past_hole(&c->region, f, at->at);
	if (idx >= atom_load_relaxed(&t->slots_ready))
		idx = ids_next(c, f, idx);
	if (idx >= IDX_MAX)
		return NULL;
	at->at = idx + 1;
	return &region_slot(&c->region, f, idx)->lock;
}

/* The next lock after the cursor, or NULL; and which it is. */
static struct lock *next_lock(
	struct caller *c, struct lock_cursor *at, struct which *ret_which)
{
	struct header *h = caller_header(c);
	struct lock *lock;
	u32 f, idx;

	*ret_which = (struct which){at->class, at->at};
	switch (at->class) {
	case LOCK_FACILITY:
		if (++at->at == N_FAC)
			*at = (struct lock_cursor){.class = LOCK_HEAP};
		return &h->fac_lock[ret_which->at].lock;
	case LOCK_HEAP:
		at->class = LOCK_REPAIR;
		return &h->heap.lock;
	case LOCK_REPAIR:
		at->class = LOCK_TASK;
		return &h->repair_lock.lock;
	case LOCK_TASK:
		ret_which->at = idx = task_next(c, at->at);
		at->at = idx + 1;
		if (idx < N_TASKS)
			return &region_task(&c->region, idx)->lock;
		*at = (struct lock_cursor){.class = LOCK_OBJECT};
	}
	for (; (f = at->class - LOCK_OBJECT) < N_FAC;
		at->class ++, at->at = 0) {
		lock = next_of_slots(c, f, at);
		*ret_which = (struct which){at->class, at->at - 1};
		if (lock)
			return lock;
	}
	return NULL;
}

static void name_object(struct caller *c, u32 f, u32 idx, struct lock_view *ret)
{
	const struct slot *s = region_slot(&c->region, f, idx);
	u64 ident = atom_load_acquire(&s->ident);
	const struct mqueue *q = f == FAC_MQ ? mq_body(c, s) : NULL;
	size_t n = str_add(ret->name, sizeof(ret->name), 0, facility_names[f]);

	if (!(ident & IDENT_LIVE)) {
		n = str_add(ret->name, sizeof(ret->name), n, " #");
		str_add_u64(ret->name, sizeof(ret->name), n, idx);
	} else if (q) {
		n = str_add(ret->name, sizeof(ret->name), n, " /");
		str_add(ret->name, NAME_MAX_SHOWN, n, q->name);
	} else {
		n = str_add(ret->name, sizeof(ret->name), n, " ");
		str_add_u64(
			ret->name, sizeof(ret->name), n, (u32)IDENT_ID(ident));
	}
}

static void name_lock(
	struct caller *c, struct which which, struct lock_view *ret)
{
	const size_t cap = sizeof(ret->name);

	ret->class = which.class < LOCK_OBJECT ? which.class : (u32)LOCK_OBJECT;
	switch (ret->class) {
	case LOCK_FACILITY:
		ret->facility = which.at;
		str_add(ret->name, cap, 0, facility_names[which.at]);
		break;
	case LOCK_HEAP:
		str_add(ret->name, cap, 0, "heap");
		break;
	case LOCK_REPAIR:
		str_add(ret->name, cap, 0, "repair");
		break;
	case LOCK_TASK:
		str_add_u64(ret->name, cap, str_add(ret->name, cap, 0, "task "),
			region_task(&c->region, which.at)->pid);
		break;
	default:
		ret->facility = which.class - LOCK_OBJECT;
		name_object(c, ret->facility, which.at, ret);
	}
}

/* A page that was never used stays a hole. */
static void add_profile(
	struct caller *c, const struct lock *lock, struct lock_view *ret)
{
	const struct lock_profile *p = lock_profile(&c->region, lock);
	const struct lock_profile *last =
		(const void *)((const char *)(p + 1) - 1);

	if (!caller_header(c)->profiled || !region_has_row(&c->region, p) ||
		!region_has_row(&c->region, last))
		return;
	ret->max_ns = atom_load_relaxed(&p->max_ns);
	ret->total_ns = atom_load_relaxed(&p->total_ns);
}

int lock_view_next(
	struct caller *c, struct lock_cursor *at, struct lock_view *ret)
{
	struct which which;
	const struct lock *lock;

	do {
		lock = next_lock(c, at, &which);
		if (!lock)
			return 0;
	} while (!lock_count(lock));
	*ret = (struct lock_view){
		.owner = atom_load_relaxed(&lock->word) & SYS_TID_MASK,
		.count = lock_count(lock),
		.cnt_hold = atom_load_relaxed(&lock->n_held_wanted),
		.cnt_lock = atom_load_relaxed(&lock->n_found_held),
	};
	add_profile(c, lock, ret);
	ret->avg_ns = ret->total_ns / ret->count;
	name_lock(c, which, ret);
	return 1;
}

/* Under the lock: otherwise the owner's store of its count would undo it. */
static void reset(struct caller *c, struct lock *lock)
{
	const u64 step = 1ULL << LOCK_COUNT_BITS;
	struct lock_profile *p = lock_profile(&c->region, lock);
	int died = lock_acquire(c, lock);

	atom_store_release(&lock->count, (lock->count | (step - 1)) + 1);
	atom_store_release(&lock->n_found_held, 0);
	atom_store_release(&lock->n_held_wanted, 0);
	/* This hold does not count. */
	if (caller_header(c)->profiled && !caller_reserve(c, p, sizeof(*p)))
		*p = (struct lock_profile){0};
	if (died)
		lock_pass_on(c, lock);
	else
		lock_release(c, lock);
}

int lock_view_reset(struct caller *c)
{
	struct lock_cursor at = {0};
	struct which which;
	struct lock *lock;
	int err = caller_enroll(c);

	if (err)
		return err;
	while ((lock = next_lock(c, &at, &which)))
		if (lock_count(lock))
			reset(c, lock);
	return 0;
}

int lock_view_profile(struct caller *c, int on)
{
	struct header *h = caller_header(c);
	int err = on ? lock_view_reset(c) : 0;

	if (err)
		return err;
	if (on)
		atom_store_release(&h->profiled, 1);
	atom_store_release(&h->profiling, on != 0);
	return err;
}
