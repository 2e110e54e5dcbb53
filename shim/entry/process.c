// SPDX-License-Identifier: MIT
/*
 * Initialisation at the first served call, kept valid across fork, vfork and
 * exec.
 *
 * Nothing runs before the first call (but environment.c copies the variables
 * when the library is loaded) and nothing is torn down after the last: another
 * library's constructor may make calls before ours would have run, and its
 * destructor after ours. The first call may be made in a signal handler or by
 * several threads at once, so initialisation holds a lock with all signals
 * blocked.
 *
 * A fork child finds the wiped page empty and makes itself a new caller on the
 * inherited mapping (if it is still in the registry's pid namespace). A vfork
 * child shares all memory with its suspended parent: the interposed vfork makes
 * the child's first call initialise anew and restores the parent's caller; a
 * clone() with CLONE_VM and CLONE_VFORK is treated alike. Not served: a child
 * with CLONE_VM, without CLONE_VFORK, CLONE_THREAD and TLS of its own. It
 * shares errno with its parent, too, and no libc supports it.
 *
 * Credentials are cached for the process, and separately for threads that
 * changed theirs by number; the interposed set*id calls drop them. Those that
 * change the user map the registry first if IPCLIFT_REGISTRY names one, and
 * chroot and the like do in any case: a daemon that gives up its privileges, or
 * its root, could not open it at its first call.
 */
#include <linux/mman.h>
#include <linux/sched.h>
#include <signal.h>
#include "entry/notify_thread.h"
#include "entry/environment.h"
#include "entry/log.h"
#include "entry/process.h"
#include "base/file.h"
#include "object/limits.h"
#include "object/perm.h"
#include "object/reap.h"
#include "object/route.h"
#include "object/sidefile.h"
#include "object/sleep.h"
#include "entry/world.h"
#include "registry/task.h"
#include "shm/shmfork.h"
#include "shm/shmmap.h"

/* In a section of its own, which the linker puts after .bss: so .bss begins in
 * the page of .data, which it would not if it had a page's alignment
 * (SYS_FAR_BSS). */
struct wiped_page process_page
	__attribute__((aligned(4096), section(".wiped,\"aw\",@nobits#")));
__thread struct caller process_caller;
__thread struct shm_fork process_fork;

static struct world first_world;

static struct {
	struct cred cred;
	u32 generations;
	u32 routes;
	u32 leasing; /* IPCLIFT_LEASE: facilities, a bit each */
	int early;   /* mapped, but no call was made yet */
	int parsed;
	int complained;
	int wrap_in_parent;
} process = {.routes = 0xffffffff, .cred = {.euid = 0xffffffff}};

/* The calling thread's. */
static struct world *world_own(void)
{
	return world_of(process_shm());
}

static u32 process_vfork_depth(void);
static u32 process_vfork_parent(void);
static struct cred *cred_apart(void);
static int process_apart; /* some threads have credentials of their own */

/* ---- routes ---- */

int process_routes(enum facility f)
{
	if (unlikely(!__atomic_load_n(&process.parsed, __ATOMIC_ACQUIRE))) {
		process.routes = route_parse(environment_get("IPCLIFT_ROUTE"));
		process.leasing = route_named(environment_get("IPCLIFT_LEASE"));
		__atomic_store_n(&process.parsed, 1, __ATOMIC_RELEASE);
	}
	return process.routes >> f & 1;
}

/* ---- the registry ---- */

/* Once; all signals are blocked here. */
static void complain(const char *why)
{
	if (process.complained)
		return;
	process.complained = 1;
	log_complain(why);
}

struct map_call {
	struct world *w;
	const char *path;
	const struct region_options *options;
	char *why;
	size_t cap;
	int err;
};

static void map_call(void *arg)
{
	struct map_call *m = arg;

	m->err = world_map(m->w, m->path, m->options, m->why, m->cap);
}

/* If the program has no descriptor left, in a thread with a table of its
 * own. */
static int map_file(struct map_call *m)
{
	map_call(m);
	if (m->err == -EMFILE)
		sys_with_descriptors(map_call, m);
	return m->err;
}

