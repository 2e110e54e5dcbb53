// SPDX-License-Identifier: MIT
/*
 * transcript.h: what a model program writes down: lines of text that are the
 * same in two runs with one seed, or a hash of them. Plain system headers only.
 */
#ifndef TRANSCRIPT_H
#define TRANSCRIPT_H

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* where the text goes: stdout, and into a hash */
struct transcript {
	uint64_t hash;
	bool quiet;
};

static struct transcript transcript = {0xcbf29ce484222325ULL, false};

static inline uint64_t fnv1a(uint64_t hash, const void *data, size_t len)
{
	for (const unsigned char *p = data; len > 0; len--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}

/* As printf; a line of 511 bytes at most, or the beginning of one. */
__attribute__((format(printf, 1, 2))) static inline void say(
	const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (len >= (int)sizeof(line))
		len = sizeof(line) - 1;
	transcript.hash = fnv1a(transcript.hash, line, len);
	if (!transcript.quiet)
		fwrite(line, 1, len, stdout);
}

static inline const char *errno_name(int err)
{
	static char text[16];
	static const struct {
		int err;
		const char *name;
	} names[] = {
		{EINVAL, "EINVAL"},
		{EACCES, "EACCES"},
		{EPERM, "EPERM"},
		{EEXIST, "EEXIST"},
		{ENOENT, "ENOENT"},
		{ENOSPC, "ENOSPC"},
		{ENOMEM, "ENOMEM"},
		{E2BIG, "E2BIG"},
		{EFBIG, "EFBIG"},
		{EAGAIN, "EAGAIN"},
		{ERANGE, "ERANGE"},
		{EIDRM, "EIDRM"},
		{EINTR, "EINTR"},
		{EFAULT, "EFAULT"},
		{ENOSYS, "ENOSYS"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].err == err)
			return names[i].name;
	snprintf(text, sizeof(text), "E%d", err);
	return text;
}

#endif
