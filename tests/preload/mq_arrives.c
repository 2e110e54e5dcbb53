// SPDX-License-Identifier: MIT
/*
 * mq_arrives: a program that has not used a queue receives the descriptor of
 * one, in each possible way. A message that is sent wakes a poller there; and
 * read, stat and write treat it as the file that a queue is.
 */
#include "mq.h"
#include <spawn.h>
#include <sys/socket.h>

extern char **environ;
static char self[4096];
static mqd_t q;

/* ---- the program that it comes to ---- */

static int by_poll(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 5000) == 1 && p.revents == POLLIN;
}

static int by_select(int fd)
{
	struct timeval limit = {5, 0};
	fd_set in;

	FD_ZERO(&in);
	FD_SET(fd, &in);
	return select(fd + 1, &in, NULL, NULL, &limit) == 1;
}

static int by_epoll(int fd)
{
	struct epoll_event ev = {EPOLLIN, {0}};
	int ep = epoll_create1(0);

	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
	return epoll_wait(ep, &ev, 1, 5000) == 1;
}

/* It is the queue's file: what its status line, fstat and fcntl say. */
static int as_file(int fd, char how)
{
	char line[100] = "";
	struct stat st;
	long n;

	switch (how) {
	case 'r':
		n = read(fd, line, sizeof(line));
		return n >= 60 && !strncmp(line, "QSIZE:0 ", 8);
	case 'f':
		return !fstat(fd, &st) && S_ISREG(st.st_mode) &&
		       st.st_size == 80;
	case 'g':
		return (fcntl(fd, F_GETFL) & ~0100000) == O_RDWR &&
		       lseek(fd, 0, SEEK_END) == 80;
	case 'w':
		errno = 0;
		return write(fd, "x", 1) == -1 && errno == EINVAL;
	case 'D':
		fd = dup(fd);
		return read(fd, line, 9) == 9 && read(fd, line, 99) >= 50;
	default:
		return syscall(SYS_pread64, fd, line, 5, 0) == 5 &&
		       !memcmp(line, "QSIZE", 5);
	}
}

static int from_socket(int sock)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof(room)};
	int fd;

	if (recvmsg(sock, &m, 0) != 1)
		_exit(3);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static int from_process(pid_t pid, int fd)
{
	int pidfd = (int)syscall(434, pid, 0);

	return (int)syscall(438, pidfd, fd, 0);
}

/* what how: where the descriptor is to be had, and what waits for it. */
static int other_program(char **argv)
{
	int fd = atoi(argv[2]);
	char c = 'x', **e;

	alarm(T_LIMIT);
	/* Nothing of ours is seen in the environment. */
	for (e = environ; *e; e++)
		if (strstr(*e, "_LEFT"))
			return 4;
	if (argv[1][1] == 's')
		fd = from_socket(fd);
	else if (argv[1][1] == 'p')
		fd = from_process(getppid(), fd);
	/* A program between, which does not look at it. */
	if (argv[1][2] == '+') {
		argv[1][2] = 0;
		execv("/proc/self/exe", argv);
	}
	write(9, &c, 1);
	switch (argv[3][0]) {
	case 'p':
		return !by_poll(fd);
	case 's':
		return !by_select(fd);
	case 'e':
		return !by_epoll(fd);
	default:
		return !as_file(fd, argv[3][0]);
	}
}

/* ---- the ways ---- */

static void run(const char *what, const char *how)
{
	char way[4], *argv[] = {self, way, NULL, (char *)how, NULL};
	posix_spawn_file_actions_t fa;
	int ready[2], pair[2];
	char number[12] = "7", c;
	pid_t pid;

	strcpy(way, what);
	q = q_open(NAME, RW, 2, 32);
	mq_unlink(NAME);
	pipe(ready);
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	if (what[1] == 'p')
		snprintf(number, sizeof(number), "%d", q);
	argv[2] = number;
	if (what[1] == 'w') {
		posix_spawn_file_actions_init(&fa);
		posix_spawn_file_actions_adddup2(&fa, q, 7);
		posix_spawn_file_actions_adddup2(&fa, ready[1], 9);
		t_eq(posix_spawn(&pid, self, &fa, NULL, argv, environ), 0);
		posix_spawn_file_actions_destroy(&fa);
	} else {
		pid = t_fork();
		if (pid == 0) {
			dup2(ready[1], 9);
			if (what[1] == 'd')
				dup2(q, 7);
			else if (what[1] == 's')
				dup2(pair[1], 7);
			execv(self, argv);
			_exit(99);
		}
	}
	if (what[1] == 's')
		t_eq(q_send_fd(pair[0], q), 0);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		t_say("FAIL it did not come");
	if (how[0] == 'p' || how[0] == 's' || how[0] == 'e') {
		t_asleep(pid);
		t_eq(q_put(q, "x", 0), 0);
	}
	t_eq(t_join(pid), 0);
	close(ready[0]);
	close(pair[0]);
	close(pair[1]);
	mq_close(q);
}

int main(int argc, char **argv)
{
	static const char *const ways[] = {"-dup2 and exec",
		"-dup2 and two execs", "-spawned", "-sent", "-pidfd_getfd"};
	static const char *const what[] = {"-d", "-d+", "-w", "-s", "-p"};
	static const char *const how[] = {"poll", "select", "epoll", "read",
		"fstat", "getfl", "write", "Dup", "number"};

	if (argc > 3)
		return other_program(argv);
	t_begin();
	readlink("/proc/self/exe", self, sizeof(self) - 1);
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 9; k++) {
			t_say("-- %s, %s", ways[i] + 1, how[k]);
			run(what[i], how[k]);
		}
	return t_end();
}
