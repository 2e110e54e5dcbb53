// SPDX-License-Identifier: MIT
/*
 * /dev/mqueue: the paths of the directory in which the kernel shows the POSIX
 * queues (doc/kernel-semantics.md §9.1), answered from the registry while the
 * facility is routed here. The real directory, if there is one, stays as it is.
 *
 * A path is one of these if it begins with /dev/mqueue; or is relative to a
 * descriptor of the directory, or to a current directory that is it. Results
 * are -errno.
 */
#ifndef IPCLIFT_ENTRY_FILE_MQDIR_H
#define IPCLIFT_ENTRY_FILE_MQDIR_H

#include <fcntl.h>
#include <sys/stat.h>
#include "entry/file/fd.h"

#define MQDIR "/dev/mqueue"

struct mqdir_at {
	enum { MQDIR_ROOT, MQDIR_QUEUE } kind;
	const char *name; /* of a queue, not terminated */
	size_t len;
	int as_directory; /* a slash follows: it must be one */
};

/* A descriptor of the directory is open here, or it is the current one. */
extern int mqdir_relative __attribute__((visibility("hidden")));

/* 1 with *ret if path, relative to the descriptor dir, is one of these and the
 * facility is served; it can be read. */
int mqdir_find_slow(int dir, const char *path, struct mqdir_at *ret);
/* 1 if an absolute path may be one of these. */
static inline int mqdir_prefix(const char *path)
{
	return path[1] == 'd' && path[2] == 'e' && path[3] == 'v' &&
	       path[4] == '/' && path[5] == 'm' && path[6] == 'q';
}
/* find_slow for a path on which the kernel has answered ret by its own
 * convention: 1 with *ret if it is one of these. For others some compares. */
static inline int mqdir_is(
	int dir, const char *path, long answer, struct mqdir_at *ret)
{
	if (unlikely(answer == -EFAULT || answer == -EINVAL || !path))
		return 0;
	if (likely(path[0] == '/'))
		return unlikely(mqdir_prefix(path)) &&
		       mqdir_find_slow(dir, path, ret);
	return unlikely(mqdir_relative || answer == -ENOENT) &&
	       mqdir_find_slow(dir, path, ret);
}
/* Before a call that would change something in the real one. The pointer may
 * be bad, which is the kernel's to say. */
int mqdir_is_before(int dir, const char *path, struct mqdir_at *ret);

/* The call of that name on what `at` says: a result or -errno, as the kernel's
 * for its own directory. */
long mqdir_open(const struct mqdir_at *at, int flags, u32 mode);
long mqdir_access(const struct mqdir_at *at, int mode);
long mqdir_unlink(const struct mqdir_at *at, int flags);
long mqdir_chmod(const struct mqdir_at *at, u32 mode);
long mqdir_chown(const struct mqdir_at *at, u32 uid, u32 gid);
long mqdir_utimens(const struct mqdir_at *at, const void *times);
long mqdir_stat(const struct mqdir_at *at, struct stat *to);
struct statx;
long mqdir_statx(const struct mqdir_at *at, struct statx *to);
/* The answer of libc or the kernel to open(2): what the program gets. errno was
 * `before`. */
int mqdir_opened(
	int dir, const char *path, int flags, u32 mode, int fd, int before);

/* fd is one of the directory. */
static inline int mqdir_fd(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	return unlikely(e && (e->info & FD_DIR));
}
/* chdir(2) or fchdir(2) was called; fd: to there, or -1. */
void mqdir_moved(int fd);
/* Of a readdir: the queues, the newest first, up to `most` idents: how many
 * there are. And the name and inode of one: 0, or -ENOENT if it is gone. */
u32 mqdir_list(struct caller *c, u64 *ret, u32 most);
int mqdir_entry(struct caller *c, u64 ident, char name[256], u64 *ret_ino);

#endif
