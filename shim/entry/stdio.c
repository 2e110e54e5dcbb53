// SPDX-License-Identifier: MIT
/*
 * Streams on the kernel's files about IPC.
 *
 * libc reads and writes a stream without calling anything that could be
 * interposed, so only the beginning and the end of it are caught: fopen makes a
 * stream on the descriptor of procfs.c, and what a stream has written is
 * applied when it is flushed or closed (bash's echo writes so, as does tee). An
 * error of the text is that of the fflush or fclose, and the stream has its
 * error flag set, which is what bash looks at.
 *
 * In a process that opened no such file, fflush and fclose cost one load.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include "entry/procfs.h"
#include "ipc/controlfile.h"

#undef fopen
#undef fopen64
#undef freopen
#undef freopen64
#undef fflush
#undef fclose
#undef fflush_unlocked

extern FILE *fdopen(int, const char *) __attribute__((weak));
extern int fileno(FILE *) __attribute__((weak));
extern int ferror(FILE *) __attribute__((weak));

/* The flags of open(2) that a mode of fopen(3) means, or -1. */
static int mode_flags(const char *mode)
{
	int flags;

	if (*mode != 'r' && *mode != 'w' && *mode != 'a')
		return -1;
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

/* fopen(3): 1 with *ret if the path is ours. */
static int open_stream(const char *path, const char *mode, FILE **ret)
{
	int flags = mode_flags(mode);
	long fd = flags < 0 || !fdopen ? PROCFS_PASS : procfs_open(path, flags);

	if (likely(fd == PROCFS_PASS))
		return 0;
	*ret = NULL;
	if (process_return(fd) < 0)
		return 1;
	*ret = fdopen((int)fd, mode);
	if (!*ret)
		entry_close((int)fd);
	return 1;
}

#define FOPEN_LIKE(name)                                        \
	EXPORT FILE *name(const char *path, const char *mode)   \
	{                                                       \
		static void *next;                              \
		FILE *(*real)(const char *, const char *);      \
		FILE *f;                                        \
                                                                \
		if (unlikely(open_stream(path, mode, &f)))      \
			return f;                               \
		real = (FILE * (*)(const char *, const char *)) \
			process_next(&next, #name);             \
		if (likely(real != NULL))                       \
			return real(path, mode);                \
		*__errno_location() = ENOSYS;                   \
		return NULL;                                    \
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

#define FFLUSH_LIKE(name)                                            \
	EXPORT int name(FILE *f)                                     \
	{                                                            \
		static void *next;                                   \
		int (*real)(FILE *) =                                \
			(int (*)(FILE *))process_next(&next, #name); \
		int ret = real ? real(f) : 0;                        \
                                                                     \
		return likely(!procfs_used) ? ret : flushed(f, ret); \
	}

FFLUSH_LIKE(fflush)
FFLUSH_LIKE(fflush_unlocked)

/* libc closes the number by itself. */
static int close_stream(FILE *f, int (*real)(FILE *))
{
	int fd = stream_fd(f), ret, error;
	u64 ident;

	if (fd < 0)
		return real(f);
	ret = fflush(f);
	error = *__errno_location();
	ident = fd_forget_proc(fd);
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

	if (unlikely(!real))
		return EOF;
	return likely(!procfs_used) ? real(f) : close_stream(f, real);
}
