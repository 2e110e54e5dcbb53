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
 *   EVENTS     struct event[]: a ring
 *   FACILITY   for sem, msg, shm each: slots (objects), key buckets, bitmap
 *   BODIES     by idx: the body of a set of one semaphore
 *   HEAP       everything else of variable size
 *   SEGMENTS   from REGION_SIZE to header.file_size: the pages of shared
 *              memory segments. Not part of the mapping that struct region
 *              knows: a process maps what it attaches (ipc/shmmap.h)
 *
 * A change of this file bumps LAYOUT_VERSION. Programs of two versions never
 * share a file: the version is part of the identity that region_map checks
 * before it looks at anything else, and the newcomer is refused.
 *
 * Each struct has a table: who may write a field, under which lock, whether it
 * is read without that lock, and what a crash in mid-write leaves. "journaled"
 * means: written through journal_set*, so an unfinished operation is rolled
 * back by the next owner of the lock (journal.h).
 */
#ifndef IPCLIFT_REGISTRY_LAYOUT_H
#define IPCLIFT_REGISTRY_LAYOUT_H

#include <stdint.h>

#define LAYOUT_MAGIC 0x7466696c63706900ULL /* "\0ipclift" */
#define LAYOUT_VERSION 15u

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef int16_t s16;

/* An offset into the region; 0 is "none" (the header is never referred to). */
struct ref {
	u64 off;
};

/*
 * struct lock: a robust lock, one cache line. See lock.h for the word's states.
 * field    written by      lock   read without lock   a crash leaves
 * word     owner, kernel   -      yes                 OWNER_DIED, set by the
 * kernel journal  new owner       self   repair only         the previous
 * owner's: harmless count    owner           self   yes (sequence)      one
 * off, statistics n_held.. owner, waiters  -      yes                 one off,
 * statistics link     owner           -      kernel only         node of the
 * dead: never followed bias_busy lender, kernel -      lock owner OWNER_DIED
 * (bias.h)
 * *_ns     owner           self   yes                 statistics
 */
struct lock {
	u32 word;
	u32 journal;	   /* thread index of the owner's journal */
	u64 count;	   /* times taken (lock_count); never goes back */
	u32 n_found_held;  /* cnt_lock: an acquirer found it held */
	u32 n_held_wanted; /* cnt_hold: wanted by others while held */
	u64 robust_prev;   /* +24: written by libc code only */
	u64 robust_next;   /* +32 (glibc) or +28 (musl) from word */
	u64 total_ns;	   /* profiling: sum of hold times */
	u32 max_ns;	   /* profiling: longest hold */
	u32 bias_busy;	   /* bias.h: the lender's tid while it is inside */
	u64 taken_ns;	   /* profiling: when the present hold began */
};
_Static_assert(sizeof(struct lock) == 64, "lock size");

enum facility {
	FAC_SEM,
	FAC_MSG,
	FAC_SHM,
	FAC_MQ,
	N_FAC,
};

/*
 * struct slot: one object of a facility; index = idx part of its id. The array
 * is never reused for anything else, so a stale reader may take the lock of a
 * slot whose object is gone: it then sees `ident` changed.
 * field    written by           lock        read without lock  a crash leaves
 * lock     its owner            self        word only          repaired
 * ident    create, remove       fac + self  yes (acquire)      journaled: old
 * or new body     create               fac         yes, if ident says so
 * key,next create, remove       fac         yes (key seq)      journaled
 * perm     create, IPC_SET      fac / self  yes                journaled
 * size     create               fac         yes
 * ctime    create, SET*, IPC_SET fac / self yes                journaled
 * bias     lock holder          self        its thread         revoked by the
 * next
 */
struct slot {
	struct lock lock;
	u32 mode;  /* the nine permission bits (and facility's own above) */
	u32 next;  /* key chain: idx + 1, 0 = end */
	u64 ident; /* IDENT_* below; 0 = free */
	struct ref body;
	s32 key;
	u32 uid;
	u32 gid;
	u32 cuid;
	u32 cgid;
	u32 size; /* semaphores of the set */
	s64 ctime;
	u64 bias; /* bias.h: caller.bias_id of the thread that the lock
		   * is lent to, 0 = none */
};
_Static_assert(sizeof(struct slot) == 128, "slot size");

