// SPDX-License-Identifier: MIT
/*
 * Calls on paths that may lead to /dev/mqueue (mqdir.h), or with no path to a
 * queue's descriptor: stat and its kin, unlink, chmod, chown, attributes.
 *
 * Those that ask come after libc's or the kernel's answer, those that change
 * something before.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include "entry/mqdir.h"
#include "entry/mqfile.h"

#define NR_STATX 332

/* ---- stat ---- */

/* The kernel has read the path already. The headers say that it is never NULL,
 * the kernel (6.11) that it may be: the compiler must not know. */
static int is_itself(int fd, const char *path, int flags)
{
	__asm__("" : "+r"(path));
	return unlikely((flags & AT_EMPTY_PATH) &&
			(mqdir_fd(fd) || fd_is_mq(fd))) &&
	       (!path || !*path);
}

static const struct mqdir_at root = {.kind = MQDIR_ROOT};

static long stat_at(int fd, const char *path, struct stat *to, int flags)
{
	long ret = sys_call(__NR_newfstatat, fd, path, to, flags);
	struct mqdir_at at;

	if (!ret && is_itself(fd, path, flags)) {
		if (mqdir_fd(fd))
			return mqdir_stat(&root, to);
		mqfile_stat(fd, to);
	} else if (unlikely(mqdir_is(fd, path, ret, &at))) {
		return mqdir_stat(&at, to);
	}
	return ret;
}

#define FSTATAT_LIKE(name, type)                                              \
	EXPORT int name(int fd, const char *path, struct type *to, int flags) \
	{                                                                     \
		return (int)process_return(                                   \
			stat_at(fd, path, (struct stat *)to, flags));         \
	}

/* Programs linked against glibc before 2.33. */
#define FXSTATAT_LIKE(name)                                                 \
	EXPORT int name(                                                    \
		int version, int fd, const char *path, void *to, int flags) \
	{                                                                   \
		(void)version;                                              \
		return (int)process_return(stat_at(fd, path, to, flags));   \
	}

#define STAT_LIKE(name, type, flags)                                        \
	EXPORT int name(const char *path, struct type *to)                  \
	{                                                                   \
		return (int)process_return(                                 \
			stat_at(AT_FDCWD, path, (struct stat *)to, flags)); \
	}

#define XSTAT_LIKE(name, flags)                                  \
	EXPORT int name(int version, const char *path, void *to) \
	{                                                        \
		(void)version;                                   \
		return (int)process_return(                      \
			stat_at(AT_FDCWD, path, to, flags));     \
	}

FSTATAT_LIKE(fstatat, stat)
FSTATAT_LIKE(fstatat64, stat64)
FXSTATAT_LIKE(__fxstatat)
FXSTATAT_LIKE(__fxstatat64)
STAT_LIKE(stat, stat, 0)
STAT_LIKE(stat64, stat64, 0)
STAT_LIKE(lstat, stat, AT_SYMLINK_NOFOLLOW)
STAT_LIKE(lstat64, stat64, AT_SYMLINK_NOFOLLOW)
XSTAT_LIKE(__xstat, 0)
XSTAT_LIKE(__xstat64, 0)
XSTAT_LIKE(__lxstat, AT_SYMLINK_NOFOLLOW)
XSTAT_LIKE(__lxstat64, AT_SYMLINK_NOFOLLOW)

typedef int (*statx_fn)(int, const char *, int, unsigned, struct statx *);
EXPORT int statx(
	int fd, const char *path, int flags, unsigned mask, struct statx *to)
{
	static void *next;
	int before = *__errno_location(), ret;
	statx_fn real = (statx_fn)process_next(&next, "statx");
	struct mqdir_at at;

	ret = real ? real(fd, path, flags, mask, to)
		   : (int)process_return(
			     sys_call(NR_STATX, fd, path, flags, mask, to));
	if (!ret && is_itself(fd, path, flags)) {
		if (mqdir_fd(fd))
			return (int)process_return(mqdir_statx(&root, to));
		mqfile_statx(fd, to);
	} else if (unlikely(mqdir_is(
			   fd, path, ret ? -*__errno_location() : 0, &at))) {
		*__errno_location() = before;
		return (int)process_return(mqdir_statx(&at, to));
	}
	return ret;
}

