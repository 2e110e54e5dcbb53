// SPDX-License-Identifier: MIT
/*
 * mq.h - what the mq_* programs of tests/preload share, on top of t.h.
 *
 * A sleeper cannot be counted in a message queue, so a process is known to
 * sleep when /proc says that it does (state S), twice in a row.
 */
#ifndef MQ_H
#define MQ_H

#include "t.h"
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>

/* What the headers forbid is asked for on purpose here. */
#pragma GCC diagnostic ignored "-Wnonnull"

#define NAME "/t"
#define RW O_RDWR
#define NB O_NONBLOCK

static inline mqd_t q_open(const char *name, int flags, long maxmsg, long size)
{
	struct mq_attr attr = {.mq_maxmsg = maxmsg, .mq_msgsize = size};
	mqd_t q = mq_open(name, flags | O_CREAT | O_EXCL, 0600, &attr);

	if (q < 0) {
		t_say("FAIL mq_open %s: errno %d", name, errno);
		exit(99);
	}
	return q;
}

/* Hand fd over a socket (SCM_RIGHTS): 0, or -1. */
static inline int q_send_fd(int sock, int fd)
{
	char c = 'x', room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&c, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = room,
		.msg_controllen = sizeof(room)};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &fd, sizeof(int));
	return sendmsg(sock, &m, 0) == 1 ? 0 : -1;
}

static inline void q_done(mqd_t q)
{
	mq_close(q);
	mq_unlink(NAME);
}

static inline long q_count(mqd_t q)
{
	struct mq_attr attr;

	return mq_getattr(q, &attr) ? -1 : attr.mq_curmsgs;
}

/* Send a string without its zero. */
static inline int q_put(mqd_t q, const char *text, unsigned prio)
{
	return mq_send(q, text, strlen(text), prio);
}

/* Receive one and say it, "text/prio", or the error. */
static inline void q_say(mqd_t q)
{
	char buf[8193];
	unsigned prio = 77;
	ssize_t n = mq_receive(q, buf, sizeof(buf) - 1, &prio);

	if (n < 0) {
		t_say("got  %s", t_errname(errno));
		return;
	}
	buf[n] = 0;
	if (n > 100)
		t_say("got  %zd bytes %c..%c/%u", n, buf[0], buf[n - 1], prio);
	else
		t_say("got  '%s'/%u", buf, prio);
}

static inline char t_state(pid_t pid)
{
	char path[64], buf[512], *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, pid);
	f = fopen(path, "r");
	if (!f || !fgets(buf, sizeof(buf), f)) {
		if (f)
			fclose(f);
		return 0;
	}
	fclose(f);
	end = strrchr(buf, ')');
	return end ? end[2] : 0;
}

/* Wait until a process sleeps. */
static inline void t_asleep(pid_t pid)
{
	int seen = 0;

	for (int i = 0; i < 20000 && seen < 4; i++) {
		seen = t_state(pid) == 'S' ? seen + 1 : 0;
		t_nap();
	}
	if (seen < 4)
		t_cond(__FILE__, __LINE__, "the process sleeps", 0);
}

static inline struct timespec t_in(long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

#endif
