// SPDX-License-Identifier: MIT
/*
 * Many readers of sysvipc/{sem,msg,shm} at once, each of which looks at every
 * byte: a header, whole lines of the right number of columns and the least
 * width, indexes that rise, and KEPT sets with keys from 4242 on that are all
 * there each time (readers.sh).
 *
 *	readers SECONDS READERS DIR [KEPT]
 *
 * Prints "all read" once each has read a table to the end, and at the end
 * "readings N, readers with faults N".
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct {
	const char *name;
	size_t head, row; /* bytes of a line at least, newline included */
	int columns;
} tables[] = {
	{"sem", 85, 85, 10}, {"msg", 120, 120, 14}, {"shm", 170, 170, 16}};

static char text[8 << 20];

static long now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

/* Of all sizes, so that pieces end anywhere. */
static long read_whole(const char *path, long nr)
{
	size_t piece = nr % 3 == 0 ? 131072 : nr % 3 == 1 ? 4096 : 777;
	int fd = open(path, O_RDONLY);
	long n = 0, got;

	if (fd < 0)
		return -1;
	while ((got = read(fd, text + n, piece)) > 0)
		n += got;
	close(fd);
	return got < 0 ? -1 : n;
}

static int torn(const char *what, const char *line, size_t len)
{
	fprintf(stderr, "%s: \"%.*s\"\n", what, (int)len, line);
	return 1;
}

static int count_columns(const char *line, size_t len)
{
	int n = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (line[i] != ' ' && line[i] != '-' &&
			!isdigit((unsigned char)line[i]))
			return -1;
		n += line[i] != ' ' && (i == 0 || line[i - 1] == ' ');
	}
	return n;
}

/* 0, or 1 after a word on what is wrong. */
static int check_text(int table, long n, int kept)
{
	long last = -1, id, key, at = (long)tables[table].head, len;
	int n_kept = 0;
	char *end;

	if (n < at || text[at - 1] != '\n' || text[n - 1] != '\n')
		return torn("no header or no end", text,
			(size_t)(n < 200 ? n : 200));
	for (; at < n; at += len) {
		end = memchr(text + at, '\n', (size_t)(n - at));
		len = end + 1 - (text + at);
		if (len < (long)tables[table].row ||
			count_columns(text + at, (size_t)len - 1) !=
				tables[table].columns)
			return torn("torn", text + at, (size_t)len);
		key = strtol(text + at, &end, 10);
		id = strtol(end, NULL, 10) % 32768;
		if (id <= last)
			return torn("out of order", text + at, (size_t)len);
		last = id;
		n_kept += key >= 4242 && key < 4242 + kept;
	}
	if (table == 0 && n_kept != kept)
		return torn("a set is missing or twice", text, 85);
	return 0;
}

/* The pipe told is closed after the first table. */
static void read_on(long *times, long nr, const char *dir, int kept, long until,
	const int told[2])
{
	char path[4096];
	int table;
	long n;

	while (now_s() < until) {
		table = (int)((nr + *times) % 3);
		snprintf(path, sizeof(path), "%s/%s", dir, tables[table].name);
		n = read_whole(path, nr + *times);
		if (n < 0) {
			perror(path);
			exit(1);
		}
		if (check_text(table, n, kept))
			exit(1);
		if (!(*times)++) {
			close(told[0]);
			close(told[1]);
		}
	}
	exit(0);
}

int main(int argc, char **argv)
{
	long *times, sum = 0, until;
	int readers, i, status, told[2], bad = 0;
	char none;

	if (argc < 4 || pipe(told))
		return 2;
	readers = atoi(argv[2]);
	times = mmap(NULL, 65536, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	until = now_s() + atol(argv[1]);
	for (i = 0; i < readers; i++)
		if (!fork())
			read_on(&times[i], i, argv[3],
				argc > 4 ? atoi(argv[4]) : 0, until, told);
	close(told[1]);
	if (read(told[0], &none, 1) == 0)
		puts("all read");
	fflush(stdout);
	while (wait(&status) > 0)
		bad += status != 0;
	for (i = 0; i < readers; i++)
		sum += times[i];
	printf("readings %ld, readers with faults %d\n", sum, bad);
	return bad != 0;
}
