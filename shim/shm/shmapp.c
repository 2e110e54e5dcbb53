// SPDX-License-Identifier: MIT
/*
 * The application's own changes to its mappings; see shmapp.h.
 */
#include <linux/mman.h>
#include "shm/shmattach.h"
#include "shm/shmapp.h"
#include "shm/shmfork.h"

static int unlike_by(struct shm_change change)
{
	return (change.clear | change.set) & SHM_ATTR_DONTDUMP ? SHM_UNLIKE_KEPT
							       : SHM_UNLIKE_NOW;
}

/* One attachment, of whose range [from, to) pages changed. */
static void changed(struct caller *c, struct shm_entry *e, u64 from, u64 to,
	struct shm_change change)
{
	struct shm_process *p = c->shm;
	struct shm_attach *rec = region_at(&c->region, e->rec);
	u64 ident = e->ident;
	u32 n;
	int cut;

	if (!ident) { /* the application's own mapping */
		if (change.gone && from == 0 && to == e->pages)
			shm_entry_remove(p, e);
		return;
	}
	if ((change.clear | change.set) & ~SHM_ATTR_PROT)
		shm_entry_unlike(p, e, unlike_by(change));
	cut = shm_entry_cut(p, e, from, to, change);
	if (cut >= 0)
		shm_entry_judge(p, e);
	else
		shm_entry_unlike(p, e, SHM_UNLIKE_KEPT);
	if (cut <= 0)
		return;
	n = shm_entry_count(p, e);
	if (n) {
		/* A fragment that only lost an edge was split, too. */
		shm_record_recount(c, rec, n,
			n > rec->count || (change.gone && n == rec->count),
			change.gone);
		return;
	}
	shm_entry_unmapped(e);
	if (rec->ident == ident &&
		shm_record_unlink(c, task_own(c), rec, c->pid))
		c->shm->last_gone = 1;
	shm_entry_remove(p, e);
}

void shm_app_changed_locked(
	struct caller *c, u64 addr, u64 len, struct shm_change change)
{
	struct shm_entry *e;
	u64 end = addr + len, from, to, size;
	u32 at = 0;

	while ((e = shm_entry_each(c->shm, &at))) {
		size = e->pages * SYS_PAGE;
		if (e->state != SHM_USED || e->addr >= end ||
			e->addr + size <= addr)
			continue;
		from = addr > e->addr ? addr - e->addr : 0;
		to = end < e->addr + size ? end - e->addr : size;
		changed(c, e, from / SYS_PAGE, (to + SYS_PAGE - 1) / SYS_PAGE,
			change);
	}
}

int shm_app_begin(struct caller *c, u64 addr, u64 len)
{
	if (caller_enroll(c))
		return 0;
	if (shm_order_range(c, addr, len)) {
		shm_change_begin(c);
	} else {
		task_lock_own(c);
		shm_table_begin(c->shm);
	}
	c->shm->last_gone = 0;
	return 1;
}

void shm_app_end(struct caller *c)
{
	int sweep = c->shm->last_gone;

	shm_change_end(c);
	if (sweep)
		shm_sweep(c);
}

/* 1 if every page of the range that lies in a home mapping belongs to an
 * attachment and is still there. */
static int there(struct caller *c, u64 addr, u64 len)
{
	struct shm_process *p = c->shm;
	struct shm_entry *e;
	u64 covered = 0, inside = 0, end = addr + len;
	u32 at = 0;
	int i;

	for (i = 0; i < 2; i++) {
		u64 low = (u64)p->home[i], high = low + p->home_len[i];

		if (low && addr < high && end > low)
			inside += (end < high ? end : high) -
				  (addr > low ? addr : low);
	}
	while (inside && (e = shm_entry_each(p, &at))) {
		u64 low = e->addr, high = low + e->pages * SYS_PAGE;

		if (e->kind == SHM_DUPLICATE || addr >= high || end <= low)
			continue;
		low = addr > low ? addr : low;
		high = end < high ? end : high;
		if (e->ident &&
			!shm_entry_covers(p, e, (low - e->addr) / SYS_PAGE,
				(high - e->addr) / SYS_PAGE))
			return 0;
		covered += high - low;
	}
	return covered >= inside;
}

/* How much of the range is mapped without a gap: mprotect goes so far, and then
 * says ENOMEM. */
static u64 mapped_part(struct caller *c, u64 addr, u64 len)
{
	u64 low = 0, high = len / SYS_PAGE, mid;

	while (low < high) {
		mid = (low + high + 1) / 2;
		if (there(c, addr, mid * SYS_PAGE) &&
			sys_call(__NR_msync, addr, mid * SYS_PAGE, MS_ASYNC) !=
				-ENOMEM)
			low = mid;
		else
			high = mid - 1;
	}
	return low * SYS_PAGE;
}

/* 1 if it lies in an attachment that cannot be made writable. Where that has no
 * pages the kernel does not know. */
