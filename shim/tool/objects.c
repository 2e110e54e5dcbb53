// SPDX-License-Identifier: MIT
/*
 * ls, show, rm and gc on the sets of a registry.
 *
 * Which of them exist is asked as ipcs asks the kernel: the highest index, then
 * each index in turn.
 */
#include "tool/objects.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipc/render.h"
#include "ipc/semview.h"
#include "tool/home.h"
#include "tool/registry.h"
#include "tool/table.h"

#define EACH_OPTION_HELP                                     \
	"  --registry PATH  look at this registry\n"         \
	"  --name NAME      or at this named one (default: " \
	"IPCLIFT_REGISTRY,\n"                                \
	"                   else /dev/shm/ipclift-<uid>/default)\n"

/* Call fn for each set; stops at its first result that is not 0. */
static int each_set(struct caller *c,
	int (*fn)(struct caller *c, const struct sem_stat *st, void *arg),
	void *arg)
{
	struct sem_info info;
	struct sem_stat st;
	int highest = sem_info(c, 1, &info), idx, err = 0;

	if (highest < 0)
		return failure("%s", strerror(-highest));
	for (idx = 0; idx <= highest && !err; idx++)
		if (sem_stat(c, idx, SEM_BY_IDX_ANY, &st) >= 0)
			err = fn(c, &st, arg);
	return err;
}

/* ---- ls ---- */

static json_object *set_row(const struct sem_stat *st)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "kind", json_object_new_string("sem"));
	json_object_object_add(
		o, "key", json_text("0x%08x", (unsigned)st->key));
	json_object_object_add(o, "id", json_object_new_int(st->id));
	json_object_object_add(o, "owner", json_user(st->uid));
	json_object_object_add(o, "perms", json_text("%03o", st->mode));
	json_object_object_add(o, "nsems", json_object_new_int((int)st->nsems));
	json_object_object_add(o, "used", json_time(st->otime));
	json_object_object_add(o, "changed", json_time(st->ctime));
	return o;
}

static int add_set(struct caller *c, const struct sem_stat *st, void *arg)
{
	(void)c;
	json_object_array_add(arg, set_row(st));
	return 0;
}

/* As a program that reads /proc/sysvipc/sem would see it. */
static int print_proc(struct caller *c)
{
	static char buf[65536];
	u32 idx = 0;
	s64 n;

	fputs(render_head(FAC_SEM), stdout);
	while ((n = render_rows(c, FAC_SEM, &idx, buf, sizeof(buf))) > 0)
		fwrite(buf, 1, (size_t)n, stdout);
	return n < 0 ? failure("%s", strerror((int)-n)) : EXIT_OK;
}

static int ls_main(int argc, char **argv)
{
	static const struct column columns[] = {{"KIND", "kind", '<'},
		{"KEY", "key", '<'}, {"ID", "id", '>'}, {"OWNER", "owner", '<'},
		{"PERMS", "perms", '>'}, {"NSEMS", "nsems", '>'},
		{"LAST USED", "used", '<'}, {0}};
	json_object *rows;
	struct caller *c;
	struct view v;
	int err = view_options(argc, argv, "jp", &v);

	if (err)
		return err < 0 ? EXIT_OK : err;
	if (v.json && v.proc)
		return usage_error("--json and --proc exclude each other");
	if ((err = view_no_arguments(&v)) || (err = view_path(&v)))
		return err;
	c = view_open(&v);
	if (!c)
		return EXIT_FAILED;
	if (v.proc)
		return print_proc(c);
	rows = json_object_new_array();
	err = each_set(c, add_set, rows);
	if (!err && v.json) {
		json_print(rows);
	} else if (!err) {
		table_print(columns, rows);
		json_object_put(rows);
	}
	return err;
}

