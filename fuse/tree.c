// SPDX-License-Identifier: MIT
/*
 * The tree of the mount; see tree.h.
 *
 * Bits of an object's inode number: 63 set, 62..59 part (row of parts[], 0 =
 * the object itself), 58..57 facility, 56..31 generation, 30..0 id.
 */
#include "tree.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "index/ids.h"
#include "inspect/mqview.h"
#include "object/sysctl.h"
#include "source.h"

#define INO_OBJECT (1ULL << 63)
#define GEN_MASK 0x3ffffffu

/* Inode numbers of what is always there. */
enum {
	INO_ROOT = NODE_ROOT,
	INO_SYSVIPC,
	INO_SYSVIPC_SEM,
	INO_SYSVIPC_MSG,
	INO_SYSVIPC_SHM,
	INO_SYS,
	INO_SYS_KERNEL,
	INO_SYS_FS,
	INO_SYS_FS_MQUEUE,
	INO_MQUEUE,
	INO_SEM,
	INO_MSG,
	INO_SHM,
	INO_LOCKS,
	INO_TASKS,
	INO_WAITS,
	INO_EVENTS,
	INO_STATS,
	N_FIXED,
	/* And from here the files of object/sysctl.h, in their order. */
	INO_SYSCTL = 64,
};

static const struct fixed {
	u32 parent;
	enum node_kind kind;
	const char *name;
	u32 mode;
	enum facility fac;
	make_view *view;
} fixed[N_FIXED] = {
	[INO_ROOT] = {0, NODE_DIR, "", 0555},
	[INO_SYSVIPC] = {INO_ROOT, NODE_DIR, "sysvipc", 0555},
	[INO_SYSVIPC_SEM] = {INO_SYSVIPC, NODE_SYSVIPC, "sem", 0444, FAC_SEM},
	[INO_SYSVIPC_MSG] = {INO_SYSVIPC, NODE_SYSVIPC, "msg", 0444, FAC_MSG},
	[INO_SYSVIPC_SHM] = {INO_SYSVIPC, NODE_SYSVIPC, "shm", 0444, FAC_SHM},
	[INO_SYS] = {INO_ROOT, NODE_DIR, "sys", 0555},
	[INO_SYS_KERNEL] = {INO_SYS, NODE_DIR, "kernel", 0555},
	[INO_SYS_FS] = {INO_SYS, NODE_DIR, "fs", 0555},
	[INO_SYS_FS_MQUEUE] = {INO_SYS_FS, NODE_DIR, "mqueue", 0555},
	[INO_MQUEUE] = {INO_ROOT, NODE_QUEUES, "mqueue", 01777, FAC_MQ},
	[INO_SEM] = {INO_ROOT, NODE_OBJECTS, "sem", 0555, FAC_SEM},
	[INO_MSG] = {INO_ROOT, NODE_OBJECTS, "msg", 0555, FAC_MSG},
	[INO_SHM] = {INO_ROOT, NODE_OBJECTS, "shm", 0555, FAC_SHM},
	[INO_LOCKS] = {INO_ROOT, NODE_LOCKS, "locks", 0644, 0, content_locks},
	[INO_TASKS] = {INO_ROOT, NODE_VIEW, "tasks", 0444, 0, content_tasks},
	[INO_WAITS] = {INO_ROOT, NODE_VIEW, "waits", 0444, 0, content_waits},
	[INO_EVENTS] = {INO_ROOT, NODE_VIEW, "events", 0444, 0, content_events},
	[INO_STATS] = {INO_ROOT, NODE_VIEW, "stats", 0444, 0, content_stats},
};

/* What stands in the directory of an object. */
static const struct part {
	enum facility fac;
	const char *name;
	make_part *make; /* NULL: the segment's bytes */
} parts[] = {
	[1] = {FAC_SEM, "stat", content_sem_stat},
	[2] = {FAC_SEM, "values", content_sem_values},
	[3] = {FAC_SEM, "holders", content_sem_holders},
	[4] = {FAC_SEM, "waiters", content_sem_waiters},
	[5] = {FAC_MSG, "stat", content_msg_stat},
	[6] = {FAC_MSG, "messages", content_msg_messages},
	[7] = {FAC_MSG, "waiters", content_msg_waiters},
	[8] = {FAC_SHM, "stat", content_shm_stat},
	[9] = {FAC_SHM, "attachments", content_shm_attachments},
	[10] = {FAC_SHM, "data", NULL},
};
#define N_PARTS (sizeof(parts) / sizeof(parts[0]))
_Static_assert(N_PARTS <= 16, "a part takes four bits of an inode number");

