// SPDX-License-Identifier: MIT
/*
 * mq_fd: an mqd_t is a descriptor: dup, fork, exec, fcntl, fstat, fchmod, read,
 * sockets; and a number that was closed is no queue any more
 * (doc/kernel-semantics.md §7.9, §7.10).
 */
#include "mq.h"
#include <sys/socket.h>

static mqd_t q;

static void duplicates(void)
{
	mqd_t r;
	pid_t pid;

	t_story("dup: one description, O_NONBLOCK is shared; mq_open: another");
	q = q_open(NAME, RW, 3, 32);
	r = dup(q);
	t_true(r > q);
	t_eq(fcntl(r, F_GETFD), 0);
	t_eq(fcntl(r, F_SETFL, O_NONBLOCK), 0);
	t_eq(fcntl(q, F_GETFL), O_RDWR | O_NONBLOCK);
	q_say(q);
	t_eq(q_put(r, "by the copy", 1), 0);
	t_eq(mq_close(q), 0);
	q_say(r);
	t_eq(dup2(r, 50), 50);
	t_eq(dup3(r, 51, O_CLOEXEC), 51);
	t_eq(fcntl(51, F_GETFD), FD_CLOEXEC);
	t_eq(fcntl(r, F_DUPFD, 60), 60);
	t_eq(fcntl(r, F_DUPFD_CLOEXEC, 60), 61);
	t_eq(syscall(SYS_dup2, r, 62), 62);
	t_eq(q_put(50, "50", 1), 0);
	t_eq(q_put(51, "51", 1), 0);
	t_eq(q_put(60, "60", 1), 0);
	q_say(61);
	q_say(62);
	q_say(50);
	q = mq_open(NAME, RW);
	t_eq(fcntl(q, F_GETFL), O_RDWR);
	t_story("fork shares the description");
	pid = t_fork();
	if (pid == 0) {
		t_eq(fcntl(q, F_SETFL, O_NONBLOCK), 0);
		t_eq(q_put(q, "by the child", 1), 0);
		_exit(0);
	}
	t_join(pid);
	t_eq(fcntl(q, F_GETFL), O_RDWR | O_NONBLOCK);
	q_say(q);
	q_say(q);
	t_eq(syscall(436, 50, 61, 0), 0);
	t_err(q_put(60, "x", 1), EBADF);
	t_eq(q_put(62, "x", 1), 0);
	t_eq(close(62), 0);
	t_eq(close(r), 0);
	q_say(q);
	q_done(q);
}

static void reused(void)
{
	char buf[32];
	int fd, n;

	t_story("a number that was closed and reused is not a queue");
	q = q_open(NAME, RW, 3, 32);
	n = q;
	t_eq(close(q), 0);
	t_err(q_put(n, "x", 1), EBADF);
	fd = open("/dev/null", O_RDWR);
	t_true(fd == n);
	t_err(q_put(fd, "x", 1), EBADF);
	t_err(mq_receive(fd, buf, 32, NULL), EBADF);
	t_err(mq_getattr(fd, &(struct mq_attr){0}), EBADF);
	t_eq(read(fd, buf, 32), 0);
	t_eq(write(fd, buf, 32), 32);
	close(fd);
	q = mq_open(NAME, RW);
	t_true(q == n);
	fd = open("/dev/null", O_RDWR);
	t_eq(dup2(fd, q), q);
	t_err(q_put(q, "x", 1), EBADF);
	t_eq(fcntl(q, F_GETFL) & O_ACCMODE, O_RDWR);
	close(q);
	close(fd);
	q = mq_open(NAME, RW);
	t_eq(syscall(SYS_close, q), 0);
	fd = open("/dev/null", O_RDONLY);
	t_true(fd == q);
	t_err(q_put(fd, "x", 1), EBADF);
	t_eq(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
	q = mq_open(NAME, RW);
	t_eq(q_count(q), 0);
	q_done(q);
	t_story("mq_close closes anything");
	fd = open("/dev/null", O_RDWR);
	t_eq(mq_close(fd), 0);
	t_err(fcntl(fd, F_GETFD), EBADF);
}

static void file(void)
{
	struct stat st;
	char buf[100];
	mqd_t w;
	time_t t0;

	t_story("fstat, fchmod, read");
	q = q_open(NAME, RW, 3, 32);
	memset(&st, 0, sizeof(st));
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_mode, S_IFREG | 0600);
	t_eq(st.st_size, 80);
	t_eq(st.st_nlink, 1);
	t_eq(st.st_blksize, 4096);
	t_eq(st.st_blocks, 0);
	t_eq(st.st_rdev, 0);
	t_eq(fchmod(q, 0644), 0);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_mode, S_IFREG | 0644);
	t_eq(fchown(q, 5, 6), 0);
	t_eq(fstat(q, &st), 0);
	t_true(st.st_uid == 5 && st.st_gid == 6);
	t0 = time(NULL);
	t_eq(q_put(q, "twelve bytes", 1), 0);
	t_eq(fstat(q, &st), 0);
	t_true(st.st_mtime >= t0 - 1 && st.st_mtime <= t0 + 5);
	t_true(st.st_atime == st.st_mtime && st.st_ctime == st.st_mtime);
	t_eq(read(q, buf, 7), 7);
	buf[7] = 0;
	t_say("     '%s'", buf);
	t_eq(read(q, buf, 99), 53);
	buf[53] = 0;
	t_say("     '%s'", buf);
	t_eq(read(q, buf, 99), 0);
	w = mq_open(NAME, O_WRONLY);
	t_err(read(w, buf, 99), EBADF);
	mq_close(w);
	q_say(q);
	q_done(q);
}