/* ident = generation << 32 | live bit | id. One load tells which object, if
 * any, stands in the slot. */
#define IDENT_LIVE 0x80000000u
#define IDENT_ID(ident) ((s32)((ident)&0x7fffffff))
#define IDENT_GEN(ident) ((u32)((ident) >> 32))

/* Geometry of the idx bitmap: 64-way, level 0 has a bit an idx, level n a bit a
 * full word of level n-1. */
#define IDX_BITS_NORMAL 15
#define IDX_BITS_EXTENDED 24
#define IDX_MAX (1u << IDX_BITS_EXTENDED)
#define IDX_LEVELS 4
/* Pages of level 0, of this many idx each. */
#define IDX_PER_PAGE 32768u
#define IDX_PAGES (IDX_MAX / IDX_PER_PAGE)
#define IDX_WORDS (IDX_MAX / 64 + IDX_MAX / 4096 + IDX_MAX / 262144 + 1)

/*
 * struct id_table: the allocator's state and the key table of one facility.
 * All fields: written under the facility's lock, journaled, except key_seq
 * (odd while a writer is inside; repair makes it even), the next_id of a
 * control file, which is one store, and pages: a bit is set before anything is
 * marked there, and never cleared.
 */
struct id_table {
	u32 in_use;
	u32 seq;
	s32 last_idx;
	u32 cursor;
	s32 next_id; /* one-shot wish, -1 = none */
	u32 max_idx; /* highest idx in use is <= this */
	u64 total;   /* semaphores in all sets */
	u32 n_keys;
	u32 n_buckets; /* linear hashing: buckets in use, >= 1 */
	u32 key_seq;
	u32 gen;	 /* generation of the next object */
	u32 slots_ready; /* pages of slots below are reserved; only grows */
	u64 pages[IDX_PAGES / 64]; /* pages of the bitmap's level 0 that were
				    * ever used; the others are holes */
};

/* Limits, as the sysctl files show them. Each field is one store. */
struct limits {
	s32 semmsl, semmns, semopm, semmni;
	s32 msgmax, msgmnb, msgmni, pad0;
	u64 shmmax, shmall;
	s32 shmmni, shm_rmid_forced;
	s32 mq_queues_max, mq_msg_max, mq_msgsize_max;
	s32 mq_msg_default, mq_msgsize_default;
	s32 mq_rlimit; /* 1: RLIMIT_MSGQUEUE counts */
};

/*
 * struct task: one process that uses the registry, kept over exec.
 * field       written by          lock   read without lock  a crash leaves
 * claim       claimer, reaper     CAS; a dead one's: lock  yes
 *                                                           claimed by a dead
 * process: reclaimed by the next start       claimer, state 0    -      if
 * state is 1      the next claimer writes it lifeline    owner, kernel       -
 * yes                OWNER_DIED undo_head.. owner, reaper       lock   no
 * journaled shm_*       owner, reaper       lock   no                 journaled
 * epoch       owner               -      yes                one store
 * nascent     parent, child       -      yes                one
 * compare-and-swap
 * mail_seq    anybody             -      yes                one too many
 *
 * state TASK_NASCENT: not a process yet but what a child to be forked will
 * inherit (ipc/shmfork.h); pid and start are the parent's.
 */
enum task_state {
	TASK_FREE,
	TASK_LIVE,
	TASK_NASCENT,
};