/* ---- inode numbers ---- */

static u64 object_ino(enum facility fac, u64 ident, u32 part)
{
	return INO_OBJECT | (u64)part << 59 | (u64)fac << 57 |
	       (u64)(IDENT_GEN(ident) & GEN_MASK) << 31 | (u64)IDENT_ID(ident);
}

static int decode_sysctl(u64 at, struct node *ret)
{
	if (at >= n_sysctl_files)
		return -ENOENT;
	*ret = (struct node){
		.ino = INO_SYSCTL + at,
		.kind = NODE_SYSCTL,
		.mode = sysctl_files[at].mode,
		.sysctl = &sysctl_files[at],
		.fixed = 1,
	};
	return 0;
}

static int decode_fixed(u64 ino, struct node *ret)
{
	const struct fixed *f;

	if (ino >= INO_SYSCTL)
		return decode_sysctl(ino - INO_SYSCTL, ret);
	if (ino < INO_ROOT || ino >= N_FIXED)
		return -ENOENT;
	f = &fixed[ino];
	*ret = (struct node){
		.ino = ino,
		.kind = f->kind,
		.fac = f->fac,
		.mode = f->mode,
		.view = f->view,
		.fixed = 1,
	};
	return 0;
}

static int decode_object(u64 ino, struct node *ret)
{
	u32 part = ino >> 59 & 15;

	*ret = (struct node){
		.ino = ino,
		.kind = NODE_OBJECT,
		.fac = (enum facility)(ino >> 57 & 3),
		.id = (s32)(ino & 0x7fffffff),
		.gen = ino >> 31 & GEN_MASK,
	};
	if (ret->fac == FAC_MQ) {
		ret->kind = NODE_QUEUE;
		return part ? -ENOENT : 0;
	}
	if (!part)
		return 0;
	if (part >= N_PARTS || parts[part].fac != ret->fac)
		return -ENOENT;
	ret->part = parts[part].make;
	ret->kind = ret->part ? NODE_PART : NODE_DATA;
	return 0;
}

int node_decode(u64 ino, struct node *ret)
{
	return ino & INO_OBJECT ? decode_object(ino, ret)
				: decode_fixed(ino, ret);
}

int node_is_dir(const struct node *n)
{
	return n->kind == NODE_DIR || n->kind == NODE_OBJECTS ||
	       n->kind == NODE_QUEUES || n->kind == NODE_OBJECT;
}

int node_in_sys(const struct node *n)
{
	return n->kind == NODE_SYSCTL ||
	       (n->ino >= INO_SYS && n->ino <= INO_SYS_FS_MQUEUE);
}

int node_of_queue(u64 ident, struct node *ret)
{
	return decode_object(object_ino(FAC_MQ, ident, 0), ret);
}

struct slot *node_slot(
	const struct caller *c, const struct node *n, u64 *ret_ident)
{
	struct slot *s = ids_find(c, n->fac, n->id, ret_ident);

	if (!s || (IDENT_GEN(*ret_ident) & GEN_MASK) != n->gen)
		return NULL;
	return n->fac != FAC_MQ || mq_body(c, s) ? s : NULL;
}

/* ---- names ---- */

struct found {
	const char *name;
	u64 ino;
};

static int match(void *arg, const char *name, u64 ino, int is_dir)
{
	struct found *found = arg;

	(void)is_dir;
	if (strcmp(name, found->name))
		return 0;
	found->ino = ino;
	return 1;
}

/* "5", but not "05", "+5", "5 ". */
static int parse_id(const char *name, s32 *ret)
{
	char again[16];
	long id = strtol(name, NULL, 10);

	if (id < 0 || id > 0x7fffffff)
		return -1;
	snprintf(again, sizeof(again), "%ld", id);
	*ret = (s32)id;
	return strcmp(name, again) ? -1 : 0;
}

/* A slot that is not in use may be a hole of the file: not looked at. */
static int lookup_object(struct caller *c, const struct node *dir,
	const char *name, struct node *ret)
{
	u64 ident;
	s32 id;

	if (parse_id(name, &id) ||
		!ids_used(c, dir->fac, (u32)id & ids_mask(c)) ||
		!ids_find(c, dir->fac, id, &ident))
		return -ENOENT;
	return node_decode(object_ino(dir->fac, ident, 0), ret);
}

