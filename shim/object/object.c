// SPDX-License-Identifier: MIT
/*
 * Creation and removal of objects; see object.h.
 *
 * Keeps INV_SLOT, INV_REMOVING, INV_TOTAL (inspect/check.h).
 */
#include "object/object.h"
#include "index/keyhash.h"
#include "object/controlfile.h"
#include "object/kernelkey.h"
#include "object/limits.h"
#include "object/perm.h"
#include "object/reap.h"
#include "registry/damage.h"
#include "registry/event.h"
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "registry/wait.h"

#define CREATE_ENTRIES (IDS_ENTRIES + KEYHASH_ENTRIES + HEAP_ENTRIES + 8)

static struct lock *fac_lock(struct caller *c, const struct object_class *k)
{
	return &caller_header(c)->fac_lock[k->facility].lock;
}

/* Give both locks to others in the middle of step 2; see lock_pause. Afterwards
 * the facility's is held. */
static void removal_pause(
	struct caller *c, const struct object_class *k, struct slot *s)
{
	int wanted;

	wait_pause_begin(c);
	wanted = lock_pause(c, &s->lock);
	wanted |= lock_pause(c, fac_lock(c, k));
	wait_pause_end(c, wanted);
	lock_acquire(c, fac_lock(c, k));
	section_end(c);
	section_end(c);
}

/* Steps 2 and 3. The facility's lock is held, and the object's, which is
 * released. 1: others had both meanwhile, and removal_finish continues. */
static int remove_rest(struct caller *c, const struct object_class *k, u32 idx)
{
	struct header *h = caller_header(c);
	struct id_table *t = &h->ids[k->facility];
	struct slot *s = region_slot(&c->region, k->facility, idx);
	u64 size = k->body_size(s->size), off;
	int to_heap, freed = 0;
	void *body;

	if (unlikely(k->empty(c, s))) {
		removal_pause(c, k, s);
		return 1;
	}
	off = s->body.off;
	body = region_span(&c->region, (struct ref){off}, size);
	to_heap = body && off >= HEAP_OFF && !(k->keep && k->keep(c, s));
	if (to_heap && heap_leave(c, size, &s->body)) {
		to_heap = 0;
	} else if (to_heap) {
		if (k->scrub && size >= HEAP_LARGE)
			k->scrub(body, size);
		heap_acquire(c);
		freed = heap_free_locked(c, size, &s->body);
	} else {
		journal_set64(c, &s->body.off, 0);
	}
	ids_free_locked(c, k->facility, idx);
	journal_set64(c, &t->total, t->total - k->weight(s->size));
	journal_set64(c, &h->removing[k->facility], 0);
	journal_commit(c);
	if (to_heap) {
		if (freed)
			heap_discard(c, off, size);
		heap_release(c);
	}
	lock_release(c, &s->lock);
	return 0;
}

/* Finish a removal begun by a thread that died or gave the locks to others. The
 * facility's lock is held. */
static void removal_finish(struct caller *c, const struct object_class *k)
{
	struct header *h = caller_header(c);
	struct slot *s;
	u64 removing;
	u32 idx;

	do {
		keyhash_repair(c, k->facility);
		removing = h->removing[k->facility];
		if (!removing)
			return;
		idx = (removing - 1) & ids_mask(c);
		s = region_slot(&c->region, k->facility, idx);
		if (s->ident & IDENT_LIVE) {
			atom_store_release(&h->removing[k->facility], 0);
			return;
		}
		k->lock(c, s);
	} while (remove_rest(c, k, idx));
}

void object_fac_lock(struct caller *c, const struct object_class *k)
{
	if (unlikely(lock_acquire(c, fac_lock(c, k))))
		removal_finish(c, k);
}

/* Free the body of a removed object, or one prepared and not needed. */
static __attribute__((noinline)) void body_settle(
	struct caller *c, const struct object_class *k)
{
	void *body;
	u64 size;

	if (c->n_held)
		return;
	section_begin(c);
	body = heap_ready(c, &size);
	if (body && k->scrub)
		k->scrub(body, size);
	heap_settle(c);
	section_end(c);
}

void object_fac_unlock(struct caller *c, const struct object_class *k)
{
	lock_release(c, fac_lock(c, k));
	if (unlikely(region_thread(&c->region, c->thread)->ready.off))
		body_settle(c, k);
	if (k->settle)
		k->settle(c);
}

