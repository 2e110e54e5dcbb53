// SPDX-License-Identifier: MIT
/*
 * mremap and remap_file_pages of attachments; see shmapp.h.
 *
 * The kernel moves the mapping. Here a home cannot move: the pages are mapped a
 * second time at the new place, as an attachment of its own, and then taken
 * away at the old one, which comes to the same counts.
 *
 * One that grows beyond its segment's end has pages there that say SIGBUS; they
 * are of no file of ours. It grows in place where nothing is behind it. That may
 * be the home of other segments, which then are attached elsewhere.
 */
#include <linux/mman.h>
#include "shm/shmattach.h"
#include "shm/shmapp.h"
#include "shm/shmfork.h"

#define MOVE_FLAGS (MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)

/* The attachment that has all of [addr, addr+len) in one fragment, or NULL; own
 * task's lock held. */
static struct shm_entry *entry_at(struct caller *c, u64 addr, u64 len)
{
	struct shm_entry *e;
	u64 page, n;
	u32 at = 0;

	while ((e = shm_entry_each(c->shm, &at))) {
		if (!e->ident || e->state != SHM_USED || addr < e->addr)
			continue;
		page = (addr - e->addr) / SYS_PAGE;
		n = (len + SYS_PAGE - 1) / SYS_PAGE;
		if (page < e->pages && n <= e->pages - page &&
			shm_entry_attr(c->shm, e, page) >= 0 &&
			shm_entry_covers(c->shm, e, page, page + n))
			return e;
	}
	return NULL;
}

/* What the application has set on the old place is set on the new one. */
static void carry_over(u64 addr, u64 len, u32 attr)
{
	static const struct {
		u32 bit;
		int advice;
	} kinds[] = {
		{SHM_ATTR_RANDOM, 1},
		{SHM_ATTR_SEQUENTIAL, 2},
		{SHM_ATTR_DONTFORK, 10},
		{SHM_ATTR_HUGE, 14},
		{SHM_ATTR_NOHUGE, 15},
		{SHM_ATTR_DONTDUMP, 16},
	};
	u32 i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (attr & kinds[i].bit)
			sys_call(__NR_madvise, addr, len, kinds[i].advice);
	if (attr & SHM_ATTR_LOCKED)
		sys_call(__NR_mlock2, addr, len,
			attr & SHM_ATTR_ONFAULT ? MLOCK_ONFAULT : 0);
}

/* What entry_at found, copied out, for the table may move: 1; 0 if it found
 * none; -EFAULT if the range is several fragments. */
static int attachment_at(struct caller *c, u64 addr, u64 len,
	struct shm_entry *ret, u32 *ret_attr)
{
	const struct shm_entry *e;
	u64 page;
	int whole = 1;

	task_lock_own(c);
	e = entry_at(c, addr, len);
	if (e) {
		*ret = *e;
		page = (addr - e->addr) / SYS_PAGE;
		*ret_attr = (u32)shm_entry_attr(c->shm, e, page);
		ret->prot = *ret_attr & SHM_ATTR_PROT;
		whole = shm_entry_one_fragment(c->shm, e, page,
			page + (len + SYS_PAGE - 1) / SYS_PAGE);
		ret->unlike = 0;
		ret->frags = 0;
	}
	lock_release(c, &task_own(c)->lock);
	if (!e)
		return 0;
	return whole ? 1 : -EFAULT;
}

/* 1 if a page of an attachment lies in the range. */
static int meets_attachment(struct caller *c, u64 addr, u64 len)
{
	const struct shm_entry *e;
	u64 page, end;
	u32 at = 0;
	int found = 0;

	task_lock_own(c);
	while (!found && (e = shm_entry_each(c->shm, &at))) {
		if (!e->ident || e->state != SHM_USED || addr + len <= e->addr)
			continue;
		page = addr > e->addr ? (addr - e->addr) / SYS_PAGE : 0;
		end = (addr + len - e->addr + SYS_PAGE - 1) / SYS_PAGE;
		for (; !found && page < end && page < e->pages; page++)
			found = shm_entry_attr(c->shm, e, page) >= 0;
	}
	lock_release(c, &task_own(c)->lock);
	return found;
}

/* Slot lock held: map the part and count it. */
static long attach_part(struct caller *c, struct slot *s, struct shm_entry *e,
	struct shm_attach *rec, u64 from, u64 n, void *to)
{
	long addr = s->ident == e->ident ? shm_map_part(c, e, from, n, to)
					 : -EINVAL;

	if (addr < 0 && addr > -4096)
		return addr;
	e->rec = region_off(&c->region, rec);
	shm_record_link(c, task_own(c), s, rec, e, 1, c->pid);
	return addr;
}

/* n pages from page `from` of the attachment like, once more, at `to` or
 * anywhere: the address or -errno. Within a change (shm_change_begin). */
