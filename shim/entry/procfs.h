// SPDX-License-Identifier: MIT
/*
 * The kernel's files about IPC, answered from the registry: what paths they
 * are, opening them, and the calls on their descriptors by the raw convention
 * (-errno).
 */
#ifndef IPCLIFT_ENTRY_PROCFS_H
#define IPCLIFT_ENTRY_PROCFS_H

#include "entry/fd.h"

/* Not ours: to be passed on as it is. */
#define PROCFS_PASS (-0x7fffffffL)

/* 1 in a process that has opened one of the files; what it inherits over fork
 * counts. */
extern int procfs_used __attribute__((visibility("hidden")));

/* open(2) of an absolute path: a descriptor, -errno, or PROCFS_PASS. path is
 * the caller's, unchecked. Anything but the very paths costs one comparison. */
long procfs_open(const char *path, int flags);
/* access(2). */
long procfs_access(const char *path, int mode);

/* On a descriptor with FD_PROC; PROCFS_PASS: the kernel has the answer. */
long procfs_read(int fd, void *buf, size_t len);
long procfs_pread(int fd, void *buf, size_t len, s64 off);
long procfs_write(int fd, const void *buf, size_t len);
long procfs_pwrite(int fd, const void *buf, size_t len, s64 off);
long procfs_writev(int fd, const void *iov, int n);
/* Make what fstat(2) says look like the kernel's file. */
struct stat;
void procfs_stat(int fd, struct stat *st);

/* Apply what libc itself wrote to a descriptor (ipc/controlfile.h): 0 or the
 * error that the write had. */
long procfs_commit(int fd);

#endif