static void fill_slot(
	struct caller *c, struct slot *s, s32 key, u64 size, s32 flg)
{
	const struct cred *cred = perm_cred(c);

	atom_store_release(&s->key, key);
	atom_store_release(&s->mode, (u32)flg & 0777);
	atom_store_release(&s->uid, cred->euid);
	atom_store_release(&s->cuid, cred->euid);
	atom_store_release(&s->gid, cred->egid);
	atom_store_release(&s->cgid, cred->egid);
	atom_store_release(&s->size, (u32)size);
	atom_store_release(&s->ctime, sys_realtime_sec());
}

/* A large body that was written before the facility's lock was taken. */
struct early {
	u64 off; /* 0: none */
	u64 gen;
};

/* The generation is taken at once: a creation that fails then leaves a gap. */
static __attribute__((noinline)) void make_early(struct caller *c,
	const struct object_class *k, u64 size, struct early *ret)
{
	struct id_table *t = &caller_header(c)->ids[k->facility];
	void *body = NULL;
	u64 block;

	section_begin(c);
	if (!heap_prepare(c, k->body_size(size)))
		body = heap_ready(c, &block);
	if (body && block >= k->body_size(size)) {
		object_fac_lock(c, k);
		ret->gen = t->gen;
		atom_store_release(&t->gen, id_table_next_gen(ret->gen));
		lock_release(c, fac_lock(c, k));
		ret->off = region_off(&c->region, body);
		k->init_early(body, ret->gen, size);
	}
	section_end(c);
}

/* Initialize the body of the slot, unless that was done early. Returns its
 * generation; part of the operation. */
static u64 body_init(struct caller *c, const struct object_class *k,
	struct slot *s, u64 size, const struct early *early)
{
	struct id_table *t = &caller_header(c)->ids[k->facility];
	u64 gen = t->gen;

	if (unlikely(early->off && early->off == s->body.off))
		return early->gen;
	k->init(c, s, gen, size);
	journal_set64(c, &t->gen, id_table_next_gen(gen));
	return gen;
}

/* Facility lock held, key not found. */
static int create(struct caller *c, const struct object_class *k, s32 key,
	u64 size, s32 flg, const struct early *early)
{
	struct id_table *t = &caller_header(c)->ids[k->facility];
	s32 max = k->max_objects(c), id;
	struct slot *s;
	int err = k->admit(c, size), from_heap = 0;
	u64 gen;
	u32 idx;

	if (err)
		return err;
	if (max < 0 || t->in_use >= (u32)max)
		return limit_hit(c, k->max_limit, (u64)(s64)max, 0, -ENOSPC);
	err = journal_reserve(c, CREATE_ENTRIES);
	if (err)
		return err;
	keyhash_write_begin(c, k->facility);
	if (key)
		keyhash_grow_locked(c, k->facility);
	err = ids_alloc_locked(c, k->facility, &idx, &id);
	if (err == -ENOSPC)
		limit_hit(c, LIMIT_IDS, t->in_use, 0, err);
	if (err)
		goto out;
	s = region_slot(&c->region, k->facility, idx);
	if (k->has_bodies && k->body_size(size) <= BODY_SIZE) {
		journal_set64(c, &s->body.off, BODY_OFF(idx));
	} else {
		heap_acquire(c);
		from_heap = 1;
		err = heap_alloc_locked(c, k->body_size(size), &s->body);
		if (!err && unlikely(!ref_at(c, s->body)))
			err = -EIO;
		if (err)
			goto out;
	}
	fill_slot(c, s, key, size, flg);
	gen = body_init(c, k, s, size, early);
	if (key)
		keyhash_insert_locked(c, k->facility, idx);
	journal_set64(c, &t->total, t->total + k->weight(size));
	journal_publish(c, &s->ident, IDENT(gen, id));
	err = id;
out:
	if (err < 0)
		journal_abort(c);
	if (from_heap)
		heap_release(c);
	keyhash_write_end(c, k->facility);
	return err;
}

/* -EAGAIN: the slot is no longer that of the object whose key was found; the
 * size and rights read may be another object's. */
static int get_existing(struct caller *c, const struct object_class *k,
	struct slot *s, u64 ident, u64 size, s32 flg)
{
	int err;

