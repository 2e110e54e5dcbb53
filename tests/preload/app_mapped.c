// SPDX-License-Identifier: MIT
/*
 * app_mapped: what `ipclift check` should find in /proc/PID/maps; for
 * tool_mapped.sh.
 *
 * app_mapped right        attaches a segment twice, and one read-only
 * app_mapped unmapped attaches one, and unmaps it by a system call that the
 * shim does not see app_mapped extra FILE   maps a segment's pages itself, from
 * the registry
 *
 * Says "ready" and waits for the end of its input.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "raw.h"

#define SIZE 65536

/* Where in the file the page at p is. */
static off_t offset_of(const void *p)
{
	unsigned long from, to, off;
	char line[500];
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &off) == 3 &&
			from <= (unsigned long)p && (unsigned long)p < to)
			return (off_t)(off + (unsigned long)p - from);
	exit(3);
}

int main(int argc, char **argv)
{
	int id = shmget(IPC_PRIVATE, SIZE, 0600), fd;
	char *p = shmat(id, NULL, 0), byte;
	off_t off;

	if (p == (void *)-1 || argc < 2)
		return 1;
	p[0] = 1;
	if (!strcmp(argv[1], "right")) {
		shmat(id, NULL, 0);
		shmat(id, NULL, SHM_RDONLY);
	} else if (!strcmp(argv[1], "unmapped")) {
		if (raw(SYS_mprotect, (long)p, SIZE, PROT_NONE, 0))
			return 1;
	} else {
		off = offset_of(p);
		shmdt(p);
		fd = open(argv[2], O_RDWR);
		if (mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, off) ==
			MAP_FAILED)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	shmctl(id, IPC_RMID, NULL);
	return 0;
}
