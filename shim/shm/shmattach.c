// SPDX-License-Identifier: MIT
/*
 * Attachment records; see shmattach.h.
 *
 * Keeps INV_SHM_ATTACH, INV_SHM_NATTCH, INV_SHM_RECORD (inspect/check.h).
 */
#include "shm/shmattach.h"
#include "shm/shmrun.h"
#include "object/reap.h"
#include "registry/bias.h"
#include "registry/event.h"
#include "registry/heap.h"

/* Tasks remembered in one query as suspected but alive. */
#define ALIVE_MOST 16u

static struct ref record_ref(const struct caller *c, const struct shm_attach *r)
{
	return (struct ref){r ? region_off(&c->region, r) : 0};
}

static struct slot *slot_of(const struct caller *c, u32 idx)
{
	return region_slot(&c->region, FAC_SHM, idx & ids_mask(c));
}

static int forced(struct caller *c)
{
	return caller_header(c)->limits.shm_rmid_forced;
}

/* A segment that must not outlive its last attachment. */
static int is_dest(struct caller *c, const struct shm_segment *seg)
{
	return (seg->flags & SHM_SEG_DEST) || forced(c);
}

/* ---- records ---- */

static int record_alloc(struct caller *c, struct task *t)
{
	struct shm_attach *rec;
	int err;

	if (t->spare.off)
		heap_free_at(c, t->spare_size, &t->spare);
	atom_store_release(&t->spare_size, sizeof(*rec));
	heap_acquire(c);
	err = heap_alloc_locked(c, sizeof(*rec), &t->spare);
	rec = err ? NULL : shm_attach_at(c, t->spare);
	if (rec) {
		/* Nobody reaches it yet: plain stores. */
		*rec = (struct shm_attach){.task_next = t->shm_head};
		journal_set_ref(c, &t->shm_head, t->spare);
		journal_set_ref(c, &t->shm_free, t->spare);
		journal_set_ref(c, &t->spare, (struct ref){0});
	} else {
		journal_abort(c);
	}
	journal_commit(c);
	heap_release(c);
	return rec ? 0 : -ENOMEM;
}

struct shm_attach *shm_record_new(struct caller *c, struct task *t)
{
	if (!t->shm_free.off && record_alloc(c, t))
		return NULL;
	return shm_attach_at(c, t->shm_free);
}

void shm_record_link(struct caller *c, struct task *t, struct slot *s,
	struct shm_attach *rec, const struct shm_entry *e, u32 count, u32 pid)
{
	struct shm_segment *seg = shm_body(c, s);
	struct shm_attach *first = shm_attach_at(c, seg->attach_all);
	s64 now = sys_realtime_sec();

	/* Not in use: what a free record needs goes through the journal. */
	atom_store_release(
		&rec->slot_idx, region_slot_idx(&c->region, FAC_SHM, s));
	atom_store_release(&rec->task, (u32)(t - region_task(&c->region, 0)));
	atom_store_release(&rec->count, count);
	atom_store_release(&rec->epoch, t->epoch);
	atom_store_release(
		&rec->addr, e->addr | (e->read_only ? SHM_ATTACH_RDONLY : 0));
	atom_store_release(&rec->seg_prev.off, 0);
	atom_store_release(&rec->seg_next.off, seg->attach_all.off);
	journal_set_ref(c, &t->shm_free, rec->free_next);
	journal_set64(c, (u64 *)&rec->since, (u64)now);
	journal_set64(c, &rec->ident, s->ident);
	if (first)
		journal_set_ref(c, &first->seg_prev, record_ref(c, rec));
	journal_set_ref(c, &seg->attach_all, record_ref(c, rec));
	journal_set32(c, &seg->nattch, seg->nattch + count);
	journal_set64(c, (u64 *)&seg->atime, (u64)now);
	journal_set32(c, &seg->lpid, pid);
	journal_commit(c);
}

/* Part of the current operation; slot lock held. */
static void unlink_from(
	struct caller *c, struct shm_segment *seg, struct shm_attach *rec)
{
	struct shm_attach *next = shm_attach_at(c, rec->seg_next);
	struct shm_attach *prev = shm_attach_at(c, rec->seg_prev);

	if (next)
		journal_set_ref(c, &next->seg_prev, rec->seg_prev);
	if (prev)
		journal_set_ref(c, &prev->seg_next, rec->seg_next);
	else
		journal_set_ref(c, &seg->attach_all, rec->seg_next);
	journal_set32(c, &seg->nattch, seg->nattch - rec->count);
}

