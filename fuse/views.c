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
#include "render/eventtext.h"
#include "object/limits.h"
#include "inspect/lockview.h"
#include "render/render.h"
#include "inspect/taskview.h"
#include "registry/event.h"
#include "source.h"
#include "inspect/graph.h"

/* ---- sysvipc ---- */

/* Rows of several objects at a time. Arbitrary. */
#define ROWS_ROOM 65536u

int content_sysvipc(
	struct caller *c, enum facility fac, u32 *idx, struct text *t)
{
	char *at;
	s64 n;

	do {
		at = text_room(t, ROWS_ROOM);
		if (!at)
			return -ENOMEM;
		n = render_rows(c, fac, idx, at, ROWS_ROOM);
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

/* Clock ticks since boot as a time. */
static s64 start_time(u64 ticks)
{
	struct timespec boot, now;

	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec - boot.tv_sec +
	       (s64)(ticks / (u64)sysconf(_SC_CLK_TCK));
}

static const char *life_name(const struct task_view *v)
{
	static const char *const names[] = {
		[TASK_LIFE_NONE] = "none",
		[TASK_LIFE_LINKED] = "linked",
		[TASK_LIFE_FIRED] = "fired",
		[TASK_LIFE_REFUSED] = "refused",
	};

	return v->life <= TASK_LIFE_REFUSED ? names[v->life] : "?";
}

static void print_task(const struct task_view *v, struct text *t)
{
	const char *state = "live";

	if (v->state == TASK_PREFORK)
		state = "fork"; /* what a child to be will inherit */
	else if (v->gone)
		state = "gone"; /* something of it is still to be taken back */
	text_print(t, "%7u %-5s %7u %6u %6u %-8s ",
		v->child ? v->child : v->pid, state, v->n_threads, v->n_undo,
		v->n_attach, life_name(v));
	text_time(t, v->start ? start_time(v->start) : 0);
	text_print(t, " ");
	text_process(t, v->child ? v->child : v->pid);
	text_print(t, "\n");
}

int content_tasks(struct caller *c, struct text *t)
{
	struct task_view v;
	u32 at = 0;
	int err;

	text_print(t, "%7s %-5s %7s %6s %6s %-8s %-19s %s\n", "PID", "STATE",
		"THREADS", "UNDO", "SHM", "LIFELINE", "STARTED", "COMMAND");
	/* As `ipclift tasks`: not the dead who left nothing behind. */
	while ((err = task_view_next(c, &at, &v)) > 0)
		if (!v.gone || v.n_undo || v.n_attach)
			print_task(&v, t);
	return err;
}

/* ---- locks ---- */

/* "sem 5" is sem/5, and "mq /name" mq/name, as in the tree. */
static void print_lock_name(const char *name, struct text *t)
{
	char path[sizeof(((struct lock_view *)0)->name)], *to = path;

	for (; *name; name++)
		if (*name != ' ')
			*to++ = *name;
		else if (name[1] != '/')
			*to++ = '/';
	*to = 0;
	text_print(t, "%-24s ", path);
}

int content_locks(struct caller *c, struct text *t)
{
	struct lock_cursor at = {0, 0};
	struct lock_view v;

	text_print(t, "profiling %s\n%-24s %10s %14s %10s %9s %9s %9s %7s\n",
		caller_header(c)->profiling ? "on" : "off", "LOCK", "MAX_NS",
		"TOTAL_NS", "COUNT", "AVG_NS", "CNT_HOLD", "CNT_LOCK", "OWNER");
	while (lock_view_next(c, &at, &v)) {
		print_lock_name(v.name, t);
		text_print(t, "%10u %14llu %10llu %9llu %9u %9u %7u\n",
			v.max_ns, (unsigned long long)v.total_ns,
			(unsigned long long)v.count,
			(unsigned long long)(v.count ? v.total_ns / v.count
						     : 0),
			v.cnt_hold, v.cnt_lock, v.owner);
	}
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
	u64 seq = 0;
	char line[EVENT_TEXT_MAX];
	struct event e;

	text_print(
		t, "%-19s %7s %-15s %s\n", "TIME", "PID", "COMMAND", "EVENT");
	while ((seq = event_next(&c->region, seq))) {
		if (!event_get(&c->region, seq, &e))
			continue;
		text_time(t, e.time);
		event_text(caller_header(c), &e, line, sizeof(line));
		text_print(t, " %7u %-15.16s %s\n", e.pid, e.command, line);
	}
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
		(unsigned long long)(h->heap.reserved - HEAP_OFF));
	text_print(t, "threads.records %u\n", h->thread_high - 1);
	text_print(t, "events %llu\n", (unsigned long long)h->event_seq);
	return 0;
}
