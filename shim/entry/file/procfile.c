// SPDX-License-Identifier: MIT
/*
 * The calls on descriptors of the kernel's files about IPC; see procfs.c.
 *
 * The file offset is that of the descriptor itself, shared by dup and fork.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "entry/file/procfile.h"
#include "entry/file/proctext.h"
#include "object/controlfile.h"
#include "registry/guard.h"

/* The kernel looks no further in one write. */
#define TEXT_MAX 4095
#define IOV_MOST 1024

struct proc {
	struct caller *c;
	struct fd_entry *e;
	int which;
	u32 access;
	u64 size;
};

/* 0 with *ret; FD_PASS if the number is another file by now; -errno. */
static long proc_get(int fd, struct proc *ret)
{
	struct fd_entry *e = fd_entry(fd);
	u64 ident = e->ident;
	struct stat st;
	int err = 0;

	if (sys_call(__NR_fstat, fd, &st) || !S_ISREG(st.st_mode) ||
		(u32)st.st_ino != ident >> 32) {
		fd_forget_proc(fd);
		return FD_PASS;
	}
	ret->c = process_get(&err);
	ret->e = e;
	ret->which = proc_which(ident);
	ret->access = e->info & FD_ACCESS;
	ret->size = (u64)st.st_size;
	return ret->c ? 0 : -err;
}

/* ---- reading ---- */

static int may_read(const struct proc *p)
{
	return p->access == O_RDONLY || p->access == O_RDWR;
}

static long read_control(const struct proc *p, void *buf, size_t len, s64 off)
{
	char text[SYSCTL_TEXT_MAX];
	s64 n = sysctl_read(p->c, proc_sysctl(p->which), off, text, len);

	if (n <= 0)
		return n;
	if (guard_target(p->c, buf, (size_t)n))
		return -EFAULT;
	__builtin_memcpy(buf, text, (size_t)n);
	return n;
}

/* Of a sysvipc file, before the kernel reads the memfd there: made anew by a
 * read at the beginning, added to by one at the end. */
static void bring_up(const struct proc *p, int fd, s64 off)
{
	if (!off && p->e->pos)
		proc_snapshot(p->c, fd, p->which);
	else if (off > 0 && (u64)off >= p->size)
		proc_extend(p->c, fd, p->which, p->size);
}

long procfs_read(int fd, void *buf, size_t len)
{
	struct proc p;
	long err = proc_get(fd, &p);
	s64 off, n;

	if (err)
		return err;
	if (!may_read(&p))
		return -EBADF;
	off = sys_call(__NR_lseek, fd, 0, SEEK_CUR);
	if (p.which < PROC_SYSVIPC) {
		bring_up(&p, fd, off);
		p.e->pos = 1;
		return FD_PASS;
	}
	n = read_control(&p, buf, len, off);
	if (n > 0)
		sys_call(__NR_lseek, fd, n, SEEK_CUR);
	return n;
}

long procfs_pread(int fd, void *buf, size_t len, s64 off)
{
	struct proc p;
	long err = proc_get(fd, &p);

	if (err)
		return err;
	if (off < 0)
		return -EINVAL;
	if (!may_read(&p))
		return -EBADF;
	if (p.which >= PROC_SYSVIPC)
		return read_control(&p, buf, len, off);
	bring_up(&p, fd, off);
	p.e->pos = 1;
	return FD_PASS;
}

/* Bytes that the pieces have together, or -errno. */
static s64 pieces_size(struct caller *c, const struct iovec *iov, int n)
{
	s64 total = 0;
	int k;

	if (n < 0 || n > IOV_MOST)
		return -EINVAL;
	if (guard_source(c, iov, (size_t)n * sizeof(*iov)))
		return -EFAULT;
	for (k = 0; k < n; k++)
		if ((ssize_t)iov[k].iov_len < 0 ||
			__builtin_add_overflow(
				total, (s64)iov[k].iov_len, &total))
			return -EINVAL;
	return total;
}

/* One read, whose text is dealt out to the pieces. */
static s64 read_pieces(
	const struct proc *p, const struct iovec *iov, int n, s64 off)
{
	s64 total = pieces_size(p->c, iov, n), done = 0;
	char text[SYSCTL_TEXT_MAX];
	size_t part;
	int k;

	if (total < 0)
		return total;
	total = sysctl_read(p->c, proc_sysctl(p->which), off, text,
		(u64)total < sizeof(text) ? (u64)total : sizeof(text));
	for (k = 0; k < n && done < total; k++) {
		part = iov[k].iov_len;
		if (part > (size_t)(total - done))
			part = (size_t)(total - done);
		if (guard_target(p->c, iov[k].iov_base, part))
			return done ? done : -EFAULT;
		__builtin_memcpy(iov[k].iov_base, text + done, part);
		done += (s64)part;
	}
	return total < 0 ? total : done;
}