int shm_record_unlink(
	struct caller *c, struct task *t, struct shm_attach *rec, u32 pid)
{
	struct slot *s = slot_of(c, rec->slot_idx);
	struct shm_segment *seg;
	int last = 0;

	lock_acquire(c, &s->lock);
	seg = shm_body(c, s);
	if (s->ident == rec->ident && seg) {
		unlink_from(c, seg, rec);
		journal_set64(c, (u64 *)&seg->dtime, sys_realtime_sec());
		journal_set32(c, &seg->lpid, pid);
		last = !seg->nattch && is_dest(c, seg);
		if (t == task_own(c))
			shm_past(c, seg);
	}
	journal_set64(c, &rec->ident, 0);
	journal_set_ref(c, &rec->free_next, t->shm_free);
	journal_set_ref(c, &t->shm_free, record_ref(c, rec));
	journal_commit(c);
	lock_release(c, &s->lock);
	return last;
}

void shm_record_recount(struct caller *c, struct shm_attach *rec, u32 count,
	int opened, int closed)
{
	struct slot *s = slot_of(c, rec->slot_idx);
	struct shm_segment *seg;

	lock_acquire(c, &s->lock);
	seg = shm_body(c, s);
	if (s->ident == rec->ident && seg) {
		journal_set32(
			c, &seg->nattch, seg->nattch + count - rec->count);
		journal_set32(c, &rec->count, count);
		if (opened)
			journal_set64(
				c, (u64 *)&seg->atime, sys_realtime_sec());
		if (closed)
			journal_set64(
				c, (u64 *)&seg->dtime, sys_realtime_sec());
		journal_set32(c, &seg->lpid, c->pid);
		journal_commit(c);
	}
	lock_release(c, &s->lock);
}

static void free_records(struct caller *c, struct task *t)
{
	struct shm_attach *rec;
	struct walk w = {0};

	if (t->spare.off)
		heap_free_at(c, t->spare_size, &t->spare);
	atom_store_release(&t->shm_free.off, 0);
	/* First whether it ends: a block is freed once. */
	for (rec = shm_attach_at(c, t->shm_head); rec;
		rec = shm_attach_at(c, rec->task_next))
		if (unlikely(!walk_goes_on(
			    c, &w, region_off(&c->region, rec)))) {
			journal_set64(c, &t->shm_head.off, 0);
			journal_commit(c);
			break;
		}
	while ((rec = shm_attach_at(c, t->shm_head))) {
		atom_store_release(&t->spare_size, sizeof(*rec));
		journal_set_ref(c, &t->spare, t->shm_head);
		journal_set_ref(c, &t->shm_head, rec->task_next);
		journal_commit(c);
		heap_free_at(c, sizeof(*rec), &t->spare);
	}
}

/* It may have made children: not one that has adopted nothing yet, unless it
 * was found. */
static int has_run(const struct task *t)
{
	return t->state == TASK_LIVE || !t->use_seq;
}

/* Whoever drops the last record of one pending destruction ends it. */
static void before_last(struct caller *c, const struct shm_attach *rec)
{
	struct slot *s = slot_of(c, rec->slot_idx);
	const struct shm_segment *seg = shm_body(c, s);

	if (seg && seg->past[0] && seg->nattch == rec->count && is_dest(c, seg))
		shm_count_unseen(c, s, rec->ident);
}

int shm_release_locked(struct caller *c, struct task *t, u32 epoch)
{
	u32 pid = t->state == TASK_PREFORK ? (u32)t->prefork : t->pid, n = 0;
	struct shm_attach *rec;
	struct walk w = {0};

	for (rec = shm_attach_at(c, t->shm_head);
		rec && walk_goes_on(c, &w, region_off(&c->region, rec));
		rec = shm_attach_at(c, rec->task_next)) {
		if (!rec->ident || (epoch != ~0u && rec->epoch >= epoch))
			continue;
		if (!n && t->image && has_run(t))
			shm_count_orphans(c, t);
		before_last(c, rec);
		shm_record_unlink(c, t, rec, pid);
		n++;
	}
	if (epoch == ~0u)
		free_records(c, t);
	return n > 0;
}

/* ---- exited tasks ---- */

int shm_release_waits(const struct caller *c, const struct task *t)
{
	const struct shm_attach *rec;
	struct walk w = {0};

	for (rec = shm_attach_at(c, t->shm_head);
		rec && walk_goes_on(c, &w, region_off(&c->region, rec));
		rec = shm_attach_at(c, rec->task_next))
		if (bias_lock_waits(&c->region, slot_of(c, rec->slot_idx)))
			return 1;
	return 0;
}

