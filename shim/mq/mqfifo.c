// SPDX-License-Identifier: MIT
/*
 * The FIFO behind an mqd_t.
 *
 * With two slots, 0, 1, 2 of them taken, by a byte each, make poll say OUT,
 * IN|OUT, IN, in every process, by level and by edge: just what an empty, a
 * middling and a full queue say. (A byte that is spliced has a slot to itself,
 * and so has one that is written in packet mode.) It has two slots, and is kept
 * in step, only once
 * somebody has polled the queue (mqueue.polled), always under the queue's lock
 * and before the commit: should we die between, a poller is woken once too
 * often, never too seldom.
 *
 * Its name is random (sidefile.h). What the FIFO lends us besides: its readers
 * are the queue's descriptors (open(O_WRONLY|O_NONBLOCK) is ENXIO when there
 * are none), O_NONBLOCK is that of the open file description, shared by dup and
 * fork, and so is F_SETSIG, in which we keep the access mode: the FIFO itself
 * must be open for both ways.
 */
#include "base/file.h"
#include "mq/mqueue.h"
#include "object/perm.h"
#include "object/sidefile.h"

#define O_CLOEXEC 02000000
#define O_NOFOLLOW 0400000
#define O_KEPT 012000 /* O_APPEND, O_DSYNC: given, shown, without effect */
#define F_SETFL 4
#define F_SETSIG 10
#define F_SETPIPE_SZ 1031
#define S_IFMT 0170000
#define S_IFIFO 0010000
#define F_GETFL 3
#define FIONREAD 0x541b
#define TWO_SLOTS 8192

static u32 kept(u32 oflag)
{
	return oflag & (MQ_O_NONBLOCK | O_KEPT);
}

void mq_fifo_unlink(struct caller *c, const u64 token[2])
{
	sidefile_unlink(c, token);
}

/* oflag: with what cannot be said by open(2). */
static int set_up(int fd, u32 oflag)
{
	if ((oflag & MQ_O_ACCMODE) != MQ_O_RDWR || (oflag & MQ_O_LARGEFILE))
		sys_call(__NR_fcntl, fd, F_SETSIG,
			MQ_FIFO_SIG + (oflag & MQ_O_ACCMODE) +
				(oflag & MQ_O_LARGEFILE ? MQ_FIFO_LARGE : 0));
	return fd;
}

/* What the last descriptor's end has undone. */
static void two_slots(int fd)
{
	sys_call(__NR_fcntl, fd, F_SETPIPE_SZ, TWO_SLOTS);
}

/*
 * The directory cannot be reached (privileges given up, chroot): a FIFO without
 * a name. All works but poll across processes, and this descriptor does not
 * keep an unlinked queue alive. Keeps to the lowest number.
 */
static int open_nameless(u32 oflag)
{
	char path[40];
	int fds[2], err, fd;
	size_t n;

	err = sys_call(__NR_pipe2, fds, O_CLOEXEC);
	if (err)
		return err;
	n = str_add(path, sizeof(path), 0, "/proc/self/fd/");
	str_add_u64(path, sizeof(path), n, fds[0]);
	fd = sys_call(__NR_open, path, MQ_O_RDWR | O_CLOEXEC | kept(oflag));
	if (fd >= 0) {
		err = sys_call(__NR_dup3, fd, fds[0], O_CLOEXEC);
		sys_call(__NR_close, fd);
	}
	sys_call(__NR_close, fds[1]);
	if (fd < 0 || err < 0) {
		sys_call(__NR_close, fds[0]);
		return fd < 0 ? fd : err;
	}
	return set_up(fds[0], oflag);
}

void mq_fifo_prepare(struct caller *c)
{
	static u32 tried; /* by this process */

	if (likely(atom_load_relaxed(&tried)) || !c->region.path[0])
		return;
	__atomic_store_n(&tried, 1, __ATOMIC_RELAXED);
	sidefile_make_dir(c);
}

/* The name may lead to something else than our FIFO only if somebody else owns
 * the directory: so no link is followed, and the inode is looked at. ret NULL
 * where that need not be. */
static int open_named(
	struct caller *c, const u64 token[2], u32 oflag, struct file_stat *ret)
{
	char path[SIDEFILE_PATH_CAP];
	int fd;

	if (!c->region.path[0] || !token[0])
		return -ENOENT;
	sidefile_path(c, token, path);
	fd = sys_call(__NR_open, path,
		MQ_O_RDWR | O_CLOEXEC | O_NOFOLLOW | kept(oflag));
	if (fd < 0 || !ret)
		return fd;
	if (!sys_call(__NR_fstat, fd, ret) && (ret->mode & S_IFMT) == S_IFIFO)
		return fd;
	sys_call(__NR_close, fd);
	return -EACCES;
}

static int nameless_will_do(int err)
{
	return err == -EACCES || err == -ENOENT || err == -ENOTDIR ||
	       err == -ELOOP || err == -EROFS || err == -ENAMETOOLONG;
}

int mq_fifo_open(struct caller *c, const struct mqueue *q, u32 oflag)
{
	struct file_stat st;
	int own = perm_cred(c)->euid == caller_header(c)->owner;
	int fd = open_named(c, q->token, oflag, own ? NULL : &st);

	if (fd >= 0 && !own && (st.dev != q->dev || st.ino != q->ino)) {
		sys_call(__NR_close, fd);
		fd = -EACCES;
	}
	if (nameless_will_do(fd))
		fd = open_nameless(oflag);
	else if (fd >= 0)
		set_up(fd, oflag);
	/* Who polls it first does so himself. */
	if (fd >= 0 && q->polled)
		two_slots(fd);
	return fd;
}

