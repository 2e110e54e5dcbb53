// SPDX-License-Identifier: MIT
/*
 * See mqcall.h. What a queue's file cannot do it refuses as the kernel's does,
 * with the checks in the kernel's order (doc/kernel-semantics.md §7.10). Only
 * what programs do: a splice, tee or vmsplice, a vectored access at an offset,
 * an fallocate, fadvise, sync_file_range or readahead, an extended attribute,
 * a file system's data and a change of times meet the FIFO, which answers in
 * its own way.
 *
 * What is nobody's business here goes to the next definition.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include "entry/file/fdcall.h"
#include "entry/file/mqcall.h"
#include "entry/file/mqfile.h"
#include "entry/file/mqpath.h"
#include "registry/guard.h"

#define NR_COPY_FILE_RANGE 326
#define NR_STATX 332
#define IOCTL_FIONREAD 0x541b
#define IOCTL_FIONCLEX 0x5450

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
static int is_itself(const char *path, int flags)
{
	struct caller *c;
	char first;
	int err;

	if (!path)
		return (flags & AT_EMPTY_PATH) != 0;
	c = process_get(&err);
	return (flags & AT_EMPTY_PATH) && c &&
	       !guard_read(c, &first, path, 1) && !first;
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

static long on_fd(long nr, int fd, long b, long c, long d, long e)
{
	switch (nr) {
	case __NR_read:
		return mqfile_read(fd, (void *)b, c);
	case __NR_pread64:
		return mqfile_pread(fd, (void *)b, c, d);
	case __NR_readv:
		return mqfile_readv(fd, (void *)b, (int)c);
	case __NR_write:
	case __NR_writev:
		return mqfile_write(fd);
	case __NR_pwrite64:
		return on_write_at(fd, d);
	case __NR_lseek:
		return mqfile_lseek(fd, b, (int)c);
	case __NR_ftruncate:
		return mqfile_truncate(fd, b);
	case __NR_ioctl:
		return on_ioctl(fd, (u32)b, c);
	case __NR_fstat:
		return after_stat(sys_call(nr, fd, b), fd, (void *)b);
	case NR_STATX:
		if (is_itself((char *)b, (int)c))
			return after_statx(
				sys_call(nr, fd, b, c, d, e), fd, (void *)e);
		return MQCALL_PASS;
	case __NR_fchmod:
		return on_fchmod(fd, (u32)b);
	case __NR_fchown:
		return on_fchown(fd, (u32)b, (u32)c);
	case __NR_newfstatat:
		if (is_itself((char *)b, (int)d))
			return after_stat(
				sys_call(nr, fd, b, c, d), fd, (void *)c);
		return MQCALL_PASS;
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
		return in_first ? on_fd(nr, (int)a, b, c, d, e) : MQCALL_PASS;
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

NAME(ssize_t, sendfile, __NR_sendfile,
	(int out, int in, off_t *off, size_t len), out, in, off, len)
NAME(ssize_t, sendfile64, __NR_sendfile,
	(int out, int in, off64_t *off, size_t len), out, in, off, len)
NAME(ssize_t, copy_file_range, NR_COPY_FILE_RANGE,
	(int in, off64_t *in_off, int out, off64_t *out_off, size_t len,
		unsigned flags),
	in, in_off, out, out_off, len, flags)
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
