// SPDX-License-Identifier: MIT
/*
 * The locks of a registry, except control_lock (object/controlfile.h), with the
 * columns of Kennaway's table (doc/reference-tables.md T4): for the command and
 * the mount.
 *
 * Counters are always maintained; times only while profiling is on. Operations
 * on an object that is biased to one thread (bias.h), and a semaphore operation
 * that is one compare-and-swap, take no lock and are not counted.
 */
#ifndef IPCLIFT_INSPECT_LOCKVIEW_H
#define IPCLIFT_INSPECT_LOCKVIEW_H

#include "index/ids.h"
#include "registry/lock.h"

enum lock_class {
	LOCK_FACILITY, /* objects of a facility are made and removed */
	LOCK_HEAP,
	LOCK_REPAIR,
	LOCK_TASK,
	LOCK_OBJECT,
};

struct lock_view {
	u32 class;     /* LOCK_* */
	u32 facility;  /* FAC_*, of LOCK_FACILITY and LOCK_OBJECT */
	u32 owner;     /* tid, 0 = free */
	u32 max_ns;    /* max: longest hold */
	u64 total_ns;  /* total: of all holds */
	u64 count;     /* times taken */
	u64 avg_ns;    /* avg: total / count */
	u32 cnt_hold;  /* a taker had to sleep until it was released */
	u32 cnt_lock;  /* a taker found it held */
	char name[48]; /* "sem", "heap", "task 123", "sem 5", "mq /name"; of a
			* slot whose object is gone "sem #5" */
};

/* The position of a walk; all 0 at its beginning. */
struct lock_cursor {
	u32 class, at;
};

/* The next lock that was taken since the last reset: 1, or 0 at the end. Needs
 * no lock; the values of a row may be of different moments. */
int lock_view_next(
	struct caller *c, struct lock_cursor *at, struct lock_view *ret);

/* Set all to 0: each lock is taken once. 0 or -ENOMEM of enrolling. */
int lock_view_reset(struct caller *c);
/* Measure times from now on, or stop that; switching on also resets, so that
 * counts and times are of the same holds. */
int lock_view_profile(struct caller *c, int on);

#endif
