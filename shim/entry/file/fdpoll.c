// SPDX-License-Identifier: MIT
/*
 * See fdpoll.h. poll and its kin tell the queue when they begin and end
 * (mq_poll_begin), the others set a flag for good (mq_watch). In a process
 * without queues they look at nothing.
 */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "base/str.h"
#include "entry/file/libchead.h"
#include "entry/file/fd.h"
#include "entry/file/fdpoll.h"
#include "mq/mqlease.h"
#include "registry/guard.h"

/* The queues of one call of poll; any beyond so many (arbitrary) are kept in step
 * for good. On the caller's stack, with the generation: if a handler forks, the
 * child returns into the call and must not end its parent's polls. */
#define POLLED_MOST 8u
struct polled {
	u32 n, generation;
	struct {
		struct slot *s;
		u64 ident;
	} at[POLLED_MOST];
};

/* p NULL: the end of the poll is not seen. */
static void watch(struct polled *p, int fd, u32 bits)
{
	struct fd_entry *e = fd_entry(fd);
	struct mq_desc d;
	struct caller *c;
	int err;

	if (fd < 0 || (e && (e->info & (FD_OTHER | FD_PROC))))
		return;
	c = process_get(&err);
	if (!c || fd_lookup(c, fd, &d))
		return;
	mqlease_polled(c, &d);
	if (!p || p->n == POLLED_MOST || process_in_vfork()) {
		mq_watch(c, &d, bits);
	} else if (mq_poll_begin(c, &d, bits)) {
		p->generation = c->generation;
		p->at[p->n].s = d.s;
		p->at[p->n++].ident = d.ident;
	}
}

static __attribute__((noinline)) void poll_end(const struct polled *p)
{
	struct mq_desc d = {.fd = -1};
	int err;
	struct caller *c = process_get(&err);
	u32 i;

	for (i = 0; c && c->generation == p->generation && i < p->n; i++) {
		d.s = p->at[i].s;
		d.ident = p->at[i].ident;
		mq_poll_end(c, &d);
	}
}

static u32 poll_bits(u32 events)
{
	return (events & (POLLIN | POLLRDNORM) ? MQ_POLLED_IN : 0) |
	       (events & (POLLOUT | POLLWRNORM) ? MQ_POLLED_OUT : 0);
}

static void watch_poll(struct polled *p, const void *fds, unsigned long n)
{
	const struct pollfd *at = fds;
	unsigned long i;
	int err;
	struct caller *c;

	if (likely(!fd_used))
		return;
	c = process_get(&err);
	if (!c || n > 1ul << 20 || guard_source(c, fds, n * sizeof(*at)))
		return;
	for (i = 0; i < n; i++)
		watch(p, at[i].fd, poll_bits(at[i].events));
}

void entry_watch_poll(const void *fds, unsigned long n)
{
	watch_poll(NULL, fds, n);
}

/*
 * How many bits of a set of select(2) may be read: the kernel looks at no more
 * than the process's descriptor table has, whatever n is, and the set may be no
 * longer than that. The table only grows, so its size when first read is a lower
 * bound, as is the highest number seen. n up to FD_SETSIZE is taken as it is.
 */
static int n_looked_at(int n)
{
	static u32 known; /* FDSize once */
	u32 most = __atomic_load_n(&known, __ATOMIC_RELAXED), top;
	char text[512];
	const char *at, *size;
	long fd, len;
	int n_known;

	if (likely(n <= FD_SETSIZE))
		return n;
	if (!most) {
		most = 64;
		fd = sys_call(
			__NR_open, "/proc/self/status", O_RDONLY | O_CLOEXEC);
		len = fd < 0 ? 0
			     : sys_call(__NR_read, fd, text, sizeof(text) - 1);
		if (fd >= 0)
			sys_call(__NR_close, fd);
		text[len > 0 ? len : 0] = 0;
		for (at = text, size = NULL; *at && !size; at++)
			size = str_after(at, "\nFDSize:\t");
		n_known = size ? str_number(&size) : -1;
		if (n_known >= 0)
			most = (u32)n_known;
		__atomic_store_n(&known, most, __ATOMIC_RELAXED);
	}
	top = fd_end();
	if (most < top)
		most = top;
	return (u32)n < most ? n : (int)most;
}

