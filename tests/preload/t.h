// SPDX-License-Identifier: MIT
/*
 * t.h - what the programs of tests/preload share.
 *
 * Every program here is an ordinary user of System V semaphores: it includes
 * system headers only, runs on the kernel first and under the shim later, and
 * must print the same bytes both times. So nothing that differs from run to
 * run is ever printed: no pid, no time, no address, only relations.
 *
 *   t_eq(expr, want)    expr returns want; a success must leave errno alone
 *   t_err(expr, err)    expr returns -1 with errno err
 *   t_true(cond)        cond holds
 *   t_row(id, cmd, "…") one value a semaphore, cmd GETVAL GETNCNT or GETZCNT
 *   t_pid_is(id, n, p)  sempid of semaphore n is p (printed by its name)
 *
 * A check prints one line, "ok   TEXT" or "FAIL FILE:LINE TEXT", with a single
 * write(2), so it may be used in a forked child whose parent waits for it.
 *
 * Nothing here waits for a fixed time. A sleeper is known to sleep when the
 * kernel counts it (t_wait_blocked), a process to be gone when waitpid says so.
 */
#ifndef T_H
#define T_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seconds until a process that hangs is killed; arbitrary, runs take < 2. */
#define T_LIMIT 20

/* Somebody who owns nothing and is in no group of ours. */
#define T_OTHER_UID 65534

/* An operation array and its length: semop(id, OPS({0, -1, 0}, {1, 1, 0})) */
#define OPS(...)                        \
	(struct sembuf[]){__VA_ARGS__}, \
		sizeof((struct sembuf[]){__VA_ARGS__}) / sizeof(struct sembuf)

#define NW IPC_NOWAIT
#define U SEM_UNDO

static volatile int t_failed;

/* Print one line. */
__attribute__((format(printf, 1, 2))) static inline void t_say(
	const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n++] = '\n';
	if (write(1, line, (size_t)n) != n)
		t_failed = 1;
}

static inline const char *t_errname(int err)
{
	static const struct {
		int err;
		const char *name;
	} names[] = {
		{0, "0"},
		{EPERM, "EPERM"},
		{ENOENT, "ENOENT"},
		{EINTR, "EINTR"},
		{E2BIG, "E2BIG"},
		{EAGAIN, "EAGAIN"},
		{ENOMEM, "ENOMEM"},
		{EACCES, "EACCES"},
		{EBADF, "EBADF"},
		{EFAULT, "EFAULT"},
		{EEXIST, "EEXIST"},
		{EINVAL, "EINVAL"},
		{EFBIG, "EFBIG"},
		{ENOSPC, "ENOSPC"},
		{EMSGSIZE, "EMSGSIZE"},
		{ETIMEDOUT, "ETIMEDOUT"},
		{EBUSY, "EBUSY"},
		{EMFILE, "EMFILE"},
		{ENAMETOOLONG, "ENAMETOOLONG"},
		{ESPIPE, "ESPIPE"},
		{EOVERFLOW, "EOVERFLOW"},
		{ERANGE, "ERANGE"},
		{EIDRM, "EIDRM"},
		{ENOSYS, "ENOSYS"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].err == err)
			return names[i].name;
	return "other errno";
}

static inline const char *t_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Report a call's result; want_err 0 means that it should return want. */
static inline void t_result(const char *file, int line, const char *what,
	long got, int got_err, long want, int want_err)
{
	int good = got == want && got_err == want_err;

	if (!good)
		t_failed = 1;
	if (good && want_err)
		t_say("ok   %s: %s", what, t_errname(got_err));
	else if (good)
		t_say("ok   %s: %ld", what, got);
	else
		t_say("FAIL %s:%d %s: got %ld errno %d %s, want %ld %s",
			t_basename(file), line, what, got, got_err,
			t_errname(got_err), want, t_errname(want_err));
}

#define t_eq(expr, want)                                          \
	do {                                                      \
		long t_got;                                       \
		errno = 0;                                        \
		t_got = (long)(expr);                             \
		t_result(__FILE__, __LINE__, #expr, t_got, errno, \
			(long)(want), 0);                         \
	} while (0)

