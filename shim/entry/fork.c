// SPDX-License-Identifier: MIT
/*
 * fork, clone and the libc functions that fork internally (daemon, forkpty): a
 * process with attached segments counts them for its child (shm/shmfork.h).
 * Without attachments each costs a load before libc's own.
 */
#include <linux/sched.h>
#include <sys/types.h>
#include "entry/lease.h"
#include "entry/process.h"
#include "entry/sysv.h"
#include "entry/world.h"
#include "registry/task.h"
#include "shm/shmfork.h"
#include "shm/shmmap.h"

typedef pid_t (*fork_fn)(void);
typedef int (*clone_fn)(
	clone_main, void *, int, void *, void *, void *, void *);

struct fork_call {
	fork_fn real; /* or NULL: the system call */
	long nr, args[5];
	int new_ipc; /* CLONE_NEWIPC */
};
struct termios;
struct winsize;

extern int openpty(int *, int *, char *, const struct termios *,
	const struct winsize *) __attribute__((weak));
extern int login_tty(int) __attribute__((weak));

/* glibc's, from 2.32 on: not 0 as long as no other thread has been made. */
extern char __libc_single_threaded __attribute__((weak));

/* One fork of this thread, from fork_begin to fork_end or fork_in_child. */
struct fork_scope {
	struct caller *c;	  /* NULL unless something is attached */
	struct shm_forking *fork; /* NULL: not announced */
	struct shm_fork f, outer;
	u32 pid; /* of the parent, if it has made a call; else 0 */
};

/* A page written around a fork is copied in the parent and again in the child:
 * so what is right already is not stored. */
static void set_process_fork(struct shm_fork f)
{
	if (unlikely(process_fork.task != f.task ||
		     process_fork.nonce != f.nonce))
		process_fork = f;
}

/*
 * Nothing is attached, and without other threads nobody can attach meanwhile: the
 * fork need not be announced, which would cost parent and child a copy of a page.
 * (What a handler of this thread attaches in the midst of fork, the child counts
 * before fork returns in it.)
 */
static int nobody_attaches(struct shm_process *p)
{
	return &__libc_single_threaded && __libc_single_threaded &&
	       !world_moved && !shm_fork_concerns(p);
}

/* 0, or -ENOMEM: the fork must fail, and fork_end be called all the same. */
static int fork_begin(struct fork_scope *scope)
{
	struct shm_process *p = process_shm();
	int err = 0;

	*scope = (struct fork_scope){.outer = process_fork};
	lease_fork_begins();
	/* In a vfork child the table is the parent's. */
	if (process_in_vfork())
		return 0;
	if (process_page.generation) {
		scope->pid = process_page.pid;
		/* Done once here rather than in each child. */
		task_learn_stack(scope->pid);
	}
	if (likely(nobody_attaches(p))) {
		set_process_fork(scope->f);
		return 0;
	}
	scope->fork = shm_fork_begin(p);
	if (unlikely(shm_fork_concerns(p)) &&
		process_page.pid == sys_getpid()) {
		scope->c = process_get(&err);
		err = scope->c ? shm_fork_prepare(
					 scope->c, scope->fork, &scope->f)
			       : 0;
	}
	/* A handler of pthread_atfork may make the child's first call. */
	set_process_fork(scope->f);
	return err;
}

/* In the parent; ret: what the call returned. */
static void fork_end(struct fork_scope *scope, long ret)
{
	struct shm_process *p = process_shm();
	int err = 0;

	set_process_fork(scope->outer);
	if (scope->fork) {
		if (unlikely(shm_fork_over(p, scope->fork)) && !scope->c)
			scope->c = process_get(&err);
		if (scope->c && caller_enroll(scope->c))
			scope->c = NULL;
		if (scope->c)
			scope->f = shm_fork_result(scope->c, scope->fork);
		shm_fork_end(p, scope->fork);
	}
	if (scope->f.task && scope->c)
		shm_fork_parent(scope->c, &scope->f, (s32)ret);
}

/* In the child. Without attachments it gets a task only at its first call. */
static void fork_in_child(struct fork_scope *scope)
{
	int err;

	if (scope->pid && sys_call(__NR_getppid) == (long)scope->pid)
		process_page.same_namespace = 1;
	if (unlikely(scope->c || shm_fork_concerns(process_shm()) ||
		     (scope->fork && scope->fork->f.task)))
		process_get(&err);
	else
		shm_fork_forget(process_shm());
	set_process_fork(scope->outer);
}

/* The argument of the first function of a child of clone, which has a copy of its
 * parent's memory, and so of the caller's frame. */
struct clone_start {
	clone_main main;
	void *arg;
	int flags;
	struct fork_scope scope;
};

static int clone_child(void *arg)
{
	struct clone_start *start = arg;

	/* In a pid namespace of its own it cannot be served: the record that its
	 * parent made is all there is of it. Until the parent has noted which child
	 * it is for, that it holds its parent's image lock shows that it is there:
	 * so it keeps that. */
	if (start->flags & CLONE_NEWPID)
		shm_forks_clear(process_shm());
	else
		fork_in_child(&start->scope);
	if (start->flags & CLONE_NEWIPC)
		world_made();
	return start->main(start->arg);
}

