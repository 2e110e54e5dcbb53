// SPDX-License-Identifier: MIT
/*
 * Walking, finding, describing and removing objects; see objects.h.
 */
#include "tool/view/objects.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "inspect/rows.h"
#include "inspect/semview.h"
#include "shm/shmattach.h"
#include "tool/registry.h"
#include "tool/view/table.h"

int kind_parse(const char *word)
{
	int f;

	for (f = 0; f < N_FAC; f++)
		if (!strcmp(facility_names[f], word))
			return f;
	return -1;
}

unsigned kinds_parse(int argc, char **argv)
{
	unsigned kinds = 0;
	int i, kind;

	for (i = 0; i < argc; i++) {
		kind = kind_parse(argv[i]);
		if (kind < 0) {
			usage_error(
				"'%s' is none of sem, msg, shm, mq", argv[i]);
			return 0;
		}
		kinds |= 1u << kind;
	}
	return kinds ? kinds : 15;
}

/* ---- walking ---- */

/* The object at an index: 1, or 0 if there is none. */
static int stat_at(
	struct caller *c, enum facility kind, s32 idx, struct object *o)
{
	switch (kind) {
	case FAC_SEM:
		if (sem_stat(c, idx, OBJECT_BY_IDX_ANY, &o->sem) < 0)
			return 0;
		o->id = o->sem.id;
		o->key = o->sem.key;
		return 1;
	case FAC_MSG:
		if (msg_stat(c, idx, OBJECT_BY_IDX_ANY, &o->msg) < 0)
			return 0;
		o->id = o->msg.id;
		o->key = o->msg.key;
		return 1;
	case FAC_SHM:
		if (shm_stat(c, idx, OBJECT_BY_IDX_ANY, &o->shm) < 0)
			return 0;
		o->id = o->shm.id;
		o->key = o->shm.key;
		return 1;
	default:
		return 0;
	}
}

static int next_mq(struct caller *c, u32 *at, struct object *ret)
{
	int got = mq_view_next(c, at, &ret->mq);

	if (got > 0)
		ret->id = (s32)ret->mq.idx;
	return got;
}

/* The next object of a kind at index *at or above: 1, 0 at the end, -errno.
 * Its values are of one moment. */
static int object_next(
	struct caller *c, enum facility kind, u32 *at, struct object *ret)
{
	u32 idx;
	int err;

	*ret = (struct object){.kind = kind};
	if (kind == FAC_MQ)
		return next_mq(c, at, ret);
	err = caller_enroll(c);
	if (err)
		return err;
	while ((idx = ids_next(c, kind, *at)) < IDX_MAX) {
		*at = idx + 1;
		if (stat_at(c, kind, (s32)idx, ret))
			return 1;
	}
	return 0;
}

int object_named(struct caller *c, enum facility kind,
	const struct dump_name *name, struct object *ret)
{
	u32 at = name->idx;

	*ret = (struct object){.kind = kind};
	if (kind == FAC_MQ)
		return next_mq(c, &at, ret) > 0 &&
		       ret->mq.desc.ident == name->ident;
	return stat_at(c, kind, (s32)name->idx, ret) &&
	       ret->id == IDENT_ID(name->ident) && dump_is_there(c, kind, name);
}

int object_each(struct caller *c, unsigned kinds,
	int (*fn)(struct caller *c, const struct object *o, void *arg),
	void *arg)
{
	struct object o;
	int f, got, err = 0, failed = 0;
	u32 at;

	for (f = 0; f < N_FAC && !err; f++) {
		for (at = 0, got = kinds >> f & 1; got > 0 && !err;) {
			got = object_next(c, (enum facility)f, &at, &o);
			if (got > 0)
				err = fn(c, &o, arg);
		}
		if (got < 0)
			failed = failure(
				"%s: %s", facility_names[f], strerror(-got));
	}
	return err ? err : failed;
}

/* ---- finding ---- */

