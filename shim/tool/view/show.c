// SPDX-License-Identifier: MIT
/*
 * ipclift show: all about one object, a table for each of its parts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/msgview.h"
#include "inspect/semview.h"
#include "inspect/shmview.h"
#include "tool/view/objects.h"
#include "tool/registry.h"
#include "tool/view/table.h"

#define PARTS_MAX 4

static int as_json;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON object, numbers raw"},
	{0},
};

/* A part: rows in JSON under `field`. */
struct part {
	const char *field, *title;
	const struct column *columns;
};

/*
 * A list of unknown length, read whole: ask(arg, room, n) fills in at most n
 * and says how many there are. *ret is malloced. The number, or -errno.
 */
static long read_list(long (*ask)(const struct object *o, struct caller *c,
			      void *room, unsigned n),
	const struct object *o, struct caller *c, size_t size, void **ret)
{
	unsigned cap = 64;
	long n;

	for (;;) {
		*ret = calloc(cap, size);
		n = *ret ? ask(o, c, *ret, cap) : -ENOMEM;
		if (n <= (long)cap)
			return n;
		free(*ret);
		cap = (unsigned)n + 64;
	}
}

#define LIST(name, type, call)                                                 \
	static long name(const struct object *o, struct caller *c, void *room, \
		unsigned n)                                                    \
	{                                                                      \
		type *to = room;                                               \
		return call;                                                   \
	}
LIST(ask_holders, struct sem_holder, sem_holders(c, o->id, to, n))
LIST(ask_sem, struct sem_sleeper, sem_sleepers(c, o->id, to, n))
LIST(ask_messages, struct msg_entry, msg_entries(c, o->id, to, n))
LIST(ask_msg, struct msg_sleeper, msg_sleepers(c, o->id, to, n))
LIST(ask_attachments, struct shm_attachment, shm_attachments(c, o->id, to, n))
LIST(ask_entries, struct mq_entry, mq_entries(c, &o->mq.desc, to, n))
LIST(ask_mq, struct mq_sleeper, mq_sleepers(c, &o->mq.desc, to, n))

/* An array of rows made of each element of the list by fn. */
static json_object *rows_of(long (*ask)(const struct object *o,
				    struct caller *c, void *room, unsigned n),
	const struct object *o, struct caller *c, size_t size,
	void (*fn)(json_object *row, const void *element))
{
	json_object *rows = json_object_new_array(), *row;
	void *list;
	long n = read_list(ask, o, c, size, &list), i;

	for (i = 0; i < n; i++) {
		row = json_object_new_object();
		fn(row, (char *)list + (size_t)i * size);
		json_object_array_add(rows, row);
	}
	free(list);
	return rows;
}

/* ---- semaphores ---- */

static json_object *values_of(struct caller *c, const struct object *o)
{
	json_object *rows = json_object_new_array();
	u32 i;

	for (i = 0; i < o->sem.nsems; i++) {
		json_object *row = json_object_new_object();
		int pid = sem_getpid(c, o->id, (s32)i);

		field_int(row, "num", i);
		field_int(row, "value", sem_getval(c, o->id, (s32)i));
		field_int(row, "ncnt", sem_getncnt(c, o->id, (s32)i));
		field_int(row, "zcnt", sem_getzcnt(c, o->id, (s32)i));
		field_process(row, pid > 0 ? (unsigned)pid : 0);
		json_object_array_add(rows, row);
	}
	return rows;
}

static void holder_row(json_object *row, const void *element)
{
	const struct sem_holder *h = element;

	field_process(row, h->pid);
	field_int(row, "num", h->num);
	field_text(row, "undo", "%+d", h->adj);
	field_time(row, "since", h->since);
}

static void sem_sleeper_row(json_object *row, const void *element)
{
	const struct sem_sleeper *s = element;

	field_process(row, s->pid);
	field_int(row, "tid", s->tid);
	field_int(row, "num", s->op.num);
	field_text(row, "op", "%+d", s->op.op);
	field_time(row, "since", s->since);
}

static const struct part *show_sem(
	struct caller *c, const struct object *o, json_object *about)
{
	static const struct column values[] = {{"NUM", "num", '>'},
		{"VALUE", "value", '>'}, {"WAIT", "ncnt", '>'},
		{"WAIT FOR 0", "zcnt", '>'}, {"LAST PID", "pid", '>'},
		{"COMMAND", "command", '<'}, {0}};
	static const struct column holders[] = {{"PID", "pid", '>'},
		{"NUM", "num", '>'}, {"AT ITS DEATH", "undo", '>'},
		{"SINCE", "since", '<'}, {"COMMAND", "command", '<'}, {0}};
	static const struct column sleepers[] = {{"PID", "pid", '>'},
		{"THREAD", "tid", '>'}, {"NUM", "num", '>'},
		{"OPERATION", "op", '>'}, {"SINCE", "since", '<'},
		{"COMMAND", "command", '<'}, {0}};
	static const struct part parts[] = {{"values", NULL, values},
		{"holders", "Who holds (SEM_UNDO):", holders},
		{"waiters", "Who waits:", sleepers}, {0}};

