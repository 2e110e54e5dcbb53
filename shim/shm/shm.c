// SPDX-License-Identifier: MIT
/*
 * Segments: creation, removal, and the commands of shmctl(2)
 * (doc/kernel-semantics.md §6.1, §6.5-6.7).
 *
 * Keeps INV_SHM_SEGMENT, INV_SHM_DEST, INV_SHM_TOTAL (inspect/check.h).
 */
#include <linux/resource.h>
#include "shm/shm.h"
#include "index/keyhash.h"
#include "object/controlfile.h"
#include "object/limits.h"
#include "object/perm.h"
#include "shm/shmattach.h"
#include "shm/shmrun.h"

#define SHM_HUGETLB 04000
#define SHM_NORESERVE 010000
#define SHM_HUGE_BITS (SHM_HUGETLB | 0x3fu << 26)
#define PAGES_OF(size) (((size) + SYS_PAGE - 1) / SYS_PAGE)

static struct limits *limits(struct caller *c)
{
	return &caller_header(c)->limits;
}

/* ---- the class ---- */

static int class_check(struct caller *c, const struct slot *s, u64 size)
{
	const struct shm_segment *seg = shm_body(c, s);

	return seg && size > seg->size ? -EINVAL : 0;
}

/*
 * Huge pages are tried for real: the kernel's own refusal is the answer. If it
 * has them the segment is made of ordinary pages all the same.
 */
static int huge_refused(u64 size, s32 flg)
{
	long id = sys_call(__NR_shmget, 0, size,
		(flg & (SHM_HUGE_BITS | SHM_NORESERVE)) | 0600, 0, 0,
		SYS_OF_LIBRARY);

	if (id < 0)
		return id == -ENOSYS ? -EINVAL : id;
	sys_call(__NR_shmctl, id, 0 /* IPC_RMID */, 0, 0, 0, SYS_OF_LIBRARY);
	return 0;
}

/* Everything that may refuse a new segment, and its pages. */
static int class_admit(struct caller *c, u64 size)
{
	struct id_table *t = &caller_header(c)->ids[FAC_SHM];
	const struct limits *l = limits(c);
	u64 pages = PAGES_OF(size);
	int err = 0;

	if (size == 0)
		return -EINVAL;
	if (size > l->shmmax)
		return limit_hit(c, LIMIT_SHMMAX, l->shmmax, size, -EINVAL);
	if (pages * SYS_PAGE < size || t->total + pages < pages ||
		t->total + pages > l->shmall)
		return limit_hit(
			c, LIMIT_SHMALL, l->shmall, t->total + pages, -ENOSPC);
	if (c->get_flg & SHM_HUGETLB)
		err = huge_refused(size, c->get_flg);
	if (!err && size > (u64)INT64_MAX)
		err = -EINVAL;
	if (!err && !(c->get_flg & SHM_NORESERVE))
		err = shm_reserve_check(c, pages);
	return err ? err : shm_run_prepare(c, pages);
}

static s32 class_max(struct caller *c)
{
	return limits(c)->shmmni;
}

static u64 class_body_size(u64 size)
{
	(void)size;
	return sizeof(struct shm_segment);
}

/* Sizes are larger than slot.size can tell: init and empty count them. */
static u64 class_weight(u64 size)
{
	(void)size;
	return 0;
}

static void class_init(struct caller *c, struct slot *s, u64 gen, u64 size)
{
	struct shm_state *st = &caller_header(c)->shm;
	struct id_table *t = &caller_header(c)->ids[FAC_SHM];
	struct shm_segment *seg = shm_body(c, s);
	const struct shm_run *run = shm_run_at(c, st->next_run);
	u64 pages = PAGES_OF(size), *sum;
	int noreserve = (c->get_flg & SHM_NORESERVE) != 0;

	(void)gen;
	/* Found a moment ago: somebody else has written there. */
	if (unlikely(!run || !seg))
		return;
	*seg = (struct shm_segment){
		.size = size,
		.pages = pages,
		.off = run->off,
		.run = st->next_run,
		.flags = SHM_SEG_COUNTED | (noreserve ? SHM_SEG_NORESERVE : 0),
		.cpid = c->pid,
		.creator = c->tid,
		.creator_start = region_thread(&c->region, c->thread)->birth,
		.tidy_at = SHM_TIDY_MIN,
	};
	sum = noreserve ? &st->overcommitted : &st->reserved;
	journal_set64(c, sum, *sum + pages);
	journal_set64(c, &t->total, t->total + pages);
	journal_set_ref(c, &st->next_run, (struct ref){0});
}

