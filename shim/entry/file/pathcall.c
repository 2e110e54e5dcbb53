// SPDX-License-Identifier: MIT
/*
 * Calls on paths that may lead to /dev/mqueue (mqdir.h), or with no path to a
 * queue's descriptor: stat and its kin, unlink, chmod, chown, times, attributes,
 * statfs.
 *
 * Those that ask come after libc's or the kernel's answer, those that change
 * something before.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "entry/file/libchead.h"
#include "entry/file/mqdir.h"
#include "entry/file/mqfile.h"
#include "entry/file/mqpath.h"

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

/* 1 if it may be /proc/self/fd/N of a queue; NULL as above. */
static int may_be_by_number(const char *path)
{
	__asm__("" : "+r"(path));
	return path && mqpath_maybe(path);
}

static const struct mqdir_at root = {.kind = MQDIR_ROOT};

/* libc or the kernel has answered ret by libc's convention, errno was before.
 */
static int stat_answer(int fd, const char *path, struct stat *to, int flags,
	int ret, int before)
{
	struct mqdir_at at;

	if (!ret && is_itself(fd, path, flags)) {
		if (mqdir_fd(fd))
			return (int)process_return(mqdir_stat(&root, to));
		mqfile_stat(fd, to);
	} else if (unlikely(mqdir_is(
			   fd, path, ret ? -*__errno_location() : 0, &at))) {
		*__errno_location() = before;
		return (int)process_return(mqdir_stat(&at, to));
	} else if (!ret && may_be_by_number(path)) {
		mqpath_stat(path, to);
	}
	return ret;
}

#define STAT_ANSWER(name, fd, flags, params, ...)                        \
	static void *next;                                               \
	int before = *__errno_location();                                \
	int(*real) params = (int(*) params)process_next(&next, #name);   \
	int ret = real ? real(__VA_ARGS__)                               \
		       : (int)process_return(sys_call(                   \
				 __NR_newfstatat, fd, path, to, flags)); \
                                                                         \
	return stat_answer(fd, path, (struct stat *)to, flags, ret, before)

#define FSTATAT_LIKE(name, type)                                               \
	EXPORT int name(int fd, const char *path, struct type *to, int flags)  \
	{                                                                      \
		STAT_ANSWER(name, fd, flags,                                   \
			(int, const char *, struct type *, int), fd, path, to, \
			flags);                                                \
	}

/* Programs linked against glibc before 2.33. */
#define FXSTATAT_LIKE(name)                                                 \
	EXPORT int name(                                                    \
		int version, int fd, const char *path, void *to, int flags) \
	{                                                                   \
		STAT_ANSWER(name, fd, flags,                                \
			(int, int, const char *, void *, int), version, fd, \
			path, to, flags);                                   \
	}

#define STAT_LIKE(name, type, flags)                              \
	EXPORT int name(const char *path, struct type *to)        \
	{                                                         \
		STAT_ANSWER(name, AT_FDCWD, flags,                \
			(const char *, struct type *), path, to); \
	}

#define XSTAT_LIKE(name, flags)                                          \
	EXPORT int name(int version, const char *path, void *to)         \
	{                                                                \
		STAT_ANSWER(name, AT_FDCWD, flags,                       \
			(int, const char *, void *), version, path, to); \
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
			     sys_call(__NR_statx, fd, path, flags, mask, to));
	if (!ret && is_itself(fd, path, flags)) {
		if (mqdir_fd(fd))
			return (int)process_return(mqdir_statx(&root, to));
		mqfile_statx(fd, to);
	} else if (unlikely(mqdir_is(
			   fd, path, ret ? -*__errno_location() : 0, &at))) {
		*__errno_location() = before;
		return (int)process_return(mqdir_statx(&at, to));
	} else if (!ret && may_be_by_number(path)) {
		mqpath_statx(path, to);
	}
	return ret;
}

/* ---- what changes something ---- */