const struct command ls_command = {
	.name = "ls",
	.summary = "list the objects of a registry",
	.help = "usage: ipclift ls [OPTIONS]\n\n"
		"List the objects of a registry.\n\n"
		"  --json           as a JSON array\n"
		"  --proc           as /proc/sysvipc/sem prints "
		"it\n" EACH_OPTION_HELP,
	.main = ls_main,
};

/* ---- show ---- */

/* "sem 5" or "5". */
static int parse_id(const struct view *v, int *ret)
{
	char **arg = v->argv;
	unsigned long long id;
	int n = v->argc;

	if (n && !strcmp(arg[0], "sem"))
		arg++, n--;
	if (n != 1)
		return usage_error("name one object: sem ID");
	if (parse_number(arg[0], 0, 0x7fffffff, &id))
		return usage_error("'%s' is no id", arg[0]);
	*ret = (int)id;
	return 0;
}

static json_object *values_of(struct caller *c, const struct sem_stat *st)
{
	json_object *rows = json_object_new_array();
	u32 i;

	for (i = 0; i < st->nsems; i++) {
		json_object *o = json_object_new_object();
		int pid = sem_getpid(c, st->id, (s32)i);

		json_object_object_add(o, "num", json_object_new_int((int)i));
		json_object_object_add(o, "value",
			json_object_new_int(sem_getval(c, st->id, (s32)i)));
		json_object_object_add(o, "ncnt",
			json_object_new_int(sem_getncnt(c, st->id, (s32)i)));
		json_object_object_add(o, "zcnt",
			json_object_new_int(sem_getzcnt(c, st->id, (s32)i)));
		json_object_object_add(o, "pid", json_object_new_int(pid));
		json_object_object_add(o, "command",
			pid > 0 ? json_text("%s", process_name((unsigned)pid))
				: NULL);
		json_object_array_add(rows, o);
	}
	return rows;
}

static json_object *holders_of(struct caller *c, s32 id)
{
	static struct sem_holder holders[1024];
	json_object *rows = json_object_new_array();
	s32 n = sem_holders(c, id, holders, 1024), i;

	for (i = 0; i < n && i < 1024; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(
			o, "pid", json_object_new_int((int)holders[i].pid));
		json_object_object_add(
			o, "num", json_object_new_int((int)holders[i].num));
		json_object_object_add(
			o, "undo", json_text("%+d", holders[i].adj));
		json_object_object_add(o, "command",
			json_text("%s", process_name(holders[i].pid)));
		json_object_array_add(rows, o);
	}
	return rows;
}

static json_object *sleepers_of(struct caller *c, s32 id)
{
	static struct sem_sleeper sleepers[1024];
	json_object *rows = json_object_new_array();
	s32 n = sem_sleepers(c, id, sleepers, 1024), i;

	for (i = 0; i < n && i < 1024; i++) {
		const struct sem_sleeper *s = &sleepers[i];
		json_object *o = json_object_new_object();

		json_object_object_add(
			o, "pid", json_object_new_int((int)s->pid));
		json_object_object_add(
			o, "tid", json_object_new_int((int)s->tid));
		json_object_object_add(
			o, "num", json_object_new_int(s->op.num));
		json_object_object_add(o, "op", json_text("%+d", s->op.op));
		json_object_object_add(o, "since", json_time(s->since));
		json_object_object_add(
			o, "command", json_text("%s", process_name(s->pid)));
		json_object_array_add(rows, o);
	}
	return rows;
}

