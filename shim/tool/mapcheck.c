// SPDX-License-Identifier: MIT
/*
 * ipclift check, what it asks the kernel: has each process mapped what it is
 * counted for, and nothing else? As /proc/PID/maps tells it, of the processes
 * whose maps may be read (one's own, or root).
 *
 * A process attaches and detaches while we look: a fault is what stays so for
 * several looks.
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

/* Arbitrary: a call of the process's is over by then. */
#define LOOKS 5
#define PAUSE_US 20000
#define KCMP_VM 1
/* Walked at most: in a damaged file links may run in a circle. */
#define RECORDS_MOST (1u << 20)

/* 1 if the process has a record of the segment. Task lock held. */
static int has_record(struct caller *c, const struct task *t, u64 ident)
{
	struct ref at = t->shm_head;
	const struct shm_attach *rec;
	u32 n;

	for (n = 0; n < RECORDS_MOST; n++, at = rec->task_next) {
		rec = region_span(&c->region, at, sizeof(*rec));
		if (!rec)
			break;
		if (rec->ident == ident && rec->count && rec->epoch == t->epoch)
			return 1;
	}
	return 0;
}

/* What of the file a process may use. */
struct parts {
	struct mapped_part *at;
	size_t n, cap;
};

static int parts_add(struct parts *p, const struct mapped_part *part)
{
	size_t cap = p->cap ? 2 * p->cap : 64;
	void *at = p->n < p->cap ? p->at : realloc(p->at, cap * sizeof(*part));

	if (!at)
		return -ENOMEM;
	if (at != p->at || p->n == p->cap)
		p->cap = cap;
	p->at = at;
	p->at[p->n++] = *part;
	return 0;
}

/* 0, or -errno: then nothing can be told. */
static int parts_read(struct caller *c, u32 pid, struct parts *ret)
{
	struct mapped_part part;
	struct mapped m;
	int err = mapped_open(&m, c, pid);

	ret->n = 0;
	if (err)
		return err;
	while (!err && mapped_next(&m, &part))
		if (part.prot && part.off >= REGION_SIZE)
			err = parts_add(ret, &part);
	mapped_close(&m);
	return err;
}

static int parts_have(const struct parts *p, u64 off, u64 len)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (p->at[i].off < off + len &&
			p->at[i].off + p->at[i].len > off)
			return 1;
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

/* 1: a record without a mapping; 2: the reverse; 0: they agree, or it cannot be
 * told. */
static int disagree(struct caller *c, struct task *t, struct slot *s,
	const struct parts *parts)
{
	const struct shm_segment *seg;
	u64 ident = atom_load_acquire(&s->ident);
	int record, mapped;

	if (!(ident & IDENT_LIVE))
		return 0;
	seg = region_span(&c->region, s->body, sizeof(*seg));
	if (!seg)
		return 0;
	lock_acquire(c, &t->lock);
	record = t->state == TASK_LIVE && has_record(c, t, ident);
	lock_release(c, &t->lock);
	mapped = parts_have(parts, seg->off, seg->pages * SYS_PAGE);
	if (record == mapped || task_gone(c, t) ||
		atom_load_acquire(&s->ident) != ident)
		return 0;
	if (record)
		return task_changed_image(c, t) ? 0 : 1;
	return is_vfork_child(t->pid) ? 0 : 2;
}

static void check_pair(struct caller *c, struct task *t, u32 idx,
	struct parts *parts, check_report *report, void *arg)
{
	struct slot *s = region_slot(&c->region, FAC_SHM, idx);
	int how = disagree(c, t, s, parts), i;

	for (i = 1; how && i < LOOKS; i++) {
		usleep(PAUSE_US);
		if (parts_read(c, t->pid, parts) ||
			disagree(c, t, s, parts) != how)
			how = 0;
	}
	if (how)
		report(arg, INV_SHM_MAPPED,
			how == 1 ? "attached but not mapped, idx, pid"
				 : "mapped but not attached, idx, pid",
			idx, t->pid);
}

void mapcheck(struct caller *c, check_report *report, void *arg)
{
	struct parts parts = {0};
	struct task *t;
	u32 i, idx;

	for (i = 0; (i = task_next(c, i)) < N_TASKS; i++) {
		t = region_task(&c->region, i);
		if (t->state != TASK_LIVE || t->pid == c->pid ||
			parts_read(c, t->pid, &parts))
			continue;
		for (idx = ids_next(c, FAC_SHM, 0); idx < IDX_MAX;
			idx = ids_next(c, FAC_SHM, idx + 1))
			check_pair(c, t, idx, &parts, report, arg);
	}
	free(parts.at);
}
