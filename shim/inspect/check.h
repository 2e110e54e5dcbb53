// SPDX-License-Identifier: MIT
/*
 * The invariants of a registry, and checks of them, for tests, tool and mount.
 *
 * Those of one object hold whenever its lock is free; those of a facility (ids,
 * keys, totals) whenever the facility's is. Sums over everything (every byte of
 * the heap in one block, every waiter in one queue, every record in one list of
 * each kind) hold while the registry is quiet: no lock is held, no journal has
 * an entry, and no lock was taken between the beginning of the check and its
 * end, which the locks' counts tell.
 *
 * check_region is for a registry that is not in use: it takes no lock, stores
 * nothing, and checks all invariants. check_live is for one in use: it checks
 * each object under its lock, as any caller would, and the sums only if the
 * registry was quiet meanwhile. Neither reports a violation where there is
 * none.
 *
 * What a dead process left unfinished is a violation for check_region until it
 * is repaired; check_live repairs it, as every thread that takes a lock does.
 *
 * Numbers are never reused; tests and comments cite them.
 */
#ifndef IPCLIFT_INSPECT_CHECK_H
#define IPCLIFT_INSPECT_CHECK_H

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
	INV_BUMP = 23,	/* bump is a whole span within the heap */
	INV_SPAN = 24,	/* a span's free blocks are those not used, it is in its
			 * class's list if it has one; filled = their pages */
	/* threads, tasks, locks */
	INV_JOURNAL = 30, /* journals are empty */
	INV_LOCK = 31,	  /* no lock is held by exited tasks */
	INV_SPARE = 32,	  /* no spare block with a living owner */
	INV_TASK = 33,	  /* a free task has no records; one that is claimed is
			   * in a page that is noted (header.task_pages) */
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
		46, /* the active ones too; n_active; nonzero => active; the
		     * first of a long list has a stamp that was given out */
	INV_UNDO_COUNT = 47, /* n_nonzero and n_adj count what is there */
	INV_UNDO_CHAIN = 48, /* a record is bound <=> in one set's list */
	/* System V message queues */
	INV_MSG_FIFO = 50,  /* the order of sending, linked both ways */
	INV_MSG_COUNT = 51, /* count = messages and their bytes */
	INV_MSG_TREE = 52,  /* the oldest of each type, a red-black tree */
	INV_MSG_TYPE = 53,  /* the others behind it; it knows the youngest */
	INV_MSG_CELL = 54,  /* messages stand in cells of their size; the other
			     * cells are free or never used */
	INV_MSG_CHUNK = 55, /* chunks in the list they belong to, n_chunks */
	INV_MSG_BLOCK = 56, /* large payloads and warm blocks: sizes, counts */
	INV_MSG_PENDING = 57, /* no wake-up, no chunk under way */
	INV_MSG_SLAB =
		58, /* slabs in the list they belong to, linked both ways;
		     * empty ones: one of a size, which is `idle` */
	/* segments */
	INV_SHM_SEGMENT = 60, /* size, pages and run agree */
	INV_SHM_ATTACH = 61,  /* a segment's records agree both ways, name it */
	INV_SHM_NATTCH = 62,  /* nattch = their counts */
	INV_SHM_RECORD = 63,  /* a record is in use <=> in one segment's list;
			       * the others are in their task's free list */
	INV_SHM_DEST = 64,    /* removed but attached <=> listed, no key */
	INV_SHM_TOTAL = 65,   /* pages in all, reserved and not */
	INV_SHM_RUN = 66,     /* runs: in one place, of its class; all together
			       * are what was taken of the window */
	INV_SHM_POOL = 67,    /* pool = pages of runs to be emptied */
	INV_SHM_MAPPED = 68,  /* attached <=> mapped (only the command asks) */
	/* POSIX message queues */
	INV_MQ_NAME = 70,   /* name and key agree */
	INV_MQ_ORPHAN = 71, /* unlinked <=> in the list of orphans */
	INV_MQ_LEVELS = 72, /* priorities: bits, leaves, the highest in front */
	INV_MQ_FIFO = 73,   /* items of a priority, to its last */
	INV_MQ_COUNT = 74,  /* count = messages and their bytes */
	INV_MQ_ITEM = 75,   /* items: in use or free, once */
	INV_MQ_BLOCK = 76,  /* an item has space for its bytes */
	INV_MQ_NOTIFY = 77, /* at rest; a thread told of a message waits */
	INV_MQ_READY = 78,  /* polled: count, level and FIFO say the same */
	/* leases, of both kinds of queues */
	INV_LEASE = 80, /* records in the list of their state, each once, with a
			 * message that is nowhere else, or (back) in the queue
			 */
};

