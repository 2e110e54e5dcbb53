// SPDX-License-Identifier: MIT
/*
 * The registries of IPC namespaces as files; see ipcns.h.
 */
#include <linux/fcntl.h>
#include "base/file.h"
#include "base/statfs.h"
#include "base/sys.h"
#include "registry/ipcns.h"

#define O_MAKE (O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define NS_GET_ID 0x8008b70dUL
#define MODE_BITS 0666u
#define DEFAULT_MODE 0600u
#define MODE_MARKED 01000u /* S_ISVTX */
/* Numbers of inodes, not for good, begin here and have 32 bits. */
#define INODES_FROM 0xf0000000ULL
#define SHMALL "/proc/sys/kernel/shmall"
#define SHMALL_DEFAULT (~0ULL - (1ULL << 24))
#define MARKS (1ULL << 32) /* the values below it */

/* The number that is never given again in a boot (Linux 6.18), or the inode's,
 * which may be. */
int ipcns_number(const char *link, u64 *ret)
{
	long fd = sys_call(__NR_open, link, O_CLOEXEC, 0), err;
	struct file_stat st;

	*ret = 0;
	if (fd < 0)
		return (int)fd;
	err = sys_call(__NR_ioctl, fd, NS_GET_ID, ret);
	if (err) {
		err = sys_call(__NR_fstat, fd, &st);
		*ret = err ? 0 : st.ino;
	}
	sys_call(__NR_close, fd);
	return (int)err;
}

void ipcns_path(const char *path, u64 number, char *to)
{
	size_t cap = IPCNS_PATH_SIZE(path), n;

	n = str_add(to, cap, str_add(to, cap, 0, path), ".ns");
	if (!number)
		return;
	n = str_add(to, cap, n, "/");
	str_add_u64(to, cap, n, number);
}

/* Of PATH; one that cannot be asked is as we would make it. */
static struct file_stat stat_of(const char *path)
{
	struct file_stat st;

	if (sys_call(__NR_stat, path, &st))
		st = (struct file_stat){.mode = DEFAULT_MODE,
			.uid = (u32)sys_call(__NR_geteuid),
			.gid = (u32)-1};
	return st;
}

/* ---- the mark ---- */

/* Below the default, and told by the file: another file in its place (the name
 * was used again) has another mark. */
static u64 mark_of(const struct file_stat *st)
{
	u64 hash = (st->ino ^ st->dev << 40) * 0x9e3779b97f4a7c15ULL;

	return SHMALL_DEFAULT - 1 - (hash >> 32);
}

static int is_mark(u64 shmall)
{
	return shmall < SHMALL_DEFAULT && shmall >= SHMALL_DEFAULT - MARKS;
}

u64 ipcns_unmarked(u64 shmall)
{
	return is_mark(shmall) ? SHMALL_DEFAULT : shmall;
}

/* Of this thread's namespace, in which it is the first: what is set in there is
 * the default. 1 if it is marked. */
static int mark(const struct file_stat *st)
{
	char text[24];
	size_t n = str_add_u64(text, sizeof(text), 0, mark_of(st));
	struct sys_statfs fs;
	long fd = sys_call(__NR_open, SHMALL, O_WRONLY | O_CLOEXEC, 0),
	     done = -1;

	if (fd < 0)
		return 0;
	/* In a chroot it may be any file. */
	if (!sys_call(__NR_fstatfs, fd, &fs) && fs.type == SYS_PROCFS)
		done = sys_call(__NR_write, fd, text, n);
	sys_call(__NR_close, fd);
	return done == (long)n;
}

static u64 read_shmall(void)
{
	char text[32];
	const char *at = text;
	u64 v = 0;

	if (sys_read_file(SHMALL, text, sizeof(text)) <= 0)
		return 0;
	while (*at >= '0' && *at <= '9')
		v = v * 10 + (u64)(*at++ - '0');
	return v;
}

/* The file is marked, and this thread's namespace does not have that mark: it
 * is an ended namespace's of the same number. A limit that an administrator has
 * set is no mark, and then the number alone decides. */
static int is_another(const struct file_stat *st)
{
	u64 shmall;

	if (!(st->mode & MODE_MARKED))
		return 0;
	shmall = read_shmall();
	return (shmall == SHMALL_DEFAULT || is_mark(shmall)) &&
	       shmall != mark_of(st);
}

int ipcns_is_another(const char *name)
{
	struct file_stat st;

	return !sys_call(__NR_lstat, name, &st) && is_another(&st);
}

/* ---- which registry ---- */

/*
 * Numbers can be guessed, so in a directory that all may write (/dev/shm)
 * another user could put a file there before us. It counts if it is its maker's
 * who could as well have written PATH.
 */
static int is_trusted(const char *path, const struct file_stat *st)
{
	struct file_stat base = stat_of(path);

	return !st->uid || st->uid == base.uid || (base.mode & 022) ||
	       st->uid == (u32)sys_call(__NR_geteuid);
}

int ipcns_of_thread(const char *path, u64 *ret, u64 *ret_number)
{
	char name[IPCNS_PATH_SIZE(path)];
	struct file_stat dir, st;
	long hidden, err;

	*ret = *ret_number = 0;
	ipcns_path(path, 0, name);
	hidden = sys_call(__NR_stat, name, &dir);
	if (hidden && hidden != -EACCES)
		return 0;
	err = ipcns_number(IPCNS_OWN, ret_number);
	if (err)
		return err == -EMFILE || err == -ENFILE ? (int)err : 0;
	if (hidden)
		return -EACCES;
	ipcns_path(path, *ret_number, name);
	err = sys_call(__NR_lstat, name, &st);
	if (!err && (st.mode & FILE_TYPE) == FILE_REGULAR &&
		is_trusted(path, &st) && !is_another(&st))
		*ret = *ret_number;
	/* A directory that anybody may have made says nothing. */
	return err == -EACCES && is_trusted(path, &dir) ? -EACCES : 0;
}

/* Who may write PATH may make files in there. */
static u32 dir_mode(const struct file_stat *base)
{
	return 01700 | (base->mode & 020 ? 030 : 0) |
	       (base->mode & 02 ? 03 : 0);
}

/* An empty file, which the first caller in the namespace makes a registry. What
 * an ended namespace of that number left is unlinked first; who still has it
 * mapped keeps it. The sticky bit comes with the mode, the last step: without
 * it the file counts as unmarked. */
int ipcns_make(const char *path, u64 number)
{
	char name[IPCNS_PATH_SIZE(path)];
	struct file_stat base = stat_of(path), st;
	u32 marked = 0;
	long fd, err;

	ipcns_path(path, 0, name);
	if (!sys_call(__NR_mkdir, name, 0700)) {
		sys_call(__NR_chown, name, -1, base.gid);
		sys_call(__NR_chmod, name, dir_mode(&base));
	}
	ipcns_path(path, number, name);
	sys_call(__NR_unlink, name);
	fd = sys_call(__NR_open, name, O_MAKE, DEFAULT_MODE);
	if (fd < 0)
		return (int)fd;
	sys_call(__NR_fchown, fd, -1, base.gid);
	if (number >= INODES_FROM && !sys_call(__NR_fstat, fd, &st) &&
		mark(&st))
		marked = MODE_MARKED;
	err = sys_call(__NR_fchmod, fd, (base.mode & MODE_BITS) | marked);
	sys_call(__NR_close, fd);
	return (int)err;
}
