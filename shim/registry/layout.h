// SPDX-License-Identifier: MIT
/*
 * The registry: what stands where in the shared file.
 *
 * One sparse file, mapped MAP_SHARED by every process at an address of its
 * own, so nothing in it is a pointer (two exceptions, both private to one
 * thread at a time: the robust-list links inside locks, waiters and
 * lifelines, which only that thread and the kernel follow).
 *
 *   0          struct header: identity, limits, global locks, counters
 *   TASKS      struct task[]: one a process
 *   THREADS    struct thread[]: one a thread that ever took a lock: its
 *              journal and its waiter
 *   EVENTS     struct event[]: a ring, and behind it one of limits
 *   FACILITY   for sem, msg, shm, mq each: key buckets, bitmap
 *   SLOTS      struct slot[] (objects) by idx, for each; behind the slot of a
 *              set of semaphores space for its body, if it is of one semaphore
 *   PROFILES   struct lock_profile[]: holes, unless locks are profiled
 *   HEAP       everything else of variable size
 *   SEGMENTS   from REGION_SIZE to header.file_size: the pages of shared
 *              memory segments. Not part of the mapping that struct region
 *              knows: a process maps what it attaches (shm/shmmap.h)
 *
 * A change of this file bumps LAYOUT_VERSION. Programs of two versions never
 * share a file: the version is part of the identity that region_map checks
 * before it looks at anything else, and the newcomer is refused.
 *
 * Each struct says who may write a field, under which lock, whether it is read
 * without that lock, and what a crash in mid-write leaves: in a table, or where
 * all fields are alike in a sentence. "journaled" means: written through
 * journal_set*, so an unfinished operation is rolled back by the next owner of
 * the lock (journal.h), and nobody reads it without. Which store a read without
 * the lock pairs with is in doc/ordering.md.
 */
#ifndef IPCLIFT_REGISTRY_LAYOUT_H
#define IPCLIFT_REGISTRY_LAYOUT_H

#include "registry/layout_base.h"
#include "registry/layout_queue.h"

#define LAYOUT_MAGIC 0x7466696c63706900ULL /* "\0ipclift" */
#define LAYOUT_VERSION 27u

/*
 * struct sem: one semaphore, one cache line; of a set of one only the first
 * half is there.
 * field  written by             lock            without lock  a crash leaves
 * lo,hi  anybody by a 16-byte   none, unless    yes           old or new
 *        compare-and-swap       SEM_OWNED is set
 *        lock holder, plain     slot, if OWNED  as sequence   journaled
 * queues lock holder            slot            no            journaled
 * arrays lock holder            slot            no            one store: 1 is
 *                                                             right, 0 if so
 * all    lock holder            slot            no            journaled
 *
 * lo = last pid << 32 | generation's upper bits << 17 | SEM_OWNED | value
 * hi = generation's lower bits << 34 | otime
 * SEM_OWNED: the words change only under the slot's lock. The lock holder sets
 * it before it looks at the value, and takes it off again after a while in
 * which nobody needed it.
 * Generation: 45 bits of id_table.gen at the set's creation. Whoever stores
 * to lo or hi keeps its bits. It is what makes a compare-and-swap fail that was
 * prepared for a set which stood here before: one of the same number comes
 * again after 2^45 creations, four months of nothing else at 3.4 M/s.
 *
 * arrays: 0 only if no array in semset.complex names the semaphore up to the
 * operation that it is blocked at, so that a change of it lets none of them
 * through. Set before an array is queued, or moves on to another operation;
 * taken off by a pass that met no such array.
 *
 * all: of the first semaphore of a large set: the struct sem_values of a SETALL
 * that is committed and not yet stored everywhere (sem/semall.c). Not 0 only
 * while the lock is held, or after its owner's death.
 */
