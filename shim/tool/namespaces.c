// SPDX-License-Identifier: MIT
/*
 * See namespaces.h.
 *
 * Whether a namespace is empty is read from /proc twice: a process that was
 * forked behind the first reading's position, by one that exited before it was
 * reached, is found by the second. Not found: a namespace kept only by a
 * descriptor, or by a mount in another mount namespace.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "registry/ipcns.h"
#include "registry/region/region.h"
#include "tool/home.h"
#include "tool/namespaces.h"

void namespaces_each(const char *path,
	void (*fn)(const char *file, unsigned long long number, void *arg),
	void *arg)
{
	char dir[PATH_MAX], file[PATH_MAX + 32], *end;
	unsigned long long number;
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s.ns", path);
	d = home_open_beside(AT_FDCWD, dir);
	while (d && (e = readdir(d))) {
		number = strtoull(e->d_name, &end, 10);
		snprintf(file, sizeof(file), "%s/%llu", dir, number);
		if (number && !*end)
			fn(file, number, arg);
	}
	if (d)
		closedir(d);
}

/* The namespace to be searched. */
struct question {
	unsigned long long number;
	const char *name; /* of its registry */
	struct stat file;
};

/* Numbers may be reused: is this a later namespace, which got the number after
 * the file's had ended? A child enters it to find out, if it may. */
static int is_another(const char *link, const struct question *q)
{
	int status = 0, fd;
	pid_t pid;

	if (!(q->file.st_mode & S_ISVTX))
		return 0;
	pid = fork();
	if (!pid) {
		fd = open(link, O_RDONLY | O_CLOEXEC);
		_exit(fd >= 0 && !sys_call(__NR_setns, fd, CLONE_NEWIPC) &&
			ipcns_is_another(q->name));
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status);
}

static int is_it(const char *link, u64 number, const struct question *q)
{
	return number == q->number && !is_another(link, q);
}

/* A process that we may not inspect: could it open the file? Root's processes
 * could open any, and always exist; those that use it are in its task table. */
static int could_use(const char *dir, const struct stat *file)
{
	char name[PATH_MAX], line[256];
	unsigned u[4], i;
	int could = 0;
	FILE *f;

	snprintf(name, sizeof(name), "%s/status", dir);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Uid: %u %u %u %u", &u[0], &u[1], &u[2],
			    &u[3]) != 4)
			continue;
		for (i = 0; i < 4; i++)
			could |= u[i] == file->st_uid ||
				 (u[i] && (file->st_mode & 066));
	}
	if (f)
		fclose(f);
	return could;
}

/* dir: /proc/PID/task/TID. A thread may have left the process's namespace. */
static int is_thread_in(const char *dir, const struct question *q)
{
	char link[PATH_MAX];
	u64 n = 0;
	int err;

	snprintf(link, sizeof(link), "%s/ns/ipc", dir);
	err = ipcns_number(link, &n);
	if (err == -EACCES || err == -EPERM)
		return could_use(dir, &q->file);
	return !err && is_it(link, n, q);
}

/* 1 if one of the processes or threads in dir is in it, or dir cannot be
 * read. */
static int is_any(const char *dir,
	int (*is_in)(const char *entry, const struct question *q),
	const struct question *q)
{
	char entry[96]; /* /proc/PID/task/TID, whatever their length */
	DIR *d = opendir(dir);
	struct dirent *e;
	int found = !d && (errno == EMFILE || errno == ENFILE);

	while (d && !found && (e = readdir(d))) {
		snprintf(entry, sizeof(entry), "%.64s/%.20s", dir, e->d_name);
		found = isdigit((unsigned char)*e->d_name) && is_in(entry, q);
	}
	if (d)
		closedir(d);
	return found;
}

static int is_process_in(const char *dir, const struct question *q)
{
	char tasks[80];

	snprintf(tasks, sizeof(tasks), "%.64s/task", dir);
	return is_any(tasks, is_thread_in, q);
}

static int is_anybodys(const struct question *q)
{
	return is_any("/proc", is_process_in, q);
}

/* "\040" and the like, as in mountinfo. */
static void decode(char *s)
{
	char *to = s;

	for (; *s; s++)
		if (*s == '\\' && s[1] && s[2] && s[3]) {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 |
				       (s[3] - '0'));
			s += 3;
		} else {
			*to++ = *s;
		}
	*to = 0;
}

/* Kept by a mount, as by unshare --ipc=FILE. */
static int is_mounted(const struct question *q)
{
	char *line = NULL, *root = NULL, *at = NULL;
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t cap = 0;
	int found = 0;
	u64 n = 0;

	while (f && !found && getline(&line, &cap, f) >= 0) {
		if (sscanf(line, "%*d %*d %*s %ms %ms", &root, &at) == 2 &&
			!strncmp(root, "ipc:[", 5)) {
			decode(at);
			found = !ipcns_number(at, &n) && is_it(at, n, q);
		}
		free(root);
		free(at);
		root = at = NULL;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Is /proc of our process namespace, and that the registry's? */
static int may_tell(const char *path)
{
	static struct header h;
	char self[16], why[512];
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = 0;
	return atoi(self) == getpid() &&
	       !region_peek(path, &h, why, sizeof(why));
}

int namespace_ended(
	const char *path, const char *file, unsigned long long number)
{
	struct question q = {.number = number, .name = file};

	return may_tell(path) && !lstat(file, &q.file) &&
	       !home_in_use(file, 0) && !is_mounted(&q) && !is_anybodys(&q) &&
	       !is_anybodys(&q);
}

struct sweep {
	const char *path;
	int dry_run;
	unsigned n;
};

static void sweep_one(const char *file, unsigned long long number, void *arg)
{
	struct sweep *s = arg;

	if (!namespace_ended(s->path, file, number))
		return;
	if (s->dry_run || !home_remove(file))
		s->n++;
}

unsigned namespaces_sweep(const char *path, int dry_run)
{
	struct sweep s = {path, dry_run, 0};

	namespaces_each(path, sweep_one, &s);
	return s.n;
}

void namespaces_sweep_home(void)
{
	char home[HOME_PATH_MAX], path[PATH_MAX];
	int fd = home_open(0, home);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	size_t len;

	while (d && (e = readdir(d))) {
		len = strlen(e->d_name);
		if (len <= 3 || strcmp(e->d_name + len - 3, ".ns") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%.*s", home, (int)len - 3,
			e->d_name);
		namespaces_sweep(path, 0);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}
