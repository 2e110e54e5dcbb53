// SPDX-License-Identifier: MIT
/*
 * See mqcall.h. What a queue's file cannot do it refuses as the kernel's does,
 * with the checks in the kernel's order (doc/kernel-semantics.md §7.10); above
 * all nothing may reach the FIFO, whose bytes are what poll(2) sees.
 *
 * What is nobody's business here goes to the next definition.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include "entry/fdcall.h"
#include "entry/mqcall.h"
#include "entry/mqfile.h"
#include "entry/mqpath.h"
#include "registry/guard.h"

#define NR_PREADV2 327
#define NR_PWRITEV2 328
#define NR_COPY_FILE_RANGE 326
#define NR_STATX 332
#define RWF_HIPRI_FLAG 1
#define SPLICE_FLAGS 15
#define IOCTL_FIONREAD 0x541b
#define IOCTL_FIOASYNC 0x5452
#define IOCTL_FIONCLEX 0x5450
#define IOCTL_FIOQSIZE 0x5460
#define IOCTL_FIBMAP 1
#define MQ_MAGIC 0x19800202
#define SEC_MOST 9223372036l /* of which the ns fit into 64 bits */
#define NSEC_NOW ((1l << 30) - 1)
#define NSEC_OMIT ((1l << 30) - 2)

/* Access mode of any descriptor, or -EBADF. */
static long access_of(int fd)
{
	long flags;

	if (fd_is_mq(fd))
		return fd_entry(fd)->info & FD_ACCESS;
	flags = sys_call(__NR_fcntl, fd, F_GETFL);
	return flags < 0 ? flags : flags & O_ACCMODE;
}

static int reads(long access)
{
	return access == O_RDONLY || access == O_RDWR;
}

static int writes(long access)
{
	return access == O_WRONLY || access == O_RDWR;
}

static int is_regular(int fd)
{
	struct stat st;

	return fd_is_mq(fd) ||
	       (!sys_call(__NR_fstat, fd, &st) && S_ISREG(st.st_mode));
}

/* What a caller's pointer to an offset says; NULL is none. 0 or -EFAULT. */
static long read_offset(const void *user, s64 *ret)
{
	int err;
	struct caller *c = user ? process_get(&err) : NULL;

	return c && guard_read(c, ret, user, sizeof(*ret)) ? -EFAULT : 0;
}

static int is_pipe(int fd)
{
	struct stat st;

	return !fd_is_mq(fd) && !sys_call(__NR_fstat, fd, &st) &&
	       S_ISFIFO(st.st_mode);
}

/* ---- moving bytes without looking at them ---- */

/* Nothing is left to be read at pos. */
static int at_end(int fd, s64 pos)
{
	struct stat st;

	return !sys_call(__NR_fstat, fd, &st) && S_ISREG(st.st_mode) &&
	       pos >= st.st_size;
}

static long on_sendfile(int out, int in, const void *off, size_t len)
{
	long from = access_of(in), to = access_of(out);
	s64 pos = 0;

	if (read_offset(off, &pos))
		return -EFAULT;
	if (from < 0 || !reads(from))
		return -EBADF;
	if (pos < 0)
		return -EINVAL;
	if (to < 0 || !writes(to))
		return -EBADF;
	if (!len)
		return 0;
	if (!off)
		pos = sys_call(__NR_lseek, in, 0, SEEK_CUR);
	return !fd_is_mq(in) && at_end(in, pos) ? 0 : -EINVAL;
}

static long on_splice(int in, const void *in_off, int out, const void *out_off,
	size_t len, unsigned flags)
{
	long from, to;
	s64 pos;

	if (!len)
		return 0;
	if (flags & ~(unsigned)SPLICE_FLAGS)
		return -EINVAL;
	from = access_of(in);
	to = access_of(out);
	if (from < 0 || to < 0)
		return -EBADF;
	if ((in_off && is_pipe(in)) || (out_off && is_pipe(out)))
		return -ESPIPE;
	if (read_offset(out_off, &pos) || read_offset(in_off, &pos))
		return -EFAULT;
	return reads(from) && writes(to) ? -EINVAL : -EBADF;
}