struct sem {
	u64 lo;
	u64 hi;
	struct wait_queue alter; /* sleeping single operations != 0 */
	struct wait_queue zero;	 /* sleeping single waits for zero */
	/* Of a set of one the rest is not there. */
	unsigned char idle_count; /* a hint, any value is right: see
 * semset.idle_count */
	unsigned char arrays;
	unsigned char pad[6];
	struct ref all;
	u64 pad1[2];
};
_Static_assert(sizeof(struct sem) == 64, "sem size");
#define SEM_USED 32u
#define SEM_OWNED (1ULL << 16)
#define SEM_VALUE(lo) ((u32)((lo)&0xffff))
#define SEM_PID(lo) ((u32)((lo) >> 32))
#define SEM_OTIME_BITS 34 /* until the year 2514 */
#define SEM_OTIME_MASK ((1ULL << SEM_OTIME_BITS) - 1)
#define SEM_OTIME(hi) ((s64)((hi)&SEM_OTIME_MASK))
#define SEM_GEN_LOW_BITS (64 - SEM_OTIME_BITS)
#define SEM_GEN_LO(gen) (((gen) >> SEM_GEN_LOW_BITS & 0x7fff) << 17)
#define SEM_GEN_HI(gen) ((gen) << SEM_OTIME_BITS)
/* The generation's lower bits, as in a word and as in an ident. */
#define SEM_GEN(hi) ((u32)((hi) >> SEM_OTIME_BITS))
#define SEM_GEN_MASK ((1u << SEM_GEN_LOW_BITS) - 1)

/* What a SETALL stores, in a block of the heap; nobody changes it once a set
 * refers to it. */
struct sem_values {
	u64 cap; /* of the block */
	u32 pid;
	u32 n;
	u16 value[];
};

/*
 * struct semset: the body of a set; its semaphores follow at the next multiple
 * of SEM_USED. All under the slot's lock and journaled, except pass_pending's
 * clearing (wakes may be tried twice) and the hints, where any value is right.
 */
struct semset {
	struct wait_queue complex;     /* sleeping arrays that alter */
	struct wait_queue zero_arrays; /* sleeping arrays of zeros only */
	struct short_ref undo_all;     /* every undo record of the set */
	struct short_ref undo_active;  /* those that may have a nonzero adj */
	u32 n_active;
	u32 n_adj; /* records that have a nonzero adj */
	u32 n_waiters;
	u32 last_tid; /* these: hints for spinning and bias */
	unsigned char last_cpu, partner_cpu; /* their low bits */
	u16 spin;			     /* registry/spin.h */
	u16 pass_pending;	    /* values changed, sleepers not yet tried */
	unsigned char bias_backoff; /* a hint: revocations seen */
	unsigned char
		idle_count; /* of a set of one, a hint: operations in a row for
			     * which nobody needed the lock */
};
_Static_assert(sizeof(struct semset) == 48, "semset size");

/*
 * struct undo: what one process has to give back to one set. Memory belongs to
 * the task's chain (task lock); all else to the set (slot lock), journaled.
 */
struct undo {
	struct ref task_next;
	u64 ident; /* of the set; 0 = empty, to be used again */
	u32 slot_idx;
	u32 task;
	struct ref set_next, set_prev;
	struct ref active_next, active_prev;
	u32 n_nonzero; /* adj[] that are not 0 */
	u32 is_active; /* stands in undo_active */
	/* A walk over the set's records needs nothing from here on. */
	u64 stamp; /* task.use_seq at the last use */
	s64 since; /* when an adj last left 0: a hint, one store */
	/* Of the first in undo_active: which records are in that list. A number
	 * that was never used, from whoever changes a list that is long
	 * afterwards (sem/holders.h), before he commits; one store. What it
	 * says of one that is not the first means nothing. */
	u64 active_stamp;
	u32 n_sems;
	u32 cap; /* space in adj[] */
	s16 adj[];
};

/*
 * struct shm_run: a run of pages in the window, of one size class, a
 * segment's or free. Never split or merged. Facility's lock, journaled.
 */
struct shm_run {
	struct ref next; /* of its free list */
	u64 off;	 /* of its first page, in the file */
	u32 class;
	u32 pad;
	u64 kept; /* of a free run: its first pages that may hold something; 0:
		   * all are holes */
};

