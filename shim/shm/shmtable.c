// SPDX-License-Identifier: MIT
/*
 * The list of a process's attachments: an array with a hash by address, in
 * private pages that grow by doubling; see shmmap.h.
 *
 * Another thread may fork at any moment, and the child has the list as it then
 * is, with nobody to finish the change. So an array grows by a copy that takes
 * the old one's place by one store, before the old one is unmapped; links may
 * be half made, for the child makes them anew (shm_table_rebuild).
 *
 * A handler of a fault reads the table without the lock (shm_address_is_free).
 * So an old array stays mapped, without its pages: it reads as unused entries,
 * and `changes` tells that it is not to be believed. All of them together are
 * smaller than the last.
 */
#include <linux/mman.h>
#include "shm/shmmap.h"

#define FIRST_CAP 256u

static void *larger_copy(const void *old, u64 old_size, u64 size)
{
	void *p = sys_mmap_private(size);

	if ((unsigned long)p > -4096UL)
		return NULL;
	if (old_size)
		__builtin_memcpy(p, old, old_size);
	return p;
}

/* *at: the array. 0 or -ENOMEM. */
static int grow(void **at, u64 old_size, u64 size)
{
	void *old = *at, *new = larger_copy(old, old_size, size);

	if (!new)
		return -ENOMEM;
	__atomic_store_n(at, new, __ATOMIC_RELEASE);
	if (old && old_size)
		sys_call(__NR_madvise, old, old_size, MADV_DONTNEED);
	return 0;
}

static u32 *chain(struct shm_process *p, u64 addr)
{
	u64 h = (addr >> 12) * 0x9e3779b97f4a7c15ULL;

	return &p->hash[(h >> 32) & (p->cap - 1)];
}

static void note_unlike(
	struct shm_process *p, struct shm_entry *e, unsigned char bits)
{
	p->n_unlike += (bits != 0) - (e->unlike != 0);
	e->unlike = bits;
}

void shm_entry_unlike(struct shm_process *p, struct shm_entry *e, int bits)
{
	if (e->kind == SHM_HOME)
		note_unlike(p, e, e->unlike | bits);
}

void shm_entry_judge(struct shm_process *p, struct shm_entry *e)
{
	u32 i, attr = 0;

	for (i = e->frags; i; i = p->frags[i].next)
		if (p->frags[i].from < p->frags[i].to)
			attr |= p->frags[i].attr;
	if (e->unlike == SHM_UNLIKE_NOW && !(attr & ~SHM_ATTR_PROT))
		note_unlike(p, e, 0);
}

void shm_entry_unlock(struct shm_process *p, struct shm_entry *e)
{
	u32 i;

	for (i = e->frags; i; i = p->frags[i].next)
		p->frags[i].attr &= ~(SHM_ATTR_LOCKED | SHM_ATTR_ONFAULT);
	shm_entry_judge(p, e);
}

/* Read without a lock (doc/ordering.md). */
static void note_foreign(
	struct shm_process *p, const struct shm_entry *e, int by)
{
	if (e->kind == SHM_FOREIGN)
		__atomic_store_n(&p->n_foreign, p->n_foreign + (u32)by,
			__ATOMIC_RELEASE);
}

void shm_table_rebuild(struct shm_process *p)
{
	u32 i, *head;

	for (i = 0; i < p->cap; i++)
		p->hash[i] = 0;
	p->unused = p->n_used = p->n_foreign = p->n_unlike = 0;
	for (i = 1; i < p->high; i++) {
		struct shm_entry *e = &p->entries[i];

		if (e->state == SHM_UNUSED) {
			e->next = p->unused;
			p->unused = i;
			continue;
		}
		head = chain(p, e->addr);
		e->next = *head;
		*head = i;
		p->n_used++;
		p->n_unlike += e->unlike != 0;
		note_foreign(p, e, 1);
	}
}

