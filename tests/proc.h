// SPDX-License-Identifier: MIT
/*
 * proc.h - files of /proc/PID, read whole.
 */
#ifndef PROC_H
#define PROC_H

#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

/* As text with its end, cut at cap. 0: there is no such process. */
static inline int proc_read(pid_t pid, const char *name, char *text, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, cap - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

#endif
