// SPDX-License-Identifier: MIT
/*
 * See cookie.h. Nobody but the kernel may put a datagram into a netlink socket
 * without privileges. But a process can register itself with a queue of the
 * kernel's: that one lives for the moment, under a random name that is removed
 * at once, and a message sent to it, or its end, makes the kernel send what it
 * would send.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/str.h"
#include "base/file.h"
#include "entry/cookie.h"

struct sys_sigevent {
	const void *value;
	s32 signo, notify;
	u64 rest[6];
};

struct sys_mq_attr {
	long flags, maxmsg, msgsize, curmsgs, reserved[4];
};

int cookie_socket(int sock, u64 *ret_ino)
{
	struct file_stat st;
	u32 len = sizeof(int);
	int domain = 0;
	long err = sys_call(
		__NR_getsockopt, sock, SOL_SOCKET, SO_DOMAIN, &domain, &len);

	if (!err && domain != AF_NETLINK)
		err = -EINVAL;
	if (!err)
		err = sys_call(__NR_fstat, sock, &st);
	if (!err)
		*ret_ino = st.ino;
	return (int)err;
}

/* A queue for one empty message, without a name: the descriptor. */
static long kernel_queue(void)
{
	const struct sys_mq_attr attr = {.maxmsg = 1, .msgsize = 1};
	char name[40];
	u64 random = 0;
	size_t n;
	long fd;

	if (sys_call(__NR_getrandom, &random, 8, 0) != 8)
		random = sys_monotonic_ns();
	n = str_add(name, sizeof(name), 0, "ipclift-");
	str_add_u64(name, sizeof(name), n, random);
	fd = sys_call(__NR_mq_open, name, O_RDWR | O_CREAT | O_EXCL, 0600,
		&attr, 0, SYS_OF_LIBRARY);
	if (fd >= 0)
		sys_call(__NR_mq_unlink, name, 0, 0, 0, 0, SYS_OF_LIBRARY);
	return fd;
}

int cookie_possible(void)
{
	long fd = kernel_queue();

	if (fd >= 0)
		sys_call(__NR_close, fd);
	return fd < 0 ? (int)fd : 0;
}

static int is_it(int fd, u64 ino)
{
	u64 now = 0;

	return !cookie_socket(fd, &now) && now == ino;
}

/* A descriptor of that socket, or -1. */
static int find_socket(u64 ino)
{
	struct file_dir dir;
	const char *name;
	int found = -1;

	if (file_dir_open(&dir, "/proc/self/fd"))
		return -1;
	while (found < 0 && (name = file_dir_next(&dir))) {
		int fd = file_number(name);

		if (fd >= 0 && fd != dir.fd && is_it(fd, ino))
			found = fd;
	}
	file_dir_close(&dir);
	return found;
}

void cookie_send(int sock, u64 ino, const u64 cookie[4], int woken)
{
	struct sys_sigevent ev = {
		.value = cookie, .signo = sock, .notify = SIGEV_THREAD};
	long fd;

	if (!is_it(sock, ino))
		ev.signo = find_socket(ino);
	if (ev.signo < 0)
		return;
	fd = kernel_queue();
	if (fd < 0)
		return;
	if (!sys_call(__NR_mq_notify, fd, &ev, 0, 0, 0, SYS_OF_LIBRARY) &&
		woken)
		sys_call(__NR_mq_timedsend, fd, "", 0, 0, NULL, SYS_OF_LIBRARY);
	sys_call(__NR_close, fd);
}
