// SPDX-License-Identifier: MIT
/*
 * The calls on descriptors that matter to a message queue or a file of
 * procfs.h, and the table of the process's own of both.
 *
 * The table is private memory, two levels by number, made by the first mq_open
 * or procfs_open; a fork child has its own copy. An entry is written where a
 * descriptor comes to be (mq_open, open, dup, fcntl) and cleared before a
 * number is closed or replaced, so a number that was closed and now names a
 * file is never taken for a queue; where the closing was not seen, by fstat(2)
 * in all calls but mq_send and mq_receive. A descriptor that came over exec or
 * a socket is not in it: it is recognised by the inode of its FIFO at the first
 * mq_* call, or poll in a process that has used queues.
 *
 * In a vfork child the table is the parent's: it is used but not changed.
 *
 * What cannot block goes to the kernel directly, what can goes to libc's own
 * definition, since it is a cancellation point. The cost for other descriptors
 * is one load. poll and its kin only set a flag (mq_watch) and do not look at
 * anything in a process without queues.
 */
/* Else the headers rename fcntl to fcntl64; off_t has 64 bits anyway. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "entry/fd.h"
#include "entry/mqfile.h"
#include "entry/procfile.h"
#include "object/controlfile.h"
#include "registry/cancel.h"
#include "registry/guard.h"

#ifndef F_SETSIG
#define F_SETSIG 10
#define F_GETSIG 11
#endif
#ifndef F_SETLEASE
#define F_SETLEASE 1024
#endif
#ifndef F_OFD_SETLK
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif
#ifndef F_SETPIPE_SZ
#define F_SETPIPE_SZ 1031
#define F_GETPIPE_SZ 1032
#endif
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "stat");
/* And O_LARGEFILE, O_NOFOLLOW. */
#define HIDDEN_FLAGS (MQ_O_DIRECT | 0100000 | 0400000)
#define O_ASYNC_FLAG 020000
#define CLOSE_RANGE_CLOEXEC_FLAG 4
#define F_GET_RW_HINT_OF_FILE 1035
#define F_SET_RW_HINT_OF_FILE 1036
#define RW_HINT_MAX 5
#define NR_CLOSE_RANGE 436
#define NR_PIDFD_GETFD 438

struct fd_entry *fd_table[FD_CHUNKS] SYS_FAR_BSS;
int fd_used;	   /* a queue was opened or looked for */
static u32 fd_top; /* above all numbers in the table */

/* Numbers are noted by threads at once; one that is lost here is noted
 * again. */
static void note_top(int fd)
{
	if ((u32)fd >= __atomic_load_n(&fd_top, __ATOMIC_RELAXED))
		__atomic_store_n(&fd_top, (u32)fd + 1, __ATOMIC_RELAXED);
}

static struct fd_entry *entry_make(int fd)
{
	struct fd_entry **at, *chunk, *seen = NULL;
	size_t size = FD_CHUNK * sizeof(*chunk);