/*
 * struct shm_segment: the body of a segment.
 * field        written by         lock        without lock  a crash leaves
 * size..run    create, empty      fac         yes (ident)   journaled
 * attach_all.. attach, detach     slot        nattch yes    journaled
 * touched      attach, write      slot        hint          one store, before
 *                                                           anything is written
 * dest_*       RMID, remove       fac         no            journaled
 * past         detach             slot        yes           one store
 */
#define SHM_PAST 3u /* arbitrary */
struct shm_segment {
	u64 size;  /* bytes asked for */
	u64 pages; /* rounded up */
	u64 off;   /* in the file */
	struct ref run;
	struct ref attach_all; /* attachment records */
	u32 nattch;	       /* sum of their counts */
	u32 flags;	       /* SHM_SEG_* */
	u64 touched;	       /* 1: its pages may hold something */
	u32 cpid, lpid;
	s64 atime, dtime;
	u32 creator;		  /* thread */
	u32 locker;		  /* uid that SHM_LOCKed it */
	u64 creator_start;	  /* its birth (identity.h) */
	u32 dest_next, dest_prev; /* idx + 1: removed, still attached */
	u32 tidy_at; /* nattch beyond which exited tasks are looked for */
	u32 pad0;
	/* Image locks (image.h) of those who detached it, and may have left a
	 * child with it; 0 = none. */
	u64 past[SHM_PAST];
};
#define SHM_SEG_NORESERVE 1u
#define SHM_SEG_DEST 2u	   /* in the list of the removed */
#define SHM_SEG_COUNTED 4u /* in the totals */

/*
 * struct shm_attach: one attachment of one process. Memory belongs to the
 * task's chain (task lock), all else to the segment (slot lock), journaled.
 */
struct shm_attach {
	struct ref task_next; /* every record of the task */
	union {
		struct ref free_next; /* while not in use */
		s64 since; /* in use: when it was made, realtime seconds */
	};
	u64 ident; /* of the segment; 0 = not in use */
	u32 slot_idx;
	u32 task;
	struct ref seg_next, seg_prev;
	u32 count; /* mapping fragments */
	u32 epoch; /* program image that made it */
	u64 addr;  /* where it began; SHM_ATTACH_RDONLY besides */
};
_Static_assert(sizeof(struct shm_attach) == 64, "a cache line");
#define SHM_ATTACH_RDONLY 1ULL
#define SHM_ATTACH_ADDR(addr) ((addr) & ~SHM_ATTACH_RDONLY)

/* Size classes of runs: four to a power of two, up to 2^34 pages. */
#define SHM_CLASSES 136u

/* struct shm_state: facility's lock, journaled. */
struct shm_state {
	u64 near, far; /* file offsets never handed out: small runs, large */
	u64 reserved;  /* pages of segments without SHM_NORESERVE */
	u64 overcommitted; /* and of those with */
	u64 pool; /* kept pages of free runs, and of those that threads empty */
	struct ref next_run; /* between admission and creation */
	u32 dest;	     /* idx + 1: removed segments still attached */
	u32 n_kept;	     /* runs in the lists kept[] */
	u64 space,
		space_ns; /* what the file system could hold, and when; hints */
	u64 home; /* where processes map the window if they can; constant */
	struct ref bare[SHM_CLASSES]; /* free runs without pages */
	struct ref kept[SHM_CLASSES]; /* and with, to be emptied */
};

/*
 * struct event: a place of the ring, by seq.
 * field    written by                lock  read without  a crash leaves
 * seq      whoever got the number    none  acquire       0: nobody reads the
 *          (header.event_seq)                            place until it comes
 *                                                        round again
 * others   the same, while seq is 0  none  if seq is the any: seq is 0
 *                                          same before
 *                                          and after
 */