static long on_tee(int in, int out, size_t len, unsigned flags)
{
	if (flags & ~(unsigned)SPLICE_FLAGS)
		return -EINVAL;
	if (!len)
		return 0;
	return access_of(in) < 0 || access_of(out) < 0 ? -EBADF : -EINVAL;
}

static long on_vmsplice(unsigned long n, unsigned flags)
{
	if (flags & ~(unsigned)SPLICE_FLAGS)
		return -EINVAL;
	return n ? -EBADF : 0;
}

static long on_copy_range(int in, const void *in_off, int out,
	const void *out_off, unsigned flags)
{
	long from = access_of(in), to = access_of(out);
	s64 pos;

	if (from < 0 || to < 0)
		return -EBADF;
	if (read_offset(in_off, &pos) || read_offset(out_off, &pos))
		return -EFAULT;
	if (flags || !is_regular(in) || !is_regular(out))
		return -EINVAL;
	if (!reads(from) || !writes(to))
		return -EBADF;
	return fd_is_mq(in) && fd_is_mq(out) ? -EINVAL : -EXDEV;
}

/* ---- sizes ---- */

static long on_fallocate(int fd, int mode, s64 off, s64 len)
{
	if (off < 0 || len <= 0)
		return -EINVAL;
	if (mode & ~0x7f)
		return -EOPNOTSUPP;
	if (!writes(access_of(fd)))
		return -EBADF;
	if (off > 0x7fffffff || len > 0x7fffffff || off + len > 0x7fffffff)
		return -EFBIG;
	return -EOPNOTSUPP;
}

static long on_advise(s64 len, int advice)
{
	return len < 0 || advice < 0 || advice > 5 ? -EINVAL : 0;
}

static long on_sync_range(s64 off, s64 len, unsigned flags)
{
	return (flags & ~7u) || off < 0 || len < 0 ? -EINVAL : 0;
}

static long on_preadv2(int fd, const void *iov, int n, s64 off, int flags)
{
	if (off == -1)
		return flags & ~RWF_HIPRI_FLAG ? -EOPNOTSUPP
					       : mqfile_readv(fd, iov, n);
	if (off < 0)
		return -EINVAL;
	return flags & ~RWF_HIPRI_FLAG ? -EOPNOTSUPP
				       : mqfile_preadv(fd, iov, n, off);
}

static long on_write_at(int fd, s64 off)
{
	return off < 0 ? -EINVAL : mqfile_write(fd);
}

/* ---- what is told ---- */

static long on_ioctl(int fd, u32 request, long arg)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);
	struct mq_stat st;
	s64 size = 0;
	int left;

	if (!c)
		return -err;
	switch (request) {
	case IOCTL_FIONREAD:
		if (mq_stat(c, &d, &st))
			return -EBADF;
		/* The kernel cuts it as well. */
		left = (int)(st.size - mqfile_lseek(fd, 0, SEEK_CUR));
		return guard_write(c, (void *)arg, &left, sizeof(left))
			       ? -EFAULT
			       : 0;
	case IOCTL_FIOASYNC:
		if (guard_read(c, &left, (void *)arg, sizeof(left)))
			return -EFAULT;
		return left ? -ENOTTY : 0;
	case IOCTL_FIOQSIZE:
		return guard_write(c, (void *)arg, &size, sizeof(size))
			       ? -EFAULT
			       : 0;
	case IOCTL_FIBMAP:
		return -EINVAL;
	case IOCTL_FIONCLEX:
		return entry_fcntl(fd, F_SETFD, 0);
	default:
		return MQCALL_PASS;
	}
}

static long on_fchmod(int fd, u32 mode)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);

	return c ? mq_chmod(c, &d, mode) : -err;
}