static int make_named(struct caller *c, const u64 token[2])
{
	char path[SIDEFILE_PATH_CAP];
	int err, tries;

	if (!c->region.path[0])
		return -ENOENT;
	sidefile_path(c, token, path);
	for (tries = 0; tries < 2; tries++) {
		err = sys_call(__NR_mknod, path, S_IFIFO | 0777, 0);
		if (err != -ENOENT || sidefile_make_dir(c))
			break;
	}
	return err;
}

int mq_fifo_make(struct caller *c, u32 oflag, struct mq_fifo *ret)
{
	struct header *h = caller_header(c);
	struct file_stat st;
	u64 *token = ret->token;
	int fd;

	sidefile_name(c, token);
	/* Noted first: who finds it there after our death unlinks the FIFO. */
	atom_store_release(&h->mq_fifo[1], token[1]);
	atom_store_release(&h->mq_fifo[0], token[0]);
	fd = make_named(c, token);
	if (!fd) {
		fd = open_named(c, token, oflag, &st);
		if (fd < 0)
			mq_fifo_unlink(c, token);
	}
	if (nameless_will_do(fd)) {
		token[0] = token[1] = ret->dev = ret->ino = 0;
		ret->umask = sys_call(__NR_umask, 077);
		sys_call(__NR_umask, ret->umask);
		return open_nameless(oflag);
	}
	if (fd < 0)
		return fd;
	ret->dev = st.dev;
	ret->ino = st.ino;
	/* The kernel has applied our umask, which it tells nobody without a
	 * moment in which it is another one. */
	ret->umask = 0777 & ~st.mode;
	sys_call(__NR_fchmod, fd, 0666);
	return set_up(fd, oflag);
}

int mq_fifo_unused(struct caller *c, const u64 token[2])
{
	char path[SIDEFILE_PATH_CAP];
	int fd;

	if (!c->region.path[0] || !token[0])
		return 0;
	sidefile_path(c, token, path);
	fd = sys_call(__NR_open, path, MQ_O_WRONLY | MQ_O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		sys_call(__NR_close, fd);
	return fd == -ENXIO;
}

/* ---- readiness ---- */

/* Where there is no splicing. A description's flags have no lock: this is the
 * one place that changes those of one in use. */
static void put_packet(int fd)
{
	long flags = sys_call(__NR_fcntl, fd, F_GETFL);

	if (flags >= 0 && !(flags & MQ_O_DIRECT))
		sys_call(__NR_fcntl, fd, F_SETFL, flags | MQ_O_DIRECT);
	sys_call(__NR_write, fd, "m", 1);
}

static void put(int fd, u32 *n)
{
	const struct {
		const void *base;
		size_t len;
	} piece = {"m", 1};

	if (unlikely(sys_call(__NR_vmsplice, fd, &piece, 1, 0) != 1))
		put_packet(fd);
	++*n;
}

static void take(int fd, u32 *n)
{
	char byte;

	sys_call(__NR_read, fd, &byte, 1);
	--*n;
}

static u32 level_for(const struct mqueue *q, u32 n)
{
	return n == 0 ? 0 : n >= q->maxmsg ? 2 : 1;
}

/* Packets in the FIFO, as remembered or as it says itself. */
static u32 level_now(struct mqueue *q, int fd)
{
	int n = 0;

	if (q->level != MQ_LEVEL_UNKNOWN)
		return q->level;
	sys_call(__NR_ioctl, fd, FIONREAD, &n);
	return n;
}

/*
 * A write is an edge for IN, a read from two packets is one for OUT. The kernel
 * wakes every poller of a queue at each message queued or received, and those
 * by edge report whatever is then ready. What the change of level does not
 * bring of that is made by packets that come and go.
 */
static void make_edges(const struct mqueue *q, int fd, u32 *n, u32 target)
{
	if (target == 2 || !(q->polled & MQ_POLLED_OUT)) {
		while (target && *n >= target)
			take(fd, n);
	} else if (*n < 2) {
		while (*n < 2)
			put(fd, n);
	} else if (target) {
		take(fd, n);
		put(fd, n);
	}
}

void mq_fifo_sync(struct mqueue *q, int fd, u32 n_msgs)
{
	u32 target = level_for(q, n_msgs), n = level_now(q, fd);

	if (q->level == target && !(q->polled & MQ_POLLED_EDGE))
		return;
	atom_store_release(&q->level, MQ_LEVEL_UNKNOWN);
	if (q->polled & MQ_POLLED_EDGE)
		make_edges(q, fd, &n, target);
	while (n > target)
		take(fd, &n);
	while (n < target)
		put(fd, &n);
	atom_store_release(&q->level, target);
}

void mq_fifo_settle(struct mqueue *q, int fd)
{
	u32 n_msgs = prioq_count(&q->msgs), target = level_for(q, n_msgs), n;

	if (q->level == target)
		return;
	n = level_now(q, fd);
	while (n > target)
		take(fd, &n);
	while (n < target)
		put(fd, &n);
	atom_store_release(&q->level, target);
}

void mq_watch(struct caller *c, const struct mq_desc *d, u32 bits)
{
	struct mqueue *q = mq_body(c, d->s);

	if (!q || (atom_load_acquire(&q->polled) & bits) == bits)
		return;
	if (mq_enter(c) || mq_lock(c, d))
		return;
	if (!q->polled) {
		two_slots(d->fd);
		atom_store_release(&q->level, MQ_LEVEL_UNKNOWN);
	}
	atom_store_release(&q->polled, q->polled | bits);
	mq_fifo_settle(q, d->fd);
	lock_release(c, &d->s->lock);
}
