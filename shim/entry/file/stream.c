// SPDX-License-Identifier: MIT
/*
 * Streams whose reads and writes come to us.
 *
 * libc reads and writes its own streams from within, past every interposed
 * name. A program that keeps a control file open, rewinds, writes and reads
 * back what holds now (the kernel's own tests of mqueues do), or one that reads
 * a queue's status line, needs each of
 * these to reach the registry when it happens, so the stream is one of
 * fopencookie(3), whose four functions are here and do what libc's own do with
 * a descriptor.
 *
 * Such a stream has no number by itself, but fileno(3) and freopen(3) are to
 * find it: it is stored where this libc has it, and fileno is asked whether
 * that was right.
 *
 * stdin of a program that was started with a queue there (fdarrive.h) is replaced
 * by such a stream in glibc; in musl, where it is a constant, its functions are.
 *
 * Seen different from the kernel's: glibc answers a rewind within what is
 * buffered from the buffer, here it is always read anew; glibc has no wide
 * characters on such a stream.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include "entry/file/fd.h"
#include "entry/file/mqfile.h"
#include "entry/file/procfile.h"
#include "entry/file/stream.h"

extern FILE *fopencookie(void *, const char *, cookie_io_functions_t)
	__attribute__((weak));
extern int fileno(FILE *) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* stdin: a variable in glibc, in musl a constant. */
extern FILE *standard_input __asm__("stdin") __attribute__((weak));

/* The head of a FILE of musl, on every 64-bit machine since 1.1.0. */
struct musl_file {
	unsigned flags;
	unsigned char *rpos, *rend; /* what is read ahead */
	void *close;
	void *writing[4];
	size_t (*read)(FILE *, unsigned char *, size_t);
	void *write;
	off64_t (*seek)(FILE *, off64_t, int);
	unsigned char *buf;
	size_t buf_size;
	void *links[2];
	int number;
};
#define MUSL_NUMBER 120
#define MUSL_EOF 16u
#define MUSL_ERROR 32u
_Static_assert(
	__builtin_offsetof(struct musl_file, number) == MUSL_NUMBER, "musl");

/* In one of glibc, as its headers tell. */
#define GLIBC_NUMBER 112
#define GLIBC_WIDE 160
#define GLIBC_MODE 192
#ifdef __GLIBC__
_Static_assert(__builtin_offsetof(FILE, _fileno) == GLIBC_NUMBER, "_fileno");
_Static_assert(__builtin_offsetof(FILE, _wide_data) == GLIBC_WIDE, "wide");
_Static_assert(__builtin_offsetof(FILE, _mode) == GLIBC_MODE, "mode");
#endif
#define AT(f, offset) ((void *)((char *)(f) + (offset)))

#define NUMBER(cookie) ((int)(long)(cookie))

/* Something else may have the number by now: dup2 does that. */
static ssize_t stream_read(void *cookie, char *buf, size_t len)
{
	int fd = NUMBER(cookie);
	long n = FD_PASS;

	if (fd_is_served(fd))
		n = fd_is_mq(fd) ? mqfile_read(fd, buf, len)
				 : procfs_read(fd, buf, len);
	if (n == FD_PASS)
		n = sys_call(__NR_read, fd, buf, len);
	return process_return(n);
}

/* All of it or an error, as libc's own. glibc wants the bytes that went, and
 * takes fewer than it gave for an error; musl wants -1. */