static int grow_table(struct shm_process *p)
{
	u64 was = p->cap, cap = was ? was * 2 : FIRST_CAP;
	int err = grow((void **)&p->entries, was * sizeof(*p->entries),
		cap * sizeof(*p->entries));

	if (!err)
		err = grow((void **)&p->hash, was * sizeof(*p->hash),
			cap * sizeof(*p->hash));
	if (err)
		return err;
	if (!p->high)
		p->high = 1;
	__atomic_store_n(&p->cap, (u32)cap, __ATOMIC_RELEASE);
	shm_table_rebuild(p);
	return 0;
}

struct shm_entry *shm_entry_new(struct shm_process *p)
{
	struct shm_entry *e;

	if (!shm_entry_is_free(p) && grow_table(p))
		return NULL;
	if (p->unused) {
		e = &p->entries[p->unused];
		p->unused = e->next;
	} else {
		e = &p->entries[p->high++];
	}
	*e = (struct shm_entry){.state = SHM_UNUSED};
	return e;
}

void shm_entry_drop(struct shm_process *p, struct shm_entry *e)
{
	e->state = SHM_UNUSED;
	e->next = p->unused;
	p->unused = e - p->entries;
}

void shm_entry_insert(struct shm_process *p, struct shm_entry *e)
{
	u32 *head = chain(p, e->addr);

	e->next = *head;
	*head = e - p->entries;
	p->n_used++;
	note_foreign(p, e, 1);
	if (!p->low || e->addr < p->low)
		p->low = e->addr;
	if (e->addr + e->pages * SYS_PAGE > p->high_addr)
		p->high_addr = e->addr + e->pages * SYS_PAGE;
	__atomic_store_n(&e->state, SHM_USED, __ATOMIC_RELEASE);
}

static void free_frags(struct shm_process *p, struct shm_entry *e)
{
	u32 i = e->frags, next;

	__atomic_store_n(&e->frags, 0, __ATOMIC_RELEASE);
	for (; i; i = next) {
		next = p->frags[i].next;
		p->frags[i].next = p->frag_unused;
		__atomic_store_n(&p->frag_unused, i, __ATOMIC_RELEASE);
	}
}

void shm_entry_remove(struct shm_process *p, struct shm_entry *e)
{
	u32 *link = chain(p, e->addr);

	shm_entry_unmapped(e);
	while (*link && *link != (u32)(e - p->entries))
		link = &p->entries[*link].next;
	if (*link)
		*link = e->next;
	p->n_used--;
	note_foreign(p, e, -1);
	note_unlike(p, e, 0);
	free_frags(p, e);
	shm_entry_drop(p, e);
}

static u64 first_page(const struct shm_process *p, const struct shm_entry *e)
{
	u32 i = e->frags;

	while (i && p->frags[i].from == p->frags[i].to)
		i = p->frags[i].next;
	return i ? p->frags[i].from : 0;
}

/* Several may have begun there, of which SHM_REMAP left the ends. */
struct shm_entry *shm_entry_find(struct shm_process *p, u64 addr)
{
	struct shm_entry *e, *best = NULL;
	u32 i = p->cap ? *chain(p, addr) : 0;

	for (; i; i = e->next) {
		e = &p->entries[i];
		if (e->addr == addr && e->ident &&
			(!best || first_page(p, e) < first_page(p, best)))
			best = e;
	}
	return best;
}

struct shm_entry *shm_entry_unbound(struct shm_process *p, u64 addr, u64 ident)
{
	struct shm_entry *e;
	u32 i = p->cap ? *chain(p, addr) : 0;

	for (; i; i = e->next) {
		e = &p->entries[i];
		if (e->addr == addr && e->ident == ident && !e->rec)
			return e;
	}
	return NULL;
}

struct shm_entry *shm_entry_each(struct shm_process *p, u32 *at)
{
	while (++*at < p->high)
		if (p->entries[*at].state != SHM_UNUSED)
			return &p->entries[*at];
	return NULL;
}

/* ---- fragments ---- */

