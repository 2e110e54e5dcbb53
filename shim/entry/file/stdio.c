// SPDX-License-Identifier: MIT
/*
 * Streams on the kernel's files about IPC, and on queues.
 *
 * fopen and fdopen make one of stream.h on the descriptor of procfs.c or of a
 * queue, whose FIFO libc must neither read nor fill. On a
 * stream that had its descriptor before (freopen, standard output) libc reads
 * and writes without calling anything that could be interposed, so only its end
 * is caught: what it has written is applied when it is flushed or closed
 * (bash's echo writes so, as does tee). An error of the text is that of the
 * fflush or fclose, and the stream has its error flag set, which is what bash
 * looks at. On a queue's number all that it writes is an error; freopen of one to
 * read has its status line instead.
 *
 * In a process that opened no such file, fflush and fclose cost two loads.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "entry/file/mqdir.h"
#include "entry/file/mqfile.h"
#include "entry/file/procfile.h"
#include "entry/file/procfs.h"
#include "entry/file/stream.h"
#include "object/controlfile.h"

#undef fopen
#undef fopen64
#undef fdopen
#undef freopen
#undef freopen64
#undef fflush
#undef fclose
#undef fflush_unlocked

extern int fileno(FILE *) __attribute__((weak));
extern int ferror(FILE *) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

typedef FILE *(*fopen_fn)(const char *, const char *);

/* The flags of open(2) that a mode of fopen(3), which libc has found good,
 * means. */
static int mode_flags(const char *mode)
{
	int flags;

	flags = *mode == 'r'   ? O_RDONLY
		: *mode == 'w' ? O_WRONLY | O_CREAT | O_TRUNC
			       : O_WRONLY | O_CREAT | O_APPEND;
	for (mode++; *mode && *mode != ','; mode++) {
		if (*mode == '+')
			flags = (flags & ~O_ACCMODE) | O_RDWR;
		else if (*mode == 'x')
			flags |= O_EXCL;
		else if (*mode == 'e')
			flags |= O_CLOEXEC;
	}
	return flags;
}

/* One that libc takes. */
static int is_mode(const char *mode)
{
	return *mode == 'r' || *mode == 'w' || *mode == 'a';
}

typedef FILE *(*fdopen_fn)(int, const char *);

static FILE *fdopen_next(int fd, const char *mode)
{
	static void *next;
	fdopen_fn real = (fdopen_fn)process_next(&next, "fdopen");

	if (real)
		return real(fd, mode);
	*__errno_location() = ENOSYS;
	return NULL;
}

/* A stream on one of our files. */
static FILE *stream_on(int fd, const char *mode)
{
	FILE *f = stream_make(fd, mode_flags(mode));

	return f || *__errno_location() ? f : fdopen_next(fd, mode);
}

/* glibc refuses a mode that the descriptor does not allow; it would be looking
 * at a memfd's or a FIFO's. */
EXPORT FILE *fdopen(int fd, const char *mode)
{
	int access, before = *__errno_location();
	FILE *f;

	if (likely(!fd_is_served(fd)) || !is_mode(mode))
		return fdopen_next(fd, mode);
	access = (int)fd_access(fd);
	if (gnu_get_libc_version &&
		(access == O_RDONLY || access == O_WRONLY) &&
		access != (mode_flags(mode) & O_ACCMODE)) {
		*__errno_location() = EINVAL;
		return NULL;
	}
	f = stream_on(fd, mode);
	if (f)
		*__errno_location() = before;
	return f;
}

/* fopen(3)'s ",ccs=": wide characters, which glibc has on none of
 * fopencookie(3) and dies of. */
static int is_wide(const char *mode)
{
	while (*mode && *mode != ',')
		mode++;
	return gnu_get_libc_version && *mode;
}

static FILE *reopened(int which, const char *mode, FILE *f, int before);

/* fd is a served descriptor or -errno; errno was `before`. */
static FILE *stream_or_close(long fd, const char *mode, int before)
{
	FILE *f;

	*__errno_location() = before;
	if (process_return(fd) < 0)
		return NULL;
	if (unlikely(is_wide(mode))) {
		entry_close((int)fd);
		*__errno_location() = EINVAL;
		return NULL;
	}
	f = stream_on((int)fd, mode);
	if (!f)
		entry_close((int)fd);
	return f;
}

