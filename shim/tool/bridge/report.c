// SPDX-License-Identifier: MIT
/*
 * What a bridge tells of its lines; see lines.h.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tool/bridge/lines.h"
#include "tool/view/metrics.h"
#include "tool/view/objects.h"

static void head(
	struct text *t, const char *name, const char *type, const char *help)
{
	char full[64];

	snprintf(full, sizeof(full), "ipclift_bridge_%s", name);
	metrics_head(t, full, type, help);
}

static void by_link(
	struct text *t, const char *name, const struct link *l, uint64_t v)
{
	text_print(t, "ipclift_bridge_%s{direction=\"%s\",kind=\"%s\",", name,
		l->in ? "in" : "out", facility_names[l->kind]);
	metrics_label(t, "queue", l->queue);
	text_print(t, ",");
	metrics_label(t, "stream", l->stream);
	text_print(t, "}");
	metrics_value(t, v);
}

void report_metrics(void *arg, struct text *t)
{
	static const struct {
		const char *name, *type, *help;
		size_t at;
	} told[] = {
		{"messages_total", "counter", "Messages carried.",
			offsetof(struct counters, messages)},
		{"bytes_total", "counter", "Bytes of the messages carried.",
			offsetof(struct counters, bytes)},
		{"duplicates_total", "counter",
			"Messages dropped for they had come before.",
			offsetof(struct counters, duplicates)},
		{"rejected_total", "counter",
			"Messages that the queue can never take.",
			offsetof(struct counters, rejected)},
		{"claimed_total", "counter",
			"Messages taken over from other consumers.",
			offsetof(struct counters, claimed)},
		{"reconnects_total", "counter",
			"Connections to Redis made again.",
			offsetof(struct counters, reconnects)},
	};
	const struct link *l;
	unsigned i, k;

	(void)arg;
	for (k = 0; k < sizeof(told) / sizeof(told[0]); k++) {
		head(t, told[k].name, told[k].type, told[k].help);
		for (i = 0; i < n_links; i++) {
			l = &links[i];
			by_link(t, told[k].name, l,
				*(const uint64_t *)(const void
						*)((const char *)l->counters +
						   told[k].at));
		}
	}
	head(t, "connected", "gauge", "1 while it is connected to Redis.");
	for (i = 0; i < n_links; i++)
		by_link(t, "connected", &links[i],
			links[i].counters->connected);
	head(t, "blocked", "gauge", "1 while the queue is full.");
	for (i = 0; i < n_links; i++)
		by_link(t, "blocked", &links[i],
			links[i].counters->waits == WAITS_SPACE);
}

/* ---- on a terminal ---- */

static struct counters sum(const char **ret_waits, const struct link **ret_who)
{
	static const char *const what[] = {[WAITS_NOT] = "",
		[WAITS_MESSAGE] = "",
		[WAITS_REDIS] = "waits for Redis",
		[WAITS_SPACE] = "the queue is full",
		[WAITS_QUEUE] = "waits for the queue"};
	struct counters all = {0};
	const struct counters *n;
	unsigned i;

	*ret_waits = "";
	*ret_who = NULL;
	for (i = 0; i < n_links; i++) {
		n = links[i].counters;
		all.messages += n->messages;
		all.bytes += n->bytes;
		all.duplicates += n->duplicates;
		all.rejected += n->rejected;
		if (n->waits <= WAITS_QUEUE && *what[n->waits]) {
			*ret_waits = what[n->waits];
			*ret_who = &links[i];
		}
	}
	return all;
}

void report_progress(int last)
{
	static struct counters before;
	static struct timespec then;
	struct timespec now;
	const struct link *who;
	const char *waits;
	struct counters all = sum(&waits, &who);
	double s;

	clock_gettime(CLOCK_MONOTONIC, &now);
	s = (double)(now.tv_sec - then.tv_sec) +
	    (double)(now.tv_nsec - then.tv_nsec) / 1e9;
	if (!then.tv_sec || s <= 0)
		s = 1;
	fprintf(stderr,
		"\r%llu messages, %.0f/s, %.2f MB/s; %llu dropped, "
		"%llu rejected%s%s%s%s\033[K%s",
		(unsigned long long)all.messages,
		(double)(all.messages - before.messages) / s,
		(double)(all.bytes - before.bytes) / s / 1e6,
		(unsigned long long)all.duplicates,
		(unsigned long long)all.rejected, who ? "; " : "",
		who && n_links > 1 ? who->name : "",
		who && n_links > 1 ? " " : "", waits, last ? "\n" : "");
	fflush(stderr);
	before = all;
	then = now;
}
