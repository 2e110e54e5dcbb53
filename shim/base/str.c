// SPDX-License-Identifier: MIT
/*
 * Strings; see str.h.
 */
#include "base/str.h"

size_t str_len(const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	return n;
}

int str_equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

size_t str_add(char *buf, size_t cap, size_t len, const char *s)
{
	while (*s && len + 1 < cap)
		buf[len++] = *s++;
	if (cap)
		buf[len] = 0;
	return len;
}

size_t str_add_u64(char *buf, size_t cap, size_t len, uint64_t v)
{
	char tmp[21];
	int i = 20;

	tmp[i] = 0;
	do
		tmp[--i] = '0' + v % 10;
	while (v /= 10);
	return str_add(buf, cap, len, tmp + i);
}