static long on_fchown(int fd, u32 uid, u32 gid)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);

	return c ? mq_chown(c, &d, uid, gid) : -err;
}

/* The path is empty, or there is none: the descriptor itself is meant. */
static int is_itself(const char *path, int flags, int null_will_do)
{
	struct caller *c;
	char first;
	int err;

	if (!path)
		return null_will_do || (flags & AT_EMPTY_PATH);
	c = process_get(&err);
	return (flags & AT_EMPTY_PATH) && c &&
	       !guard_read(c, &first, path, 1) && !first;
}

/* 0 with *ret in ns, or -EINVAL. Beyond the year 2262 or before 1677 it is
 * then. */
static int read_time(const struct timespec *t, s64 *ret)
{
	if (t->tv_nsec == NSEC_NOW)
		*ret = MQ_TIME_NOW;
	else if (t->tv_nsec == NSEC_OMIT)
		*ret = MQ_TIME_OMIT;
	else if (t->tv_nsec < 0 || t->tv_nsec > 999999999)
		return -EINVAL;
	else if (__builtin_mul_overflow(t->tv_sec, 1000000000L, ret))
		*ret = t->tv_sec < 0 ? -SEC_MOST * 1000000000
				     : SEC_MOST * 1000000000;
	return 0;
}

static long on_times(int fd, const void *user)
{
	struct timespec t[2] = {{0, NSEC_NOW}, {0, NSEC_NOW}};
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);
	s64 atime, mtime;

	if (!c)
		return -err;
	if (user && guard_read(c, t, user, sizeof(t)))
		return -EFAULT;
	if (read_time(&t[0], &atime) || read_time(&t[1], &mtime))
		return -EINVAL;
	return mq_set_times(c, &d, atime, mtime);
}

static const struct statfs mq_statfs = {.f_type = MQ_MAGIC,
	.f_bsize = 4096,
	.f_namelen = 255,
	.f_frsize = 4096};

static long on_statfs(int fd, void *user)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);

	if (!c)
		return -err;
	return guard_write(c, user, &mq_statfs, sizeof(mq_statfs)) ? -EFAULT
								   : 0;
}

static long after_stat(long ret, int fd, void *to)
{
	if (!ret)
		mqfile_stat(fd, to);
	return ret;
}

static long after_statx(long ret, int fd, void *to)
{
	if (!ret)
		mqfile_statx(fd, to);
	return ret;
}

/* ---- by number ---- */

static long on_fd(long nr, int fd, long b, long c, long d, long e, long f)
{
	switch (nr) {
	case __NR_read:
		return mqfile_read(fd, (void *)b, c);
	case __NR_pread64:
		return mqfile_pread(fd, (void *)b, c, d);
	case __NR_readv:
		return mqfile_readv(fd, (void *)b, (int)c);
	case __NR_preadv:
		return mqfile_preadv(fd, (void *)b, (int)c, d);
	case NR_PREADV2:
		return on_preadv2(fd, (void *)b, (int)c, d, (int)f);
	case __NR_write:
	case __NR_writev:
		return mqfile_write(fd);
	case __NR_pwrite64:
	case __NR_pwritev:
		return on_write_at(fd, d);
	case NR_PWRITEV2:
		return on_write_at(fd, d == -1 ? 0 : d);
	case __NR_lseek:
		return mqfile_lseek(fd, b, (int)c);
	case __NR_ftruncate:
		return mqfile_truncate(fd, b);
	case __NR_fallocate:
		return on_fallocate(fd, (int)b, c, d);
	case __NR_fadvise64:
		return on_advise(c, (int)d);
	case __NR_readahead:
		return reads(access_of(fd)) ? 0 : -EBADF;
	case __NR_sync_file_range:
		return on_sync_range(b, c, (unsigned)d);
	case __NR_vmsplice:
		return on_vmsplice((unsigned long)c, (unsigned)d);
	case __NR_ioctl:
		return on_ioctl(fd, (u32)b, c);
	case __NR_fstat:
		return after_stat(sys_call(nr, fd, b), fd, (void *)b);
	case NR_STATX:
		if (is_itself((char *)b, (int)c, 0))
			return after_statx(
				sys_call(nr, fd, b, c, d, e), fd, (void *)e);
		return MQCALL_PASS;
	case __NR_fchmod:
		return on_fchmod(fd, (u32)b);
	case __NR_fchown:
		return on_fchown(fd, (u32)b, (u32)c);
	case __NR_fstatfs:
		return on_statfs(fd, (void *)b);
	case __NR_fgetxattr:
	case __NR_fsetxattr:
	case __NR_fremovexattr:
		return -EOPNOTSUPP;
	case __NR_flistxattr:
		return 0;
	case __NR_newfstatat:
		if (is_itself((char *)b, (int)d, 0))
			return after_stat(
				sys_call(nr, fd, b, c, d), fd, (void *)c);
		return MQCALL_PASS;
	case __NR_fchownat:
		return is_itself((char *)b, (int)e, 0)
			       ? on_fchown(fd, (u32)c, (u32)d)
			       : MQCALL_PASS;
	case __NR_utimensat:
		return is_itself((char *)b, (int)d, 1) ? on_times(fd, (void *)c)
						       : MQCALL_PASS;
	default:
		return MQCALL_PASS;
	}
}