static void watch_set(
	struct polled *p, int n, const unsigned long *set, u32 bits)
{
	unsigned long word;
	int at, err;
	struct caller *c = process_get(&err);

	if (!c || !set || n <= 0 || guard_source(c, set, (n + 63) / 64 * 8ul))
		return;
	for (at = 0; at < n; at += 64) {
		word = set[at / 64];
		if (n - at < 64)
			word &= (1ul << (n - at)) - 1;
		for (; word; word &= word - 1)
			watch(p, at + __builtin_ctzl(word), bits);
	}
}

static void watch_select(
	struct polled *p, int n, const void *in, const void *out)
{
	if (likely(!fd_used))
		return;
	n = n_looked_at(n);
	watch_set(p, n, in, MQ_POLLED_IN);
	watch_set(p, n, out, MQ_POLLED_OUT);
}

void entry_watch_select(int n, const void *in, const void *out)
{
	watch_select(NULL, n, in, out);
}

void entry_watch_epoll(int op, int fd, const void *event)
{
	const struct epoll_event *ev = event;
	int err;
	struct caller *c;

	if (likely(!fd_used || op == EPOLL_CTL_DEL))
		return;
	c = process_get(&err);
	if (c && !guard_readable(c, ev, sizeof(*ev)))
		watch(NULL, fd,
			poll_bits(ev->events) |
				(ev->events & EPOLLET ? MQ_POLLED_EDGE : 0));
}

/* ---- what others may poll ---- */

static void watch_both(struct caller *c, int fd)
{
	struct mq_desc d;

	if (!fd_lookup(c, fd, &d))
		mq_watch(c, &d, MQ_POLLED_IN | MQ_POLLED_OUT);
}

int fd_executing(int any)
{
	u32 fd, top = fd_end();
	struct caller *c;
	int err, left = 0;
	long flags;

	if (likely(!fd_used))
		return 0;
	for (fd = 0; fd < top; fd++) {
		if (!fd_entry((int)fd)) {
			fd |= FD_CHUNK - 1;
			continue;
		}
		if (!fd_may_be_mq((int)fd))
			continue;
		flags = sys_call(__NR_fcntl, fd, F_GETFD);
		if (flags < 0 || (!any && (flags & FD_CLOEXEC)))
			continue;
		/* Not used here yet: whoever passed it to us made the queue
		 * keep its FIFO in step. */
		if (fd_is_unknown((int)fd)) {
			left = 1;
			continue;
		}
		c = fd_is_mq((int)fd) ? process_get(&err) : NULL;
		if (c) {
			watch_both(c, (int)fd);
			left = 1;
		}
	}
	return left;
}

static void note_closing(struct caller *c, u32 closes)
{
	u32 fd, top = fd_end();
	struct mq_desc d;

	for (fd = 0; fd < top; fd++) {
		if (!fd_entry((int)fd)) {
			fd |= FD_CHUNK - 1;
			continue;
		}
		if (!fd_is_mq((int)fd) ||
			(closes && !(sys_call(__NR_fcntl, fd, F_GETFD) &
					   FD_CLOEXEC)))
			continue;
		if (!fd_lookup(c, (int)fd, &d))
			mq_notify_executing(c, &d, closes);
	}
}

void fd_closing(void)
{
	struct caller *c;
	int err;

	/* A fork child that has made no call has registered nothing. */
	if (likely(!fd_used) || !process_page.generation || process_in_vfork())
		return;
	c = process_get(&err);
	if (!c)
		return;
	/* An exec that failed may have said otherwise. */
	note_closing(c, 0);
	note_closing(c, 1);
}