#define t_err(expr, err)                                                      \
	do {                                                                  \
		long t_got;                                                   \
		errno = 0;                                                    \
		t_got = (long)(expr);                                         \
		t_result(__FILE__, __LINE__, #expr, t_got, errno, -1, (err)); \
	} while (0)

static inline void t_cond(
	const char *file, int line, const char *what, int good)
{
	if (good) {
		t_say("ok   %s", what);
		return;
	}
	t_failed = 1;
	t_say("FAIL %s:%d %s", t_basename(file), line, what);
}

#define t_true(cond) t_cond(__FILE__, __LINE__, #cond, !!(cond))
/* A condition that is checked so often that only its failure is printed. */
#define t_quiet(cond)                                         \
	do {                                                  \
		if (!(cond))                                  \
			t_cond(__FILE__, __LINE__, #cond, 0); \
	} while (0)

/* A heading in the transcript. */
static inline void t_story(const char *text)
{
	t_say("-- %s", text);
}

/* First and last call of every program. */
static inline void t_begin(void)
{
	alarm(T_LIMIT);
}

static inline int t_end(void)
{
	struct seminfo info;

	memset(&info, 0, sizeof(info));
	t_cond(__FILE__, __LINE__, "no set is left behind",
		semctl(0, 0, SEM_INFO, &info) == 0 && info.semusz == 0 &&
			info.semaem == 0);
	return t_failed ? 1 : 0;
}

/* fork() whose child is killed if it hangs; the child ends by _exit. */
static inline pid_t t_fork(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		t_say("FAIL fork: errno %d", errno);
		_exit(99);
	}
	if (pid == 0) {
		t_failed = 0;
		alarm(T_LIMIT);
	}
	return pid;
}

/* Wait for a child: its exit status, or 1000 + the signal that killed it. */
static inline int t_join(pid_t pid)
{
	int status, err = errno;

	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			return -1;
	errno = err;
	if (WIFSIGNALED(status))
		return 1000 + WTERMSIG(status);
	return WEXITSTATUS(status);
}

/* The code that a process exits with to tell how a call ended. */
static inline int t_code(int ret)
{
	return ret >= 0 ? 0 : errno;
}

/* Fork a process that does one semop and exits with 0 or the errno of it. */
static inline pid_t t_sleeper(int id, struct sembuf *ops, size_t n_ops)
{
	pid_t pid = t_fork();

	if (pid == 0)
		_exit(t_code(semop(id, ops, n_ops)));
	return pid;
}

/* A nap between two polls; its length decides nothing. */
static inline void t_nap(void)
{
	struct timespec nap = {0, 300000};

	nanosleep(&nap, NULL);
}

/* Seconds of the monotonic clock. */
static inline time_t t_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Poll until semctl(id, num, cmd) says count; false after T_LIMIT / 2 s. */
static inline int t_poll(int id, int num, int cmd, int count)
{
	time_t since = t_now();
	int err = errno;

	for (;;) {
		if (semctl(id, num, cmd) == count) {
			errno = err;
			return 1;
		}
		if (t_now() - since > T_LIMIT / 2)
			return 0;
		t_nap();
	}
}

/* Wait until count sleepers are queued on semaphore num; cmd says which. */
static inline void t_wait_blocked(int id, int num, int cmd, int count)
{
	char text[64];

	snprintf(text, sizeof(text), "%s(%d) becomes %d",
		cmd == GETNCNT ? "N" : "Z", num, count);
	t_cond(__FILE__, __LINE__, text, t_poll(id, num, cmd, count));
}

/* Compare one number a semaphore, "0 1 2", as many as want has words. */
static inline void t_row_at(
	const char *file, int line, int id, int cmd, const char *want)
{
	const char *name = cmd == GETVAL ? "V" : cmd == GETNCNT ? "N" : "Z";
	int n = 1, len = 0, err = errno;
	char got[160];

	for (const char *c = want; *c; c++)
		n += *c == ' ';
	for (int i = 0; i < n; i++)
		len += snprintf(got + len, sizeof(got) - (size_t)len, "%s%d",
			i ? " " : "", semctl(id, i, cmd));
	errno = err;
	if (strcmp(got, want) == 0) {
		t_say("ok   %s %s", name, got);
		return;
	}
	t_failed = 1;
	t_say("FAIL %s:%d %s %s, want %s", t_basename(file), line, name, got,
		want);
}

#define t_row(id, cmd, want) t_row_at(__FILE__, __LINE__, id, cmd, want)

#define t_pid_is(id, num, pid)                                              \
	do {                                                                \
		int t_num = (num);                                          \
		char t_text[80];                                            \
		snprintf(t_text, sizeof(t_text), "sempid(%d) == %s", t_num, \
			#pid);                                              \
		t_cond(__FILE__, __LINE__, t_text,                          \
			semctl(id, t_num, GETPID) == (pid));                \
	} while (0)

/* A private set of n semaphores, mode 0600, values as given or 0. */
static inline int t_set(int n, const unsigned short *vals)
{
	int id = semget(IPC_PRIVATE, n, 0600);

	if (id < 0 || (vals && semctl(id, 0, SETALL, vals) < 0)) {
		t_say("FAIL set of %d: errno %d", n, errno);
		exit(99);
	}
	return id;
}

#define VALS(...) ((unsigned short[]){__VA_ARGS__})

static inline void t_rm(int id)
{
	if (semctl(id, 0, IPC_RMID) < 0) {
		t_failed = 1;
		t_say("FAIL IPC_RMID: errno %d", errno);
	}
}

static inline struct semid_ds t_stat(int id)
{
	struct semid_ds ds;

	memset(&ds, 0xaa, sizeof(ds));
	if (semctl(id, 0, IPC_STAT, &ds) < 0) {
		t_failed = 1;
		t_say("FAIL IPC_STAT: errno %d", errno);
	}
	return ds;
}

/* Become uid:gid with no other group; the child of t_fork calls it. */
static inline void t_become(uid_t uid, gid_t gid)
{
	if (setgroups(0, NULL) || setresgid(gid, gid, gid) ||
		setresuid(uid, uid, uid)) {
		t_say("FAIL cannot become %d", (int)uid);
		_exit(98);
	}
}

/*
 * AS(uid, gid) { checks… } runs the block in a child with that identity and
 * waits for it; the child's failures become ours. The set that the block uses
 * must exist before, so that whoever serves it is there already.
 */
static inline int t_as_end(pid_t pid)
{
	int status;

	if (pid == 0)
		_exit(t_failed);
	status = t_join(pid);
	if (status != 0) {
		t_failed = 1;
		t_say("FAIL child ended with %d", status);
	}
	return 0;
}

static inline pid_t t_as_begin(uid_t uid, gid_t gid)
{
	pid_t pid = t_fork();

	if (pid == 0)
		t_become(uid, gid);
	return pid;
}

#define AS(uid, gid)                                                 \
	for (pid_t t_who = t_as_begin(uid, gid), t_once = 1; t_once; \
		t_once = t_as_end(t_who))                            \
		if (t_who == 0)

/* Memory of size bytes, zeros, that is shared with children. */
static inline void *t_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		t_say("FAIL mmap: errno %d", errno);
		exit(99);
	}
	return p;
}

