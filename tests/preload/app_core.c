// SPDX-License-Identifier: MIT
/*
 * app_core FILTER: dies with a core file, in the working directory, of a
 * process that has a segment attached which says "in the segment" 1,000 times.
 * FILTER is for its /proc/self/coredump_filter.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>

int main(int argc, char **argv)
{
	struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};
	FILE *f = fopen("/proc/self/coredump_filter", "w");
	int id = shmget(IPC_PRIVATE, 100000, 0600), i, k;
	/* The words stand nowhere else. */
	static const char words[] = "jo!uif!tfhnfou!";
	char *p = shmat(id, NULL, 0);

	if (argc < 2 || !f || p == (char *)-1 || fputs(argv[1], f) < 0 ||
		fclose(f) || setrlimit(RLIMIT_CORE, &limit) ||
		shmctl(id, IPC_RMID, NULL))
		return 1;
	for (i = 0; i < 1000; i++)
		for (k = 0; words[k]; k++)
			*p++ = (char)(words[k] - 1);
	abort();
}