struct task {
	union {
		struct {
			u32 pid;   /* 0 = free */
			u32 state; /* TASK_*: are the fields valid */
		};
		u64 claim; /* both, for one compare-and-swap */
	};
	u64 start; /* of pid, in clock ticks since boot */
	u32 life_pad0;
	u32 life_type; /* musl's walk reads the words around the lifeline */
	/* The lifeline: linked on the robust list of one thread for good. */
	u32 life; /* tid | WAITERS while linked; OWNER_DIED once it fired */
	u32 life_waiters;
	u64 life_pad[2];
	u64 life_prev; /* +24 */
	u64 life_next; /* +32 / +28 */
	/* If that thread is not the leader, this is linked too, with the pid:
	 * by the time the kernel walks the list of a thread that called exec,
	 * the thread has got that number, and takes `life` for another's. */
	u32 exec_pad0;
	u32 exec_type;
	u32 exec_life; /* pid | WAITERS while linked; OWNER_DIED; 0 unused */
	u32 exec_waiters;
	u64 exec_pad[2];
	u64 exec_prev;
	u64 exec_next;
	struct lock lock;
	struct ref undo_head; /* this process's undo records */
	struct ref spare;     /* a block between heap_alloc and its use */
	u64 spare_size;	      /* of that block */
	u64 use_seq;	      /* stamps "most recently used" */
	struct ref shm_head;  /* its attachment records, */
	struct ref shm_free;  /* and those of them that are not in use */
	u64 mm;	       /* tells one program image from the next: stack start */
	u32 epoch;     /* program images so far */
	u32 life_tid;  /* the thread that the lifeline is of */
	u64 nascent;   /* nonce << 32 | pid of the child, once known */
	u32 candidate; /* who may be its child: pid, 0 = not looked yet */
	u32 mail_seq;  /* mq_mail for it so far; its courier sleeps on it */
};
_Static_assert(sizeof(struct task) == 256, "task size");
#define N_TASKS 65536u

/* One old value: off carries the size (2, 4 or 8 bytes) in its top byte. */
struct journal_entry {
	u64 off;
	u64 old;
};
#define JOURNAL_INLINE 48u
#define JOURNAL_LOCKS 4u

/*
 * struct journal: the undo log of the operation its thread is in. Written by
 * that thread only; by a repairer (recover.c) once the thread is dead and a
 * lock of `locks` is the repairer's.
 */
struct journal {
	u32 n;	     /* entries that count; 0 = nothing to roll back */
	u32 n_locks; /* locks held, outermost first */
	u64 locks[JOURNAL_LOCKS];
	u64 publish_off; /* journal_publish: the store that commits, */
	u64 publish_val; /* and what it stores; off 0 = none */
	struct ref ext;	 /* a larger entry array, or 0 for the inline one */
	u32 cap;
	u32 pad0;
	struct journal_entry entries[JOURNAL_INLINE];
};

/* A larger entry array. The store of journal.ext puts it in force; old is what
 * it took the place of and is to be freed (journal_adopt). */
struct journal_ext {
	u64 cap;
	struct ref old;
	u64 old_size;
	u64 pad0;
	struct journal_entry entries[];
};

struct sop {
	u16 num;
	s16 op;
	s16 flg;
};
#define WAITER_SOPS_INLINE 16u

/* What a sleeper in msgsnd or msgrcv waits for, and where what it got is. */
struct msg_wait {
	s64 want;     /* msgtyp; of a sender, its type */
	u64 max_size; /* room in the receiver's buffer; of a sender, its size */
	u32 mode;     /* MSG_TAKE_* of ipc/msgqueue.h */
	u32 where;    /* handed over: MSG_IN_*, which block of the thread */
	s64 type;     /* handed over: type and size of the message */
	u64 size;
	u64 stamp; /* and its place in the order of sending */
};

/*
 * struct waiter: how a thread sleeps on an object. Written by its own thread
 * before it is queued; while queued, by whoever holds the object's lock.
 * field     written by             a crash leaves
 * word      sleeper, waker, kernel see wait.h
 * alive     sleeper, kernel        OWNER_DIED: nothing is handed to it any more
 * state..   lock holder            journaled
 */
struct waiter {
	u32 word;
	u32 state; /* WAIT_* */
	s32 result;
	u32 slot_idx;
	u64 guard_pad[1];
	u64 guard_prev; /* +24 */
	u64 guard_next; /* +32 / +28 */
	u32 alive;
	u32 alive_pad0;
	u64 alive_pad[2];
	u64 alive_prev; /* +24 */
	u64 alive_next; /* +32 / +28 */
	u64 stamp;	/* arrival order within the object */
	u64 ident;	/* of the object */
	u32 next, prev; /* queue links: thread indexes, 0 = end */
	u32 facility;
	u32 kind; /* which queue */
	u32 n_sops;
	u32 block_op; /* index of the operation it is blocked at */
	u32 pid;
	u32 queue_num; /* semaphore whose queue it stands in */
	struct ref undo;
	struct ref sops_ext;
	u64 sops_ext_cap;
	s64 since;
	union {
		struct sop sops[WAITER_SOPS_INLINE];
		struct msg_wait msg;
		struct { /* POSIX: sops_ext is the message's block */
			u32 msg_prio;
			u32 msg_len;
			u32 sched_prio; /* SCHED_*: see mqwait.c */
		};
	};
};