static int map_registry(struct world *w, int quiet)
{
	const char *path = environment_get("IPCLIFT_REGISTRY");
	struct region_options opt = {0};
	char own[64], why[512];
	struct map_call m = {w, path, &opt, why, sizeof(why), 0};
	int err = 0;

	limits_choose(&opt, environment_get("IPCLIFT_LIMITS"),
		environment_get("IPCLIFT_IDS"));
	log_init(environment_get("IPCLIFT_LOG"));
	if (path && *path)
		limit_remedy_for("--registry", path);
	if (unlikely(world_base()[0])) {
		m.path = world_base();
	} else if (!path || !*path) {
		err = region_default_path(own, sizeof(own), why, sizeof(why));
		m.path = own;
		opt.canonical = 1;
	}
	if (!err)
		err = map_file(&m);
	if (err && !quiet)
		complain(why);
	return err;
}

/* ---- the first call ---- */

/* Was the owner killed while it held the lock? Only a vfork child can be, since
 * its parent continues in the same memory. It may be a zombie that we have to
 * reap. */
static int init_owner_died(u32 tid)
{
	int exiting = 0;

	if (sys_call(__NR_kill, tid, 0) == -ESRCH)
		return 1;
	return sys_start_time(tid, &exiting) && exiting;
}

/* How long a waiter sleeps before it checks whether the owner exists; normally
 * it is woken before. Arbitrary. */
#define INIT_SLICE_NS 10000000

/* States of the word: 0 free; tid; tid | WAITERS: threads may sleep on it. The
 * bit stays until the word is free, and a thread that has slept takes it with
 * the bit. */
static void init_wait(u32 *lock, u32 tid)
{
	const struct sys_timespec slice = {0, INIT_SLICE_NS};
	u32 seen = 0, slept = 0;

	while (!__atomic_compare_exchange_n(lock, &seen, tid | slept, 0,
		__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (!(seen & SYS_WAITERS) &&
			!__atomic_compare_exchange_n(lock, &seen,
				seen | SYS_WAITERS, 0, __ATOMIC_RELAXED,
				__ATOMIC_RELAXED)) {
			seen = 0;
			continue;
		}
		seen |= SYS_WAITERS;
		if (sys_futex_wait(lock, seen, &slice) == -ETIMEDOUT &&
			init_owner_died(seen & SYS_TID_MASK))
			__atomic_compare_exchange_n(lock, &seen, 0, 0,
				__ATOMIC_RELAXED, __ATOMIC_RELAXED);
		slept = SYS_WAITERS;
		seen = 0;
	}
}

/*
 * The lock is on the page that fork wipes, and the page is declared so before
 * the lock is taken: a child forked in the middle of initialisation finds it
 * free.
 */
static int init_lock(u64 *ret_mask, int quiet)
{
	const u64 all = ~0ULL;
	long err = 0;

	/* In a fork child the page is declared so by its parent. */
	if (!process.generations)
		err = sys_call(__NR_madvise, &process_page,
			sizeof(process_page), MADV_WIPEONFORK);
	if (err && quiet)
		return -ENOSYS;
	if (err) {
		complain(err == -EINVAL
				 ? "this kernel has no MADV_WIPEONFORK (Linux "
				   "4.14), which tells a fork child from its "
				   "parent"
				 : "madvise(MADV_WIPEONFORK), which tells a "
				   "fork child from its parent, is refused "
				   "here (a filter of system calls)");
		return -ENOSYS;
	}
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &all, ret_mask, 8);
	init_wait(&process_page.init_lock, sys_gettid());
	return 0;
}

static void init_unlock(const u64 *mask)
{
	u32 was = __atomic_exchange_n(
		&process_page.init_lock, 0, __ATOMIC_RELEASE);

	if (was & SYS_WAITERS)
		sys_futex_wake(&process_page.init_lock, 1);
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
}

/* caller_enrolling: before the first lock. */
static int enrolling(struct caller *c)
{
	int err = 0;

	if (!signal_wrapped()) {
		signal_wrap_all();
		/* A vfork child has wrapped its own handlers only. */
		process.wrap_in_parent = process_vfork_depth() > 0;
	}
	/* A handler without a trampoline has forked, and this is the child. */
	if (unlikely(c->generation != process_page.generation))
		process_get(&err);
	return process_vfork_depth() ? 0 : shm_fork_again(c);
}

