// SPDX-License-Identifier: MIT
/*
 * The paths of the queues' directory; see mqdir.h.
 *
 * The kernel is asked first and its answer, which is that of the real directory
 * (mostly ENOENT), is replaced: so no pointer is looked at that it has not
 * found good. Only where its answer would have changed the real directory the
 * path is looked at before, with a system call if need be.
 *
 * A descriptor of the directory is one of the real directory, or of / where
 * there is none; the table says what it is (FD_DIR).
 *
 * Whether the current directory is this one is asked of the kernel once, and
 * again after chdir and fchdir: at a plain name that the kernel did not find,
 * at "." as a directory, and before a file is made.
 *
 * Not served: links that lead here, system calls by number but opens and
 * access, libc's own listing (scandir, nftw, fts, glob), a relative path from
 * without (mqueue/NAME in /dev), the directory's own times, and what the kernel
 * refuses here with EPERM (mkdir, symlink, rename, link): it is done in the real
 * directory, or says ENOENT. What libc writes by itself to
 * a stream whose descriptor a shell has put there is not refused.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <unistd.h>
#include "base/str.h"
#include "entry/file/libchead.h"
#include "entry/file/mqdir.h"
#include "entry/file/mqfile.h"
#include "object/perm.h"
#include "registry/guard.h"

#define DIR_MODE (S_IFDIR | 01777)
#define DIR_INO 1

int mqdir_relative;
/* Of the current directory. That it is here is asked each time, for it may be
 * changed by number; but not where it is / in place of none (IS_ROOT). In a
 * vfork child it is not the parent's, whose memory this is. */
static enum { NOT_KNOWN, IS_ANOTHER, IS_ROOT } cwd;

/* ---- paths ---- */

/* "/dev/mqueue", "/dev/mqueue/": what is behind it, or NULL. */
static const char *behind(const char *path)
{
	path = str_after(path, MQDIR);
	return path && (!*path || *path == '/') ? path : NULL;
}

static const char *skip(const char *path, char what)
{
	while (*path == what)
		path++;
	return path;
}

/* path within the directory; 0 if it leads out of it. */
static int parse(const char *path, struct mqdir_at *ret)
{
	*ret = (struct mqdir_at){.kind = MQDIR_ROOT};
	for (path = skip(path, '/');
		path[0] == '.' && (path[1] == '/' || !path[1]);
		path = skip(path + 1, '/'))
		;
	if (!*path)
		return 1;
	if (path[0] == '.' && path[1] == '.' && (path[2] == '/' || !path[2]))
		return 0;
	ret->kind = MQDIR_QUEUE;
	ret->name = path;
	while (path[ret->len] && path[ret->len] != '/')
		ret->len++;
	ret->as_directory = path[ret->len] == '/';
	return 1;
}

static int cwd_is_here(void)
{
	char path[sizeof(MQDIR) + 1];
	int here;

	if (likely(__atomic_load_n(&cwd, __ATOMIC_RELAXED) != NOT_KNOWN))
		return cwd == IS_ROOT;
	here = sys_call(__NR_getcwd, path, sizeof(path)) == sizeof(MQDIR) &&
	       behind(path);
	if (here)
		mqdir_relative = 1;
	else if (!process_in_vfork())
		__atomic_store_n(&cwd, IS_ANOTHER, __ATOMIC_RELAXED);
	return here;
}

void mqdir_moved(int fd)
{
	char root[2];
	int here = fd >= 0 && mqdir_fd(fd) &&
		   sys_call(__NR_getcwd, root, sizeof(root)) == sizeof(root);

	if (process_in_vfork() && here)
		return;
	__atomic_store_n(&cwd, here ? IS_ROOT : NOT_KNOWN, __ATOMIC_RELAXED);
	if (here)
		mqdir_relative = 1;
}

/* NAME or ./NAME */
static int is_plain(const char *path)
{
	if (path[0] == '.' && path[1] == '/')
		path += 2;
	while (*path && *path != '/')
		path++;
	return !*path;
}

int mqdir_find_slow(int dir, const char *path, struct mqdir_at *ret)
{
	int here;

	if (path[0] == '/') {
		path = behind(path);
		here = path != NULL;
	} else if (dir == AT_FDCWD) {
		here = *path && (mqdir_relative || is_plain(path)) &&
		       cwd_is_here();
	} else {
		here = *path && mqdir_fd(dir);
	}
	return here && process_routes(FAC_MQ) && parse(path, ret);
}

