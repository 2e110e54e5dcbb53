// SPDX-License-Identifier: MIT
/*
 * Attaching and detaching: doc/kernel-semantics.md §6.2-6.4.
 *
 * An attach maps first and counts afterwards; a detach unmaps first and uncounts
 * afterwards: if the process is killed in between, its mapping is gone too. Both
 * are done under the own task's lock, which also protects the process's table of
 * attachments; an attach holds the slot's too, so that the segment cannot be
 * destroyed meanwhile.
 */
#include "object/perm.h"
#include "shm/shm.h"
#include "shm/shmattach.h"
#include "shm/shmfork.h"
#include "shm/shmapp.h"

#define PERM_X 1u
/* PRIVATE | ANONYMOUS | NORESERVE | FIXED_NOREPLACE */
#define HOLD_FLAGS 0x104022

static int check_address(u64 *addr, s32 flg)
{
	if (!*addr)
		return flg & SHM_REMAP_FLAG ? -EINVAL : 0;
	if (!(*addr & (SYS_PAGE - 1)))
		return 0;
	if (!(flg & SHM_RND_FLAG))
		return -EINVAL;
	*addr &= ~(SYS_PAGE - 1);
	return !*addr && (flg & SHM_REMAP_FLAG) ? -EINVAL : 0;
}

static u32 wanted_rights(s32 flg)
{
	return PERM_R | (flg & SHM_RDONLY_FLAG ? 0 : PERM_W) |
	       (flg & SHM_EXEC_FLAG ? PERM_X : 0);
}

static unsigned char wanted_prot(s32 flg)
{
	return 1 | (flg & SHM_RDONLY_FLAG ? 0 : 2) |
	       (flg & SHM_EXEC_FLAG ? 4 : 0);
}

/* Slot lock held, segment live. From here on its pages may be written to,
 * whether or not the attachment comes to be counted. */
static int map_segment(struct caller *c, struct shm_segment *seg,
	struct shm_entry *e, int fixed, s32 flg)
{
	e->pages = seg->pages;
	e->off = seg->off;
	if (unlikely(!e->pages || !shm_in_file(c, e->off, e->pages)))
		return -EIO;
	if (!seg->touched)
		atom_store_release(&seg->touched, 1);
	e->prot = wanted_prot(flg);
	e->read_only = (flg & SHM_RDONLY_FLAG) != 0;
	e->state = SHM_MAPPING;
	return shm_map(c, e, fixed, (flg & SHM_REMAP_FLAG) != 0);
}

/* Own task's lock held. */
static int attach(struct caller *c, struct slot *s, u64 ident, u64 addr,
	int fixed, s32 flg, struct shm_entry *e)
{
	struct task *t = task_own(c);
	struct shm_attach *rec = shm_record_new(c, t);
	struct shm_segment *seg;
	int err;

	if (!rec)
		return -ENOMEM;
	lock_acquire(c, &s->lock);
	seg = shm_body(c, s);
	err = s->ident == ident && seg ? 0 : -EIDRM;
	e->addr = addr;
	if (!err)
		err = map_segment(c, seg, e, fixed, flg);
	if (!err) {
		e->ident = ident;
		e->slot_idx = region_slot_idx(&c->region, FAC_SHM, s);
		e->rec = region_off(&c->region, rec);
		shm_record_link(c, t, s, rec, e, 1, c->pid);
	}
	lock_release(c, &s->lock);
	return err;
}

/*
 * What the library maps for itself, before the first attachment or to enlarge the
 * table, must not take the address wanted for this one: so the range is reserved
 * until that is done. Returns its length, or 0 if nothing is reserved. The own
 * task's lock is held as long as the range is, so that a fork child gives it up.
 */
static u64 hold_place(struct caller *c, const struct slot *s, u64 addr)
{
	const struct shm_segment *seg = shm_body(c, s);
	u64 len = seg ? seg->pages * SYS_PAGE : 0, at;

	if (likely(!addr || !len ||
		    (image_own(c) && shm_entry_is_free(c->shm))))
		return 0;
	at = (u64)sys_mmap((void *)addr, len, 0, HOLD_FLAGS, -1, 0);
	if (at == addr) {
		shm_map_hold(c->shm, addr, len);
		return len;
	}
	/* Before Linux 4.17, which does not know the flag. */
	if (at < -4096UL)
		sys_call(__NR_munmap, at, len);
	return 0;
}

