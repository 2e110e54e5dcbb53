// SPDX-License-Identifier: MIT
/*
 * See fdcall.h: fcntl, read, write, lseek, fstat and the like by name. What
 * only queues answer is in mqfile.c and mqcall.c.
 */
/* Else the headers rename fcntl to fcntl64; off_t has 64 bits anyway. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "entry/file/fdcall.h"
#include "entry/file/mqdir.h"
#include "entry/file/mqfile.h"
#include "entry/file/procfile.h"
#include "registry/guard.h"

#ifndef F_SETSIG
#define F_SETSIG 10
#define F_GETSIG 11
#endif
#ifndef F_SETLEASE
#define F_SETLEASE 1024
#endif
#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif
#ifndef F_SETPIPE_SZ
#define F_SETPIPE_SZ 1031
#define F_GETPIPE_SZ 1032
#endif
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "stat");
/* And O_LARGEFILE, O_NOFOLLOW. */
#define HIDDEN_FLAGS (MQ_O_DIRECT | 0100000 | 0400000)
#define O_ASYNC_FLAG 020000
#define F_GET_RW_HINT_OF_FILE 1035
#define F_SET_RW_HINT_OF_FILE 1036
#define RW_HINT_MAX 5

/* ---- fcntl ---- */

/* Of a regular file: of no effect here, and not kept. */
static long rw_hint(struct caller *c, int cmd, void *user)
{
	u64 hint = 0;

	if (cmd == F_GET_RW_HINT_OF_FILE)
		return guard_write(c, user, &hint, sizeof(hint)) ? -EFAULT : 0;
	if (guard_read(c, &hint, user, sizeof(hint)))
		return -EFAULT;
	return hint > RW_HINT_MAX ? -EINVAL : 0;
}

long entry_fcntl(int fd, int cmd, long arg)
{
	struct fd_entry *e = fd_entry(fd);
	struct caller *c;
	struct mq_desc d;
	long ret;
	int err;

	switch (cmd) {
	case F_GETFL:
		ret = sys_call(__NR_fcntl, fd, cmd);
		if (ret >= 0)
			ret = (ret & ~(HIDDEN_FLAGS | MQ_O_ACCMODE)) |
			      (e->info & FD_ACCESS) | mqfile_large(fd);
		return ret;
	case F_SETFL:
		if (arg & MQ_O_DIRECT)
			return -EINVAL;
		/* A queue's file knows no O_ASYNC; a FIFO would signal. */
		return sys_call(__NR_fcntl, fd, cmd,
			(arg & ~(long)O_ASYNC_FLAG) |
				(e->info & FD_NAMELESS ? 0 : MQ_O_DIRECT));
	case F_GETSIG:
	case F_SETSIG:
		return 0;
	case F_GETPIPE_SZ:
	case F_SETPIPE_SZ:
		return -EBADF;
	case F_SETFD:
		c = arg & FD_CLOEXEC ? NULL : fd_table_owner();
		if (c) {
			/* What is executed may poll it without us. */
			fd_desc(c, fd, e, &d);
			mq_watch(c, &d, MQ_POLLED_IN | MQ_POLLED_OUT);
		}
		break;
	case F_GET_RW_HINT_OF_FILE:
	case F_SET_RW_HINT_OF_FILE:
		c = process_get(&err);
		return c ? rw_hint(c, cmd, (void *)arg) : -err;
	case F_SETLEASE:
		/* Others have it open, or might. */
		return arg >= F_RDLCK && arg <= F_UNLCK ? -EAGAIN : -EINVAL;
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		ret = mqfile_may_lock(fd, (const void *)arg);
		if (ret)
			return ret;
		break;
	default:
		break;
	}
	return sys_call(__NR_fcntl, fd, cmd, arg);
}

typedef int (*fcntl_fn)(int, int, ...);

static int fcntl_by(fcntl_fn real, int fd, int cmd, long arg)
{
	int ret;

	if (unlikely(fd_is_mq(fd) && cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC))
		return process_return(entry_fcntl(fd, cmd, arg));
	ret = real ? real(fd, cmd, arg)
		   : (int)process_return(sys_call(__NR_fcntl, fd, cmd, arg));
	if ((cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) && ret >= 0)
		fd_copied(fd, ret);
	/* A memfd is open for both. */
	if (cmd == F_GETFL && ret >= 0 && fd_is_proc(fd))
		ret = (ret & ~(int)MQ_O_ACCMODE) |
		      (int)(fd_entry(fd)->info & FD_ACCESS);
	return ret;
}

