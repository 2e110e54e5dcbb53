// SPDX-License-Identifier: MIT
/*
 * The registries of IPC namespaces as files; see ipcns.h.
 */
#include "base/file.h"
#include "base/sys.h"
#include "registry/ipcns.h"

#define O_CLOEXEC 02000000
/* O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC */
#define O_MAKE (02 | 0100 | 0200 | 0400000 | O_CLOEXEC)
#define FILE_TYPE 0170000u
#define FILE_REGULAR 0100000u
#define NS_GET_ID 0x8008b70dUL
#define MODE_BITS 0666u
#define DEFAULT_MODE 0600u

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

/*
 * Numbers can be guessed, so in a directory that all may write (/dev/shm)
 * another user could put a file there before us. It counts if it is its maker's
 * who could as well have written PATH.
 */
static int is_trusted(const char *path, const char *name)
{
	struct file_stat base = stat_of(path), st;

	if (sys_call(__NR_lstat, name, &st) ||
		(st.mode & FILE_TYPE) != FILE_REGULAR)
		return 0;
	return !st.uid || st.uid == base.uid || (base.mode & 022) ||
	       st.uid == (u32)sys_call(__NR_geteuid);
}

int ipcns_of_thread(const char *path, u64 *ret)
{
	char name[IPCNS_PATH_SIZE(path)];
	u64 number = 0;
	int err;

	*ret = 0;
	ipcns_path(path, 0, name);
	if (sys_call(__NR_access, name, 0 /* F_OK */))
		return 0;
	err = ipcns_number(IPCNS_OWN, &number);
	if (err)
		return err == -EMFILE || err == -ENFILE ? err : 0;
	ipcns_path(path, number, name);
	if (is_trusted(path, name))
		*ret = number;
	return 0;
}

/* Who may write PATH may make files in there. */
static u32 dir_mode(const struct file_stat *base)
{
	return 01700 | (base->mode & 020 ? 030 : 0) |
	       (base->mode & 02 ? 03 : 0);
}

int ipcns_make(const char *path, u64 number)
{
	char name[IPCNS_PATH_SIZE(path)];
	struct file_stat base = stat_of(path);
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
	err = sys_call(__NR_fchmod, fd, base.mode & MODE_BITS);
	sys_call(__NR_close, fd);
	return (int)err;
}
