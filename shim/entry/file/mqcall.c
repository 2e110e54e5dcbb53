// SPDX-License-Identifier: MIT
/*
 * See mqcall.h. What the kernel's queue file cannot do is refused as there, with
 * the checks in the kernel's order (doc/kernel-semantics.md §7.10). That covers
 * what programs do; not splice, tee, vmsplice, vectored access at an offset,
 * fallocate, fadvise, sync_file_range, readahead and extended attributes, which
 * reach the FIFO and get its answer; nor, by number, fstatfs and changes of times.
 *
 * Calls on other descriptors go to the next definition.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>
#include <asm/ioctls.h>
#include "entry/file/mqcall.h"
#include "entry/file/mqfile.h"
#include "entry/file/mqpath.h"
#include "registry/guard.h"

/* And O_LARGEFILE, O_NOFOLLOW. */
#define HIDDEN_FLAGS (MQ_O_DIRECT | 0100000 | 0400000)
#define RW_HINT_MAX 5
#define SIGNAL_LAST 64

/* Access mode of any descriptor, or -EBADF. */
static long access_of(int fd)
{
	long flags;

	if (fd_is_mq(fd))
		return fd_access(fd);
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

/* ---- fcntl ---- */

/* Of a regular file: of no effect here, and not kept. */
static long rw_hint(struct caller *c, int cmd, void *user)
{
	u64 hint = 0;

	if (cmd == F_GET_RW_HINT)
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

	if (unlikely(fd_is_away(fd)))
		return process_home(entry_fcntl(fd, cmd, arg));
	switch (cmd) {
	case F_GETFL:
		ret = sys_call(__NR_fcntl, fd, cmd);
		if (ret >= 0 && mqfile_desc(fd, &d, &err))
			ret = (ret & ~(HIDDEN_FLAGS | MQ_O_ACCMODE)) |
			      d.access | mqfile_large(fd);
		return ret;
	case F_SETFL:
		if (arg & MQ_O_DIRECT)
			return -EINVAL;
		/* A queue's file knows no O_ASYNC; a FIFO would signal. */
		return sys_call(__NR_fcntl, fd, cmd,
			(arg & ~(long)O_ASYNC) |
				(e->info & FD_NAMELESS ? 0 : MQ_O_DIRECT));
	case F_GETSIG:
		return (long)e->sig;
	case F_SETSIG:
		/* The FIFO's says what it is open for: this one is the number's
		 * and its later copies', not the open file description's. */
		if ((u32)arg > SIGNAL_LAST)
			return -EINVAL;
		e->sig = (u32)arg;
		return 0;
	case F_GETPIPE_SZ:
	case F_SETPIPE_SZ:
		return -EBADF;
	case F_SETFD:
		c = arg & FD_CLOEXEC ? NULL : fd_table_owner();
		/* What is executed may poll it without us. */
		if (c && mqfile_desc(fd, &d, &err))
			mq_watch(c, &d, MQ_POLLED_IN | MQ_POLLED_OUT);
		break;
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
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
	case FIONREAD:
		if (mq_stat(c, &d, &st))
			return -EBADF;
		/* The kernel cuts it as well. */
		left = (int)(st.size - mqfile_lseek(fd, 0, SEEK_CUR));
		return guard_write(c, (void *)arg, &left, sizeof(left))
			       ? -EFAULT
			       : 0;
	case FIONCLEX:
		return entry_fcntl(fd, F_SETFD, 0);
	default:
		return FD_PASS;
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
	case __NR_statx:
		if (is_itself((char *)b, (int)c))
			return after_statx(
				sys_call(nr, fd, b, c, d, e), fd, (void *)e);
		return FD_PASS;
	case __NR_fchmod:
		return on_fchmod(fd, (u32)b);
	case __NR_fchown:
		return on_fchown(fd, (u32)b, (u32)c);
	case __NR_newfstatat:
		if (is_itself((char *)b, (int)d))
			return after_stat(
				sys_call(nr, fd, b, c, d), fd, (void *)c);
		return FD_PASS;
	default:
		return FD_PASS;
	}
}

long mqcall(long nr, long a, long b, long c, long d, long e, long f)
{
	int in_first = fd_is_mq((int)a);

	switch (nr) {
	case __NR_sendfile:
		if (in_first || fd_is_mq((int)b))
			return on_sendfile((int)a, (int)b, (void *)c, d);
		return FD_PASS;
	case __NR_copy_file_range:
		if (in_first || fd_is_mq((int)c))
			return on_copy_range((int)a, (void *)b, (int)c,
				(void *)d, (unsigned)f);
		return FD_PASS;
	case __NR_readlink:
		return mqpath_readlink((char *)a, (char *)b, (size_t)c);
	case __NR_readlinkat:
		return mqpath_readlink((char *)b, (char *)c, (size_t)d);
	default:
		return in_first ? on_fd(nr, (int)a, b, c, d, e) : FD_PASS;
	}
}

/* ---- the name ---- */

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	long ret = FD_PASS, arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, long);
	va_end(ap);
	if (unlikely(fd_is_mq(fd)))
		/* musl's is an int. */
		ret = on_ioctl(fd, (u32)request, arg);
	if (likely(ret == FD_PASS)) {
		PROCESS_PASS_ON(int, ioctl, (int, unsigned long, ...), fd,
			request, arg);
		ret = sys_call(__NR_ioctl, fd, request, arg);
	}
	return (int)process_return(ret);
}
