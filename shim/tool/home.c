// SPDX-License-Identifier: MIT
/*
 * The user's directory of registries; see home.h.
 */
#include "tool/home.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sys.h"
#include "registry/identity.h"
#include "registry/layout.h"

#define PRIVATE_PREFIX "private."
#define NAME_MAX_LEN 64 /* arbitrary: enough for a name, short for a path */

int home_open(int make, char *path)
{
	struct stat st;
	int fd;

	snprintf(path, HOME_PATH_MAX, "/dev/shm/ipclift-%u",
		(unsigned)geteuid());
	if (make && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -EACCES;
	/* In a directory that others may write they could exchange files. */
	if (fstat(fd, &st) || st.st_uid != geteuid() || st.st_mode & 022) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

const char *home_name_fault(const char *name)
{
	const char *p;

	if (!*name)
		return "is empty";
	if (strlen(name) > NAME_MAX_LEN)
		return "is longer than 64 characters";
	if (*name == '.' || *name == '-')
		return "begins with '.' or '-'";
	if (!strncmp(name, PRIVATE_PREFIX, strlen(PRIVATE_PREFIX)))
		return "begins with 'private.', which is for --private";
	for (p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			return "has characters other than letters, digits, "
			       "'.', '_' and '-'";
	return NULL;
}

static int keeper_lock(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

int home_make_private(char *path)
{
	char dir_path[HOME_PATH_MAX];
	int dir = home_open(1, dir_path), fd, err = 0;

	if (dir < 0)
		return dir;
	flock(dir, LOCK_EX);
	snprintf(path, HOME_PATH_MAX, "%.200s/" PRIVATE_PREFIX "XXXXXX",
		dir_path);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		err = -errno;
	} else if (keeper_lock(fd)) {
		err = -errno;
		home_remove(path);
		close(fd);
	}
	close(dir);
	return err ? err : fd;
}

/* ---- who uses a registry ---- */

/* Is the process of an entry of the task table alive? */
static int task_alive(const struct task *t)
{
	return t->pid && t->state &&
	       !identity_process_gone(t->pid, t->start, 1);
}

/* Reads what is there of the sparse table; needs no mapping. */
static int task_table_alive(int fd)
{
	static struct task chunk[256];
	const off_t end = TASKS_OFF + (off_t)N_TASKS * sizeof(struct task);
	off_t at = TASKS_OFF;

	while (at < end && (at = lseek(fd, at, SEEK_DATA)) >= 0 && at < end) {
		ssize_t n, i;

		at -= (at - (off_t)TASKS_OFF) % (off_t)sizeof(struct task);
		n = pread(fd, chunk, sizeof(chunk), at);
		if (n <= 0)
			break;
		for (i = 0; i < n / (ssize_t)sizeof(struct task); i++)
			if (at + i * (off_t)sizeof(struct task) < end &&
				task_alive(&chunk[i]))
				return 1;
		at += sizeof(chunk);
	}
	return 0;
}

/* Does /proc/PID/FILE contain text? 0 where it may not be read. */
static int proc_mentions(const char *pid, const char *file, const char *text)
{
	size_t have = 0, len = strlen(text);
	static char buf[65536];
	char name[64];
	ssize_t n;
	int fd, found = 0;

	snprintf(name, sizeof(name), "/proc/%.20s/%s", pid, file);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (!found && (n = read(fd, buf + have, sizeof(buf) - have)) > 0) {
		have += (size_t)n;
		found = memmem(buf, have, text, len) != NULL;
		/* The text may lie across two reads. */
		if (have > len) {
			memmove(buf, buf + have - len, len);
			have = len;
		}
	}
	close(fd);
	return found;
}

int home_in_use(const char *path, int or_may)
{
	char own[16], variable[HOME_PATH_MAX + 32];
	struct dirent *e;
	int fd, used;
	DIR *proc;

	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return 0;
	used = task_table_alive(fd);
	close(fd);
	proc = used ? NULL : opendir("/proc");
	if (!proc)
		return used;
	snprintf(own, sizeof(own), "%d", (int)getpid());
	snprintf(variable, sizeof(variable), "IPCLIFT_REGISTRY=%s", path);
	while (!used && (e = readdir(proc)))
		if (isdigit((unsigned char)e->d_name[0]) &&
			strcmp(e->d_name, own) != 0)
			used = proc_mentions(e->d_name, "maps", path) ||
			       (or_may && proc_mentions(e->d_name, "environ",
						  variable));
	closedir(proc);
	return used;
}

void home_remove(const char *path)
{
	char dir[HOME_PATH_MAX + 8];
	struct dirent *e;
	DIR *d;

	unlink(path);
	snprintf(dir, sizeof(dir), "%s.mq", path);
	d = opendir(dir);
	if (!d)
		return;
	while ((e = readdir(d)))
		unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(dir);
}

static void sweep_one(int dir, const char *dir_path, const char *name)
{
	char path[HOME_PATH_MAX];
	int fd =
		openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	snprintf(path, sizeof(path), "%.120s/%.100s", dir_path, name);
	if (!keeper_lock(fd) && !home_in_use(path, 1))
		home_remove(path);
	close(fd);
}

/* The FIFOs of one that is gone: PATH.mq without PATH. */
static void sweep_fifos(int dir, const char *dir_path, const char *name)
{
	size_t len = strlen(name) - strlen(".mq");
	char path[HOME_PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%.120s/%.*s", dir_path, (int)len, name);
	if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
		home_remove(path);
}

static int ends_in_mq(const char *name)
{
	size_t len = strlen(name);

	return len > 3 && !strcmp(name + len - 3, ".mq");
}

void home_sweep(void)
{
	char dir_path[HOME_PATH_MAX];
	int fd = home_open(0, dir_path);
	struct dirent *e;
	DIR *dir;

	if (fd < 0)
		return;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return;
	}
	/* Somebody else sweeping is as good. */
	if (!flock(fd, LOCK_EX | LOCK_NB))
		while ((e = readdir(dir)))
			if (!strncmp(e->d_name, PRIVATE_PREFIX,
				    strlen(PRIVATE_PREFIX)))
				(ends_in_mq(e->d_name) ? sweep_fifos
						       : sweep_one)(
					fd, dir_path, e->d_name);
	closedir(dir);
}