static int receive_fd(int sock)
{
	char c, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&c, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof(room)};
	int fd = -1;

	if (recvmsg(sock, &m, 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

static void travel(const char *self)
{
	int pair[2], fd;
	pid_t pid;
	mqd_t r;

	t_story("over a socket, unlinked, to a process that never opened it");
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	pid = t_fork();
	if (pid == 0) {
		fd = receive_fd(pair[1]);
		t_true(fd >= 0);
		q_say(fd);
		t_eq(q_put(fd, "back", 2), 0);
		t_eq(fcntl(fd, F_GETFL), O_RDWR);
		fd = receive_fd(pair[1]);
		t_err(q_put(fd, "x", 2), EBADF);
		t_eq(fcntl(fd, F_GETFL), O_RDONLY | O_NONBLOCK);
		_exit(t_failed);
	}
	q = q_open(NAME, RW, 3, 32);
	r = mq_open(NAME, O_RDONLY | NB);
	t_eq(mq_unlink(NAME), 0);
	t_eq(q_put(q, "out", 2), 0);
	t_quiet(q_send_fd(pair[0], q) == 0);
	t_quiet(q_send_fd(pair[0], r) == 0);
	t_eq(t_join(pid), 0);
	q_say(r);
	q_say(r);
	mq_close(r);
	mq_close(q);
	close(pair[0]);
	close(pair[1]);

	t_story("over exec, where FD_CLOEXEC was cleared");
	q = q_open(NAME, RW, 3, 32);
	r = mq_open(NAME, O_WRONLY);
	t_eq(q_put(q, "to the other program", 2), 0);
	pid = t_fork();
	if (pid == 0) {
		t_eq(fcntl(q, F_SETFD, 0), 0);
		dup2(q, 70);
		dup2(r, 71);
		execl(self, self, "executed", (char *)NULL);
		_exit(90);
	}
	t_eq(t_join(pid), 0);
	q_say(q);
	q_say(q);
	mq_close(r);
	q_done(q);
}

static int executed(void)
{
	struct pollfd p = {70, POLLIN | POLLOUT, 0};

	t_begin();
	t_eq(poll(&p, 1, 0), 1);
	t_eq(p.revents, POLLIN | POLLOUT);
	q_say(70);
	t_eq(q_put(71, "from it", 3), 0);
	t_err(mq_receive(71, (char[32]){0}, 32, NULL), EBADF);
	t_eq(q_put(70, "and again", 2), 0);
	return t_failed;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "executed"))
		return executed();
	t_begin();
	duplicates();
	reused();
	file();
	travel(argv[0]);
	return t_end();
}
