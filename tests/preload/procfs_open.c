// SPDX-License-Identifier: MIT
/*
 * procfs_open: the kernel's files about IPC and a queue by openat2(2), by
 * /proc/self/fd of an O_PATH descriptor, by links from other places, and as a
 * stream of wide characters; and paths that cannot be read.
 */
#include "procfs.h"
#include <mqueue.h>
#include <stdint.h>
#include <wchar.h>

#define QUEUE "/dev/mqueue/procfs_open"
/* Of linux/openat2.h. */
#define NR_OPENAT2 437
#define NO_SYMLINKS 4
#define BENEATH 8

static int queue;

static int openat2(int dir, const char *path, int flags, int resolve)
{
	uint64_t how[3] = {(uint64_t)flags, 0, (uint64_t)resolve};

	return (int)syscall(NR_OPENAT2, dir, path, how, sizeof(how));
}

/* Is it the list that has our queue in it? */
static int lists_it(int fd)
{
	char row[40], *text;

	if (fd < 0)
		return 0;
	snprintf(row, sizeof(row), " %10d ", queue);
	text = p_text(fd, 4096);
	close(fd);
	return strstr(text, row) != NULL;
}

static int is_status(int fd)
{
	char *text;

	if (fd < 0)
		return 0;
	text = p_text(fd, 4096);
	close(fd);
	return !strncmp(text, "QSIZE:", 6);
}

static int reopened(const char *format, int fd, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), format, fd);
	return open(path, flags);
}

static void by_openat2(void)
{
	int dir;

	t_story("openat2");
	t_true(lists_it(openat2(AT_FDCWD, IPC "msg", O_RDONLY, 0)));
	t_true(lists_it(openat2(AT_FDCWD, IPC "msg", O_RDONLY, NO_SYMLINKS)));
	dir = open("/proc/sysvipc", O_RDONLY);
	t_true(lists_it(openat2(dir, "msg", O_RDONLY, 0)));
	t_err(openat2(dir, IPC "msg", O_RDONLY, BENEATH), EXDEV);
	close(dir);
	t_true(is_status(openat2(AT_FDCWD, QUEUE, O_RDONLY, 0)));
	t_err(openat2(AT_FDCWD, QUEUE ".none", O_RDONLY, 0), ENOENT);
	t_err(openat2(AT_FDCWD, NULL, O_RDONLY, 0), EFAULT);
	t_err(syscall(NR_OPENAT2, AT_FDCWD, QUEUE, NULL, (size_t)24), EFAULT);
	t_err(syscall(NR_OPENAT2, AT_FDCWD, QUEUE, NULL, (size_t)8), EINVAL);
}

static void by_descriptor(void)
{
	char c;
	int fd;

	t_story("O_PATH, opened again");
	fd = open(IPC "msg", O_PATH);
	t_err((int)read(fd, &c, 1), EBADF);
	t_true(lists_it(reopened("/proc/self/fd/%d", fd, O_RDONLY)));
	t_true(lists_it(reopened("/dev/fd/%d", fd, O_RDONLY)));
	close(fd);
	fd = open(QUEUE, O_PATH);
	t_true(is_status(reopened("/proc/self/fd/%d", fd, O_RDONLY)));
	close(fd);
}

/* From a directory that is neither in /dev nor in /proc. */
static void by_link(void)
{
	char dir[] = "/tmp/procfs_open.XXXXXX", path[64];

	t_story("links");
	t_true(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/to", dir);
	t_eq(symlink("/proc/sysvipc", path), 0);
	snprintf(path, sizeof(path), "%s/to/msg", dir);
	t_true(lists_it(open(path, O_RDONLY)));
	t_true(lists_it(openat(AT_FDCWD, path, O_RDONLY)));
	t_err(open(path, O_RDONLY | O_DIRECTORY), ENOTDIR);
	snprintf(path, sizeof(path), "%s/to/none", dir);
	t_err(open(path, O_RDONLY), ENOENT);
	snprintf(path, sizeof(path), "%s/msg", dir);
	t_eq(symlink("/proc/sysvipc/msg", path), 0);
	t_true(lists_it(open(path, O_RDONLY)));
	unlink(path);
	t_eq(close(open(path, O_RDWR | O_CREAT, 0600)), 0);
	t_true(!lists_it(open(path, O_RDONLY)));
	unlink(path);
	snprintf(path, sizeof(path), "%s/to", dir);
	unlink(path);
	rmdir(dir);
}

static void in_wide_characters(void)
{
	wchar_t line[100], row[40];
	int found = 0;
	FILE *f;

	t_story("ccs=");
	f = fopen(IPC "msg", "r,ccs=UTF-8");
	t_true(f != NULL);
	swprintf(row, 40, L" %10d ", queue);
	while (f && fgetws(line, 100, f))
		found |= wcsstr(line, row) != NULL;
	t_true(found);
	t_true(f && fwide(f, 0) > 0);
	t_true(f && !fclose(f));
}

/* On memory that is not there. */
static void at_nothing(void)
{
	static char *volatile const bad[] = {NULL, (char *)8, (char *)-8};

	t_story("bad pointers");
	for (int i = 0; i < 3; i++) {
		t_err(open(bad[i], O_CREAT | O_RDWR, 0600), EFAULT);
		t_err((int)syscall(SYS_openat, AT_FDCWD, bad[i], O_CREAT, 0600),
			EFAULT);
		t_err(creat(bad[i], 0600), EFAULT);
		t_err(open(bad[i], O_RDONLY), EFAULT);
		t_err(unlink(bad[i]), EFAULT);
		t_err(chmod(bad[i], 0600), EFAULT);
		t_err(truncate(bad[i], 0), EFAULT);
		t_err(access(bad[i], R_OK), EFAULT);
	}
}

/* glibc makes this call for faccessat with flags. */
static void by_faccessat2(void)
{
	const long nr = 439;

	t_story("faccessat2");
	t_eq(syscall(nr, AT_FDCWD, QUEUE, R_OK | W_OK, 0), 0);
	t_eq(faccessat(AT_FDCWD, QUEUE, R_OK, AT_EACCESS), 0);
	t_err(syscall(nr, AT_FDCWD, QUEUE, X_OK, 0), EACCES);
	t_err(syscall(nr, AT_FDCWD, QUEUE, 64, 0), EINVAL);
	t_err(syscall(nr, AT_FDCWD, QUEUE, R_OK, 1), EINVAL);
	t_err(syscall(nr, AT_FDCWD, "/dev/mqueue/none", F_OK, 0), ENOENT);
}

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
	mqd_t q;

	t_begin();
	if (openat2(AT_FDCWD, "/", O_PATH, 0) < 0)
		return 77;
	queue = msgget(IPC_PRIVATE, 0600);
	q = mq_open("/procfs_open", O_CREAT | O_RDWR, 0600, &attr);
	if (!p_has_mqueue(QUEUE))
		return 77;
	by_openat2();
	by_descriptor();
	by_link();
	in_wide_characters();
	at_nothing();
	by_faccessat2();
	mq_close(q);
	mq_unlink("/procfs_open");
	msgctl(queue, IPC_RMID, NULL);
	return t_end();
}