	json_object_object_add(about, "values", values_of(c, o));
	json_object_object_add(about, "holders",
		rows_of(ask_holders, o, c, sizeof(struct sem_holder),
			holder_row));
	json_object_object_add(about, "waiters",
		rows_of(ask_sem, o, c, sizeof(struct sem_sleeper),
			sem_sleeper_row));
	return parts;
}

/* ---- message queues ---- */

static void message_row(json_object *row, const void *element)
{
	const struct msg_entry *e = element;

	field_int(row, "mtype", e->type);
	field_uint(row, "size", e->size);
}

static void msg_sleeper_row(json_object *row, const void *element)
{
	static const char *const want[] = {[MSG_WANT_ANY] = "any message",
		[MSG_WANT_TYPE] = "type",
		[MSG_WANT_NOT_TYPE] = "not type",
		[MSG_WANT_UP_TO] = "type <=",
		[MSG_WANT_ROOM] = "room"};
	const struct msg_sleeper *s = element;

	field_process(row, s->pid);
	field_int(row, "tid", s->tid);
	field_text(row, "call", s->want == MSG_WANT_ROOM ? "msgsnd" : "msgrcv");
	field_int(row, "mtype", s->type);
	field_uint(row, "size", s->size);
	if (s->want == MSG_WANT_ANY || s->want == MSG_WANT_ROOM)
		field_text(row, "for", "%s", want[s->want]);
	else
		field_text(row, "for", "%s %lld",
			s->want < 5 ? want[s->want] : "?", (long long)s->type);
	field_time(row, "since", s->since);
}

static const struct part *show_msg(
	struct caller *c, const struct object *o, json_object *about)
{
	static const struct column messages[] = {
		{"MTYPE", "mtype", '>'}, {"SIZE", "size", 'b'}, {0}};
	static const struct column sleepers[] = {{"PID", "pid", '>'},
		{"THREAD", "tid", '>'}, {"IN", "call", '<'},
		{"FOR", "for", 's'}, {"SIZE", "size", 'b'},
		{"SINCE", "since", '<'}, {"COMMAND", "command", '<'}, {0}};
	static const struct part parts[] = {
		{"list", "Messages, oldest first:", messages},
		{"waiters", "Who waits:", sleepers}, {0}};

	json_object_object_add(about, "list",
		rows_of(ask_messages, o, c, sizeof(struct msg_entry),
			message_row));
	json_object_object_add(about, "waiters",
		rows_of(ask_msg, o, c, sizeof(struct msg_sleeper),
			msg_sleeper_row));
	return parts;
}

/* ---- segments ---- */

static void attachment_row(json_object *row, const void *element)
{
	const struct shm_attachment *a = element;

	field_process(row, a->pid);
	field_text(row, "address", "0x%llx", (unsigned long long)a->addr);
	field_int(row, "count", a->count);
	field_text(row, "access", a->read_only ? "read" : "read, write");
	field_time(row, "since", a->since);
}

static const struct part *show_shm(
	struct caller *c, const struct object *o, json_object *about)
{
	static const struct column attachments[] = {{"PID", "pid", '>'},
		{"ADDRESS", "address", '<'}, {"COUNT", "count", '>'},
		{"ACCESS", "access", '<'}, {"SINCE", "since", '<'},
		{"COMMAND", "command", '<'}, {0}};
	static const struct part parts[] = {
		{"attachments", "Who has it attached:", attachments}, {0}};

	json_object_object_add(about, "attachments",
		rows_of(ask_attachments, o, c, sizeof(struct shm_attachment),
			attachment_row));
	return parts;
}

/* ---- POSIX queues ---- */

static void entry_row(json_object *row, const void *element)
{
	const struct mq_entry *e = element;

	field_int(row, "priority", e->prio);
	field_uint(row, "size", e->len);
}

static void mq_sleeper_row(json_object *row, const void *element)
{
	const struct mq_sleeper *s = element;

	field_process(row, s->pid);
	field_int(row, "tid", s->tid);
	field_text(row, "call", s->sending ? "mq_send" : "mq_receive");
	if (s->sending) {
		field_int(row, "priority", s->prio);
		field_uint(row, "size", s->len);
	} else {
		field_null(row, "priority");
		field_null(row, "size");
	}
	field_time(row, "since", s->since);
}

