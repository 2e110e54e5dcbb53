// SPDX-License-Identifier: MIT
/*
 * See mqpath.h.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include "entry/file/mqfile.h"
#include "entry/file/mqpath.h"
#include "registry/guard.h"

static int prefix(const char **at, const char *with)
{
	const char *s = *at;

	for (; *with; with++, s++)
		if (*s != *with)
			return 0;
	*at = s;
	return 1;
}

static u32 digits(const char **at)
{
	u32 n = 0;

	if (**at < '0' || **at > '9')
		return ~0u;
	for (; **at >= '0' && **at <= '9'; ++*at)
		n = n * 10 + (u32)(**at - '0');
	return n;
}

/* The own descriptor of a queue that the path names, or -1. */
static int fd_of_path(const char *path)
{
	u32 pid = sys_getpid(), fd;
	const char *proc = path;

	if (prefix(&proc, "/proc/") && digits(&proc) == pid &&
		prefix(&proc, "/fd/"))
		path = proc;
	else if (!prefix(&path, "/proc/self/fd/") &&
		 !prefix(&path, "/dev/fd/") &&
		 !prefix(&path, "/proc/thread-self/fd/"))
		return -1;
	fd = digits(&path);
	return *path || fd == ~0u || !fd_is_mq((int)fd) ? -1 : (int)fd;
}

int mqpath_names_queue(const char *path)
{
	return fd_of_path(path) >= 0;
}

long mqpath_open(const char *path, int flags)
{
	struct mq_desc d, new;
	int err = 0;
	struct caller *c = mqfile_desc(fd_of_path(path), &d, &err);
	long ret;

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

long mqpath_readlink(const char *path, char *buf, size_t len, long ret)
{
	int fd = ret > 0 && mqpath_maybe(path) ? fd_of_path(path) : -1;
	char name[300];
	struct mq_desc d;
	struct caller *c;
	int err = 0;
	size_t n;

	if (likely(fd < 0))
		return ret;
	c = mqfile_desc(fd, &d, &err);
	if (!c)
		return -err;
	n = mq_path(c, &d, name, sizeof(name) < len ? sizeof(name) : len);
	return guard_write(c, buf, name, n) ? -EFAULT : (long)n;
}

/* ---- the names ---- */

/* libc's own answer was ret; errno was before. */
static ssize_t link_answer(
	const char *path, char *buf, size_t len, ssize_t ret, int before)
{
	long is = mqpath_readlink(path, buf, len, ret);

	if (likely(is == ret))
		return ret;
	*__errno_location() = before;
	return process_return(is);
}

EXPORT ssize_t readlinkat(int dir, const char *path, char *buf, size_t len)
{
	static void *next;
	ssize_t (*real)(int, const char *, char *, size_t) = (ssize_t(*)(int,
		const char *, char *, size_t))process_next(&next, "readlinkat");
	int before = *__errno_location();

	return link_answer(path, buf, len,
		real ? real(dir, path, buf, len)
		     : process_return(
			       sys_call(__NR_readlinkat, dir, path, buf, len)),
		before);
}

EXPORT ssize_t readlink(const char *path, char *buf, size_t len)
{
	static void *next;
	ssize_t (*real)(const char *, char *, size_t) = (ssize_t(*)(
		const char *, char *, size_t))process_next(&next, "readlink");
	int before = *__errno_location();

	return link_answer(path, buf, len,
		real ? real(path, buf, len)
		     : process_return(sys_call(__NR_readlink, path, buf, len)),
		before);
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
