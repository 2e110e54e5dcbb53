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

#include "registry/region.h"
#include "base/sys.h"

#define MAX_HELD JOURNAL_LOCKS
#define MAX_GRANTS 64u

/* Cached credentials of the process; see ipc/perm.h. */
struct cred {
	u32 euid;
	u32 egid;
	u32 n_groups; /* in groups; GROUPS_UNKNOWN = ask the kernel */
	u32 caps;     /* CRED_* */
	u32 groups[64];
};

/*
 * Signals that arrived inside a section, kept for its end. The first one blocks
 * all others for the rest of the section, so one slot would do; under valgrind
 * it cannot block them, hence a few more.
 */
#define MAX_DEFERRED 8
struct deferred_signals {
	u32 n;
	int has_mask;
	u64 mask; /* the thread's signal mask to restore */
	struct {
		int signo;
		u32 pad;
		unsigned char info[128];
	} at[MAX_DEFERRED];
};

struct caller {
	struct region region;
	struct sys_robust_head *robust;
	u32 generation; /* matches the process's, else stale (fork) */
	u32 tid;
	u32 pid;
	u32 task;   /* index of struct task, 0 = none yet */
	u32 thread; /* index of struct thread, 0 = none yet */
	u32 n_held;
	struct journal *journal;
	struct journal_entry *entries; /* of the journal */
	struct lock *held[MAX_HELD];
	u32 in_section; /* > 0: a signal handler must wait */
	u32 n_grants;
	struct waiter *grants[MAX_GRANTS]; /* to be woken after the unlock */
	struct deferred_signals deferred;
	/* Set while the thread sleeps: takes it out of the queue before a
	 * signal handler of the host runs. */
	void (*interrupt)(struct caller *c);
	void *interrupt_arg;
	unsigned long signal_flags; /* sa_flags of the handler that interrupts */
	struct cred *cred;
	/* Pages found readable lately (guard.h). */
	uintptr_t stack_low, stack_high;
	uintptr_t good_page[8];
	/* The same for writing. */
	uintptr_t write_low, write_high;
	uintptr_t write_page[8];
	/* The own undo records used lately (undo.h), by slot index. */
	struct {
		u64 ident;
		u64 off;
	} undo_cache[8];
};

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
 * Give the caller its records in the registry (task, thread), if it has none.
 * Needed before any lock. 0, or -ENOMEM / -ENOSPC if the tables are full.
 */
int caller_enroll_slow(struct caller *c);
static inline int caller_enroll(struct caller *c)
{
	return likely(c->thread) ? 0 : caller_enroll_slow(c);
}

/*
 * Sections: between begin and end no signal handler of the host runs in this
 * thread (signal.c defers it), so a handler may call every served function.
 * They nest. The end is where a deferred signal is raised again.
 */
void section_raise(struct caller *c);
static inline void section_begin(struct caller *c)
{
	c->in_section++;
	atom_compiler_barrier();
}
static inline void section_end(struct caller *c)
{
	atom_compiler_barrier();
	if (--c->in_section == 0 && unlikely(c->deferred.n))
		section_raise(c);
}

#endif
