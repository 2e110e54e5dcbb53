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
#include "entry/file/libchead.h"
#include "entry/file/mqcall.h"
#include "entry/file/mqdir.h"
#include "entry/file/mqfile.h"
#include "entry/file/procfile.h"
#include "registry/guard.h"

#ifdef __GLIBC__
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "stat");
#endif

/* ---- fcntl ---- */
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

/* ---- by number ---- */

/* On the descriptor of a file of procfs.h. */
static long on_procfs(long nr, int fd, long b, long c, long d)
{
	switch (nr) {
	case __NR_read:
		return procfs_read(fd, (void *)b, c);
	case __NR_write:
		return procfs_write(fd, (void *)b, c);
	case __NR_writev:
		return procfs_writev(fd, (void *)b, (int)c);
	case __NR_readv:
		return procfs_readv(fd, (void *)b, (int)c);
	case __NR_lseek:
		return procfs_lseek(fd, b, (int)c);
	case __NR_pread64:
		return procfs_pread(fd, (void *)b, c, d);
	case __NR_pwrite64:
		return procfs_pwrite(fd, (void *)b, c, d);
	default:
		return FD_PASS;
	}
}

long fdcall_served(long nr, long a, long b, long c, long d, long e, long f)
{
	long ret = FD_PASS;

	if (unlikely(fd_is_away((int)a)))
		return process_home(fdcall_served(nr, a, b, c, d, e, f));
	if (fd_is_proc((int)a))
		ret = on_procfs(nr, (int)a, b, c, d);
	if (ret == FD_PASS && fd_used)
		ret = mqcall(nr, a, b, c, d, e, f);
	return ret;
}

/* ---- by name ---- */

#define ARGS6_(a, b, c, d, e, f, ...) \
	(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define ARGS6(...) ARGS6_(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

/* The answer by number where it may be ours, or what libc or else the kernel
 * says. */
#define NAME(type, name, nr, may_be_ours, params, ...)                  \
	EXPORT type name params                                         \
	{                                                               \
		long ret = FD_PASS;                                     \
                                                                        \
		if (unlikely(may_be_ours))                              \
			ret = fdcall_served(nr, ARGS6(__VA_ARGS__));    \
		if (unlikely(ret != FD_PASS))                           \
			return (type)process_return(ret);               \
		PROCESS_PASS_ON(type, name, params, __VA_ARGS__);       \
		return (type)process_return(sys_call(nr, __VA_ARGS__)); \
	}
#define FD_NAME(type, name, nr, params, ...) \
	NAME(type, name, nr, fd_is_served(fd), params, __VA_ARGS__)
#define MQ_NAME(type, name, nr, params, ...) \
	NAME(type, name, nr, fd_is_mq(fd), params, __VA_ARGS__)

#undef pread
#undef pread64
#undef pwrite
#undef pwrite64
#undef lseek
#undef lseek64
#undef ftruncate
#undef ftruncate64

FD_NAME(ssize_t, read, __NR_read, (int fd, void *buf, size_t len), fd, buf, len)
FD_NAME(ssize_t, readv, __NR_readv, (int fd, const struct iovec *iov, int n),
	fd, iov, n)
FD_NAME(ssize_t, write, __NR_write, (int fd, const void *buf, size_t len), fd,
	buf, len)
FD_NAME(ssize_t, writev, __NR_writev, (int fd, const struct iovec *iov, int n),
	fd, iov, n)
FD_NAME(ssize_t, pread, __NR_pread64,
	(int fd, void *buf, size_t len, off_t off), fd, buf, len, off)
FD_NAME(ssize_t, pread64, __NR_pread64,
	(int fd, void *buf, size_t len, off_t off), fd, buf, len, off)
FD_NAME(ssize_t, pwrite, __NR_pwrite64,
	(int fd, const void *buf, size_t len, off_t off), fd, buf, len, off)
FD_NAME(ssize_t, pwrite64, __NR_pwrite64,
	(int fd, const void *buf, size_t len, off_t off), fd, buf, len, off)
FD_NAME(off_t, lseek, __NR_lseek, (int fd, off_t off, int whence), fd, off,
	whence)
FD_NAME(off_t, lseek64, __NR_lseek, (int fd, off_t off, int whence), fd, off,
	whence)
MQ_NAME(int, ftruncate, __NR_ftruncate, (int fd, off_t size), fd, size)
MQ_NAME(int, ftruncate64, __NR_ftruncate, (int fd, off_t size), fd, size)
MQ_NAME(int, fchmod, __NR_fchmod, (int fd, mode_t mode), fd, mode)
MQ_NAME(int, fchown, __NR_fchown, (int fd, uid_t uid, gid_t gid), fd, uid, gid)
/* Either of two descriptors may be a queue's. */
NAME(ssize_t, sendfile, __NR_sendfile, fd_used,
	(int out, int in, off_t *off, size_t len), out, in, off, len)
NAME(ssize_t, sendfile64, __NR_sendfile, fd_used,
	(int out, int in, off64_t *off, size_t len), out, in, off, len)
NAME(ssize_t, copy_file_range, __NR_copy_file_range, fd_used,
	(int in, off64_t *in_off, int out, off64_t *out_off, size_t len,
		unsigned flags),
	in, in_off, out, out_off, len, flags)

/* Checked by libc against the buffer's size. */

typedef ssize_t (*read_chk_fn)(int, void *, size_t, size_t);
EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t size)
{
	static void *next;
	read_chk_fn real = (read_chk_fn)process_next(&next, "__read_chk");

	if (unlikely(fd_is_served(fd) && len <= size))
		return read(fd, buf, len);
	return real ? real(fd, buf, len, size) : read(fd, buf, len);
}

typedef ssize_t (*pread_chk_fn)(int, void *, size_t, off_t, size_t);
#define PREAD_CHK_LIKE(name, unchecked)                                       \
	EXPORT ssize_t name(                                                  \
		int fd, void *buf, size_t len, off_t off, size_t size)        \
	{                                                                     \
		static void *next;                                            \
		pread_chk_fn real = (pread_chk_fn)process_next(&next, #name); \
                                                                              \
		if (unlikely(fd_is_served(fd) && len <= size))                \
			return unchecked(fd, buf, len, off);                  \
		return real ? real(fd, buf, len, off, size)                   \
			    : unchecked(fd, buf, len, off);                   \
	}

PREAD_CHK_LIKE(__pread_chk, pread)
PREAD_CHK_LIKE(__pread64_chk, pread64)

/* ---- fstat ---- */

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

#define FSTAT_LIKE(name, params, ...)                                    \
	EXPORT int name params                                           \
	{                                                                \
		if (is_plain(fd))                                        \
			PROCESS_PASS_ON(int, name, params, __VA_ARGS__); \
		return process_return(stat_of(fd, (struct stat *)to));   \
	}

FSTAT_LIKE(fstat, (int fd, struct stat *to), fd, to)
FSTAT_LIKE(fstat64, (int fd, struct stat64 *to), fd, to)
/* Programs linked against glibc before 2.33. */
FSTAT_LIKE(__fxstat, (int version, int fd, void *to), version, fd, to)
FSTAT_LIKE(__fxstat64, (int version, int fd, void *to), version, fd, to)
