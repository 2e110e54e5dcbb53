// SPDX-License-Identifier: MIT
/*
 * Page runs, their pool, and what the file system can hold; see shmrun.h.
 *
 * Keeps INV_SHM_RUN, INV_SHM_POOL (inspect/check.h).
 */
#include "base/statfs.h"
#include "shm/shmrun.h"
#include "shm/shmmap.h"
#include "registry/event.h"
#include "registry/heap.h"
#include "registry/task.h"

/* Pages of the tables that are not counted one by one; arbitrary. */
#define SLACK_PAGES 256u
/* How long an answer of the file system counts, for whom; arbitrary. */
#define SPACE_FRESH_NS 20000000ULL
#define SPACE_SMALL_PAGES 4096u

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

/* The true size of a class. */
static u64 class_pages(u32 class)
{
	u64 base;

	if (class < 4)
		return class + 1;
	base = 4ULL << (class - 4) / 4;
	return base + ((class - 4) % 4 + 1) * (base / 4);
}

/* Its row in the lists; a run of no class there is damaged. */
static u32 class_in(const struct shm_run *run)
{
	return atom_load_relaxed(&run->class) % SHM_CLASSES;
}

u64 shm_run_pages(const struct shm_run *run)
{
	return class_pages(class_in(run));
}

/* Take the first run of a list; part of the current operation. */
static struct shm_run *pop(struct caller *c, struct ref *list)
{
	struct shm_run *run = shm_run_at(c, *list);

	if (run)
		journal_set_ref(c, list, run->next);
	return run;
}

static struct thread *own(const struct caller *c)
{
	return region_thread(&c->region, c->thread);
}

/* Put it into a list of runs with pages; part of the current operation. */
static void leave(struct caller *c, struct shm_run *run)
{
	struct shm_state *st = state(c);

	push(c, &st->kept[class_in(run)], run);
	journal_set32(c, &st->n_kept, st->n_kept + 1);
}

void shm_run_give(struct caller *c, struct ref *ref, u64 kept)
{
	struct shm_state *st = state(c);
	struct shm_run *run = shm_run_at(c, *ref);
	struct thread *th = own(c);

	if (!run || run->class >= SHM_CLASSES)
		return;
	if (unlikely(kept > shm_run_pages(run)))
		kept = shm_run_pages(run);
	journal_set64(c, &run->kept, kept);
	if (kept)
		journal_set64(c, &st->pool, st->pool + kept);
	if (!kept) {
		push(c, &st->bare[class_in(run)], run);
	} else if (th->run.off) {
		leave(c, run);
	} else {
		/* Counts only while there is a run. */
		atom_store_release(&th->run_claim, th->claims);
		journal_set_ref(c, &th->run, *ref);
	}
	journal_set_ref(c, ref, (struct ref){0});
}

/* ---- emptying; no lock is held but where it is taken here ---- */

/* A run that the lists hold becomes the own one: 1, or 0 if there is none. */
static int take_left(struct caller *c)
{
	struct shm_state *st = state(c);
	struct thread *th = own(c);
	struct shm_run *run = NULL;
	u32 class;

	object_fac_lock(c, &shm_class);
	for (class = 0;
		st->n_kept && !th->run.off && !run && class < SHM_CLASSES;
		class ++)
		run = pop(c, &st->kept[class]);
	if (unlikely(run && !run->kept)) {
		/* It was here before, or is none: the lists are lost. */
		journal_abort(c);
		atom_store_release(&st->n_kept, 0);
	} else if (run) {
		atom_store_release(&th->run_claim, th->claims);
		journal_set32(c, &st->n_kept, st->n_kept - 1);
		journal_set64(c, &th->run.off, region_off(&c->region, run));
		journal_commit(c);
	}
	lock_release(c, &caller_header(c)->fac_lock[FAC_SHM].lock);
	return th->run.off != 0;
}

/* The own run as it is, emptied or not, goes into its list. */
static void put_down(struct caller *c, struct shm_run *run, int emptied)
{
	struct shm_state *st = state(c);
	struct thread *th = own(c);

	object_fac_lock(c, &shm_class);
	if (emptied) {
		journal_set64(c, &st->pool, st->pool - run->kept);
		journal_set64(c, &run->kept, 0);
		push(c, &st->bare[class_in(run)], run);
	} else {
		leave(c, run);
	}
	journal_set_ref(c, &th->run, (struct ref){0});
	journal_commit(c);
	lock_release(c, &caller_header(c)->fac_lock[FAC_SHM].lock);
}

/* What the record's last owner left is ours only once this is said. */
static void adopt(struct caller *c)
{
	struct thread *th = own(c);

	object_fac_lock(c, &shm_class);
	atom_store_release(&th->run_claim, th->claims);
	lock_release(c, &caller_header(c)->fac_lock[FAC_SHM].lock);
}

/* In a section: a handler would find the own run taken, and might not return
 * before much else has happened. */
