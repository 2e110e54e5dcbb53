// SPDX-License-Identifier: MIT
/*
 * Files and directories where there is no libc: what stat(2) fills, and the
 * names in a directory.
 */
#ifndef IPCLIFT_BASE_FILE_H
#define IPCLIFT_BASE_FILE_H

#include "base/sys.h"

/* The head of the kernel's struct stat, with space for all of it. */
struct file_stat {
	uint64_t dev, ino, nlink;
	uint32_t mode, uid, gid, pad;
	uint64_t rest[14];
};

/* Arbitrary; a process has few descriptors, and it stands on the stack. */
#define FILE_DIR_SIZE 512

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
	d->fd = sys_call(__NR_open, path,
		0200000 /* O_DIRECTORY */ | 02000000 /* O_CLOEXEC */, 0);
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

/* The decimal number that a name is, of a descriptor or a process; or -1. */
static inline int file_number(const char *name)
{
	int n = 0;

	if (*name < '0' || *name > '9')
		return -1;
	for (; *name >= '0' && *name <= '9'; name++)
		n = n * 10 + (*name - '0');
	return *name ? -1 : n;
}

#endif