/* Facility lock held, part of the current operation. */
static void link_dest(struct caller *c, struct slot *s)
{
	struct shm_state *st = &caller_header(c)->shm;
	struct shm_segment *seg = shm_body(c, s);
	struct shm_segment *first = shm_dest_at(c, st->dest);
	u32 idx = region_slot_idx(&c->region, FAC_SHM, s);

	journal_set32(c, &seg->dest_next, st->dest);
	journal_set32(c, &seg->dest_prev, 0);
	if (first)
		journal_set32(c, &first->dest_prev, idx + 1);
	journal_set32(c, &st->dest, idx + 1);
}

static void unlink_dest(struct caller *c, struct shm_segment *seg)
{
	struct shm_state *st = &caller_header(c)->shm;
	struct shm_segment *next = shm_dest_at(c, seg->dest_next);
	struct shm_segment *prev = shm_dest_at(c, seg->dest_prev);

	if (next)
		journal_set32(c, &next->dest_prev, seg->dest_prev);
	if (prev)
		journal_set32(c, &prev->dest_next, seg->dest_next);
	else
		journal_set32(c, &st->dest, seg->dest_next);
}

/* Facility and slot lock held; nobody has it attached. */
static int class_empty(struct caller *c, struct slot *s)
{
	struct shm_state *st = &caller_header(c)->shm;
	struct id_table *t = &caller_header(c)->ids[FAC_SHM];
	struct shm_segment *seg = shm_body(c, s);
	u64 *sum;

	if (!seg || !shm_run_at(c, seg->run) || !(seg->flags & SHM_SEG_COUNTED))
		return 0;
	sum = seg->flags & SHM_SEG_NORESERVE ? &st->overcommitted
					     : &st->reserved;
	journal_set64(c, sum, *sum - seg->pages);
	journal_set64(c, &t->total, t->total - seg->pages);
	if (seg->flags & SHM_SEG_DEST)
		unlink_dest(c, seg);
	journal_set32(c, &seg->flags, 0);
	shm_run_give(c, &seg->run, seg->touched ? seg->pages : 0);
	journal_commit(c);
	return 0;
}

static void class_lock(struct caller *c, struct slot *s)
{
	lock_acquire(c, &s->lock);
}

const struct object_class shm_class = {
	.facility = FAC_SHM,
	.check = class_check,
	.admit = class_admit,
	.max_objects = class_max,
	.max_limit = LIMIT_SHMMNI,
	.body_size = class_body_size,
	.init = class_init,
	.weight = class_weight,
	.empty = class_empty,
	.settle = shm_run_settle,
	.lock = class_lock,
};

static int sweep_wanted(struct caller *c)
{
	const struct header *h = caller_header(c);

	return unlikely(atom_load_relaxed(&h->shm.dest) ||
			atom_load_relaxed(&h->limits.shm_rmid_forced));
}

/* What the death of processes has already ended must not count. */
static int ready(struct caller *c)
{
	int err = caller_enroll(c);

	controlfile_drain(c);
	if (!err && sweep_wanted(c))
		shm_sweep(c);
	return err;
}

/* Who finds a segment, or none, need not be enrolled: that is most of a
 * process's first call. */
int shm_get(struct caller *c, s32 key, u64 size, s32 flg)
{
	int err;

	controlfile_drain(c);
	err = sweep_wanted(c) ? ready(c) : 0;
	if (err)
		return err;
	err = object_get(c, &shm_class, key, size, flg);
	/* Exited tasks may have been giving back what there is. */
	if (unlikely(err == -ENOMEM && shm_run_flush(c)))
		err = object_get(c, &shm_class, key, size, flg);
	return err;
}