struct event {
	u64 seq; /* 0 = being written */
	s64 time;
	u32 pid;
	u32 code;
	u64 arg[2];
	char command[16]; /* name of the thread that it happened to */
	u64 asked;	  /* EVENT_LIMIT: what would have been needed */
	u64 pad[9];
};
_Static_assert(sizeof(struct event) == 136, "event size");
#define N_EVENTS 4096u
/* Hits of limits stand in a ring of their own besides, from where nothing else
 * takes their place. Arbitrary. */
#define N_LIMIT_EVENTS 128u

/* Heap: size classes, four to a power of two, from 64 bytes to 1 GiB. Blocks of
 * at most HEAP_SMALL bytes are cut from spans, of one class each; those above,
 * from HEAP_LARGE bytes on, are blocks of the heap itself, and a span is one of
 * the smallest of these. */
#define HEAP_CLASSES 100u
#define HEAP_SMALL (64u << 10)
#define HEAP_LARGE (128u << 10)
#define HEAP_SPAN HEAP_LARGE
/* Pages are reserved in the file system in steps of at most this size.
 * Arbitrary: under the heap's lock, where a page takes up to two microseconds. */
#define HEAP_BATCH (64u << 10)
/* Free large blocks give their pages back, but for so many bytes of them in all
 * (heap.keep): this share of the file system, or HEAP_KEEP_MOST. Both arbitrary:
 * 4 of docker's 64 MiB /dev/shm; the pages of 2,000 sets of 250 semaphores. */
#define HEAP_KEEP_SHARE 16u
#define HEAP_KEEP_MOST (32u << 20)
/* Above this only spans keep their pages, not a block that was large itself.
 * Arbitrary. */
#define HEAP_KEEP_LARGE (4u << 20)

/*
 * struct heap: what is free and what was never used.
 * field      written by   lock  read without  a crash leaves
 * bump       lock holder  self  check only    journaled
 * used       lock holder  self  no            journaled
 * free_head  lock holder  self  no            journaled
 * kept       lock holder  self  as a hint     journaled, or too many
 * keep       creation     -     yes           never changes
 * large, filled
 *            lock holder  self  as a hint     journaled; filled too many, if who
 *                                             gave pages back died
 */
struct heap {
	struct lock lock;
	u64 bump; /* first byte never handed out; a multiple of HEAP_SPAN */
	u64 used; /* bytes handed out */
	/* Of a small class the first span with a free block, its number + 1; of
	 * a large one the first free block, its offset. */
	u64 free_head[HEAP_CLASSES];
	u64 kept;   /* bytes of free large blocks whose pages are still there;
		     * may be too many after a crash */
	u64 keep;   /* how many may be */
	u64 large;  /* bytes of large blocks handed out, those of spans not */
	u64 filled; /* bytes of spans whose pages are there; as kept */
};

/*
 * struct heap_span: of each HEAP_SPAN bytes of the heap below bump; all 0 unless
 * they are a span. All fields: heap.lock, journaled; `state` is also stored
 * alone, when a span without a used block gives its pages back.
 */
struct heap_span {
	u64 state;	/* registry/heap/span.h */
	u32 class;	/* of its blocks, + 1 */
	u32 next, prev; /* spans of the class with a free block: number + 1 */
	u32 pad[3];
};
_Static_assert(sizeof(struct heap_span) == 32, "whole in one page");

#define EVENT_CODES 16u /* more than event.h has */

/* Of which hit of a limit the event ring was last told; hints, plain stores. */
struct limit_told {
	u64 value;
	u32 pid;
	u32 time; /* seconds, the low half */
};
#define LIMITS_TOLD 16u

/*
 * struct control_file: a control file that some process has open for writing
 * (object/controlfile.h). Written under control_lock while its bit in
 * header.control_open is 0; setting the bit is the commit.
 */
struct control_file {
	u64 token[2]; /* its name beside the registry */
	u32 which;    /* index in sysctl_files */
	u32 pad;
};
/* Open at the same time, arbitrary; one each bit of header.control_open. */
#define CONTROL_FILES 32u

/*
 * struct control_taken: the values of a text between its reading and its
 * leaving the file. Written under control_lock: the values, then `from`; 0
 * again in the operation that sets them.
 */
