// SPDX-License-Identifier: MIT
/*
 * A queue's descriptor as the regular file that it is in the kernel
 * (doc/kernel-semantics.md §7.10). fd is one with FD_MQ; results are -errno.
 */
#ifndef IPCLIFT_ENTRY_FILE_MQFILE_H
#define IPCLIFT_ENTRY_FILE_MQFILE_H

#include <sys/stat.h>
#include "entry/file/fd.h"

/* The queue of such a descriptor, and who calls; NULL with *ret_errno: EBADF if
 * it is none of this thread's IPC namespace. */
struct caller *mqfile_desc(int fd, struct mq_desc *ret, int *ret_errno);

/* read(2) and its kin of a queue's descriptor: bytes of the status line (§9.2),
 * or -errno. */
long mqfile_read(int fd, void *buf, size_t len);
long mqfile_pread(int fd, void *buf, size_t len, s64 off);
/* Any kind of write: -EINVAL, or -EBADF if it is not open for writing. */
long mqfile_write(int fd);
/* After a flush inside libc, which may have written to the FIFO: -errno of the
 * write if it has, else 0. The bytes are removed. */
long mqfile_written(int fd);
long mqfile_lseek(int fd, s64 off, int whence);
/* Close fd, and return a descriptor of a memory file that holds the status line,
 * close-on-exec, at offset 0. */
long mqfile_snapshot(int fd);
long mqfile_readv(int fd, const void *iov, int n);
long mqfile_truncate(int fd, s64 size);
/* What utimensat(2) takes, in *ret as mq_set_times takes it, cut to whole
 * seconds: 0, -EFAULT, -EINVAL. NULL is now. */
int mqfile_times(struct caller *c, const void *user, s64 ret[2]);
long mqfile_utimens(int fd, const void *times);
/* What statfs(2) says of that file system. */
struct statfs;
void mqfile_statfs(struct statfs *to);
/* O_LARGEFILE, or 0: whether F_GETFL shows it. */
long mqfile_large(int fd);
/* May fcntl(2) set such a lock: 0, -EFAULT, or -EBADF for the wrong access. */
long mqfile_may_lock(int fd, const void *flock);
/* The error of mmap(2). */
long mqfile_map_error(int fd, int prot, int flags);
/* Replace what fstat(2) said of the FIFO by what it says of the queue. */
void mqfile_stat(int fd, struct stat *to);
/* The same for a queue that is not open; st_dev stays. */
void mqfile_fill(const struct mq_stat *st, struct stat *to);
struct statx;
void mqfile_statx(int fd, struct statx *to);

#endif