/* As sys_readable of one byte; the page found good last is remembered, as
 * registry/guard.h does. */
static int can_read(const char *p)
{
	static uintptr_t good;
	uintptr_t page = (uintptr_t)p / SYS_PAGE;

	if (unlikely((uintptr_t)p < GUARD_LOWEST))
		return 0;
	if (likely(__atomic_load_n(&good, __ATOMIC_RELAXED) == page))
		return 1;
	if (!sys_readable(p, 1))
		return 0;
	__atomic_store_n(&good, page, __ATOMIC_RELAXED);
	return 1;
}

/* A string that cannot be read is none of ours. */
static int begins_here(const char *path)
{
	const char *dir = MQDIR;

	for (; *dir; dir++, path++) {
		if ((uintptr_t)path % SYS_PAGE == 0 && !can_read(path))
			return 0;
		if (*path != *dir)
			return 0;
	}
	return 1;
}

int mqdir_is_before(int dir, const char *path, struct mqdir_at *ret)
{
	if (!can_read(path))
		return 0;
	if (*path == '/')
		return begins_here(path) && mqdir_find_slow(dir, path, ret);
	if (dir != AT_FDCWD)
		return mqdir_fd(dir) && mqdir_find_slow(dir, path, ret);
	return cwd_is_here() && mqdir_find_slow(dir, path, ret);
}

/* ---- the calls ---- */

static struct caller *queue_at(
	const struct mqdir_at *at, struct mq_desc *ret, long *ret_err)
{
	int err = 0;
	struct caller *c = process_get(&err);

	*ret_err = -err;
	if (!c)
		return NULL;
	*ret_err = mq_find_name(c, at->name, at->len, ret);
	if (!*ret_err && at->as_directory)
		*ret_err = -ENOTDIR;
	return *ret_err ? NULL : c;
}

static long open_root(int flags)
{
	int err = 0;
	struct caller *c;
	long fd;

	if ((flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) == O_CREAT ||
		((flags & O_ACCMODE) && !(flags & O_PATH)))
		return flags & O_EXCL && flags & O_CREAT ? -EEXIST : -EISDIR;
	c = process_get(&err);
	if (!c)
		return -err;
	flags = O_RDONLY | O_DIRECTORY |
		(flags & (O_CLOEXEC | O_NONBLOCK | O_PATH));
	fd = sys_call(__NR_open, MQDIR, flags);
	if (fd == -ENOENT)
		fd = sys_call(__NR_open, "/", flags);
	if (fd >= 0) {
		fd_enter_dir(c, (int)fd);
		mqdir_relative = 1;
	}
	return fd;
}

static long create(
	struct caller *c, const struct mqdir_at *at, int flags, u32 mode)
{
	u32 access = (u32)flags & O_ACCMODE;
	struct mq_desc new;
	long fd;

	if (access == O_ACCMODE)
		access = O_RDWR;
	fd = mqueue_open(c, at->name, at->len,
		access | MQ_O_CREAT | MQ_O_LARGEFILE |
			((u32)flags & (O_EXCL | O_NONBLOCK)),
		mode, NULL, &new);
	if (fd < 0)
		return fd;
	fd_enter(c, &new);
	if (!(flags & O_CLOEXEC)) {
		sys_call(__NR_fcntl, fd, F_SETFD, 0);
		mq_watch(c, &new, MQ_POLLED_IN | MQ_POLLED_OUT);
	}
	return fd;
}

static long open_queue(const struct mqdir_at *at, int flags, u32 mode)
{
	struct mq_desc d, new;
	struct caller *c;
	int none;
	long err, fd;

	if (unlikely(at->as_directory && (flags & O_CREAT)))
		return -EISDIR;
	c = queue_at(at, &d, &err);
	if (!c && err == -ENOENT && (flags & O_CREAT)) {
		c = process_get(&none);
		return create(c, at, flags, mode);
	}
	if (!c)
		return err;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return -EEXIST;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	if (flags & O_DIRECT)
		return -EINVAL;
	fd = mqueue_open_again(c, &d, (u32)flags, &new);
	if (fd >= 0)
		fd_enter(c, &new);
	return fd == -EBADF ? -ENOENT : fd;
}

