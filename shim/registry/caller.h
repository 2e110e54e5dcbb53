// SPDX-License-Identifier: MIT
/*
 * The caller: who is inside a served call. One a thread, in its private
 * memory; every function below entry/ gets it as its first argument.
 *
 * It knows the region, the thread's identity (pid, tid), its records in the
 * registry, the locks it holds, and whether a signal arrived meanwhile.
 */
#ifndef IPCLIFT_REGISTRY_CALLER_H
#define IPCLIFT_REGISTRY_CALLER_H

#include "registry/region/region.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/sys.h"

#define MAX_HELD JOURNAL_LOCKS
/* Words of sleepers on the robust list, of which the kernel looks at 2,048
 * entries: the lifeline and the application's mutexes stand behind them. And
 * sleepers that are let through in one hold of their object's lock
 * (lock_pause): arbitrary, each takes some tenths of a microsecond. tests/crash
 * and tests/explore have few sleepers. */
#if defined(IPCLIFT_CRASH) || defined(IPCLIFT_EXPLORE)
#define MAX_GRANTS 4u
#define HOLD_LEAVES 2u
#define HERD_LEAST 2u
#else
#define MAX_GRANTS 1024u
#define HOLD_LEAVES 128u
#define HERD_LEAST 4u
#endif
_Static_assert(HOLD_LEAVES < MAX_GRANTS, "no room for one hold");

/* Cached credentials of the process; see object/perm.h. */
struct cred {
	u32 euid;
	u32 seq; /* how often they were forgotten */
	u32 egid;
	u32 n_groups; /* in groups; GROUPS_UNKNOWN = ask the kernel */
	u32 caps;     /* CRED_* */
	/* With has_fs the user and group that are asked for files; else those
	 * are euid and egid. Valid with euid. */
	u32 fsuid, fsgid;
	u32 has_fs;
	u32 groups[64];
	/* Who reads them anew before anybody is refused: NULL for the process's
	 * own, else on behalf of somebody else (the mount), who keeps all
	 * groups in `many`. */
	void (*read)(struct cred *cred);
	const u32 *many;
	/* Who is charged for a queue, and the RLIMIT_MSGQUEUE: as read. */
	void (*charge)(struct cred *cred, u32 *ret_ruid, u64 *ret_limit);
	/* Whom events name as the one who asked: the pid, 0 if it has none in
	 * our pid namespace, and into command, if that is not NULL, the 16
	 * bytes of its thread's name. NULL: this thread. */
	u32 (*asker)(struct cred *cred, char *command);
};

/* Signals that arrived inside a section and could not be queued again; more
 * than a few at once are lost, as the kernel loses what it cannot queue. */
#define MAX_DEFERRED 4
/* What the end of the section has to see to. */
#define DEFERRED_MASK 1u   /* a signal arrived: restore mask */
#define DEFERRED_LOG 2u	   /* event_log_now */
#define DEFERRED_SHIELD 4u /* section_shield: let shielded through again */
struct deferred_signals {
	u32 n;
	u32 pending; /* DEFERRED_* */
	u64 open;    /* DEFERRED_MASK: signals that the section did not block */
	u64 shielded; /* signals blocked by section_shield, not before */
	struct {
		int signo;
		u32 pad;
		unsigned char info[128];
	} at[MAX_DEFERRED];
};

/*
 * Tables of what a thread used lately have two places for each value of the
 * low bits of an id, OLDER apart: whoever comes to the first moves who stood
 * there to the second.
 */
#define OLDER 8u

/* Calls on one object in a row; see in_row_at. */
struct in_row {
	u64 ident;
	u64 n;
};

/* Whole pages found good: addresses. */
struct guard_range {
	uintptr_t from, to;
};