static int find_mq(struct caller *c, const char *word, struct object *ret)
{
	int got;

	word += *word == '/';
	got = mq_view_find(c, word, strlen(word), &ret->mq);
	if (got <= 0)
		return failure("mq /%s: %s", word,
			got ? strerror(-got) : "no such queue");
	ret->id = (s32)ret->mq.idx;
	return 0;
}

int object_word(enum facility kind, const char *word)
{
	unsigned long long id;

	if (kind == FAC_MQ)
		return word[*word == '/'] ? 0
					  : usage_error("a queue has a name");
	return parse_number(word, 0, 0x7fffffff, &id)
		       ? usage_error("'%s' is no id", word)
		       : 0;
}

int object_find(struct caller *c, enum facility kind, const char *word,
	struct object *ret)
{
	static const char *const what[] = {"set", "queue", "segment", ""};
	unsigned long long id;
	int err;

	*ret = (struct object){.kind = kind};
	err = object_word(kind, word);
	if (err)
		return err;
	if (kind == FAC_MQ)
		return find_mq(c, word, ret);
	parse_number(word, 0, 0x7fffffff, &id);
	ret->id = (s32)id;
	if (kind == FAC_SEM)
		err = sem_stat(c, ret->id, OBJECT_BY_ID, &ret->sem);
	else if (kind == FAC_MSG)
		err = msg_stat(c, ret->id, OBJECT_BY_ID, &ret->msg);
	else
		err = shm_stat(c, ret->id, OBJECT_BY_ID, &ret->shm);
	if (err == -EINVAL)
		return failure("%s %d: no such %s", facility_names[kind],
			ret->id, what[kind]);
	if (err)
		return failure("%s %d: %s", facility_names[kind], ret->id,
			strerror(-err));
	ret->key = kind == FAC_SEM   ? ret->sem.key
		   : kind == FAC_MSG ? ret->msg.key
				     : ret->shm.key;
	return 0;
}

const char *object_name(const struct object *o)
{
	static char names[2][4 * MQ_NAME_MAX + 16];
	static int turn;
	char *name = names[turn++ % 2], seen[4 * MQ_NAME_MAX + 4];

	if (o->kind == FAC_MQ) {
		text_visible(o->mq.name, seen, sizeof(seen));
		snprintf(name, sizeof(names[0]), "mq /%s", seen);
	} else
		snprintf(name, sizeof(names[0]), "%s %d",
			facility_names[o->kind], o->id);
	return name;
}

/* ---- removing ---- */

int object_destroy(struct caller *c, const struct object *o)
{
	int err;

	switch (o->kind) {
	case FAC_SEM:
		err = sem_remove(c, o->id);
		break;
	case FAC_MSG:
		err = msg_remove(c, o->id);
		break;
	case FAC_SHM:
		err = shm_remove(c, o->id);
		break;
	default:
		/* A queue without a name is removed when the last process
		 * closes it, and now if that was killed. */
		if (o->mq.unlinked) {
			mq_closed(c, &o->mq.desc);
			return 0;
		}
		err = mqueue_unlink(c, o->mq.name, o->mq.name_len);
	}
	if (!err)
		return 0;
	return failure("%s: %s", object_name(o),
		err == -EINVAL || err == -ENOENT ? "it is gone already"
		: err == -EPERM ? "only its owner may remove it"
				: strerror(-err));
}

/* ---- describing ---- */

static void add_perm(json_object *row, u32 uid, u32 mode)
{
	field_user(row, "owner", uid);
	field_text(row, "perms", "%03o", mode & 0777);
}

static void add_stat(json_object *row, const struct object_stat *st)
{
	add_perm(row, st->uid, st->mode);
	field_user(row, "creator", st->cuid);
	field_time(row, "changed", st->ctime);
}

/* Each with a blank before it; "..." if there are more. */
static const char *values_text(const struct sem_brief *b, u32 most, u32 of)
{
	static char text[SEM_BRIEF_VALUES * 6 + 8];
	size_t used = 0;
	u32 i;

	for (i = 0; i < b->n && i < most; i++)
		used += (size_t)sprintf(text + used, " %u", b->values[i]);
	strcpy(text + used, i < of ? " ..." : "");
	return text;
}