static long attach_again(struct caller *c, const struct shm_entry *like,
	u32 attr, u64 from, u64 n, u64 to)
{
	struct slot *s = region_slot(&c->region, FAC_SHM, like->slot_idx);
	struct shm_attach *rec;
	struct shm_entry *e;
	long addr = -ENOMEM;

	task_check_lifeline(c);
	e = shm_entry_new(c->shm);
	rec = e ? shm_record_new(c, task_own(c)) : NULL;
	if (rec) {
		*e = *like;
		e->state = SHM_MAPPING;
		lock_acquire(c, &s->lock);
		addr = attach_part(c, s, e, rec, from, n, (void *)to);
		lock_release(c, &s->lock);
	}
	if (addr < 0 && addr > -4096) {
		if (e)
			shm_entry_drop(c->shm, e);
	} else {
		if (to)
			shm_app_changed_locked(c, to, n * SYS_PAGE, SHM_GONE);
		if (e->pages < from + n)
			e->pages = from + n;
		shm_entry_cut(c->shm, e, 0, from, SHM_GONE);
		shm_entry_cut(c->shm, e, from + n, e->pages, SHM_GONE);
		carry_over((u64)addr, n * SYS_PAGE, attr);
		shm_entry_cut(c->shm, e, from, from + n,
			(struct shm_change){0, ~0u, attr});
		shm_attach_for_forks(c, s, e);
		shm_entry_insert(c->shm, e);
	}
	return addr;
}

static long move(struct caller *c, const struct shm_entry *e, u32 attr, u64 old,
	u64 old_len, u64 len, int flags, u64 to)
{
	u64 from = (old - e->addr) / SYS_PAGE, n = len / SYS_PAGE;
	long addr, err = 0;

	if (!(flags & MREMAP_FIXED))
		to = 0;
	/* What is there goes first, which is what was to be mapped. */
	if (to && to == old) {
		err = shm_app_unmap(c, to, len);
		return err ? err : -EFAULT;
	}
	shm_order(c, region_slot(&c->region, FAC_SHM, e->slot_idx), e->ident);
	shm_change_begin(c);
	c->shm->last_gone = 0;
	addr = attach_again(c, e, attr, from, n, to);
	/* A fork child has it here or there. */
	if (!(addr < 0 && addr > -4096) && old_len)
		err = shm_app_unmap_locked(c, old, old_len);
	shm_app_end(c);
	return err ? err : addr;
}

/* The place is free, and nobody else's from now on; *ret_held: 1 if it is to be
 * given up again should nothing come there. */
static int take_place(struct caller *c, const struct shm_entry *e, u64 addr,
	u64 len, int *ret_held)
{
	*ret_held = 0;
	if (addr + len < addr)
		return 0;
	if (shm_in_home(c->shm, addr, len) ||
		shm_in_home(c->shm, e->addr, e->pages * SYS_PAGE))
		return shm_app_is_free(c, addr, len);
	*ret_held = shm_map_reserve((void *)addr, len) == (void *)addr;
	if (*ret_held)
		shm_map_hold(c->shm, addr, len);
	return *ret_held;
}

/* `like` is a copy, to be changed. */
static long grow_locked(struct caller *c, struct shm_entry *e,
	struct shm_entry *like, u32 attr, u64 end, u64 n)
{
	u64 at = e->addr + end * SYS_PAGE;
	long ret;
	int held;

	if (!take_place(c, e, at, n * SYS_PAGE, &held))
		return -ENOMEM;
	ret = shm_map_part(c, like, end, n, (void *)at);
	if (held)
		shm_map_hold(c->shm, 0, 0);
	if (ret < 0 && ret > -4096)
		return ret;
	carry_over(at, n * SYS_PAGE, attr);
	shm_entry_grow(c->shm, e, end, n,
		e->kind == SHM_DUPLICATE ? SHM_DUPLICATE : SHM_FOREIGN);
	return 0;
}

/* In place: 0, or -ENOMEM, also if it was changed meanwhile. */
static long grow(struct caller *c, const struct shm_entry *was, u32 attr,
	u64 old, u64 old_len, u64 len)
{
	u64 page = (old - was->addr) / SYS_PAGE;
	u64 end = page + old_len / SYS_PAGE;
	struct shm_entry *e, like = *was;
	long err = -ENOMEM;

	shm_order(
		c, region_slot(&c->region, FAC_SHM, was->slot_idx), was->ident);
	shm_change_begin(c);
	c->shm->last_gone = 0;
	e = entry_at(c, old, old_len);
	if (e && e->ident == was->ident && e->addr == was->addr &&
		shm_entry_end(c->shm, e, page) == end)
		err = grow_locked(
			c, e, &like, attr, end, (len - old_len) / SYS_PAGE);
	shm_app_end(c);
	return err;
}

/* Not an attachment: the application's own mapping, in one of our places or
 * moved onto one. */
static long move_other(
	struct caller *c, u64 old, u64 old_len, u64 len, int flags, u64 to)
{
	int begun = shm_app_begin(c, flags & MREMAP_FIXED ? to : old, len);
	long ret = sys_call(__NR_mremap, old, old_len, len, flags, to);