void entry_sending(const void *user)
{
	struct msghdr m;
	struct cmsghdr h;
	const char *at;
	size_t left, len, i;
	int err, fd;
	struct caller *c;

	if (likely(!fd_used))
		return;
	c = process_get(&err);
	if (!c || guard_read(c, &m, user, sizeof(m)) || !m.msg_control)
		return;
	at = m.msg_control;
	/* Lengths have 32 bits in musl, and anything beside them. */
	left = (u32)m.msg_controllen;
	while (left >= sizeof(h) && !guard_read(c, &h, at, sizeof(h))) {
		len = (u32)h.cmsg_len;
		if (len < sizeof(h) || len > left)
			return;
		for (i = sizeof(h);
			h.cmsg_level == SOL_SOCKET &&
			h.cmsg_type == SCM_RIGHTS && i + sizeof(fd) <= len;
			i += sizeof(fd))
			if (!guard_read(c, &fd, at + i, sizeof(fd)) &&
				fd_is_mq(fd))
				watch_both(c, fd);
		i = CMSG_ALIGN(len);
		if (i >= left)
			return;
		at += i;
		left -= i;
	}
}

/* The headers say that poll only writes to its array; not const, since gcc -O0
 * would warn of the caller's already. */
static const void *read_too(void *p)
{
	__asm__("" : "+r"(p));
	return p;
}

#define PASS_ON(ret, name, params, args)                               \
	static void *next;                                             \
	ret(*real) params = (ret(*) params)process_next(&next, #name); \
                                                                       \
	if (unlikely(!real)) {                                         \
		*__errno_location() = ENOSYS;                          \
		return -1;                                             \
	}                                                              \
	return real args

/* The same, and poll is over. */
#define PASS_ON_POLLED(name, params, args)                             \
	static void *next;                                             \
	int(*real) params = (int(*) params)process_next(&next, #name); \
	int ret = -1;                                                  \
                                                                       \
	if (likely(real))                                              \
		ret = real args;                                       \
	else                                                           \
		*__errno_location() = ENOSYS;                          \
	if (unlikely(p.n))                                             \
		poll_end(&p);                                          \
	return ret

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	struct polled p;

	p.n = 0;
	watch_poll(&p, read_too(fds), n);
	PASS_ON_POLLED(poll, (struct pollfd *, nfds_t, int), (fds, n, timeout));
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	struct polled p;

	p.n = 0;
	watch_poll(&p, read_too(fds), n);
	PASS_ON_POLLED(__poll_chk, (struct pollfd *, nfds_t, int, size_t),
		(fds, n, timeout, size));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	const sigset_t *mask)
{
	struct polled p;

	p.n = 0;
	watch_poll(&p, read_too(fds), n);
	PASS_ON_POLLED(ppoll,
		(struct pollfd *, nfds_t, const struct timespec *,
			const sigset_t *),
		(fds, n, timeout, mask));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n,
	const struct timespec *timeout, const sigset_t *mask, size_t size)
{
	struct polled p;

	p.n = 0;
	watch_poll(&p, read_too(fds), n);
	PASS_ON_POLLED(__ppoll_chk,
		(struct pollfd *, nfds_t, const struct timespec *,
			const sigset_t *, size_t),
		(fds, n, timeout, mask, size));
}

EXPORT int select(
	int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	struct polled p;

	p.n = 0;
	watch_select(&p, n, in, out);
	PASS_ON_POLLED(select,
		(int, fd_set *, fd_set *, fd_set *, struct timeval *),
		(n, in, out, except, timeout));
}

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except,
	const struct timespec *timeout, const sigset_t *mask)
{
	struct polled p;

	p.n = 0;
	watch_select(&p, n, in, out);
	PASS_ON_POLLED(pselect,
		(int, fd_set *, fd_set *, fd_set *, const struct timespec *,
			const sigset_t *),
		(n, in, out, except, timeout, mask));
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	entry_sending(msg);
	PASS_ON(ssize_t, sendmsg, (int, const struct msghdr *, int),
		(fd, msg, flags));
}

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, MMSG_FLAGS flags)
{
	unsigned i;

	for (i = 0; unlikely(fd_used) && i < n && i < 1024; i++)
		entry_sending(read_too(&msgs[i].msg_hdr));
	PASS_ON(int, sendmmsg, (int, struct mmsghdr *, unsigned, MMSG_FLAGS),
		(fd, msgs, n, flags));
}

EXPORT int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	entry_watch_epoll(op, fd, event);
	PROCESS_PASS_ON(int, epoll_ctl, (int, int, int, struct epoll_event *),
		epfd, op, fd, event);
	return process_return(sys_call(__NR_epoll_ctl, epfd, op, fd, event));
}
