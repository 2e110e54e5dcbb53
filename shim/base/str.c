// SPDX-License-Identifier: MIT
/*
 * Strings; see str.h.
 */
#include "base/str.h"
#include <errno.h>

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

const char *str_after(const char *s, const char *head)
{
	while (*head)
		if (*s++ != *head++)
			return NULL;
	return s;
}

int str_number(const char **at)
{
	const char *s = *at;
	int64_t n = *s >= '0' && *s <= '9' ? 0 : -1;

	for (; *s >= '0' && *s <= '9'; s++)
		if (n <= INT32_MAX)
			n = n * 10 + (*s - '0');
	*at = s;
	return n > INT32_MAX ? -1 : (int)n;
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

const char *str_error(int error)
{
	switch (error) {
	case EPERM:
		return "Operation not permitted";
	case ENOENT:
		return "No such file or directory";
	case EIO:
		return "Input/output error";
	case ENXIO:
		return "No such device or address";
	case ENOMEM:
		return "Cannot allocate memory";
	case EACCES:
		return "Permission denied";
	case ENOTDIR:
		return "Not a directory";
	case EISDIR:
		return "Is a directory";
	case EINVAL:
		return "Invalid argument";
	case EMFILE:
		return "Too many open files";
	case ENFILE:
		return "Too many open files in system";
	case ETXTBSY:
		return "Text file busy";
	case EFBIG:
		return "File too large";
	case ENOSPC:
		return "No space left on device";
	case EROFS:
		return "Read-only file system";
	case ELOOP:
		return "Too many levels of symbolic links";
	case ENODEV:
		return "No such device";
	case EDQUOT:
		return "Disk quota exceeded";
	case ENAMETOOLONG:
		return "File name too long";
	case ENOSYS:
		return "No such system call";
	default:
		return "error";
	}
}