static int is_read_only(struct caller *c, u64 addr)
{
	const struct shm_entry *e;
	u32 at = 0;

	while ((e = shm_entry_each(c->shm, &at)))
		if (e->read_only && e->ident && addr >= e->addr &&
			shm_entry_end(c->shm, e, (addr - e->addr) / SYS_PAGE))
			return 1;
	return 0;
}

/* What mprotect has changed, from addr on, in bytes: all, or up to the first gap
 * (ENOMEM), or nothing. */
static u64 protect(struct caller *c, u64 addr, u64 len, int prot, long *ret_err)
{
	u64 part = len;

	if ((prot & PROT_WRITE) && is_read_only(c, addr)) {
		*ret_err = -EACCES;
		return 0;
	}
	*ret_err = there(c, addr, len)
			   ? sys_call(__NR_mprotect, addr, len, prot)
			   : -ENOMEM;
	if (!*ret_err)
		return len;
	if (*ret_err == -ENOMEM)
		part = mapped_part(c, addr, len);
	/* All is there: it was refused for another reason. */
	return !part || part == len || sys_call(__NR_mprotect, addr, part, prot)
		       ? 0
		       : part;
}

long shm_app_protect(struct caller *c, u64 addr, u64 len, int prot)
{
	u64 part;
	long err;

	len = (len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	if ((addr & (SYS_PAGE - 1)) || !len || addr + len < addr ||
		!shm_app_begin(c, addr, len))
		return sys_call(__NR_mprotect, addr, len, prot);
	part = protect(c, addr, len, prot, &err);
	if (part)
		shm_app_changed_locked(c, addr, part,
			(struct shm_change){
				0, SHM_ATTR_PROT, (u32)prot & SHM_ATTR_PROT});
	shm_app_end(c);
	return err;
}

/* mlock fills the pages after it has marked the mappings, and where that fails
 * (no access) they stay marked: so the two are done one after the other. 1 if
 * the mappings were marked. */
static int lock_pages(long nr, u64 addr, u64 len, u64 arg, long *ret)
{
	*ret = sys_call(__NR_mlock2, addr, len, MLOCK_ONFAULT);
	if (*ret && *ret != -ENOSYS)
		return 0;
	*ret = sys_call(nr, addr, len, arg);
	return 1;
}

long shm_app_advise(struct caller *c, long nr, u64 addr, u64 len, u64 arg,
	struct shm_change change)
{
	u64 first = addr & ~(SYS_PAGE - 1);
	u64 size = (addr - first + len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	long err = -ENOMEM;
	int done = 0;

	if (!size || first + size < first || !shm_app_begin(c, first, size))
		return sys_call(nr, addr, len, arg);
	if (there(c, first, size)) {
		if (change.set & SHM_ATTR_LOCKED) {
			done = lock_pages(nr, addr, len, arg, &err);
		} else {
			err = sys_call(nr, addr, len, arg);
			done = !err;
		}
	}
	if (done)
		shm_app_changed_locked(c, first, size, change);
	shm_app_end(c);
	return err;
}

struct shm_change shm_app_advice(int advice)
{
	u32 order = SHM_ATTR_RANDOM | SHM_ATTR_SEQUENTIAL;
	u32 huge = SHM_ATTR_HUGE | SHM_ATTR_NOHUGE;

	switch (advice) {
	case 0: /* MADV_NORMAL */
		return (struct shm_change){0, order, 0};
	case 1: /* MADV_RANDOM */
		return (struct shm_change){0, order, SHM_ATTR_RANDOM};
	case 2: /* MADV_SEQUENTIAL */
		return (struct shm_change){0, order, SHM_ATTR_SEQUENTIAL};
	case 10: /* MADV_DONTFORK */
		return (struct shm_change){0, 0, SHM_ATTR_DONTFORK};
	case 11: /* MADV_DOFORK */
		return (struct shm_change){0, SHM_ATTR_DONTFORK, 0};
	case 14: /* MADV_HUGEPAGE */
		return (struct shm_change){0, huge, SHM_ATTR_HUGE};
	case 15: /* MADV_NOHUGEPAGE */
		return (struct shm_change){0, huge, SHM_ATTR_NOHUGE};
	case 16: /* MADV_DONTDUMP */
		return (struct shm_change){0, 0, SHM_ATTR_DONTDUMP};
	case 17: /* MADV_DODUMP */
		return (struct shm_change){0, SHM_ATTR_DONTDUMP, 0};
	default:
		return (struct shm_change){0, 0, 0};
	}
}

/* Call f for the parts of the range within the home mappings. */
static void in_homes(struct caller *c, u64 addr, u64 len,
	void (*f)(struct caller *c, u64 addr, u64 len))
{
	struct shm_process *p = c->shm;
	int i;

	for (i = 0; i < 2; i++) {
		u64 low = (u64)p->home[i], high = low + p->home_len[i];
		u64 from = addr > low ? addr : low;
		u64 to = addr + len < high ? addr + len : high;

		if (low && from < to)
			f(c, from, to - from);
	}
}

static void add_foreign(struct caller *c, u64 addr, u64 len)
{
	struct shm_entry *e = shm_entry_new(c->shm);

	if (!e)
		return;
	e->addr = addr;
	e->pages = (len + SYS_PAGE - 1) / SYS_PAGE;
	e->kind = SHM_FOREIGN;
	shm_entry_insert(c->shm, e);
}

void shm_app_mapped_locked(struct caller *c, u64 addr, u64 len)
{
	shm_app_changed_locked(c, addr, len, SHM_GONE);
	in_homes(c, addr, len, add_foreign);
}

long shm_app_map(
	struct caller *c, u64 addr, u64 len, const struct shm_app_mmap *how)
{
	int begun = shm_app_begin(c, addr, len);
	long ret = sys_call(
		__NR_mmap, addr, len, how->prot, how->flags, how->fd, how->off);

	if (begun && ret == (long)addr)
		shm_app_mapped_locked(c, addr, len);
	if (begun)
		shm_app_end(c);
	return ret;
}

int shm_app_is_free(struct caller *c, u64 addr, u64 len)
{
	struct shm_process *p = c->shm;
	struct shm_entry *e;
	u64 end = addr + len, page;
	u32 at = 0;
	int i, inside = 0;

	for (i = 0; i < 2; i++)
		inside |= p->home[i] && (u64)p->home[i] <= addr &&
			  end <= (u64)p->home[i] + p->home_len[i];
	while (inside && (e = shm_entry_each(p, &at))) {
		u64 low = e->addr > addr ? e->addr : addr;
		u64 high = e->addr + e->pages * SYS_PAGE;

		high = high < end ? high : end;
		if (low < high && (!e->ident || e->state != SHM_USED))
			return 0;
		for (page = low; page < high; page += SYS_PAGE)
			if (shm_entry_attr(p, e, (page - e->addr) / SYS_PAGE) >=
				0)
				return 0;
	}
	return inside;
}

long shm_app_map_free(
	struct caller *c, u64 addr, u64 len, const struct shm_app_mmap *how)
{
	int flags = (how->flags & ~MAP_FIXED_NOREPLACE) | MAP_FIXED;
	long ret = -EEXIST;

	if (!shm_app_begin(c, addr, len))
		return ret;
	len = (len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	if (shm_app_is_free(c, addr, len)) {
		ret = sys_call(__NR_mmap, addr, len, how->prot, flags, how->fd,
			how->off);
		if (ret == (long)addr)
			in_homes(c, addr, len, add_foreign);
	}
	shm_app_end(c);
	return ret;
}

static void close_home(struct caller *c, u64 addr, u64 len)
{
	const struct shm_process *p = c->shm;
	const struct shm_entry *e;
	u32 at = 0;

	while ((p->n_foreign || p->n_unlike) &&
		(e = shm_entry_each(c->shm, &at)))
		if ((e->kind == SHM_FOREIGN || e->unlike) &&
			e->addr < addr + len &&
			e->addr + e->pages * SYS_PAGE > addr) {
			shm_restore_home(c, addr, len);
			return;
		}
	if (sys_call(__NR_mprotect, addr, len, 0))
		shm_restore_home(c, addr, len);
}

/* The parts of a range outside the home mappings. */
static long unmap_outside(struct caller *c, u64 addr, u64 len)
{
	struct shm_process *p = c->shm;
	u64 end_addr = addr + len;
	long err = 0;
	int i;

	while (!err && addr < end_addr) {
		u64 stop = end_addr, skip = 0;

		for (i = 0; i < 2; i++) {
			u64 low = (u64)p->home[i], high = low + p->home_len[i];

			if (!low || high <= addr || low >= end_addr)
				continue;
			if (low <= addr)
				skip = high;
			else if (low < stop)
				stop = low;
		}
		if (skip) {
			addr = skip;
			continue;
		}
		err = sys_call(__NR_munmap, addr, stop - addr);
		addr = stop;
	}
	return err;
}

long shm_app_unmap_locked(struct caller *c, u64 addr, u64 len)
{
	long err = unmap_outside(c, addr, len);

	if (!err) {
		in_homes(c, addr, len, close_home);
		shm_app_changed_locked(c, addr, len, SHM_GONE);
	}
	return err;
}

long shm_app_unmap(struct caller *c, u64 addr, u64 len)
{
	long err;

	len = (len + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
	if ((addr & (SYS_PAGE - 1)) || !len || addr + len < addr ||
		!shm_app_begin(c, addr, len))
		return sys_call(__NR_munmap, addr, len);
	err = shm_app_unmap_locked(c, addr, len);
	shm_app_end(c);
	return err;
}