/*
 * fakeroot's library talks to its daemon by a queue with the key in
 * FAKEROOTKEY. If the daemon runs without the shim, the kernel has that queue,
 * and the library would create one in the registry and wait on it for ever.
 * (`ipclift run` reports this before.) With fakeroot by TCP the variable has a
 * port, and there is no queue.
 */
static int check_fakeroot(void)
{
	int key = environment_fakeroot();

	if (likely(!key) || !process_routes(FAC_MSG) ||
		sys_call(__NR_msgget, key, 0) < 0)
		return 0;
	complain("fakeroot's daemon is on the kernel's queues, and its library "
		 "would wait for it here: use fakeroot-tcp, or start fakeroot "
		 "itself under ipclift");
	return -ENOSYS;
}

static int map_first(struct world *w)
{
	int err = check_fakeroot();

	if (!err && !w->region.base)
		err = map_registry(w, 0);
	if (!err) {
		process.early = 0;
		caller_enrolling = enrolling;
		caller_exited = reap_task_unheld;
		caller_slept = sleep_remove_dead;
		caller_unmarked = sleep_need_timers;
	}
	return err;
}

static int check_namespace(const struct region *region)
{
	char why[512];
	int err = region_check_namespace(region, why, sizeof(why));

	if (err)
		complain(why);
	return err;
}

/* Make c the calling thread's caller in w; the init lock is held. */
static void world_enter(struct caller *c, struct world *w)
{
	if (unlikely(world_moved))
		world_leave(
			c, process_vfork_depth() ? 0 : process_page.generation);
	c->region = w->region;
	c->cred = process_apart ? cred_apart() : &process.cred;
	c->shm = &w->shm;
	c->leasing = process.leasing;
	/* Not a vfork child's: it has a task of its own. */
	c->image_found = process_vfork_depth() ? NULL : &w->image_found;
	caller_refresh(c);
	c->generation = process_page.generation;
	if (unlikely(world_moved))
		world_return(c, w);
}

static int init_locked(struct caller *c)
{
	int fresh = !process_page.generation, err = 0;
	struct world *w = unlikely(world_moved) ? world_here(&first_world, &err)
						: &first_world;
	u32 f;

	if (!w)
		return err;
	err = 0;
	if (fresh && first_world.region.base)
		identity_forget();
	if (w->region.base && ((fresh && !process_page.same_namespace) ||
				      process_vfork_depth()))
		err = check_namespace(&w->region);
	/* Or another thread's first call was under way when we were forked. */
	if (!err && (!process_active() || !w->region.base || !caller_enrolling))
		err = map_first(w);
	if (err)
		return err;
	if (fresh) {
		process_page.pid = process_vfork_depth()
					   ? process_vfork_parent()
					   : sys_getpid();
		if (process.generations > 0)
			world_inherit(&first_world);
		process.generations++;
		for (f = 0; f < N_FAC; f++)
			process_page.served[f] =
				process_routes(f) ? process.generations : 0;
		__atomic_store_n(&process_page.generation, process.generations,
			__ATOMIC_RELEASE);
	}
	world_enter(c, w);
	return 0;
}

/* Adopt what a fork child inherited in this world, when it is first used. */
static void take_over(struct caller *c)
{
	static const struct shm_fork none;
	struct world *w = world_own();

	/* A vfork child leaves it to its parent. */
	if (likely(!w->inherited) || process_vfork_depth())
		return;
	w->inherited = 0;
	shm_fork_child(c, w == &first_world ? &process_fork : &none);
}

struct caller *process_caller_slow(int *ret_errno)
{
	struct caller *c = &process_caller;
	u64 mask;
	int err = init_lock(&mask, 0);

	if (!err) {
		err = init_locked(c);
		if (!err)
			take_over(c);
		init_unlock(&mask);
	}
	*ret_errno = -err;
	return err ? NULL : c;
}

struct shm_process *process_shm(void)
{
	struct shm_process *own = process_caller.shm;

	return own ? own : &first_world.shm;
}

struct shm_process *process_each_shm(u32 *at)
{
	struct world *w = world_each(&first_world, at);

	return w ? &w->shm : NULL;
}

int process_active(void)
{
	return (first_world.region.base || world_moved) && !process.early;
}

/* Not in a handler that interrupted a sleep or a section: these continue with
 * the caller as it was. */
