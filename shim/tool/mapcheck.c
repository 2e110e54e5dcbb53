// SPDX-License-Identifier: MIT
/*
 * The part of ipclift check that reads /proc: has each process mapped the
 * segments for which it is counted, and no others? By /proc/PID/maps, for
 * processes whose maps may be read (one's own, or as root).
 *
 * Processes attach and detach meanwhile: a disagreement is a fault if it
 * persists for several readings of all processes.
 *
 * Cost: each living process's maps and records once, and again for those that
 * seem at fault. A user who can write the registry can forge a task record of a
 * living process at every place, so each process is read once.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "index/ids.h"
#include "inspect/taskview.h"
#include "registry/lock.h"
#include "registry/region/mapped.h"
#include "shm/shmattach.h"
#include "tool/mapcheck.h"

/* Readings. Arbitrary: a call of the process has ended by then. */
#define LOOKS 5
#define PAUSE_US 20000
#define KCMP_VM 1
/* Most records of a walk: in a damaged file links may form a cycle. */
#define RECORDS_MOST (1u << 20)
/* The kernel's PID_MAX_LIMIT: no process has a higher number. */
#define PIDS_MOST (4u << 20)

/* What one reading of a process shows of a segment. */
#define HAD_RECORD 1u /* before its maps were read */
#define HAS_RECORD 2u /* and after */
#define IS_MAPPED 4u

enum fault {
	FAULT_NONE, /* or it cannot be told */
	FAULT_UNMAPPED,
	FAULT_UNCOUNTED,
};
static const char *const fault_texts[] = {"",
	"attached but not mapped, idx, pid",
	"mapped but not attached, idx, pid"};

struct segment {
	u64 ident;
	u64 off, end;
	u32 idx;
	u32 at_off; /* which place the segment with the n-th lowest off has */
	unsigned char marks;
};

struct suspect {
	struct task *t;
	u32 pid;
	u32 idx;
	u64 ident;
	enum fault fault;
};

struct mapcheck {
	struct caller *c;
	struct segment *segs; /* by idx, as they were at the start */
	size_t n_segs;
	struct suspect *suspects; /* those of a task one after the other */
	size_t n_suspects;
	unsigned char *seen; /* a bit for each pid */
};

/* ---- segments ---- */

static int read_segments(struct mapcheck *m)
{
	struct caller *c = m->c;
	const struct shm_segment *body;
	size_t cap = 0;
	u32 idx;

	for (idx = 0; (idx = ids_next(c, FAC_SHM, idx)) < IDX_MAX; idx++) {
		struct slot *s = region_slot(&c->region, FAC_SHM, idx);
		struct segment seg = {.idx = idx};

		seg.ident = atom_load_acquire(&s->ident);
		body = region_span(&c->region, s->body, sizeof(*body));
		if (!(seg.ident & IDENT_LIVE) || !body)
			continue;
		seg.off = body->off;
		seg.end = seg.off + body->pages * SYS_PAGE;
		if (m->n_segs == cap) {
			struct segment *at;

			cap = cap ? 2 * cap : 64;
			at = realloc(m->segs, cap * sizeof(*at));
			if (!at)
				return -ENOMEM;
			m->segs = at;
		}
		m->segs[m->n_segs++] = seg;
	}
	return 0;
}

static const struct segment *sorted; /* qsort has no argument for it */

static int by_off(const void *a, const void *b)
{
	u64 x = sorted[*(const u32 *)a].off, y = sorted[*(const u32 *)b].off;

	return x < y ? -1 : x > y;
}

static int sort_segments(struct mapcheck *m)
{
	u32 *order = malloc((m->n_segs + 1) * sizeof(*order));
	size_t i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < m->n_segs; i++)
		order[i] = (u32)i;
	sorted = m->segs;
	qsort(order, m->n_segs, sizeof(*order), by_off);
	for (i = 0; i < m->n_segs; i++)
		m->segs[i].at_off = order[i];
	free(order);
	return 0;
}

static struct segment *segment_of(struct mapcheck *m, u32 idx, u64 ident)
{
	size_t lo = 0, hi = m->n_segs, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->segs[mid].idx < idx)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->n_segs && m->segs[lo].idx == idx &&
			       m->segs[lo].ident == ident
		       ? &m->segs[lo]
		       : NULL;
}

/* ---- one process ---- */

static void mark_records(struct mapcheck *m, struct task *t, unsigned mark)
{
	const struct shm_attach *rec;
	struct segment *seg;
	struct ref at;
	u32 n;

	lock_acquire(m->c, &t->lock);
	at = t->shm_head;
	for (n = 0; t->state == TASK_LIVE && n < RECORDS_MOST; n++) {
		rec = region_span(&m->c->region, at, sizeof(*rec));
		if (!rec)
			break;
		at = rec->task_next;
		if (!rec->ident || !rec->count || rec->epoch != t->epoch)
			continue;
		seg = segment_of(m, rec->slot_idx, rec->ident);
		if (seg)
			seg->marks |= (unsigned char)mark;
	}
	lock_release(m->c, &t->lock);
}

/* The segments with a part in [off, end): in an undamaged file they do not
 * overlap. */