	if ((flg & OBJ_CREAT) && (flg & OBJ_EXCL))
		return -EEXIST;
	err = k->check ? k->check(c, s, size) : 0;
	if (!err)
		err = perm_check(c, s, flg & 0777);
	atom_compiler_barrier();
	if (unlikely(atom_load_acquire(&s->ident) != ident))
		return -EAGAIN;
	return err ? err : IDENT_ID(ident);
}

/*
 * An object that was not used lately is in no cache, and its removal or
 * creation touches several lines, each a miss. All are prefetched before the
 * first is needed: this saves a third of the time of a call on one of 31,900
 * sets. A prefetch never faults, so addresses may be hints.
 */
static void prefetch_slot(const struct object_class *k, struct slot *s)
{
	__builtin_prefetch(&s->lock, 1);
	__builtin_prefetch(&s->ident, 1);
	if (k->has_bodies)
		__builtin_prefetch((char *)s + 128, 1);
}

/* The place of the next creation is known as soon as this one is done, and a
 * program that creates one object mostly creates more. */
static void prefetch_next(const struct caller *c, const struct object_class *k)
{
	u32 idx = ids_next_hint(c, k->facility);

	prefetch_slot(k, region_slot(&c->region, k->facility, idx));
}

static int get_once(struct caller *c, const struct object_class *k, s32 key,
	u64 size, s32 flg)
{
	struct early early = {0};
	struct slot *s;
	u64 ident;
	u32 seq = keyhash_seq(c, k->facility);
	int ret;

	while (key && (s = keyhash_find(c, k->facility, key, &ident))) {
		ret = get_existing(c, k, s, ident, size, flg);
		if (likely(ret != -EAGAIN))
			return ret;
		seq = keyhash_seq(c, k->facility);
	}
	if (key && !(flg & OBJ_CREAT))
		return -ENOENT;
	ret = caller_enroll(c);
	if (ret)
		return ret;
	controlfile_drain(c);
	if (key && kernelkey_taken(c, k->facility, key)) {
		event_add(c, EVENT_KERNEL_KEY, k->facility, (u32)key);
		if (flg & OBJ_EXCL)
			return -EEXIST;
	}
	if (unlikely(k->init_early && k->body_size(size) >= HEAP_LARGE))
		make_early(c, k, size, &early);
	object_fac_lock(c, k);
	/* In the section: a handler's call has one of its own. */
	c->get_flg = flg;
	s = NULL;
	if (key && keyhash_seq(c, k->facility) != seq)
		s = keyhash_find_locked(c, k->facility, key);
	if (s)
		ret = get_existing(c, k, s, s->ident, size, flg);
	else
		ret = create(c, k, key, size, flg, &early);
	object_fac_unlock(c, k);
	prefetch_next(c, k);
	return ret;
}

int object_get(struct caller *c, const struct object_class *k, s32 key,
	u64 size, s32 flg)
{
	int ret = get_once(c, k, key, size, flg);

	if (unlikely(ret == -ENOMEM) && msg_spare(c))
		ret = get_once(c, k, key, size, flg);
	return ret;
}

void object_stat(const struct caller *c, const struct slot *s, u64 ident,
	struct object_stat *ret)
{
	*ret = (struct object_stat){
		.ctime = s->ctime,
		.key = s->key,
		.id = IDENT_ID(ident),
		.uid = s->uid,
		.gid = s->gid,
		.cuid = s->cuid,
		.cgid = s->cgid,
		.mode = s->mode,
		.seq = (u32)IDENT_ID(ident) >> ids_shift(c),
	};
}

int object_allowed(struct caller *c, enum facility f, s32 id, u32 want,
	struct slot **ret, u64 *ret_ident)
{
	*ret = ids_find(c, f, id, ret_ident);
	return *ret ? perm_check_of(c, *ret, *ret_ident, want) : -EINVAL;
}

int object_owned(struct caller *c, enum facility f, s32 id, struct slot **ret,
	u64 *ret_ident)
{
	*ret = ids_find(c, f, id, ret_ident);
	return *ret ? perm_owner_of(c, *ret, *ret_ident) : -EINVAL;
}

/* 0 with the slot and its ident, -EINVAL, -EACCES, -EIDRM. */
static int lookup(struct caller *c, enum facility f, s32 id, enum object_by by,
	struct slot **ret, u64 *ret_ident)
{
	if (id < 0)
		return -EINVAL;
	if (by == OBJECT_BY_ID)
		return object_allowed(c, f, id, PERM_R, ret, ret_ident);
	*ret = ids_find_idx(c, f, id, ret_ident);
	if (!*ret)
		return -EINVAL;
	return by == OBJECT_BY_IDX_ANY
		       ? 0
		       : perm_check_of(c, *ret, *ret_ident, PERM_R);
}