int process_enter_other(struct caller *c, u32 *at)
{
	struct world *w;
	u64 mask;

	if (likely(!world_moved) || c->in_section || c->interrupt ||
		process_vfork_depth())
		return 0;
	do
		w = world_each(&first_world, at);
	while (w && w == world_own());
	if (!w || init_lock(&mask, 1))
		return 0;
	world_enter(c, w);
	take_over(c);
	init_unlock(&mask);
	return 1;
}

long process_home(long ret)
{
	process_caller.generation = 0;
	return ret;
}

/* ---- vfork ---- */

/* What the parent needs restored, not the whole struct: TLS is taken from each
 * thread's stack. */
struct vfork_saved {
	struct sys_robust_head *robust;
	void *own_robust_next;
	struct journal *journal;
	struct journal_entry *entries, *entries_end;
	struct shm_process *shm;
	u32 generation, tid, pid, task, thread;
	u32 real_pid;
};

/* A vfork child may vfork again; beyond this depth the parent initialises anew.
 * Arbitrary. */
#define VFORK_DEPTH 3u

static __thread struct {
	u32 depth;
	struct vfork_saved at[VFORK_DEPTH];
} vforks __attribute__((tls_model("initial-exec")));

static u32 process_vfork_depth(void)
{
	return vforks.depth;
}

int process_in_vfork(void)
{
	return vforks.depth > 0;
}

static u32 process_vfork_parent(void)
{
	return vforks.at[0].real_pid;
}

/* Returns the depth, which the parent keeps in a register across the call. */
__attribute__((visibility("hidden"), used)) u32 process_vfork_before(void)
{
	const struct caller *c = &process_caller;
	u32 d = vforks.depth;

	if (d < VFORK_DEPTH)
		vforks.at[d] = (struct vfork_saved){c->robust,
			caller_own_robust(NULL), c->journal, c->entries,
			c->entries_end, c->shm, c->generation, c->tid, c->pid,
			c->task, c->thread, sys_getpid()};
	/* The child must not act as the owner of a wiped page. */
	if (process_active() && !process_page.pid)
		process_page.pid = sys_getpid();
	return d;
}

static void vfork_restore(struct caller *c, u32 d)
{
	const struct vfork_saved *v = &vforks.at[d];

	/* A child that was killed inside a section has left c changed; or it
	 * was in another IPC namespace. */
	if (d >= VFORK_DEPTH || c->in_section || c->shm != v->shm) {
		c->generation = 0;
		return;
	}
	c->robust = v->robust;
	c->journal = v->journal;
	c->entries = v->entries;
	/* Outside sections a journal is empty. */
	c->entry_next = v->entries;
	c->entries_end = v->entries_end;
	c->generation = v->generation;
	c->tid = v->tid;
	c->pid = v->pid;
	c->task = v->task;
	c->thread = v->thread;
	c->crash_guard = NULL;
	caller_set_bias_id(c);
	c->interrupt = NULL;
	caller_own_robust(&v->own_robust_next);
}

/* In the child (result 0) and, after its exit or exec, in the parent. */
__attribute__((visibility("hidden"), used)) void process_vfork_after(
	long ret, u32 depth)
{
	vforks.depth = depth;
	if (ret == 0) {
		process_caller.generation = 0;
		vforks.depth = depth + 1;
		return;
	}
	vfork_restore(&process_caller, depth);
	process_caller.image_found = depth ? NULL : &world_own()->image_found;
	/* The child may have changed its own. */
	process_forget_credentials();
	if (process_apart)
		process_caller.cred = cred_apart();
	if (!depth && process.wrap_in_parent) {
		process.wrap_in_parent = 0;
		signal_wrap_all();
	}
}

__attribute__((visibility("hidden"), used)) long process_return_error(long ret)
{
	return process_return(ret);
}

typedef int (*clone_fn)(
	clone_main, void *, int, void *, void *, void *, void *);

struct clone_start {
	clone_main main;
	void *arg;
	int flags;
	u32 depth;
};

static int clone_child(void *arg)
{
	const struct clone_start *start = arg;

	process_vfork_after(0, start->depth);
	if (start->flags & CLONE_NEWIPC)
		world_made();
	return start->main(start->arg);
}