	if ((u32)fd >= FD_CHUNK * FD_CHUNKS)
		return NULL;
	at = &fd_table[fd / FD_CHUNK];
	if (!__atomic_load_n(at, __ATOMIC_ACQUIRE)) {
		chunk = sys_mmap(NULL, size, 3, 0x22, -1, 0);
		if ((unsigned long)chunk > -4096UL)
			return NULL;
		if (!__atomic_compare_exchange_n(at, &seen, chunk, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			sys_call(__NR_munmap, chunk, size);
	}
	note_top(fd);
	return fd_entry(fd);
}

static void entry_set(struct fd_entry *e, u64 ident, u32 info, u64 pos)
{
	__atomic_store_n(&e->info, 0, __ATOMIC_RELEASE);
	e->ident = ident;
	e->pos = pos;
	__atomic_store_n(&e->info, info, __ATOMIC_RELEASE);
}

static void entry_clear(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	if (unlikely(e && e->info))
		__atomic_store_n(&e->info, 0, __ATOMIC_RELEASE);
}

/* The caller if the table is its own: not in a vfork child. */
static struct caller *table_owner(void)
{
	int err;
	struct caller *c = process_get(&err);

	return c && c->pid == process_page.pid ? c : NULL;
}

void fd_enter(struct caller *c, const struct mq_desc *d)
{
	struct fd_entry *e;

	fd_used = 1;
	if (c->pid != process_page.pid)
		return;
	e = entry_make(d->fd);
	if (e)
		entry_set(e, d->ident,
			FD_MQ | FD_HERE | d->access |
				(d->nameless ? FD_NAMELESS : 0),
			0);
}

void fd_enter_proc(struct caller *c, int fd, u64 ident, u32 access)
{
	struct fd_entry *e;

	if (c->pid != process_page.pid)
		return;
	e = entry_make(fd);
	if (e)
		entry_set(e, ident, FD_PROC | access, 0);
}

u64 fd_forget_proc(int fd)
{
	u64 ident = fd_entry(fd)->ident;

	entry_clear(fd);
	return ident;
}

long fd_closed_proc(u64 ident)
{
	struct caller *c = table_owner();

	if (!c || proc_at(ident) == PROC_NO_FILE)
		return 0;
	return controlfile_commit(c, proc_at(ident));
}

int fd_still_mq(int fd)
{
	struct fd_entry *e = fd_entry(fd);
	const struct mqueue *q;
	struct mq_desc d;
	struct stat st;
	int err;
	struct caller *c = process_get(&err);

	if (!c)
		return 1;
	fd_desc(c, fd, e, &d);
	q = mq_body(c, d.s);
	if (unlikely(d.nameless) && mq_fifo_is_nameless(fd))
		return 1;
	if (!d.nameless && !sys_call(__NR_fstat, fd, &st) &&
		S_ISFIFO(st.st_mode) &&
		(!q || atom_load_acquire(&d.s->ident) != d.ident ||
			(st.st_ino == q->ino && st.st_dev == q->dev)))
		return 1;
	if (table_owner())
		entry_clear(fd);
	return 0;
}

int fd_lookup_slow(struct caller *c, int fd, struct mq_desc *ret)
{
	struct stat st;
	struct fd_entry *e;
	long sig;

	if (fd_is_proc(fd))
		return -EBADF;
	fd_used = 1;
	if (sys_call(__NR_fstat, fd, &st))
		return -EBADF;
	e = c->pid == process_page.pid ? entry_make(fd) : NULL;
	/* A signal handler or another thread uses what is being closed: noted
	 * now, it would stay for the number's next owner. */
	if (e && (atom_load_acquire(&e->info) & FD_CLOSING))
		e = NULL;
	if (!S_ISFIFO(st.st_mode) ||
		mq_find_inode(c, st.st_dev, st.st_ino, ret)) {
		if (e)
			entry_set(e, 0, FD_OTHER, 0);
		return -EBADF;
	}
	sig = sys_call(__NR_fcntl, fd, F_GETSIG);
	/* Opened by somebody else (/proc/PID/fd), in one direction: what keeps
	 * it in step for poll needs both. */
	if (sys_call(__NR_fcntl, fd, F_GETFL) % 4 != MQ_O_RDWR)
		return -EBADF;
	ret->fd = fd;
	ret->number = (const struct mq_number *)(const void *)fd_entry(fd);
	ret->access = sig >= MQ_FIFO_SIG && sig <= MQ_FIFO_SIG + MQ_FIFO_LAST
			      ? (sig - MQ_FIFO_SIG) & MQ_O_ACCMODE
			      : MQ_O_RDWR;
	if (e)
		entry_set(e, ret->ident, FD_MQ | ret->access, 0);
	/* Another thread may have put another file there meanwhile. */
	if (e && !fd_still_mq(fd))
		return -EBADF;
	/* Where it came from somebody may poll it without us. */
	mq_watch(c, ret, MQ_POLLED_IN | MQ_POLLED_OUT);
	return 0;
}

/* ---- close, dup ---- */

/* A served number that is going away. */
struct closing {
	u32 kind; /* FD_MQ, FD_PROC, or 0 */
	u64 ident;
	struct mq_desc mq;
};

/* fd is about to be closed or replaced. */
static void close_begin(int fd, struct closing *ret)
{
	struct caller *c;

	ret->kind = 0;
	if (likely(!fd_is_served(fd))) {
		entry_clear(fd);
		return;
	}
	c = table_owner();
	if (!c)
		return;
	ret->kind = fd_entry(fd)->info & (FD_MQ | FD_PROC);
	if (ret->kind == FD_PROC) {
		ret->ident = fd_forget_proc(fd);
		return;
	}
	fd_desc(c, fd, fd_entry(fd), &ret->mq);
	atom_store_release(&fd_entry(fd)->info, FD_CLOSING);
	mq_closing(c, &ret->mq);
}

/* It is: 0, or the error of what was written to it. */
static long close_end(const struct closing *k)
{
	struct caller *c;
	u32 seen = FD_CLOSING;

	if (likely(!k->kind))
		return 0;
	if (k->kind == FD_PROC)
		return fd_closed_proc(k->ident);
	atom_cas(&fd_entry(k->mq.fd)->info, &seen, 0);
	c = table_owner();
	if (c)
		mq_closed(c, &k->mq);
	return 0;
}

long entry_close(int fd)
{
	struct closing k;
	long ret, err;

	close_begin(fd, &k);
	ret = sys_call(__NR_close, fd);
	err = close_end(&k);
	return ret ? ret : err;
}

/* `to` is now what fd is. */
static void copy_entry(int fd, int to)
{
	struct fd_entry *from = fd_entry(fd), *e;

	if (likely(!fd_is_served(fd))) {
		entry_clear(to);
		return;
	}
	if (!table_owner())
		return;
	e = entry_make(to);
	if (e)
		entry_set(e, from->ident, from->info, from->pos);
}

long entry_dup3(long nr, int fd, int to, int flags)
{
	struct closing k = {0};
	long ret;

	if (nr == __NR_dup) {
		ret = sys_call(nr, fd);
		if (ret >= 0)
			copy_entry(fd, ret);
		return ret;
	}
	/* A failure leaves `to` as it is: fd must be open. */
	if (fd != to && fd_is_served(to) &&
		sys_call(__NR_fcntl, fd, F_GETFD) >= 0)
		close_begin(to, &k);
	ret = sys_call(nr, fd, to, flags);
	if (ret >= 0 && fd != to)
		copy_entry(fd, ret);
	close_end(&k);
	return ret;
}

long entry_close_range(unsigned first, unsigned last, int flags)
{
	unsigned fd;
	long ret;

	if (first > last || (flags & CLOSE_RANGE_CLOEXEC_FLAG))
		return sys_call(NR_CLOSE_RANGE, first, last, flags);
	for (fd = first; fd <= last && fd < FD_CHUNK * FD_CHUNKS; fd++) {
		if (!fd_entry(fd))
			fd |= FD_CHUNK - 1;
		else if (fd_is_served(fd))
			entry_close(fd);
		else
			entry_clear(fd);
	}
	ret = sys_call(NR_CLOSE_RANGE, first, last, flags);
	/* What a signal handler or another thread opened meanwhile. */
	for (fd = first; fd <= last && fd < FD_CHUNK * FD_CHUNKS; fd++) {
		if (!fd_entry(fd))
			fd |= FD_CHUNK - 1;
		else if (fd_is_served(fd) &&
			 sys_call(__NR_fcntl, fd, F_GETFD) < 0)
			entry_clear(fd);
	}
	return ret;
}

EXPORT int close(int fd)
{
	cancel_test();
	return process_return(entry_close(fd));
}

EXPORT int dup(int fd)
{
	return process_return(entry_dup3(__NR_dup, fd, 0, 0));
}

EXPORT int dup2(int fd, int to)
{
	return process_return(entry_dup3(__NR_dup2, fd, to, 0));
}

EXPORT int dup3(int fd, int to, int flags)
{
	return process_return(entry_dup3(__NR_dup3, fd, to, flags));
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	return process_return(entry_close_range(first, last, flags));
}

EXPORT void closefrom(int low)
{
	static void *next;
	void (*real)(int);
	long ret = entry_close_range(low < 0 ? 0 : low, ~0u, 0);

	if (ret == 0)
		return;
	real = (void (*)(int))process_next(&next, "closefrom");
	if (real)
		real(low);
}

/* ---- fcntl ---- */

/* Of a regular file: of no effect here, and not kept. */
static long rw_hint(struct caller *c, int cmd, void *user)
{
	u64 hint = 0;

	if (cmd == F_GET_RW_HINT_OF_FILE)
		return guard_write(c, user, &hint, sizeof(hint)) ? -EFAULT : 0;
	if (guard_read(c, &hint, user, sizeof(hint)))
		return -EFAULT;
	return hint > RW_HINT_MAX ? -EINVAL : 0;
}

long entry_fcntl(int fd, int cmd, long arg)
{
	struct fd_entry *e = fd_entry(fd);
	struct caller *c;
	struct mq_desc d;
	long ret;
	int err;

	switch (cmd) {
	case F_GETFL:
		ret = sys_call(__NR_fcntl, fd, cmd);
		if (ret >= 0)
			ret = (ret & ~(HIDDEN_FLAGS | MQ_O_ACCMODE)) |
			      (e->info & FD_ACCESS) | mqfile_large(fd);
		return ret;
	case F_SETFL:
		if (arg & MQ_O_DIRECT)
			return -EINVAL;
		/* A queue's file knows no O_ASYNC; a FIFO would signal. */
		return sys_call(__NR_fcntl, fd, cmd,
			(arg & ~(long)O_ASYNC_FLAG) |
				(e->info & FD_NAMELESS ? 0 : MQ_O_DIRECT));
	case F_GETSIG:
	case F_SETSIG:
		return 0;
	case F_GETPIPE_SZ:
	case F_SETPIPE_SZ:
		return -EBADF;
	case F_SETFD:
		c = arg & FD_CLOEXEC ? NULL : table_owner();
		if (c) {
			/* What is executed may poll it without us. */
			fd_desc(c, fd, e, &d);
			mq_watch(c, &d, MQ_POLLED_IN | MQ_POLLED_OUT);
		}
		break;
	case F_GET_RW_HINT_OF_FILE:
	case F_SET_RW_HINT_OF_FILE:
		c = process_get(&err);
		return c ? rw_hint(c, cmd, (void *)arg) : -err;
	case F_SETLEASE:
		/* Others have it open, or might. */
		return arg >= F_RDLCK && arg <= F_UNLCK ? -EAGAIN : -EINVAL;
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		ret = mqfile_may_lock(fd, (const void *)arg);
		if (ret)
			return ret;
		break;
	default:
		break;
	}
	return sys_call(__NR_fcntl, fd, cmd, arg);
}

typedef int (*fcntl_fn)(int, int, ...);

static int fcntl_by(fcntl_fn real, int fd, int cmd, long arg)
{
	int ret;

	if (unlikely(fd_is_mq(fd) && cmd != F_DUPFD && cmd != F_DUPFD_CLOEXEC))
		return process_return(entry_fcntl(fd, cmd, arg));
	ret = real ? real(fd, cmd, arg)
		   : (int)process_return(sys_call(__NR_fcntl, fd, cmd, arg));
	if ((cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) && ret >= 0)
		copy_entry(fd, ret);
	/* A memfd is open for both. */
	if (cmd == F_GETFL && ret >= 0 && fd_is_proc(fd))
		ret = (ret & ~(int)MQ_O_ACCMODE) |
		      (int)(fd_entry(fd)->info & FD_ACCESS);
	return ret;
}

#define FCNTL_LIKE(name)                                                     \
	EXPORT int name(int fd, int cmd, ...)                                \
	{                                                                    \
		static void *next;                                           \
		va_list ap;                                                  \
		long arg;                                                    \
                                                                             \
		va_start(ap, cmd);                                           \
		arg = va_arg(ap, long);                                      \
		va_end(ap);                                                  \
		return fcntl_by(                                             \
			(fcntl_fn)process_next(&next, #name), fd, cmd, arg); \
	}

FCNTL_LIKE(fcntl)
FCNTL_LIKE(fcntl64)

/* ---- read, fstat, fchmod, fchown ---- */

typedef ssize_t (*read_fn)(int, void *, size_t);
EXPORT ssize_t read(int fd, void *buf, size_t len)
{
	static void *next;
	long ret = PROCFS_PASS;
	read_fn real;

	if (unlikely(fd_is_served(fd)))
		ret = fd_is_mq(fd) ? mqfile_read(fd, buf, len)
				   : procfs_read(fd, buf, len);
	if (unlikely(ret != PROCFS_PASS))
		return process_return(ret);
	real = (read_fn)process_next(&next, "read");
	return real ? real(fd, buf, len)
		    : process_return(sys_call(__NR_read, fd, buf, len));
}

typedef ssize_t (*read_chk_fn)(int, void *, size_t, size_t);
EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t size)
{
	static void *next;
	read_chk_fn real = (read_chk_fn)process_next(&next, "__read_chk");

	if (unlikely(fd_is_served(fd) && len <= size))
		return read(fd, buf, len);
	return real ? real(fd, buf, len, size) : read(fd, buf, len);
}

static long stat_of(int fd, struct stat *to)
{
	long ret = sys_call(__NR_fstat, fd, to);

	if (likely(ret || !fd_is_served(fd)))
		return ret;
	if (fd_is_proc(fd))
		procfs_stat(fd, to);
	else
		mqfile_stat(fd, to);
	return 0;
}

EXPORT int fstat(int fd, struct stat *to)
{
	return process_return(stat_of(fd, to));
}

EXPORT int fstat64(int fd, struct stat64 *to)
{
	return process_return(stat_of(fd, (struct stat *)to));
}

/* Programs linked against glibc before 2.33. */
EXPORT int __fxstat(int version, int fd, void *to)
{
	(void)version;
	return process_return(stat_of(fd, to));
}

EXPORT int __fxstat64(int version, int fd, void *to)
{
	(void)version;
	return process_return(stat_of(fd, to));
}

EXPORT int fchmod(int fd, mode_t mode)
{
	struct mq_desc d;
	int err;
	struct caller *c;

	if (likely(!fd_is_mq(fd)))
		return process_return(sys_call(__NR_fchmod, fd, mode));
	c = process_get(&err);
	if (!c)
		return process_return(-err);
	fd_desc(c, fd, fd_entry(fd), &d);
	return process_return(mq_chmod(c, &d, mode));
}

EXPORT int fchown(int fd, uid_t uid, gid_t gid)
{
	struct mq_desc d;
	int err;
	struct caller *c;

	if (likely(!fd_is_mq(fd)))
		return process_return(sys_call(__NR_fchown, fd, uid, gid));
	c = process_get(&err);
	if (!c)
		return process_return(-err);
	fd_desc(c, fd, fd_entry(fd), &d);
	return process_return(mq_chown(c, &d, uid, gid));
}

/* ---- poll and its kin ---- */

static void watch(int fd, u32 bits)
{
	struct fd_entry *e = fd_entry(fd);
	struct mq_desc d;
	struct caller *c;
	int err;

	if (fd < 0 || (e && (e->info & (FD_OTHER | FD_PROC))))
		return;
	c = process_get(&err);
	if (c && !fd_lookup(c, fd, &d))
		mq_watch(c, &d, bits);
}

static u32 poll_bits(u32 events)
{
	return (events & (POLLIN | POLLRDNORM) ? MQ_POLLED_IN : 0) |
	       (events & (POLLOUT | POLLWRNORM) ? MQ_POLLED_OUT : 0);
}

void entry_watch_poll(const void *fds, unsigned long n)
{
	const struct pollfd *at = fds;
	unsigned long i;
	int err;
	struct caller *c;

	if (likely(!fd_used))
		return;
	c = process_get(&err);
	if (!c || n > 1ul << 20 || guard_readable(c, fds, n * sizeof(*at)))
		return;
	for (i = 0; i < n; i++)
		watch(at[i].fd, poll_bits(at[i].events));
}

static int is_line(const char *at, const char *head)
{
	while (*head && *at == *head)
		at++, head++;
	return !*head;
}

/*
 * How many bits of a set of select(2) the kernel looks at, at most: those of
 * the process's table, whatever n is; the set may be no longer. That table only
 * grows, so what it was counts, and whatever number was seen in use. Up to
 * FD_SETSIZE a set has what it says.
 */
static int n_looked_at(int n)
{
	static u32 known; /* FDSize once */
	u32 most = __atomic_load_n(&known, __ATOMIC_RELAXED), top;
	char text[512];
	const char *at;
	long fd, len;

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
		for (at = text; *at; at++)
			if (is_line(at, "\nFDSize:\t"))
				break;
		if (*at) {
			at += 9;
			for (most = 0; *at >= '0' && *at <= '9'; at++)
				most = most * 10 + (u32)(*at - '0');
		}
		__atomic_store_n(&known, most, __ATOMIC_RELAXED);
	}
	top = __atomic_load_n(&fd_top, __ATOMIC_RELAXED);
	if (most < top)
		most = top;
	return (u32)n < most ? n : (int)most;
}

static void watch_set(int n, const unsigned long *set, u32 bits)
{
	unsigned long word;
	int at, err;
	struct caller *c = process_get(&err);

	if (!c || !set || n <= 0 || guard_readable(c, set, (n + 63) / 64 * 8ul))
		return;
	for (at = 0; at < n; at += 64) {
		word = set[at / 64];
		if (n - at < 64)
			word &= (1ul << (n - at)) - 1;
		for (; word; word &= word - 1)
			watch(at + __builtin_ctzl(word), bits);
	}
}

void entry_watch_select(int n, const void *in, const void *out)
{
	if (likely(!fd_used))
		return;
	n = n_looked_at(n);
	watch_set(n, in, MQ_POLLED_IN);
	watch_set(n, out, MQ_POLLED_OUT);
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
		watch(fd, poll_bits(ev->events) |
				  (ev->events & EPOLLET ? MQ_POLLED_EDGE : 0));
}

/* ---- what others may poll ---- */

static void watch_both(struct caller *c, int fd)
{
	struct mq_desc d;

	if (!fd_lookup(c, fd, &d))
		mq_watch(c, &d, MQ_POLLED_IN | MQ_POLLED_OUT);
}

void fd_executing(int any)
{
	u32 fd, top = __atomic_load_n(&fd_top, __ATOMIC_RELAXED);
	struct caller *c;
	int err;
	long flags;

	if (likely(!fd_used))
		return;
	c = process_get(&err);
	for (fd = 0; c && fd < top; fd++) {
		if (!fd_entry((int)fd)) {
			fd |= FD_CHUNK - 1;
			continue;
		}
		if (!fd_is_mq((int)fd))
			continue;
		flags = sys_call(__NR_fcntl, fd, F_GETFD);
		if (flags >= 0 && (any || !(flags & FD_CLOEXEC)))
			watch_both(c, (int)fd);
	}
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

long entry_got(long fd)
{
	struct mq_desc d;
	struct caller *c;
	struct stat st;
	int err;

	if (fd < 0 || sys_call(__NR_fstat, fd, &st) || !S_ISFIFO(st.st_mode))
		return fd;
	c = process_routes(FAC_MQ) ? process_get(&err) : NULL;
	entry_clear((int)fd);
	if (c)
		fd_lookup(c, (int)fd, &d);
	return fd;
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

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	entry_watch_poll(read_too(fds), n);
	PASS_ON(int, poll, (struct pollfd *, nfds_t, int), (fds, n, timeout));
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size)
{
	entry_watch_poll(read_too(fds), n);
	PASS_ON(int, __poll_chk, (struct pollfd *, nfds_t, int, size_t),
		(fds, n, timeout, size));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout,
	const sigset_t *mask)
{
	entry_watch_poll(read_too(fds), n);
	PASS_ON(int, ppoll,
		(struct pollfd *, nfds_t, const struct timespec *,
			const sigset_t *),
		(fds, n, timeout, mask));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n,
	const struct timespec *timeout, const sigset_t *mask, size_t size)
{
	entry_watch_poll(read_too(fds), n);
	PASS_ON(int, __ppoll_chk,
		(struct pollfd *, nfds_t, const struct timespec *,
			const sigset_t *, size_t),
		(fds, n, timeout, mask, size));
}

EXPORT int select(
	int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
	entry_watch_select(n, in, out);
	PASS_ON(int, select,
		(int, fd_set *, fd_set *, fd_set *, struct timeval *),
		(n, in, out, except, timeout));
}

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *except,
	const struct timespec *timeout, const sigset_t *mask)
{
	entry_watch_select(n, in, out);
	PASS_ON(int, pselect,
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

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
	unsigned i;

	for (i = 0; unlikely(fd_used) && i < n && i < 1024; i++)
		entry_sending(read_too(&msgs[i].msg_hdr));
	PASS_ON(int, sendmmsg, (int, struct mmsghdr *, unsigned, int),
		(fd, msgs, n, flags));
}

EXPORT int pidfd_getfd(int pidfd, int fd, unsigned flags)
{
	return (int)process_return(
		entry_got(sys_call(NR_PIDFD_GETFD, pidfd, fd, flags)));
}

EXPORT int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	entry_watch_epoll(op, fd, event);
	return process_return(sys_call(__NR_epoll_ctl, epfd, op, fd, event));
}
