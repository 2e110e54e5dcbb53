// SPDX-License-Identifier: MIT
/*
 * mq_namespace: descriptors of queues as files, in a process that has come into
 * another IPC namespace: of a queue that it opens there, and of one that it had
 * open before.
 *
 * The bug: once a process had moved, read, lseek, fchmod and their kin of any
 * queue said EBADF, fstat a FIFO, F_GETFL that it is open for reading only.
 */
#include "mq.h"
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#ifndef CLONE_NEWIPC
#define CLONE_NEWIPC 0x08000000
#endif
#define OTHER "/other"

static void is_file(int fd, unsigned mode)
{
	struct stat st;
	char path[40];

	t_eq(fstat(fd, &st), 0);
	t_eq(st.st_mode, S_IFREG | mode);
	t_eq(st.st_size, 80);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	t_eq(stat(path, &st), 0);
	t_eq(st.st_mode, S_IFREG | mode);
}

static void lines(mqd_t q, const char *name)
{
	char line[128] = "", path[40];
	int again;
	FILE *f;

	t_eq(lseek(q, 0, SEEK_CUR), 0);
	t_eq(read(q, line, 10), 10);
	t_eq(read(q, line + 10, 100), 50);
	t_true(!strncmp(line, "QSIZE:4 ", 8));
	t_eq(lseek(q, 6, SEEK_SET), 6);
	again = dup(q);
	t_eq(lseek(again, 0, SEEK_CUR), 6);
	t_eq(close(again), 0);
	t_eq(read(q, line, 1), 1);
	t_true(line[0] == '4');
	t_eq(pread(q, line, 2, 7), 2);
	t_true(line[0] == ' ');
	snprintf(path, sizeof(path), "/proc/self/fd/%d", q);
	memset(line, 0, sizeof(line));
	t_eq(readlink(path, line, sizeof(line)), (long)strlen(name));
	t_true(!strcmp(line, name));
	again = open(path, O_RDONLY);
	t_eq(read(again, line, 3), 3);
	t_true(!strncmp(line, "QSI", 3));
	t_eq(close(again), 0);
	f = fopen(path, "r");
	t_true(f && fgets(line, sizeof(line), f) && strlen(line) == 60);
	t_eq(f ? fclose(f) : -1, 0);
}

static void refused(mqd_t q, mqd_t to_write)
{
	t_err(write(q, "x", 1), EINVAL);
	t_err(read(to_write, NULL, 0), EBADF);
	t_err(sendfile(to_write, q, NULL, 1), EINVAL);
	t_err(sendfile(q, to_write, NULL, 1), EBADF);
	t_eq(ftruncate(to_write, 80), 0);
	t_true(mmap(NULL, 80, PROT_READ, MAP_SHARED, q, 0) == MAP_FAILED &&
		errno == ENODEV);
}

static void changes(mqd_t q, mqd_t to_write)
{
	t_eq(fchmod(q, 0640), 0);
	is_file(q, 0640);
	is_file(to_write, 0640);
	t_eq(fchown(q, geteuid(), getegid()), 0);
	t_eq(fcntl(q, F_GETFL) & O_ACCMODE, O_RDWR);
	t_eq(fcntl(to_write, F_GETFL) & O_ACCMODE, O_WRONLY);
	t_eq(fcntl(q, F_SETFL, O_NONBLOCK), 0);
	t_eq(fcntl(q, F_SETFD, 0), 0);
	t_eq(fcntl(q, F_SETFD, FD_CLOEXEC), 0);
}

/* A registration ends with the first close by its process, of whatever copy. */
static void registered(mqd_t q)
{
	const struct sigevent none = {.sigev_notify = SIGEV_NONE};
	mqd_t copy = dup(q);

	is_file(copy, 0640);
	t_eq(mq_notify(q, &none), 0);
	t_err(mq_notify(q, &none), EBUSY);
	t_eq(close(copy), 0);
	t_eq(mq_notify(q, &none), 0);
	t_eq(dup2(q, 77), 77);
	t_eq(mq_close(77), 0);
	t_eq(mq_notify(q, &none), 0);
	t_eq(mq_notify(q, NULL), 0);
}

static void used(mqd_t q, mqd_t to_write, const char *name)
{
	t_eq(q_put(to_write, "four", 1), 0);
	is_file(q, 0600);
	lines(q, name);
	refused(q, to_write);
	changes(q, to_write);
	registered(q);
	q_say(q);
	q_say(q);
}

int main(void)
{
	mqd_t old, old_to_write, new, new_to_write;

	t_begin();
	old = q_open(NAME, RW, 4, 16);
	old_to_write = mq_open(NAME, O_WRONLY);
	t_eq(unshare(CLONE_NEWIPC), 0);
	new = q_open(OTHER, RW, 4, 16);
	new_to_write = mq_open(OTHER, O_WRONLY);
	t_story("of the new namespace");
	used(new, new_to_write, OTHER);
	t_story("of the one that was left");
	used(old, old_to_write, NAME);
	t_story("gone");
	t_err(mq_open(NAME, RW), ENOENT);
	t_eq(mq_unlink(OTHER), 0);
	t_eq(mq_close(new), 0);
	t_eq(mq_close(old), 0);
	t_err(lseek(old, 0, SEEK_CUR), EBADF);
	return t_end();
}
