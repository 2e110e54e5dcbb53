// SPDX-License-Identifier: MIT
/*
 * Mapping segments; see shmmap.h.
 *
 * Keeps INV_SHM_MAPPED (inspect/check.h).
 */
#include <linux/mman.h>
#include "registry/damage.h"
#include "shm/shmmap.h"

#define MAP_RESERVE (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)
#define HOME_MIN (64ULL << 20)
/* Pages asked about at a time by mincore(2). */
#define RESIDENT_STEP 1024u
/* What one thread asks without a pause, in one walk over segments or in walks
 * one behind the other: a page that is there counts 1, a hole more. A second or
 * two for 128 GiB of holes, several for 1 TiB of pages: beyond, segments are
 * damaged or nobody waits for the answer. Who asks now and then is told all each
 * time. Arbitrary. */
#define PAGES_ASKED (1ULL << 28)
#define PAGES_HOLE 8u
#define PAUSE_NS 100000000ULL
/* Bytes given back at a time: some hundred microseconds; or more, for a run of
 * terabytes is mostly holes and takes no more steps than this. Arbitrary. */
#define REMOVE_STEP (2ULL << 20)
#define REMOVE_STEPS 65536u

static int failed(const void *p)
{
	return (unsigned long)p > -4096UL;
}

static void *duplicate(const void *from, u64 len, void *to)
{
	return (void *)sys_call(__NR_mremap, from, 0, len,
		to ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE, to);
}

/* The last page of the region: the one in front of the window. */
static char *anchor(const struct caller *c, int read_only)
{
	if (read_only && c->shm->read_only)
		return c->shm->read_only;
	return c->region.base + REGION_SIZE - SYS_PAGE;
}