#define MSG_TIERS 3u

/*
 * struct msg_blocks: payload blocks that a thread owns, of 2, 4 and 8 KiB and
 * one of any larger size. Blocks change owner by journaled swaps with a queue
 * or with another thread under the queue's lock; whoever takes the record over
 * after a death inherits them. Contents: the owner's, outside any lock.
 */
struct msg_blocks {
	struct ref tier[MSG_TIERS];
	struct ref big;
	u64 big_cap;
};

/*
 * struct thread: one a thread that ever took a lock. Index 0 is never used.
 */
struct thread {
	u32 tid; /* 0 = free; claimed by CAS */
	u32 task;
	u32 claims; /* how often it was claimed */
	u32 pad0;
	u64 start;	  /* of the task */
	struct ref spare; /* a block between heap_alloc_at and its use */
	struct waiter waiter;
	struct journal journal;
	u64 spare_size; /* of that block */
	struct msg_blocks blocks;
};
_Static_assert(sizeof(struct thread) <= 1280, "thread size");
#define THREAD_STRIDE 1280u
#define N_THREADS 131072u

/* A queue of waiters: thread indexes, 0 = empty. Journaled, object's lock. */
struct wait_queue {
	u32 head;
	u32 tail;
};

/*
 * struct sem: one semaphore, one cache line.
 * field  written by             lock            without lock  a crash leaves
 * lo,hi  anybody by a 16-byte   none, unless    yes           old or new
 *        compare-and-swap       SEM_OWNED is set
 *        lock holder, plain     slot, if OWNED  as sequence   journaled
 * queues lock holder            slot            no            journaled
 * calm   lock holder            slot            no            a count, any
 * value is right
 *
 * lo = last pid << 32 | flags << 16 | value; hi = generation << 40 | otime.
 * SEM_OWNED: the words change only under the slot's lock. The lock holder sets
 * it before it looks at the value, and takes it off again after a while in
 * which nobody needed it.
 */
struct sem {
	u64 lo;
	u64 hi;
	struct wait_queue alter; /* sleeping single operations != 0 */
	struct wait_queue zero;	 /* sleeping single waits for zero */
	u32 calm;
	u32 pad[7];
};
_Static_assert(sizeof(struct sem) == 64, "sem size");
#define SEM_OWNED (1ULL << 16)
#define SEM_VALUE(lo) ((u32)((lo)&0xffff))
#define SEM_PID(lo) ((u32)((lo) >> 32))
#define SEM_OTIME(hi) ((s64)((hi)&0xffffffffffULL))
#define SEM_GEN(hi) ((u32)((hi) >> 40))
#define SEM_GEN_MASK 0xffffffu

/*
 * struct semset: the body of a set; its semaphores follow. All under the
 * slot's lock and journaled, except pass_pending's clearing (wakes may be tried
 * twice) and undo_cut.
 */
struct semset {
	struct wait_queue complex;     /* sleeping arrays that alter */
	struct wait_queue zero_arrays; /* sleeping arrays of zeros only */
	struct ref undo_all;	       /* every undo record of the set */
	struct ref undo_active;	       /* those that may have a nonzero adj */
	u32 n_active;
	u32 n_adj; /* records that have a nonzero adj */
	u32 n_waiters;
	u32 pass_pending; /* values changed, sleepers not yet tried */
	/* Hints for spinning and bias, plain stores; any value is right. */
	u32 last_tid;
	u16 last_cpu, partner_cpu;
	u32 streak;	  /* operations of last_tid in a row */
	u32 bias_backoff; /* revocations seen */
};
_Static_assert(sizeof(struct semset) == 64, "semset size");

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
	u64 stamp;     /* task.use_seq at the last use */
	s64 since;     /* when an adj last left 0: a hint, one store */
	u32 n_nonzero; /* adj[] that are not 0 */
	u32 is_active; /* stands in undo_active */
	u32 n_sems;
	u32 cap; /* room in adj[] */
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
	u64 kept; /* its first pages that may hold something; 0: all are holes
		   */
};

