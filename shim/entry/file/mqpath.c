// SPDX-License-Identifier: MIT
/*
 * Opening a queue by the path of a descriptor; see mqpath.h.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include "base/str.h"
#include "entry/file/libchead.h"
#include "entry/file/mqfile.h"
#include "entry/file/mqpath.h"
#include "registry/guard.h"

/* The own descriptor of a queue that the path names, or -1. */
static int fd_of_path(const char *path)
{
	const char *at = str_after(path, "/proc/");
	int fd;

	if (at)
		at = str_number(&at) == (int)sys_getpid()
			     ? str_after(at, "/fd/")
			     : NULL;
	if (!at)
		at = str_after(path, "/proc/self/fd/");
	if (!at)
		at = str_after(path, "/dev/fd/");
	if (!at)
		at = str_after(path, "/proc/thread-self/fd/");
	if (!at)
		return -1;
	fd = str_number(&at);
	return *at || fd < 0 || !fd_is_mq(fd) ? -1 : fd;
}

/* /dev/stdin and its like are links to such paths, and are followed here. */
static int fd_behind_path(const char *path)
{
	static const char names[3][12] = {
		"/dev/stdin", "/dev/stdout", "/dev/stderr"};
	int i;

	for (i = 0; i < 3; i++)
		if (str_equal(path, names[i]))
			return fd_is_mq(i) ? i : -1;
	return fd_of_path(path);
}

int mqpath_names_queue(const char *path)
{
	return fd_behind_path(path) >= 0;
}

void mqpath_stat(const char *path, struct stat *to)
{
	int fd = S_ISFIFO(to->st_mode) ? fd_behind_path(path) : -1;

	if (fd >= 0)
		mqfile_stat(fd, to);
}

void mqpath_statx(const char *path, struct statx *to)
{
	int fd = S_ISFIFO(to->stx_mode) ? fd_behind_path(path) : -1;

	if (fd >= 0)
		mqfile_statx(fd, to);
}

long mqpath_open(const char *path, int flags)
{
	struct mq_desc d, new;
	int err = 0, fd = fd_behind_path(path);
	struct caller *c;
	long ret;

	if (unlikely(fd_is_away(fd)))
		return process_home(mqpath_open(path, flags));
	c = mqfile_desc(fd, &d, &err);
	if (!c)
		return -err;
	ret = mqueue_open_again(c, &d, (u32)flags, &new);
	if (ret >= 0)
		fd_enter(c, &new);
	return ret;
}

long mqpath_opened(const char *path, int flags, long fd)
{
	if (fd < 0 || (flags & O_PATH) || !mqpath_names_queue(path))
		return fd;
	sys_call(__NR_close, fd);
	return mqpath_open(path, flags);
}

int mqpath_opened_as(const char *path, int flags, int fd, int before)
{
	long ret = mqpath_opened(path, flags, fd);

	if (ret == fd)
		return fd;
	*__errno_location() = before;
	return (int)process_return(ret);
}

/* The queue that a path which may be unreadable leads to, or -1. */
static int fd_of_given(const char *path)
{
	int err = 0;
	struct caller *c = process_get(&err);
	char copy[40]; /* the longest that leads to one has 32 bytes */
	u32 i;

	for (i = 0; c && i < sizeof(copy); i++) {
		if (guard_read(c, copy + i, path + i, 1) ||
			(i == 1 && !mqpath_maybe(copy)))
			return -1;
		if (!copy[i])
			return fd_of_path(copy);
	}
	return -1;
}

long mqpath_readlink(const char *path, char *buf, size_t len)
{
	int fd = fd_used && (int)len > 0 ? fd_of_given(path) : -1;
	char name[300];
	struct mq_desc d;
	struct caller *c;
	int err = 0;
	size_t n;

	if (likely(fd < 0))
		return FD_PASS;
	if (unlikely(fd_is_away(fd)))
		return process_home(mqpath_readlink(path, buf, len));
	c = mqfile_desc(fd, &d, &err);
	if (!c)
		return -err;
	n = mq_path(c, &d, name, sizeof(name) < len ? sizeof(name) : len);
	return guard_write(c, buf, name, n) ? -EFAULT : (long)n;
}

/* ---- the names ---- */

EXPORT ssize_t readlinkat(int dir, const char *path, char *buf, size_t len)
{
	static void *next;
	ssize_t (*real)(int, const char *, char *, size_t) = (ssize_t(*)(int,
		const char *, char *, size_t))process_next(&next, "readlinkat");
	long ret = mqpath_readlink(path, buf, len);

	if (unlikely(ret != FD_PASS))
		return process_return(ret);
	return real ? real(dir, path, buf, len)
		    : process_return(
			      sys_call(__NR_readlinkat, dir, path, buf, len));
}

EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	static void *next;
	ssize_t (*real)(const char *, char *, size_t) = (ssize_t(*)(
		const char *, char *, size_t))process_next(&next, "readlink");
	long ret = mqpath_readlink(path, buf, len);

	if (unlikely(ret != FD_PASS))
		return process_return(ret);
	return real ? real(path, buf, len)
		    : process_return(sys_call(__NR_readlink, path, buf, len));
}

EXPORT ssize_t __readlink_chk(
	const char *path, char *buf, size_t len, size_t size)
{
	static void *next;
	ssize_t (*real)(const char *, char *, size_t, size_t);

	if (len <= size)
		return readlink(path, buf, len);
	real = (ssize_t(*)(const char *, char *, size_t, size_t))process_next(
		&next, "__readlink_chk");
	return real ? real(path, buf, len, size) : readlink(path, buf, len);
}

EXPORT ssize_t __readlinkat_chk(
	int dir, const char *path, char *buf, size_t len, size_t size)
{
	static void *next;
	ssize_t (*real)(int, const char *, char *, size_t, size_t);

	if (len <= size)
		return readlinkat(dir, path, buf, len);
	real = (ssize_t(*)(int, const char *, char *, size_t,
		size_t))process_next(&next, "__readlinkat_chk");
	return real ? real(dir, path, buf, len, size)
		    : readlinkat(dir, path, buf, len);
}
