// SPDX-License-Identifier: MIT
/*
 * mq_open and its kin as programs call them, and the same by number for
 * syscall().
 *
 * mq_send, mq_receive and their timed forms are cancellation points; all may be
 * called in a signal handler, after fork, in a vfork child. errno is written
 * only on failure. The wrappers follow the libc that is there: glibc asks for
 * the slash of a name, musl does not.
 *
 * SIGEV_THREAD: the thread that will run the function is made at registration,
 * with the attributes given, and registers itself; it waits with all signals
 * blocked and runs the function with none blocked.
 */
#include <limits.h>
#include <mqueue.h>
#include <signal.h>
#include <stdarg.h>
#include "entry/cookie.h"
#include "entry/notify_thread.h"
#include "entry/file/fd.h"
#include "entry/sysv.h"
#include "object/controlfile.h"
#include "registry/cancel.h"
#include "registry/guard.h"

#undef mq_open
/* The kernel's PATH_MAX, for names. */
#define NAME_CAP 4096
#define LIBC_SIGNALS (3ULL << 31) /* 32 and 33: cancellation, setxid */

extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int pthread_create(void *, const void *, void *(*)(void *), void *)
	__attribute__((weak));
extern int pthread_detach(unsigned long) __attribute__((weak));
extern int pthread_attr_getdetachstate(const void *, int *)
	__attribute__((weak));
extern void abort(void) __attribute__((weak));

_Static_assert(sizeof(struct mq_attr) == 64, "mq_attr");
_Static_assert(sizeof(struct sigevent) == 64, "sigevent");

/* The length of a string of less than NAME_CAP bytes. */
static long name_length(struct caller *c, const char *name)
{
	uintptr_t at = (uintptr_t)name, n;

	for (n = 0; n < NAME_CAP; n++) {
		if ((n == 0 || (at + n) % SYS_PAGE == 0) &&
			guard_readable(c, name + n, 1))
			return -EFAULT;
		if (!name[n])
			return n ? (long)n : -ENOENT;
	}
	return -ENAMETOOLONG;
}

long entry_mq_open(const char *name, int oflag, unsigned mode, const void *attr)
{
	struct mq_limits_attr limits;
	struct mq_attr given;
	struct mq_desc d;
	int err = 0;
	struct caller *c = process_get(&err);
	long len, fd;

	if (!c)
		return -err;
	controlfile_drain(c);
	if (attr && guard_read(c, &given, attr, sizeof(given)))
		return -EFAULT;
	len = name_length(c, name);
	if (len < 0)
		return len;
	if (attr) {
		limits.maxmsg = given.mq_maxmsg;
		limits.msgsize = given.mq_msgsize;
	}
	fd = mqueue_open(c, name, len, oflag, mode, attr ? &limits : NULL, &d);
	/* A queue's file knows no direct I/O, which the kernel finds out when
	 * it opens it, last. */
	if (fd >= 0 && (oflag & MQ_O_DIRECT)) {
		sys_call(__NR_close, fd);
		return -EINVAL;
	}
	if (fd >= 0)
		fd_enter(c, &d);
	return fd;
}

long entry_mq_unlink(const char *name)
{
	int err = 0;
	struct caller *c = process_get(&err);
	long len;

	if (!c)
		return -err;
	len = name_length(c, name);
	return len < 0 ? len : mqueue_unlink(c, name, len);
}

/* 0 with *ret, -EFAULT, -EINVAL. */
static int read_timeout(
	struct caller *c, const void *user, struct sys_timespec *ret)
{
	if (guard_read(c, ret, user, sizeof(*ret)))
		return -EFAULT;
	if (ret->sec < 0 || ret->nsec < 0 || ret->nsec > 999999999)
		return -EINVAL;
	return 0;
}

long entry_mq_send(int fd, const char *text, size_t len, unsigned prio,
	const void *timeout)
{
	struct sys_timespec ts;
	struct mq_desc d;
	int err = 0;
	struct caller *c = process_get(&err);
	long ret;

	if (unlikely(!c))
		return -err;
	if (timeout) {
		err = read_timeout(c, timeout, &ts);
		if (err)
			return err;
	}
	if (unlikely(prio >= MQ_N_PRIOS))
		return -EINVAL;
	do {
		if (unlikely(fd_lookup(c, fd, &d)))
			return fd_is_elsewhere(c, fd)
				       ? process_home(entry_mq_send(
						 fd, text, len, prio, timeout))
				       : -EBADF;
		if (unlikely(d.access != MQ_O_WRONLY && d.access != MQ_O_RDWR))
			return -EBADF;
		ret = mqueue_send(c, &d, text, len, prio, timeout ? &ts : NULL);
	} while (unlikely(ret == -MQ_ERESTART));
	return ret;
}

