// SPDX-License-Identifier: MIT
/*
 * ipclift metrics: what a registry counts, in Prometheus' text format.
 */
#ifndef IPCLIFT_TOOL_VIEW_METRICS_H
#define IPCLIFT_TOOL_VIEW_METRICS_H

#include "inspect/text.h"
#include "registry/caller.h"

/* All of them; t->failed if there was no space. c NULL: only that the registry
 * at path is not to be had. */
void metrics_text(struct caller *c, const char *path, struct text *t);

/* Answer GET /metrics at ADDRESS:PORT until a signal comes: an exit status.
 * EXIT_FAILED or EXIT_USAGE after a message. (listen.c) */
int metrics_listen(struct caller *c, const char *path, const char *where);

#endif
