// SPDX-License-Identifier: MIT
/*
 * layout.h's part that everything else is built of: references, locks, slots,
 * the tables of ids, tasks, threads with their journals and waiters. Included
 * by it; the rules of its head hold here too.
 */
#ifndef IPCLIFT_REGISTRY_LAYOUT_BASE_H
#define IPCLIFT_REGISTRY_LAYOUT_BASE_H

#include "base/types.h"

/* An offset into the region; 0 is "none" (the header is never referred to). */
struct ref {
	u64 off;
};

/* The same in half the space: off / 64, which a block of the heap can have. */
struct short_ref {
	u32 unit;
};

/*
 * struct lock: a robust lock. See lock.h for the word's states; what it takes
 * when profiled stands apart (struct lock_profile).
 * field      written by       lock  read without it  a crash leaves
 * word       owner, kernel    -     yes              OWNER_DIED, by the kernel
 * journal    new owner        self  repair only      the one before's: harmless
 * count      owner            self  yes (sequence)   one off: statistics
 * n_*        owner, waiters   -     yes              one off: statistics
 * robust_*   owner            -     kernel only      an exited one's node, which
 *                                                    nobody follows
 * by_bias    nobody           -     no               -
 * streak     lock holder      self  no               a hint
 */
struct lock {
	u32 word;
	u32 journal;	   /* thread index of the owner's journal */
	u64 count;	   /* times taken (lock_count); never goes back */
	u32 n_found_held;  /* cnt_lock: an acquirer found it held */
	u32 n_held_wanted; /* cnt_hold: wanted by others while held */
	u64 robust_prev;   /* +24: written by libc code only */
	u64 robust_next;   /* +32 (glibc) or +28 (musl) from word */
	u32 by_bias; /* its offset is this lock's in the journal of who has the
		      * object by bias, not by the lock (bias.h) */
	u32 streak;  /* a set's: operations of one thread in a row */
};
_Static_assert(sizeof(struct lock) == 48, "lock size");

/* A lock that shares its cache line with nothing. */
struct lone_lock {
	struct lock lock;
	u64 pad[2];
};

/* Owner only, under the lock, any value is right after a crash. Never touched
 * before profiling is switched on. */
struct lock_profile {
	u64 total_ns; /* sum of hold times */
	u64 taken_ns; /* when the present hold began; 0 = not noted */
	u32 max_ns;   /* longest hold */
	u32 pad;
};

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
 * field    written by        lock        read without it      a crash leaves
 * lock     its owner         self        word only            repaired
 * ident    create, remove    fac + self  yes (acquire)        old or new
 * body     create, remove    fac         yes, if ident agrees journaled
 * key,next create, remove    fac         yes (key seq)        journaled
 * perm     create, IPC_SET   fac / self  yes                  journaled
 * size     create            fac         yes                  any: no ident yet
 * ctime    create, SET*      fac / self  yes                  journaled
 * bias     holder of lock    self        its thread           revoked by next
 */
struct slot {
	struct lock lock;
	s64 ctime;
	u32 gid;
	u32 cgid;
	/* The second line: what callers read without the lock; of the first a
	 * read takes the lock's line from whoever has it. */
	u64 ident; /* IDENT_* below; 0 = free */
	struct ref body;
	s32 key;
	u32 next; /* key chain: a link (keyhash.c), 0 = end */
	u32 mode; /* the nine permission bits (and facility's own above) */
	u32 uid;
	u32 cuid;
	u32 size; /* semaphores of the set */
	u64 bias; /* bias.h: caller.bias_id of the thread that the lock
		   * is biased to, 0 = none */
};
_Static_assert(sizeof(struct slot) == 112, "slot size");