/*
 * struct shm_segment: the body of a segment.
 * field        written by         lock        without lock  a crash leaves
 * size..run    create, empty      fac         yes (ident)   journaled
 * attach_all.. attach, detach     slot        nattch yes    journaled
 * dirty        first attach       slot        no            one store: done
 * again doomed_*     RMID, remove       fac         no            journaled
 */
struct shm_segment {
	u64 size;  /* bytes asked for */
	u64 pages; /* rounded up */
	u64 off;   /* in the file */
	struct ref run;
	struct ref attach_all; /* attachment records */
	u32 nattch;	       /* sum of their counts */
	u32 flags;	       /* SHM_SEG_* */
	u64 dirty; /* first pages to be zeroed before anybody sees them */
	u32 cpid, lpid;
	s64 atime, dtime;
	u32 creator; /* thread */
	u32 locker;  /* uid that SHM_LOCKed it */
	u64 creator_start;
	u32 doomed_next, doomed_prev; /* idx + 1: removed, still attached */
	u32 tidy_at; /* nattch beyond which the dead are looked for */
	u32 pad0;
	u64 pad[3];
};
#define SHM_SEG_NORESERVE 1u
#define SHM_SEG_DOOMED 2u  /* in the list of the removed */
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
	u64 near, far;	/* file offsets never handed out: small runs, large */
	u64 promised;	/* pages of segments without SHM_NORESERVE */
	u64 unpromised; /* and of those with */
	u64 pool;	/* pages kept in free runs */
	struct ref next_run; /* between admission and creation */
	u32 doomed;	     /* idx + 1: removed segments still attached */
	u32 evict_hand;
	u64 room,
		room_ns; /* what the file system could hold, and when; hints */
	u64 home; /* where processes map the window if they can; constant */
	struct ref bare[SHM_CLASSES]; /* free runs without pages */
	struct ref kept[SHM_CLASSES]; /* and with */
};

/*
 * struct users: hints about who uses a queue, plain stores, cpu also without
 * its lock; any value is right (ipc/loan.h). By kind: 0 those who send, 1 those
 * who receive.
 */
struct users {
	u32 thread[2]; /* the last one, 0 = none yet */
	u32 cpu[2];    /* and where it ran */
	u32 backoff;   /* times the lock was taken back for another thread */
	u32 streaming; /* the sender is at it without pause */
};

/*
 * struct prio_item: a message of a prioq. What a free one holds, and next of
 * the last one of a FIFO, mean nothing and are written plainly; else journaled.
 */
struct prio_item {
	u32 next; /* of the FIFO */
	u32 len;
};
_Static_assert(sizeof(struct prio_item) == 8, "prio_item size");

/* Bytes that an item has elsewhere. Journaled, except a first allocation. */
struct prio_block {
	struct ref data;
	u64 cap;
};

/*
 * struct prioq: head of the queue. Items stand in chunks of 1 << shift, made
 * when they are needed: their struct prio_item, then stride bytes for each. The
 * table of chunks lies table_off bytes after this struct, and behind it the
 * stack of free items, u32 each. Owner's lock, journaled; above n_free the
 * stack means nothing.
 */
struct prioq {
	u64 count; /* bytes << 20 | items in the queue */
	u64 ends;  /* FIFO of the highest priority: last << 32 | first */
	u32 first; /* the highest priority; of an empty queue, the last used */
	u32 n_free;
	u32 made, cap; /* items that exist, that may exist */
	u32 shift;
	u32 stride;
	u32 inline_data; /* bytes an item has room for; 0: a prio_block */
	u32 table_off;
	u32 free_off; /* the stack, as table_off */
	u16 n_leaves, hand;
	struct ref levels; /* struct prio_levels; 0 until it is needed */
};
_Static_assert(sizeof(struct prioq) == 64, "prioq size");

#define PRIO_LEAVES 512u

/*
 * struct prio_levels: all priorities but the highest. A leaf holds the FIFOs
 * (as prioq.ends) of 64 priorities; what it says of one that is not live means
 * nothing. Bits: live, of 64 priorities each; top, of those words that are not
 * 0; any, of those words of top. Journaled.
 */