EXPORT int clone(clone_main main, void *stack, int flags, void *arg,
	void *parent_tid, void *tls, void *child_tid)
{
	static void *next;
	clone_fn real = (clone_fn)process_next(&next, "clone");
	const int as_vfork = CLONE_VM | CLONE_VFORK;
	const int own_tls = CLONE_THREAD | CLONE_SETTLS;
	struct clone_start start = {main, arg, flags, 0};
	int ret;

	world_before(flags & CLONE_NEWIPC);
	if (!(flags & CLONE_VM) && main && stack)
		return entry_clone((void *)real, main, stack, flags, arg,
			parent_tid, tls, child_tid);
	if ((flags & (as_vfork | own_tls)) != as_vfork || !main || !stack)
		return real(
			main, stack, flags, arg, parent_tid, tls, child_tid);
	start.depth = process_vfork_before();
	ret = real(
		clone_child, stack, flags, &start, parent_tid, tls, child_tid);
	process_vfork_after(ret, start.depth);
	return ret;
}

/* ---- dlopen ---- */

/*
 * RTLD_DEEPBIND (8) would bind a module's semop past the shim. The call ends in
 * a jump so that libc still sees the application's return address: it resolves
 * the caller's RUNPATH and namespace by it.
 */
__attribute__((visibility("hidden"), used)) void *process_dlopen_next(void)
{
	static void *next;

	return process_next(&next, "dlopen");
}

/* ---- credentials ---- */

/*
 * Credentials of threads that have changed theirs by a system call, which acts
 * on one thread only, and of those created after that, which may inherit from
 * one that did. Others share the process's; so do all beyond this number.
 * Arbitrary.
 */
#define CREDS_APART 128u
static struct {
	u32 tid;
	struct cred cred;
} creds_apart[CREDS_APART] SYS_FAR_BSS;

static struct cred *cred_apart(void)
{
	u32 tid = sys_gettid(), pid = sys_getpid(), i, k, seen;

	for (i = 0; i < CREDS_APART; i++) {
		k = (tid + i) % CREDS_APART;
		seen = atom_load_acquire(&creds_apart[k].tid);
		if (seen == tid)
			return &creds_apart[k].cred;
		if (seen && sys_call(__NR_tgkill, pid, seen, 0) != -ESRCH)
			continue;
		if (!atom_cas(&creds_apart[k].tid, &seen, tid))
			continue;
		cred_forget(&creds_apart[k].cred);
		return &creds_apart[k].cred;
	}
	return &process.cred;
}

void process_forget_credentials(void)
{
	u32 i;

	cred_forget(&process.cred);
	for (i = 0; process_apart && i < CREDS_APART; i++)
		cred_forget(&creds_apart[i].cred);
}

void process_files_apart(void)
{
	u32 i;

	process.cred.has_fs = 1;
	for (i = 0; i < CREDS_APART; i++)
		creds_apart[i].cred.has_fs = 1;
	process_credentials_apart();
	process_forget_credentials();
}

void process_credentials_apart(void)
{
	process_apart = 1;
	process_caller.cred = cred_apart();
	cred_forget(process_caller.cred);
}

/* Map what is normally mapped when needed, but may be out of reach then. */
static void map_rest(void)
{
	if (first_world.region.base && process_routes(FAC_SHM))
		shm_map_read_only(&first_world.shm, &first_world.region);
}

static void make_fifo_dir(const struct world *w)
{
	process_caller.region = w->region;
	/* Make it stale: its next call refreshes it. */
	process_caller.generation = 0;
	sidefile_make_dir(&process_caller);
}

/* Map before the first call, while it is possible. Not in a vfork child, whose
 * memory is its parent's. */
static void map_now(void)
{
	struct world *w = &first_world;
	u64 mask;
	int err;

	map_rest();
	if (likely(first_world.region.base && !world_moved) ||
		process_vfork_depth() || init_lock(&mask, 1))
		return;
	if (world_moved)
		w = world_here(w, &err);
	if (w && !w->region.base && !map_registry(w, 1)) {
		process.early |= w == &first_world;
		/* The FIFOs' directory, which will be out of reach, too. */
		if (process_routes(FAC_MQ) && w->region.path[0])
			make_fifo_dir(w);
	}
	map_rest();
	init_unlock(&mask);
}