struct caller {
	struct region region;
	/* --- what a vfork child changes under its parent (process.c) --- */
	struct sys_robust_head *robust;
	u32 generation; /* matches the process's, else stale (fork) */
	u32 tid;
	u32 pid;
	u32 task;    /* index of struct task, 0 = none yet */
	u32 thread;  /* index of struct thread, 0 = none yet */
	u64 bias_id; /* the record and its claim, never 0; ~0 = no record */
	u32 n_held;
	struct journal *journal;
	struct journal_entry *entries; /* of the journal */
	/* How far they are used, and their end: what the journal itself says
	 * of that others may have written. */
	struct journal_entry *entry_next, *entries_end;
	u32 damaged; /* damage.h: something in the file cannot be */
	struct lock *held[MAX_HELD];
	u32 in_section; /* > 0: a signal handler must wait */
	u32 async;	/* 1: the thread may be cancelled at any instruction */
	u32 n_asked;	/* wait_stopped, since n_grants was 0 */
	u32 n_grants;	/* to be woken after the unlock: */
	uintptr_t first_grant;	    /* waiter | 1 if it sleeps */
	struct waiter *last_grant;  /* through waiter.granted_next */
	u32 same_cpu;		    /* semop.c: how often in a row */
	struct waiter *prewake;	    /* wait_prewake */
	struct waiter *crash_guard; /* wait_crash_guard: woken if we die */
	u32 crash_guard_was;	    /* its word before */
	struct deferred_signals deferred;
	/* Set while the thread sleeps: takes it out of the queue before a
	 * signal handler of the application runs. */
	void (*interrupt)(struct caller *c);
	void *interrupt_arg;
	unsigned long
		signal_flags; /* sa_flags of the handler that interrupts */
	struct cred *cred;
	struct shm_process *shm; /* shm/shmmap.h */
	u32 *image_found;	 /* 1 once this program image has its task */
	s32 get_flg;		 /* of the *get(2) under way */
	/* Lock-free operations on one object in a row (bias.h). */
	struct in_row streak[2 * OLDER];
	/* What each facility keeps of the thread from call to call: a struct of
	 * its own folder (sem_thread, msg_thread, mq_thread). */
	char of_sem[784] __attribute__((aligned(16)));
	char of_msg[32] __attribute__((aligned(8)));
	char of_mq[40] __attribute__((aligned(8)));
	u32 idx_mask; /* of ids */
	int may_bias; /* barrier_register succeeded */
	struct { /* wait.c: the last look of a sleeper, and at which object */
		u64 ident;
		u32 result; /* enum spin_result */
	} spun;
	struct { /* wait.c, in cycles: of a sleep lately */
		s64 credit, usual;
	} yield;
	/* 1: a reader of low priority, the mount: it sleeps and looks again
	 * before it queues for a lock (lock_peek_again). */
	u32 onlooker;
	/* Called when a lock is not to be had for so long (lock.h); NULL: it is
	 * waited for. owner: tid in its word. */
	void (*stuck)(struct caller *c, struct lock *lock, u32 owner);
	u64 patience_ns;
	/* The region is a copy (region_copy): what is done in it is done to
	 * nobody else. */
	u32 detached;
	/* Calls on one queue in a row under its lock (object/users.h). */
	struct in_row alone[2 * OLDER];
	/* Pages found readable lately (guard.h). */
	uintptr_t stack_low, stack_high;
	uintptr_t good_page[16];
	/* Pages of the tables that surely have space (caller_reserve). */
	u64 reserved_page[8];
	/* 1: the operation under way has freed a block of the heap. */
	u32 heap_freed;
	/* list_op_pending of the application, if we came in a signal handler in
	 * the middle of one of its robust mutex operations (lock.h); as of the
	 * outermost lock that is held. */
	void *app_pending;
	uintptr_t good_write_page[16];
	struct guard_range good_range[2], good_write_range[2];
	u64 log_from, log_to; /* events to be logged (event.h); 0 = none */
	u32 robust_refused;   /* no robust list is to be had: task.h */
	u32 telling;	      /* 1: in sleep_need_timers (object/sleep.h) */
	u32 may_leave; /* sleepers that may yet be let through in this hold */
	u32 leasing;   /* facilities of which it leases what it receives, a bit
			* each: object/lease.h */
	u32 lease_batch; /* 1: its next receive acknowledges nothing */
	u64 lease_stamp; /* of what it received last, on lease */
	/* Tasks that may have to be reaped once it is enrolled: whose thread
	 * record it has taken over; the first that was in the way of its own. */
	u32 exited[2];
	/* Looks at records of threads when tasks were reaped (object/reap.c),
	 * in the second from looks_ns on. */
	u32 looks;
	u64 looks_ns;
	/* Pages of segments that were asked for without a pause, and when the
	 * last were (shm_map_resident). */
	u64 pages, pages_ns;
};

/* The count of an object, which begins anew if there is none. Two rows an ident
 * can stand in: a new one takes the first, whose object moves to the second and
 * pushes out what stood there, so two that alternate keep their counts. */