long entry_mq_receive(
	int fd, char *text, size_t len, unsigned *prio, const void *timeout)
{
	struct sys_timespec ts;
	struct mq_desc d;
	int err = 0;
	struct caller *c = process_get(&err);
	long ret;

	if (unlikely(!c))
		return -err;
	if (timeout) {
		err = read_timeout(c, timeout, &ts);
		if (err)
			return err;
	}
	do {
		if (unlikely(fd_lookup(c, fd, &d)))
			return fd_is_elsewhere(c, fd)
				       ? process_home(entry_mq_receive(
						 fd, text, len, prio, timeout))
				       : -EBADF;
		if (unlikely(d.access != MQ_O_RDONLY && d.access != MQ_O_RDWR))
			return -EBADF;
		ret = mqueue_receive(
			c, &d, text, len, prio, timeout ? &ts : NULL);
	} while (unlikely(ret == -MQ_ERESTART));
	return ret;
}

long entry_mq_setattr(int fd, const void *new, void *old)
{
	struct mq_attr set, was;
	struct mq_numbers is;
	struct mq_desc d;
	long flags, want;
	int err = 0;
	struct caller *c = process_get(&err);

	if (!c)
		return -err;
	if (new &&guard_read(c, &set, new, sizeof(set)))
		return -EFAULT;
	if (new && (set.mq_flags & ~(long)MQ_O_NONBLOCK))
		return -EINVAL;
	do {
		if (fd_lookup(c, fd, &d))
			return fd_is_elsewhere(c, fd)
				       ? process_home(
						 entry_mq_setattr(fd, new, old))
				       : -EBADF;
		flags = sys_call(__NR_fcntl, fd, 3 /* F_GETFL */);
	} while (unlikely(mq_number_changed(c, &d)));
	err = mq_numbers(c, &d, &is);
	if (err)
		return err;
	if (flags < 0)
		return flags;
	if (new) {
		want = (flags & ~(long)MQ_O_NONBLOCK) | set.mq_flags;
		if (want != flags)
			sys_call(__NR_fcntl, fd, 4 /* F_SETFL */,
				want | (d.nameless ? 0 : MQ_O_DIRECT));
		mq_touch(c, &d);
	}
	if (!old)
		return 0;
	if (guard_target(c, old, sizeof(was)))
		return -EFAULT;
	__builtin_memset(&was, 0, sizeof(was));
	was.mq_flags = flags & MQ_O_NONBLOCK;
	was.mq_maxmsg = is.maxmsg;
	was.mq_msgsize = is.msgsize;
	was.mq_curmsgs = is.curmsgs;
	__builtin_memcpy(old, &was, sizeof(was));
	return 0;
}

/* ---- mq_notify ---- */

/* Between mq_notify and the thread that it makes: on the stack of the former,
 * which waits until `ready` is set. */
struct helper {
	int fd;
	void (*function)(union sigval);
	union sigval value;
	int result;
	u32 ready;
};

static int register_thread(struct caller *c, int fd, struct mq_desc *d)
{
	const struct mq_event ev = {.how = SIGEV_THREAD};

	return fd_lookup(c, fd, d) ? -EBADF : mq_set_notify(c, d, &ev);
}

static void *helper_run(void *arg)
{
	struct helper *shared = arg, own = *shared;
	const u64 none = 0;
	struct mq_desc d;
	int err = 0;
	struct caller *c = process_get(&err);

	own.result = c ? register_thread(c, own.fd, &d) : -err;
	shared->result = own.result;
	__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
	sys_futex_wake(&shared->ready, 1);
	if (own.result || mq_notify_wait(c, &d) != 1)
		return NULL;
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &none, NULL, 8);
	own.function(own.value);
	return NULL;
}