struct prio_levels {
	u64 any;
	u64 top[PRIO_LEAVES / 64];
	u64 live[PRIO_LEAVES];
	struct ref leaf[PRIO_LEAVES]; /* u64[64]; 0 = none */
};

#define MQ_NAME_MAX 255
/* mqueue.polled */
#define MQ_POLLED_IN 1u
#define MQ_POLLED_OUT 2u
#define MQ_POLLED_EDGE 4u
#define MQ_LEVEL_UNKNOWN 3u
/* mqueue.notify.state */
enum mq_notify_state {
	MQ_NOTIFY_NONE,
	MQ_NOTIFY_ARMED,
	MQ_NOTIFY_FIRING, /* the message is in, the signal is not yet sent */
};

/* Who is told of the next message. Slot lock, journaled. */
struct mq_notify {
	u32 state;
	u32 how; /* sigev_notify */
	u32 signo;
	u32 task; /* registrant: index, pid and start time of its task */
	u32 pid;
	u32 thread; /* SIGEV_THREAD: whose waiter is to be granted */
	u64 start;
	u64 value;
	u32 image; /* its task's epoch: tells its program from one after exec */
	u32 sender_pid, sender_uid; /* while FIRING */
	u32 courier; /* 1: the registrant has one, for what we may not send */
	u32 sock;    /* SIGEV_THREAD by number: the netlink socket, */
	u64 sock_ino;
	u64 cookie[4]; /* and what it is to be told */
	u64 stamp;     /* tells registrations apart */
};

/*
 * struct mq_mail: a notification that its sender may not, or cannot, send
 * itself, on its way to the registrant's courier (entry/courier.c), which does.
 * state: free -> tid of the sender that fills it -> MQ_MAIL_SENT -> free, each
 * by one compare-and-swap or store. All else: the sender, before SENT. A sender
 * that dies leaves its tid, and the next owner of the queue's lock sends anew.
 */
struct mq_mail {
	u32 state;
	u32 task, pid; /* of the registrant */
	s32 signo;
	u64 start;
	u64 stamp;
	u64 value;
	u32 sender_pid, sender_uid;
	u32 how, sock;
	u64 sock_ino;
	u64 cookie[4];
};
#define MQ_MAIL_SENT 0x80000000u
/* signo of what goes to a socket: the kernel's last byte of a cookie. */
#define MQ_COOKIE_WOKEN 1
#define MQ_COOKIE_REMOVED 2
/* Arbitrary; only what a stopped process has not fetched stays. */
#define MQ_MAILS 64u

/*
 * struct mqueue: the body of a POSIX message queue; the table of chunks
 * follows. Slot lock and journaled, but for:
 *   level     slot lock, plain: UNKNOWN while the FIFO is being changed
 *   polled    slot lock, plain, bits are only added
 *   *time     slot lock, plain: each is one store
 *   users     hints
 *   unlinked, orphan_next   facility's lock
 *   name..table_off         written before the queue can be found
 * What every call looks at is in the first two lines.
 */
struct mqueue {
	struct prioq msgs;
	u32 maxmsg;
	u32 msgsize;
	struct wait_queue receivers, senders;
	u32 polled;
	u32 level; /* packets in the FIFO: 0 empty, 1 some, 2 full */
	s64 mtime;
	struct mq_notify notify; /* its state still in the second line */
	s64 atime, ctime;	 /* ns; st_atime is max(atime, mtime).. */
	s64 set_mtime; /* .. unless mtime is this: utimensat(2) said so */
	s64 file_size; /* st_size: what ftruncate(2) said; of no effect */
	struct users users;
	u32 unlinked;
	u32 orphan_next; /* slot idx + 1 */
	u32 ruid;	 /* who is charged */
	u32 name_len;
	u64 charge;
	u64 dev, ino; /* of the FIFO */
	u64 token[2]; /* its name */
	u64 body_size;
	char name[MQ_NAME_MAX + 1];
};
_Static_assert(__builtin_offsetof(struct mqueue, notify) < 128, "mqueue lines");

/*
 * struct rbtree_node: see index/rbtree.h. up carries the colour in its top
 * bit; user is the owner's, as is key while the node is outside.
 */