long procfs_readv(int fd, const void *iov, int n)
{
	struct proc p;
	long err = proc_get(fd, &p);
	s64 off, got;

	if (err)
		return err;
	if (p.which < PROC_SYSVIPC)
		return procfs_read(fd, NULL, 0);
	if (!may_read(&p))
		return -EBADF;
	off = sys_call(__NR_lseek, fd, 0, SEEK_CUR);
	got = read_pieces(&p, iov, n, off);
	if (got > 0)
		sys_call(__NR_lseek, fd, got, SEEK_CUR);
	return got;
}

/* The kernel's files have no size, and sysvipc ones know of no end. */
long procfs_lseek(int fd, s64 off, int whence)
{
	struct proc p;
	long err;

	if (whence == SEEK_SET || whence == SEEK_CUR)
		return FD_PASS;
	err = proc_get(fd, &p);
	if (err)
		return err;
	if (p.which < PROC_SYSVIPC)
		return -EINVAL;
	switch (whence) {
	case SEEK_END:
		return off < 0 ? -EINVAL
			       : sys_call(__NR_lseek, fd, off, SEEK_SET);
	case SEEK_DATA:
		return off < 0 ? -EINVAL : -ENXIO;
	case SEEK_HOLE:
		return off < 0 ? sys_call(__NR_lseek, fd, 0, SEEK_SET) : -ENXIO;
	default:
		return -EINVAL;
	}
}

/* ---- writing ---- */

static long may_write(const struct proc *p)
{
	if (p->access != O_WRONLY && p->access != O_RDWR)
		return -EBADF;
	return p->which < PROC_SYSVIPC ? -EIO : 0;
}

/* off < 0: at the file offset, which moves. text is ours or checked. */
static long write_text(
	const struct proc *p, int fd, const char *text, size_t len, s64 off)
{
	int moves = off < 0;
	s64 n;

	if (moves)
		off = sys_call(__NR_lseek, fd, 0, SEEK_CUR);
	n = sysctl_write(p->c, proc_sysctl(p->which), off, text, len);
	if (moves && n > 0)
		sys_call(__NR_lseek, fd, n, SEEK_CUR);
	return n;
}

static long write_at(int fd, const void *buf, size_t len, s64 off)
{
	struct proc p;
	long err = proc_get(fd, &p);

	if (!err)
		err = may_write(&p);
	if (err)
		return err;
	if (guard_source(p.c, buf, len < TEXT_MAX ? len : TEXT_MAX))
		return -EFAULT;
	return write_text(&p, fd, buf, len, off);
}

long procfs_write(int fd, const void *buf, size_t len)
{
	return write_at(fd, buf, len, -1);
}

long procfs_pwrite(int fd, const void *buf, size_t len, s64 off)
{
	return off < 0 ? -EINVAL : write_at(fd, buf, len, off);
}

/* The pieces as one text, as the kernel takes them: the first bytes into text,
 * and the length of all, or -errno. */
static s64 gather(struct caller *c, const struct iovec *iov, int n, char *text)
{
	s64 total = pieces_size(c, iov, n);
	size_t len = 0, part, i;
	int k;

	for (k = 0; total > 0 && k < n; k++) {
		part = iov[k].iov_len;
		if (part > TEXT_MAX - len)
			part = TEXT_MAX - len;
		if (guard_source(c, iov[k].iov_base, part))
			return -EFAULT;
		for (i = 0; i < part; i++)
			text[len++] = ((const char *)iov[k].iov_base)[i];
	}
	return total;
}

long procfs_writev(int fd, const void *iov, int n)
{
	struct proc p;
	long err = proc_get(fd, &p);
	char *text;
	s64 total;

	if (!err)
		err = may_write(&p);
	if (err)
		return err;
	/* Not on the stack, which may be small. */
	text = sys_mmap_private(TEXT_MAX);
	if ((unsigned long)text > -4096UL)
		return -ENOMEM;
	total = gather(p.c, iov, n, text);
	if (total >= 0)
		total = write_text(&p, fd, text, (size_t)total, -1);
	sys_call(__NR_munmap, text, TEXT_MAX);
	return total;
}

long procfs_commit(int fd)
{
	struct fd_entry *e = fd_entry(fd);
	int err = 0;
	u32 at = proc_at(e->ident);
	struct caller *c;

	if (at == PROC_NO_FILE)
		return 0;
	c = process_get(&err);
	return c ? controlfile_commit(c, at) : 0;
}

/* ---- fstat ---- */

void procfs_stat(int fd, struct stat *st)
{
	const struct fd_entry *e = fd_entry(fd);
	int which = proc_which(e->ident);
	char path[PROC_PATH_CAP];
	struct stat kernels;

	if ((u32)st->st_ino != e->ident >> 32)
		return;
	/* Device and inode too: cp compares them with those of the path. */
	proc_path(which, path);
	if (!sys_call(__NR_stat, path, &kernels)) {
		*st = kernels;
		return;
	}
	st->st_mode = S_IFREG |
		      (which < PROC_SYSVIPC ? 0444 : proc_sysctl(which)->mode);
	st->st_nlink = 1;
	st->st_uid = st->st_gid = 0;
	st->st_size = 0;
	st->st_blksize = 1024;
	st->st_blocks = 0;
}
