// SPDX-License-Identifier: MIT
/*
 * Noting the descriptors of queues that others have opened; see fdarrive.h.
 *
 * A queue's descriptor is a FIFO open for reading and writing, which hardly any
 * other descriptor is. Only such a one is noted, and the registry is asked about
 * it only when the program uses it: so a program that is merely given a pipe does
 * not make its first served call.
 *
 * Over exec: a process that executes a program with a queue's descriptor left
 * open sets a variable, and only if that is set the program looks through its
 * descriptors when the library is loaded. Received: each descriptor that
 * recvmsg(2) brings is looked at, by one system call.
 *
 * Not seen: a descriptor that comes by a program which is not served, or from
 * one by a call that is not seen (io_uring), until mq_* or poll is called.
 */
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/str.h"
#include "entry/file/libchead.h"
#include "entry/file/fd.h"
#include "entry/file/fdarrive.h"
#include "entry/file/stream.h"

/* Without /proc the numbers below this are looked at: those that a shell can
 * name and some more. Arbitrary. */
#define FEW_NUMBERS 64

extern char **environ __attribute__((weak));

static int may_be_queue(int fd)
{
	struct stat st;

	return !sys_call(__NR_fstat, fd, &st) && S_ISFIFO(st.st_mode) &&
	       (sys_call(__NR_fcntl, fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

static void arrived(int fd)
{
	/* In a vfork child the table is its parent's. */
	if (process_in_vfork())
		return;
	fd_forget(fd);
	if (unlikely(may_be_queue(fd)))
		fd_arrived(fd);
}

/* ---- over exec ---- */

static void over_exec(void)
{
	struct file_dir dir;
	const char *name;
	int fd;

	if (!file_dir_open(&dir, "/proc/self/fd")) {
		while ((name = file_dir_next(&dir)))
			if (file_number(name) >= 0)
				arrived(file_number(name));
		file_dir_close(&dir);
		return;
	}
	for (fd = 0; fd < FEW_NUMBERS; fd++)
		arrived(fd);
}

/* Take the mark out: 1 if it was there. No other thread runs yet. */
SYS_LOAD_TEXT static int take_mark(void)
{
	static const char mark[] SYS_NEAR_RODATA = FD_ARRIVE_MARK;
	char **from = &environ ? environ : NULL, **to = from;
	int found = 0;

	for (; from && *from; from++)
		if (str_equal(*from, mark))
			found = 1;
		else
			*to++ = *from;
	if (found)
		*to = NULL;
	return found;
}

void fdarrive_at_load(void)
{
	if (likely(!take_mark()) || !process_routes(FAC_MQ))
		return;
	over_exec();
	if (fd_is_unknown(0))
		stream_standard_input();
}

/* ---- received ---- */

/* What the kernel has written needs no guard. */
void entry_received(const void *user)
{
	const struct msghdr *m = user;
	const struct cmsghdr *h;
	const char *at = m->msg_control;
	/* Lengths have 32 bits in musl, and anything beside them. */
	size_t left = (u32)m->msg_controllen, len, i;

	while (at && left >= sizeof(*h)) {
		h = (const void *)at;
		len = (u32)h->cmsg_len;
		if (len < sizeof(*h) || len > left)
			return;
		for (i = sizeof(*h);
			h->cmsg_level == SOL_SOCKET &&
			h->cmsg_type == SCM_RIGHTS && i + sizeof(int) <= len;
			i += sizeof(int))
			arrived(*(const int *)(const void *)(at + i));
		i = CMSG_ALIGN(len);
		if (i >= left)
			return;
		at += i;
		left -= i;
	}
}

long entry_got(long fd)
{
	if (fd >= 0)
		arrived((int)fd);
	return fd;
}

typedef ssize_t (*recvmsg_fn)(int, struct msghdr *, int);
EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	static void *next;
	recvmsg_fn real = (recvmsg_fn)process_next(&next, "recvmsg");
	long ret = real ? real(fd, m, flags)
			: process_return(sys_call(__NR_recvmsg, fd, m, flags));

	if (unlikely(ret >= 0 && m->msg_controllen))
		entry_received(m);
	return ret;
}

typedef int (*recvmmsg_fn)(
	int, struct mmsghdr *, unsigned, MMSG_FLAGS, struct timespec *);
EXPORT int recvmmsg(int fd, struct mmsghdr *m, unsigned n, MMSG_FLAGS flags,
	struct timespec *timeout)
{
	static void *next;
	recvmmsg_fn real = (recvmmsg_fn)process_next(&next, "recvmmsg");
	int ret = real ? real(fd, m, n, flags, timeout)
		       : (int)process_return(sys_call(
				 __NR_recvmmsg, fd, m, n, flags, timeout)),
	    i;

	for (i = 0; i < ret; i++)
		if (unlikely(m[i].msg_hdr.msg_controllen))
			entry_received(&m[i].msg_hdr);
	return ret;
}

EXPORT int pidfd_getfd(int pidfd, int fd, unsigned flags)
{
	return (int)process_return(
		entry_got(sys_call(__NR_pidfd_getfd, pidfd, fd, flags)));
}
