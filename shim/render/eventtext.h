// SPDX-License-Identifier: MIT
/*
 * An event of the registry's ring as a line for people: for the log of a
 * program (entry/log.c), the mount and the command.
 */
#ifndef IPCLIFT_RENDER_EVENTTEXT_H
#define IPCLIFT_RENDER_EVENTTEXT_H

#include "registry/event.h"

/* No text is longer. */
#define EVENT_TEXT_MAX 320u

/* What happened, without time and process: into buf (capacity cap,
 * zero-terminated, cut if too long); its length. */
size_t event_text(
	const struct header *h, const struct event *e, char *buf, size_t cap);

/* Kinds of events, as the command names them, and which this one is of. */
extern const char *const event_kinds[];
#define N_EVENT_KINDS 4u
u32 event_kind(const struct event *e);

#endif