#define FCNTL_LIKE(name)                                                     \
	EXPORT int name(int fd, int cmd, ...)                                \
	{                                                                    \
		static void *next;                                           \
		va_list ap;                                                  \
		long arg;                                                    \
                                                                             \
		va_start(ap, cmd);                                           \
		arg = va_arg(ap, long);                                      \
		va_end(ap);                                                  \
		return fcntl_by(                                             \
			(fcntl_fn)process_next(&next, #name), fd, cmd, arg); \
	}

FCNTL_LIKE(fcntl)
FCNTL_LIKE(fcntl64)

/* ---- read, write ---- */

typedef ssize_t (*read_fn)(int, void *, size_t);
EXPORT ssize_t read(int fd, void *buf, size_t len)
{
	static void *next;
	long ret = PROCFS_PASS;
	read_fn real;

	if (unlikely(fd_is_served(fd)))
		ret = fd_is_mq(fd) ? mqfile_read(fd, buf, len)
				   : procfs_read(fd, buf, len);
	if (unlikely(ret != PROCFS_PASS))
		return process_return(ret);
	real = (read_fn)process_next(&next, "read");
	return real ? real(fd, buf, len)
		    : process_return(sys_call(__NR_read, fd, buf, len));
}

typedef ssize_t (*read_chk_fn)(int, void *, size_t, size_t);
EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t size)
{
	static void *next;
	read_chk_fn real = (read_chk_fn)process_next(&next, "__read_chk");

	if (unlikely(fd_is_served(fd) && len <= size))
		return read(fd, buf, len);
	return real ? real(fd, buf, len, size) : read(fd, buf, len);
}

typedef ssize_t (*readv_fn)(int, const struct iovec *, int);
EXPORT ssize_t readv(int fd, const struct iovec *iov, int n)
{
	static void *next;
	long ret = PROCFS_PASS;
	readv_fn real;

	if (unlikely(fd_is_served(fd)))
		ret = fd_is_mq(fd) ? mqfile_readv(fd, iov, n)
				   : procfs_readv(fd, iov, n);
	if (unlikely(ret != PROCFS_PASS))
		return process_return(ret);
	real = (readv_fn)process_next(&next, "readv");
	return real ? real(fd, iov, n)
		    : process_return(sys_call(__NR_readv, fd, iov, n));
}

#undef pread
#undef pread64
#undef pwrite
#undef pwrite64

typedef ssize_t (*write_fn)(int, const void *, size_t);
typedef ssize_t (*writev_fn)(int, const struct iovec *, int);
typedef ssize_t (*pread_fn)(int, void *, size_t, off_t);
typedef ssize_t (*pread_chk_fn)(int, void *, size_t, off_t, size_t);
typedef ssize_t (*pwrite_fn)(int, const void *, size_t, off_t);

EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
	static void *next;
	long ret = PROCFS_PASS;
	write_fn real;

	if (unlikely(fd_is_served(fd)))
		ret = fd_is_mq(fd) ? mqfile_write(fd)
				   : procfs_write(fd, buf, len);
	if (unlikely(ret != PROCFS_PASS))
		return process_return(ret);
	real = (write_fn)process_next(&next, "write");
	return real ? real(fd, buf, len)
		    : process_return(sys_call(__NR_write, fd, buf, len));
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int n)
{
	static void *next;
	long ret = PROCFS_PASS;
	writev_fn real;

	if (unlikely(fd_is_served(fd)))
		ret = fd_is_mq(fd) ? mqfile_write(fd)
				   : procfs_writev(fd, iov, n);
	if (unlikely(ret != PROCFS_PASS))
		return process_return(ret);
	real = (writev_fn)process_next(&next, "writev");
	return real ? real(fd, iov, n)
		    : process_return(sys_call(__NR_writev, fd, iov, n));
}

