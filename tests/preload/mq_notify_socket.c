// SPDX-License-Identifier: MIT
/*
 * mq_notify_socket: what libc's SIGEV_THREAD rests on and syscall(2) offers to
 * anybody: a netlink socket is sent 32 bytes when a message comes or the
 * registration is taken back (doc/kernel-semantics.md §7.7).
 */
#include "mq.h"
#include <sys/socket.h>

/* As in linux/netlink.h, which not every libc brings. */
struct netlink_address {
	unsigned short family, pad;
	unsigned port, groups;
};

static mqd_t q;
static char cookie[32] = "0123456789abcdefghijklmnopqrstu";

static int reg(int d, int sock, const void *bytes)
{
	struct sigevent ev;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_THREAD;
	ev.sigev_signo = sock;
	ev.sigev_value.sival_ptr = (void *)bytes;
	return (int)syscall(SYS_mq_notify, d, &ev);
}

static void line(void)
{
	char buf[100];
	ssize_t n = pread(q, buf, 99, 0);

	buf[n > 39 ? 39 : n > 0 ? n : 0] = 0;
	t_say("     %s", buf);
}

/* Blocks for the first, if it must come. */
static void told(int sock, int flags)
{
	struct netlink_address from;
	socklen_t len = sizeof(from);
	char buf[64];
	ssize_t n = recvfrom(
		sock, buf, sizeof(buf), flags, (struct sockaddr *)&from, &len);

	if (n < 0) {
		t_say("     told nothing: %s", t_errname(errno));
		return;
	}
	t_say("     told %zd bytes '%.31s' and %d by port %u", n, buf, buf[31],
		from.port);
}

static void take(void)
{
	t_eq(mq_receive(q, (char[32]){0}, 32, NULL), 1);
}

static void errors(int sock)
{
	int pipes[2], other = socket(AF_UNIX, SOCK_STREAM, 0);

	t_story("errors");
	pipe(pipes);
	t_err(reg(q, -1, cookie), EBADF);
	t_err(reg(q, pipes[0], cookie), ENOTSOCK);
	t_err(reg(q, other, cookie), EINVAL);
	t_err(reg(q, sock, (void *)8), EFAULT);
	t_err(reg(q, sock, NULL), EFAULT);
	t_err(reg(-1, sock, cookie), EBADF);
	t_err(reg(0, sock, cookie), EBADF);
	t_err(reg(-1, other, cookie), EINVAL);
	t_err(reg(-1, -1, (void *)8), EFAULT);
	close(other);
	close(pipes[0]);
	close(pipes[1]);
}

static void woken(int sock)
{
	struct sigevent none;
	pid_t pid;
	int fd;

	t_story("a message came");
	memset(&none, 0, sizeof(none));
	none.sigev_notify = SIGEV_NONE;
	t_eq(reg(q, sock, cookie), 0);
	line();
	t_err(reg(q, sock, cookie), EBUSY);
	t_err(mq_notify(q, &none), EBUSY);
	told(sock, MSG_DONTWAIT);
	fd = dup(0);
	close(fd);
	t_eq(q_put(q, "x", 0), 0);
	told(sock, MSG_DONTWAIT);
	told(sock, MSG_DONTWAIT);
	line();
	take();
	t_eq(q_put(q, "x", 0), 0);
	told(sock, MSG_DONTWAIT);
	take();
	t_story("sent by another process; the cookie is that of registration");
	t_eq(reg(q, sock, cookie), 0);
	cookie[0] = 'Z';
	pid = t_fork();
	if (pid == 0)
		_exit(q_put(q, "x", 0) ? errno : 0);
	t_eq(t_join(pid), 0);
	told(sock, 0);
	take();
	t_story("sent by another user");
	t_eq(reg(q, sock, cookie), 0);
	pid = t_fork();
	if (pid == 0) {
		t_become(T_OTHER_UID, T_OTHER_UID);
		_exit(q_put(q, "x", 0) ? errno : 0);
	}
	t_eq(t_join(pid), 0);
	told(sock, 0);
	take();
	t_story("nothing is left open");
	t_true(dup(0) == fd);
	close(fd);
}

static void removed(int sock)
{
	t_story("taken back, or the queue was closed");
	t_eq(reg(q, sock, cookie), 0);
	t_eq(mq_notify(q, NULL), 0);
	told(sock, MSG_DONTWAIT);
	t_eq(reg(q, sock, cookie), 0);
	t_eq(close(dup(q)), 0);
	told(sock, MSG_DONTWAIT);
	t_eq(q_put(q, "x", 0), 0);
	told(sock, MSG_DONTWAIT);
	take();
}

static void moved(int sock)
{
	int copy;

	t_story("the socket goes by another number meanwhile");
	t_eq(reg(q, sock, cookie), 0);
	copy = dup(sock);
	t_eq(dup2(0, sock), sock);
	t_eq(q_put(q, "x", 0), 0);
	told(copy, MSG_DONTWAIT);
	take();
	close(sock);
	close(copy);
}

int main(void)
{
	int sock;

	t_begin();
	q = q_open(NAME, RW, 4, 32);
	sock = socket(AF_NETLINK, SOCK_RAW, 0);
	t_true(sock >= 0);
	errors(sock);
	woken(sock);
	removed(sock);
	moved(sock);
	q_done(q);
	return t_end();
}