static void add_sem(
	struct caller *c, json_object *row, const struct sem_stat *st)
{
	struct sem_brief b;
	int known = !sem_brief(c, st->id, &b);

	add_stat(row, &st->object);
	row_add(row, sem_stat_columns, st);
	field_text(row, "holds", "%u semaphore%s%s%s", st->nsems,
		st->nsems > 1 ? "s" : "", known ? ":" : "",
		known ? values_text(&b, 4, st->nsems) : "");
	if (known) {
		field_int(row, "lastpid", b.pid);
		field_text(row, "semvals", "%s",
			values_text(&b, SEM_BRIEF_VALUES, st->nsems) + 1);
	}
	field_time(row, "used", st->otime);
}

static void add_msg(json_object *row, const struct msg_stat *st)
{
	add_stat(row, &st->object);
	field_uint(row, "messages", st->qnum);
	field_uint(row, "bytes", st->cbytes);
	row_add(row, msg_stat_columns, st);
	field_text(row, "holds", "%llu msg, %s of %s",
		(unsigned long long)st->qnum, human_bytes(st->cbytes),
		human_bytes(st->qbytes));
	field_int(
		row, "lastpid", st->stime > st->rtime ? st->lspid : st->lrpid);
	field_time(row, "used", st->stime > st->rtime ? st->stime : st->rtime);
}

static void add_shm(json_object *row, const struct shm_stat *st)
{
	int dest = (st->mode & SHM_MODE_DEST) != 0;

	add_stat(row, &st->object);
	row_add(row, shm_stat_columns, st);
	field_bool(row, "removed", dest);
	field_bool(row, "locked", (st->mode & SHM_MODE_LOCKED) != 0);
	field_text(row, "holds", "%s, %llu attached%s", human_bytes(st->size),
		(unsigned long long)st->nattch, dest ? ", removed" : "");
	field_int(row, "lastpid", st->lpid);
	field_time(row, "used", st->atime > st->dtime ? st->atime : st->dtime);
}

static void add_mq(json_object *row, const struct mq_view *v)
{
	add_perm(row, v->uid, v->mode);
	field_int(row, "messages", v->curmsgs);
	field_uint(row, "bytes", v->qsize);
	field_int(row, "maxmsg", v->maxmsg);
	field_int(row, "msgsize", v->msgsize);
	field_bool(row, "unlinked", (int)v->unlinked);
	field_text(row, "holds", "%u msg of %u, each %s%s", v->curmsgs,
		v->maxmsg, human_bytes(v->msgsize),
		v->unlinked ? ", unlinked" : "");
	field_time(row, "used", v->mtime / 1000000000);
	field_time(row, "changed", v->ctime / 1000000000);
}

json_object *object_row(
	struct caller *c, const struct object *o, const struct glance *g)
{
	json_object *row = json_object_new_object();
	const struct glance_object *seen = glance_object_at(g, o->kind,
		(u32)o->id & (o->kind == FAC_MQ ? ~0u : ids_mask(c)));

	field_text(row, "kind", "%s", facility_names[o->kind]);
	if (o->kind != FAC_SHM)
		field_int(row, "waiting",
			seen && seen->id == o->id ? seen->waiters : 0);
	if (o->kind == FAC_MQ) {
		field_text(row, "name", "/%s", o->mq.name);
		field_text(row, "label", "/%s", o->mq.name);
		field_null(row, "key");
		add_mq(row, &o->mq);
		return row;
	}
	field_int(row, "id", o->id);
	field_text(row, "label", "%d", o->id);
	field_text(row, "key", "0x%08x", (unsigned)o->key);
	if (o->kind == FAC_SEM)
		add_sem(c, row, &o->sem);
	else if (o->kind == FAC_MSG)
		add_msg(row, &o->msg);
	else
		add_shm(row, &o->shm);
	return row;
}
