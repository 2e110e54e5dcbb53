// SPDX-License-Identifier: MIT
/*
 * Undoing in a fork child what other threads of its parent, which do not exist in
 * it, had half done. If a change was under way (shm_process.changing, .passing),
 * every mapping of segment pages that no attachment in the table accounts for is
 * unmapped. Its address is not known (the kernel chose it, or it was only for a
 * moment), and where an attachment was the application may have mapped something
 * else: so /proc/self/maps is read. Mostly there is no need to.
 */
#include "shm/shmattach.h"
#include "shm/shmfork.h"
#include "registry/region/mapped.h"

/* The end of the longest part of [addr, end) that begins at addr and belongs to
 * one attachment wholly (*ret_covered), or to none. */
static u64 stretch(struct shm_process *p, u64 addr, u64 end, int *ret_covered)
{
	const struct shm_entry *e;
	u32 at = 0;

	*ret_covered = 0;
	while ((e = shm_entry_each(p, &at))) {
		u64 to = e->addr + e->pages * SYS_PAGE;

		if (e->state != SHM_USED || to <= addr || e->addr >= end)
			continue;
		if (e->addr <= addr) {
			*ret_covered = 1;
			return to < end ? to : end;
		}
		end = e->addr;
	}
	return end;
}

/* The same for one home mapping, or none. */
static u64 in_one_home(
	const struct shm_process *p, u64 addr, u64 end, int *ret_home)
{
	int i;

	*ret_home = 0;
	for (i = 0; i < 2; i++) {
		u64 low = (u64)p->home[i], high = low + p->home_len[i];

		if (!low || addr >= high || end <= low)
			continue;
		if (addr < low) {
			end = low;
			continue;
		}
		*ret_home = 1;
		return end < high ? end : high;
	}
	return end;
}

static void unmap_stray(struct caller *c, u64 addr, u64 end)
{
	int home;
	u64 to;

	for (; addr < end; addr = to) {
		to = in_one_home(c->shm, addr, end, &home);
		if (home)
			shm_restore_home(c, addr, to - addr);
		else
			sys_call(__NR_munmap, addr, to - addr);
	}
}

/* Does the part show pages of segments? Also one that begins with the region's
 * last page, which far_map had not cut off yet; but not the region's mapping. */
static int is_of_segments(
	const struct caller *c, const struct mapped_part *part)
{
	u64 base = (u64)(uintptr_t)c->region.base;

	return part->prot && part->off + part->len > REGION_SIZE &&
	       (part->addr + part->len <= base ||
		       part->addr >= base + REGION_SIZE);
}

/* Unmap what is stray in one part of the kernel's list: 1 if something was, and
 * the list must be read again. */
static int look_at(struct caller *c, const struct mapped_part *part)
{
	u64 at = part->addr, end = at + part->len, to;
	int covered, changed = 0;

	for (; at < end; at = to) {
		to = stretch(c->shm, at, end, &covered);
		if (covered)
			continue;
		unmap_stray(c, at, to);
		changed = 1;
	}
	return changed;
}

/* Each thread can leave one or two; most leave none. Arbitrary. */
#define STRAYS_MOST 256

/* 0, or -errno if the list cannot be read. */
static int unmap_strays(struct caller *c)
{
	struct mapped_part part;
	struct mapped m;
	int changed = 1, err = 0, n;

	for (n = 0; changed && n < STRAYS_MOST; n++) {
		changed = 0;
		err = mapped_open(&m, c, sys_getpid());
		if (err)
			break;
		while (!changed && mapped_next(&m, &part))
			changed = is_of_segments(c, &part) && look_at(c, &part);
		mapped_close(&m);
	}
	return err;
}

/* Drop pages that the application kept from its children (MADV_DONTFORK). */
static void drop_unforked(struct caller *c, struct shm_entry *e)
{
	struct shm_process *p = c->shm;
	u64 from, to;
	u32 i;

	for (i = e->frags; i; i = p->frags[i].next) {
		from = p->frags[i].from;
		to = p->frags[i].to;
		if (from == to || !(p->frags[i].attr & SHM_ATTR_DONTFORK))
			continue;
		if (e->kind != SHM_DUPLICATE)
			shm_restore_home(c, e->addr + from * SYS_PAGE,
				(to - from) * SYS_PAGE);
		p->frags[i].to = from;
	}
	if (!shm_entry_count(p, e))
		shm_entry_remove(p, e);
}

/* Undo a change that was under way. */
static void take_back(struct caller *c)
{
	struct shm_process *p = c->shm;
	int asked = 0;
	u32 i;

	if (p->held_len)
		sys_call(__NR_munmap, p->held, p->held_len);
	/* A store would cost the child a copy of the page. */
	if (p->changing || p->passing) {
		asked = !unmap_strays(c);
		p->changing = p->passing = p->held_len = 0;
	}
	for (i = 1; i < p->high; i++) {
		struct shm_entry *e = &p->entries[i];

		if (e->state == SHM_UNMAPPING && !asked)
			shm_unmap(c, e);
		if (e->state != SHM_USED)
			e->state = SHM_UNUSED;
	}
}

void shm_child_finish(struct caller *c)
{
	struct shm_process *p = c->shm;
	u32 i;

	shm_forks_clear(p);
	take_back(c);
	for (i = 0; i < 2; i++)
		if (p->tried[i] == HOME_IN_WORK)
			p->tried[i] = HOME_UNKNOWN;
	if (p->cap)
		shm_table_rebuild(p);
	shm_table_end(p);
	for (i = 1; i < p->high; i++) {
		if (p->entries[i].state != SHM_USED || !p->entries[i].frags)
			continue;
		shm_entry_unlock(p, &p->entries[i]);
		drop_unforked(c, &p->entries[i]);
	}
}
