// SPDX-License-Identifier: MIT
/*
 * Views of the whole registry: tasks, events, stats; the sysvipc files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "content.h"
#include "object/limits.h"
#include "inspect/lockview.h"
#include "inspect/rows.h"
#include "render/render.h"
#include "inspect/taskview.h"
#include "source.h"
#include "inspect/graph.h"
#include "registry/event.h"
#include "registry/heap.h"

/* ---- sysvipc ---- */

/* Rows of several objects at a time. Arbitrary. */
#define ROWS_SIZE 65536u

int content_sysvipc(
	struct caller *c, enum facility fac, u32 *idx, struct text *t)
{
	char *at;
	s64 n;

	do {
		at = text_reserve(t, ROWS_SIZE);
		if (!at)
			return -ENOMEM;
		n = render_rows(c, fac, idx, at, ROWS_SIZE);
		if (n > 0)
			t->len += (size_t)n;
	} while (n > 0);
	return (int)n;
}

/* ---- waits ---- */

int content_waits(struct caller *c, struct text *t)
{
	struct graph g;
	int err = graph_read(c, &g);

	if (!err)
		graph_print(&g, t);
	graph_deinit(&g);
	return err;
}

/* ---- a queue of messages ---- */

int content_queue(struct caller *c, const struct mq_desc *d, char *line)
{
	struct mq_status st;
	int err = mq_status(c, d, &st);

	if (err)
		return err == -EBADF ? -ENOENT : err;
	return (int)render_mq_line(&st, line);
}

/* ---- tasks ---- */

int content_tasks(struct caller *c, struct text *t)
{
	struct task_view v;
	struct task_walk at = {0};
	int err;

	column_text(t, task_columns, NULL, 0);
	/* As `ipclift tasks`: not exited tasks that left nothing behind. */
	while ((err = task_view_next(c, &at, &v)) > 0)
		if (!v.gone || v.n_undo || v.n_attach)
			column_text(t, task_columns, &v, 0);
	return err;
}

/* ---- locks ---- */

int content_locks(struct caller *c, struct text *t)
{
	struct lock_cursor at = {0, 0};
	struct lock_view v;

	text_print(t, "profiling %s\n",
		caller_header(c)->profiling ? "on" : "off");
	column_text(t, lock_columns, NULL, 0);
	while (lock_view_next(c, &at, &v))
		column_text(t, lock_columns, &v, 0);
	return 0;
}

/* One word, blanks around it allowed. */
static int is_word(const char *s, size_t n, const char *word)
{
	while (n && strchr(" \t\n", s[n - 1]))
		n--;
	while (n && strchr(" \t\n", *s))
		s++, n--;
	return n == strlen(word) && !memcmp(s, word, n);
}

s64 content_set_locks(struct caller *c, const char *text, size_t n)
{
	int err = -EINVAL;

	if (is_word(text, n, "on"))
		err = lock_view_profile(c, 1);
	else if (is_word(text, n, "off"))
		err = lock_view_profile(c, 0);
	else if (is_word(text, n, "reset"))
		err = lock_view_reset(c);
	return err < 0 ? err : (s64)n;
}

/* ---- events ---- */

int content_events(struct caller *c, struct text *t)
{
	struct event_view v = {.h = caller_header(c)};
	u64 seq = 0;

	column_text(t, event_columns, NULL, 0);
	while ((seq = event_next(&c->region, seq)))
		if (event_get(&c->region, seq, &v.event))
			column_text(t, event_columns, &v, 0);
	return 0;
}

/* ---- stats ---- */

static void print_facility(
	struct caller *c, enum facility fac, const char *name, struct text *t)
{
	const struct id_table *ids = &caller_header(c)->ids[fac];

	text_print(t, "%s.objects %u\n", name, ids->in_use);
	text_print(t, "%s.keys %u\n", name, ids->n_keys);
	text_print(t, "%s.made %llu\n", name, (unsigned long long)ids->gen - 1);
}

int content_stats(struct caller *c, struct text *t)
{
	const struct header *h = caller_header(c);

	text_print(t, "registry %s\n", source_path());
	text_print(t, "layout %u\n", h->version);
	text_print(t, "owner %u\n", h->owner);
	text_print(t, "created ");
	text_time(t, h->created);
	text_print(t, "\nlimits %s\n",
		h->profile == LIMITS_KERNEL ? "kernel" : "roomy");
	text_print(t, "ids %s\n",
		h->idx_bits == IDX_BITS_NORMAL ? "normal" : "extended");
	text_print(t, "profiling %s\n", h->profiling ? "on" : "off");
	print_facility(c, FAC_SEM, "sem", t);
	text_print(t, "sem.semaphores %llu\n",
		(unsigned long long)h->ids[FAC_SEM].total);
	print_facility(c, FAC_MSG, "msg", t);
	print_facility(c, FAC_SHM, "shm", t);
	text_print(t, "shm.pages %llu\n",
		(unsigned long long)h->ids[FAC_SHM].total);
	text_print(t, "shm.pool_pages %llu\n", (unsigned long long)h->shm.pool);
	print_facility(c, FAC_MQ, "mq", t);
	text_print(t, "heap.used %llu\n", (unsigned long long)h->heap.used);
	text_print(t, "heap.reserved %llu\n",
		(unsigned long long)(heap_pages(c) * SYS_PAGE));
	text_print(t, "threads.records %u\n", h->thread_high - 1);
	text_print(t, "events %llu\n", (unsigned long long)h->event_seq);
	return 0;
}