static void add_notify(json_object *about, const struct mq_view *v)
{
	static const char *const how[] = {"signal", "none", "thread"};
	json_object *row;

	if (v->notify_how >= MQ_VIEW_NOBODY) {
		field_null(about, "notify");
		return;
	}
	row = json_object_new_object();
	field_process(row, v->notify_pid);
	field_text(row, "how", "%s", how[v->notify_how]);
	field_int(row, "signo", v->notify_signo);
	json_object_object_add(about, "notify", row);
}

static const struct part *show_mq(
	struct caller *c, const struct object *o, json_object *about)
{
	static const struct column messages[] = {
		{"PRIORITY", "priority", '>'}, {"SIZE", "size", 'b'}, {0}};
	static const struct column sleepers[] = {{"PID", "pid", '>'},
		{"THREAD", "tid", '>'}, {"IN", "call", '<'},
		{"PRIORITY", "priority", '>'}, {"SIZE", "size", 'b'},
		{"SINCE", "since", '<'}, {"COMMAND", "command", '<'}, {0}};
	static const struct part parts[] = {
		{"list", "Messages, next first:", messages},
		{"waiters", "Who waits:", sleepers}, {0}};

	field_bool(about, "open", mq_in_use(c, &o->mq.desc));
	add_notify(about, &o->mq);
	json_object_object_add(about, "list",
		rows_of(ask_entries, o, c, sizeof(struct mq_entry), entry_row));
	json_object_object_add(about, "waiters",
		rows_of(ask_mq, o, c, sizeof(struct mq_sleeper),
			mq_sleeper_row));
	return parts;
}

/* ---- all ---- */

static const char *text(json_object *about, const char *field)
{
	const char *s =
		json_object_get_string(json_object_object_get(about, field));

	return s ? s : "never";
}

static void print_head(const struct object *o, json_object *about)
{
	json_object *notify;

	printf("%s%s%s", colour('b'), object_name(o), colour(0));
	if (o->kind != FAC_MQ)
		printf(", key %s", text(about, "key"));
	printf(", owner %s, perms %s: %s\nlast used %s, changed %s\n",
		text(about, "owner"), text(about, "perms"),
		text(about, "holds"), text(about, "used"),
		text(about, "changed"));
	if (o->kind == FAC_MQ) {
		notify = json_object_object_get(about, "notify");
		printf("%s; ", o->mq.unlinked ? "unlinked"
			       : json_object_get_boolean(
					 json_object_object_get(about, "open"))
				       ? "open"
				       : "no process has it open");
		if (notify)
			printf("%s (%s) is told of the next message: %s\n",
				text(notify, "pid"), text(notify, "command"),
				text(notify, "how"));
		else
			puts("nobody is told of messages");
	}
}

static void print_parts(const struct part *parts, json_object *about)
{
	for (; parts->field; parts++) {
		json_object *rows = json_object_object_get(about, parts->field);

		if (!json_object_array_length(rows))
			continue;
		puts("");
		if (parts->title)
			puts(parts->title);
		table_print(parts->columns, rows);
	}
}

static int show_main(int argc, char **argv)
{
	static const struct part *(*const show[])(struct caller * c,
		const struct object *o,
		json_object *about) = {show_sem, show_msg, show_shm, show_mq};
	const struct part *parts;
	json_object *about;
	struct object o;
	struct caller *c;
	int kind = argc ? kind_parse(argv[0]) : -1, err;

	if (kind < 0 || argc != 2)
		return usage_error("name one object: sem ID, msg ID, shm ID or "
				   "mq NAME");
	if (object_word((enum facility)kind, argv[1]))
		return EXIT_USAGE;
	c = registry_look(&err);
	if (!c)
		return err;
	err = object_find(c, (enum facility)kind, argv[1], &o);
	if (err)
		return err;
	about = object_row(&o);
	parts = show[kind](c, &o, about);
	if (as_json) {
		json_object_object_del(about, "label");
		json_object_object_del(about, "holds");
		json_print(about);
		return EXIT_OK;
	}
	print_head(&o, about);
	print_parts(parts, about);
	json_object_put(about);
	return EXIT_OK;
}

const struct command show_command = {
	.name = "show",
	.summary = "show one object: what it holds, who holds it, who waits",
	.usage = "[OPTIONS] KIND ID|NAME",
	.about = "Show one object and everybody who has to do with it:\n"
		 "  sem ID   its semaphores, the processes whose death would "
		 "give something\n"
		 "           back (SEM_UNDO), those that sleep on it\n"
		 "  msg ID   its messages, senders and receivers asleep\n"
		 "  shm ID   who has it attached, where and since when\n"
		 "  mq NAME  its messages, who sleeps, who is notified",
	.options = options,
	.is = COMMAND_ON_REGISTRY,
	.main = show_main,
};