static int notify_thread(int fd, const struct sigevent *ev)
{
	const u64 all = ~LIBC_SIGNALS;
	struct helper h = {.fd = fd,
		.function = ev->sigev_notify_function,
		.value = ev->sigev_value};
	void *attr = ev->sigev_notify_attributes;
	unsigned long thread;
	int err, detached = 0;
	u64 mask;

	if (!pthread_create || !pthread_detach)
		return -ENOSYS;
	if (attr && pthread_attr_getdetachstate)
		pthread_attr_getdetachstate(attr, &detached);
	sys_call(__NR_rt_sigprocmask, SIG_BLOCK, &all, &mask, 8);
	err = pthread_create(&thread, attr, helper_run, &h);
	sys_call(__NR_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	if (err)
		return -EAGAIN;
	if (!detached)
		pthread_detach(thread);
	while (!__atomic_load_n(&h.ready, __ATOMIC_ACQUIRE))
		sys_futex_wait(&h.ready, 0, NULL);
	return h.result;
}

/* By number SIGEV_THREAD means a socket: cookie.h. */
static int read_cookie(
	struct caller *c, const struct sigevent *se, struct mq_event *ret)
{
	if (guard_read(c, ret->cookie, se->sigev_value.sival_ptr,
		    sizeof(ret->cookie)))
		return -EFAULT;
	ret->by_socket = 1;
	ret->sock = se->sigev_signo;
	return cookie_socket(ret->sock, &ret->sock_ino);
}

static int opened_here(int fd)
{
	return fd_is_mq(fd) && (fd_entry(fd)->info & FD_HERE);
}

/* Whoever cannot be told by the sender itself needs a notify_thread. */
static int call_notify_thread(struct caller *c, struct mq_event *ev)
{
	int err = 0;

	if (!ev->by_socket && (ev->how != SIGEV_SIGNAL || !ev->signo ||
				      !notify_thread_needed(c)))
		return 0;
	/* A vfork child shares its memory with another process. */
	if (c->pid != process_page.pid)
		return ev->by_socket ? -ENOSYS : 0;
	if (ev->by_socket)
		err = cookie_possible();
	if (!err)
		err = caller_enroll(c);
	if (!err) {
		err = notify_thread_start(c);
		ev->notify_thread = !err;
	}
	/* Without one, most can be told all the same. */
	return ev->by_socket ? err : 0;
}

long entry_mq_notify(int fd, const void *user, int named)
{
	struct mq_event ev = {0};
	struct sigevent se;
	struct mq_desc d;
	int err = 0;
	struct caller *c = process_get(&err);

	if (!c)
		return -err;
	if (user) {
		if (guard_read(c, &se, user, sizeof(se)))
			return -EFAULT;
		if (se.sigev_notify != SIGEV_SIGNAL &&
			se.sigev_notify != SIGEV_NONE &&
			se.sigev_notify != SIGEV_THREAD)
			return -EINVAL;
		if (se.sigev_notify == SIGEV_SIGNAL &&
			(se.sigev_signo < 0 || se.sigev_signo > 64))
			return -EINVAL;
		if (se.sigev_notify == SIGEV_THREAD && !named)
			err = read_cookie(c, &se, &ev);
		if (err)
			return err;
		ev.how = se.sigev_notify;
		ev.signo = ev.how == SIGEV_SIGNAL ? se.sigev_signo : 0;
		ev.value = (u64)se.sigev_value.sival_ptr;
	}
	if (fd_lookup(c, fd, &d))
		return fd_is_elsewhere(c, fd)
			       ? process_home(entry_mq_notify(fd, user, named))
			       : -EBADF;
	if (user)
		mq_notify_after_exec(c, &d, opened_here);
	if (user && se.sigev_notify == SIGEV_THREAD && named)
		return notify_thread(fd, &se);
	if (user)
		err = call_notify_thread(c, &ev);
	return err ? err : mq_set_notify(c, &d, user ? &ev : NULL);
}

/* ---- the names ---- */

static int not_served(void)
{
	return unlikely(!process_get_fast(FAC_MQ)) && !process_routes(FAC_MQ);
}

/* Without its slash, or NULL where glibc says EINVAL. */
static const char *unprefixed(const char *name)
{
	if (name[0] == '/')
		return name + 1;
	return gnu_get_libc_version ? NULL : name;
}

static mqd_t open_by(
	const char *name, int oflag, unsigned mode, const struct mq_attr *attr)
{
	name = unprefixed(name);
	if (!name)
		return process_return(-EINVAL);
	if (not_served())
		return process_return(
			sys_call(__NR_mq_open, name, oflag, mode, attr));
	return process_return(entry_mq_open(name, oflag, mode, attr));
}

EXPORT mqd_t mq_open(const char *name, int oflag, ...)
{
	const struct mq_attr *attr = NULL;
	unsigned mode = 0;
	va_list ap;

	if (oflag & MQ_O_CREAT) {
		va_start(ap, oflag);
		mode = va_arg(ap, unsigned);
		attr = va_arg(ap, const struct mq_attr *);
		va_end(ap);
	}
	return open_by(name, oflag, mode, attr);
}

/* What a fortified program calls that gives no mode. With O_CREAT libc ends it
 * with a message of its own. */
EXPORT mqd_t __mq_open_2(const char *name, int oflag)
{
	static void *next;
	mqd_t (*real)(const char *, int);

	if (oflag & MQ_O_CREAT) {
		real = (mqd_t(*)(const char *, int))process_next(
			&next, "__mq_open_2");
		if (real)
			return real(name, oflag);
	}
	return open_by(name, oflag & ~MQ_O_CREAT, 0, NULL);
}

EXPORT int mq_close(mqd_t fd)
{
	return process_return(entry_close(fd));
}

EXPORT int mq_unlink(const char *name)
{
	long ret;

	name = unprefixed(name);
	if (!name)
		return process_return(-EINVAL);
	ret = not_served() ? sys_call(__NR_mq_unlink, name)
			   : entry_mq_unlink(name);
	return process_return(ret == -EPERM ? -EACCES : ret);
}

/* Not served: by libc, which is the cancellation point. */
#define TO_LIBC(ret, name, params, args)                                       \
	if (not_served()) {                                                    \
		static void *next;                                             \
		ret(*real) params = (ret(*) params)process_next(&next, #name); \
		return real args;                                              \
	}

EXPORT int mq_send(mqd_t fd, const char *text, size_t len, unsigned prio)
{
	TO_LIBC(int, mq_send, (mqd_t, const char *, size_t, unsigned),
		(fd, text, len, prio))
	cancel_test();
	return process_return(entry_mq_send(fd, text, len, prio, NULL));
}

EXPORT int mq_timedsend(mqd_t fd, const char *text, size_t len, unsigned prio,
	const struct timespec *timeout)
{
	TO_LIBC(int, mq_timedsend,
		(mqd_t, const char *, size_t, unsigned,
			const struct timespec *),
		(fd, text, len, prio, timeout))
	cancel_test();
	return process_return(entry_mq_send(fd, text, len, prio, timeout));
}

EXPORT ssize_t mq_receive(mqd_t fd, char *text, size_t len, unsigned *prio)
{
	TO_LIBC(ssize_t, mq_receive, (mqd_t, char *, size_t, unsigned *),
		(fd, text, len, prio))
	cancel_test();
	return process_return(entry_mq_receive(fd, text, len, prio, NULL));
}

EXPORT ssize_t mq_timedreceive(mqd_t fd, char *restrict text, size_t len,
	unsigned *restrict prio, const struct timespec *restrict timeout)
{
	TO_LIBC(ssize_t, mq_timedreceive,
		(mqd_t, char *, size_t, unsigned *, const struct timespec *),
		(fd, text, len, prio, timeout))
	cancel_test();
	return process_return(entry_mq_receive(fd, text, len, prio, timeout));
}

EXPORT int mq_notify(mqd_t fd, const struct sigevent *ev)
{
	TO_LIBC(int, mq_notify, (mqd_t, const struct sigevent *), (fd, ev))
	return process_return(entry_mq_notify(fd, ev, 1));
}

EXPORT int mq_getattr(mqd_t fd, struct mq_attr *ret)
{
	if (not_served())
		return process_return(
			sys_call(__NR_mq_getsetattr, fd, NULL, ret));
	return process_return(entry_mq_setattr(fd, NULL, ret));
}

EXPORT int mq_setattr(mqd_t fd, const struct mq_attr *restrict new,
	struct mq_attr *restrict old)
{
	if (not_served())
		return process_return(
			sys_call(__NR_mq_getsetattr, fd, new, old));
	return process_return(entry_mq_setattr(fd, new, old));
}
