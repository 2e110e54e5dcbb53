// SPDX-License-Identifier: MIT
/*
 * ipclift save: the registry into a file; see savefile.h.
 *
 * The file is written beside its place and moved there when it is whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "object/control.h"
#include "shm/shmattach.h"
#include "inspect/shmview.h"
#include "tool/objects.h"
#include "tool/registry.h"
#include "tool/savefile.h"
#include "tool/table.h"

struct writer {
	FILE *f;
	u64 sum;
	int registry; /* descriptor of its file: segments are read there */
	int failed;   /* errno */
	char *slice;
	u64 n_objects, n_bytes;
};

static void put(struct writer *w, const void *bytes, u64 n)
{
	w->sum = save_sum(w->sum, bytes, n);
	w->n_bytes += n;
	if (!w->failed && fwrite(bytes, 1, n, w->f) != n)
		w->failed = errno ? errno : EIO;
}

/* A record of up to three parts, each a multiple of 8 bytes. */
static void put_record(struct writer *w, u32 type, const void *a, u64 n_a,
	const void *b, u64 n_b, const void *c, u64 n_c)
{
	const struct save_record head = {type, 0, n_a + n_b + n_c};

	put(w, &head, sizeof(head));
	put(w, a, n_a);
	put(w, b, n_b);
	put(w, c, n_c);
}

static void save_limits(struct writer *w, const struct caller *c)
{
	struct save_limit l;
	u32 i;

	for (i = 0; i < n_controls; i++) {
		if (strstr(controls[i].name, "_next_id"))
			continue;
		l = (struct save_limit){.value = control_get(c, &controls[i])};
		snprintf(l.name, sizeof(l.name), "%s", controls[i].name);
		put_record(w, SAVE_LIMIT, &l, sizeof(l), "", 0, "", 0);
	}
	l = (struct save_limit){
		"mq_rlimit", (u64)caller_header(c)->limits.mq_rlimit};
	put_record(w, SAVE_LIMIT, &l, sizeof(l), "", 0, "", 0);
}

static void save_ids(struct writer *w, struct caller *c)
{
	struct save_ids ids = {0};

	for (ids.kind = 0; ids.kind < N_FAC; ids.kind++) {
		dump_ids(c, (enum facility)ids.kind, &ids.ids);
		put_record(w, SAVE_IDS, &ids, sizeof(ids), "", 0, "", 0);
	}
}

/* ---- objects ---- */

static int save_sem(struct writer *w, struct caller *c, struct save_object *o)
{
	struct dump_sem *sems = calloc(o->n, sizeof(*sems));
	s64 n = sems ? dump_sems(c, o->id, sems, o->n) : -ENOMEM;

	if (n > 0)
		put_record(w, SAVE_OBJECT, o, sizeof(*o), sems,
			(u64)n * sizeof(*sems), "", 0);
	free(sems);
	return n < 0 ? (int)n : 0;
}

/* Messages come and go between asking for the size and for them. */
static int save_msg(struct writer *w, struct caller *c, struct save_object *o)
{
	struct dump_msgqueue q;
	u64 cap = 4096;
	char *text;
	s64 n;

	for (;;) {
		text = malloc(cap);
		n = text ? dump_messages(c, o->id, &q, text, cap) : -ENOMEM;
		if (n <= (s64)cap)
			break;
		free(text);
		cap = (u64)n * 2;
	}
	if (n >= 0)
		put_record(w, SAVE_OBJECT, o, sizeof(*o), &q, sizeof(q), text,
			(u64)n);
	free(text);
	return n < 0 ? (int)n : 0;
}

static int is_zero(const char *p, u64 n)
{
	return !n || (!p[0] && !memcmp(p, p + 1, n - 1));
}

static int save_pages(
	struct writer *w, struct caller *c, const struct save_object *o)
{
	struct save_data d = {.id = o->id};
	s64 n;

	for (; d.off < o->size; d.off += (u64)n) {
		n = shm_copy(
			c, o->id, w->registry, d.off, w->slice, SAVE_SLICE, 0);
		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		if (is_zero(w->slice, (u64)n))
			continue;
		memset(w->slice + n, 0, (u64)-n & 7);
		put_record(w, SAVE_DATA, &d, sizeof(d), w->slice,
			((u64)n + 7) & ~7ULL, "", 0);
	}
	return 0;
}

static int save_shm(struct writer *w, struct caller *c, struct save_object *o)
{
	struct dump_segment p;
	int err = dump_segment(c, o->id, &p);

	if (err)
		return err;
	put_record(w, SAVE_OBJECT, o, sizeof(*o), &p, sizeof(p), "", 0);
	return save_pages(w, c, o);
}

