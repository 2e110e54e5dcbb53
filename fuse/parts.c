// SPDX-License-Identifier: MIT
/*
 * What the files of an object say, in sem, msg and shm.
 *
 * `stat` has a field a line, name and value; the others a line of column names
 * and then a row an item, for awk as well as for people.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "inspect/msgview.h"
#include "object/perm.h"
#include "inspect/semview.h"
#include "shm/shmattach.h"
#include "inspect/shmview.h"
#include "source.h"

/* Items looked at first; more are asked for again. Arbitrary. */
#define ITEMS_FIRST 64

static void field(struct text *t, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void field(struct text *t, const char *name, const char *fmt, ...)
{
	char value[64];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	text_print(t, "%-8s %s\n", name, value);
}

static void time_field(struct text *t, const char *name, s64 sec)
{
	text_print(t, "%-8s ", name);
	text_time(t, sec);
	text_print(t, "\n");
}

static void pid_field(struct text *t, const char *name, u32 pid)
{
	text_print(t, "%-8s %u ", name, pid);
	if (pid)
		text_process(t, pid);
	else
		text_print(t, "-");
	text_print(t, "\n");
}

/* What every object has. */
static void common_fields(struct text *t, const struct object_stat *st)
{
	field(t, "key", "0x%08x", (unsigned)st->key);
	field(t, "id", "%d", st->id);
	field(t, "perms", "%04o", st->mode);
	field(t, "uid", "%u", st->uid);
	field(t, "gid", "%u", st->gid);
	field(t, "cuid", "%u", st->cuid);
	field(t, "cgid", "%u", st->cgid);
}

/* A file of rows: who is asked for them, and how one is printed. */
struct rows_file {
	/* At most n into rows; the number there are, or -errno. */
	s64 (*ask)(struct caller *c, s32 id, void *rows, u32 n);
	size_t size; /* of a row */
	const char *head;
	void (*row)(struct text *t, s64 i, const void *row);
};

/* Asks again with more room as long as there are more than fitted. */
static int print_rows(
	struct caller *c, s32 id, struct text *t, const struct rows_file *f)
{
	u32 cap = ITEMS_FIRST;
	char *rows = NULL;
	s64 n, i;

	for (;;) {
		rows = malloc(cap * f->size);
		if (!rows)
			return -ENOMEM;
		n = f->ask(c, id, rows, cap);
		if (n <= cap)
			break;
		free(rows);
		cap = (u32)n + ITEMS_FIRST;
	}
	if (n >= 0)
		text_print(t, "%s\n", f->head);
	for (i = 0; i < n; i++)
		f->row(t, i, rows + i * f->size);
	free(rows);
	return n < 0 ? (int)n : 0;
}

/* content_NAME, a file of rows of a type that a function of inspect/ fills in,
 * each printed by NAME_row, under a line of column names. */
#define ROWS_FILE(name, type, function, head)                              \
	static s64 ask_##name(struct caller *c, s32 id, void *rows, u32 n) \
	{                                                                  \
		return function(c, id, rows, n);                           \
	}                                                                  \
	int content_##name(struct caller *c, s32 id, struct text *t)       \
	{                                                                  \
		static const struct rows_file f = {                        \
			ask_##name, sizeof(type), head, name##_row};       \
                                                                           \
		return print_rows(c, id, t, &f);                           \
	}

/* The last columns: since when, and the command. */
static void end_of_row(struct text *t, s64 since, u32 pid)
{
	text_time(t, since);
	text_print(t, " ");
	text_process(t, pid);
	text_print(t, "\n");
}

/* ---- semaphore sets ---- */

int content_sem_stat(struct caller *c, s32 id, struct text *t)
{
	struct sem_stat st;
	int err = sem_stat(c, id, OBJECT_BY_ID, &st);

	if (err)
		return err;
	common_fields(t, &st.object);
	field(t, "nsems", "%u", st.nsems);
	time_field(t, "otime", st.otime);
	time_field(t, "ctime", st.ctime);
	return 0;
}

int content_sem_values(struct caller *c, s32 id, struct text *t)
{
	int n = sem_set_size(c, id, PERM_R), num, pid, ncnt, zcnt, err = 0;
	u16 *values;

	if (n < 0)
		return n;
	values = malloc((size_t)n * sizeof(*values));
	if (!values)
		return -ENOMEM;
	err = sem_getall(c, id, values, (u32)n);
	text_print(t, "%6s %6s %6s %6s %7s\n", "NUM", "VALUE", "NCNT", "ZCNT",
		"PID");
	for (num = 0; num < n && err >= 0; num++) {
		pid = sem_getpid(c, id, num);
		ncnt = sem_getncnt(c, id, num);
		zcnt = sem_getzcnt(c, id, num);
		if (pid < 0 || ncnt < 0 || zcnt < 0)
			err = -EIDRM;
		text_print(t, "%6d %6u %6d %6d %7d\n", num, values[num], ncnt,
			zcnt, pid);
	}
	free(values);
	return err < 0 ? err : 0;
}

static void sem_holders_row(struct text *t, s64 i, const void *row)
{
	const struct sem_holder *r = row;

	(void)i;
	text_print(t, "%7u %6u %+7d ", r->pid, r->num, r->adj);
	end_of_row(t, r->since, r->pid);
}

ROWS_FILE(sem_holders, struct sem_holder, sem_holders,
	"    PID    NUM    UNDO SINCE               COMMAND")

static void sem_waiters_row(struct text *t, s64 i, const void *row)
{
	const struct sem_sleeper *r = row;

	(void)i;
	text_print(t, "%7u %7u %6u %+7d %5u ", r->pid, r->tid, r->op.num,
		r->op.op, r->n_sops);
	end_of_row(t, r->since, r->pid);
}

ROWS_FILE(sem_waiters, struct sem_sleeper, sem_sleepers,
	"    PID     TID    NUM      OP NSOPS SINCE               COMMAND")

/* ---- message queues ---- */

int content_msg_stat(struct caller *c, s32 id, struct text *t)
{
	struct msg_stat st;
	int err = msg_stat(c, id, OBJECT_BY_ID, &st);

	if (err)
		return err;
	common_fields(t, &st.object);
	field(t, "cbytes", "%llu", (unsigned long long)st.cbytes);
	field(t, "qnum", "%llu", (unsigned long long)st.qnum);
	field(t, "qbytes", "%llu", (unsigned long long)st.qbytes);
	pid_field(t, "lspid", st.lspid);
	pid_field(t, "lrpid", st.lrpid);
	time_field(t, "stime", st.stime);
	time_field(t, "rtime", st.rtime);
	time_field(t, "ctime", st.ctime);
	return 0;
}

static void msg_messages_row(struct text *t, s64 i, const void *row)
{
	const struct msg_entry *r = row;

	text_print(t, "%8lld %20lld %10llu\n", (long long)i, (long long)r->type,
		(unsigned long long)r->size);
}

ROWS_FILE(msg_messages, struct msg_entry, msg_entries,
	"     NUM                 TYPE       SIZE")

static void msg_waiters_row(struct text *t, s64 i, const void *row)
{
	const struct msg_sleeper *r = row;
	static const char *const wants[] = {
		[MSG_WANT_ANY] = "any",
		[MSG_WANT_TYPE] = "type",
		[MSG_WANT_NOT_TYPE] = "not",
		[MSG_WANT_UP_TO] = "up-to",
		[MSG_WANT_ROOM] = "room",
	};

	(void)i;
	text_print(t, "%7u %7u %-5s %12lld %10llu ", r->pid, r->tid,
		r->want <= MSG_WANT_ROOM ? wants[r->want] : "?",
		(long long)r->type, (unsigned long long)r->size);
	end_of_row(t, r->since, r->pid);
}

ROWS_FILE(msg_waiters, struct msg_sleeper, msg_sleepers,
	"    PID     TID FOR           TYPE       SIZE SINCE               "
	"COMMAND")

/* ---- segments ---- */

int content_shm_stat(struct caller *c, s32 id, struct text *t)
{
	struct shm_stat st;
	int err = shm_stat(c, id, OBJECT_BY_ID, &st);

	if (err)
		return err;
	common_fields(t, &st.object);
	field(t, "size", "%llu", (unsigned long long)st.size);
	field(t, "nattch", "%llu", (unsigned long long)st.nattch);
	pid_field(t, "cpid", st.cpid);
	pid_field(t, "lpid", st.lpid);
	time_field(t, "atime", st.atime);
	time_field(t, "dtime", st.dtime);
	time_field(t, "ctime", st.ctime);
	return 0;
}

static void shm_attachments_row(struct text *t, s64 i, const void *row)
{
	const struct shm_attachment *r = row;

	(void)i;
	text_print(t, "%7u %6u %-4s 0x%016llx ", r->pid, r->count,
		r->read_only ? "ro" : "rw", (unsigned long long)r->addr);
	end_of_row(t, r->since, r->pid);
}

ROWS_FILE(shm_attachments, struct shm_attachment, shm_attachments,
	"    PID PIECES MODE            ADDRESS SINCE               COMMAND")

u64 content_data_size(const struct caller *c, const struct slot *s)
{
	const struct shm_segment *seg = shm_body(c, s);

	return seg ? seg->size : 0;
}

ssize_t content_data(
	struct caller *c, s32 id, char *buf, size_t size, u64 offset)
{
	s64 len = shm_copy(c, id, source_fd(), offset, buf, size, 0);

	return len == -EINVAL || len == -EIDRM ? -ENOENT : len;
}
