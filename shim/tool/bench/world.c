// SPDX-License-Identifier: MIT
/*
 * Namespaces and processes of what is measured; see world.h.
 */
#include "tool/bench/world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/home.h"
#include "tool/message.h"

#define MEMORY "/dev/shm"
#define SHIM MEMORY "/libipclift.so"
#define REGISTRY MEMORY "/registry"
#define RUN_LIMIT_MS 600000 /* the longest takes two minutes */
#define WORDS_MAX 24

/* ---- namespaces ---- */

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t len = (ssize_t)strlen(text), n = -1;

	if (fd >= 0) {
		n = write(fd, text, (size_t)len);
		close(fd);
	}
	return n == len ? 0 : -1;
}

/* With the rights that a namespace of users gives. */
static int unshare_as_user(int what)
{
	char uid[64], gid[64];

	snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getegid());
	return unshare(CLONE_NEWUSER | what) ||
	       write_file("/proc/self/setgroups", "deny") ||
	       write_file("/proc/self/uid_map", uid) ||
	       write_file("/proc/self/gid_map", gid);
}

/* The library, which may be in the /dev/shm that is about to be hidden, or in a
 * directory that LD_PRELOAD cannot name. */
static int copy_library(int from)
{
	int to = open(SHIM, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	struct stat st;
	ssize_t n = -1;

	if (to >= 0 && !fstat(from, &st))
		n = sendfile(to, from, NULL, (size_t)st.st_size);
	if (to >= 0)
		close(to);
	return n > 0 && n == st.st_size ? 0 : -1;
}

int world_enter(const char *shim)
{
	const int what = CLONE_NEWNS | CLONE_NEWIPC;
	int lib = open(shim, O_RDONLY | O_CLOEXEC), err;

	if (lib < 0)
		return failure("%s: %s", shim, strerror(errno));
	if (unshare(what) && unshare_as_user(what)) {
		close(lib);
		return failure("needs namespaces of its own (%s): run it as "
			       "root, or where users may have them",
			strerror(errno));
	}
	err = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	      mount("ipclift", MEMORY, "tmpfs", MS_NOSUID | MS_NODEV,
		      "mode=1777") ||
	      copy_library(lib);
	close(lib);
	return err ? failure("no memory of its own on " MEMORY ": %s",
			     strerror(errno))
		   : 0;
}

/* ---- one process ---- */

/* What would stop the kernel from doing the same work. */
static void raise_limits(void)
{
	static const char *const limits[][2] = {
		{"/proc/sys/kernel/sem", "32000 1024000000 500 32768"},
		{"/proc/sys/kernel/msgmax", "65536"},
		{"/proc/sys/kernel/msgmnb", "1048576"},
		{"/proc/sys/fs/mqueue/msg_max", "65536"},
		{"/proc/sys/fs/mqueue/queues_max", "1024"},
	};
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		write_file(limits[i][0], limits[i][1]);
	setrlimit(RLIMIT_MSGQUEUE,
		&(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
}

static void set_environment(const struct world *w)
{
	unsetenv("LD_PRELOAD");
	unsetenv("IPCLIFT_ROUTE");
	unsetenv("IPCLIFT_IDS");
	unsetenv("IPCLIFT_LIMITS");
	setenv("IPCLIFT_REGISTRY", REGISTRY, 1);
	if (!w->shim)
		return;
	setenv("LD_PRELOAD", SHIM, 1);
	if (w->extended)
		setenv("IPCLIFT_IDS", "extended", 1);
	if (w->kernel_limits)
		setenv("IPCLIFT_LIMITS", "kernel", 1);
}

/* The child: becomes argv, with its output in out and err. */
static _Noreturn void become(const struct world *w, pid_t parent,
	const char *const *argv, int out, int err)
{
	int null = open("/dev/null", O_RDONLY);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || unshare(CLONE_NEWIPC))
		_exit(126);
	raise_limits();
	set_environment(w);
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	execv(w->program ? w->program : "/proc/self/exe", (char **)argv);
	_exit(127);
}

/* Its exit status; -1 if a signal ended it, ours if it took too long. */
static int wait_for(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), status;
	struct pollfd p = {fd, POLLIN, 0};

	if (fd < 0 || poll(&p, 1, RUN_LIMIT_MS) != 1)
		kill(pid, SIGKILL);
	if (fd >= 0)
		close(fd);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* All that is in the file, as a string, and no more of it than fits. */
static void read_output(int fd, char *out)
{
	ssize_t n = pread(fd, out, WORLD_OUTPUT - 1, 0);

	out[n > 0 ? n : 0] = 0;
}

static int run(const struct world *w, const char *const *argv, char *out)
{
	int fd[2] = {memfd_create("out", MFD_CLOEXEC),
		memfd_create("err", MFD_CLOEXEC)};
	pid_t parent = getpid(), pid = -1;
	int status = -1;

	*out = 0;
	fflush(NULL);
	if (fd[0] >= 0 && fd[1] >= 0)
		pid = fork();
	if (!pid)
		become(w, parent, argv, fd[0], fd[1]);
	if (pid > 0) {
		status = wait_for(pid);
		read_output(fd[status != 0], out);
	}
	close(fd[0]);
	close(fd[1]);
	return status;
}

static int run_work(const struct world *w, const char *work,
	const char *const *args, char *out)
{
	const char *argv[WORDS_MAX + 4] = {"ipclift", "--work", work};
	int n = w->program ? 1 : 2;

	argv[n++] = work;
	while (*args && n < WORDS_MAX)
		argv[n++] = *args++;
	argv[n] = NULL;
	return run(w, argv, out);
}

/* ---- runs ---- */

int world_run(const struct world *w, const char *work, const char *const *args,
	char *out)
{
	int status = run_work(w, work, args, out);

	home_remove(REGISTRY);
	return status;
}

int world_run_locks(const struct world *w, const char *work,
	const char *const *args, char *out)
{
	static const char *const one[] = {"round-ms=1", "rounds=1", NULL};
	static const char *const on[] = {"ipclift", "locks", "--on", NULL};
	static const char *const show[] = {"ipclift", "locks", "--json", NULL};
	const struct world look = {.name = "locks"};
	int status;

	/* Something has to make the registry first. */
	status = run_work(w, "msg-life", one, out);
	if (!status)
		status = run(&look, on, out);
	if (!status)
		status = run_work(w, work, args, out);
	if (!status)
		status = run(&look, show, out);
	home_remove(REGISTRY);
	return status;
}