/* May all users make files in the directory of this one? */
static int others_may_make(const char *path)
{
	char dir[4096] = ".";
	struct file_stat st;
	size_t n = 0, i;

	for (i = 0; path[i]; i++)
		if (path[i] == '/')
			n = i + 1;
	if (n >= sizeof(dir))
		return 0;
	if (n)
		__builtin_memcpy(dir, path, n);
	dir[n ? n : 1] = 0;
	return !sys_call(__NR_stat, dir, &st) && (st.mode & 02);
}

/*
 * The process is about to change its user. A registry that exists is mapped. If
 * there is none, it is made now if the present user can come back, or the new
 * one could not make it; otherwise, when root is given up for good, the new
 * user makes it, for itself and the programs that it executes.
 */
static void map_early(int comes_back)
{
	const char *path;

	map_rest();
	/* The registry of a namespace that was made as root is root's. */
	if (unlikely(world_moved))
		map_now();
	if (likely(first_world.region.base))
		return;
	path = environment_get("IPCLIFT_REGISTRY");
	if (!path || !*path)
		return;
	if (comes_back || !sys_call(__NR_access, path, 0 /* F_OK */) ||
		!others_may_make(path))
		map_now();
}

/* A uid argument that keeps root, or the present user. */
static int stays(u32 uid)
{
	return uid == 0 || uid == (u32)-1;
}

/* setns(2) changes the mount namespace, or may (type 0). */

static void map_unless(int other)
{
	if (!other)
		map_now();
}

void process_before_raw(long nr, u32 a, u32 b, u32 c)
{
	switch (nr) {
	case __NR_setuid:
		map_early(0);
		break;
	case __NR_setfsuid:
		map_early(1);
		break;
	case __NR_setreuid:
		map_early(stays(a));
		break;
	case __NR_setresuid:
		map_early(stays(a) || stays(c));
		break;
	case __NR_chroot:
	case __NR_pivot_root:
		map_now();
		break;
	case __NR_setns:
		map_unless(b && !(b & CLONE_NEWNS));
		break;
	default:
		break;
	}
}

/* call: calls the next definition, `real`, and does what else is needed. */
#define FORGETS(name, before, params, call)                     \
	EXPORT int name params                                  \
	{                                                       \
		static void *next;                              \
		int(*real) params = process_next(&next, #name); \
		int paused = notify_thread_pause(), ret;        \
                                                                \
		before;                                         \
		ret = real ? call : -1;                         \
		notify_thread_resume(paused);                   \
		process_forget_credentials();                   \
		return ret;                                     \
	}

FORGETS(setuid, map_early(0), (u32 a), real(a))
FORGETS(setgid, (void)0, (u32 a), real(a))
FORGETS(seteuid, map_early(1), (u32 a), real(a))
FORGETS(setegid, (void)0, (u32 a), real(a))
FORGETS(setreuid, map_early(stays(a)), (u32 a, u32 b), real(a, b))
FORGETS(setregid, (void)0, (u32 a, u32 b), real(a, b))
FORGETS(setresuid, map_early(stays(a) || stays(c)), (u32 a, u32 b, u32 c),
	real(a, b, c))
FORGETS(setresgid, (void)0, (u32 a, u32 b, u32 c), real(a, b, c))
FORGETS(setfsuid, (map_early(1), process_files_apart()), (u32 a), real(a))
FORGETS(setfsgid, process_files_apart(), (u32 a), real(a))
FORGETS(setgroups, (void)0, (size_t n, const u32 *list), real(n, list))
FORGETS(initgroups, (void)0, (const char *user, u32 group), real(user, group))
/* Of one thread. */
FORGETS(capset, process_credentials_apart(), (void *head, const void *data),
	real(head, data))

/* ---- another root ---- */

EXPORT int chroot(const char *path)
{
	static void *next;
	int (*real)(const char *) = process_next(&next, "chroot");

	map_now();
	return real ? real(path)
		    : (int)process_return(sys_call(__NR_chroot, path));
}

EXPORT int pivot_root(const char *root, const char *put_old)
{
	static void *next;
	int (*real)(const char *, const char *) =
		process_next(&next, "pivot_root");

	map_now();
	return real ? real(root, put_old)
		    : (int)process_return(
			      sys_call(__NR_pivot_root, root, put_old));
}