long mqdir_open(const struct mqdir_at *at, int flags, u32 mode)
{
	return at->kind == MQDIR_ROOT ? open_root(flags)
				      : open_queue(at, flags, mode);
}

int mqdir_opened(
	int dir, const char *path, int flags, u32 mode, int fd, int before)
{
	long answer = fd < 0 ? -*__errno_location() : fd;
	struct mqdir_at at;

	/* "." is there, wherever we are. */
	if (unlikely(path && fd >= 0 && dir == AT_FDCWD &&
		     (flags & O_DIRECTORY) && path[0] == '.' && !path[1]))
		cwd_is_here();
	if (likely(!mqdir_is(dir, path, answer, &at)))
		return fd;
	if (fd >= 0)
		sys_call(__NR_close, fd);
	*__errno_location() = before;
	return (int)process_return(mqdir_open(&at, flags, mode));
}

long mqdir_access(const struct mqdir_at *at, int mode)
{
	struct mq_desc d;
	struct caller *c;
	long err;

	if (at->kind == MQDIR_ROOT)
		return 0;
	c = queue_at(at, &d, &err);
	if (!c)
		return err;
	if (mode & X_OK)
		return -EACCES;
	return perm_check_file(c, d.s,
		(mode & R_OK ? PERM_R : 0) | (mode & W_OK ? PERM_W : 0));
}

long mqdir_unlink(const struct mqdir_at *at, int flags)
{
	struct mq_desc d;
	struct caller *c;
	long err;

	if (at->kind == MQDIR_ROOT)
		return flags & AT_REMOVEDIR ? -EBUSY : -EISDIR;
	c = queue_at(at, &d, &err);
	if (!c)
		return err;
	return flags & AT_REMOVEDIR ? -ENOTDIR
				    : mqueue_unlink(c, at->name, at->len);
}

/* The directory's mode stays what it is, and is what whoever mounts it sets. */
static long chmod_root(u32 mode)
{
	int err = 0;
	struct caller *c = process_get(&err);

	if (!c)
		return -err;
	return (mode & 07777) == (DIR_MODE & 07777) &&
			       !perm_file_uid(perm_cred(c))
		       ? 0
		       : -EPERM;
}

long mqdir_chmod(const struct mqdir_at *at, u32 mode)
{
	struct mq_desc d;
	struct caller *c;
	long err;

	if (at->kind == MQDIR_ROOT)
		return chmod_root(mode);
	c = queue_at(at, &d, &err);
	return c ? mq_chmod(c, &d, mode) : err;
}

long mqdir_chown(const struct mqdir_at *at, u32 uid, u32 gid)
{
	struct mq_desc d;
	long err = -EPERM;
	struct caller *c =
		at->kind == MQDIR_ROOT ? NULL : queue_at(at, &d, &err);

	return c ? mq_chown(c, &d, uid, gid) : err;
}

long mqdir_utimens(const struct mqdir_at *at, const void *times)
{
	struct mq_desc d;
	int none = 0;
	struct caller *c = process_get(&none);
	s64 t[2];
	long err, missing;

	if (!c)
		return -none;
	err = mqfile_times(c, times, t);
	if (err == -EFAULT ||
		(!err && t[0] == MQ_TIME_OMIT && t[1] == MQ_TIME_OMIT))
		return err;
	if (at->kind == MQDIR_ROOT)
		return err ? err : -EPERM;
	/* A wrong time is refused behind a wrong name. */
	if (!queue_at(at, &d, &missing))
		return missing;
	return err ? err : mq_set_times(c, &d, t[0], t[1]);
}

static void stat_root(struct caller *c, struct stat *to)
{
	const struct header *h = caller_header(c);
	s64 time = h->mq_changed ? h->mq_changed : h->created;

	to->st_dev = c->region.dev;
	to->st_ino = DIR_INO;
	to->st_mode = DIR_MODE;
	to->st_nlink = 2;
	to->st_size = 40 + 20 * (off_t)h->ids[FAC_MQ].n_keys;
	to->st_blksize = 4096;
	to->st_atim.tv_sec = to->st_mtim.tv_sec = to->st_ctim.tv_sec = time;
}