static void show_tables(json_object *set)
{
	static const struct column values[] = {{"NUM", "num", '>'},
		{"VALUE", "value", '>'}, {"WAIT", "ncnt", '>'},
		{"WAIT FOR 0", "zcnt", '>'}, {"LAST PID", "pid", '>'},
		{"COMMAND", "command", '<'}, {0}};
	static const struct column holders[] = {{"PID", "pid", '>'},
		{"NUM", "num", '>'}, {"AT ITS DEATH", "undo", '>'},
		{"COMMAND", "command", '<'}, {0}};
	static const struct column sleepers[] = {{"PID", "pid", '>'},
		{"THREAD", "tid", '>'}, {"NUM", "num", '>'},
		{"OPERATION", "op", '>'}, {"SINCE", "since", '<'},
		{"COMMAND", "command", '<'}, {0}};
	static const struct {
		const char *field, *title;
		const struct column *columns;
	} parts[] = {{"values", NULL, values},
		{"holders", "Who holds (SEM_UNDO):", holders},
		{"waiters", "Who waits:", sleepers}};
	size_t i;

	printf("sem %s, key %s, owner %s, perms %s\nlast used %s, changed %s\n",
		json_object_get_string(json_object_object_get(set, "id")),
		json_object_get_string(json_object_object_get(set, "key")),
		json_object_get_string(json_object_object_get(set, "owner")),
		json_object_get_string(json_object_object_get(set, "perms")),
		json_object_get_string(json_object_object_get(set, "used"))
			?: "never",
		json_object_get_string(json_object_object_get(set, "changed")));
	for (i = 0; i < 3; i++) {
		json_object *rows = json_object_object_get(set, parts[i].field);

		if (!json_object_array_length(rows))
			continue;
		puts("");
		if (parts[i].title)
			puts(parts[i].title);
		table_print(parts[i].columns, rows);
	}
}

static int show_main(int argc, char **argv)
{
	struct sem_stat st;
	json_object *set;
	struct caller *c;
	struct view v;
	int err = view_options(argc, argv, "j", &v), id;

	if (err)
		return err < 0 ? EXIT_OK : err;
	if ((err = parse_id(&v, &id)) || (err = view_path(&v)))
		return err;
	c = view_open(&v);
	if (!c)
		return EXIT_FAILED;
	err = sem_stat(c, id, SEM_BY_ID, &st);
	if (err)
		return failure("sem %d: %s", id,
			err == -EINVAL ? "no such set" : strerror(-err));
	set = set_row(&st);
	json_object_object_add(set, "values", values_of(c, &st));
	json_object_object_add(set, "holders", holders_of(c, id));
	json_object_object_add(set, "waiters", sleepers_of(c, id));
	if (v.json) {
		json_print(set);
	} else {
		show_tables(set);
		json_object_put(set);
	}
	return EXIT_OK;
}

const struct command show_command = {
	.name = "show",
	.summary = "show one object: values, who holds, who waits",
	.help = "usage: ipclift show [OPTIONS] [sem] ID\n\n"
		"Show a set: its semaphores, the processes whose death would\n"
		"give something back (SEM_UNDO), and those that sleep on "
		"it.\n\n"
		"  --json           as a JSON object\n" EACH_OPTION_HELP,
	.main = show_main,
};

/* ---- rm ---- */

static int remove_set(struct caller *c, s32 id)
{
	int err = sem_remove(c, id);

	if (!err)
		return 0;
	return failure("sem %d: %s", id,
		err == -EINVAL	? "no such set"
		: err == -EPERM ? "only its owner may remove it"
				: strerror(-err));
}

/* Goes on after a set that it may not remove. */
static int remove_each(struct caller *c, const struct sem_stat *st, void *arg)
{
	int *failed = arg;

	*failed |= remove_set(c, st->id);
	return 0;
}

static int remove_key(struct caller *c, const char *text, s32 key)
{
	int id = sem_get(c, key, 0, 0);

	if (id < 0)
		return failure("key %s: %s", text,
			id == -ENOENT ? "no such set" : strerror(-id));
	return remove_set(c, id);
}