u32 shm_entry_count(const struct shm_process *p, const struct shm_entry *e)
{
	u32 i = e->frags, n = 0;

	if (!i)
		return 1;
	for (; i; i = p->frags[i].next)
		n += p->frags[i].to > p->frags[i].from;
	return n;
}

u32 shm_entry_count_fork(const struct shm_process *p, const struct shm_entry *e)
{
	u32 i = e->frags, n = 0;

	if (!i)
		return 1;
	for (; i; i = p->frags[i].next)
		n += p->frags[i].to > p->frags[i].from &&
		     !(p->frags[i].attr & SHM_ATTR_DONTFORK);
	return n;
}

s64 shm_entry_attr(
	const struct shm_process *p, const struct shm_entry *e, u64 page)
{
	u32 i = e->frags;

	if (!i)
		return page < e->pages ? e->prot : -1;
	for (; i; i = p->frags[i].next)
		if (page >= p->frags[i].from && page < p->frags[i].to)
			return p->frags[i].attr;
	return -1;
}

u64 shm_entry_end(
	const struct shm_process *p, const struct shm_entry *e, u64 page)
{
	u32 i = e->frags;

	if (!i)
		return page < e->pages ? e->pages : 0;
	for (; i; i = p->frags[i].next)
		if (page >= p->frags[i].from && page < p->frags[i].to)
			return p->frags[i].to;
	return 0;
}

void shm_entry_grow(struct shm_process *p, struct shm_entry *e, u64 end, u64 n,
	unsigned char kind)
{
	u32 i;

	for (i = e->frags; i; i = p->frags[i].next)
		if (p->frags[i].from < end && p->frags[i].to == end)
			p->frags[i].to = end + n;
	if (e->pages < end + n)
		e->pages = end + n;
	if (e->addr + e->pages * SYS_PAGE > p->high_addr)
		p->high_addr = e->addr + e->pages * SYS_PAGE;
	note_unlike(p, e, 0);
	note_foreign(p, e, -1);
	e->kind = kind;
	note_foreign(p, e, 1);
}

int shm_entry_one_fragment(const struct shm_process *p,
	const struct shm_entry *e, u64 from, u64 to)
{
	u32 i = e->frags;

	for (; i; i = p->frags[i].next)
		if (p->frags[i].from <= from && to <= p->frags[i].to)
			return 1;
	return !e->frags && to <= e->pages;
}

static u32 frag_new(struct shm_process *p, u64 from, u64 to, u32 attr, u32 next)
{
	u32 i = p->frag_unused, cap;
	u64 size = sizeof(*p->frags);

	if (i) {
		p->frag_unused = p->frags[i].next;
	} else {
		if (!p->frag_cap || p->frag_high == p->frag_cap) {
			cap = p->frag_cap ? p->frag_cap * 2 : FIRST_CAP;
			if (grow((void **)&p->frags, p->frag_cap * size,
				    cap * size))
				return 0;
			__atomic_store_n(&p->frag_cap, cap, __ATOMIC_RELEASE);
			if (!p->frag_high)
				p->frag_high = 1;
		}
		i = p->frag_high++;
	}
	p->frags[i] = (struct shm_frag){from, to, next, attr};
	return i;
}

/* Split fragment i so that one begins at page; that one's index. */
static u32 split(struct shm_process *p, u32 i, u64 page)
{
	struct shm_frag *f = &p->frags[i];
	u32 rest = frag_new(p, page, f->to, f->attr, f->next);

	if (rest) {
		f = &p->frags[i]; /* may have moved */
		f->to = page;
		f->next = rest;
	}
	return rest;
}

/*
 * The kernel does not join fragments again, but where a part at the edge of one
 * becomes like its neighbour it moves the border. 1 if that was all.
 */
static int move_border(
	struct shm_process *p, u32 prev, u32 i, u64 from, u64 to, u32 attr)
{
	struct shm_frag *f = &p->frags[i];
	struct shm_frag *left = prev ? &p->frags[prev] : NULL;
	struct shm_frag *right = f->next ? &p->frags[f->next] : NULL;

