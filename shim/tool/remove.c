// SPDX-License-Identifier: MIT
/*
 * ipclift rm and gc: removing objects.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "inspect/semview.h"
#include "inspect/msgview.h"
#include "inspect/shmview.h"
#include "mq/mqlease.h"
#include "msg/msglease.h"
#include "object/reap.h"
#include "registry/heap.h"
#include "tool/home.h"
#include "tool/namespaces.h"
#include "tool/view/objects.h"
#include "tool/registry.h"
#include "tool/view/table.h"

/* ---- rm ---- */

static int rm_all;
static const char *rm_key;

static const struct option_spec rm_options[] = {
	{"key", 0, "KEY", &rm_key,
		"those with this key (0x... is hexadecimal)"},
	{"all", 0, NULL, &rm_all, "all of these kinds, or of every kind"},
	{0},
};

struct removal {
	s32 key; /* 0: any */
	int n, failed;
};

/* Continues after one that it may not remove. */
static int remove_each(struct caller *c, const struct object *o, void *arg)
{
	struct removal *r = arg;

	if (r->key && (o->kind == FAC_MQ || o->key != r->key))
		return 0;
	r->n++;
	r->failed |= object_destroy(c, o);
	return 0;
}

static int remove_many(struct caller *c, unsigned kinds, s32 key)
{
	struct removal r = {.key = key};
	int err = object_each(c, kinds, remove_each, &r);

	if (!err && key && !r.n)
		return failure("key %s: no such object", rm_key);
	return err ? err : r.failed;
}

static int remove_named(int argc, char **argv)
{
	int kind = argc ? kind_parse(argv[0]) : -1, i, err, failed = 0;
	struct object o;
	struct caller *c;

	if (kind < 0 || argc < 2)
		return usage_error("name a kind and its objects: sem ID");
	for (i = 1; i < argc; i++)
		if (object_word((enum facility)kind, argv[i]))
			return EXIT_USAGE;
	c = registry_open(&err);
	if (!c)
		return err;
	for (i = 1; i < argc; i++) {
		err = object_find(c, (enum facility)kind, argv[i], &o);
		failed |= err ? err : object_destroy(c, &o);
	}
	return failed;
}

static int rm_main(int argc, char **argv)
{
	unsigned long long key = 0;
	unsigned kinds;
	struct caller *c;
	int err;

	if (!rm_all && !rm_key)
		return remove_named(argc, argv);
	if (rm_all && rm_key)
		return usage_error("--all and --key exclude each other");
	kinds = kinds_parse(argc, argv);
	if (!kinds)
		return EXIT_USAGE;
	if (rm_key &&
		(parse_number(rm_key, -2147483648LL, 0xffffffffULL, &key) ||
			!(u32)key))
		return usage_error("--key: '%s' is no key", rm_key);
	c = registry_open(&err);
	return c ? remove_many(c, kinds, (s32)key) : err;
}

const struct command rm_command = {
	.name = "rm",
	.summary = "remove objects",
	.usage = "[OPTIONS] KIND ID|NAME...\n"
		 "[OPTIONS] --key KEY [KIND...]\n"
		 "[OPTIONS] --all [KIND...]",
	.about = "Remove objects: sem, msg, shm by their ids, mq by their "
		 "names. Threads asleep\n"
		 "on a set or queue are woken with EIDRM; a segment is removed "
		 "when the last\n"
		 "process detaches it, a POSIX queue when the last one closes "
		 "it.",
	.options = rm_options,
	.is = COMMAND_ON_REGISTRY,
	.main = rm_main,
};

/* ---- gc ---- */

static int gc_dry_run, gc_force;
static const char *gc_older;

static const struct option_spec gc_options[] = {
	{"dry-run", 'n', NULL, &gc_dry_run, "only list them"},
	{"older", 0, "AGE", &gc_older,
		"only if last used or changed so long ago:\n"
		"90s, 10m, 1h, 2d"},
	{"force", 0, NULL, &gc_force, "also those without any known user"},
	{0},
};

struct gc {
	int failed, nobody;
	unsigned n;
	s64 before; /* last used at the latest then; 0: at any time */
};

static int is_dead(u32 pid)
{
	return pid && !process_alive(pid);
}

/* Some process is known to have used the set, and none of those exists any
 * more. The undo of exited tasks was applied when its state was read. */
static int sem_abandoned(struct caller *c, const struct sem_stat *st)
{
	struct sem_holder holder;
	struct sem_sleeper sleeper;
	int known = gc_force, pid;
	u32 i;

	for (i = 0; i < st->nsems; i++) {
		pid = sem_getpid(c, st->id, (s32)i);
		if (pid < 0 || (pid > 0 && process_alive((u32)pid)))
			return 0;
		known |= pid > 0;
	}
	return known && sem_holders(c, st->id, &holder, 1) == 0 &&
	       sem_sleepers(c, st->id, &sleeper, 1) == 0;
}

static int msg_abandoned(struct caller *c, const struct msg_stat *st)
{
	struct msg_sleeper sleeper;

	return (st->lspid || st->lrpid || gc_force) &&
	       (!st->lspid || is_dead(st->lspid)) &&
	       (!st->lrpid || is_dead(st->lrpid)) &&
	       msg_sleepers(c, st->id, &sleeper, 1) == 0;
}