/* ident = generation << 32 | live bit | id. One load tells which object, if
 * any, stands in the slot. Only the generation's low half is there, which is
 * never 0 and comes again after 2^32 - 1 creations: an odd number, so that it
 * does not come with the same id, whose part of sequence repeats after a power
 * of two (that takes some 2^53). */
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
	s32 next_id; /* requested id, for one creation; -1 = none */
	u32 max_idx; /* highest idx in use is <= this */
	u64 total;   /* semaphores in all sets */
	u32 n_keys;
	u32 n_buckets; /* linear hashing: buckets in use, >= 1 */
	u32 key_seq;
	u32 slots_ready; /* pages of slots below are reserved; only grows */
	u64 gen;	 /* generation of the next object (id_table_next_gen) */
	u64 pages[IDX_PAGES / 64]; /* pages of the bitmap's level 0 that were
				    * ever used; the others are holes */
};

static inline u64 id_table_next_gen(u64 gen)
{
	return gen + 1 + !(uint32_t)(gen + 1);
}
#define IDENT(gen, id) \
	((u64)(uint32_t)(gen) << 32 | IDENT_LIVE | (uint32_t)(id))

/* Limits, as the sysctl files show them. By whoever may write the file, without
 * a lock: each field is one store, and counts from the next call on. */
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
 * field      written by       lock  read without it  a crash leaves
 * claim      claimer, reaper  CAS   yes              a dead one's, which the
 *                                                    next claimer takes over
 * start..    claimer          -     if TASK_LIVE     rewritten by the next
 * lifeline   owner, kernel    -     yes              OWNER_DIED; or what it was,
 *                                                    if the kernel could not
 *                                                    walk the owner's list
 * exec_used  owner            -     yes              1 is right
 * life_tid.. owner            -     if life != 0     another thread's, for the
 *                                                    moment until the winner of
 *                                                    `life` has stored its own
 * undo_head  owner, reaper    lock  no               journaled
 * shm_*      owner, reaper    lock  no               journaled; shm_free may be
 *                                                    0 in a dead one's
 * epoch      owner            -     yes              one store
 * image      owner, finder    -     yes              one store; after exec that
 *                                                    of the image before, until
 *                                                    the new one attaches
 * prefork    parent, child    -     yes              one compare-and-swap
 * notifier   senders, its     -     yes              one look too many
 *            notification
 *            thread
 * displaced  anybody          -     yes              one too many: 1 if some
 *                                                    process with a pid for
 *                                                    this place was put into
 *                                                    another; stays
 *
 * state TASK_PREFORK: not a process yet but what a child to be forked will
 * inherit (shm/shmfork.h); pid and start are the parent's.
 */
enum task_state {
	TASK_FREE,
	TASK_LIVE,
	TASK_PREFORK,
};

struct task {
	union {
		struct {
			u32 pid;   /* 0 = free */
			u32 state; /* TASK_*: are the fields valid */
		};
		u64 claim; /* both, for one compare-and-swap */
	};
	u64 start;     /* birth of pid (identity.h) */
	u32 exec_used; /* 0: exec_life is not linked; 1: it may be */
	u32 life_type; /* musl's walk reads the words around the lifeline */
	/* The lifeline: linked on the robust list of one thread for good. */
	u32 life; /* tid | WAITERS while linked; OWNER_DIED once it fired, or
		   * because its thread can have no list: then life_tid is 0 */
	u32 life_waiters;
	/* Birth of life_tid; of a prefork task: of the child, if that is known
	 */
	u64 life_birth;
	u64 alive_ns;  /* when it was last found alive: task_look; a hint */
	u64 life_prev; /* +24 */
	u64 life_next; /* +32 / +28 */
	/* If that thread is not the leader, this is linked too, with the pid:
	 * by the time the kernel walks the list of a thread that called exec,
	 * the thread has got that number, and takes `life` for another's. */
	u32 exec_pad0;
	u32 exec_type;
	u32 exec_life; /* pid | WAITERS while linked; OWNER_DIED; 0 unused */
	u32 exec_waiters;
	u64 image; /* image lock of its program image (image.h), 0 = none */
	u64 exec_pad;
	u64 exec_prev;
	u64 exec_next;
	struct lock lock;
	u32 displaced;
	u32 lock_pad[3];
	struct ref undo_head; /* this process's undo records */
	struct ref spare;     /* a block between heap_alloc and its use */
	u64 spare_size;	      /* of that block */
	u64 use_seq;	      /* stamps "most recently used" */
	struct ref shm_head;  /* its attachment records, */
	struct ref shm_free;  /* and those of them that are not in use */
	u64 mm;	       /* tells one program image from the next: stack start; 0
			* until its first lifeline */
	u32 epoch;     /* program images so far */
	u32 life_tid;  /* the thread that the lifeline is of */
	u64 prefork;   /* nonce << 32 | pid of the child, once known */
	u32 candidate; /* who may be its child: pid, 0 = not looked yet */
	u32 notifier; /* 0 or MQ_NOTIFIER_ASLEEP: its notification thread sleeps
 * on it */
};
_Static_assert(sizeof(struct task) == 256, "task size");
#define N_TASKS 65536u
#define TASKS_A_PAGE 16u /* of 4096 bytes */
#define TASK_PAGES (N_TASKS / TASKS_A_PAGE)