/* Removed while attached: the key goes, the id stays. Facility and slot lock
 * held. */
static void doom(struct caller *c, struct slot *s, struct shm_segment *seg)
{
	u32 idx = region_slot_idx(&c->region, FAC_SHM, s);

	if (seg->flags & SHM_SEG_DEST)
		return;
	keyhash_write_begin(c, FAC_SHM);
	if (s->key)
		keyhash_remove_locked(c, FAC_SHM, idx);
	journal_set32(c, (u32 *)&s->key, 0);
	journal_set32(c, &s->mode, s->mode | SHM_MODE_DEST);
	journal_set32(c, &seg->flags, seg->flags | SHM_SEG_DEST);
	link_dest(c, s);
	journal_commit(c);
	keyhash_shrink_locked(c, FAC_SHM);
	keyhash_write_end(c, FAC_SHM);
}

int shm_remove(struct caller *c, s32 id)
{
	struct shm_segment *seg;
	struct slot *s;
	u64 ident;
	int err = ready(c), alone;

	if (!err)
		err = object_owned(c, FAC_SHM, id, &s, &ident);
	if (err)
		return err;
	/* Exited tasks first, without the facility's lock. */
	if (shm_settle(c, s, ident, &seg))
		return -EIDRM;
	alone = !seg->nattch && seg->touched;
	lock_release(c, &s->lock);
	if (alone)
		shm_count_unseen(c, s, ident);
	object_fac_lock(c, &shm_class);
	lock_acquire(c, &s->lock);
	seg = shm_body(c, s);
	if (s->ident != ident || !seg) {
		err = -EIDRM;
	} else if (seg->nattch) {
		doom(c, s, seg);
	} else {
		object_retire_locked(c, &shm_class, s);
		lock_release(c, &s->lock);
		object_finish_locked(c, &shm_class, s);
		object_fac_unlock(c, &shm_class);
		return 0;
	}
	lock_release(c, &s->lock);
	object_fac_unlock(c, &shm_class);
	return err;
}

/* ---- commands ---- */

static int stat_fill(struct caller *c, const struct slot *s, u64 ident,
	int locked, void *ret)
{
	const struct shm_segment *seg = shm_body(c, s);
	struct shm_stat *st = ret;

	if (!locked && (!seg || !shm_none_suspect(c, seg)))
		return -EBUSY;
	*st = (struct shm_stat){
		.size = seg->size,
		.atime = seg->atime,
		.dtime = seg->dtime,
		.nattch = seg->nattch,
		.cpid = seg->cpid,
		.lpid = seg->lpid,
	};
	object_stat(c, s, ident, &st->object);
	return 1;
}

static int stat_lock(struct caller *c, struct slot *s, u64 ident)
{
	struct shm_segment *seg;

	return shm_settle(c, s, ident, &seg);
}

int shm_stat(struct caller *c, s32 id, enum object_by by, struct shm_stat *ret)
{
	static const struct object_stat_class k = {
		FAC_SHM, stat_fill, stat_lock};
	int err = id < 0 ? -EINVAL : ready(c);

	return err ? err : object_stat_by(c, &k, id, by, &ret->object);
}

int shm_set_perm(struct caller *c, s32 id, u32 uid, u32 gid, u32 mode)
{
	struct slot *s;
	u64 ident;
	int err = ready(c);

	if (!err)
		err = object_owned(c, FAC_SHM, id, &s, &ident);
	if (err)
		return err;
	if (uid == 0xffffffffu || gid == 0xffffffffu)
		return -EINVAL;
	lock_acquire(c, &s->lock);
	if (s->ident == ident) {
		object_set_locked(c, s, uid, gid, mode);
		journal_commit(c);
	} else {
		err = -EIDRM;
	}
	lock_release(c, &s->lock);
	return err;
}