	if (from <= f->from && to < f->to && left && left->to == f->from &&
		left->from < left->to && left->attr == attr) {
		left->to = f->from = to;
		return 1;
	}
	if (from > f->from && to >= f->to && right && right->from == f->to &&
		right->from < right->to && right->attr == attr) {
		right->from = f->to = from;
		return 1;
	}
	return 0;
}

static u32 attr_after(u32 attr, struct shm_change change)
{
	return (attr & ~change.clear) | change.set;
}

int shm_entry_cut(struct shm_process *p, struct shm_entry *e, u64 from, u64 to,
	struct shm_change change)
{
	int changed = 0;
	u32 i, prev = 0, attr;

	if (!e->frags)
		e->frags = frag_new(p, 0, e->pages, e->prot, 0);
	if (!e->frags)
		return -ENOMEM;
	for (i = e->frags; i; prev = i, i = p->frags[i].next) {
		attr = attr_after(p->frags[i].attr, change);
		if (p->frags[i].from >= to || p->frags[i].to <= from ||
			p->frags[i].from == p->frags[i].to)
			continue;
		if (!change.gone &&
			(p->frags[i].attr == attr ||
				move_border(p, prev, i, from, to, attr)))
			continue;
		if (from > p->frags[i].from) {
			i = split(p, i, from);
			changed = 1;
		}
		if (i && to < p->frags[i].to) {
			changed = 1;
			if (!split(p, i, to))
				i = 0;
		}
		if (!i)
			return -ENOMEM;
		p->frags[i].attr = attr;
		/* An empty fragment stands for what is unmapped. */
		if (change.gone) {
			p->frags[i].to = p->frags[i].from;
			changed = 1;
		}
	}
	return changed;
}

int shm_entry_covers(const struct shm_process *p, const struct shm_entry *e,
	u64 from, u64 to)
{
	u32 i = e->frags;
	u64 found = 0;

	if (!i)
		return 1;
	for (; i; i = p->frags[i].next) {
		u64 low = p->frags[i].from, high = p->frags[i].to;

		low = low > from ? low : from;
		high = high < to ? high : to;
		found += high > low ? high - low : 0;
	}
	return found == to - from;
}

/* ---- without the lock ---- */

/* A change takes some system calls. Arbitrary. */
#define FREE_LOOKS 100
#define FREE_NAP_NS 50000

/* No array is read beyond what it had when its length was stored. */
static int fragment_has(
	const struct shm_process *p, const struct shm_entry *e, u64 page)
{
	u32 cap = atom_load_acquire(&p->frag_cap), i = e->frags, n;
	const struct shm_frag *frags = atom_load_acquire(&p->frags);

	if (!i)
		return 1;
	for (n = 0; i && i < cap && n < cap; i = frags[i].next, n++)
		if (page >= frags[i].from && page < frags[i].to)
			return 1;
	return 0;
}

static int entry_has(const struct shm_process *p, u64 addr)
{
	u32 cap = atom_load_acquire(&p->cap), i;
	const struct shm_entry *entries = atom_load_acquire(&p->entries), *e;

	for (i = 1; i < cap && i < p->high; i++) {
		e = &entries[i];
		if (e->state == SHM_USED && addr >= e->addr &&
			addr - e->addr < e->pages * SYS_PAGE &&
			fragment_has(p, e, (addr - e->addr) / SYS_PAGE))
			return 1;
	}
	return 0;
}

int shm_address_is_free(const struct shm_process *p, u64 addr)
{
	const struct sys_timespec nap = {0, FREE_NAP_NS};
	u32 changes;
	int found, n;

	if (!shm_in_home(p, addr, 1))
		return 0;
	for (n = 0; n < FREE_LOOKS; n++) {
		changes = atom_load_acquire(&p->changes);
		if (changes & 1) {
			sys_call(__NR_nanosleep, &nap, NULL);
			continue;
		}
		found = entry_has(p, addr);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (atom_load_relaxed(&p->changes) == changes)
			return !found;
	}
	/* One that was under way when this child was forked. */
	return !entry_has(p, addr);
}