static int lookup_queue(struct caller *c, const char *name, struct node *ret)
{
	struct mq_desc d;
	int err = mq_find_name(c, name, strlen(name), &d);

	return err ? err : node_of_queue(d.ident, ret);
}

int node_lookup(struct caller *c, const struct node *dir, const char *name,
	struct node *ret)
{
	struct found found = {name, 0};
	int err;

	if (strlen(name) > MQ_NAME_MAX)
		return -ENAMETOOLONG;
	if (dir->kind == NODE_OBJECTS)
		return lookup_object(c, dir, name, ret);
	if (dir->kind == NODE_QUEUES)
		return lookup_queue(c, name, ret);
	err = node_list(c, dir, match, &found);
	if (err < 0)
		return err;
	return err ? node_decode(found.ino, ret) : -ENOENT;
}

/* ---- lists ---- */

static int list_fixed(u64 parent, node_list_fn *fn, void *arg)
{
	struct node n;
	u32 ino;
	int err = 0;

	for (ino = INO_ROOT + 1; ino < N_FIXED && !err; ino++)
		if (fixed[ino].parent == parent && !node_decode(ino, &n))
			err = fn(arg, fixed[ino].name, ino, node_is_dir(&n));
	return err;
}

/* Those of a folder below /proc/sys. */
static int list_sysctl(const char *folder, node_list_fn *fn, void *arg)
{
	size_t len = strlen(folder);
	u32 i;
	int err = 0;

	for (i = 0; i < n_sysctl_files && !err; i++)
		if (!strncmp(sysctl_files[i].path, folder, len))
			err = fn(arg, sysctl_files[i].path + len,
				INO_SYSCTL + i, 0);
	return err;
}

static int list_dir(u64 ino, node_list_fn *fn, void *arg)
{
	if (ino == INO_SYS_KERNEL)
		return list_sysctl("kernel/", fn, arg);
	if (ino == INO_SYS_FS_MQUEUE)
		return list_sysctl("fs/mqueue/", fn, arg);
	return list_fixed(ino, fn, arg);
}

static int list_parts(const struct node *n, node_list_fn *fn, void *arg)
{
	u32 i;
	int err = 0;

	for (i = 1; i < N_PARTS && !err; i++)
		if (parts[i].fac == n->fac)
			err = fn(arg, parts[i].name, n->ino | (u64)i << 59, 0);
	return err;
}

static int list_objects(
	struct caller *c, enum facility fac, node_list_fn *fn, void *arg)
{
	char name[16];
	int err = 0;
	u64 ident;
	u32 idx;

	for (idx = ids_next(c, fac, 0); idx < IDX_MAX && !err;
		idx = ids_next(c, fac, idx + 1)) {
		ident = atom_load_acquire(
			&region_slot(&c->region, fac, idx)->ident);
		if (!(ident & IDENT_LIVE))
			continue;
		snprintf(name, sizeof(name), "%d", IDENT_ID(ident));
		err = fn(arg, name, object_ino(fac, ident, 0), 1);
	}
	return err;
}

struct named {
	u64 ident;
	char name[MQ_NAME_MAX + 1];
};

/* By generation, the upper half of an ident. */
static int newer_first(const void *a, const void *b)
{
	u64 x = ((const struct named *)a)->ident;
	u64 y = ((const struct named *)b)->ident;

	return x < y ? 1 : -(x > y);
}

/* The newest first, as in the kernel's. */
static int list_queues(struct caller *c, node_list_fn *fn, void *arg)
{
	struct text all = {0};
	struct mq_view v;
	struct named *q;
	size_t i, n;
	u32 at = 0;
	int err;

	while ((err = mq_view_next(c, &at, &v)) > 0) {
		if (v.unlinked)
			continue;
		q = (struct named *)text_reserve(&all, sizeof(*q));
		if (!q)
			break;
		q->ident = v.desc.ident;
		strcpy(q->name, v.name);
		all.len += sizeof(*q);
	}
	n = all.len / sizeof(*q);
	q = (struct named *)all.buf;
	if (all.failed)
		err = -ENOMEM;
	if (!err && n)
		qsort(q, n, sizeof(*q), newer_first);
	for (i = 0; i < n && !err; i++)
		err = fn(arg, q[i].name, object_ino(FAC_MQ, q[i].ident, 0), 0);
	text_deinit(&all);
	return err;
}

