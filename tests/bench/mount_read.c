// SPDX-License-Identifier: MIT
/*
 * How long it takes to open, read and close files, as cat does it.
 *
 *	mount_read TIMES FILE...
 *
 * reads them in turn, TIMES in all, and prints the median, the 99th of 100 and
 * the longest in microseconds, and the bytes of the last.
 *
 *	mount_read --make N
 *
 * makes N semaphore sets of one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <time.h>
#include <unistd.h>

static char buf[128 << 10]; /* cat's */

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static long read_whole(const char *path)
{
	int fd = open(path, O_RDONLY);
	long n, sum = 0;

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		sum += n;
	if (n < 0) {
		perror(path);
		exit(1);
	}
	close(fd);
	return sum;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int make_sets(int n)
{
	int i;

	for (i = 1; i <= n; i++)
		if (semget(i, 1, IPC_CREAT | 0600) < 0) {
			perror("semget");
			return 1;
		}
	return 0;
}

int main(int argc, char **argv)
{
	int times, i;
	double *took, begin;
	long bytes = 0;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "--make"))
		return make_sets(atoi(argv[2]));
	times = atoi(argv[1]);
	took = malloc(sizeof(*took) * (size_t)times);
	for (i = 0; took && i < times; i++) {
		begin = now_us();
		bytes = read_whole(argv[2 + i % (argc - 2)]);
		took[i] = now_us() - begin;
	}
	qsort(took, (size_t)times, sizeof(*took), compare);
	printf("%.1f %.1f %.1f %ld\n", took[times / 2], took[times * 99 / 100],
		took[times - 1], bytes);
	return 0;
}
