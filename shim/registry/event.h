// SPDX-License-Identifier: MIT
/*
 * The event ring: limit hits, recoveries, refusals. Lock-free and lossy: a
 * writer claims a sequence number, fills the entry and publishes it; readers
 * skip what is being written or was overwritten. A limit's hit is written to a
 * second ring as well, with the same number, so that many ends of processes do
 * not push it out: there it takes the place of the oldest one.
 */
#ifndef IPCLIFT_REGISTRY_EVENT_H
#define IPCLIFT_REGISTRY_EVENT_H

#include "registry/caller.h"

enum event_code {
	EVENT_RECOVERED = 1, /* arg0 = tid of the dead owner */
	EVENT_LIMIT,	   /* arg0 = LIMIT_* | errno << 32, arg1 = its value */
	EVENT_REAPED,	   /* arg0 = pid whose undo was applied */
	EVENT_KERNEL_KEY,  /* arg0 = facility, arg1 = key that the kernel has */
	EVENT_DETACHED,	   /* of 0.1.0: attachments of a process that ended */
	EVENT_NO_SPACE,	   /* arg0 = pages asked for, arg1 = pages left */
	EVENT_REFUSED,	   /* arg0 = control file, arg1 = errno of its text */
	EVENT_NO_LIFELINE, /* arg0 = pid that is refused robust lists */
	EVENT_NO_BARRIER,  /* arg0 = errno of membarrier(2): bias.h */
	EVENT_NOT_NOTIFIED, /* arg0 = pid not notified, arg1 = signal */
};

/* The sequence number behind `after` that may have an event, or 0: from 0 on
 * all that are there, in order. */
u64 event_next(const struct region *r, u64 after);
/* Copy the event with this sequence number (1 .. header.event_seq) out: 1, or
 * 0 if it is being written or was overwritten. */
int event_get(const struct region *r, u64 seq, struct event *ret);

/* Note an event of this process, now. Takes no lock. In a full file system it
 * is lost. */
void event_add(struct caller *c, enum event_code code, u64 arg0, u64 arg1);
/* The same, unless the latest event says just that of the same process. */
void event_add_once(struct caller *c, enum event_code code, u64 arg0, u64 arg1);
/* The same, with what was asked for. It names who asked (event_asker), where
 * the others name this process. */
void event_add_asked(
	struct caller *c, enum event_code code, u64 arg0, u64 arg1, u64 asked);
/* The pid of whoever this call is made for; 0: in another pid namespace. */
u32 event_asker(struct caller *c);

/*
 * Called after events of this thread, numbered from to to (others' may be
 * among them), with no lock held; NULL: nobody logs. Set by entry/log.c.
 */
extern void (*event_log)(struct caller *c, u64 from, u64 to);
/* What section_raise does if DEFERRED_LOG is set. */
void event_log_now(struct caller *c);

#endif