/* Without the lock: 0, -EIDRM, or -EBUSY if it must be taken, because it is
 * held at every try, or because fill says so. */
static int stat_peek(struct caller *c, const struct object_stat_class *k,
	const struct slot *s, u64 ident, struct object_stat *ret)
{
	u32 tries = 0;
	u64 count;
	int got;

	do {
		if (!lock_peek_begin(&s->lock, &count))
			continue;
		if (atom_load_acquire(&s->ident) != ident)
			return -EIDRM;
		got = k->fill(c, s, ident, 0, ret);
		if (!got || !lock_peek_valid(&s->lock, count))
			continue;
		if (atom_load_relaxed(&s->ident) != ident)
			return -EIDRM;
		return got < 0 ? got : 0;
	} while (lock_peek_again(c, &s->lock, tries++));
	return -EBUSY;
}

int object_stat_by(struct caller *c, const struct object_stat_class *k, s32 id,
	enum object_by by, struct object_stat *ret)
{
	struct slot *s;
	u64 ident;
	int err = lookup(c, k->facility, id, by, &s, &ident);

	if (!err)
		err = caller_enroll(c);
	if (!err)
		err = stat_peek(c, k, s, ident, ret);
	if (err == -EBUSY) {
		err = k->lock(c, s, ident);
		if (err)
			return err;
		k->fill(c, s, ident, 1, ret);
		lock_release(c, &s->lock);
	}
	return err || by == OBJECT_BY_ID ? err : ret->id;
}

void object_set_locked(
	struct caller *c, struct slot *s, u32 uid, u32 gid, u32 mode)
{
	journal_set32(c, &s->uid, uid);
	journal_set32(c, &s->gid, gid);
	journal_set32(c, &s->mode, (s->mode & ~0777u) | (mode & 0777));
	journal_set64(c, (u64 *)&s->ctime, sys_realtime_sec());
}

static u32 slot_index(
	struct caller *c, const struct object_class *k, const struct slot *s)
{
	return region_slot_idx(&c->region, k->facility, s);
}

void object_retire_locked(
	struct caller *c, const struct object_class *k, struct slot *s)
{
	u32 idx = slot_index(c, k, s);

	atom_store_release(
		&caller_header(c)->removing[k->facility], (u64)idx + 1);
	keyhash_write_begin(c, k->facility);
	if (s->key)
		keyhash_remove_locked(c, k->facility, idx);
	journal_publish(c, &s->ident, 0);
	keyhash_shrink_locked(c, k->facility);
	keyhash_write_end(c, k->facility);
}

void object_finish_locked(
	struct caller *c, const struct object_class *k, struct slot *s)
{
	k->lock(c, s);
	if (remove_rest(c, k, slot_index(c, k, s)))
		removal_finish(c, k);
}

/* A pass over sleepers may be under way, and whoever takes the lock in a pause
 * of it must continue it: this should not be done with the facility's lock
 * held. */
static __attribute__((noinline)) void await_pass(
	struct caller *c, const struct object_class *k, struct slot *s)
{
	k->lock(c, s);
	lock_release(c, &s->lock);
}

int object_remove(struct caller *c, const struct object_class *k, s32 id)
{
	struct slot *s;
	u64 ident;
	int err;

	if (id >= 0)
		prefetch_slot(k, ids_slot(c, k->facility, id));
	s = ids_find(c, k->facility, id, &ident);
	if (!s)
		return -EINVAL;
	keyhash_prefetch(c, k->facility, s->key);
	err = caller_enroll(c);
	if (err)
		return err;
	if (unlikely(lock_busy(&s->lock)))
		await_pass(c, k, s);
	object_fac_lock(c, k);
	s = ids_find(c, k->facility, id, &ident);
	err = s ? perm_owner(c, s) : -EINVAL;
	if (err)
		goto out;
	k->lock(c, s);
	if (k->crash_guard)
		k->crash_guard(c, s);
	object_retire_locked(c, k, s);
	if (remove_rest(c, k, slot_index(c, k, s)))
		removal_finish(c, k);
out:
	object_fac_unlock(c, k);
	return err;
}
