// SPDX-License-Identifier: MIT
/*
 * Page runs, their pool, and what the file system can hold; see shmrun.h.
 */
#include "shm/shmrun.h"
#include "shm/shmmap.h"
#include "registry/event.h"
#include "registry/heap.h"

#define EVICT_MOST 64u
/* Pages of the tables that are not counted one by one; arbitrary. */
#define SLACK_PAGES 256u
/* How long an answer of the file system counts, for whom; arbitrary. */
#define ROOM_FRESH_NS 20000000ULL
#define ROOM_SMALL_PAGES 4096u

static struct shm_state *state(const struct caller *c)
{
	return &caller_header(c)->shm;
}

/* The class of a size and its true size; -1 if it is too large. */
static int class_of(u64 pages, u64 *ret_pages)
{
	u64 step, k;
	unsigned p = 2;

	if (pages <= 4) {
		*ret_pages = pages;
		return (int)pages - 1;
	}
	if (pages > 1ULL << 34)
		return -1;
	while (pages > 2ULL << p)
		p++;
	step = (1ULL << p) / 4;
	k = (pages - (1ULL << p) + step - 1) / step;
	*ret_pages = (1ULL << p) + k * step;
	return 4 + (p - 2) * 4 + (k - 1);
}

static void push(struct caller *c, struct ref *list, struct shm_run *run)
{
	journal_set_ref(c, &run->next, *list);
	journal_set_ref(c, list, (struct ref){region_off(&c->region, run)});
}

/* Take the first run of a list; part of the current operation. */
static struct shm_run *pop(struct caller *c, struct ref *list)
{
	struct shm_run *run = shm_run_at(c, *list);

	if (run)
		journal_set_ref(c, list, run->next);
	return run;
}

void shm_run_give(struct caller *c, struct ref *ref, u64 kept)
{
	struct shm_state *st = state(c);
	struct shm_run *run = shm_run_at(c, *ref);

	if (!run || run->class >= SHM_CLASSES)
		return;
	journal_set64(c, &run->kept, kept);
	if (kept)
		journal_set64(c, &st->pool, st->pool + kept);
	push(c, kept ? &st->kept[run->class] : &st->bare[run->class], run);
	journal_set_ref(c, ref, (struct ref){0});
}

/* Give back the pages of one kept run of a class; its operation. 0 if the
 * class has none. */
static int evict_from(struct caller *c, u32 class)
{
	struct shm_state *st = state(c);
	struct shm_run *run = shm_run_at(c, st->kept[class]);

	if (!run)
		return 0;
	if (shm_map_discard(c, run->off, run->kept))
		return 0;
	pop(c, &st->kept[class]);
	journal_set64(c, &st->pool, st->pool - run->kept);
	journal_set64(c, &run->kept, 0);
	push(c, &st->bare[class], run);
	journal_commit(c);
	return 1;
}

static int evict(struct caller *c)
{
	struct shm_state *st = state(c);
	u32 i, class;

	for (i = 0; i < SHM_CLASSES; i++) {
		class = st->evict_hand % SHM_CLASSES;
		if (evict_from(c, class))
			return 1;
		/* A hint, no journal. */
		atom_store_release(&st->evict_hand, class + 1);
	}
	return 0;
}

int shm_pool_admit(struct caller *c, u64 pages)
{
	struct shm_state *st = state(c);
	u32 n = 0;

	if (pages > SHM_KEEP_PAGES)
		return 0;
	while (st->pool + pages > SHM_POOL_PAGES && n++ < EVICT_MOST)
		if (!evict(c))
			break;
	return st->pool + pages <= SHM_POOL_PAGES;
}

void shm_pool_flush(struct caller *c)
{
	while (evict(c))
		;
}

/* Offsets never used before, for a run and its guard page. 0 if there are
 * none. Part of the current operation. */
static u64 bump(struct caller *c, u64 pages)
{
	struct shm_state *st = state(c);
	u64 end = caller_header(c)->file_size, near_end, off;
	u64 len = (pages + 1) * SYS_PAGE;

	near_end = REGION_SIZE + WINDOW_HOME;
	if (near_end > end)
		near_end = end;
	off = st->far;
	if (len > WINDOW_HOME / 64 && off <= end && len <= end - off) {
		journal_set64(c, &st->far, off + len);
		return off;
	}
	off = st->near;
	if (off <= near_end && len <= near_end - off) {
		journal_set64(c, &st->near, off + len);
		return off;
	}
	off = st->far;
	if (off <= end && len <= end - off) {
		journal_set64(c, &st->far, off + len);
		return off;
	}
	return 0;
}