int shm_at(struct caller *c, s32 id, u64 addr, s32 flg, u64 *ret_addr)
{
	int fixed = addr != 0, err;
	u64 held;
	struct shm_entry *e;
	struct slot *s;
	u64 ident;

	if (id < 0)
		return -EINVAL;
	err = check_address(&addr, flg);
	if (err)
		return err;
	/* Rounded to 0: what is there is replaced. */
	if (unlikely(fixed && !addr))
		flg |= SHM_REMAP_FLAG;
	s = ids_find(c, FAC_SHM, id, &ident);
	/* Perhaps only exited tasks had it. */
	if (s && unlikely((s->mode & SHM_MODE_DEST) ||
			  caller_header(c)->limits.shm_rmid_forced)) {
		err = caller_enroll(c);
		if (err)
			return err;
		shm_sweep(c);
		s = ids_find(c, FAC_SHM, id, &ident);
	}
	if (!s)
		return -EINVAL;
	err = perm_check_of(c, s, ident, wanted_rights(flg));
	if (!err)
		err = caller_enroll(c);
	if (err)
		return err;
	shm_order(c, s, ident);
	if (flg & SHM_REMAP_FLAG)
		shm_order_range(c, addr,
			shm_body(c, s) ? shm_body(c, s)->pages * SYS_PAGE : 0);
	shm_image_succeed(c);
	shm_change_begin(c);
	task_check_lifeline(c);
	held = hold_place(c, s, addr);
	shm_image_make(c);
	e = shm_entry_new(c->shm);
	if (unlikely(held)) {
		shm_map_hold(c->shm, 0, 0);
		sys_call(__NR_munmap, addr, held);
	}
	err = e ? attach(c, s, ident, addr, fixed, flg, e) : -ENOMEM;
	if (!err) {
		*ret_addr = e->addr;
		if (flg & SHM_REMAP_FLAG)
			shm_app_changed_locked(
				c, e->addr, e->pages * SYS_PAGE, SHM_GONE);
		shm_attach_for_forks(c, s, e);
		shm_entry_insert(c->shm, e);
	} else if (e) {
		shm_entry_drop(c->shm, e);
	}
	shm_change_end(c);
	if (!err)
		shm_tidy(c, s, ident);
	/* A failed attempt, too, ends a segment that nobody has. */
	if (unlikely(err && caller_header(c)->limits.shm_rmid_forced))
		shm_destroy_unused(c, s, ident);
	return err;
}

/* Others than we alone have it: exited tasks among them first. */
static void order_before_detach(struct caller *c, u64 addr)
{
	struct slot *s = NULL;
	struct shm_entry *e;
	u64 ident = 0;

	task_lock_own(c);
	e = shm_entry_find(c->shm, addr);
	if (e && e->ident) {
		ident = e->ident;
		s = region_slot(&c->region, FAC_SHM, e->slot_idx);
	}
	lock_release(c, &task_own(c)->lock);
	if (s && shm_body(c, s) &&
		atom_load_relaxed(&shm_body(c, s)->nattch) > 1)
		shm_order(c, s, ident);
	else if (s && unlikely(atom_load_relaxed(&s->mode) & SHM_MODE_DEST))
		shm_count_unseen(c, s, ident);
}

/*
 * What was made longer is unmapped as the kernel does it: the first fragment as a
 * whole, of the others those that end within the segment. 0 if that is all there
 * is of it. A change.
 */
static int detach_some(struct caller *c, const struct shm_entry *e)
{
	const struct shm_process *p = c->shm;
	u64 size = shm_map_size(c, e), at = e->addr, from, to;
	u32 i, n = 0, head = e->frags;
	int left = 0;

	for (i = head; i; i = p->frags[i].next)
		if (p->frags[i].from < p->frags[i].to)
			left |= n++ && p->frags[i].to > size;
	for (i = left ? head : 0, n = 0; i; i = p->frags[i].next) {
		from = p->frags[i].from;
		to = p->frags[i].to;
		if (from < to && (!n++ || to <= size))
			shm_app_unmap_locked(c, at + from * SYS_PAGE,
				(to - from) * SYS_PAGE);
	}
	return left;
}

int shm_dt(struct caller *c, u64 addr)
{
	struct shm_entry *e;
	struct shm_attach *rec;
	struct slot *s;
	u64 ident;
	int err, last = 0;

	if (addr & (SYS_PAGE - 1))
		return -EINVAL;
	err = caller_enroll(c);
	if (err)
		return err;
	order_before_detach(c, addr);
	shm_detach_begin(c);
	e = shm_entry_find(c->shm, addr);
	if (!e || !e->ident) {
		shm_change_end(c);
		return -EINVAL;
	}
	if (unlikely(e->frags && e->pages > shm_map_size(c, e)) &&
		detach_some(c, e)) {
		shm_change_end(c);
		return 0;
	}
	ident = e->ident;
	s = region_slot(&c->region, FAC_SHM, e->slot_idx);
	rec = region_at(&c->region, e->rec);
	e->state = SHM_UNMAPPING;
	shm_unmap(c, e);
	shm_entry_unmapped(e);
	/* Another program image's or a reaped one is not ours to touch. */
	if (rec->ident == ident && rec->task == c->task)
		last = shm_record_unlink(c, task_own(c), rec, c->pid);
	shm_entry_remove(c->shm, e);
	shm_change_end(c);
	if (last)
		shm_destroy_unused(c, s, ident);
	return 0;
}
