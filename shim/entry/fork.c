// SPDX-License-Identifier: MIT
/*
 * fork and what libc builds on it without going through the name: a process
 * with attached segments counts them for its child (shm/shmfork.h). Without
 * attachments each is libc's own, behind one load.
 */
#include <sys/types.h>
#include "entry/process.h"
#include "entry/sysv.h"
#include "shm/shmfork.h"
#include "shm/shmmap.h"

typedef pid_t (*fork_fn)(void);
struct fork_call {
	fork_fn real; /* or NULL: the system call */
	long nr, args[5];
};
struct termios;
struct winsize;

extern int openpty(int *, int *, char *, const struct termios *,
	const struct winsize *) __attribute__((weak));
extern int login_tty(int) __attribute__((weak));

static long do_fork(const struct fork_call *call)
{
	const long *a = call->args;

	if (call->real)
		return call->real();
	return sys_call(call->nr, a[0], a[1], a[2], a[3], a[4]);
}

static long fork_by(const struct fork_call *call)
{
	/* Of a fork that a signal handler with this one has interrupted. */
	const struct shm_fork outer = process_fork, none = {0, 0};
	struct shm_fork f = none;
	struct caller *c;
	int err = 0;
	long pid;

	/* In a vfork child the table is the parent's. */
	if (likely(!process_shm()->n_used) ||
		process_page.pid != sys_getpid()) {
		process_fork = none;
		pid = do_fork(call);
		process_fork = outer;
		return pid;
	}
	c = process_get(&err);
	if (c)
		shm_fork_prepare(c, &f);
	/* Set before it: a handler of pthread_atfork may make the child's first
	 * call. */
	process_fork = f;
	pid = do_fork(call);
	if (pid == 0)
		process_get(&err);
	process_fork = outer;
	if (pid && c)
		shm_fork_parent(c, &f, (s32)pid);
	return pid;
}

static pid_t fork_libc(void *real)
{
	struct fork_call call = {(fork_fn)real, 0, {0}};

	if (!real) {
		*__errno_location() = ENOSYS;
		return -1;
	}
	return (pid_t)fork_by(&call);
}

long entry_fork(long nr, long a, long b, long c, long d, long e)
{
	struct fork_call call = {NULL, nr, {a, b, c, d, e}};

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

/* As libc's, but through our fork. */
EXPORT int daemon(int keep_directory, int keep_output)
{
	static void *next;
	int (*real)(int, int);
	long fd;
	pid_t pid;

	if (likely(!process_shm()->n_used)) {
		real = (int (*)(int, int))process_next(&next, "daemon");
		return real ? real(keep_directory, keep_output) : -1;
	}
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid)
		sys_call(__NR_exit_group, 0);
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

	if (likely(!process_shm()->n_used) || !openpty || !login_tty) {
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
