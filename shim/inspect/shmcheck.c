// SPDX-License-Identifier: MIT
/*
 * The invariants of segments: their pages, who has them attached, those pending
 * destruction, and the runs of pages in the window; see check.h.
 *
 * Runs are bumped from two ends of the window and never given back, so all of
 * them together, guard pages and all, must be as long as what was bumped.
 */
#include "inspect/check.h"
#include "shm/shmattach.h"
#include "shm/shmrun.h"

#define RECORDS_MOST (1u << 24) /* arbitrary */

/* A run at a valid place: counts it. */
static struct shm_run *check_run(struct check *k, struct ref ref, u64 where)
{
	const struct header *h = region_header(&k->region);
	struct shm_run *run = check_block(k, ref, sizeof(*run));
	u64 len;

	if (!run)
		return NULL;
	if (run->class >= SHM_CLASSES) {
		check_failed(k, INV_SHM_RUN, "class, where", where, run->class);
		return NULL;
	}
	len = (shm_run_pages(run) + 1) * SYS_PAGE;
	if (run->off % SYS_PAGE || run->kept > shm_run_pages(run) ||
		run->off < REGION_SIZE || run->off > h->file_size ||
		len > h->file_size - run->off ||
		(run->off + len > h->shm.near &&
			(run->off < REGION_SIZE + WINDOW_HOME ||
				run->off + len > h->shm.far)))
		check_failed(k, INV_SHM_RUN, "pages, where, offset", where,
			run->off);
	k->run_bytes += len;
	return run;
}

/* ---- a segment ---- */

static void check_pages(struct check *k, u32 idx, const struct shm_segment *seg)
{
	const struct shm_run *run = check_run(k, seg->run, idx);

	if (!seg->size || seg->pages != (seg->size - 1) / SYS_PAGE + 1)
		check_failed(k, INV_SHM_SEGMENT, "size, idx, pages", idx,
			seg->pages);
	if (run && (run->off != seg->off || shm_run_pages(run) < seg->pages))
		check_failed(
			k, INV_SHM_SEGMENT, "run, idx, offset", idx, seg->off);
}

static void check_attached(struct check *k, u32 idx, const struct slot *s,
	const struct shm_segment *seg)
{
	struct ref at = seg->attach_all, prev = {0};
	u64 sum = 0, n = 0;

	for (; at.off && n < RECORDS_MOST; n++) {
		const struct shm_attach *rec =
			region_span(&k->region, at, sizeof(*rec));

		if (!rec || rec->ident != s->ident || rec->slot_idx != idx ||
			rec->seg_prev.off != prev.off || rec->task >= N_TASKS) {
			check_failed(
				k, INV_SHM_ATTACH, "record, idx", idx, at.off);
			break;
		}
		sum += rec->count;
		k->n_attached++;
		prev = at;
		at = rec->seg_next;
	}
	if (sum != seg->nattch)
		check_failed(
			k, INV_SHM_NATTCH, "nattch, idx, should be", idx, sum);
}

void check_shm_segment(struct check *k, u32 idx, struct slot *s)
{
	struct shm_segment *seg = check_block(k, s->body, sizeof(*seg));
	int dest;

	if (!seg) {
		check_failed(k, INV_SLOT, "body, idx", idx, s->body.off);
		return;
	}
	dest = (seg->flags & SHM_SEG_DEST) != 0;
	if (!(seg->flags & SHM_SEG_COUNTED))
		check_failed(
			k, INV_SHM_TOTAL, "not counted, idx", idx, seg->flags);
	if (dest != !!(s->mode & SHM_MODE_DEST) || (dest && s->key))
		check_failed(k, INV_SHM_DEST, "mode or key, idx", idx, s->mode);
	k->n_dest += (u32)dest;
	k->shm_pages += seg->pages;
	if (seg->flags & SHM_SEG_NORESERVE)
		k->shm_overcommitted += seg->pages;
	check_pages(k, idx, seg);
	check_attached(k, idx, s, seg);
}

/* ---- all ---- */