/* clone(2) by name, without CLONE_VM. */
int entry_clone(void *real, clone_main main, void *stack, int flags, void *arg,
	void *parent_tid, void *tls, void *child_tid)
{
	struct clone_start start = {main, arg, flags, {0}};
	int pid, err;

	world_before(flags & CLONE_NEWIPC);
	err = fork_begin(&start.scope);
	pid = err ? -1
		  : ((clone_fn)real)(clone_child, stack, flags, &start,
			    parent_tid, tls, child_tid);
	fork_end(&start.scope, pid);
	return err ? (int)process_return(err) : pid;
}

/*
 * The same for a clone by number on another stack (syscall.c), whose child does
 * not return to a frame of ours: it takes its records over at its first call, and
 * is known until then by its prefork record. One at a time in a thread: of one
 * that a handler makes within another, only the announcement counts. Where there
 * is no space for the records the child makes them, or loses its attachments.
 */
static __thread struct fork_scope clone_scope
	__attribute__((tls_model("initial-exec")));

__attribute__((visibility("hidden"), used)) long entry_clone_begin(void)
{
	const struct shm_fork outer = process_fork;

	fork_begin(&clone_scope);
	return (long)((u64)outer.nonce << 32 | outer.task);
}

__attribute__((visibility("hidden"), used)) void entry_clone_end(
	long ret, u64 outer)
{
	clone_scope.outer = (struct shm_fork){(u32)outer, (u32)(outer >> 32)};
	fork_end(&clone_scope, ret);
}

static long fork_by(const struct fork_call *call)
{
	const long *a = call->args;
	struct fork_scope scope;
	long pid;

	world_before(call->new_ipc);
	pid = fork_begin(&scope);
	if (unlikely(pid))
		pid = call->real ? process_return(pid) : pid;
	else
		pid = call->real ? call->real()
				 : sys_call(call->nr, a[0], a[1], a[2], a[3],
					   a[4]);
	if (pid)
		fork_end(&scope, pid);
	else
		fork_in_child(&scope);
	if (!pid && call->new_ipc)
		world_made();
	return pid;
}

static pid_t fork_libc(void *real)
{
	struct fork_call call = {.real = (fork_fn)real};

	if (!real) {
		*__errno_location() = ENOSYS;
		return -1;
	}
	return (pid_t)fork_by(&call);
}

long entry_fork(long nr, long a, long b, long c, long d, long e, int new_ipc)
{
	struct fork_call call = {NULL, nr, {a, b, c, d, e}, new_ipc};

	return fork_by(&call);
}

EXPORT pid_t fork(void)
{
	static void *next;

	return fork_libc(process_next(&next, "fork"));
}

EXPORT pid_t _Fork(void)
{
	static void *next;

	return fork_libc(process_next(&next, "_Fork"));
}

/* As libc's, but by way of our fork. */
EXPORT int daemon(int keep_directory, int keep_output)
{
	static void *next;
	int (*real)(int, int);
	long fd;
	pid_t pid;

	if (likely(nobody_attaches(process_shm()) && !lease_may_hold())) {
		real = (int (*)(int, int))process_next(&next, "daemon");
		return real ? real(keep_directory, keep_output) : -1;
	}
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid) {
		lease_process_ends();
		sys_call(__NR_exit_group, 0);
	}
	if (sys_call(__NR_setsid) < 0)
		return process_return(-EPERM);
	if (!keep_directory)
		sys_call(__NR_chdir, "/");
	if (keep_output)
		return 0;
	fd = sys_call(__NR_open, "/dev/null", 2 /* O_RDWR */, 0);
	if (fd < 0)
		return process_return(fd);
	sys_call(__NR_dup2, fd, 0);
	sys_call(__NR_dup2, fd, 1);
	sys_call(__NR_dup2, fd, 2);
	if (fd > 2)
		sys_call(__NR_close, fd);
	return 0;
}

EXPORT int forkpty(int *ret_master, char *name, const struct termios *term,
	const struct winsize *size)
{
	static void *next;
	int (*real)(
		int *, char *, const struct termios *, const struct winsize *);
	int master, slave;
	pid_t pid;

	if (likely(nobody_attaches(process_shm())) || !openpty || !login_tty) {
		real = (int (*)(int *, char *, const struct termios *,
			const struct winsize *))process_next(&next, "forkpty");
		return real ? real(ret_master, name, term, size) : -1;
	}
	if (openpty(&master, &slave, name, term, size) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		sys_call(__NR_close, master);
		if (login_tty(slave))
			sys_call(__NR_exit_group, 1);
		return 0;
	}
	sys_call(__NR_close, slave);
	if (pid < 0)
		sys_call(__NR_close, master);
	else
		*ret_master = master;
	return pid;
}
