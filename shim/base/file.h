// SPDX-License-Identifier: MIT
/*
 * Files and directories where there is no libc: what stat(2) fills, and the
 * names in a directory.
 */
#ifndef IPCLIFT_BASE_FILE_H
#define IPCLIFT_BASE_FILE_H

#include "base/str.h"
#include "base/sys.h"

/* The kernel's struct stat on x86-64. */
struct file_stat {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rdev;
	int64_t size, blksize, blocks;
	uint64_t times[6];
	int64_t unused[3];
};
/* <linux/stat.h> does not define these if libc's errno.h is included. */
#define FILE_TYPE 0170000u
#define FILE_REGULAR 0100000u
#define FILE_DIRECTORY 0040000u
#define FILE_FIFO 0010000u

/* Arbitrary: a process has few descriptors, and the buffer is on the stack. */
#define FILE_DIR_SIZE 512
/* O_DIRECTORY | O_CLOEXEC; the kernel's header for them conflicts with
 * libc's, which some includers of this have. */
#define FILE_DIR_FLAGS (0200000 | 02000000)

struct file_dirent {
	uint64_t ino, off;
	uint16_t len;
	unsigned char type;
	char name[];
};

struct file_dir {
	long fd, n, at;
	char buf[FILE_DIR_SIZE] __attribute__((aligned(8)));
};

/* 0 or -errno. */
static inline int file_dir_open(struct file_dir *d, const char *path)
{
	d->n = d->at = 0;
	d->fd = sys_call(__NR_open, path, FILE_DIR_FLAGS, 0);
	return d->fd < 0 ? (int)d->fd : 0;
}

/* The next name, valid until the next call; NULL at the end. */
static inline const char *file_dir_next(struct file_dir *d)
{
	const struct file_dirent *e;

	if (d->at >= d->n) {
		d->at = 0;
		d->n = sys_call(__NR_getdents64, d->fd, d->buf, sizeof(d->buf));
		if (d->n <= 0)
			return NULL;
	}
	e = (const struct file_dirent *)(d->buf + d->at);
	d->at += e->len;
	return e->name;
}

static inline void file_dir_close(struct file_dir *d)
{
	sys_call(__NR_close, d->fd);
}

/* The number of a descriptor or process whose decimal name this is; or -1. */
static inline int file_number(const char *name)
{
	int n = str_number(&name);

	return *name ? -1 : n;
}

#endif
