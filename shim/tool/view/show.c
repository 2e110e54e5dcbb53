// SPDX-License-Identifier: MIT
/*
 * ipclift show: all about one object, a table for each of its parts.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/leaseview.h"
#include "inspect/msgview.h"
#include "inspect/rows.h"
#include "inspect/semview.h"
#include "inspect/shmview.h"
#include "tool/view/objects.h"
#include "tool/registry.h"
#include "tool/view/choice.h"
#include "tool/view/table.h"

#define PARTS_MAX 4 /* with the end */

static int as_json;

static const struct option_spec options[] = {
	{"json", 0, NULL, &as_json, "as a JSON object, numbers raw"},
	{0},
};

typedef long ask_fn(
	const struct object *o, struct caller *c, void *rows, unsigned n);

/* A part: rows in JSON under `field`, each made of an element of the list that
 * ask gives. */
struct part {
	const char *field, *title;
	const struct column *columns;
	ask_fn *ask;
	size_t size; /* of an element */
};

/*
 * Read a whole list of unknown length: ask(arg, rows, n) fills in at most n and
 * returns how many there are. *ret is malloced. Returns the number, or -errno.
 */
static long read_list(ask_fn *ask, const struct object *o, struct caller *c,
	size_t size, void **ret)
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
	static long name(const struct object *o, struct caller *c, void *rows, \
		unsigned n)                                                    \
	{                                                                      \
		type *to = rows;                                               \
		return call;                                                   \
	}
LIST(ask_values, struct sem_value, sem_values(c, o->id, to, n))
LIST(ask_holders, struct sem_holder, sem_holders(c, o->id, to, n))
LIST(ask_sem, struct sem_sleeper, sem_sleepers(c, o->id, to, n))
LIST(ask_messages, struct msg_entry, msg_entries(c, o->id, to, n))
LIST(ask_msg, struct msg_sleeper, msg_sleepers(c, o->id, to, n))
LIST(ask_attachments, struct shm_attachment, shm_attachments(c, o->id, to, n))
LIST(ask_entries, struct mq_entry, mq_entries(c, &o->mq.desc, to, n))
LIST(ask_mq, struct mq_sleeper, mq_sleepers(c, &o->mq.desc, to, n))
LIST(ask_msg_leases, struct lease_view, msg_leases(c, o->id, to, n))
LIST(ask_mq_leases, struct lease_view, mq_leases(c, &o->mq.desc, to, n))

static json_object *rows_of(
	const struct part *part, const struct object *o, struct caller *c)
{
	json_object *rows = json_object_new_array();
	void *list;
	long n = read_list(part->ask, o, c, part->size, &list), i;

	for (i = 0; i < n; i++)
		json_object_array_add(rows,
			row_make(part->columns,
				(char *)list + (size_t)i * part->size, i));
	free(list);
	return rows;
}

static const struct part parts_of[][PARTS_MAX] = {
	[FAC_SEM] = {{"values", NULL, sem_value_columns, ask_values,
			     sizeof(struct sem_value)},
		{"holders", "Who holds (SEM_UNDO):", sem_holder_columns,
			ask_holders, sizeof(struct sem_holder)},
		{"waiters", "Who waits:", sem_sleeper_columns, ask_sem,
			sizeof(struct sem_sleeper)}},
	[FAC_MSG] = {{"list", "Messages, oldest first:", msg_entry_columns,
			     ask_messages, sizeof(struct msg_entry)},
		{"waiters", "Who waits:", msg_sleeper_columns, ask_msg,
			sizeof(struct msg_sleeper)},
		{"leases", "Received, not acknowledged:", lease_columns,
			ask_msg_leases, sizeof(struct lease_view)}},
	[FAC_SHM] = {{"attachments",
		"Who has it attached:", shm_attachment_columns, ask_attachments,
		sizeof(struct shm_attachment)}},
	[FAC_MQ] = {{"list", "Messages, next first:", mq_entry_columns,
			    ask_entries, sizeof(struct mq_entry)},
		{"waiters", "Who waits:", mq_sleeper_columns, ask_mq,
			sizeof(struct mq_sleeper)},
		{"leases", "Received, not acknowledged:", lease_columns,
			ask_mq_leases, sizeof(struct lease_view)}},
};

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

		if (!json_object_array_length(rows) ||
			!choice_each(parts->columns, 0, NULL, NULL))
			continue;
		choice_order(parts->columns, rows);
		if (!choice_bare && !choice_raw)
			printf("\n%s%s", parts->title ? parts->title : "",
				parts->title ? "\n" : "");
		table_print(parts->columns, rows);
	}
}

static int check_columns_of(int kind)
{
	const struct column *columns[PARTS_MAX] = {NULL};
	int i;

	for (i = 0; parts_of[kind][i].field; i++)
		columns[i] = parts_of[kind][i].columns;
	return choice_check_parts(columns);
}

static int show_main(int argc, char **argv)
{
	const struct part *parts, *p;
	json_object *about;
	struct object o;
	struct glance g;
	struct caller *c;
	int kind = argc ? kind_parse(argv[0]) : -1, err;

	if (kind < 0 || argc != 2)
		return usage_error("name one object: sem ID, msg ID, shm ID or "
				   "mq NAME");
	if (object_word((enum facility)kind, argv[1]) || check_columns_of(kind))
		return EXIT_USAGE;
	c = registry_open_read_only(&err);
	if (!c)
		return err;
	err = object_find(c, (enum facility)kind, argv[1], &o);
	if (err)
		return err;
	glance_take(c, &g);
	about = object_row(c, &o, &g);
	glance_deinit(&g);
	parts = parts_of[kind];
	if (kind == FAC_MQ) {
		field_bool(about, "open", mq_in_use(c, &o.mq.desc));
		add_notify(about, &o.mq);
	}
	for (p = parts; p->field; p++)
		json_object_object_add(about, p->field, rows_of(p, &o, c));
	if (as_json) {
		json_object_object_del(about, "label");
		json_object_object_del(about, "holds");
		json_print(about);
		return EXIT_OK;
	}
	if (!choice_bare && !choice_raw)
		print_head(&o, about);
	print_parts(parts, about);
	json_object_put(about);
	return EXIT_OK;
}

const struct command show_command = {
	.name = "show",
	.summary = "show one object: contents, holders, sleepers",
	.usage = "[OPTIONS] KIND ID|NAME",
	.about = "Show one object and the processes that use it:\n"
		 "  sem ID   its semaphores, the processes with SEM_UNDO for "
		 "it, its sleepers\n"
		 "  msg ID   its messages, senders and receivers asleep, "
		 "messages received and\n"
		 "           not acknowledged\n"
		 "  shm ID   the processes that have it attached, where and "
		 "since when\n"
		 "  mq NAME  as msg, and the registration for notification",
	.options = options,
	.is = COMMAND_ON_REGISTRY | COMMAND_TABLE,
	.main = show_main,
};