static int rm_main(int argc, char **argv)
{
	struct caller *c;
	struct view v;
	int err = view_options(argc, argv, "ak", &v), id = 0, failed = 0;
	unsigned long long key = 1;

	if (err)
		return err < 0 ? EXIT_OK : err;
	if (v.all || v.key)
		err = v.all && v.key ? usage_error("--all and --key exclude "
						   "each other")
				     : view_no_arguments(&v);
	else
		err = parse_id(&v, &id);
	if (v.key && !err &&
		(parse_number(v.key, -2147483648LL, 0xffffffffULL, &key) ||
			!(u32)key))
		return usage_error("--key: '%s' is no key", v.key);
	if (err || (err = view_path(&v)))
		return err;
	c = view_open(&v);
	if (!c)
		return EXIT_FAILED;
	if (v.key)
		return remove_key(c, v.key, (s32)key);
	if (!v.all)
		return remove_set(c, id);
	err = each_set(c, remove_each, &failed);
	return err ? err : failed;
}

const struct command rm_command = {
	.name = "rm",
	.summary = "remove objects",
	.help = "usage: ipclift rm [OPTIONS] [sem] ID\n"
		"       ipclift rm [OPTIONS] --key KEY\n"
		"       ipclift rm [OPTIONS] --all\n\n"
		"Remove a set, by its id or key, or all of them. Who sleeps "
		"on\n"
		"it is woken with EIDRM.\n\n"
		"  --key KEY        the set with this key\n"
		"  --all            every set\n" EACH_OPTION_HELP,
	.main = rm_main,
};

/* ---- gc ---- */

struct gc {
	int dry_run, failed, nobody;
	unsigned n;
};

static int pid_alive(u32 pid)
{
	return !kill((pid_t)pid, 0) || errno != ESRCH;
}

/* Some process is known to have used it, and none of those lives. */
static int abandoned(struct caller *c, const struct sem_stat *st)
{
	struct sem_holder holder;
	struct sem_sleeper sleeper;
	int known = 0, pid;
	u32 i;

	for (i = 0; i < st->nsems; i++) {
		pid = sem_getpid(c, st->id, (s32)i);
		if (pid < 0 || (pid > 0 && pid_alive((u32)pid)))
			return 0;
		known |= pid > 0;
	}
	/* The dead ones' undo was applied when it was asked for. */
	return known && sem_holders(c, st->id, &holder, 1) == 0 &&
	       sem_sleepers(c, st->id, &sleeper, 1) == 0;
}

static int gc_each(struct caller *c, const struct sem_stat *st, void *arg)
{
	struct gc *gc = arg;

	if (!gc->nobody && !abandoned(c, st))
		return 0;
	gc->n++;
	printf("%s sem %d, key 0x%08x\n",
		gc->dry_run ? "would remove" : "removed", st->id,
		(unsigned)st->key);
	if (!gc->dry_run)
		gc->failed |= remove_set(c, st->id);
	return 0;
}

static int gc_main(int argc, char **argv)
{
	struct gc gc = {0};
	struct caller *c;
	struct view v;
	int err = view_options(argc, argv, "d", &v);

	if (err)
		return err < 0 ? EXIT_OK : err;
	if ((err = view_no_arguments(&v)) || (err = view_path(&v)))
		return err;
	/* Before we stand in its table ourselves. */
	gc.nobody = !home_in_use(v.path, 0);
	gc.dry_run = v.dry_run;
	c = view_open(&v);
	if (!c)
		return EXIT_FAILED;
	err = each_set(c, gc_each, &gc);
	if (!err && !gc.n)
		puts("nothing to remove");
	return err ? err : gc.failed;
}

const struct command gc_command = {
	.name = "gc",
	.summary = "remove objects whose every user is dead",
	.help = "usage: ipclift gc [OPTIONS]\n\n"
		"Remove the sets that nobody uses any more: processes are "
		"known\n"
		"that used them, by the last operation on each semaphore, and\n"
		"none of those lives, holds undo or sleeps there. If no "
		"process\n"
		"is on the registry at all: every set.\n\n"
		"  --dry-run        only say which\n" EACH_OPTION_HELP,
	.main = gc_main,
};