static ssize_t stream_write(void *cookie, const char *buf, size_t len)
{
	int fd = NUMBER(cookie);
	size_t done = 0;
	long n;

	while (done < len) {
		n = FD_PASS;
		if (fd_is_served(fd))
			n = fd_is_mq(fd)
				    ? mqfile_write(fd)
				    : procfs_write(fd, buf + done, len - done);
		if (n == FD_PASS)
			n = sys_call(__NR_write, fd, buf + done, len - done);
		if (n < 0) {
			process_return(n);
			return gnu_get_libc_version ? (ssize_t)done : -1;
		}
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *off, int whence)
{
	int fd = NUMBER(cookie);
	long at = FD_PASS;

	if (fd_is_served(fd))
		at = fd_is_mq(fd) ? mqfile_lseek(fd, *off, whence)
				  : procfs_lseek(fd, *off, whence);
	if (at == FD_PASS)
		at = sys_call(__NR_lseek, fd, *off, whence);
	if (at < 0)
		return (int)process_return(at);
	*off = at;
	return 0;
}

static int stream_close(void *cookie)
{
	return (int)process_return(entry_close(NUMBER(cookie)));
}

/* freopen(3) and fgetws(3) of glibc follow what a stream of fopencookie has for
 * wide characters, which is -1: it gets something that is empty (232 bytes). On a
 * stream of bytes fgetwc(3) and the like then fail. */
static void without_wide(FILE *f)
{
	static char none[512] __attribute__((aligned(16))) SYS_FAR_BSS;
	void **wide = AT(f, GLIBC_WIDE);
	int *mode = AT(f, GLIBC_MODE);

	if (gnu_get_libc_version && *wide == (void *)-1L) {
		*wide = none;
		*mode = -1;
	}
}

/* Where a stream's number is. */
static int *number_of(FILE *f)
{
	return AT(f, gnu_get_libc_version ? GLIBC_NUMBER : MUSL_NUMBER);
}

static const char *mode_of(int flags)
{
	int both = (flags & O_ACCMODE) == O_RDWR;

	if (flags & O_APPEND)
		return both ? "a+" : "a";
	if (flags & O_TRUNC)
		return both ? "w+" : "w";
	return both ? "r+" : (flags & O_ACCMODE) == O_WRONLY ? "w" : "r";
}

/* Whether the number is where it should be, from a stream that is closed
 * again. */
static int number_works(void)
{
	static int works; /* 0 not known, 1 yes, -1 no */
	cookie_io_functions_t none = {0};
	int *at, before;
	FILE *f;

	if (works || !fopencookie || !fileno)
		return works == 1;
	f = fopencookie(NULL, "r", none);
	if (!f)
		return 0;
	at = number_of(f);
	before = *at;
	works = -1;
	if (before < 0) {
		*at = 0;
		works = fileno(f) == 0 ? 1 : -1;
		*at = before;
	}
	fclose(f);
	return works == 1;
}

FILE *stream_make(int fd, int flags)
{
	static const cookie_io_functions_t ours = {
		stream_read, stream_write, stream_seek, stream_close};
	int before = *__errno_location();
	FILE *f;

	if (!number_works()) {
		*__errno_location() = 0;
		return NULL;
	}
	f = fopencookie((void *)(long)fd, mode_of(flags), ours);
	if (f) {
		*number_of(f) = fd;
		without_wide(f);
		*__errno_location() = before;
	}
	return f;
}

static size_t musl_ended(struct musl_file *m, ssize_t n)
{
	m->flags |= n ? MUSL_ERROR : MUSL_EOF;
	return 0;
}

/* len bytes to `to`, the last of them by way of the buffer, which is filled. */
static size_t musl_read(FILE *f, unsigned char *to, size_t len)
{
	struct musl_file *m = (struct musl_file *)f;
	void *cookie = (void *)(long)m->number;
	size_t first = len - (m->buf_size != 0);
	ssize_t n = first ? stream_read(cookie, (char *)to, first) : 0;

	if (n < 0 || (first && !n))
		return musl_ended(m, n);
	if ((size_t)n < first || first == len)
		return (size_t)n;
	n = stream_read(cookie, (char *)m->buf, m->buf_size);
	if (n <= 0)
		return first ? first : musl_ended(m, n);
	m->rpos = m->buf;
	m->rend = m->buf + n;
	to[first] = *m->rpos++;
	return len;
}

static off64_t musl_seek(FILE *f, off64_t off, int whence)
{
	void *cookie = (void *)(long)*number_of(f);

	return stream_seek(cookie, &off, whence) ? -1 : off;
}

void stream_standard_input(void)
{
	FILE *f = &standard_input ? standard_input : NULL;

	if (!f || !number_works() || *number_of(f))
		return;
	if (!gnu_get_libc_version) {
		((struct musl_file *)f)->read = musl_read;
		((struct musl_file *)f)->seek = musl_seek;
		return;
	}
	f = stream_make(0, O_RDONLY);
	if (f)
		standard_input = f;
}
