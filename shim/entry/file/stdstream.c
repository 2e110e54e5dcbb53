// SPDX-License-Identifier: MIT
/*
 * See stdstream.h.
 *
 *   glibc    stdin, stdout and stderr are variables that a program may set:
 *            they are, to streams of stream.h
 *   musl     they are constants, but what a stream calls to read, write and
 *            seek stands in it: it is taken from a stream of stream.h, which
 *            stays as the owner of the number that these functions are given
 *
 * Done once for each number. Not reached: who has kept the value of glibc's
 * variable from before (the streams of C++), and perror(3) of glibc, which
 * writes to a copy of the number. In a program that copies a queue's descriptor
 * onto one of its own numbers (a shell's redirection), a stream may be in use,
 * and what it wrote is looked at when it is flushed (stdio.c).
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include "base/atom.h"
#include "base/types.h"
#include "entry/file/stdstream.h"
#include "entry/file/stream.h"
#include "entry/process.h"

extern FILE *stdin __attribute__((weak));
extern FILE *stdout __attribute__((weak));
extern FILE *stderr __attribute__((weak));
extern int setvbuf(FILE *, char *, int, size_t) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* In a FILE of musl, on every 64-bit machine since 1.1.0: three functions, and
 * what the streams of fopencookie(3) give to theirs, which lies behind the
 * FILE. */
#define MUSL_READ 64
#define MUSL_WRITE 72
#define MUSL_SEEK 80
#define MUSL_COOKIE 152
#define MUSL_FILE_MOST 512

static void **musl_word(FILE *f, size_t at)
{
	return (void **)(void *)((char *)f + at);
}

static void musl_lend(FILE *to, FILE *from)
{
	uintptr_t cookie = (uintptr_t)*musl_word(from, MUSL_COOKIE);
	size_t at;

	if (cookie - (uintptr_t)from - MUSL_COOKIE > MUSL_FILE_MOST)
		return;
	*musl_word(to, MUSL_COOKIE) = (void *)cookie;
	for (at = MUSL_READ; at <= MUSL_SEEK; at += sizeof(void *))
		*musl_word(to, at) = *musl_word(from, at);
}

void stdstream_serve(int fd)
{
	static FILE **const streams[STDSTREAMS] = {&stdin, &stdout, &stderr};
	static u32 done[STDSTREAMS];
	int before = *__errno_location();
	FILE *f;

	/* A vfork child has its parent's streams. */
	if (likely((u32)fd >= STDSTREAMS) || process_in_vfork() ||
		!streams[fd] || !*streams[fd] ||
		__atomic_exchange_n(&done[fd], 1, __ATOMIC_RELAXED))
		return;
	f = stream_make(fd, fd ? O_WRONLY : O_RDONLY);
	if (f && !gnu_get_libc_version) {
		musl_lend(*streams[fd], f);
	} else if (f) {
		if (fd == 2 && setvbuf)
			setvbuf(f, NULL, _IONBF, 0);
		*streams[fd] = f;
	}
	*__errno_location() = before;
}
