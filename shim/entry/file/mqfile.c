// SPDX-License-Identifier: MIT
/*
 * What a program may do with a queue's descriptor besides mq_*: to the kernel's
 * user it is a regular file of 80 bytes, from which the status line is read.
 *
 * The file offset belongs to the open file description, which dup and fork share;
 * a FIFO has none. That the offset is at the line's end is kept in the
 * description, with the access mode (F_SETSIG); any other offset only in the
 * entry of the number.
 *
 * Calls that only fail are in mqcall.c.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "entry/file/libchead.h"
#include "entry/file/mqfile.h"
#include "render/render.h"
#include "registry/guard.h"

struct caller *mqfile_desc(int fd, struct mq_desc *ret, int *ret_errno)
{
	struct caller *c = process_get(ret_errno);

	if (unlikely(c && fd_is_unknown(fd))) {
		*ret_errno = -fd_lookup(c, fd, ret);
		return *ret_errno ? NULL : c;
	}
	if (c)
		fd_desc(c, fd, fd_entry(fd), ret);
	return c;
}

static int may_read(const struct mq_desc *d)
{
	return d->access == MQ_O_RDONLY || d->access == MQ_O_RDWR;
}

static int may_write(const struct mq_desc *d)
{
	return d->access == MQ_O_WRONLY || d->access == MQ_O_RDWR;
}

/* ---- the offset ---- */

/* MQ_FIFO_* of the description. */
static u32 fifo_bits(int fd)
{
	long sig = sys_call(__NR_fcntl, fd, F_GETSIG);

	return sig >= MQ_FIFO_SIG && sig <= MQ_FIFO_SIG + MQ_FIFO_LAST
		       ? (u32)(sig - MQ_FIFO_SIG)
		       : 0;
}

long mqfile_large(int fd)
{
	return fifo_bits(fd) & MQ_FIFO_LARGE ? MQ_O_LARGEFILE : 0;
}

/* A line's length, and that of one with a process id of seven digits; none has
 * more (PID_MAX_LIMIT). */
#define LINE 60
#define LINE_LONG 61

/* Before the line's end the entry has the offset, as this process set it; at the
 * end another sharer of the description may have read, so the description tells. */
static s64 offset(int fd)
{
	s64 pos = (s64)fd_entry(fd)->pos, end;
	u32 bits = fifo_bits(fd);

	if (!(bits & MQ_FIFO_READ))
		return pos < LINE ? pos : 0;
	end = bits & MQ_FIFO_LONG ? LINE_LONG : LINE;
	return pos > end ? pos : end;
}

static void set_offset(const struct mq_desc *d, s64 pos)
{
	const u32 ends = MQ_FIFO_READ | MQ_FIFO_LONG;
	u32 bits = fifo_bits(d->fd), end = 0;

	if (pos >= LINE)
		end = MQ_FIFO_READ | (pos > LINE ? MQ_FIFO_LONG : 0);
	if (end != (bits & ends))
		sys_call(__NR_fcntl, d->fd, F_SETSIG,
			MQ_FIFO_SIG + d->access + end + (bits & MQ_FIFO_LARGE));
	fd_entry(d->fd)->pos = (u64)pos;
}

/* ---- reading and writing ---- */

/* The status line: its length, or -errno. */
static long line_of(
	struct caller *c, const struct mq_desc *d, char line[MQ_STATUS_SIZE])
{
	struct mq_status st;
	int err = mq_status(c, d, &st);

	return err ? err : (long)render_mq_line(&st, line);
}

static long copy_from(struct caller *c, const struct mq_desc *d,
	const char *line, size_t n, void *buf, size_t len)
{
	if (len > n)
		len = n;
	if (guard_target(c, buf, len))
		return -EFAULT;
	__builtin_memcpy(buf, line, len);
	mq_touch(c, d);
	return (long)len;
}

long mqfile_read(int fd, void *buf, size_t len)
{
	char line[MQ_STATUS_SIZE];
	struct mq_desc d;
	struct caller *c;
	int err = 0;
	long n, ret;
	s64 pos;

	if (unlikely(fd_is_away(fd)))
		return process_home(mqfile_read(fd, buf, len));
	c = mqfile_desc(fd, &d, &err);
	if (!c)
		return -err;
	if (!may_read(&d))
		return -EBADF;
	n = line_of(c, &d, line);
	if (n < 0)
		return n;
	pos = offset(fd);
	if (pos >= n)
		return 0;
	ret = copy_from(c, &d, line + pos, (size_t)(n - pos), buf, len);
	if (ret > 0)
		set_offset(&d, pos + ret);
	return ret;
}