/* Pages that this user has locked, over all segments. */
static u64 locked_by(struct caller *c, u32 uid)
{
	u32 idx = 0;
	const struct shm_segment *seg;
	const struct slot *s;
	u64 pages = 0;

	for (; (idx = ids_next(c, FAC_SHM, idx)) < IDX_MAX; idx++) {
		s = region_slot(&c->region, FAC_SHM, idx);
		seg = shm_body(c, s);
		if ((s->ident & IDENT_LIVE) && (s->mode & SHM_MODE_LOCKED) &&
			seg && seg->locker == uid)
			pages += seg->pages;
	}
	return pages;
}

/* The kernel's check of who may lock, §1.4. */
static int may_lock(struct caller *c, const struct slot *s,
	const struct shm_segment *seg, int lock)
{
	const struct cred *cred;
	u64 limit[2] = {0, 0};

	if (perm_capable(c, CRED_IPC_LOCK))
		return 0;
	cred = perm_cred(c);
	if (cred->euid != s->uid && cred->euid != s->cuid)
		return -EPERM;
	if (!lock)
		return 0;
	sys_call(__NR_prlimit64, 0, RLIMIT_MEMLOCK, NULL, limit);
	if (!limit[0])
		return -EPERM;
	if (limit[0] != ~0ULL && !(s->mode & SHM_MODE_LOCKED) &&
		locked_by(c, cred->euid) + seg->pages > limit[0] / SYS_PAGE)
		return -ENOMEM;
	return 0;
}

int shm_set_locked(struct caller *c, s32 id, int lock)
{
	struct shm_segment *seg;
	struct slot *s;
	u64 ident;
	u32 mode;
	int err = ready(c);

	if (err)
		return err;
	s = ids_find(c, FAC_SHM, id, &ident);
	seg = s ? shm_body(c, s) : NULL;
	if (!seg)
		return -EINVAL;
	err = may_lock(c, s, seg, lock);
	if (err)
		return perm_refusal(s, ident, err);
	lock_acquire(c, &s->lock);
	if (s->ident == ident) {
		mode = s->mode & ~SHM_MODE_LOCKED;
		if (lock)
			mode |= SHM_MODE_LOCKED;
		if (lock && !(s->mode & SHM_MODE_LOCKED))
			journal_set32(c, &seg->locker, perm_cred(c)->euid);
		journal_set32(c, &s->mode, mode);
		journal_commit(c);
	} else {
		err = -EIDRM;
	}
	lock_release(c, &s->lock);
	return err;
}

u64 shm_resident(struct caller *c, u32 idx)
{
	const struct slot *s = region_slot(&c->region, FAC_SHM, idx);
	u64 ident = atom_load_acquire(&s->ident), off, pages;
	const struct shm_segment *seg = shm_body(c, s);
	const struct shm_run *run;

	if (!(ident & IDENT_LIVE) || !seg || !seg->touched)
		return 0;
	off = seg->off;
	pages = seg->pages;
	run = shm_run_at(c, seg->run);
	if (!run || pages > shm_run_pages(run))
		return 0;
	if (atom_load_acquire(&s->ident) != ident)
		return 0;
	return shm_map_resident(c, off, pages);
}

static u64 resident(struct caller *c)
{
	u64 found = 0;
	u32 idx = 0;

	for (; (idx = ids_next(c, FAC_SHM, idx)) < IDX_MAX; idx++)
		found += shm_resident(c, idx);
	return found;
}

int shm_info(struct caller *c, int totals, struct shm_totals *ret)
{
	struct id_table *t = &caller_header(c)->ids[FAC_SHM];
	const struct limits *l = limits(c);
	int highest, err = ready(c);

	if (err)
		return err;
	object_fac_lock(c, &shm_class);
	*ret = (struct shm_totals){
		.max = l->shmmax,
		.mni = l->shmmni,
		.all = l->shmall,
		.used = t->in_use,
		.pages = t->total,
	};
	highest = t->in_use ? ids_highest_locked(c, FAC_SHM) : 0;
	object_fac_unlock(c, &shm_class);
	if (totals)
		ret->resident = resident(c);
	return highest;
}