struct control_taken {
	u32 from; /* index in control[] + 1, 0 = none */
	u32 n;
	u64 v[4];
};

/*
 * struct header. The four identity checks are in region.c. Locks and structs in
 * it: see there.
 * field            written by          lock     read without  a crash leaves
 * magic..created   creator             -        yes           magic is last
 * identity_sum     creator             -        yes           before magic
 * profiling..      lock_view_profile   -        yes           one store each
 * control_open     opener, closer      control  yes           a bit is the commit
 * thread_high      who claims a record CAS      acquire       a record unclaimed
 * thread_hint      anybody             add      any value is right
 * unmarked         who has no list     CAS      acquire       the next one of these
 *                                               tells the sleepers
 * event_seq        anybody             add      acquire       an event unwritten
 * stamp            anybody             add      -             a gap
 * removing         creator, remover    fac      no            journaled, and the
 *                                               next one goes on with it
 * kernel_keys_ns   who asks the kernel -        yes           one store, a hint
 * msg_remains      remover             fac MSG  no            journaled
 * mq_fifo          creator of a queue  fac MQ   no            the next one removes
 *                                                             that FIFO
 * mq_orphans       unlink, last close  fac MQ   no            journaled; where a
 *                                               sweep goes on: one store
 * mq_changed       as mq_orphans       fac MQ   yes           one store, a hint
 * bias_off         who is refused      CAS      yes           0 or 1
 * task_pages       who claims a task   OR       yes           set, never cleared:
 *                                               at worst with no task
 */
struct header {
	u64 magic;
	u32 version;
	u32 word_size;
	u64 file_size;
	u64 boot_id[2];
	s64 booted; /* the boot, in realtime seconds as the clock stood */
	u64 pid_ns;
	u32 owner;
	u32 idx_bits;
	u32 profile;   /* LIMITS_* of limits.h */
	u32 profiling; /* 1: locks take times */
	s64 created;
	u64 identity_sum; /* of the fields above */
	/* Which of control[] are in use, a bit each: looked at together with
	 * the limits, which is why it stands here. */
	u32 control_open;
	u32 profiled; /* 1: profiling was on before, there may be times */
	struct limits limits;
	struct id_table ids[N_FAC];
	struct lone_lock fac_lock[N_FAC];
	struct lone_lock repair_lock;
	struct lone_lock control_lock; /* of control[] */
	struct heap heap;
	u32 on_disk;  /* 1: the file is not on tmpfs (region.c); set once */
	u32 unmarked; /* UNMARKED_*, of sleepers' words (object/sleep.h) */
	u32 thread_high;
	u32 thread_hint;
	u64 event_seq;
	u64 stamp;		   /* arrival order of waiters */
	u64 removing[N_FAC];	   /* idx + 1 of an object in mid-removal */
	u64 kernel_keys_ns[N_FAC]; /* object/kernelkey.h */
	struct msg_slabs msg_slabs;
	/* Bodies of removed queues that are still to be emptied, linked by
	 * msgqueue.stamp; facility's lock, journaled. */
	struct ref msg_remains;
	struct shm_state shm;
	u64 mq_fifo[2]; /* token of a FIFO made for a queue not yet there */
	u32 mq_orphans; /* queues unlinked but open, the next to be looked at:
			 * slot idx + 1, 0 = none */
	u32 bias_off;	/* 1: no lock is biased any more; one store (bias.h) */
	s64 mq_changed; /* a name came or went: realtime seconds, a hint */
	struct mq_pending mq_pending[MQ_PENDINGS];
	struct control_file control[CONTROL_FILES];
	struct control_taken control_taken;
	struct limit_told told[LIMITS_TOLD];
	/* Events by code since the registry was made, also those that the ring
	 * has no more; atomic additions. A crash beside one leaves it out. */
	u64 event_count[EVENT_CODES];
	/* The pages of the table of tasks in which one was ever claimed, a bit
	 * each, set before the claim: only these may be read where the file
	 * system is full. (mincore(2) would not do: it leaves out what has been
	 * swapped out.) */
	u64 task_pages[TASK_PAGES / 64];
};
#define HEADER_SIZE 65536ULL
_Static_assert(sizeof(struct header) <= HEADER_SIZE, "header size");