static void *home_place(struct caller *c, int read_only, u64 len)
{
	char *at = (char *)caller_header(c)->shm.home +
		   (read_only ? 2 * WINDOW_HOME : 0);
	void *p = sys_mmap(at - SYS_PAGE, len, PROT_NONE,
		MAP_RESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (!failed(p) && p != at - SYS_PAGE) {
		/* A kernel that does not know NOREPLACE. */
		sys_call(__NR_munmap, p, len);
		p = (void *)-ENOMEM;
	}
	if (failed(p))
		p = sys_mmap(NULL, len, PROT_NONE, MAP_RESERVE, -1, 0);
	return p;
}

/* Smaller and smaller, if address space is limited. */
void shm_map_read_only(struct shm_process *p, const struct region *region)
{
	char *none = NULL, *page;

	if (p->read_only)
		return;
	page = region_map_read_only(region);
	if (page && !__atomic_compare_exchange_n(&p->read_only, &none, page, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		sys_call(__NR_munmap, page, SYS_PAGE);
}

static void make_home(struct caller *c, int read_only)
{
	struct shm_process *p = c->shm;
	u64 len = c->region.file_size - REGION_SIZE;
	char *at;

	if (read_only)
		shm_map_read_only(p, &c->region);
	if (len > WINDOW_HOME)
		len = WINDOW_HOME;
	for (; len >= HOME_MIN; len = (len / 4) & ~(SYS_PAGE - 1)) {
		at = home_place(c, read_only, len + SYS_PAGE);
		if (failed(at))
			continue;
		if (failed(duplicate(
			    anchor(c, read_only), len + SYS_PAGE, at))) {
			sys_call(__NR_munmap, at, len + SYS_PAGE);
			continue;
		}
		sys_call(__NR_mprotect, at, len + SYS_PAGE, PROT_NONE);
		p->home_len[read_only] = len;
		p->home[read_only] = at + SYS_PAGE;
		return;
	}
}

/* Around what is mapped for a moment without own task's lock, in a section: a fork
 * child of another thread must not keep it. */
static void pass(struct shm_process *p, u32 by)
{
	__atomic_fetch_add(&p->passing, by, __ATOMIC_RELAXED);
}

/* Of several threads one makes it and the others wait. */
static void make_home_once(struct caller *c, int read_only)
{
	u32 *tried = &c->shm->tried[read_only], seen = HOME_UNKNOWN;

	section_begin(c);
	if (__atomic_compare_exchange_n(tried, &seen, HOME_IN_WORK, 0,
		    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		pass(c->shm, 1);
		make_home(c, read_only);
		pass(c->shm, -1u);
		__atomic_store_n(tried, HOME_KNOWN, __ATOMIC_RELEASE);
	}
	while (atom_load_acquire(tried) != HOME_KNOWN)
		arch_pause();
	section_end(c);
}

/* The home of pages at a file offset, or NULL. */
static char *home_of(struct caller *c, int read_only, u64 off, u64 len)
{
	struct shm_process *p = c->shm;

	if (unlikely(atom_load_acquire(&p->tried[read_only]) != HOME_KNOWN))
		make_home_once(c, read_only);
	if (!p->home[read_only] || off < REGION_SIZE ||
		off - REGION_SIZE > p->home_len[read_only] ||
		len > p->home_len[read_only] - (off - REGION_SIZE))
		return NULL;
	return p->home[read_only] + (off - REGION_SIZE);
}

/* 1 if an attachment, of this or another segment, is at the home. */
static int home_busy(struct shm_process *p, const char *home, u64 len)
{
	const struct shm_entry *e;
	u32 at = 0;

	if (shm_entry_find(p, (u64)home))
		return 1;
	while (p->n_foreign && (e = shm_entry_each(p, &at)))
		if (e->kind == SHM_FOREIGN && e->addr < (u64)home + len &&
			e->addr + e->pages * SYS_PAGE > (u64)home)
			return 1;
	return 0;
}

/* Any pages of the window, without access or with the anchor's, to be used for
 * a moment or moved elsewhere: what lies between anchor and them is cut off. */
static char *far_map(struct caller *c, int read_only, u64 off, u64 len)
{
	u64 skip = off - REGION_SIZE + SYS_PAGE;
	char *p = duplicate(anchor(c, read_only), skip + len, NULL);

	if (failed(p))
		return p;
	sys_call(__NR_munmap, p, skip);
	return p + skip;
}

/* 1 if what is attached there at home has flags that a copy must not get. */
static int home_unlike(struct shm_process *p, const char *home, u64 len)
{
	const struct shm_entry *e;
	u32 at = 0;

	while (p->n_unlike && (e = shm_entry_each(p, &at)))
		if (e->unlike && e->addr < (u64)home + len &&
			e->addr + e->pages * SYS_PAGE > (u64)home)
			return 1;
	return 0;
}

/* A duplicate at `to` (replacing what is there), or anywhere. */
static char *duplicate_pages(
	struct caller *c, int read_only, u64 off, u64 len, void *to)
{
	char *home = home_of(c, read_only, off, len), *p, *moved;

	/* The source's whole range need not be mapped, its first page must, and
	 * be ours; the copy gets the flags that the application gave it. */
	if (home && !c->shm->n_foreign && !home_unlike(c->shm, home, len)) {
		p = duplicate(home, len, to);
		if (!failed(p) || (long)p != -EFAULT)
			return p;
	}
	p = far_map(c, read_only, off, len);
	if (failed(p) || !to)
		return p;
	moved = (char *)sys_call(
		__NR_mremap, p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (failed(moved))
		sys_call(__NR_munmap, p, len);
	return moved;
}

static struct shm_piece *piece_of(struct shm_process *p, const char *home)
{
	return &p->pieces[((u64)home >> 12) * 0x9e3779b97f4a7c15ULL >> 56];
}

/*
 * mprotect of a part of a mapping splits it, and taking the access away again
 * merges it: four times the cost of changing a mapping as a whole. So a home
 * that was attached once is kept apart by a flag of its own; the home mappings
 * as such are not dumped. Some are forgotten, so that mappings stay few.
 */
static void keep_apart(struct shm_process *p, char *home, u64 len)
{
	struct shm_piece *piece;

	if (unlikely(!p->pieces)) {
		piece = sys_mmap_private(SHM_PIECES * sizeof(*piece));
		if (failed(piece))
			return;
		p->pieces = piece;
	}
	piece = piece_of(p, home);
	if (likely(piece->at == home && piece->len == len))
		return;
	if (piece->at) {
		if (shm_entry_find(p, (u64)piece->at))
			return;
		sys_call(__NR_madvise, piece->at, piece->len, MADV_DONTDUMP);
	}
	piece->at = NULL;
	if (!sys_call(__NR_madvise, home, len, MADV_DODUMP)) {
		piece->at = home;
		piece->len = len;
	}
}

static int map_home(struct caller *c, struct shm_entry *e, char *home)
{
	u64 len = e->pages * SYS_PAGE;
	long err = sys_call(__NR_mprotect, home, len, e->prot);

	if (err == -ENOMEM) {
		/* The application unmapped some of it; or there are too many
		 * mappings, and this fails too. */
		char *p = far_map(c, e->read_only, e->off, len), *moved;

		if (failed(p))
			return (long)p;
		moved = (char *)sys_call(__NR_mremap, p, len, len,
			MREMAP_MAYMOVE | MREMAP_FIXED, home);
		if (failed(moved)) {
			sys_call(__NR_munmap, p, len);
			return (long)moved;
		}
		err = sys_call(__NR_mprotect, home, len, e->prot);
	}
	if (err)
		return err;
	keep_apart(c->shm, home, len);
	e->addr = (u64)home;
	e->kind = SHM_HOME;
	return 0;
}

static int map_duplicate(struct caller *c, struct shm_entry *e, void *to)
{
	u64 len = e->pages * SYS_PAGE;
	char *p = duplicate_pages(c, e->read_only, e->off, len, to);
	long err;

	if (failed(p))
		return (long)p;
	err = sys_call(__NR_mprotect, p, len, e->prot);
	if (err) {
		sys_call(__NR_munmap, p, len);
		return err;
	}
	e->addr = (u64)p;
	e->kind = SHM_DUPLICATE;
	return 0;
}

u64 shm_map_size(const struct caller *c, const struct shm_entry *e)
{
	const struct slot *s = region_slot(&c->region, FAC_SHM, e->slot_idx);
	const struct shm_segment *seg = ref_at(c, ref_relaxed(&s->body));

	if (!seg || atom_load_acquire(&s->ident) != e->ident ||
		!shm_in_file(c, e->off, seg->pages))
		return 0;
	return seg->pages;
}

/* Pages that are there and have nothing: behind the end of a file of one page.
 * Not of the registry's own, in which others' segments would be. */
static long map_empty(u64 len, int prot, char *to)
{
	char *p = sys_mmap(
		     NULL, SYS_PAGE, prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
	     *q;

	if (failed(p))
		return (long)p;
	q = (char *)sys_call(
		__NR_mremap, p, SYS_PAGE, SYS_PAGE + len, MREMAP_MAYMOVE, 0);
	if (failed(q)) {
		sys_call(__NR_munmap, p, SYS_PAGE);
		return (long)q;
	}
	sys_call(__NR_munmap, q, SYS_PAGE);
	q += SYS_PAGE;
	p = (char *)sys_call(
		__NR_mremap, q, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (failed(p))
		sys_call(__NR_munmap, q, len);
	return failed(p) ? (long)p : 0;
}

/* The segment's pages, and what lies behind its end, at `at`. */
static long map_parts(
	struct caller *c, struct shm_entry *e, u64 from, u64 n, char *at)
{
	u64 size = shm_map_size(c, e), own = from < size ? size - from : 0;
	long err = 0;
	char *p;

	own = own < n ? own : n;
	if (own) {
		p = duplicate_pages(c, e->read_only, e->off + from * SYS_PAGE,
			own * SYS_PAGE, at);
		err = failed(p) ? (long)p
				: sys_call(__NR_mprotect, p, own * SYS_PAGE,
					  e->prot);
	}
	if (!err && own < n)
		err = map_empty(
			(n - own) * SYS_PAGE, e->prot, at + own * SYS_PAGE);
	return err;
}

char *shm_map_reserve(void *to, u64 len)
{
	char *at = sys_mmap(to, len, PROT_NONE,
		to ? MAP_RESERVE | MAP_FIXED_NOREPLACE : MAP_RESERVE, -1, 0);

	/* A kernel that does not know NOREPLACE (before 4.17). */
	if (to && !failed(at) && at != to) {
		sys_call(__NR_munmap, at, len);
		return (char *)-EEXIST;
	}
	return at;
}

long shm_map_part(
	struct caller *c, struct shm_entry *e, u64 from, u64 n, void *to)
{
	u64 len = n * SYS_PAGE;
	int foreign = to && shm_in_home(c->shm, (u64)to, len);
	char *at;
	long err;

	/* What is mapped for a moment must not come to lie there. */
	at = shm_map_reserve(to, len);
	if (!to && failed(at))
		return (long)at;
	if (!failed(at))
		shm_map_hold(c->shm, (u64)at, len);
	err = map_parts(c, e, from, n, failed(at) ? to : at);
	if (!failed(at))
		shm_map_hold(c->shm, 0, 0);
	else
		at = to;
	if (err) {
		if (foreign)
			shm_restore_home(c, (u64)at, len);
		else
			sys_call(__NR_munmap, at, len);
		return err;
	}
	e->addr = (u64)at - from * SYS_PAGE;
	e->kind = foreign ? SHM_FOREIGN : SHM_DUPLICATE;
	return (long)at;
}

/* A place within a home mapping where nothing else than self is attached counts
 * as free. */
static int free_in_home(
	struct shm_process *p, const struct shm_entry *self, u64 addr, u64 len)
{
	const struct shm_entry *e;
	u32 at = 0;
	int i, inside = 0;

	for (i = 0; i < 2; i++)
		inside |= p->home[i] && addr >= (u64)p->home[i] &&
			  len <= p->home_len[i] &&
			  addr - (u64)p->home[i] <= p->home_len[i] - len;
	while (inside && (e = shm_entry_each(p, &at)))
		if (e != self && e->addr < addr + len &&
			e->addr + e->pages * SYS_PAGE > addr)
			inside = 0;
	return inside;
}

/* map_duplicate takes 0 for any address; shmat with SHM_RND does not. */
static int move_to_zero(struct shm_entry *e, u64 len)
{
	long to = sys_call(__NR_mremap, e->addr, len, len,
		MREMAP_MAYMOVE | MREMAP_FIXED, NULL);

	if (to)
		sys_call(__NR_munmap, e->addr, len);
	else
		e->addr = 0;
	return (int)to;
}

static int map_fixed(struct caller *c, struct shm_entry *e, int replace)
{
	char *home = home_of(c, e->read_only, e->off, e->pages * SYS_PAGE);
	u64 addr = e->addr, len = e->pages * SYS_PAGE;
	void *p;
	int err, foreign;

	if (addr + len < addr)
		return replace ? -ENOMEM : -EINVAL;
	if (addr == (u64)home && !home_busy(c->shm, home, len))
		return map_home(c, e, home);
	p = sys_mmap((void *)addr, len, PROT_NONE,
		MAP_RESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	foreign = (long)p == -EEXIST && shm_in_home(c->shm, addr, len);
	if ((long)p == -EEXIST && !replace &&
		!free_in_home(c->shm, e, addr, len))
		return -EINVAL;
	if (failed(p) && (long)p != -EEXIST)
		return (long)p;
	if (!failed(p))
		shm_map_hold(c->shm, addr, len);
	err = map_duplicate(c, e, (void *)addr);
	if (unlikely(!err && !addr))
		err = move_to_zero(e, len);
	if (!failed(p))
		shm_map_hold(c->shm, 0, 0);
	if (err && !failed(p))
		sys_call(__NR_munmap, p, len);
	if (!err && foreign)
		e->kind = SHM_FOREIGN;
	return err;
}

int shm_map(struct caller *c, struct shm_entry *e, int fixed, int replace)
{
	u64 len = e->pages * SYS_PAGE;
	char *home;

	if (fixed)
		return map_fixed(c, e, replace);
	home = home_of(c, e->read_only, e->off, len);
	if (home && !home_busy(c->shm, home, len) && !map_home(c, e, home))
		return 0;
	return map_duplicate(c, e, NULL);
}

static void forget_pieces(struct shm_process *p, u64 addr, u64 len)
{
	struct shm_piece *piece = p->pieces;

	for (; piece && piece < p->pieces + SHM_PIECES; piece++)
		if (piece->at && (u64)piece->at < addr + len &&
			(u64)piece->at + piece->len > addr)
			piece->at = NULL;
}

void shm_restore_home(struct caller *c, u64 addr, u64 len)
{
	struct shm_process *p = c->shm;
	int i;
	char *q;

	forget_pieces(p, addr, len);
	for (i = 0; i < 2; i++) {
		u64 off = addr - (u64)p->home[i];

		if (!p->home[i] || addr < (u64)p->home[i] ||
			off >= p->home_len[i])
			continue;
		q = far_map(c, i, REGION_SIZE + off, len);
		if (failed(q))
			break;
		sys_call(__NR_mprotect, q, len, PROT_NONE);
		if (!failed((void *)sys_call(__NR_mremap, q, len, len,
			    MREMAP_MAYMOVE | MREMAP_FIXED, addr)))
			return;
		sys_call(__NR_munmap, q, len);
	}
	/* Then it is nobody's; map_home finds out. */
	sys_call(__NR_munmap, addr, len);
}

static void unmap_range(
	struct caller *c, const struct shm_entry *e, u64 from, u64 to)
{
	u64 addr = e->addr + from * SYS_PAGE, len = (to - from) * SYS_PAGE;

	if (from >= to)
		return;
	if (e->kind == SHM_DUPLICATE) {
		sys_call(__NR_munmap, addr, len);
	} else if (e->kind == SHM_FOREIGN || e->unlike ||
		   sys_call(__NR_mprotect, addr, len, PROT_NONE)) {
		/* In one step: a thread of the application's may be mapping. */
		shm_restore_home(c, addr, len);
	}
}

void shm_unmap(struct caller *c, const struct shm_entry *e)
{
	const struct shm_process *p = c->shm;
	u32 i = e->frags;

	u64 from, to;

	if (!i)
		unmap_range(c, e, 0, e->pages);
	/* What lies without a gap goes in one call. */
	while (i) {
		from = p->frags[i].from;
		do {
			to = p->frags[i].to;
			i = p->frags[i].next;
		} while (i && p->frags[i].from == to);
		unmap_range(c, e, from, to);
	}
}

/* ---- pages ---- */

/* Pages of the window: the home, or a mapping made for this (*ret_own: 1), which
 * the caller unmaps again. */
static char *pages_at(struct caller *c, u64 off, u64 len, int *ret_own)
{
	char *home = home_of(c, 0, off, len);
	unsigned char vec;

	*ret_own = 0;
	/* mincore tells (ENOMEM) if the application has unmapped the page. */
	if (home && !atom_load_acquire(&c->shm->n_foreign) &&
		!sys_call(__NR_mincore, home, SYS_PAGE, &vec))
		return home;
	*ret_own = 1;
	return far_map(c, 0, off, len);
}

/* In pieces: the file's own lock is given back between them, for others who
 * give pages back. */
static long remove_pages(char *p, u64 len)
{
	u64 at, n, step = len / REMOVE_STEPS & ~(SYS_PAGE - 1);
	long err = 0;

	if (step < REMOVE_STEP)
		step = REMOVE_STEP;
	for (at = 0; at < len && !err; at += n) {
		n = len - at < step ? len - at : step;
		err = sys_call(__NR_madvise, p + at, n, MADV_REMOVE);
	}
	return err;
}

/* In a section. A mapping that is locked (mlockall), or to older kernels one that cannot be
 * written to, is refused: then one is made that is not. */
int shm_map_discard(struct caller *c, u64 off, u64 pages)
{
	u64 len = pages * SYS_PAGE;
	int own;
	char *p;
	long err;

	if (!shm_in_file(c, off, pages))
		return -EINVAL;
	pass(c->shm, 1);
	p = pages_at(c, off, len, &own);
	err = failed(p) ? (long)p : remove_pages(p, len);
	if (err && !own)
		p = far_map(c, 0, off, len);
	if (failed(p)) {
		pass(c->shm, -1u);
		return (long)p;
	}
	if (err) {
		sys_call(__NR_mprotect, p, len, PROT_WRITE);
		sys_call(__NR_munlock, p, len);
		err = remove_pages(p, len);
		own = 1;
	}
	if (own)
		sys_call(__NR_munmap, p, len);
	pass(c->shm, -1u);
	return err;
}

/* May it ask about more? */
static int pages_left(struct caller *c)
{
	if (sys_monotonic_ns() - c->pages_ns > PAUSE_NS)
		c->pages = 0;
	return c->pages < PAGES_ASKED;
}

u64 shm_map_resident(struct caller *c, u64 off, u64 pages)
{
	unsigned char vec[RESIDENT_STEP];
	u64 at, i, n, here, found = 0;
	int own;
	char *p = shm_in_file(c, off, pages) && pages_left(c)
			  ? pages_at(c, off, pages * SYS_PAGE, &own)
			  : (char *)-EIO;

	if (failed(p))
		return 0;
	for (at = 0; at < pages && c->pages < PAGES_ASKED; at += n) {
		n = pages - at < RESIDENT_STEP ? pages - at : RESIDENT_STEP;
		if (sys_call(
			    __NR_mincore, p + at * SYS_PAGE, n * SYS_PAGE, vec))
			break;
		for (i = here = 0; i < n; i++)
			here += vec[i] & 1;
		found += here;
		c->pages += here + (n - here) * PAGES_HOLE;
	}
	if (own)
		sys_call(__NR_munmap, p, pages * SYS_PAGE);
	c->pages_ns = sys_monotonic_ns();
	return found;
}