struct check;
typedef void check_report(
	void *arg, enum invariant which, const char *what, u64 a, u64 b);

/* 0, or the number of violations, each reported (report may be NULL), a few
 * thousand at most in a completely damaged registry; -ENOMEM without private
 * memory for the heap's map. */
int check_region(const struct region *region, check_report *report, void *arg);

/* The same for a registry in use. *ret_quiet: 1 if sums were checked, 0 if they
 * could not be: then the caller may check again. Each lock is taken once or
 * twice. -ENOMEM also of enrolling. */
int check_live(
	struct caller *c, check_report *report, void *arg, int *ret_quiet);

/* ---- for the parts of the check ---- */

#define CHECK_SCRATCH 20480u
#define CHECK_PAGES 64u /* arbitrary */
#define CHECK_SUMS 32u
/* After so many violations the rest of a table is skipped: it is damaged
 * throughout, and may have 16,777,216 entries. Arbitrary. */
#define CHECK_MOST 1000u

struct check {
	struct region region;
	struct caller *c; /* of check_live, else NULL */
	check_report *report;
	void *arg;
	u32 n_violations;
	u64 bump; /* of the heap when the check began */
	u64 map_len;
	void *scratch;	/* CHECK_SCRATCH bytes for one object's check */
	u64 *map;	/* a bit for every 64 bytes of the heap below bump */
	u64 used;	/* bytes of live blocks seen */
	u64 n_queued;	/* waiters in queues */
	u64 n_bound;	/* undo records in sets' lists */
	u64 n_attached; /* attachment records in segments' lists */
	u64 n_listed;	/* spans that have to be in a list of their class */
	u64 filled;	/* bytes of spans with pages */
	u64 n_taken;	/* locks that check_live took */
	u64 present_page[CHECK_PAGES]; /* of tables, seen to be readable */
	/* segments */
	u64 shm_pages, shm_overcommitted, run_bytes;
	u32 n_dest;
	u32 n_orphans; /* unlinked queues */
	/* Violations of sums, until the registry is known to have been
	 * quiet. */
	u32 n_sums;
	struct {
		enum invariant which;
		const char *what;
		u64 a, b;
	} sums[CHECK_SUMS];
};

/* An invariant is violated: what, and two numbers for the place. */
void check_failed(
	struct check *k, enum invariant which, const char *what, u64 a, u64 b);
/* One that counts only if the registry is quiet. */
void check_failed_sum(
	struct check *k, enum invariant which, const char *what, u64 a, u64 b);
/* A live block of so many bytes, the size requested. Returns its address or
 * NULL. */
void *check_block(struct check *k, struct ref ref, u64 size);
/* A queue of sleepers of one object: links, and that each is queued there. */
struct check_sleepers {
	const struct wait_queue *q;
	u32 facility, idx, kind;
	u64 ident;
	int by_stamp; /* in order of arrival */
	u32 n_live;   /* result: those not dead */
};
void check_sleepers(struct check *k, struct check_sleepers *w);

/* One live object: counts its blocks, queues and records. */
void check_semset(struct check *k, u32 idx, struct slot *s);
void check_msgqueue(struct check *k, u32 idx, struct slot *s);
/* A queue's leases: counts their blocks; `each`, if not NULL, then checks every
 * one that is in use. */
void check_leases(struct check *k, u32 idx, const struct leases *ls,
	u32 leasing, void (*each)(void *arg, struct lease *l), void *arg);
/* The parts of slabs that belong to no queue and no thread. Heap lock held. */
void check_msg_slabs(struct check *k);
/* The bodies of removed queues that are still to be emptied. */
void check_msg_remains(struct check *k);
void check_shm_segment(struct check *k, u32 idx, struct slot *s);
void check_mqueue(struct check *k, u32 idx, struct slot *s);
/* After all segments, or queues: the facility's own state of them. */
void check_shm_state(struct check *k);
void check_orphans(struct check *k);
/* The attachment records of one task. */
void check_shm_records(struct check *k, u32 task, const struct task *t);

#endif
