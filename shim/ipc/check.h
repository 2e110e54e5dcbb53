// SPDX-License-Identifier: MIT
/*
 * The invariants of a registry, proved read-only. For tests, the tool, the
 * mount. What is checked is true while nobody is inside an operation; a dead
 * owner's unfinished work counts as a violation until somebody has repaired it.
 *
 * Numbers are given once and never again; tests and comments cite them.
 */
#ifndef IPCLIFT_IPC_CHECK_H
#define IPCLIFT_IPC_CHECK_H

#include "registry/caller.h"

enum invariant {
	/* objects and ids, each facility */
	INV_SLOT = 1,	   /* a live slot: its idx in its id, a size, a body */
	INV_BITMAP = 2,	   /* idx bit set <=> slot live */
	INV_BITMAP_UP = 3, /* a bit of level n+1 <=> a full word of level n */
	INV_IN_USE = 4,	   /* in_use = live slots */
	INV_TOTAL = 5,	   /* total = their weights */
	INV_MAX_IDX = 6,   /* no live slot above max_idx */
	INV_REMOVING = 7,  /* no removal half done */
	/* keys, each facility */
	INV_CHAIN = 10,	 /* a chain: live slots with keys, right bucket, ends */
	INV_N_KEYS = 11, /* slots in chains = live slots with keys = n_keys */
	INV_KEY_SEQ = 12, /* key_seq is even */
	INV_BUCKETS = 13, /* 1 <= n_buckets; those after it are empty */
	/* heap */
	INV_BLOCK = 20, /* blocks are aligned, below bump, and disjoint */
	INV_LEAK = 21,	/* every byte below bump is in a block */
	INV_USED = 22,	/* used = bytes of live blocks */
	INV_BUMP = 23,	/* bump <= reserved <= the region's end */
	/* threads, tasks, locks */
	INV_JOURNAL = 30, /* journals are empty */
	INV_LOCK = 31,	  /* no lock is held by the dead */
	INV_SPARE = 32,	  /* no spare block with a living owner */
	INV_TASK = 33,	  /* a free task has no records */
	/* semaphores */
	INV_QUEUE = 40, /* queues agree both ways, members are queued there */
	INV_N_WAITERS =
		41,	/* n_waiters = members; every queued waiter is one */
	INV_OWNED = 42, /* words that sleepers or undo need are owned */
	INV_GENERATION =
		43,	   /* words carry their set's generation, and a value */
	INV_PENDING = 44,  /* no pass pending */
	INV_UNDO_ALL = 45, /* a set's records agree both ways and name it */
	INV_UNDO_ACTIVE =
		46, /* the active ones too; n_active; nonzero => active */
	INV_UNDO_COUNT = 47, /* n_nonzero and n_adj count what is there */
	INV_UNDO_CHAIN = 48, /* a record is bound <=> in one set's list */
};

struct check;
typedef void check_report(
	void *arg, enum invariant which, const char *what, u64 a, u64 b);

/* 0, or the number of violations, each reported (report may be NULL); -ENOMEM
 * without private memory for the heap's map. */
int check_region(const struct region *region, check_report *report, void *arg);

/* ---- for the parts of the check ---- */

struct check {
	struct region region;
	check_report *report;
	void *arg;
	u32 n_violations;
	u64 *map;	  /* a bit for every 64 bytes of the heap below bump */
	u64 used;	  /* bytes of live blocks seen */
	u64 n_queued;	  /* waiters that stand in queues */
	u64 n_bound;	  /* undo records in sets' lists */
	u64 present_page; /* seen to be readable last */
	int foreign;	  /* objects whose blocks nobody counted */
};

void check_failed(
	struct check *k, enum invariant which, const char *what, u64 a, u64 b);
/* A live block of so many bytes, as asked for. Returns its address or NULL. */
void *check_block(struct check *k, struct ref ref, u64 size);
void check_lock(
	struct check *k, const struct lock *lock, const char *what, u64 which);
/* One live semaphore set: counts its blocks, queues and records. */
void check_semset(struct check *k, u32 idx, struct slot *s);

#endif