/* ---- unlink ---- */

static long unlink_at(int dir, const char *path, int flags)
{
	struct mqdir_at at;

	if (unlikely(!(flags & ~AT_REMOVEDIR) &&
		     mqdir_is_before(dir, path, &at)))
		return mqdir_unlink(&at, flags);
	return sys_call(__NR_unlinkat, dir, path, flags);
}

EXPORT int unlink(const char *path)
{
	return (int)process_return(unlink_at(AT_FDCWD, path, 0));
}

EXPORT int unlinkat(int dir, const char *path, int flags)
{
	return (int)process_return(unlink_at(dir, path, flags));
}

EXPORT int rmdir(const char *path)
{
	return (int)process_return(unlink_at(AT_FDCWD, path, AT_REMOVEDIR));
}

EXPORT int remove(const char *path)
{
	long ret = unlink_at(AT_FDCWD, path, 0);

	if (ret == -EISDIR)
		ret = unlink_at(AT_FDCWD, path, AT_REMOVEDIR);
	return (int)process_return(ret);
}

/* ---- mode and owner ---- */

EXPORT int chmod(const char *path, mode_t mode)
{
	struct mqdir_at at;

	return (int)process_return(mqdir_is_before(AT_FDCWD, path, &at)
					   ? mqdir_chmod(&at, mode)
					   : sys_call(__NR_chmod, path, mode));
}

typedef int (*fchmodat_fn)(int, const char *, mode_t, int);
EXPORT int fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	static void *next;
	fchmodat_fn real;
	struct mqdir_at at;

	if (unlikely(mqdir_is_before(dir, path, &at)))
		return (int)process_return(mqdir_chmod(&at, mode));
	real = (fchmodat_fn)process_next(&next, "fchmodat");
	return real ? real(dir, path, mode, flags)
		    : (int)process_return(
			      sys_call(__NR_fchmodat, dir, path, mode));
}

#define CHOWN_LIKE(name)                                                  \
	EXPORT int name(const char *path, uid_t uid, gid_t gid)           \
	{                                                                 \
		struct mqdir_at at;                                       \
                                                                          \
		return (int)process_return(                               \
			mqdir_is_before(AT_FDCWD, path, &at)              \
				? mqdir_chown(&at, uid, gid)              \
				: sys_call(__NR_##name, path, uid, gid)); \
	}

CHOWN_LIKE(chown)
CHOWN_LIKE(lchown)

/* ---- attributes ---- */

/* No such file system has any. */
#define XATTR_LIKE(type, name, params, ...)                           \
	EXPORT type name params                                       \
	{                                                             \
		long ret = sys_call(__NR_##name, __VA_ARGS__);        \
		struct mqdir_at at;                                   \
                                                                      \
		if (unlikely(mqdir_is(AT_FDCWD, path, ret, &at)))     \
			ret = mqdir_access(&at, F_OK);                \
		else                                                  \
			return (type)process_return(ret);             \
		return (type)process_return(ret ? ret : -EOPNOTSUPP); \
	}

XATTR_LIKE(ssize_t, getxattr,
	(const char *path, const char *name, void *value, size_t size), path,
	name, value, size)
XATTR_LIKE(ssize_t, lgetxattr,
	(const char *path, const char *name, void *value, size_t size), path,
	name, value, size)

/* ---- the current directory ---- */

EXPORT int chdir(const char *path)
{
	long ret = sys_call(__NR_chdir, path);

	if (!ret)
		mqdir_moved(-1);
	return (int)process_return(ret);
}

EXPORT int fchdir(int fd)
{
	long ret = sys_call(__NR_fchdir, fd);

	if (!ret)
		mqdir_moved(fd);
	return (int)process_return(ret);
}