static inline struct in_row *in_row_at(struct in_row *rows, u64 ident)
{
	struct in_row *r = &rows[(u32)ident % OLDER];

	if (likely(r->ident == ident))
		return r;
	if (r[OLDER].ident == ident)
		return &r[OLDER];
	r[OLDER] = *r;
	*r = (struct in_row){ident, 0};
	return r;
}

static inline struct header *caller_header(const struct caller *c)
{
	return region_header(&c->region);
}

/*
 * Make tid, pid and the robust list of c those of the running thread, and
 * forget task and thread records. The region must be mapped. Called at a
 * thread's first served call and after fork.
 */
void caller_refresh(struct caller *c);

/*
 * The robust list of our own that a vfork or raw clone child gets: its first
 * entry; with set, put that back (vfork children in vfork children share it).
 */
void *caller_own_robust(void *const *set);

/*
 * Give the caller its records in the registry (task, thread), if it has none.
 * Needed before any lock. 0, or -ENOMEM / -ENOSPC if the tables are full.
 */
int caller_enroll_slow(struct caller *c);
/* Called by it first, outside the section; -errno: it is not enrolled then. May
 * make c another process's, if a handler has forked. Set by entry/, NULL
 * elsewhere. */
extern int (*caller_enrolling)(struct caller *c);
/* reap_task_unheld (object/reap.h), which this layer does not know; called by
 * it for tasks that exited with something left. Set with caller_enrolling, NULL
 * elsewhere: onlookers give nothing back. */
extern int (*caller_exited)(struct caller *c, u32 task);
/* sleep_remove_dead (object/sleep.h), which this layer does not know; called for
 * threads that were killed asleep. Set with caller_enrolling, NULL elsewhere. */
extern void (*caller_slept)(struct caller *c, u32 thread);
/* sleep_need_timers (object/sleep.h), which this layer does not know; called once
 * it is enrolled if it is refused robust lists, and before it takes a lock beside
 * an application's pending entry. Set by whoever may wake, NULL elsewhere. */
extern void (*caller_unmarked)(struct caller *c);
/* bias_id from the thread record: the index and which claim of it this is (bit
 * 63 is BIAS_REVOKING's); ~0 without a record. */
static inline void caller_set_bias_id(struct caller *c)
{
	const struct thread *th = region_thread(&c->region, c->thread);

	c->bias_id = c->thread && !c->async
			     ? (u64)(th->claims & 0x7fffffff) << 32 | c->thread
			     : ~0ULL;
}
static inline int caller_enroll(struct caller *c)
{
	return likely(c->thread) ? 0 : caller_enroll_slow(c);
}

/*
 * Make sure that the file system has space for `len` bytes of a table at `off`
 * before they are touched, even if only to read: a hole in a full tmpfs is
 * SIGBUS. 0 or -ENOMEM. Pages are never given back, so one found good is
 * remembered; else a system call a page. The heap keeps its own account.
 */
int caller_reserve_slow(struct caller *c, u64 page);
static inline int caller_reserve(struct caller *c, const void *p, u64 len)
{
	u64 off = (const char *)p - c->region.base;
	u64 page = off / SYS_PAGE, last = (off + len - 1) / SYS_PAGE;

	for (; page <= last; page++)
		if (unlikely(c->reserved_page[page % 8] != page) &&
			caller_reserve_slow(c, page))
			return -ENOMEM;
	return 0;
}

/*
 * Sections: between begin and end no signal handler of the application runs in
 * this thread (signal.c defers it), so a handler may call every served
 * function. They nest. The end is where a deferred signal is raised again.
 *
 * Nor is the thread cancelled in between: of one that may be at any instruction
 * (caller.async; only such threads pay for it) libc's signal for that is
 * blocked.
 */
void section_shield(struct caller *c);
/* The thread may be cancelled at any instruction from now on, or no longer. */
void section_async(struct caller *c, int on);
void section_raise(struct caller *c);
/* Queue a signal again for this thread, or keep it for section_raise. */
void section_requeue(struct caller *c, int sig, const void *info);
/* Runs the application's handler for a signal that cannot be raised again;
 * mask: what the thread blocks besides. Set by entry/, NULL elsewhere. */
extern void (*section_direct)(int signo, void *info, u64 mask);
static inline void section_begin(struct caller *c)
{
	if (unlikely(c->async))
		section_shield(c);
	c->in_section++;
	atom_compiler_barrier();
}
static inline void section_end(struct caller *c)
{
	atom_compiler_barrier();
	if (--c->in_section == 0 && unlikely(c->deferred.pending))
		section_raise(c);
}

#endif