static void mark_mapped(struct mapcheck *m, u64 off, u64 end)
{
	struct segment *segs = m->segs, *seg;
	size_t lo = 0, hi = m->n_segs, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (segs[segs[mid].at_off].end <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < m->n_segs; lo++) {
		seg = &segs[segs[lo].at_off];
		if (seg->off >= end)
			break;
		seg->marks |= IS_MAPPED;
	}
}

/* Set the marks of all segments for this process. 0, or -errno if its maps may
 * not be read. */
static int look(struct mapcheck *m, struct task *t, u32 pid)
{
	struct mapped_part part;
	struct mapped maps;
	size_t i;
	int err = mapped_open(&maps, m->c, pid);

	if (err)
		return err;
	for (i = 0; i < m->n_segs; i++)
		m->segs[i].marks = 0;
	mark_records(m, t, HAD_RECORD);
	while (mapped_next(&maps, &part))
		if (part.prot && part.off >= REGION_SIZE)
			mark_mapped(m, part.off, part.off + part.len);
	mapped_close(&maps);
	mark_records(m, t, HAS_RECORD);
	return 0;
}

/* The parent's memory, until it calls exec: counted there. */
static int is_vfork_child(u32 pid)
{
	char path[64], text[512], *p;
	size_t n;
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	return p && sscanf(p + 1, " %*c %d", &parent) == 1 && parent > 0 &&
	       !syscall(SYS_kcmp, (pid_t)pid, parent, KCMP_VM, 0, 0);
}

/* After look: what is wrong with the segment in this process. */
static enum fault fault_of(
	struct mapcheck *m, struct task *t, const struct segment *seg)
{
	const struct slot *s = region_slot(&m->c->region, FAC_SHM, seg->idx);
	int record = seg->marks == (HAD_RECORD | HAS_RECORD);

	if (likely(!record && seg->marks != IS_MAPPED))
		return FAULT_NONE;
	if (task_gone(m->c, t) || atom_load_acquire(&s->ident) != seg->ident)
		return FAULT_NONE;
	if (record)
		return task_changed_image(m->c, t) ? FAULT_NONE
						   : FAULT_UNMAPPED;
	return is_vfork_child(t->pid) ? FAULT_NONE : FAULT_UNCOUNTED;
}

/* ---- all of them ---- */

/* 1 if this process was not read before. */
static int is_new(struct mapcheck *m, u32 pid)
{
	unsigned char *at = m->seen + pid / 8, bit;

	if (!pid || pid >= PIDS_MOST || pid == m->c->pid)
		return 0;
	bit = (unsigned char)(1u << pid % 8);
	if (*at & bit)
		return 0;
	*at |= bit;
	return 1;
}

static void first_look(struct mapcheck *m)
{
	struct task *t;
	size_t i;
	u32 at, pid;

	for (at = 0; (at = task_next(m->c, at)) < N_TASKS; at++) {
		t = region_task(&m->c->region, at);
		pid = atom_load_acquire(&t->pid);
		/* Exited processes first: their number may be another's by
		 * now. */
		if (t->state != TASK_LIVE || task_gone(m->c, t) ||
			!is_new(m, pid) || look(m, t, pid))
			continue;
		for (i = 0; i < m->n_segs && m->n_suspects < CHECK_MOST; i++) {
			struct suspect *s = &m->suspects[m->n_suspects];

			s->fault = fault_of(m, t, &m->segs[i]);
			s->t = t;
			s->pid = pid;
			s->idx = m->segs[i].idx;
			s->ident = m->segs[i].ident;
			m->n_suspects += s->fault != FAULT_NONE;
		}
	}
}

/* Keep the suspects for which this reading shows the same. */
static void look_again(struct mapcheck *m)
{
	const struct task *looked_at = NULL;
	size_t i, n = 0;
	int err = 0;

	for (i = 0; i < m->n_suspects; i++) {
		struct suspect *s = &m->suspects[i];
		const struct segment *seg = segment_of(m, s->idx, s->ident);

		if (s->t != looked_at)
			err = look(m, s->t, s->pid);
		looked_at = s->t;
		if (!err && seg && fault_of(m, s->t, seg) == s->fault)
			m->suspects[n++] = *s;
	}
	m->n_suspects = n;
}

void mapcheck(struct caller *c, check_report *report, void *arg)
{
	struct mapcheck m = {.c = c};
	size_t i;
	int looks;

	m.seen = calloc(PIDS_MOST / 8, 1);
	m.suspects = calloc(CHECK_MOST + 1, sizeof(*m.suspects));
	if (!m.seen || !m.suspects || read_segments(&m) || sort_segments(&m)) {
		fprintf(stderr, "ipclift: no memory to compare attachments "
				"with what processes have mapped\n");
		goto out;
	}
	first_look(&m);
	for (looks = 1; m.n_suspects && looks < LOOKS; looks++) {
		usleep(PAUSE_US);
		look_again(&m);
	}
	for (i = 0; i < m.n_suspects; i++)
		report(arg, INV_SHM_MAPPED, fault_texts[m.suspects[i].fault],
			m.suspects[i].idx, m.suspects[i].pid);
out:
	free(m.seen);
	free(m.suspects);
	free(m.segs);
}