static int shm_abandoned(const struct shm_stat *st)
{
	return !st->nattch && is_dead(st->cpid) &&
	       (!st->lpid || is_dead(st->lpid));
}

static int abandoned(struct caller *c, const struct object *o)
{
	switch (o->kind) {
	case FAC_SEM:
		return sem_abandoned(c, &o->sem);
	case FAC_MSG:
		return msg_abandoned(c, &o->msg);
	case FAC_SHM:
		return shm_abandoned(&o->shm);
	default:
		return !mq_in_use(c, &o->mq.desc);
	}
}

static s64 latest(s64 a, s64 b, s64 c)
{
	s64 most = a > b ? a : b;

	return most > c ? most : c;
}

/* When it was last used, or changed: seconds since 1970. */
static s64 last_used(struct caller *c, const struct object *o)
{
	struct mq_stat st;

	switch (o->kind) {
	case FAC_SEM:
		return latest(o->sem.otime, o->sem.ctime, 0);
	case FAC_MSG:
		return latest(o->msg.stime, o->msg.rtime, o->msg.ctime);
	case FAC_SHM:
		return latest(o->shm.atime, o->shm.dtime, o->shm.ctime);
	default:
		return mq_stat(c, &o->mq.desc, &st)
			       ? 0
			       : latest(st.atime, st.mtime, st.ctime) /
					 1000000000;
	}
}

static int gc_each(struct caller *c, const struct object *o, void *arg)
{
	struct gc *gc = arg;

	int err = 0;

	if (!gc->nobody && !abandoned(c, o))
		return 0;
	if (gc->before && last_used(c, o) > gc->before)
		return 0;
	gc->n++;
	if (!gc_dry_run)
		err = object_destroy(c, o);
	gc->failed |= err;
	if (err)
		return 0;
	printf("%s %s", gc_dry_run ? "would remove" : "removed",
		object_name(o));
	if (o->kind != FAC_MQ)
		printf(", key 0x%08x", (unsigned)o->key);
	putchar('\n');
	return 0;
}

/* Less memory is not reported. Arbitrary. */
#define GC_TOLD (64u << 10)

static u64 file_bytes(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (u64)st.st_blocks * 512;
}

/* Free memory of exited threads, and spare blocks of the heap. */
static u64 gc_memory(struct caller *c, const char *path)
{
	u64 before = file_bytes(path), now;

	reap_records(c, 0, 0);
	heap_reclaim(c);
	now = file_bytes(path);
	return before > now ? before - now : 0;
}

static int gc_main(int argc, char **argv)
{
	unsigned kinds = kinds_parse(argc, argv);
	const char *path = registry_path();
	struct gc gc = {0};
	long long age;
	struct caller *c;
	unsigned ended;
	u64 freed;
	int err;

	if (!kinds || !path ||
		(gc_older && parse_age("--older", gc_older, &age)))
		return EXIT_USAGE;
	if (gc_older)
		gc.before = time(NULL) - age;
	/* We must be able to enrol if the table is full of exited tasks. */
	caller_exited = reap_task_unheld;
	/* Before we are in its table ourselves. */
	gc.nobody = !home_in_use(path, 0);
	c = registry_open(&err);
	if (!c)
		return err;
	if (!gc_dry_run) {
		msg_leases_reclaim(c);
		mq_leases_reclaim(c);
	}
	err = object_each(c, kinds, gc_each, &gc);
	if (!err && !gc.n)
		puts("nothing to remove");
	freed = gc_dry_run ? 0 : gc_memory(c, path);
	ended = namespaces_sweep(path, gc_dry_run);
	if (ended)
		printf("%s the registries of %u IPC namespaces that have "
		       "ended\n",
			gc_dry_run ? "would remove" : "removed", ended);
	if (freed >= GC_TOLD)
		printf("gave back %s of memory that nothing used\n",
			human_bytes(freed));
	return err ? err : gc.failed;
}

const struct command gc_command = {
	.name = "gc",
	.summary = "remove objects whose users have all exited",
	.usage = "[OPTIONS] [KIND...]",
	.about = "Remove objects that are no longer used:\n"
		 "  sem  processes that did the last operation on a semaphore "
		 "of it are known\n"
		 "       and have all exited, and there is no SEM_UNDO and no "
		 "sleeper\n"
		 "  msg  the last sender and the last receiver (one is known) "
		 "have exited,\n"
		 "       and there is no sleeper\n"
		 "  shm  it is not attached; its creator and the last process "
		 "that attached or\n"
		 "       detached it have exited\n"
		 "  mq   no process has it open\n"
		 "If no process is on the registry at all: every object. Also "
		 "frees memory that\n"
		 "exited threads had for their calls, puts messages that "
		 "exited processes had on\n"
		 "lease (libipclift(7)) back into their queues, and removes "
		 "registries of IPC\n"
		 "namespaces (PATH.ns/N) that have ended. A set or queue that "
		 "was never used is\n"
		 "kept, for its creator is not known, unless --force is given.",
	.options = gc_options,
	.is = COMMAND_ON_REGISTRY,
	.main = gc_main,
};