int node_list(
	struct caller *c, const struct node *dir, node_list_fn *fn, void *arg)
{
	switch (dir->kind) {
	case NODE_DIR:
		return list_dir(dir->ino, fn, arg);
	case NODE_OBJECTS:
		return list_objects(c, dir->fac, fn, arg);
	case NODE_QUEUES:
		return list_queues(c, fn, arg);
	case NODE_OBJECT:
		return list_parts(dir, fn, arg);
	default:
		return -ENOTDIR;
	}
}

/* ---- attributes ---- */

/* The kernel's files of queues know whole seconds. */
static struct timespec from_ns(s64 ns)
{
	return (struct timespec){ns / 1000000000, 0};
}

static void stat_fixed(struct caller *c, const struct node *n, struct stat *st)
{
	const struct header *h = caller_header(c);
	st->st_uid = source_uid();
	st->st_gid = source_gid();
	st->st_nlink = 2;
	st->st_ctim.tv_sec = st->st_mtim.tv_sec = st->st_atim.tv_sec =
		h->created;
	switch (n->kind) {
	case NODE_QUEUES:
		/* Everybody's, like the kernel's: see mqueue_unlink. */
		st->st_uid = st->st_gid = 0;
		st->st_size = 40 + 20 * (off_t)h->ids[FAC_MQ].n_keys;
		if (h->mq_changed)
			st->st_ctim.tv_sec = st->st_mtim.tv_sec =
				st->st_atim.tv_sec = h->mq_changed;
		st->st_mode = S_IFDIR | n->mode;
		return;
	case NODE_OBJECTS:
		st->st_nlink += h->ids[n->fac].in_use;
		/* fall through */
	case NODE_DIR:
		st->st_mode = S_IFDIR | n->mode;
		return;
	default:
		st->st_nlink = 1;
		st->st_mode = S_IFREG | n->mode;
	}
}

static int stat_queue(
	struct caller *c, struct slot *s, u64 ident, struct stat *st)
{
	const struct mq_desc d = {.s = s, .ident = ident};
	struct mq_stat q;

	if (mq_stat(c, &d, &q))
		return -ENOENT;
	st->st_mode = S_IFREG | q.mode;
	st->st_uid = q.uid;
	st->st_gid = q.gid;
	st->st_nlink = q.nlink;
	st->st_size = (off_t)q.size;
	st->st_atim = from_ns(q.atime);
	st->st_mtim = from_ns(q.mtime);
	st->st_ctim = from_ns(q.ctime);
	return 0;
}

int node_stat(struct caller *c, const struct node *n, struct stat *st)
{
	struct slot *s;
	u64 ident;

	memset(st, 0, sizeof(*st));
	st->st_ino = n->ino;
	st->st_blksize = 4096;
	if (n->fixed) {
		stat_fixed(c, n, st);
		return 0;
	}
	s = node_slot(c, n, &ident);
	if (!s)
		return -ENOENT;
	if (n->kind == NODE_QUEUE)
		return stat_queue(c, s, ident, st);
	st->st_uid = s->uid;
	st->st_gid = s->gid;
	st->st_ctim.tv_sec = st->st_mtim.tv_sec = st->st_atim.tv_sec = s->ctime;
	if (n->kind == NODE_OBJECT) {
		st->st_mode = S_IFDIR | 0555;
		st->st_nlink = 2;
		return 0;
	}
	st->st_mode = S_IFREG | (s->mode & 0444);
	st->st_nlink = 1;
	if (n->kind == NODE_DATA)
		st->st_size = content_data_size(c, s);
	return 0;
}

/* ---- rights ---- */

static int fixed_access(
	struct caller *c, struct requester *r, const struct node *n, u32 want)
{
	if (n->kind == NODE_SYSCTL)
		return sysctl_access(c, n->sysctl, want);
	if (!(want & PERM_W) || (n->mode & 02))
		return 0;
	if (node_in_sys(n))
		return -EACCES;
	if (n->kind == NODE_LOCKS && r->cred.euid == source_uid())
		return 0;
	return requester_capable(r, CRED_DAC_OVERRIDE) ? 0 : -EACCES;
}

int node_access(
	struct caller *c, struct requester *r, const struct node *n, u32 want)
{
	struct slot *s;
	u64 ident;

	if (n->fixed)
		return fixed_access(c, r, n, want);
	s = node_slot(c, n, &ident);
	if (!s)
		return -ENOENT;
	if (n->kind == NODE_QUEUE)
		return perm_check_file(c, s, want);
	if (want & PERM_W)
		return -EACCES;
	return n->kind == NODE_OBJECT ? 0 : perm_check(c, s, want);
}