long mqfile_snapshot(int fd)
{
	char line[MQ_STATUS_SIZE];
	long n = mqfile_pread(fd, line, sizeof(line), 0), to;

	entry_close(fd);
	if (n < 0)
		return n;
	to = sys_call(__NR_memfd_create, "mqueue", MFD_CLOEXEC);
	if (to < 0)
		return to;
	n = sys_call(__NR_pwrite64, to, line, n, 0);
	if (n >= 0)
		return to;
	sys_call(__NR_close, to);
	return n;
}

long mqfile_pread(int fd, void *buf, size_t len, s64 off)
{
	char line[MQ_STATUS_SIZE];
	struct mq_desc d;
	struct caller *c;
	int err = 0;
	long n;

	c = mqfile_desc(fd, &d, &err);
	if (!c)
		return -err;
	if (off < 0)
		return -EINVAL;
	if (!may_read(&d))
		return -EBADF;
	n = line_of(c, &d, line);
	if (n < 0)
		return n;
	if (off >= n)
		return 0;
	return copy_from(c, &d, line + off, (size_t)(n - off), buf, len);
}

long mqfile_write(int fd)
{
	struct mq_desc d;
	int err = 0;

	if (!mqfile_desc(fd, &d, &err))
		return -err;
	return may_write(&d) ? -EINVAL : -EBADF;
}

long mqfile_written(int fd)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);

	return c && mq_clean(c, &d) ? mqfile_write(fd) : 0;
}

static long seek_from(int whence, s64 pos, s64 off, s64 size)
{
	switch (whence) {
	case SEEK_SET:
		return off;
	case SEEK_CUR:
		return pos + off;
	case SEEK_END:
		return size + off;
	case SEEK_DATA:
		return (u64)off < (u64)size ? off : off < 0 ? -EINVAL : -ENXIO;
	case SEEK_HOLE:
		return off < size ? size : -ENXIO;
	default:
		return -EINVAL;
	}
}

long mqfile_lseek(int fd, s64 off, int whence)
{
	struct mq_stat st;
	struct mq_desc d;
	struct caller *c;
	int err = 0;
	long to;

	if (unlikely(fd_is_away(fd)))
		return process_home(mqfile_lseek(fd, off, whence));
	c = mqfile_desc(fd, &d, &err);
	if (!c)
		return -err;
	err = mq_stat(c, &d, &st);
	if (err)
		return err;
	to = seek_from(whence, offset(fd), off, st.size);
	if (to == -ENXIO)
		return to;
	if (to < 0)
		return -EINVAL;
	set_offset(&d, to);
	return to;
}

/* ---- stat ---- */

/* That file system keeps whole seconds. */
static struct timespec to_timespec(s64 ns)
{
	return (struct timespec){ns / 1000000000, 0};
}

static int queue_stat(int fd, struct mq_stat *ret)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c;

	if (unlikely(fd_is_away(fd)))
		return (int)process_home(queue_stat(fd, ret));
	c = mqfile_desc(fd, &d, &err);
	return c ? mq_stat(c, &d, ret) : -err;
}

void mqfile_fill(const struct mq_stat *st, struct stat *to)
{
	to->st_ino = st->ino;
	to->st_mode = S_IFREG | st->mode;
	to->st_uid = st->uid;
	to->st_gid = st->gid;
	to->st_nlink = st->nlink;
	to->st_rdev = 0;
	to->st_size = st->size;
	to->st_blksize = 4096;
	to->st_blocks = 0;
	to->st_atim = to_timespec(st->atime);
	to->st_mtim = to_timespec(st->mtime);
	to->st_ctim = to_timespec(st->ctime);
}

void mqfile_stat(int fd, struct stat *to)
{
	struct mq_stat st;

	if (!queue_stat(fd, &st))
		mqfile_fill(&st, to);
}

static struct statx_timestamp to_statx_time(s64 ns)
{
	return (struct statx_timestamp){.tv_sec = ns / 1000000000};
}