#define TASKS_OFF HEADER_SIZE
#define THREADS_OFF (TASKS_OFF + (u64)N_TASKS * sizeof(struct task))
#define EVENTS_OFF (THREADS_OFF + (u64)N_THREADS * THREAD_STRIDE)
#define LIMIT_EVENTS_OFF (EVENTS_OFF + N_EVENTS * sizeof(struct event))
#define FAC_OFF (256ULL << 20)
#define FAC_BUCKETS_SIZE ((u64)IDX_MAX * 4)
#define FAC_BITMAP_SIZE (4ULL << 20)
#define FAC_STRIDE (FAC_BUCKETS_SIZE + FAC_BITMAP_SIZE)
#define BUCKETS_OFF(f) (FAC_OFF + (f)*FAC_STRIDE)
#define BITMAP_OFF(f) (BUCKETS_OFF(f) + FAC_BUCKETS_SIZE)
/*
 * Slots of the facilities, on cache lines of their own. A set's slot has its
 * body behind it, so that both are mostly on one page, and in all it is three
 * lines: with 31,900 sets each line and each page is a miss.
 */
#define BODY_SIZE (sizeof(struct semset) + SEM_USED)
#define SETS_OFF (1ULL << 30)
#define SLOT_STRIDE(f) ((f) == FAC_SEM ? 192ULL : 128ULL)
#define SLOTS_OFF(f) \
	(SETS_OFF + ((f) ? IDX_MAX * (192ULL + ((f)-1) * 128ULL) : (u64)(f)))
#define BODY_OFF(idx) \
	(SETS_OFF + (idx)*SLOT_STRIDE(FAC_SEM) + sizeof(struct slot))
/* Profiles of the locks in the header, by their place there, of the tasks' and
 * of the slots'. */
#define PROFILES_OFF SLOTS_OFF((u64)N_FAC)
#define PROFILES_HEADER (HEADER_SIZE / sizeof(struct lock))
#define N_PROFILES (PROFILES_HEADER + N_TASKS + (u64)N_FAC * IDX_MAX)
/* The table of spans, and what it describes. */
#define SPANS_OFF (12ULL << 30)
#define HEAP_OFF (SPANS_OFF + (8ULL << 20))
#define REGION_SIZE (32ULL << 30)
/* The heap ends in front of it: a reference is checked for where it leads to,
 * and what is then touched behind that place, the largest message having 16
 * MiB, is still in the region (damage.h). */
#define REACH (32ULL << 20)
#define HEAP_END (REGION_SIZE - REACH)
/* Behind it the segments; larger than what the home mapping of a process
 * covers, whose offsets small runs get. Both arbitrary: no machine has more
 * memory; a thousandth of the address space. */
#define WINDOW_MAX (64ULL << 40)
#define WINDOW_HOME (1ULL << 40)
_Static_assert(
	LIMIT_EVENTS_OFF + N_LIMIT_EVENTS * sizeof(struct event) <= FAC_OFF,
	"tables overlap");
_Static_assert(sizeof(struct slot) <= SLOT_STRIDE(FAC_MSG) &&
		       sizeof(struct slot) + BODY_SIZE == SLOT_STRIDE(FAC_SEM),
	"strides");
_Static_assert(FAC_OFF + N_FAC * FAC_STRIDE <= SETS_OFF, "slots overlap");
_Static_assert(
	PROFILES_OFF + N_PROFILES * sizeof(struct lock_profile) <= SPANS_OFF,
	"table of spans overlaps");
_Static_assert((HEAP_END - HEAP_OFF) / HEAP_SPAN * sizeof(struct heap_span) <=
		       HEAP_OFF - SPANS_OFF,
	"heap overlaps");
_Static_assert(IDX_WORDS * 8ULL <= FAC_BITMAP_SIZE, "bitmap size");

#endif