struct rbtree_node {
	s64 key;
	u32 up;
	u32 left;
	u32 right;
	u32 user;
};
_Static_assert(sizeof(struct rbtree_node) == 24, "rbtree node size");

/* Cell sizes of the messages that fit their cell, in units of 64 bytes. */
#define MSG_CLASSES 8u

/*
 * struct msg: one message, in a cell of a chunk of its queue; its payload
 * follows, or the reference of a block (struct msg_block) if it is larger than
 * MSG_INLINE. Links are offsets by 64. Written by the sender before it is
 * linked; then links and tree node journaled under the slot's lock. A receiver
 * always takes the oldest of a type, so the list of a type is a plain FIFO. The
 * youngest of a type is the last message of the queue if that is of the type,
 * else what the oldest says in node.user: a run of one type is appended without
 * looking for its beginning.
 */
struct msg {
	/* Key: the type. The oldest of a type stands in the tree. */
	struct rbtree_node node;
	u32 next, prev; /* FIFO over all */
	u32 type_next;
	u32 size;
	u32 chunk;
	u32 free_next; /* while the cell is free; never written otherwise */
	u64 stamp;     /* order of sending within the queue */
	char text[];
};
_Static_assert(sizeof(struct msg) == 56, "msg size");

/* In a cell of two units, in place of the text. */
struct msg_block {
	struct ref ref;
	u64 cap;
};

/*
 * struct msg_chunk: cells of one size, after this head. state = free cells'
 * list (link) << 32 | cells in use << 16 | cells ever used, so that a cell is
 * taken or given back by one journaled word. Links journaled, slot's lock.
 */
struct msg_chunk {
	u64 state;
	u32 next, prev; /* in its class: with room, or full */
	u32 class;
	u32 n_cells;
	u64 size;
	u64 pad[4];
};
_Static_assert(sizeof(struct msg_chunk) == 64, "msg chunk size");

struct msg_class {
	u32 room; /* chunks with a free cell: links */
	u32 full;
	u32 n_chunks;
	u32 idle; /* hint: a chunk without messages, to be checked */
};

/*
 * struct msgqueue: the body of a message queue. All under the slot's lock and
 * journaled, except stamp (gaps do no harm), class[].idle and users (hints),
 * the clearing of pending (sleepers may be looked at twice). count, the times
 * and pids are also read without the lock.
 */
struct msgqueue {
	u64 count;   /* messages << 35 | bytes */
	u64 ends;    /* last message << 32 | first */
	u32 types;   /* root of the tree of types */
	u32 pending; /* MSG_PEND_*: sleepers still to be looked at */
	u64 stamp;
	u64 qbytes;
	u32 lspid, lrpid;
	s64 stime, rtime;
	struct wait_queue receivers, senders;
	struct ref new_chunk; /* between heap_alloc and its use */
	struct users users;
	u32 n_large; /* chunks beyond the smallest size */
	u32 pad;
	struct msg_class class[MSG_CLASSES];
	struct ref warm[MSG_TIERS]; /* free payload blocks, linked */
	u32 n_warm[MSG_TIERS];
	u32 pad1;
};
#define MSG_BYTES(count) ((count) & ((1ULL << 35) - 1))
#define MSG_NUM(count) ((count) >> 35)

/*
 * struct msg_slab: payload blocks of one size (ipc/msgslab.h); heap's lock,
 * journaled. struct msg_slabs: the lists.
 */
struct msg_slab {
	u64 used; /* bits */
	u32 next, prev;
	u64 pad[6];
};
_Static_assert(sizeof(struct msg_slab) == 64, "msg slab size");
struct msg_slabs {
	u32 room[MSG_TIERS]; /* slabs with a free block: offset by 64 */
	u32 full[MSG_TIERS];
	u32 idle[MSG_TIERS]; /* the one of them that is empty, or 0 */
	struct ref moving;   /* between the heap and its use */
};

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

/* Heap: size classes, four to a power of two, from 64 bytes to 1 GiB. */
#define HEAP_CLASSES 100u
/* Room is reserved in the file system in steps of this size. Arbitrary: small
 * enough for docker's 64 MiB /dev/shm, large enough to be rare. */