static int save_mq(struct writer *w, struct caller *c, struct save_object *o,
	const struct mq_view *v)
{
	struct {
		struct dump_mqueue q;
		char name[SAVE_NAME];
	} head = {0};
	u64 cap = 4096;
	char *text;
	s64 n;

	memcpy(head.name, v->name, v->name_len);
	for (;;) {
		text = malloc(cap);
		n = text ? dump_mq_messages(c, &v->desc, &head.q, text, cap)
			 : -ENOMEM;
		if (n <= (s64)cap)
			break;
		free(text);
		cap = (u64)n * 2;
	}
	if (n >= 0)
		put_record(w, SAVE_OBJECT, o, sizeof(*o), &head, sizeof(head),
			text, (u64)n);
	free(text);
	return n < 0 ? (int)n : 0;
}

static int save_one(struct caller *c, const struct object *o, void *arg)
{
	struct writer *w = arg;
	struct save_object s = {.kind = o->kind, .id = o->id, .key = o->key};
	int err;

	/* What only its users can reach ends with them. */
	if ((o->kind == FAC_MQ && o->mq.unlinked) ||
		(o->kind == FAC_SHM && (o->shm.mode & SHM_MODE_DEST))) {
		fprintf(stderr,
			"ipclift save: %s is removed already, not "
			"saved\n",
			object_name(o));
		return 0;
	}
	err = dump_perm(c, o->kind,
		o->kind == FAC_MQ ? IDENT_ID(o->mq.desc.ident) : o->id,
		&s.perm);
	s.n = o->kind == FAC_SEM  ? o->sem.nsems
	      : o->kind == FAC_MQ ? o->mq.maxmsg
				  : 0;
	s.size = o->kind == FAC_SHM  ? o->shm.size
		 : o->kind == FAC_MQ ? o->mq.msgsize
				     : 0;
	if (!err)
		err = o->kind == FAC_SEM   ? save_sem(w, c, &s)
		      : o->kind == FAC_MSG ? save_msg(w, c, &s)
		      : o->kind == FAC_SHM ? save_shm(w, c, &s)
					   : save_mq(w, c, &s, &o->mq);
	w->n_objects++;
	/* Gone meanwhile: as if it had gone before. */
	if (!err || err == -EIDRM || err == -EINVAL || err == -EBADF)
		return 0;
	return failure("%s: %s", object_name(o), strerror(-err));
}

/* ---- the file ---- */

static int save_all(struct writer *w, struct caller *c)
{
	const struct header *h = caller_header(c);
	struct save_head head = {.version = SAVE_VERSION,
		.order = SAVE_ORDER,
		.idx_bits = h->idx_bits,
		.profile = h->profile,
		.time = sys_realtime_sec()};
	const struct save_record end = {SAVE_END, 0, 8};
	int err;

	memcpy(head.magic, SAVE_MAGIC, 8);
	put(w, &head, sizeof(head));
	save_limits(w, c);
	save_ids(w, c);
	err = object_each(c, 15, save_one, w);
	put(w, &end, sizeof(end));
	put(w, &(u64){w->sum}, 8);
	return err;
}

static int save_to(struct caller *c, const char *path, const char *registry)
{
	struct writer w = {.sum = SAVE_SUM_START};
	char temporary[4096];
	int fd, err;

	if (snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path) >=
		(int)sizeof(temporary))
		return failure("%s: %s", path, strerror(ENAMETOOLONG));
	w.registry = open(registry, O_RDONLY | O_CLOEXEC);
	w.slice = malloc(SAVE_SLICE + 8);
	fd = mkostemp(temporary, O_CLOEXEC);
	w.f = fd < 0 ? NULL : fdopen(fd, "w");
	if (w.registry < 0 || !w.f || !w.slice)
		return failure("%s: %s", path, strerror(errno));
	err = save_all(&w, c);
	if (fflush(w.f) || fsync(fd))
		w.failed = w.failed ? w.failed : errno;
	fclose(w.f);
	close(w.registry);
	free(w.slice);
	if (!err && !w.failed && rename(temporary, path))
		w.failed = errno;
	if (err || w.failed) {
		unlink(temporary);
		return err ? err : failure("%s: %s", path, strerror(w.failed));
	}
	printf("%llu objects, %s\n", (unsigned long long)w.n_objects,
		human_bytes(w.n_bytes));
	return EXIT_OK;
}

static int save_main(int argc, char **argv)
{
	struct caller *c;
	int err;

	if (argc != 1)
		return usage_error("name one file");
	c = registry_look(&err);
	return c ? save_to(c, argv[0], registry_path()) : err;
}

const struct command save_command = {
	.name = "save",
	.summary = "save a registry, with all it holds, to a file",
	.usage = "[OPTIONS] FILE",
	.about = "Save limits, and every set, queue, message and segment with "
		 "its id, key,\n"
		 "owner, times and contents. Each object is saved as it is in "
		 "one moment; to\n"
		 "have all of one moment, stop the programs first. Not saved, "
		 "because it\n"
		 "belongs to processes: SEM_UNDO, attachments, who sleeps, "
		 "mq_notify, and\n"
		 "objects that are removed but still in use.",
	.is = COMMAND_ON_REGISTRY,
	.main = save_main,
};