/* In /dev/mqueue `ours` is the answer, else libc's or the kernel's. */
#define CHANGE(name, params, dir, ours, ...)                     \
	EXPORT int name params                                   \
	{                                                        \
		struct mqdir_at at;                              \
                                                                 \
		if (unlikely(mqdir_is_before(dir, path, &at)))   \
			return (int)process_return(ours);        \
		PROCESS_PASS_ON(int, name, params, __VA_ARGS__); \
		return (int)process_return(                      \
			sys_call(__NR_##name, __VA_ARGS__));     \
	}

CHANGE(unlink, (const char *path), AT_FDCWD, mqdir_unlink(&at, 0), path)
CHANGE(rmdir, (const char *path), AT_FDCWD, mqdir_unlink(&at, AT_REMOVEDIR),
	path)
CHANGE(chmod, (const char *path, mode_t mode), AT_FDCWD, mqdir_chmod(&at, mode),
	path, mode)
CHANGE(fchmodat, (int dir, const char *path, mode_t mode, int flags), dir,
	mqdir_chmod(&at, mode), dir, path, mode, flags)
CHANGE(chown, (const char *path, uid_t uid, gid_t gid), AT_FDCWD,
	mqdir_chown(&at, uid, gid), path, uid, gid)
CHANGE(lchown, (const char *path, uid_t uid, gid_t gid), AT_FDCWD,
	mqdir_chown(&at, uid, gid), path, uid, gid)
CHANGE(fchownat, (int dir, const char *path, uid_t uid, gid_t gid, int flags),
	dir, mqdir_chown(&at, uid, gid), dir, path, uid, gid, flags)
CHANGE(utimensat,
	(int dir, const char *path, const struct timespec times[2], int flags),
	dir, mqdir_utimens(&at, times), dir, path, times, flags)

EXPORT int futimens(int fd, const struct timespec times[2])
{
	if (unlikely(fd_is_mq(fd)))
		return (int)process_return(mqfile_utimens(fd, times));
	PROCESS_PASS_ON(
		int, futimens, (int, const struct timespec *), fd, times);
	return (int)process_return(
		sys_call(__NR_utimensat, fd, NULL, times, 0));
}

EXPORT int unlinkat(int dir, const char *path, int flags)
{
	struct mqdir_at at;

	if (unlikely(!(flags & ~AT_REMOVEDIR) &&
		     mqdir_is_before(dir, path, &at)))
		return (int)process_return(mqdir_unlink(&at, flags));
	PROCESS_PASS_ON(
		int, unlinkat, (int, const char *, int), dir, path, flags);
	return (int)process_return(sys_call(__NR_unlinkat, dir, path, flags));
}

EXPORT int remove(const char *path)
{
	struct mqdir_at at;

	if (unlikely(mqdir_is_before(AT_FDCWD, path, &at)))
		return (int)process_return(mqdir_unlink(
			&at, at.kind == MQDIR_ROOT ? AT_REMOVEDIR : 0));
	PROCESS_PASS_ON(int, remove, (const char *), path);
	*__errno_location() = ENOSYS;
	return -1;
}

/* ---- attributes ---- */

/* No such file system has any. */
#define XATTR_LIKE(name)                                                      \
	EXPORT ssize_t name(                                                  \
		const char *path, const char *key, void *value, size_t size)  \
	{                                                                     \
		static void *next;                                            \
		int before = *__errno_location();                             \
		ssize_t (*real)(const char *, const char *, void *, size_t) = \
			(ssize_t(*)(const char *, const char *, void *,       \
				size_t))process_next(&next, #name);           \
		ssize_t ret = real ? real(path, key, value, size)             \
				   : process_return(sys_call(__NR_##name,     \
					     path, key, value, size));        \
		struct mqdir_at at;                                           \
		long err;                                                     \
                                                                              \
		if (likely(!mqdir_is(AT_FDCWD, path,                          \
			    ret < 0 ? -*__errno_location() : 0, &at)))        \
			return ret;                                           \
		err = mqdir_access(&at, F_OK);                                \
		*__errno_location() = before;                                 \
		return process_return(err ? err : -EOPNOTSUPP);               \
	}

XATTR_LIKE(getxattr)
XATTR_LIKE(lgetxattr)

/* ---- the file system ---- */

#define FSTATFS_LIKE(name, type)                                          \
	EXPORT int name(int fd, struct type *to)                          \
	{                                                                 \
		static void *next;                                        \
		int (*real)(int, struct type *) = (int (*)(               \
			int, struct type *))process_next(&next, #name);   \
		int ret = real ? real(fd, to)                             \
			       : (int)process_return(                     \
					 sys_call(__NR_fstatfs, fd, to)); \
                                                                          \
		if (unlikely(!ret && (mqdir_fd(fd) || fd_is_mq(fd))))     \
			mqfile_statfs((struct statfs *)to);               \
		return ret;                                               \
	}

/* libc or the kernel has answered ret; errno was before. */
static int statfs_answer(
	const char *path, struct statfs *to, int ret, int before)
{
	struct mqdir_at at;
	long err;

	if (likely(!mqdir_is(
		    AT_FDCWD, path, ret ? -*__errno_location() : 0, &at)))
		return ret;
	err = mqdir_access(&at, F_OK);
	if (!err)
		mqfile_statfs(to);
	*__errno_location() = before;
	return (int)process_return(err);
}

#define STATFS_LIKE(name, type)                                               \
	EXPORT int name(const char *path, struct type *to)                    \
	{                                                                     \
		static void *next;                                            \
		int before = *__errno_location();                             \
		int (*real)(const char *, struct type *) =                    \
			(int (*)(const char *, struct type *))process_next(   \
				&next, #name);                                \
		int ret = real ? real(path, to)                               \
			       : (int)process_return(                         \
					 sys_call(__NR_statfs, path, to));    \
                                                                              \
		return statfs_answer(path, (struct statfs *)to, ret, before); \
	}

FSTATFS_LIKE(fstatfs, statfs)
FSTATFS_LIKE(fstatfs64, statfs64)
STATFS_LIKE(statfs, statfs)
STATFS_LIKE(statfs64, statfs64)

/* ---- the current directory ---- */

EXPORT int chdir(const char *path)
{
	static void *next;
	int (*real)(const char *) =
		(int (*)(const char *))process_next(&next, "chdir");
	int ret = real ? real(path)
		       : (int)process_return(sys_call(__NR_chdir, path));

	if (!ret)
		mqdir_moved(-1);
	return ret;
}

EXPORT int fchdir(int fd)
{
	static void *next;
	int (*real)(int) = (int (*)(int))process_next(&next, "fchdir");
	int ret = real ? real(fd)
		       : (int)process_return(sys_call(__NR_fchdir, fd));

	if (!ret)
		mqdir_moved(fd);
	return ret;
}