/* One old value: off carries the size (2, 4 or 8 bytes) in its top byte.
 * Written before journal.n covers it. */
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
 *
 * locks[0 .. n_locks) are the offsets of the locks that the thread holds,
 * outermost first: an entry is written before n_locks covers it, and after the
 * lock's word was won; n_locks goes down before the word is given back. Inside
 * a biased object (bias.h) it is the offset of that lock's by_bias alone,
 * which says nothing about the word and is for the revoker only.
 */
struct journal {
	u32 n;	     /* entries that count; 0 = nothing to roll back */
	u32 n_locks; /* see above */
	u64 locks[JOURNAL_LOCKS];
	u64 publish_off; /* journal_publish: the store that commits, */
	u64 publish_val; /* and what it stores; off 0 = none */
	struct ref ext;	 /* a larger entry array, or 0 for the inline one */
	u32 cap;
	u32 pad0;
	struct journal_entry entries[JOURNAL_INLINE];
};

/* A larger entry array. The store of journal.ext puts it in force; old is what
 * it took the place of and is to be freed (journal_adopt). Written before that.
 */
struct journal_ext {
	u64 cap;
	struct ref old;
	u64 old_size;
	u64 pad0;
	struct journal_entry entries[];
};

/* An operation of semop(2), written by the sleeper before it is queued: see
 * struct waiter, sops. */
struct sop {
	u16 num;
	s16 op;
	s16 flg;
};
#define WAITER_SOPS_INLINE 16u

/* What a sleeper in msgsnd or msgrcv waits for, and where the message is that it
 * was handed: written as the rest of its waiter. */
struct msg_wait {
	s64 want;     /* a receiver's msgtyp; a sender's type */
	u64 max_size; /* space in a receiver's buffer; a sender's size */
	u32 mode;     /* MSG_TAKE_* of msg/msgqueue.h */
	u32 where;    /* handed over: MSG_IN_*, which block of the thread */
	s64 type;     /* handed over: type and size of the message */
	u64 size;
	u64 stamp; /* and its place in the order of sending */
	/* The receiver's record for it (struct lease), or 0. */
	struct ref lease;
};

