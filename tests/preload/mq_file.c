// SPDX-License-Identifier: MIT
/*
 * mq_file: a queue's descriptor as the regular file that it is: offset, reads
 * in pieces, what it refuses to be written, stat by every name, flags.
 */
#include "mq.h"
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

static char line[128];

static void offsets(mqd_t q)
{
	struct iovec two[2] = {{line, 10}, {line + 10, 100}};
	mqd_t other = dup(q);

	t_story("lseek and read");
	t_eq(lseek(q, 0, SEEK_CUR), 0);
	t_eq(lseek(q, 0, SEEK_END), 80);
	t_eq(read(q, line, sizeof(line)), 0);
	t_err(lseek(q, -1, SEEK_SET), EINVAL);
	t_err(lseek(q, 0, 77), EINVAL);
	t_eq(lseek(q, 0, SEEK_CUR), 80);
	t_eq(lseek(q, 0, SEEK_SET), 0);
	t_eq(read(q, line, 10), 10);
	t_eq(lseek(q, 0, SEEK_CUR), 10);
	t_eq(lseek(q, 5, SEEK_CUR), 15);
	t_eq(read(q, line, sizeof(line)), 45);
	t_eq(read(other, line, sizeof(line)), 0);
	t_eq(lseek(other, 0, SEEK_CUR), 60);
	t_eq(lseek(other, 0, SEEK_SET), 0);
	memset(line, 0, sizeof(line));
	t_eq(read(q, line, sizeof(line)), 60);
	t_true(!strncmp(line, "QSIZE:3 ", 8));
	t_eq(lseek(q, 3, SEEK_DATA), 3);
	t_eq(lseek(q, 3, SEEK_HOLE), 80);
	t_err(lseek(q, 80, SEEK_DATA), ENXIO);
	t_eq(lseek(q, 0, SEEK_SET), 0);
	t_eq(readv(q, two, 2), 60);
	t_eq(readv(q, two, 2), 0);
	t_eq(pread(q, line, sizeof(line), 0), 60);
	t_eq(pread(q, line, sizeof(line), 55), 5);
	t_eq(pread(q, line, sizeof(line), 60), 0);
	t_err(pread(q, line, sizeof(line), -1), EINVAL);
	t_eq(lseek(q, 0, SEEK_CUR), 60);
	t_eq(close(other), 0);
}

static void writes(mqd_t q)
{
	struct iovec one = {line, 10};
	struct stat st;
	mqd_t reader = mq_open(NAME, O_RDONLY),
	      writer = mq_open(NAME, O_WRONLY);

	t_story("nothing is written to it");
	t_err(write(q, "x", 1), EINVAL);
	t_err(pwrite(q, "x", 1, 0), EINVAL);
	t_err(writev(q, &one, 1), EINVAL);
	t_err(write(reader, "x", 1), EBADF);
	t_err(read(writer, line, 1), EBADF);
	t_err(pread(writer, line, 1, 0), EBADF);
	t_eq(ftruncate(q, 80), 0);
	t_err(ftruncate(q, -1), EINVAL);
	t_eq(ftruncate(q, 100), 0);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_size, 100);
	t_eq(st.st_mtim.tv_nsec, 0);
	t_eq(lseek(q, 0, SEEK_END), 100);
	t_eq(lseek(q, 0, SEEK_SET), 0);
	t_eq(ftruncate(q, 80), 0);
	t_err(ftruncate(reader, 80), EINVAL);
	t_err(fsync(q), EINVAL);
	t_true(mmap(NULL, 4096, PROT_READ, MAP_SHARED, q, 0) == MAP_FAILED &&
		errno == ENODEV);
	t_eq(mq_close(reader), 0);
	t_eq(mq_close(writer), 0);
}

/* Not every libc has it. */
static void by_statx(mqd_t q, const struct stat *st)
{
#ifdef STATX_BASIC_STATS
	struct statx x;

	t_eq(statx(q, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &x), 0);
	t_true(x.stx_ino == st->st_ino && x.stx_mode == st->st_mode);
	t_true(x.stx_size == 80 && x.stx_nlink == 1);
#else
	(void)q;
	(void)st;
#endif
}

static void stats(mqd_t q)
{
	struct stat st, at;

	t_story("stat by each name");
	t_eq(fstat(q, &st), 0);
	t_eq(fstatat(q, "", &at, AT_EMPTY_PATH), 0);
	t_true(st.st_ino == at.st_ino && st.st_mode == at.st_mode);
	t_true(S_ISREG(at.st_mode) && at.st_size == 80);
#ifdef __GLIBC__ /* musl's own reads the path; kernels before 6.11 as well */
	memset(&at, 0, sizeof(at));
	if (!fstatat(q, NULL, &at, AT_EMPTY_PATH))
		t_true(st.st_ino == at.st_ino && S_ISREG(at.st_mode));
#endif
	by_statx(q, &st);
	t_err(fstatat(q, "", &at, 0), ENOENT);
	t_err(fstatat(q, "x", &at, 0), ENOTDIR);
	t_eq(fstatat(AT_FDCWD, "/", &at, 0), 0);
	t_true(S_ISDIR(at.st_mode));
}

static void flags(mqd_t q)
{
	struct mq_attr attr;
	int i;

	t_story("flags that a queue does not have");
	t_err(fcntl(q, F_SETFL, O_NONBLOCK | O_DIRECT), EINVAL);
	t_eq(fcntl(q, F_SETOWN, getpid()), 0);
	t_eq(fcntl(q, F_SETFL, O_NONBLOCK | O_ASYNC), 0);
	t_eq(fcntl(q, F_GETFL) & (O_ASYNC | O_DIRECT | O_NONBLOCK), O_NONBLOCK);
	t_eq(mq_getattr(q, &attr), 0);
	t_eq(attr.mq_flags, O_NONBLOCK);
	t_err(fcntl(q, F_GETPIPE_SZ), EBADF);
	t_err(fcntl(q, F_SETPIPE_SZ, 4096), EBADF);
	/* Would a signal come, it came here. */
	for (i = 0; i < 4; i++) {
		t_eq(mq_send(q, "abc", 3, 1), 0);
		t_eq(mq_receive(q, line, sizeof(line), NULL), 3);
	}
}

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 64};
	struct pollfd p = {.events = POLLIN | POLLOUT};
	mqd_t q;

	alarm(T_LIMIT);
	mq_unlink(NAME);
	q = mq_open(NAME, O_CREAT | O_RDWR, 0640, &attr);
	t_true(q >= 0);
	t_eq(mq_send(q, "abc", 3, 1), 0);
	p.fd = q;
	t_eq(poll(&p, 1, 0), 1);
	offsets(q);
	writes(q);
	stats(q);
	flags(q);
	t_eq(poll(&p, 1, 0), 1);
	t_eq(p.revents, POLLIN | POLLOUT);
	t_eq(mq_close(q), 0);
	t_eq(mq_unlink(NAME), 0);
	return t_failed ? 1 : 0;
}
