// SPDX-License-Identifier: MIT
/*
 * See filled.h.
 */
#include "filled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "registry/layout.h"

#define NAME_CAP 1024

/* What the file has besides holes. */
struct extent {
	off_t off;
	size_t len;
	char *bytes;
};
static struct extent *extents;
static size_t n_extents;
static off_t filled_size;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "fuzz: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void filled_take(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t at = 0, hole;
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	filled_size = st.st_size;
	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		hole = lseek(fd, at, SEEK_HOLE);
		len = (size_t)(hole - at);
		extents = realloc(extents, (n_extents + 1) * sizeof(*extents));
		extents[n_extents] = (struct extent){at, len, malloc(len)};
		if (pread(fd, extents[n_extents].bytes, len, at) !=
			(ssize_t)len)
			die("reading the registry");
		n_extents++;
		at = hole;
	}
	close(fd);
}

void filled_put(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	size_t i;

	if (fd < 0 || ftruncate(fd, filled_size))
		die(path);
	for (i = 0; i < n_extents; i++)
		if (pwrite(fd, extents[i].bytes, extents[i].len,
			    extents[i].off) != (ssize_t)extents[i].len)
			die("writing a registry");
	close(fd);
}

char *filled_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	char *base = mmap(NULL, REGION_SIZE, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (fd < 0 || base == MAP_FAILED)
		die(path);
	close(fd);
	return base;
}

void filled_make(const char *path, const char *shim, const char *tests)
{
	char program[NAME_CAP], word[8];
	int in[2], out[2];
	pid_t pid;

	snprintf(program, sizeof(program), "%s/fuzz/fill", tests);
	if (pipe(in) || pipe(out))
		die("pipe");
	pid = fork();
	if (!pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		setenv("LD_PRELOAD", shim, 1);
		setenv("IPCLIFT_REGISTRY", path, 1);
		execl(program, program, NULL);
		_exit(127);
	}
	close(out[1]);
	if (read(out[0], word, 6) != 6)
		die("fill");
	filled_take(path);
	if (write(in[1], "\n", 1) != 1)
		die("fill");
	waitpid(pid, NULL, 0);
	close(in[0]);
	close(in[1]);
	close(out[0]);
	filled_put(path);
}