long mqdir_stat(const struct mqdir_at *at, struct stat *to)
{
	const struct mqueue *q;
	struct mq_stat st;
	struct mq_desc d;
	struct caller *c;
	int none = 0;
	long err;

	if (at->kind == MQDIR_ROOT) {
		c = process_get(&none);
		if (!c)
			return -none;
		__builtin_memset(to, 0, sizeof(*to));
		stat_root(c, to);
		return 0;
	}
	c = queue_at(at, &d, &err);
	if (c)
		err = mq_stat(c, &d, &st);
	if (err)
		return err == -EBADF ? -ENOENT : err;
	q = mq_body(c, d.s);
	__builtin_memset(to, 0, sizeof(*to));
	to->st_dev = q && q->dev ? q->dev : c->region.dev;
	mqfile_fill(&st, to);
	return 0;
}

static struct statx_timestamp stamp(struct timespec t)
{
	return (struct statx_timestamp){.tv_sec = t.tv_sec};
}

long mqdir_statx(const struct mqdir_at *at, struct statx *to)
{
	struct stat st;
	long err = mqdir_stat(at, &st);

	if (err)
		return err;
	__builtin_memset(to, 0, sizeof(*to));
	to->stx_mask = STATX_BASIC_STATS;
	to->stx_blksize = 4096;
	to->stx_nlink = (u32)st.st_nlink;
	to->stx_uid = st.st_uid;
	to->stx_gid = st.st_gid;
	to->stx_mode = (u16)st.st_mode;
	to->stx_ino = st.st_ino;
	to->stx_size = (u64)st.st_size;
	to->stx_atime = stamp(st.st_atim);
	to->stx_mtime = stamp(st.st_mtim);
	to->stx_ctime = stamp(st.st_ctim);
	to->stx_dev_major = (u32)(st.st_dev >> 8 & 0xfff);
	to->stx_dev_minor =
		(u32)((st.st_dev & 0xff) | (st.st_dev >> 12 & 0xffffff00));
	return 0;
}

/* ---- listing ---- */

/* Of two queues the newer one, which is first, has the later generation. */
static void sift(u64 *heap, u32 at, u32 n)
{
	u32 child;
	u64 moved;

	for (; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && heap[child + 1] < heap[child])
			child++;
		if (heap[at] <= heap[child])
			return;
		moved = heap[at];
		heap[at] = heap[child];
		heap[child] = moved;
	}
}

/* Descending. */
static void sort(u64 *at, u32 n)
{
	u32 i;
	u64 least;

	for (i = n / 2; i-- > 0;)
		sift(at, i, n);
	for (; n > 1; n--) {
		least = at[0];
		at[0] = at[n - 1];
		at[n - 1] = least;
		sift(at, 0, n - 1);
	}
}

u32 mqdir_list(struct caller *c, u64 *ret, u32 most)
{
	const struct mqueue *q;
	struct slot *s;
	u32 idx = 0, n = 0;
	u64 ident;

	for (; n < most && (idx = ids_next(c, FAC_MQ, idx)) < IDX_MAX; idx++) {
		s = region_slot(&c->region, FAC_MQ, idx & ids_mask(c));
		ident = atom_load_acquire(&s->ident);
		q = ident & IDENT_LIVE ? mq_body(c, s) : NULL;
		if (q && !atom_load_acquire(&q->unlinked))
			ret[n++] = ident;
	}
	sort(ret, n);
	return n;
}

int mqdir_entry(struct caller *c, u64 ident, char name[256], u64 *ret_ino)
{
	struct mq_desc d = {.s = ids_slot(c, FAC_MQ, IDENT_ID(ident)),
		.ident = ident,
		.fd = -1};
	struct mq_stat st;
	char path[300];
	size_t n, i;

	if (mq_stat(c, &d, &st) || !st.nlink)
		return -ENOENT;
	n = mq_path(c, &d, path, sizeof(path));
	if (n < 2 || n > 256)
		return -ENOENT;
	for (i = 1; i < n; i++)
		name[i - 1] = path[i];
	name[n - 1] = 0;
	*ret_ino = st.ino;
	return 0;
}