static void check_dest(struct check *k)
{
	const struct shm_state *st = &region_header(&k->region)->shm;
	u32 at = st->dest, prev = 0, n = 0;

	for (; at && at <= IDX_MAX && n <= k->n_dest; n++) {
		const struct slot *s = region_slot(&k->region, FAC_SHM, at - 1);
		const struct shm_segment *seg =
			region_span(&k->region, s->body, sizeof(*seg));

		if (!(s->ident & IDENT_LIVE) || !seg ||
			!(seg->flags & SHM_SEG_DEST) ||
			seg->dest_prev != prev) {
			check_failed(
				k, INV_SHM_DEST, "list, idx", at - 1, prev);
			return;
		}
		prev = at;
		at = seg->dest_next;
	}
	if (n != k->n_dest)
		check_failed(k, INV_SHM_DEST, "in the list, should be", n,
			k->n_dest);
}

/* The free runs of one list; returns the pages they keep. */
static u64 check_list(
	struct check *k, u32 class, struct ref ref, int kept, u32 *ret_n)
{
	struct walk w = {0};
	u64 pages = 0;
	u32 n;

	for (n = 0; ref.off && walk_is_new(&w, ref.off); n++) {
		const struct shm_run *run = check_run(k, ref, class);

		if (!run)
			break;
		if (run->class != class || !run->kept != !kept) {
			check_failed(k, INV_SHM_RUN,
				"in a list of others, class", class,
				run->class);
			break;
		}
		pages += run->kept;
		ref = run->next;
	}
	if (ret_n)
		*ret_n += n;
	return pages;
}

void check_shm_state(struct check *k)
{
	const struct header *h = region_header(&k->region);
	const struct shm_state *st = &h->shm;
	u64 pool = 0, bumped;
	u32 i, n_kept = 0;

	for (i = 0; i < SHM_CLASSES; i++) {
		check_list(k, i, st->bare[i], 0, NULL);
		pool += check_list(k, i, st->kept[i], 1, &n_kept);
	}
	for (i = 1; (i = thread_next(&k->region, i)) < N_THREADS; i++) {
		const struct thread *th = region_thread(&k->region, i);
		const struct shm_run *run = NULL;

		if (th->run.off)
			run = check_run(k, th->run, i);
		if (run)
			pool += run->kept;
	}
	if (n_kept != st->n_kept)
		check_failed(k, INV_SHM_POOL, "runs with pages are, should be",
			st->n_kept, n_kept);
	if (pool != st->pool)
		check_failed(
			k, INV_SHM_POOL, "pool is, should be", st->pool, pool);
	if (st->next_run.off)
		check_run(k, st->next_run, ~0u);
	bumped = st->near - REGION_SIZE +
		 (st->far - (REGION_SIZE + WINDOW_HOME));
	if (bumped != k->run_bytes)
		check_failed(k, INV_SHM_RUN, "bytes of runs, of the window",
			k->run_bytes, bumped);
	if (k->shm_pages != h->ids[FAC_SHM].total ||
		k->shm_overcommitted != st->overcommitted ||
		k->shm_pages - k->shm_overcommitted != st->reserved)
		check_failed(k, INV_SHM_TOTAL, "pages, should be",
			h->ids[FAC_SHM].total, k->shm_pages);
	check_dest(k);
}

/*
 * A thread that frees the records of an exited task, or takes them over, begins
 * by clearing the list of free ones (shmattach.c, task.c), and may die there:
 * the next one begins again. No other code needs that list.
 */
static int being_freed(const struct check *k, const struct task *t)
{
	return k->c && !t->shm_free.off &&
	       (t->state == TASK_PREFORK || task_gone(k->c, t));
}

/* The records of one task; their memory is the chain's. */
void check_shm_records(struct check *k, u32 task, const struct task *t)
{
	struct ref ref = t->shm_head;
	struct shm_attach *rec;
	u64 n_free = 0, n_used = 0, n;
	struct walk w = {0};

	while (ref.off && walk_is_new(&w, ref.off)) {
		rec = check_block(k, ref, sizeof(*rec));
		if (!rec)
			return;
		if (!rec->ident) {
			n_free++;
		} else if (rec->task != task) {
			check_failed(k, INV_SHM_RECORD, "task, record's", task,
				rec->task);
		} else {
			k->n_attached--;
			n_used++;
		}
		ref = rec->task_next;
	}
	ref = t->shm_free;
	for (n = 0; ref.off && n <= n_free; n++) {
		rec = region_span(&k->region, ref, sizeof(*rec));
		if (!rec || rec->ident) {
			check_failed(k, INV_SHM_RECORD, "free list, task", task,
				ref.off);
			return;
		}
		ref = rec->free_next;
	}
	if (n != n_free && (n_used || !being_freed(k, t)))
		check_failed(k, INV_SHM_RECORD, "free records, task, should be",
			task, n_free);
}