static int make(struct caller *c, u32 class, u64 pages)
{
	struct shm_state *st = state(c);
	struct shm_run *run;
	u64 off;
	int err;

	heap_acquire(c);
	err = heap_alloc_locked(c, sizeof(*run), &st->next_run);
	off = err ? 0 : bump(c, pages);
	run = off ? shm_run_at(c, st->next_run) : NULL;
	if (run)
		*run = (struct shm_run){.off = off, .class = class};
	else
		journal_abort(c);
	journal_commit(c);
	heap_release(c);
	return run ? 0 : -ENOMEM;
}

int shm_run_prepare(struct caller *c, u64 pages)
{
	struct shm_state *st = state(c);
	struct shm_run *run = shm_run_at(c, st->next_run);
	int class = class_of(pages, &pages);

	if (class < 0)
		return -ENOMEM;
	if (run && run->class == (u32) class)
		return 0;
	/* Left by a creation that did not come to its end. */
	if (run) {
		shm_run_give(c, &st->next_run, run->kept);
		journal_commit(c);
	}
	run = pop(c, &st->kept[class]);
	if (run)
		journal_set64(c, &st->pool, st->pool - run->kept);
	else
		run = pop(c, &st->bare[class]);
	if (!run)
		return make(c, class, pages);
	journal_set_ref(
		c, &st->next_run, (struct ref){region_off(&c->region, run)});
	journal_commit(c);
	return 0;
}

/* ---- promises ---- */

/* What statfs(2) and stat(2) fill in on x86-64. */
struct sys_statfs {
	u64 type, bsize, blocks, bfree, bavail, files, ffree;
	u64 rest[9];
};
struct sys_stat_blocks {
	u64 before[8];
	u64 blocks;
	u64 rest[9];
};

/* Pages of the file that are not segments', about. */
static u64 table_pages(struct caller *c)
{
	struct header *h = caller_header(c);
	u64 bytes = HEADER_SIZE + h->heap.reserved - HEAP_OFF +
		    (u64)h->thread_high * THREAD_STRIDE;
	u32 f, profile = h->profiled ? sizeof(struct lock_profile) : 0;

	for (f = 0; f < N_FAC; f++)
		bytes += (u64)h->ids[f].max_idx * (SLOT_STRIDE(f) + profile) +
			 (u64)h->ids[f].n_buckets * sizeof(u32);
	return bytes / SYS_PAGE + SLACK_PAGES;
}

/* Pages that all segments together may have; ~0 if it cannot be told. */
static u64 room(struct caller *c)
{
	struct shm_state *st = state(c);
	struct sys_statfs fs;
	struct sys_stat_blocks file;
	const char *path = c->region.path;
	u64 own, others;

	if (!path[0] || sys_call(__NR_statfs, path, &fs) ||
		sys_call(__NR_stat, path, &file) || !fs.blocks)
		return ~0ULL;
	own = file.blocks / 8;
	/* What may take pages without having been promised any. */
	others = table_pages(c) + st->pool + st->unpromised;
	return fs.bfree * fs.bsize / SYS_PAGE +
	       (own > others ? own - others : 0);
}

/* More than the machine has is refused whatever is free, as in the kernel. */
static int beyond_machine(u64 pages)
{
	struct {
		s64 uptime;
		u64 loads[3], totalram, freeram, sharedram, bufferram,
			totalswap, freeswap;
		u16 procs, pad;
		u64 totalhigh, freehigh;
		u32 unit;
		char rest[64];
	} info;

	if (sys_call(__NR_sysinfo, &info))
		return 0;
	return pages > (info.totalram + info.totalswap) * info.unit / SYS_PAGE;
}

int shm_promise_check(struct caller *c, u64 pages)
{
	struct shm_state *st = state(c);
	u64 left, now = sys_monotonic_ns();

	/* Plenty a moment ago: asking costs as much as all else of a creation.
	 */
	if (now - st->room_ns < ROOM_FRESH_NS && pages <= ROOM_SMALL_PAGES &&
		st->promised + pages <= st->room / 2)
		return 0;
	if (beyond_machine(pages))
		return -ENOMEM;
	left = room(c);
	atom_store_release(&st->room, left);
	atom_store_release(&st->room_ns, now);
	if (st->promised + pages <= left)
		return 0;
	if (st->pool) {
		shm_pool_flush(c);
		left = room(c);
		if (st->promised + pages <= left)
			return 0;
	}
	event_add_once(c, EVENT_NO_ROOM, pages, left);
	return -ENOMEM;
}