/* Fresh memory of n pages; and the page size, which is 4096 on x86. */
static inline char *t_pages(int n, int prot)
{
	char *p = mmap(NULL, (size_t)n * 4096, prot,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		t_say("FAIL mmap: errno %d", errno);
		exit(99);
	}
	return p;
}

/*
 * The address that follows a page with nothing mapped behind it. The hole is
 * of 64 pages (arbitrary) with a page above it: new mappings fill it from its
 * upper end, so its first page stays empty for as long as we need it.
 */
static inline char *t_cliff(void)
{
	char *p = t_pages(66, PROT_READ | PROT_WRITE);

	munmap(p + 4096, 64 * 4096);
	return p + 4096;
}

/* A mapping of an empty file: touching it is SIGBUS. */
static inline char *t_beyond_eof(void)
{
	int fd = memfd_create("t", MFD_CLOEXEC);
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	return p;
}

/* An address in the kernel's half. */
static inline void *t_kernel_half(void)
{
	return (void *)0xffff800000000000ul;
}

/* handler(), with these SA_ flags, for sig from now on */
static inline void t_catch(int sig, void (*handler)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(sig, &action, NULL);
}

/*
 * The processor time that we use up until pid ends, in ms, by looking without
 * pause; t_join waits for it as ever. On a machine that does something else it is
 * less than the time that passes, by so much as that slows down all of us: "soon"
 * is less than so much of it.
 */
static inline long t_spent_until_end(pid_t pid)
{
	struct timespec from, to;
	siginfo_t info;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do {
		info.si_pid = 0;
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
	} while (!info.si_pid);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
	return (to.tv_sec - from.tv_sec) * 1000 +
	       (to.tv_nsec - from.tv_nsec) / 1000000;
}

/* How often it has gone to sleep. */
static inline long t_switches(pid_t pid)
{
	char path[64], line[128];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "voluntary_ctxt_switches: %ld", &n);
	if (f)
		fclose(f);
	return n;
}

#endif