long mqcall(long nr, long a, long b, long c, long d, long e, long f)
{
	int in_first = fd_is_mq((int)a);

	switch (nr) {
	case __NR_sendfile:
		if (in_first || fd_is_mq((int)b))
			return on_sendfile((int)a, (int)b, (void *)c, d);
		return MQCALL_PASS;
	case __NR_splice:
		if (in_first || fd_is_mq((int)c))
			return on_splice((int)a, (void *)b, (int)c, (void *)d,
				e, (unsigned)f);
		return MQCALL_PASS;
	case __NR_tee:
		if (in_first || fd_is_mq((int)b))
			return on_tee((int)a, (int)b, c, (unsigned)d);
		return MQCALL_PASS;
	case NR_COPY_FILE_RANGE:
		if (in_first || fd_is_mq((int)c))
			return on_copy_range((int)a, (void *)b, (int)c,
				(void *)d, (unsigned)f);
		return MQCALL_PASS;
	case __NR_readlink:
		return mqpath_readlink(
			(char *)a, (char *)b, c, sys_call(nr, a, b, c));
	case __NR_readlinkat:
		return mqpath_readlink(
			(char *)b, (char *)c, d, sys_call(nr, a, b, c, d));
	default:
		return in_first ? on_fd(nr, (int)a, b, c, d, e, f)
				: MQCALL_PASS;
	}
}

/* ---- the names ---- */

#define ARGS6_(a, b, c, d, e, f, ...) \
	(long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)
#define ARGS6(...) ARGS6_(__VA_ARGS__, 0, 0, 0, 0, 0, 0)

