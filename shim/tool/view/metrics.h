// SPDX-License-Identifier: MIT
/*
 * ipclift metrics: a registry's counters, in Prometheus' text format.
 */
#ifndef IPCLIFT_TOOL_VIEW_METRICS_H
#define IPCLIFT_TOOL_VIEW_METRICS_H

#include <signal.h>

#include "inspect/text.h"
#include "registry/caller.h"

/* Write the file at path: by a new file that replaces it, so that readers never
 * see a part. An exit status, after a message that begins with the path. */
int metrics_write(const char *path, const struct text *t);

/* Parts of the format: "# HELP" and "# TYPE"; NAME="VALUE" with VALUE as the
 * format wants it; a blank, the value and the line's end. */
void metrics_head(
	struct text *t, const char *name, const char *type, const char *help);
void metrics_label(struct text *t, const char *name, const char *value);
void metrics_value(struct text *t, u64 v);

/* Makes the answer to GET /metrics, in another thread. */
typedef void metrics_fill(void *arg, struct text *t);
struct http;
/* Answer at ADDRESS:PORT until http_stop; prints the port. One at a time.
 * NULL after a message: *ret is the exit status. The signals that end the
 * command are blocked before, by http_ends, or its thread would get them.
 * (listen.c) */
struct http *http_start(
	const char *where, metrics_fill *fill, void *arg, int *ret);
void http_stop(struct http *h);
/* Block SIGINT, SIGTERM and SIGHUP, which *ret names then. */
int http_ends(sigset_t *ret);

#endif