#define HEAP_BATCH (256u << 10)

struct heap {
	struct lock lock;
	u64 bump;     /* first byte never handed out */
	u64 reserved; /* first byte whose page is not reserved */
	u64 used;     /* bytes handed out */
	u64 free_head[HEAP_CLASSES];
};

/* Of which hit of a limit the event ring was last told; hints, plain stores. */
struct limit_told {
	u64 value;
	u32 pid;
	u32 time; /* seconds, the low half */
};
#define LIMITS_TOLD 16u

/*
 * struct control_file: a control file that some process has open for writing
 * (ipc/controlfile.h). Written under control_lock while its bit in
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
 * struct header. Identity: written once by the creator before magic. Counters:
 * see their structs. The four identity checks are in region.c.
 */
struct header {
	u64 magic;
	u32 version;
	u32 word_size;
	u64 file_size;
	u64 boot_id[2];
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
	u32 pad0;
	struct limits limits;
	struct id_table ids[N_FAC];
	struct lock fac_lock[N_FAC];
	struct lock repair_lock;
	struct lock control_lock; /* of control[] */
	struct heap heap;
	u32 task_high; /* tasks ever used are below this */
	u32 task_hint;
	u32 thread_high;
	u32 thread_hint;
	u64 event_seq;
	u64 stamp;		   /* arrival order of waiters */
	u64 removing[N_FAC];	   /* idx + 1 of an object in mid-removal */
	u64 kernel_keys_ns[N_FAC]; /* ipc/kernelkey.h */
	struct msg_slabs msg_slabs;
	struct shm_state shm;
	u64 mq_fifo[2]; /* token of a FIFO made for a queue not yet there */
	u32 mq_orphans; /* queues unlinked but open: slot idx + 1, 0 = none */
	u32 pad;
	s64 mq_changed; /* a name came or went: realtime seconds, a hint */
	struct mq_mail mq_mail[MQ_MAILS];
	struct control_file control[CONTROL_FILES];
	struct control_taken control_taken;
	struct limit_told told[LIMITS_TOLD];
};
#define HEADER_SIZE 65536ULL
_Static_assert(sizeof(struct header) <= HEADER_SIZE, "header size");

#define TASKS_OFF HEADER_SIZE
#define THREADS_OFF (TASKS_OFF + (u64)N_TASKS * sizeof(struct task))
#define EVENTS_OFF (THREADS_OFF + (u64)N_THREADS * THREAD_STRIDE)
#define FAC_OFF (256ULL << 20)
#define FAC_SLOTS_SIZE ((u64)IDX_MAX * sizeof(struct slot))
#define FAC_BUCKETS_SIZE ((u64)IDX_MAX * 4)
#define FAC_BITMAP_SIZE (4ULL << 20)
#define FAC_STRIDE (FAC_SLOTS_SIZE + FAC_BUCKETS_SIZE + FAC_BITMAP_SIZE)
#define SLOTS_OFF(f) (FAC_OFF + (f)*FAC_STRIDE)
#define BUCKETS_OFF(f) (SLOTS_OFF(f) + FAC_SLOTS_SIZE)
#define BITMAP_OFF(f) (BUCKETS_OFF(f) + FAC_BUCKETS_SIZE)
#define BODIES_OFF (10ULL << 30)
#define BODY_SIZE 128ULL
#define HEAP_OFF (12ULL << 30)
#define REGION_SIZE (32ULL << 30)
/* Behind it the segments; larger than what the home mapping of a process
 * covers, whose offsets small runs get. Both arbitrary: no host has more
 * memory; a thousandth of the address space. */
#define WINDOW_MAX (64ULL << 40)
#define WINDOW_HOME (1ULL << 40)
_Static_assert(EVENTS_OFF + N_EVENTS * sizeof(struct event) <= FAC_OFF,
	"tables overlap");
_Static_assert(FAC_OFF + N_FAC * FAC_STRIDE <= BODIES_OFF, "bodies overlap");
_Static_assert(BODIES_OFF + IDX_MAX * BODY_SIZE <= HEAP_OFF, "heap overlaps");
_Static_assert(IDX_WORDS * 8ULL <= FAC_BITMAP_SIZE, "bitmap size");

#endif
