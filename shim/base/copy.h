// SPDX-License-Identifier: MIT
/*
 * Copies of messages: short ones by vector registers, without the start-up
 * cost of rep movsb, which is a third of a call for 64 bytes; long ones by rep
 * movsb. Written out, since the compiler would call memcpy.
 */
#ifndef IPCLIFT_BASE_COPY_H
#define IPCLIFT_BASE_COPY_H

#include "arch.h"
#include <stddef.h>
#include <stdint.h>

/* Where the two cost the same here. Arbitrary. */
#define COPY_SHORT 512u

typedef uint64_t copy_16
	__attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t copy_8 __attribute__((aligned(1), may_alias));
typedef uint32_t copy_4 __attribute__((aligned(1), may_alias));

/* n <= 16 bytes, which may be read and written in any order. */
static inline void copy_tiny(char *to, const char *from, size_t n)
{
	if (n >= 8) {
		uint64_t a = *(const copy_8 *)from;
		uint64_t b = *(const copy_8 *)(from + n - 8);

		*(copy_8 *)to = a;
		*(copy_8 *)(to + n - 8) = b;
	} else if (n >= 4) {
		uint32_t a = *(const copy_4 *)from;
		uint32_t b = *(const copy_4 *)(from + n - 4);

		*(copy_4 *)to = a;
		*(copy_4 *)(to + n - 4) = b;
	} else if (n) {
		char a = from[0], b = from[n / 2], c = from[n - 1];

		to[0] = a;
		to[n / 2] = b;
		to[n - 1] = c;
	}
}

/* Copy n bytes; the two do not overlap. */
static inline void copy_bytes(void *dst, const void *src, size_t n)
{
	char *to = dst;
	const char *from = src;
	size_t i;

	if (n <= 16) {
		copy_tiny(to, from, n);
		return;
	}
	if (n > COPY_SHORT) {
		arch_copy_up(to, from, n);
		return;
	}
	for (i = 0; i + 16 < n; i += 16) {
		*(copy_16 *)(to + i) = *(const copy_16 *)(from + i);
		/* Keeps the loop from becoming a call of memcpy. */
		__asm__ volatile("" ::: "memory");
	}
	*(copy_16 *)(to + n - 16) = *(const copy_16 *)(from + n - 16);
}

#endif