/* Its own answer, or what libc or else the kernel says. */
#define NAME(type, name, nr, params, ...)                               \
	EXPORT type name params                                         \
	{                                                               \
		static void *next;                                      \
		type(*real) params;                                     \
		long ret = MQCALL_PASS;                                 \
                                                                        \
		if (unlikely(fd_used))                                  \
			ret = mqcall(nr, ARGS6(__VA_ARGS__));           \
		if (unlikely(ret != MQCALL_PASS))                       \
			return (type)process_return(ret);               \
		real = (type(*) params)process_next(&next, #name);      \
		if (likely(real != NULL))                               \
			return real(__VA_ARGS__);                       \
		return (type)process_return(sys_call(nr, __VA_ARGS__)); \
	}

typedef const struct iovec *pieces;

NAME(ssize_t, preadv, __NR_preadv, (int fd, pieces iov, int n, off_t off), fd,
	iov, n, off)
NAME(ssize_t, preadv64, __NR_preadv, (int fd, pieces iov, int n, off64_t off),
	fd, iov, n, off)
NAME(ssize_t, pwritev, __NR_pwritev, (int fd, pieces iov, int n, off_t off), fd,
	iov, n, off)
NAME(ssize_t, pwritev64, __NR_pwritev, (int fd, pieces iov, int n, off64_t off),
	fd, iov, n, off)
NAME(int, fallocate, __NR_fallocate, (int fd, int mode, off_t off, off_t len),
	fd, mode, off, len)
NAME(int, fallocate64, __NR_fallocate,
	(int fd, int mode, off64_t off, off64_t len), fd, mode, off, len)
NAME(ssize_t, readahead, __NR_readahead, (int fd, off64_t off, size_t n), fd,
	off, n)
NAME(int, sync_file_range, __NR_sync_file_range,
	(int fd, off64_t off, off64_t len, unsigned flags), fd, off, len, flags)
NAME(ssize_t, sendfile, __NR_sendfile,
	(int out, int in, off_t *off, size_t len), out, in, off, len)
NAME(ssize_t, sendfile64, __NR_sendfile,
	(int out, int in, off64_t *off, size_t len), out, in, off, len)
NAME(ssize_t, splice, __NR_splice,
	(int in, off64_t *in_off, int out, off64_t *out_off, size_t len,
		unsigned flags),
	in, in_off, out, out_off, len, flags)
NAME(ssize_t, tee, __NR_tee, (int in, int out, size_t len, unsigned flags), in,
	out, len, flags)
NAME(ssize_t, vmsplice, __NR_vmsplice,
	(int fd, pieces iov, size_t n, unsigned flags), fd, iov, n, flags)
NAME(ssize_t, copy_file_range, NR_COPY_FILE_RANGE,
	(int in, off64_t *in_off, int out, off64_t *out_off, size_t len,
		unsigned flags),
	in, in_off, out, out_off, len, flags)
NAME(int, fchownat, __NR_fchownat,
	(int fd, const char *path, uid_t uid, gid_t gid, int flags), fd, path,
	uid, gid, flags)
NAME(int, utimensat, __NR_utimensat,
	(int fd, const char *path, const struct timespec times[2], int flags),
	fd, path, times, flags)
NAME(int, fstatfs, __NR_fstatfs, (int fd, struct statfs *to), fd, to)
NAME(int, fstatfs64, __NR_fstatfs, (int fd, struct statfs64 *to), fd, to)
NAME(ssize_t, fgetxattr, __NR_fgetxattr,
	(int fd, const char *name, void *value, size_t size), fd, name, value,
	size)
NAME(int, fsetxattr, __NR_fsetxattr,
	(int fd, const char *name, const void *value, size_t size, int flags),
	fd, name, value, size, flags)
NAME(int, fremovexattr, __NR_fremovexattr, (int fd, const char *name), fd, name)
NAME(ssize_t, flistxattr, __NR_flistxattr, (int fd, char *list, size_t size),
	fd, list, size)

/* By number the offset takes two arguments. */
#define NAME_2(name, nr, off_type)                                         \
	EXPORT ssize_t name(                                               \
		int fd, pieces iov, int n, off_type off, int flags)        \
	{                                                                  \
		static void *next;                                         \
		ssize_t (*real)(int, pieces, int, off_type, int);          \
		long ret = MQCALL_PASS;                                    \
                                                                           \
		if (unlikely(fd_is_mq(fd)))                                \
			ret = mqcall(nr, fd, (long)iov, n, off, 0, flags); \
		if (unlikely(ret != MQCALL_PASS))                          \
			return process_return(ret);                        \
		real = (ssize_t(*)(int, pieces, int, off_type,             \
			int))process_next(&next, #name);                   \
		if (likely(real != NULL))                                  \
			return real(fd, iov, n, off, flags);               \
		return process_return(                                     \
			sys_call(nr, fd, iov, n, off, 0, flags));          \
	}

NAME_2(preadv2, NR_PREADV2, off_t)
NAME_2(preadv64v2, NR_PREADV2, off64_t)
NAME_2(pwritev2, NR_PWRITEV2, off_t)
NAME_2(pwritev64v2, NR_PWRITEV2, off64_t)

/* These return the error. */
static int advise(int fd, s64 off, s64 len, int advice)
{
	if (unlikely(fd_is_mq(fd)))
		return (int)-on_advise(len, advice);
	return (int)-sys_call(__NR_fadvise64, fd, off, len, advice);
}

EXPORT int posix_fadvise(int fd, off_t off, off_t len, int advice)
{
	return advise(fd, off, len, advice);
}

EXPORT int posix_fadvise64(int fd, off64_t off, off64_t len, int advice)
{
	return advise(fd, off, len, advice);
}

/* glibc writes a zero to each block up to the new end; musl has no such way. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

static int allocate(int fd, s64 off, s64 len)
{
	struct mq_stat st;
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);
	long refused = on_fallocate(fd, 0, off, len);

	if (refused != -EOPNOTSUPP || !gnu_get_libc_version)
		return (int)-refused;
	if (!c)
		return err;
	if (mq_stat(c, &d, &st))
		return EBADF;
	return off + len > st.size ? EINVAL : 0;
}

#define ALLOCATE_LIKE(name, off_type)                                  \
	EXPORT int name(int fd, off_type off, off_type len)            \
	{                                                              \
		static void *next;                                     \
		int (*real)(int, off_type, off_type);                  \
                                                                       \
		if (unlikely(fd_is_mq(fd)))                            \
			return allocate(fd, off, len);                 \
		real = (int (*)(int, off_type, off_type))process_next( \
			&next, #name);                                 \
		return real ? real(fd, off, len) : ENOSYS;             \
	}

ALLOCATE_LIKE(posix_fallocate, off_t)
ALLOCATE_LIKE(posix_fallocate64, off64_t)

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	long ret = MQCALL_PASS, arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);
	if (unlikely(fd_is_mq(fd)))
		/* musl's is an int. */
		ret = on_ioctl(fd, (u32)request, arg);
	if (likely(ret == MQCALL_PASS)) {
		PROCESS_PASS_ON(int, ioctl, (int, unsigned long, ...), fd,
			request, arg);
		ret = sys_call(__NR_ioctl, fd, request, arg);
	}
	return (int)process_return(ret);
}

EXPORT int futimens(int fd, const struct timespec times[2])
{
	if (likely(!fd_is_mq(fd)))
		PROCESS_PASS_ON(int, futimens, (int, const struct timespec[2]),
			fd, times);
	return (int)process_return(
		unlikely(fd_is_mq(fd))
			? on_times(fd, times)
			: sys_call(__NR_utimensat, fd, NULL, times, 0));
}

EXPORT int futimes(int fd, const struct timeval user[2])
{
	struct timespec times[2];
	int i;

	for (i = 0; user && i < 2; i++) {
		if (user[i].tv_usec < 0 || user[i].tv_usec > 999999)
			return (int)process_return(-EINVAL);
		times[i].tv_sec = user[i].tv_sec;
		times[i].tv_nsec = user[i].tv_usec * 1000;
	}
	return futimens(fd, user ? times : NULL);
}

#define STATVFS_LIKE(name, type)                                              \
	EXPORT int name(int fd, type *to)                                     \
	{                                                                     \
		static void *next;                                            \
		int (*real)(int, type *) =                                    \
			(int (*)(int, type *))process_next(&next, #name);     \
		int ret = real ? real(fd, to) : (int)process_return(-ENOSYS); \
                                                                              \
		if (unlikely(!ret && fd_is_mq(fd)))                           \
			*to = (type){.f_bsize = 4096,                         \
				.f_frsize = 4096,                             \
				.f_namemax = 255};                            \
		return ret;                                                   \
	}

STATVFS_LIKE(fstatvfs, struct statvfs)
STATVFS_LIKE(fstatvfs64, struct statvfs64)