/* What a record's task must be asked for: it may be that of one who is gone, or
 * of an earlier program image. */
static int suspect(
	struct caller *c, const struct shm_attach *rec, enum task_look look)
{
	struct task *t = region_task(&c->region, rec->task);

	if (unlikely(atom_load_acquire(&t->state) != TASK_LIVE ||
		     rec->epoch != atom_load_acquire(&t->epoch)))
		return 1;
	return rec->task != c->task &&
	       (task_suspect(t) || task_look(c, t, look));
}

static enum task_look look_at(const struct shm_segment *seg)
{
	return atom_load_relaxed(&seg->nattch) <= TASK_FEW ? TASK_LOOK_NOW
							   : TASK_LOOK;
}

/* Records looked at without the lock, in a list that may change under us.
 * Arbitrary. */
#define PEEKED_RECORDS 64

int shm_none_suspect(struct caller *c, const struct shm_segment *seg)
{
	const struct shm_attach *rec = shm_attach_at(c, seg->attach_all);
	enum task_look look = look_at(seg);
	int steps;

	for (steps = 0; rec && steps < PEEKED_RECORDS; steps++) {
		if (suspect(c, rec, look))
			return 0;
		rec = shm_attach_at(c, rec->seg_next);
	}
	return !rec;
}

static int known(const u32 *alive, u32 n, u32 task)
{
	while (n--)
		if (alive[n] == task)
			return 1;
	return 0;
}

static int settle(struct caller *c, struct slot *s, u64 ident,
	enum task_look look, struct shm_segment **ret)
{
	u32 alive[ALIVE_MOST], n_alive = 0, task;
	struct shm_segment *seg;
	struct shm_attach *rec;
	struct walk w;

	for (;;) {
		lock_acquire(c, &s->lock);
		seg = shm_body(c, s);
		if (s->ident != ident || !seg) {
			lock_release(c, &s->lock);
			return -EIDRM;
		}
		w = (struct walk){0};
		for (rec = shm_attach_at(c, seg->attach_all);
			rec && walk_goes_on(c, &w, region_off(&c->region, rec));
			rec = shm_attach_at(c, rec->seg_next))
			if (unlikely(suspect(c, rec, look)) &&
				!known(alive, n_alive, rec->task))
				break;
		if (!rec || n_alive == ALIVE_MOST) {
			*ret = seg;
			return 0;
		}
		task = rec->task;
		lock_release(c, &s->lock);
		if (!reap_task(c, task))
			alive[n_alive++] = task;
	}
}

int shm_settle(
	struct caller *c, struct slot *s, u64 ident, struct shm_segment **ret)
{
	const struct shm_segment *seg = shm_body(c, s);

	return settle(c, s, ident, seg ? look_at(seg) : TASK_LOOK, ret);
}

void shm_order_slow(struct caller *c, struct slot *s, u64 ident)
{
	struct shm_segment *seg;

	if (!settle(c, s, ident, TASK_LOOK_NOT, &seg))
		lock_release(c, &s->lock);
}

struct own_segment {
	struct slot *s;
	u64 ident;
};

/* What this process has attached in a range, SHM_ORDER_MOST at most. */
static u32 own_segments(
	struct caller *c, u64 addr, u64 len, struct own_segment *to)
{
	const struct shm_entry *e;
	u32 at = 0, n = 0;

	task_lock_own(c);
	while (n < SHM_ORDER_MOST && (e = shm_entry_each(c->shm, &at)))
		if (e->ident && e->addr < addr + len &&
			e->addr + e->pages * SYS_PAGE > addr) {
			to[n].s = region_slot(&c->region, FAC_SHM, e->slot_idx);
			to[n++].ident = e->ident;
		}
	lock_release(c, &task_own(c)->lock);
	return n;
}

u32 shm_order_range(struct caller *c, u64 addr, u64 len)
{
	struct own_segment own[SHM_ORDER_MOST];
	u32 n = own_segments(c, addr, len, own), i;

	for (i = n; i--;) {
		shm_order(c, own[i].s, own[i].ident);
		shm_tidy(c, own[i].s, own[i].ident);
	}
	return n;
}

void shm_reap_own(struct caller *c)
{
	struct own_segment own[SHM_ORDER_MOST];
	struct shm_segment *seg;
	u32 n = own_segments(c, 0, ~0ULL, own);

	while (n--)
		if (!settle(c, own[n].s, own[n].ident, TASK_LOOK_NOW, &seg))
			lock_release(c, &own[n].s->lock);
}

