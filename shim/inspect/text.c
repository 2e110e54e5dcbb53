// SPDX-License-Identifier: MIT
/*
 * Texts; see text.h.
 */
#include "inspect/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

char *text_reserve(struct text *t, size_t n)
{
	size_t cap = t->cap ? t->cap : 1024;
	char *buf;

	if (t->failed)
		return NULL;
	while (cap - t->len < n)
		cap *= 2;
	if (cap != t->cap) {
		buf = realloc(t->buf, cap);
		if (!buf) {
			t->failed = 1;
			return NULL;
		}
		t->buf = buf;
		t->cap = cap;
	}
	return t->buf + t->len;
}

void text_add(struct text *t, const char *s, size_t n)
{
	char *at = text_reserve(t, n);

	if (!at)
		return;
	memcpy(at, s, n);
	t->len += n;
}

void text_print(struct text *t, const char *fmt, ...)
{
	char line[512];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (n > 0)
		text_add(t, line,
			(size_t)n < sizeof(line) ? (size_t)n
						 : sizeof(line) - 1);
}

void text_time(struct text *t, long long sec)
{
	time_t when = (time_t)sec;
	char buf[32];
	struct tm tm;

	if (!sec || !localtime_r(&when, &tm))
		strcpy(buf, "-");
	else
		strftime(buf, sizeof(buf), "%Y-%m-%d %H:%M:%S", &tm);
	text_print(t, "%s", buf);
}

void process_name_read(unsigned pid, char name[PROCESS_NAME_CAP])
{
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, PROCESS_NAME_CAP, f))
		strcpy(name, "?");
	if (f)
		fclose(f);
	name[strcspn(name, "\n")] = 0;
}

int process_arguments_read(unsigned pid, char *args, size_t cap)
{
	char path[32];
	size_t n = 0, i;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(args, 1, cap - 1, f);
		fclose(f);
	}
	while (n && !args[n - 1])
		n--;
	for (i = 0; i < n; i++)
		if (!args[i])
			args[i] = ' ';
	args[n] = 0;
	return n > 0;
}

void text_process(struct text *t, unsigned pid)
{
	char name[PROCESS_NAME_CAP], *p;

	process_name_read(pid, name);
	for (p = name; *p; p++)
		if (*p <= ' ' || *p == 0x7f)
			*p = '_';
	text_print(t, "%s", name);
}

/* Bytes of the character at s; 0 if it is none, or a control character of
 * Unicode outside ASCII. */
static size_t character(const unsigned char *s)
{
	static const unsigned least[] = {0, 0, 0xa0, 0x800, 0x10000};
	unsigned code, i, n;

	if (*s < 0x80)
		return 1;
	n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
	code = *s & (0xffu >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	if (*s < 0xc0 || *s >= 0xf8 || code < least[n] || code > 0x10ffff ||
		(code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

static int is_control(char c)
{
	return (c >= 0 && c < ' ') || c == 0x7f;
}

static void copy(const char *from, char *to, size_t cap, int controls)
{
	size_t n, at = 0;

	for (; *from; from += n ? n : 1) {
		n = !controls && is_control(*from)
			    ? 0
			    : character((const unsigned char *)from);
		if (cap - at <= (n ? n : 4))
			break;
		if (n)
			memcpy(to + at, from, n);
		else
			snprintf(to + at, cap - at, "\\x%02x",
				(unsigned char)*from);
		at += n ? n : 4;
	}
	to[at] = 0;
}

void text_visible(const char *from, char *to, size_t cap)
{
	copy(from, to, cap, 0);
}

void text_characters(const char *from, char *to, size_t cap)
{
	copy(from, to, cap, 1);
}

void text_deinit(struct text *t)
{
	free(t->buf);
	*t = (struct text){0};
}
