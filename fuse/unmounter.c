// SPDX-License-Identifier: MIT
/*
 * The unmounter; see unmounter.h.
 */
#include "unmounter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* It holds nothing of the daemon's: a new program, whose descriptors are the
 * pipe and /dev/null. */
static void become_unmounter(int lifeline, const char *dir)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	dup2(lifeline, 0);
	dup2(null, 1);
	dup2(null, 2);
	close_range(3, ~0u, 0);
	execl("/proc/self/exe", "ipclift-unmount", UNMOUNTER_WORD, dir,
		(char *)NULL);
	_exit(1);
}

int unmounter_start(const char *dir)
{
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	/* Returns once that is another program: a signal that is sent to the
	 * daemon by its name must not meet both. */
	pid = vfork();
	if (!pid)
		become_unmounter(fds[0], dir);
	close(fds[0]);
	if (pid < 0) {
		close(fds[1]);
		return -1;
	}
	return fds[1];
}

void unmounter_end(int fd)
{
	if (fd >= 0 && write(fd, "", 1) == 1)
		close(fd);
}

int unmounter_main(const char *dir)
{
	struct stat st;
	char orderly;
	ssize_t n;

	prctl(PR_SET_NAME, "ipclift-unmount");
	/* Whoever ends the daemon's session, or all of its name, means it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	do
		n = read(0, &orderly, 1);
	while (n < 0 && errno == EINTR);
	if (n)
		return 0;
	if (!stat(dir, &st) || (errno != ENOTCONN && errno != ECONNABORTED))
		return 0;
	if (!umount2(dir, MNT_DETACH | UMOUNT_NOFOLLOW))
		return 0;
	execlp("fusermount3", "fusermount3", "-u", "-z", "-q", "--", dir,
		(char *)NULL);
	return 1;
}
