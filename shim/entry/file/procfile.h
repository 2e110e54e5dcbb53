// SPDX-License-Identifier: MIT
/*
 * The calls on the descriptors of the kernel's files about IPC, which procfs.c
 * has opened, by the raw convention (-errno).
 */
#ifndef IPCLIFT_ENTRY_FILE_PROCFILE_H
#define IPCLIFT_ENTRY_FILE_PROCFILE_H

#include "entry/file/fd.h"

/* On a descriptor with FD_PROC; FD_PASS: the kernel has the answer. */
long procfs_read(int fd, void *buf, size_t len);
long procfs_pread(int fd, void *buf, size_t len, s64 off);
long procfs_write(int fd, const void *buf, size_t len);
long procfs_pwrite(int fd, const void *buf, size_t len, s64 off);
long procfs_readv(int fd, const void *iov, int n);
long procfs_writev(int fd, const void *iov, int n);
long procfs_lseek(int fd, s64 off, int whence);
/* Make what fstat(2) says look like the kernel's file. */
struct stat;
void procfs_stat(int fd, struct stat *st);

/* Apply what libc itself wrote to a descriptor (object/controlfile.h): 0 or the
 * error that the write had. */
long procfs_commit(int fd);

#endif