/* libc has answered f; errno was `before`. */
static FILE *opened(const char *path, const char *mode, FILE *f, int before)
{
	struct mqdir_at at;
	int which;

	if ((!f && !procfs_readable(-*__errno_location())) || !fileno)
		return f;
	if (f && mqpath_maybe(path) && mqpath_names_queue(path)) {
		fclose(f);
		return stream_or_close(
			mqpath_open(path, mode_flags(mode)), mode, before);
	}
	if (mqdir_is(AT_FDCWD, path, f ? 0 : -*__errno_location(), &at)) {
		if (f)
			fclose(f);
		return stream_or_close(
			mqdir_open(&at, mode_flags(mode), 0666), mode, before);
	}
	if (likely(!procfs_maybe(path)))
		return f;
	which = procfs_find(path, f ? fileno(f) : -1);
	if (which < 0)
		return f;
	if (unlikely(f && is_wide(mode)))
		return reopened(which, mode, f, before);
	if (f)
		fclose(f);
	return stream_or_close(
		procfs_open_file(which, mode_flags(mode)), mode, before);
}

#define FOPEN_LIKE(name)                                                     \
	EXPORT FILE *name(const char *path, const char *mode)                \
	{                                                                    \
		static void *next;                                           \
		int before = *__errno_location();                            \
		struct mqdir_at at;                                          \
		fopen_fn real = (fopen_fn)process_next(&next, #name);        \
                                                                             \
		if (unlikely(mode && *mode != 'r') &&                        \
			mqdir_is_before(AT_FDCWD, path, &at))                \
			return opened(path, mode, NULL, before);             \
		if (likely(real != NULL))                                    \
			return opened(path, mode, real(path, mode), before); \
		*__errno_location() = ENOSYS;                                \
		return NULL;                                                 \
	}

FOPEN_LIKE(fopen)
FOPEN_LIKE(fopen64)

/* ---- what a stream wrote ---- */

/* The descriptor of a stream on one of our files, or -1. */
static int stream_fd(FILE *f)
{
	int fd;

	if (likely(!procfs_used) || !f || !fileno)
		return -1;
	fd = fileno(f);
	return fd >= 0 && fd_is_proc(fd) ? fd : -1;
}

/*
 * ferror(3) is to say so. Both libcs have their flags in the first word of a
 * FILE, and the same bit for this: glibc's has been inlined into programs
 * since 1997, musl's is checked by looking.
 */
static void mark_error(FILE *f)
{
	unsigned *flags = (unsigned *)f, before = *flags;

	if (!ferror)
		return;
	*flags = before | 0x20;
	if (!ferror(f))
		*flags = before;
}

static int failed(FILE *f, long err)
{
	if (f)
		mark_error(f);
	*__errno_location() = (int)-err;
	return EOF;
}

/* ---- a queue's descriptor in a stream of libc's own ---- */

extern size_t __fpending(FILE *) __attribute__((weak));
extern void __fpurge(FILE *) __attribute__((weak));

/*
 * A shell copies it onto its standard output. What is in the buffer would fail
 * to be written, and is lost with that in both libcs: -errno. What libc has
 * written by itself, at the end of a line or as the buffer was full, is taken
 * out of the FIFO; the error is one of a call that is over, so the stream has
 * its flag set and this is 0.
 */
static long queue_written(FILE *f)
{
	int fd = fileno ? fileno(f) : -1;
	long error;

	if (fd < 0 || !fd_is_mq(fd))
		return 0;
	error = mqfile_written(fd);
	if (error)
		failed(f, error);
	if (!__fpending || !__fpurge || !__fpending(f))
		return 0;
	__fpurge(f);
	return mqfile_write(fd);
}

/* A stream was flushed. */
static int flushed(FILE *f, int ret)
{
	int fd = stream_fd(f), err = 0;
	struct caller *c;
	long error;

	if (!f) {
		c = process_get(&err);
		if (c)
			controlfile_drain(c);
		return ret;
	}
	if (fd < 0)
		return ret;
	error = procfs_commit(fd);
	return error && !ret ? failed(f, error) : ret;
}

static int stream_flush(FILE *f, int (*real)(FILE *))
{
	long error = likely(!fd_used) || !f ? 0 : queue_written(f);
	int ret;

	if (unlikely(error))
		return failed(f, error);
	ret = real ? real(f) : 0;
	return likely(!procfs_used) ? ret : flushed(f, ret);
}

#define FFLUSH_LIKE(name)                                      \
	EXPORT int name(FILE *f)                               \
	{                                                      \
		static void *next;                             \
		void *real = process_next(&next, #name);       \
                                                               \
		return stream_flush(f, (int (*)(FILE *))real); \
	}

FFLUSH_LIKE(fflush)
FFLUSH_LIKE(fflush_unlocked)

/* libc is about to close the number by itself: what fd_closed_proc takes, and
 * the result of the last fflush in *ret; 0 if it is none of ours. */
static int close_begin(FILE *f, u64 *ret_ident, int *ret)
{
	int fd = stream_fd(f);

	if (fd < 0)
		return 0;
	*ret = fflush(f);
	*ret_ident = fd_forget_proc(fd);
	return 1;
}

static int close_stream(FILE *f, int (*real)(FILE *))
{
	int ret = 0, error;
	u64 ident;

	if (!close_begin(f, &ident, &ret))
		return real(f);
	error = *__errno_location();
	if (real(f) && !ret) {
		ret = EOF;
		error = *__errno_location();
	}
	fd_closed_proc(ident);
	if (ret)
		*__errno_location() = error;
	return ret;
}

EXPORT int fclose(FILE *f)
{
	static void *next;
	int (*real)(FILE *) = (int (*)(FILE *))process_next(&next, "fclose");
	long error;

	if (unlikely(!real))
		return EOF;
	error = likely(!fd_used) || !f ? 0 : queue_written(f);
	if (unlikely(error)) {
		real(f);
		return failed(NULL, error);
	}
	return likely(!procfs_used) ? real(f) : close_stream(f, real);
}

/* libc has opened f: put ours, a descriptor or -errno, under its number. errno
 * was `before`. */
static FILE *put_under(long fd, int flags, FILE *f, int before)
{
	if (fd >= 0) {
		entry_dup3(__NR_dup3, (int)fd, fileno(f), flags & O_CLOEXEC);
		entry_close((int)fd);
		*__errno_location() = before;
		return f;
	}
	fclose(f);
	process_return(fd);
	return NULL;
}

static FILE *reopened(int which, const char *mode, FILE *f, int before)
{
	int flags = mode_flags(mode);

	return put_under(procfs_open_file(which, flags), flags, f, before);
}

typedef FILE *(*freopen_fn)(const char *, const char *, FILE *);

/*
 * A queue in /dev/mqueue on a stream of libc's, which is to be closed by all
 * means. What it only reads is the status line of the moment, in a memfd: libc
 * would wait for the FIFO's bytes. What it writes is refused as it is flushed.
 */
static FILE *reopened_queue(const struct mqdir_at *at, const char *mode,
	FILE *f, freopen_fn real, int before)
{
	int flags = mode_flags(mode);
	char plain[] = {*mode, flags & O_RDWR ? '+' : 0, 0};
	long fd;

	f = real("/dev/null", plain, f);
	if (!f)
		return NULL;
	fd = mqdir_open(at, flags, 0666);
	if (fd >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		fd = mqfile_snapshot((int)fd);
	return put_under(fd, flags, f, before);
}

static FILE *freopen_on(void **next, const char *name, const char *path,
	const char *mode, FILE *f)
{
	freopen_fn real = (freopen_fn)process_next(next, name);
	int before = *__errno_location(), ret, ours = 0, which;
	struct mqdir_at at;
	u64 ident;

	if (unlikely(!real)) {
		*__errno_location() = ENOSYS;
		return NULL;
	}
	/* Without a path it changes the mode of what is open. */
	if (unlikely(procfs_used) && path)
		ours = close_begin(f, &ident, &ret);
	if (unlikely(path && mqdir_is_before(AT_FDCWD, path, &at)) &&
		at.kind == MQDIR_QUEUE && fileno && is_mode(mode)) {
		f = reopened_queue(&at, mode, f, real, before);
		path = NULL;
	} else {
		f = real(path, mode, f);
	}
	if (ours)
		fd_closed_proc(ident);
	if (likely(!f || !path || !procfs_maybe(path)) || !fileno)
		return f;
	which = procfs_find(path, fileno(f));
	return which < 0 ? f : reopened(which, mode, f, before);
}

#define FREOPEN_LIKE(name)                                             \
	EXPORT FILE *name(const char *path, const char *mode, FILE *f) \
	{                                                              \
		static void *next;                                     \
                                                                       \
		return freopen_on(&next, #name, path, mode, f);        \
	}

FREOPEN_LIKE(freopen)
FREOPEN_LIKE(freopen64)
