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
#include "ipc/msgview.h"
#include "ipc/semview.h"
#include "ipc/shmattach.h"
#include "ipc/shmview.h"
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

/*
 * Rows of a view that fills an array: asked for again with more room as long
 * as there are more than fitted. The array, malloced, or NULL with *ret_n the
 * error.
 */
typedef s64 ask_fn(struct caller *c, s32 id, void *rows, u32 n);

static void *ask_rows(
	struct caller *c, s32 id, ask_fn *ask, size_t size, s64 *ret_n)
{
	u32 cap = ITEMS_FIRST;
	void *rows = NULL;

	do {
		free(rows);
		rows = malloc(cap * size);
		if (!rows) {
			*ret_n = -ENOMEM;
			return NULL;
		}
		*ret_n = ask(c, id, rows, cap);
		if (*ret_n >= 0 && (u32)*ret_n <= cap)
			return rows;
		cap = (u32)*ret_n + ITEMS_FIRST;
	} while (*ret_n >= 0);
	free(rows);
	return NULL;
}

/* ---- semaphore sets ---- */

int content_sem_stat(struct caller *c, s32 id, struct text *t)
{
	struct sem_stat st;
	int err = sem_stat(c, id, SEM_BY_ID, &st);

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

static s64 ask_holders(struct caller *c, s32 id, void *rows, u32 n)
{
	return sem_holders(c, id, rows, n);
}

int content_sem_holders(struct caller *c, s32 id, struct text *t)
{
	struct sem_holder *rows;
	s64 n, i;

	rows = ask_rows(c, id, ask_holders, sizeof(*rows), &n);
	if (!rows)
		return (int)n;
	text_print(t, "%7s %6s %7s %s\n", "PID", "NUM", "UNDO", "COMMAND");
	for (i = 0; i < n; i++) {
		text_print(t, "%7u %6u %+7d ", rows[i].pid, rows[i].num,
			rows[i].adj);
		text_process(t, rows[i].pid);
		text_print(t, "\n");
	}
	free(rows);
	return 0;
}

static s64 ask_sleepers(struct caller *c, s32 id, void *rows, u32 n)
{
	return sem_sleepers(c, id, rows, n);
}

int content_sem_waiters(struct caller *c, s32 id, struct text *t)
{
	struct sem_sleeper *rows;
	s64 n, i;

	rows = ask_rows(c, id, ask_sleepers, sizeof(*rows), &n);
	if (!rows)
		return (int)n;
	text_print(t, "%7s %7s %6s %7s %5s %-19s %s\n", "PID", "TID", "NUM",
		"OP", "NSOPS", "SINCE", "COMMAND");
	for (i = 0; i < n; i++) {
		text_print(t, "%7u %7u %6u %+7d %5u ", rows[i].pid, rows[i].tid,
			rows[i].op.num, rows[i].op.op, rows[i].n_sops);
		text_time(t, rows[i].since);
		text_print(t, " ");
		text_process(t, rows[i].pid);
		text_print(t, "\n");
	}
	free(rows);
	return 0;
}

/* ---- message queues ---- */

int content_msg_stat(struct caller *c, s32 id, struct text *t)
{
	struct msg_stat st;
	int err = msg_stat(c, id, MSG_BY_ID, &st);

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

static s64 ask_messages(struct caller *c, s32 id, void *rows, u32 n)
{
	return msg_entries(c, id, rows, n);
}

int content_msg_messages(struct caller *c, s32 id, struct text *t)
{
	struct msg_entry *rows;
	s64 n, i;

	rows = ask_rows(c, id, ask_messages, sizeof(*rows), &n);
	if (!rows)
		return (int)n;
	text_print(t, "%8s %20s %10s\n", "NUM", "TYPE", "SIZE");
	for (i = 0; i < n; i++)
		text_print(t, "%8lld %20lld %10llu\n", (long long)i,
			(long long)rows[i].type,
			(unsigned long long)rows[i].size);
	free(rows);
	return 0;
}

static s64 ask_msg_sleepers(struct caller *c, s32 id, void *rows, u32 n)
{
	return msg_sleepers(c, id, rows, n);
}

int content_msg_waiters(struct caller *c, s32 id, struct text *t)
{
	static const char *const wants[] = {
		[MSG_WANT_ANY] = "any",
		[MSG_WANT_TYPE] = "type",
		[MSG_WANT_NOT_TYPE] = "not",
		[MSG_WANT_UP_TO] = "up-to",
		[MSG_WANT_ROOM] = "room",
	};
	struct msg_sleeper *rows;
	s64 n, i;

	rows = ask_rows(c, id, ask_msg_sleepers, sizeof(*rows), &n);
	if (!rows)
		return (int)n;
	text_print(t, "%7s %7s %-5s %12s %10s %-19s %s\n", "PID", "TID", "FOR",
		"TYPE", "SIZE", "SINCE", "COMMAND");
	for (i = 0; i < n; i++) {
		text_print(t, "%7u %7u %-5s %12lld %10llu ", rows[i].pid,
			rows[i].tid,
			rows[i].want <= MSG_WANT_ROOM ? wants[rows[i].want]
						      : "?",
			(long long)rows[i].type,
			(unsigned long long)rows[i].size);
		text_time(t, rows[i].since);
		text_print(t, " ");
		text_process(t, rows[i].pid);
		text_print(t, "\n");
	}
	free(rows);
	return 0;
}

/* ---- segments ---- */

int content_shm_stat(struct caller *c, s32 id, struct text *t)
{
	struct shm_stat st;
	int err = shm_stat(c, id, SHM_BY_ID, &st);

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

static s64 ask_attachments(struct caller *c, s32 id, void *rows, u32 n)
{
	return shm_attachments(c, id, rows, n);
}

int content_shm_attachments(struct caller *c, s32 id, struct text *t)
{
	struct shm_attachment *rows;
	s64 n, i;

	rows = ask_rows(c, id, ask_attachments, sizeof(*rows), &n);
	if (!rows)
		return (int)n;
	text_print(t, "%7s %6s %-4s %18s %s\n", "PID", "PIECES", "MODE",
		"ADDRESS", "COMMAND");
	for (i = 0; i < n; i++) {
		text_print(t, "%7u %6u %-4s 0x%016llx ", rows[i].pid,
			rows[i].count, rows[i].read_only ? "ro" : "rw",
			(unsigned long long)rows[i].addr);
		text_process(t, rows[i].pid);
		text_print(t, "\n");
	}
	free(rows);
	return 0;
}

u64 content_data_size(const struct caller *c, const struct slot *s)
{
	const struct shm_segment *seg = shm_body(c, s);

	return seg ? seg->size : 0;
}

/* Its generation is looked at before and after: an id may come again. */
ssize_t content_data(struct caller *c, const struct node *n, char *buf,
	size_t size, u64 offset)
{
	u64 ident;
	s64 len;

	if (!node_slot(c, n, &ident))
		return -ENOENT;
	len = shm_copy(c, n->id, source_fd(), offset, buf, size, 0);
	if (len == -EINVAL || len == -EIDRM || !node_slot(c, n, &ident))
		return -ENOENT;
	return len;
}