void shm_tidy_slow(struct caller *c, struct slot *s, u64 ident)
{
	struct shm_segment *seg;

	if (shm_settle(c, s, ident, &seg))
		return;
	atom_store_release(&seg->tidy_at, 2 * seg->nattch + SHM_TIDY_MIN);
	lock_release(c, &s->lock);
}

/* Facility and slot lock held; releases the slot's. */
static void destroy_locked(struct caller *c, struct slot *s)
{
	object_retire_locked(c, &shm_class, s);
	lock_release(c, &s->lock);
	object_finish_locked(c, &shm_class, s);
}

void shm_destroy_unused(struct caller *c, struct slot *s, u64 ident)
{
	struct shm_segment *seg;

	object_fac_lock(c, &shm_class);
	lock_acquire(c, &s->lock);
	seg = shm_body(c, s);
	if (s->ident == ident && seg && !seg->nattch && is_dest(c, seg))
		destroy_locked(c, s);
	else
		lock_release(c, &s->lock);
	object_fac_unlock(c, &shm_class);
}

/* One pending destruction that nobody has: 1 if it is gone. Of a damaged list, what
 * is no segment, or stays, ends it: the caller would come back for ever. */
static int sweep_one(struct caller *c)
{
	struct shm_segment *seg;
	struct slot *s;
	struct walk w = {0};
	u32 idx, next;
	u64 ident;

	for (idx = caller_header(c)->shm.dest; idx && walk_goes_on(c, &w, idx);
		idx = next) {
		s = slot_of(c, idx - 1);
		seg = shm_body(c, s);
		if (!seg)
			return 0;
		next = seg->dest_next;
		if (atom_load_acquire(&seg->nattch))
			continue;
		lock_acquire(c, &s->lock);
		ident = s->ident;
		if (!seg->nattch && (ident & IDENT_LIVE)) {
			destroy_locked(c, s);
			return s->ident != ident;
		}
		lock_release(c, &s->lock);
	}
	return 0;
}

void shm_sweep_empty(struct caller *c)
{
	object_fac_lock(c, &shm_class);
	while (sweep_one(c))
		;
	object_fac_unlock(c, &shm_class);
	shm_run_flush(c);
}

/* The segment pending destruction behind idx + 1 `at`, the first if 0; idx + 1
 * or 0. */
static u32 next_dest(struct caller *c, u32 at, u64 *ret_ident)
{
	struct shm_segment *seg = NULL;
	u32 idx;

	object_fac_lock(c, &shm_class);
	idx = caller_header(c)->shm.dest;
	if (at) {
		seg = shm_body(c, slot_of(c, at - 1));
		idx = seg && (seg->flags & SHM_SEG_DEST) ? seg->dest_next : 0;
	}
	*ret_ident = idx ? slot_of(c, idx - 1)->ident : 0;
	object_fac_unlock(c, &shm_class);
	return idx;
}

/* With shm_rmid_forced every unattached segment goes whose creator is gone. */
static int creator_gone(const struct shm_segment *seg)
{
	return identity_thread_gone(seg->creator, seg->creator_start);
}

static void sweep_forced(struct caller *c)
{
	struct shm_segment *seg;
	struct slot *s;
	u64 ident;
	u32 idx = 0;
	int gone;

	for (; (idx = ids_next(c, FAC_SHM, idx)) < IDX_MAX; idx++) {
		s = slot_of(c, idx);
		ident = atom_load_acquire(&s->ident);
		if (!(ident & IDENT_LIVE) || shm_settle(c, s, ident, &seg))
			continue;
		gone = !seg->nattch && (seg->atime || creator_gone(seg));
		lock_release(c, &s->lock);
		if (gone)
			shm_destroy_unused(c, s, ident);
	}
}

void shm_sweep(struct caller *c)
{
	struct shm_segment *seg;
	struct slot *s;
	u64 ident;
	struct walk w = {0};
	u32 idx = 0;

	while (atom_load_acquire(&caller_header(c)->shm.dest) &&
		(idx = next_dest(c, idx, &ident)) && walk_goes_on(c, &w, idx)) {
		s = slot_of(c, idx - 1);
		if (!shm_settle(c, s, ident, &seg))
			lock_release(c, &s->lock);
	}
	if (atom_load_relaxed(&caller_header(c)->shm.dest))
		shm_sweep_empty(c);
	if (unlikely(forced(c)))
		sweep_forced(c);
}