void mqfile_statx(int fd, struct statx *to)
{
	struct mq_stat st;

	if (queue_stat(fd, &st))
		return;
	to->stx_ino = st.ino;
	to->stx_mode = (u16)(S_IFREG | st.mode);
	to->stx_uid = st.uid;
	to->stx_gid = st.gid;
	to->stx_nlink = st.nlink;
	to->stx_size = (u64)st.size;
	to->stx_blksize = 4096;
	to->stx_blocks = 0;
	to->stx_atime = to_statx_time(st.atime);
	to->stx_mtime = to_statx_time(st.mtime);
	to->stx_ctime = to_statx_time(st.ctime);
}

/* ---- ftruncate ---- */

long mqfile_truncate(int fd, s64 size)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);

	if (!c)
		return -err;
	/* No file there is larger. */
	if (size < 0 || size > 0x7fffffff || !may_write(&d))
		return -EINVAL;
	return mq_set_size(c, &d, size);
}

/* ---- times ---- */

#define TIME_LAST (MQ_TIME_OMIT / 1000000000 - 1)

static int wanted_time(const struct timespec *t, s64 *ret)
{
	s64 sec = t->tv_sec;

	if (t->tv_nsec == UTIME_NOW)
		*ret = MQ_TIME_NOW;
	else if (t->tv_nsec == UTIME_OMIT)
		*ret = MQ_TIME_OMIT;
	else if ((u64)t->tv_nsec >= 1000000000)
		return -EINVAL;
	else /* the registry has 64 bits of ns: to 2116 */
		*ret = (sec > TIME_LAST		  ? TIME_LAST
			       : sec < -TIME_LAST ? -TIME_LAST
						  : sec) *
		       1000000000;
	return 0;
}

int mqfile_times(struct caller *c, const void *user, s64 ret[2])
{
	struct timespec t[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
	int err = user && guard_read(c, t, user, sizeof(t)) ? -EFAULT : 0;

	if (!err)
		err = wanted_time(&t[0], &ret[0]);
	return err ? err : wanted_time(&t[1], &ret[1]);
}

long mqfile_utimens(int fd, const void *times)
{
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);
	s64 t[2];

	if (!c)
		return -err;
	err = mqfile_times(c, times, t);
	return err ? err : mq_set_times(c, &d, t[0], t[1]);
}

/* ---- statfs ---- */

#define MQUEUE_MAGIC 0x19800202
#define VALID_FLAGS 0x20

void mqfile_statfs(struct statfs *to)
{
	__builtin_memset(to, 0, sizeof(*to));
	to->f_type = MQUEUE_MAGIC;
	to->f_bsize = to->f_frsize = 4096;
	to->f_namelen = 255;
	to->f_flags = VALID_FLAGS;
}

/* ---- pieces and locks ---- */

/* Pieces are filled in turn, until one is not; off < 0: from the offset of the
 * description. */
static long read_pieces(int fd, const struct iovec *iov, int n, s64 off)
{
	struct iovec at;
	long ret, total = 0;
	struct mq_desc d;
	int i, err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);

	if (!c)
		return -err;
	if (!may_read(&d))
		return -EBADF;
	if (n < 0 || n > 1024)
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (guard_read(c, &at, iov + i, sizeof(at)))
			return total ? total : -EFAULT;
		ret = off < 0 ? mqfile_read(fd, at.iov_base, at.iov_len)
			      : mqfile_pread(fd, at.iov_base, at.iov_len,
					off + total);
		if (ret < 0)
			return total ? total : ret;
		total += ret;
		if ((size_t)ret < at.iov_len)
			break;
	}
	return total;
}

long mqfile_readv(int fd, const void *iov, int n)
{
	return read_pieces(fd, iov, n, -1);
}

long mqfile_may_lock(int fd, const void *flock)
{
	struct flock lock;
	struct mq_desc d;
	int err = 0;
	struct caller *c = mqfile_desc(fd, &d, &err);

	if (!c)
		return -err;
	if (guard_read(c, &lock, flock, sizeof(lock)))
		return -EFAULT;
	if (lock.l_type == F_RDLCK && !may_read(&d))
		return -EBADF;
	return lock.l_type == F_WRLCK && !may_write(&d) ? -EBADF : 0;
}

long mqfile_map_error(int fd, int prot, int flags)
{
	struct mq_desc d;
	int err = 0;

	if (unlikely(fd_is_away(fd)))
		return process_home(mqfile_map_error(fd, prot, flags));
	if (!mqfile_desc(fd, &d, &err))
		return -err;
	if (!may_read(&d) ||
		((flags & MAP_SHARED) && (prot & PROT_WRITE) && !may_write(&d)))
		return -EACCES;
	return -ENODEV;
}