	if (begun && !(ret < 0 && ret > -4096)) {
		if ((u64)ret != old && old_len && !(flags & MREMAP_DONTUNMAP) &&
			shm_app_concerns(c->shm, old, old_len))
			shm_app_unmap_locked(c, old, old_len);
		if (shm_app_concerns(c->shm, ret, len))
			shm_app_mapped_locked(c, ret, len);
	}
	if (begun)
		shm_app_end(c);
	return ret;
}

static int bad_place(u64 old, u64 old_len, u64 len, u64 to)
{
	return (to & (SYS_PAGE - 1)) || to + len < to ||
	       (to < old + old_len && old < to + len);
}

static int bad_flags(u64 old, u64 old_len, u64 len, int flags)
{
	return !len || len > ARCH_USER_TOP || (old & (SYS_PAGE - 1)) ||
	       (flags & ~MOVE_FLAGS) ||
	       ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) &&
		       !(flags & MREMAP_MAYMOVE)) ||
	       ((flags & MREMAP_DONTUNMAP) && old_len != len);
}

/* What is behind the new end goes first, be it this attachment or what follows
 * it. *old_len is what is left. */
static long shrink(struct caller *c, u64 old, u64 *old_len, u64 len)
{
	struct shm_entry e;
	u32 attr;
	long err = 0;

	if (len >= *old_len ||
		(attachment_at(c, old, SYS_PAGE, &e, &attr) != 1 &&
			!meets_attachment(c, old + len, *old_len - len)))
		return 0;
	err = shm_app_unmap(c, old + len, *old_len - len);
	*old_len = len;
	return err;
}

long shm_app_remap(
	struct caller *c, u64 old, u64 old_len, u64 len, int flags, u64 to)
{
	struct shm_entry e;
	u32 attr = 0;
	long err;
	int here, stays;

	old_len = (old_len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	len = (len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	if (bad_flags(old, old_len, len, flags) || old + old_len < old ||
		((flags & MREMAP_FIXED) && bad_place(old, old_len, len, to)) ||
		caller_enroll(c))
		return -EINVAL;
	here = attachment_at(c, old, SYS_PAGE, &e, &attr) == 1;
	/* What moves or grows is one mapping. What stays need not be. */
	stays = old_len && len <= old_len &&
		!(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP));
	if (here && old_len && !stays &&
		attachment_at(
			c, old, len < old_len ? len : old_len, &e, &attr) != 1)
		return -EFAULT;
	err = shrink(c, old, &old_len, len);
	if (err || (here && stays))
		return err ? err : (long)old;
	err = attachment_at(c, old, old_len ? old_len : SYS_PAGE, &e, &attr);
	/* Another mapping with an attachment behind it: not what moves. */
	if (!err && !stays && old_len && meets_attachment(c, old, old_len))
		return -EFAULT;
	if (!err)
		return move_other(c, old, old_len, len, flags, to);
	if (err < 0)
		return err;
	/* The pages are the segment's: the old place shows them on. */
	if (!old_len || (flags & MREMAP_DONTUNMAP))
		return flags & MREMAP_MAYMOVE
			       ? move(c, &e, attr, old, 0, len, flags, to)
			       : -ENOMEM;
	if (len > old_len && !(flags & MREMAP_FIXED)) {
		err = grow(c, &e, attr, old, old_len, len);
		if (!err || !(flags & MREMAP_MAYMOVE))
			return err ? err : (long)old;
		return move(c, &e, attr, old, old_len, len, flags, to);
	}
	return move(c, &e, attr, old, old_len, len, flags, to);
}

/* 1 if the segment is removed and nobody else has it. The kernel first unmaps
 * what stood there, and finds it gone. */
static int ends_there(struct caller *c, const struct shm_entry *e)
{
	struct slot *s = region_slot(&c->region, FAC_SHM, e->slot_idx);
	struct shm_segment *seg;
	int last;

	if (shm_settle(c, s, e->ident, &seg))
		return 1;
	last = (s->mode & SHM_MODE_DEST) && seg->nattch == 1;
	lock_release(c, &s->lock);
	return last;
}

long shm_app_remap_pages(
	struct caller *c, u64 addr, u64 len, u64 prot, u64 pgoff, u64 flags)
{
	struct shm_change moved = {0, 0, SHM_ATTR_ELSEWHERE};
	struct shm_entry e;
	u32 attr;
	u64 n = len / SYS_PAGE;
	long ret;

	(void)flags;
	addr &= ~(SYS_PAGE - 1);
	len &= ~(SYS_PAGE - 1);
	if (prot || !len || addr + len < addr || pgoff + n < pgoff ||
		caller_enroll(c) ||
		attachment_at(c, addr, len, &e, &attr) != 1 || e.read_only ||
		pgoff + n > e.pages)
		return -EINVAL;
	if (ends_there(c, &e)) {
		shm_app_unmap(c, addr, len);
		return -EINVAL;
	}
	if (!shm_app_begin(c, addr, len))
		return -EINVAL;
	ret = shm_map_part(c, &e, pgoff, n, (void *)addr);
	if (ret == (long)addr)
		shm_app_changed_locked(c, addr, len, moved);
	shm_app_end(c);
	return ret < 0 && ret > -4096 ? ret : 0;
}