/*
 * struct waiter: how a thread sleeps on an object. Written by its own thread
 * before it is queued; while queued, by whoever holds the object's lock.
 * field     written by             a crash leaves
 * word      sleeper, waker, kernel see wait.h
 * alive     sleeper, kernel        OWNER_DIED: nothing is handed to it any more;
 *                                 without SYS_WAITERS: refused robust lists,
 *                                 and whoever looks asks whether it lives
 * granted_next  waker, while granted  any value: read by that waker only
 * wants_wake   sleeper, lock held    any value: it looks later than it should
 * has_timer     sleeper, lock held    any value: tells only who is requeued
 * slept         sleeper, no lock;     any value: one check more, or less
 *               wait_stopped's caller,
 *               lock held; prewake,
 *               no lock
 * n_requeuers   wakers, atomic        more than 0: it sleeps with a timer
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
	u32 has_timer;	  /* it sleeps with a timer */
	u32 granted_next; /* thread index << 1 | 1 if that one sleeps */
	u32 wants_wake;	  /* WAKE_*: its next look by itself is far off */
	u32 slept;	 /* when it went into its futex, later from time to time
		    * after that (wait_stopped): cycles / 1,024 */
	u32 n_requeuers; /* wakers that may requeue the sleeper (wake_herd) */
	u64 alive_prev;	 /* +24 */
	u64 alive_next;	 /* +32 / +28 */
	u64 stamp;	 /* arrival order within the object */
	u64 ident;	 /* of the object */
	u32 next, prev;	 /* queue links: thread indexes, 0 = end */
	u32 facility;
	u32 kind; /* which queue */
	u32 n_sops;
	u32 block_op; /* index of the operation it is blocked at */
	u32 pid;
	u32 queue_num; /* semaphore in whose queue it is */
	struct ref undo;
	struct ref ext;
	u64 ext_cap;
	s64 since;
	union {
		struct sop sops[WAITER_SOPS_INLINE];
		struct msg_wait msg;
		struct { /* POSIX: ext is the message's block */
			u32 msg_prio;
			u32 msg_len;
			u32 sched_prio; /* SCHED_*: see mqwait.c */
			u32 pad_mq;
			struct ref lease_mq; /* as msg_wait.lease */
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
 * field     written by            lock      read without  a crash leaves
 * tid       claimer, reaper       CAS       acquire       the last one's, which
 *                                                         the next claimer takes
 * task..    claimer               -         if tid is     rewritten by the next
 * birth                                     that one
 * claims    claimer               -         yes           one more
 * spare     owner                 heap      no            journaled; who takes
 *                                                         the record frees it
 * waiter, journal, blocks         see there
 * bias_at   owner; claimer: 0     -         acquire       the slot's
 * bias_word owner, kernel;        -         acquire       OWNER_DIED, by the
 *           claimer: 0                                    kernel
 * boost     who waits, owner,     CAS       acquire       OWNER_DIED from the
 *           kernel                                        kernel
 * run       owner, reaper         fac SHM   is_left       journaled
 * ready     owner, reaper         heap      no            journaled
 * ready_*   owner                 -         if ready is   stored before it
 */
struct thread {
	u32 tid; /* 0 = free; claimed by CAS */
	u32 task;
	u32 claims;	  /* how often it was claimed */
	u32 run_claim;	  /* the claim that `run` is of: shm/shmrun.h */
	u64 start;	  /* of the task */
	u64 birth;	  /* of tid (identity.h); another one's if tid is 0 */
	struct ref spare; /* a block between heap_alloc_at and its use */
	struct waiter waiter;
	struct journal journal;
	u64 spare_size; /* of that block */
	struct msg_blocks blocks;
	/* A priority-inheriting futex that real-time threads wait for this one
	 * on: lock.h. Written by whoever waits, by this thread, the kernel. */
	u32 boost;
	u32 pad0;
	/* A run of pages that the thread is giving back to the file system,
	 * without a lock. Written under the lock of FAC_SHM, journaled. */
	struct ref run;
	/* A large block of the heap that the thread is filling with pages, has
	 * filled for what it is about to make (ready_filled), or is giving
	 * back: heap.h. `ready` is journaled; the others count only while it
	 * is set, and are stored before. */
	struct ref ready;
	u64 ready_size;
	u64 ready_filled;
	/* bias.h: the offset of the slot that it is in by its bias, or about to
	 * enter or leave, 0 = none; and its tid meanwhile. */
	u64 bias_at;
	u32 bias_word;
	u32 pad1;
};
_Static_assert(sizeof(struct thread) <= 1280, "thread size");
#define THREAD_STRIDE 1280u
#define N_THREADS 131072u

/* A queue of waiters: thread indexes, 0 = empty. Journaled, object's lock. */
struct wait_queue {
	u32 head;
	u32 tail;
};

#endif