#define PREAD_LIKE(name)                                                      \
	EXPORT ssize_t name(int fd, void *buf, size_t len, off_t off)         \
	{                                                                     \
		static void *next;                                            \
		long ret = PROCFS_PASS;                                       \
		pread_fn real;                                                \
                                                                              \
		if (unlikely(fd_is_served(fd)))                               \
			ret = fd_is_mq(fd) ? mqfile_pread(fd, buf, len, off)  \
					   : procfs_pread(fd, buf, len, off); \
		if (unlikely(ret != PROCFS_PASS))                             \
			return process_return(ret);                           \
		real = (pread_fn)process_next(&next, #name);                  \
		return real ? real(fd, buf, len, off)                         \
			    : process_return(sys_call(                        \
				      __NR_pread64, fd, buf, len, off));      \
	}

#define PREAD_CHK_LIKE(name)                                                  \
	EXPORT ssize_t name(                                                  \
		int fd, void *buf, size_t len, off_t off, size_t size)        \
	{                                                                     \
		static void *next;                                            \
		long ret = PROCFS_PASS;                                       \
		pread_chk_fn real;                                            \
                                                                              \
		if (unlikely(fd_is_served(fd) && len <= size))                \
			ret = fd_is_mq(fd) ? mqfile_pread(fd, buf, len, off)  \
					   : procfs_pread(fd, buf, len, off); \
		if (unlikely(ret != PROCFS_PASS))                             \
			return process_return(ret);                           \
		real = (pread_chk_fn)process_next(&next, #name);              \
		return real ? real(fd, buf, len, off, size)                   \
			    : pread(fd, buf, len, off);                       \
	}

#define PWRITE_LIKE(name)                                                      \
	EXPORT ssize_t name(int fd, const void *buf, size_t len, off_t off)    \
	{                                                                      \
		static void *next;                                             \
		long ret = PROCFS_PASS;                                        \
		pwrite_fn real;                                                \
                                                                               \
		if (unlikely(fd_is_served(fd)))                                \
			ret = fd_is_mq(fd) ? mqfile_write(fd)                  \
					   : procfs_pwrite(fd, buf, len, off); \
		if (unlikely(ret != PROCFS_PASS))                              \
			return process_return(ret);                            \
		real = (pwrite_fn)process_next(&next, #name);                  \
		return real ? real(fd, buf, len, off)                          \
			    : process_return(sys_call(                         \
				      __NR_pwrite64, fd, buf, len, off));      \
	}

PREAD_LIKE(pread)
PREAD_LIKE(pread64)
PREAD_CHK_LIKE(__pread_chk)
PREAD_CHK_LIKE(__pread64_chk)
PWRITE_LIKE(pwrite)
PWRITE_LIKE(pwrite64)

/* ---- lseek ---- */

#undef lseek
#undef lseek64

static long seek(int fd, off_t off, int whence)
{
	long ret = PROCFS_PASS;

	if (unlikely(fd_is_served(fd)))
		ret = fd_is_mq(fd) ? mqfile_lseek(fd, off, whence)
				   : procfs_lseek(fd, off, whence);
	if (likely(ret == PROCFS_PASS))
		ret = sys_call(__NR_lseek, fd, off, whence);
	return process_return(ret);
}

EXPORT off_t lseek(int fd, off_t off, int whence)
{
	if (likely(!fd_is_served(fd)))
		PROCESS_PASS_ON(
			off_t, lseek, (int, off_t, int), fd, off, whence);
	return seek(fd, off, whence);
}

EXPORT off_t lseek64(int fd, off_t off, int whence)
{
	if (likely(!fd_is_served(fd)))
		PROCESS_PASS_ON(
			off_t, lseek64, (int, off_t, int), fd, off, whence);
	return seek(fd, off, whence);
}

/* ---- fstat, fchmod, fchown ---- */

static long stat_of(int fd, struct stat *to)
{
	long ret = sys_call(__NR_fstat, fd, to);

	if (unlikely(!ret && mqdir_fd(fd)))
		return mqdir_stat(&(struct mqdir_at){.kind = MQDIR_ROOT}, to);
	if (likely(ret || !fd_is_served(fd)))
		return ret;
	if (fd_is_proc(fd))
		procfs_stat(fd, to);
	else
		mqfile_stat(fd, to);
	return 0;
}

/* Nothing here is to be said of it. */
static int is_plain(int fd)
{
	return likely(!fd_is_served(fd) && !mqdir_fd(fd));
}

EXPORT int fstat(int fd, struct stat *to)
{
	if (is_plain(fd))
		PROCESS_PASS_ON(int, fstat, (int, struct stat *), fd, to);
	return process_return(stat_of(fd, to));
}

EXPORT int fstat64(int fd, struct stat64 *to)
{
	if (is_plain(fd))
		PROCESS_PASS_ON(int, fstat64, (int, struct stat64 *), fd, to);
	return process_return(stat_of(fd, (struct stat *)to));
}

/* Programs linked against glibc before 2.33. */
EXPORT int __fxstat(int version, int fd, void *to)
{
	if (is_plain(fd))
		PROCESS_PASS_ON(
			int, __fxstat, (int, int, void *), version, fd, to);
	return process_return(stat_of(fd, to));
}

EXPORT int __fxstat64(int version, int fd, void *to)
{
	if (is_plain(fd))
		PROCESS_PASS_ON(
			int, __fxstat64, (int, int, void *), version, fd, to);
	return process_return(stat_of(fd, to));
}

EXPORT int fchmod(int fd, mode_t mode)
{
	struct mq_desc d;
	int err;
	struct caller *c;

	if (likely(!fd_is_mq(fd))) {
		PROCESS_PASS_ON(int, fchmod, (int, mode_t), fd, mode);
		return process_return(sys_call(__NR_fchmod, fd, mode));
	}
	c = process_get(&err);
	if (!c)
		return process_return(-err);
	fd_desc(c, fd, fd_entry(fd), &d);
	return process_return(mq_chmod(c, &d, mode));
}

EXPORT int fchown(int fd, uid_t uid, gid_t gid)
{
	struct mq_desc d;
	int err;
	struct caller *c;

	if (likely(!fd_is_mq(fd))) {
		PROCESS_PASS_ON(int, fchown, (int, uid_t, gid_t), fd, uid, gid);
		return process_return(sys_call(__NR_fchown, fd, uid, gid));
	}
	c = process_get(&err);
	if (!c)
		return process_return(-err);
	fd_desc(c, fd, fd_entry(fd), &d);
	return process_return(mq_chown(c, &d, uid, gid));
}
