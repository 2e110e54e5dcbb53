// SPDX-License-Identifier: MIT
/*
 * memcpy and its kin, hidden: compilers emit calls to them even in
 * freestanding code, and the shim may not import them from a libc.
 */
#include "arch.h"
#include <stddef.h>

/* used: with -flto the calls appear after these could have been dropped. */
#define HIDDEN __attribute__((visibility("hidden"), used))

HIDDEN void *memcpy(void *dst, const void *src, size_t n)
{
	arch_copy_up(dst, src, n);
	return dst;
}

HIDDEN void *memset(void *dst, int c, size_t n)
{
	arch_fill(dst, c, n);
	return dst;
}

HIDDEN void *memmove(void *dst, const void *src, size_t n)
{
	volatile char *d = dst;
	const volatile char *s = src;

	if (d <= s || d >= s + n)
		return memcpy(dst, src, n);
	while (n--)
		d[n] = s[n];
	return dst;
}

HIDDEN int memcmp(const void *a, const void *b, size_t n)
{
	const volatile unsigned char *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}
