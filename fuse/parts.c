// SPDX-License-Identifier: MIT
/*
 * What the files of an object say, in sem, msg and shm.
 *
 * `stat` has a field a line, name and value; the others a line of column names
 * and then a row an item, for awk as well as for people.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "content.h"
#include "inspect/msgview.h"
#include "inspect/rows.h"
#include "inspect/semview.h"
#include "shm/shmattach.h"
#include "inspect/shmview.h"
#include "source.h"

/* Items looked at first; more are asked for again. Arbitrary. */
#define ITEMS_FIRST 64

/* A file of rows: who is asked for them, and what is said of one. */
struct rows_file {
	/* At most n into rows; the number there are, or -errno. */
	s64 (*ask)(struct caller *c, s32 id, void *rows, u32 n);
	size_t size; /* of a row */
	const struct column *columns;
};

/* Asks again with more space as long as there are more than fitted. */
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
		column_text(t, f->columns, NULL, 0);
	for (i = 0; i < n; i++)
		column_text(t, f->columns, rows + i * f->size, i);
	free(rows);
	return n < 0 ? (int)n : 0;
}

/* content_NAME, a file of rows of a type that a function of inspect/ fills in.
 */
#define ROWS_FILE(name, type, function, columns)                           \
	static s64 ask_##name(struct caller *c, s32 id, void *rows, u32 n) \
	{                                                                  \
		return function(c, id, rows, n);                           \
	}                                                                  \
	int content_##name(struct caller *c, s32 id, struct text *t)       \
	{                                                                  \
		static const struct rows_file f = {                        \
			ask_##name, sizeof(type), columns};                \
                                                                           \
		return print_rows(c, id, t, &f);                           \
	}

/* ---- semaphore sets ---- */

int content_sem_stat(struct caller *c, s32 id, struct text *t)
{
	struct sem_stat st;
	int err = sem_stat(c, id, OBJECT_BY_ID, &st);

	if (!err)
		column_fields(t, sem_stat_columns, &st);
	return err;
}

ROWS_FILE(sem_values, struct sem_value, sem_values, sem_value_columns)
ROWS_FILE(sem_holders, struct sem_holder, sem_holders, sem_holder_columns)
ROWS_FILE(sem_waiters, struct sem_sleeper, sem_sleepers, sem_sleeper_columns)

/* ---- message queues ---- */

int content_msg_stat(struct caller *c, s32 id, struct text *t)
{
	struct msg_stat st;
	int err = msg_stat(c, id, OBJECT_BY_ID, &st);

	if (!err)
		column_fields(t, msg_stat_columns, &st);
	return err;
}

ROWS_FILE(msg_messages, struct msg_entry, msg_entries, msg_entry_columns)
ROWS_FILE(msg_waiters, struct msg_sleeper, msg_sleepers, msg_sleeper_columns)

/* ---- segments ---- */

int content_shm_stat(struct caller *c, s32 id, struct text *t)
{
	struct shm_stat st;
	int err = shm_stat(c, id, OBJECT_BY_ID, &st);

	if (!err)
		column_fields(t, shm_stat_columns, &st);
	return err;
}

ROWS_FILE(shm_attachments, struct shm_attachment, shm_attachments,
	shm_attachment_columns)

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