void shm_run_settle_slow(struct caller *c)
{
	struct thread *th = own(c);
	u32 steps = 0;
	struct shm_run *run;
	int err = 0;

	if (!c->thread || c->n_held)
		return;
	section_begin(c);
	if (th->run.off && th->run_claim != th->claims)
		adopt(c);
	while (!err && steps++ < IDX_MAX &&
		(th->run.off || (state(c)->n_kept && take_left(c)))) {
		run = shm_run_at(c, th->run);
		if (!run || run->class >= SHM_CLASSES)
			break;
		err = shm_map_discard(c, run->off, run->kept);
		put_down(c, run, !err);
	}
	section_end(c);
}

/* 1 if whoever was emptying the run of this record does not go on with it. */
static int is_left(const struct thread *th)
{
	u32 tid = atom_load_acquire(&th->tid);

	return th->run.off && (!tid || th->run_claim != th->claims ||
				      identity_thread_gone(tid, th->birth));
}

/* The run of a record into the lists, if nobody goes on with it. */
static void collect(struct caller *c, struct thread *th)
{
	struct shm_run *run;

	object_fac_lock(c, &shm_class);
	run = is_left(th) ? shm_run_at(c, th->run) : NULL;
	if (run && run->class < SHM_CLASSES) {
		leave(c, run);
		journal_set_ref(c, &th->run, (struct ref){0});
		journal_commit(c);
	}
	lock_release(c, &caller_header(c)->fac_lock[FAC_SHM].lock);
}

int shm_run_flush(struct caller *c)
{
	u32 i = 1;
	u64 before = atom_load_relaxed(&state(c)->pool);
	struct thread *th;

	if (!before || caller_enroll(c) || c->n_held)
		return 0;
	for (; (i = thread_next(&c->region, i)) < N_THREADS; i++) {
		th = region_thread(&c->region, i);
		if (unlikely(atom_load_relaxed(&th->run.off)) &&
			i != c->thread && is_left(th))
			collect(c, th);
	}
	shm_run_settle(c);
	return atom_load_relaxed(&state(c)->pool) < before;
}

/* ---- new runs ---- */

/* Offsets never used before, for a run and its guard page. 0 if there are
 * none. Part of the current operation. */
static u64 bump(struct caller *c, u64 pages)
{
	struct shm_state *st = state(c);
	u64 end = c->region.file_size, near_end, off;
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
		shm_run_give(c, &st->next_run, 0);
		journal_commit(c);
	}
	run = pop(c, &st->bare[class]);
	if (!run)
		return make(c, class, pages);
	journal_set_ref(
		c, &st->next_run, (struct ref){region_off(&c->region, run)});
	journal_commit(c);
	return 0;
}

/* ---- reserving ---- */

/* What stat(2) fills in on x86-64. */
struct sys_stat_blocks {
	u64 before[8];
	u64 blocks;
	u64 rest[9];
};

/* Pages of the file that are not segments', about. */
static u64 table_pages(struct caller *c)
{
	struct header *h = caller_header(c);
	u64 bytes = HEADER_SIZE + heap_pages(c) * SYS_PAGE +
		    (u64)atom_load_relaxed(&h->thread_high) * THREAD_STRIDE;
	u64 noted;
	u32 i, f,
		profile = atom_load_relaxed(&h->profiled)
				  ? sizeof(struct lock_profile)
				  : 0;

	for (i = 0; i < TASK_PAGES / 64; i++)
		for (noted = atom_load_relaxed(&h->task_pages[i]); noted;
			noted &= noted - 1)
			bytes += SYS_PAGE;
	for (f = 0; f < N_FAC; f++)
		bytes += (u64)atom_load_relaxed(&h->ids[f].max_idx) *
				 (SLOT_STRIDE(f) + profile) +
			 (u64)atom_load_relaxed(&h->ids[f].n_buckets) *
				 sizeof(u32);
	return bytes / SYS_PAGE + SLACK_PAGES;
}

/* Pages that all segments together may have; ~0 if it cannot be told. */
static u64 space_left(struct caller *c)
{
	struct shm_state *st = state(c);
	struct sys_statfs fs;
	struct sys_stat_blocks file;
	const char *path = c->region.path;
	u64 own, others;

	if (!path[0] || sys_call(__NR_statfs, path, &fs) ||
		sys_call(__NR_stat, path, &file) || !fs.n_blocks)
		return ~0ULL;
	own = file.blocks / 8;
	/* What may take pages without having been reserved any. */
	others = table_pages(c) + st->pool + st->overcommitted;
	return fs.n_free * fs.block_size / SYS_PAGE +
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

int shm_reserve_check(struct caller *c, u64 pages)
{
	struct shm_state *st = state(c);
	u64 left, now = sys_monotonic_ns();

	/* Plenty a moment ago: asking costs as much as all else of a creation.
	 */
	if (now - st->space_ns < SPACE_FRESH_NS && pages <= SPACE_SMALL_PAGES &&
		st->reserved + pages <= st->space / 2)
		return 0;
	if (beyond_machine(pages))
		return -ENOMEM;
	left = space_left(c);
	if (unlikely(st->reserved + pages > left)) {
		heap_reclaim(c);
		left = space_left(c);
	}
	atom_store_release(&st->space, left);
	atom_store_release(&st->space_ns, now);
	if (st->reserved + pages <= left)
		return 0;
	/* The caller may give those back, and ask again. */
	if (!st->pool)
		event_add_once(c, EVENT_NO_SPACE, pages, left);
	return -ENOMEM;
}
