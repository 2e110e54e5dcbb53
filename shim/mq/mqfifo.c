// SPDX-License-Identifier: MIT
/*
 * The FIFO behind an mqd_t.
 *
 * A FIFO of two slots (pipe buffers) of which 0, 1 or 2 are taken by a byte each
 * makes poll report OUT, IN|OUT or IN in every process, level- and
 * edge-triggered: what an empty, a partly filled and a full queue report. (A byte
 * that is spliced has a slot to itself, and so has one written in packet mode.)
 * The FIFO is made to have two slots and kept in step with the queue only while
 * somebody polls (mqueue.polled): a loop that polls and sends or receives pays
 * nothing for its messages between two polls.
 *
 * mqueue.level says how many slots of the named FIFO are taken, or UNKNOWN. It
 * is changed only under the queue's lock: UNKNOWN is stored before the FIFO is
 * touched, and the level when that is done; so a death in between leaves UNKNOWN,
 * and the next one asks the FIFO. An operation makes the FIFO readier before its
 * commit and less ready after it: wherever its process dies, a poller was woken
 * once too often, never once too seldom, and needs nobody's help. A byte too many
 * is taken away by the next owner of the lock (mq_lock), or by a poller before it
 * sleeps (mq_watch).
 *
 * No call on the FIFO blocks while the lock is held, whatever is in it: a byte
 * is put by vmsplice(SPLICE_F_NONBLOCK), and taken after FIONREAD said that
 * there is one. And none touches another file: see fifo_begin.
 *
 * The FIFO's name is random (sidefile.h). What else the FIFO gives us: its readers
 * are the queue's descriptors (open(O_WRONLY|O_NONBLOCK) is ENXIO when there are
 * none); O_NONBLOCK belongs to the open file description, shared by dup and fork,
 * and so does F_SETSIG, in which we keep the access mode, for the FIFO itself
 * must be open for reading and writing.
 *
 * Keeps INV_MQ_READY (inspect/check.h).
 */
#include <asm/ioctls.h>
#include <linux/fcntl.h>
#include <linux/poll.h>
#include "base/file.h"
#include "mq/mqueue.h"
#include "object/perm.h"
#include "object/sidefile.h"

/* Flags of mq_open that are kept and shown, and have no effect. */
#define O_KEPT (O_APPEND | O_DSYNC)
/* Not in the kernel's user-space headers. */
#define SPLICE_F_NONBLOCK 2
#define EVENTFD_MOST (~0ULL - 1)
#define TWO_SLOTS 8192
#define OUR_BYTE 'm'

static const char our_byte = OUR_BYTE;

/* Those flags of mq_open(3) that the FIFO is opened with, too. */
static u32 kept(u32 oflag)
{
	return oflag & (MQ_O_NONBLOCK | O_KEPT);
}

void mq_fifo_unlink(struct caller *c, const u64 token[2])
{
	sidefile_unlink(c, token);
}

/* The access mode and O_LARGEFILE, as the number for F_SETSIG: the FIFO itself
 * is always open for both ways. */
static u32 signal_for(u32 oflag)
{
	return MQ_FIFO_SIG + (oflag & MQ_O_ACCMODE) +
	       (oflag & MQ_O_LARGEFILE ? MQ_FIFO_LARGE : 0);
}

static int set_up(int fd, u32 oflag)
{
	if ((oflag & MQ_O_ACCMODE) != MQ_O_RDWR || (oflag & MQ_O_LARGEFILE))
		sys_call(__NR_fcntl, fd, F_SETSIG, signal_for(oflag));
	return fd;
}

/* A pipe keeps its size as long as anybody has it open: so this is called after
 * each open that may be the first. */
static void two_slots(int fd)
{
	sys_call(__NR_fcntl, fd, F_SETPIPE_SZ, TWO_SLOTS);
}

/*
 * The directory cannot be reached (privileges given up, chroot): an eventfd,
 * which needs no name and no /proc. Its counter stands for the slots: 0 is none
 * (poll reports OUT), 1 is one (IN|OUT), its maximum is two (IN). All works but
 * poll across processes, and this descriptor does not keep an unlinked queue
 * alive. mqueue.level does not cover it: the eventfd itself is asked each time
 * (mq_desc.nameless). It is recognised as ours by its F_SETSIG.
 */
static int open_nameless(u32 oflag)
{
	int fd = sys_call(__NR_eventfd2, 0, O_CLOEXEC);

	if (fd < 0)
		return fd;
	if (kept(oflag))
		sys_call(__NR_fcntl, fd, F_SETFL, kept(oflag));
	sys_call(__NR_fcntl, fd, F_SETSIG, signal_for(oflag));
	return fd;
}

int mq_fifo_is_nameless(int fd)
{
	long sig = sys_call(__NR_fcntl, fd, F_GETSIG);
	struct file_stat st;

	return sig >= MQ_FIFO_SIG && sig <= MQ_FIFO_SIG + MQ_FIFO_LAST &&
	       !sys_call(__NR_fstat, fd, &st) &&
	       (st.mode & FILE_TYPE) != FILE_FIFO;
}

void mq_fifo_prepare(struct caller *c)
{
	static u32 tried; /* by this process */

	if (likely(atom_load_relaxed(&tried)) || !c->region.path[0])
		return;
	__atomic_store_n(&tried, 1, __ATOMIC_RELAXED);
	sidefile_make_dir(c);
}

/* The name may lead to something other than our FIFO if somebody else owns the
 * directory: so no link is followed, and the inode is looked at. ret NULL: that
 * is not needed. */
static int open_named(
	struct caller *c, const u64 token[2], u32 oflag, struct file_stat *ret)
{
	char path[sidefile_path_size(c)];
	int fd;

	if (!c->region.path[0] || !token[0])
		return -ENOENT;
	sidefile_path(c, token, path);
	fd = sys_call(__NR_open, path,
		MQ_O_RDWR | O_CLOEXEC | O_NOFOLLOW | kept(oflag));
	if (fd < 0 || !ret)
		return fd;
	if (!sys_call(__NR_fstat, fd, ret) &&
		(ret->mode & FILE_TYPE) == FILE_FIFO)
		return fd;
	sys_call(__NR_close, fd);
	return -EACCES;
}

static int nameless_will_do(int err)
{
	return err == -EACCES || err == -ENOENT || err == -ENOTDIR ||
	       err == -ELOOP || err == -EROFS || err == -ENAMETOOLONG;
}

int mq_fifo_open(
	struct caller *c, const struct mqueue *q, u32 oflag, u32 *ret_nameless)
{
	struct file_stat st;
	int own = perm_file_uid(perm_cred(c)) == c->region.owner;
	int fd = open_named(c, q->token, oflag, own ? NULL : &st);

	if (fd >= 0 && !own && (st.dev != q->dev || st.ino != q->ino)) {
		sys_call(__NR_close, fd);
		fd = -EACCES;
	}
	*ret_nameless = nameless_will_do(fd);
	if (*ret_nameless)
		return open_nameless(oflag);
	if (fd >= 0)
		set_up(fd, oflag);
	/* While nobody polls the queue that is left to its first poller. */
	if (fd >= 0 && q->polled)
		two_slots(fd);
	return fd;
}

static int make_named(struct caller *c, const u64 token[2])
{
	char path[sidefile_path_size(c)];
	int err, tries;

	if (!c->region.path[0])
		return -ENOENT;
	sidefile_path(c, token, path);
	for (tries = 0; tries < 2; tries++) {
		err = sys_call(__NR_mknod, path, FILE_FIFO | 0777, 0);
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
	/* Noted first: after our death, whoever finds it noted unlinks the FIFO. */
	atom_store_release(&h->mq_fifo[1], token[1]);
	atom_store_release(&h->mq_fifo[0], token[0]);
	fd = make_named(c, token);
	if (!fd) {
		fd = open_named(c, token, oflag, &st);
		if (fd < 0)
			mq_fifo_unlink(c, token);
	}
	ret->nameless = nameless_will_do(fd);
	if (ret->nameless) {
		token[0] = token[1] = ret->dev = ret->ino = 0;
		ret->umask = sys_call(__NR_umask, 077);
		sys_call(__NR_umask, ret->umask);
		return open_nameless(oflag);
	}
	if (fd < 0)
		return fd;
	ret->dev = st.dev;
	ret->ino = st.ino;
	/* The kernel has applied our umask, which cannot be read by umask(2)
	 * without changing it for a moment. */
	ret->umask = 0777 & ~st.mode;
	sys_call(__NR_fchmod, fd, 0666);
	return set_up(fd, oflag);
}

int mq_fifo_unused(struct caller *c, const u64 token[2])
{
	char path[sidefile_path_size(c)];
	int fd;

	if (!c->region.path[0] || !token[0])
		return 0;
	sidefile_path(c, token, path);
	fd = sys_call(__NR_open, path,
		MQ_O_WRONLY | MQ_O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0)
		sys_call(__NR_close, fd);
	return fd == -ENXIO;
}

/* ---- readiness ---- */

/* The FIFO that is used, while the lock is held. */
struct fifo {
	int fd;
	int own;      /* we opened it, and close it in fifo_end */
	int nameless; /* of the descriptor used, not of the queue */
	int failed;   /* its level could not be read or set */
	u32 n;	      /* slots taken */
};

static int is_ours(const struct mqueue *q, int fd)
{
	struct file_stat st;

	return !sys_call(__NR_fstat, fd, &st) && st.dev == q->dev &&
	       st.ino == q->ino;
}

/* The number is still the queue's, and stays so: whoever closes it by a call that
 * we see takes the lock first (mq_closing). */
static int is_held(const struct mq_desc *d)
{
	const struct mq_number *at = d->number;

	return d->fd >= 0 &&
	       (!at || ((atom_load_acquire(&at->info) & MQ_NUMBER_OURS) &&
			       at->ident == d->ident));
}

int mq_number_changed(const struct caller *c, const struct mq_desc *d)
{
	const struct mq_number *at = d->number;
	const struct mqueue *q;

	if (!at || d->fd < 0)
		return 0;
	if (atom_load_acquire(&at->changes) != d->changes)
		return 1;
	if (likely((atom_load_acquire(&at->info) & MQ_NUMBER_OURS) &&
		    at->ident == d->ident))
		return 0;
	/* Being closed, or in a vfork child. */
	q = mq_body(c, d->s);
	return q &&
	       !(d->nameless ? mq_fifo_is_nameless(d->fd) : is_ours(q, d->fd));
}

/*
 * Choose the FIFO: the descriptor's, unless it is being closed, or was closed by
 * a call that we did not see, so that its number is another file's by now. To
 * find that out cheaply, a pipe of two slots is taken to be ours, and of anything
 * else the inode is compared. Otherwise the queue's FIFO is opened by its name.
 * 1, or 0 if there is none to be had: then no poller is told.
 */
static int fifo_begin(struct caller *c, const struct mqueue *q,
	const struct mq_desc *d, struct fifo *ret)
{
	int ours = 0;

	*ret = (struct fifo){.fd = d->fd, .nameless = d->nameless};
	if (is_held(d) && d->nameless) {
		ours = mq_fifo_is_nameless(d->fd);
	} else if (is_held(d)) {
		ours = sys_call(__NR_fcntl, d->fd, F_GETPIPE_SZ) == TWO_SLOTS;
		if (unlikely(!ours && is_ours(q, d->fd))) {
			two_slots(d->fd);
			ours = 1;
		}
	}
	if (likely(ours))
		return 1;
	if (d->nameless)
		return 0;
	ret->own = 1;
	ret->fd = open_named(c, q->token, MQ_O_NONBLOCK, NULL);
	if (ret->fd >= 0 && is_ours(q, ret->fd)) {
		two_slots(ret->fd);
		return 1;
	}
	if (ret->fd >= 0)
		sys_call(__NR_close, ret->fd);
	return 0;
}

/* The slots of one without a name, as poll sees them. */
static void nameless_ask(struct fifo *f)
{
	struct {
		int fd;
		short events, revents;
	} p = {f->fd, POLLIN | POLLOUT, 0};

	f->failed |= sys_call(__NR_poll, &p, 1, 0) != 1;
	f->n = !(p.revents & POLLIN) ? 0 : p.revents & POLLOUT ? 1 : 2;
}

/* From 0 to 1 or from 1 to 2, which does not block. */
static void nameless_put(struct fifo *f)
{
	u64 add = f->n ? EVENTFD_MOST - 1 : 1;

	if (f->n < 2 && sys_call(__NR_write, f->fd, &add, sizeof(add)) == 8)
		f->n++;
	else
		f->failed = 1;
}

/* A read takes all; what is to stay is put back. */
static void nameless_take(struct fifo *f)
{
	u32 n = f->n;
	u64 count;

	if (n && sys_call(__NR_read, f->fd, &count, sizeof(count)) == 8)
		f->n = 0;
	else
		f->failed = 1;
	if (n == 2 && !f->failed)
		nameless_put(f);
}

static void fifo_ask(struct fifo *f)
{
	int n = 0;

	if (unlikely(f->nameless)) {
		nameless_ask(f);
		return;
	}
	f->failed |= sys_call(__NR_ioctl, f->fd, FIONREAD, &n) < 0;
	f->n = n;
}

/* How many slots are taken: as mqueue.level says, or as the FIFO does. From
 * here to fifo_end the level is UNKNOWN; that is what a death in between
 * leaves, and the next one asks the FIFO. */
static void fifo_load(struct mqueue *q, struct fifo *f)
{
	f->n = f->nameless ? MQ_LEVEL_UNKNOWN : q->level;
	if (f->n == MQ_LEVEL_UNKNOWN)
		fifo_ask(f);
	if (!f->nameless)
		atom_store_release(&q->level, MQ_LEVEL_UNKNOWN);
}

static void fifo_end(struct mqueue *q, const struct fifo *f)
{
	if (!f->nameless && !f->failed)
		atom_store_release(&q->level, f->n);
	if (f->own)
		sys_call(__NR_close, f->fd);
}

/* If vmsplice is refused. F_SETFL of a description in use may race with the
 * application's: nowhere else do we do that. */
static long put_packet(struct fifo *f)
{
	long flags = sys_call(__NR_fcntl, f->fd, F_GETFL);

	fifo_ask(f);
	if (flags < 0 || f->failed || f->n >= 2)
		return -EAGAIN;
	if (!(flags & MQ_O_DIRECT))
		sys_call(__NR_fcntl, f->fd, F_SETFL, flags | MQ_O_DIRECT);
	return sys_call(__NR_write, f->fd, &our_byte, 1);
}

static void put(struct fifo *f)
{
	const struct {
		const void *base;
		size_t len;
	} piece = {&our_byte, 1};
	long ret;

	if (unlikely(f->nameless)) {
		nameless_put(f);
		return;
	}
	ret = sys_call(__NR_vmsplice, f->fd, &piece, 1, SPLICE_F_NONBLOCK);
	if (unlikely(ret != 1 && ret != -EAGAIN && ret != -EBADF))
		ret = put_packet(f);
	if (likely(ret == 1))
		f->n++;
	else
		f->failed = 1;
}

static void take(struct fifo *f)
{
	char byte;

	fifo_ask(f);
	if (unlikely(f->nameless)) {
		nameless_take(f);
		return;
	}
	if (f->n && !f->failed && sys_call(__NR_read, f->fd, &byte, 1) == 1)
		f->n--;
	else
		f->failed |= f->n > 0;
}

static void move_to(struct fifo *f, u32 target)
{
	while (f->n > target && !f->failed)
		take(f);
	while (f->n < target && !f->failed)
		put(f);
}

static u32 level_for(const struct mqueue *q, u32 n)
{
	return n == 0 ? 0 : n >= q->maxmsg ? 2 : 1;
}

/*
 * Does the kernel wake all pollers of a pipe whose size is set? Since Linux 5.5 it
 * does, since there might be more space. Found out once a process.
 */
static int resize_wakes(void)
{
	static u32 known; /* 1 no, 2 yes */
	struct {
		char sysname[65], nodename[65], release[65];
		char version[65], machine[65], domain[65];
	} u;
	u32 is = __atomic_load_n(&known, __ATOMIC_RELAXED), major, minor;
	const char *at = u.release;

	if (likely(is))
		return is == 2;
	is = 1;
	if (!sys_call(__NR_uname, &u)) {
		for (major = 0; *at >= '0' && *at <= '9'; at++)
			major = major * 10 + (u32)(*at - '0');
		at += *at == '.';
		for (minor = 0; *at >= '0' && *at <= '9'; at++)
			minor = minor * 10 + (u32)(*at - '0');
		if (major > 5 || (major == 5 && minor >= 5))
			is = 2;
	}
	__atomic_store_n(&known, is, __ATOMIC_RELAXED);
	return is == 2;
}

/* Wake all edge-triggered pollers at level 1, changing nothing else. On an old
 * kernel bytes are put and taken for that: a death in between leaves the FIFO
 * less ready than the queue, until somebody takes the lock. */
static void make_edge(const struct mqueue *q, struct fifo *f)
{
	if (!f->nameless && resize_wakes() &&
		sys_call(__NR_fcntl, f->fd, F_SETPIPE_SZ, TWO_SLOTS) ==
			TWO_SLOTS)
		return;
	move_to(f, q->polled & MQ_POLLED_OUT ? 2 : 0);
	move_to(f, 1);
}

/*
 * The kernel wakes every poller of a queue at each message queued or received,
 * and edge-triggered ones report whatever is then ready. A write to a FIFO is an
 * edge for IN, a read from a full one is an edge for OUT; make_edge is for the
 * pollers that neither wakes. The edge for a message that fills the queue comes
 * with the change of level, after the commit.
 */
static void make_edges(const struct mqueue *q, struct fifo *f, u32 target)
{
	u32 was = f->n;
	int others = 1;

	move_to(f, 1);
	if (was == 0)
		others = q->polled & MQ_POLLED_OUT;
	else if (was > 1)
		others = target && (q->polled & MQ_POLLED_IN);
	else if (target == 0)
		others = q->polled & MQ_POLLED_OUT;
	if (others && target != 2)
		make_edge(q, f);
}

/* At level 1 both IN and OUT are ready; mq_fifo_settle after the commit takes
 * away what is not. */
void mq_fifo_raise(
	struct caller *c, struct mqueue *q, const struct mq_desc *d, u32 n_msgs)
{
	u32 target = level_for(q, n_msgs);
	struct fifo f;

	if (!d->nameless && !(q->polled & MQ_POLLED_EDGE) &&
		(q->level == target || q->level == 1))
		return;
	if (!fifo_begin(c, q, d, &f))
		return;
	fifo_load(q, &f);
	if (q->polled & MQ_POLLED_EDGE)
		make_edges(q, &f, target);
	else if (f.n != target)
		move_to(&f, 1);
	fifo_end(q, &f);
}

static void note_nameless(struct mqueue *q, const struct mq_desc *d)
{
	if (unlikely(d->nameless && !(q->polled & MQ_POLLED_NAMELESS)))
		atom_store_release(&q->polled, q->polled | MQ_POLLED_NAMELESS);
}

void mq_fifo_settle(struct caller *c, struct mqueue *q, const struct mq_desc *d)
{
	u32 target = level_for(q, prioq_count(&q->msgs));
	struct fifo f;

	note_nameless(q, d);

	if (!d->nameless && q->level == target)
		return;
	if (!fifo_begin(c, q, d, &f))
		return;
	fifo_load(q, &f);
	move_to(&f, target);
	fifo_end(q, &f);
}

/* Has a death left the FIFO out of step? Without the lock, so only a hint; a
 * living owner of the lock brings it in step itself. */
static int out_of_step(const struct mqueue *q, const struct slot *s)
{
	u32 word = atom_load_acquire(&s->lock.word);

	if (word & SYS_OWNER_DIED)
		return 1;
	return !(word & SYS_TID_MASK) &&
	       atom_load_relaxed(&q->level) !=
		       level_for(q, PRIOQ_N(atom_load_relaxed(&q->msgs.count)));
}

int mq_fifo_level(struct caller *c, const struct mqueue *q)
{
	struct fifo f = {.fd = -1};

	if (mq_fifo_unused(c, q->token))
		return -1;
	f.fd = open_named(c, q->token, MQ_O_NONBLOCK, NULL);
	if (f.fd < 0)
		return -1;
	f.failed = !is_ours(q, f.fd);
	fifo_ask(&f);
	sys_call(__NR_close, f.fd);
	return f.failed ? -1 : (int)f.n;
}

void mq_watch(struct caller *c, const struct mq_desc *d, u32 bits)
{
	struct mqueue *q = mq_body(c, d->s);

	if (!q || ((atom_load_acquire(&q->polled) & bits) == bits &&
			  !d->nameless && !out_of_step(q, d->s)))
		return;
	if (mq_enter(c) || mq_lock(c, d))
		return;
	if (!q->polled)
		atom_store_release(&q->level, MQ_LEVEL_UNKNOWN);
	atom_store_release(&q->polled, q->polled | bits);
	/* Pairs with that of mq_closing: it sees that we poll, or we that it
	 * closes. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	mq_fifo_settle(c, q, d);
	lock_release(c, &d->s->lock);
}

/* Take all bytes out, since those put there by write(2) share slots: returns how
 * many were not ours. */
static u32 take_all(struct fifo *f)
{
	char bytes[128];
	u32 strange = 0;
	long n, i;

	for (fifo_ask(f); f->n && !f->failed; fifo_ask(f)) {
		n = sys_call(__NR_read, f->fd, bytes,
			f->n < sizeof(bytes) ? f->n : sizeof(bytes));
		f->failed |= n <= 0;
		for (i = 0; i < n; i++)
			strange += bytes[i] != OUR_BYTE;
	}
	two_slots(f->fd);
	return strange;
}

u32 mq_clean(struct caller *c, const struct mq_desc *d)
{
	u32 strange = 0, known, n;
	struct mqueue *q;
	struct fifo f;

	if (d->nameless || mq_enter(c) || mq_lock(c, d))
		return 0;
	q = mq_body(c, d->s);
	n = prioq_count(&q->msgs);
	if (fifo_begin(c, q, d, &f)) {
		known = q->level == MQ_LEVEL_UNKNOWN ? 0 : q->level;
		fifo_load(q, &f);
		fifo_ask(&f);
		if (f.n > known) {
			strange = take_all(&f);
			move_to(&f, q->polled ? level_for(q, n) : 0);
		}
		fifo_end(q, &f);
	}
	lock_release(c, &d->s->lock);
	return strange;
}

/*
 * polled is changed under the lock, so each operation either sees the poller and
 * keeps the FIFO in step, or has committed before, and the poller brings it in
 * step here. A poller killed before the store has changed nothing; one killed
 * after it is counted for good.
 */
int mq_poll_begin(struct caller *c, const struct mq_desc *d, u32 bits)
{
	struct mqueue *q = mq_body(c, d->s);
	u32 polled = q ? atom_load_acquire(&q->polled) : 0;

	if (!q || d->nameless || polled >= MQ_POLLERS_MOST ||
		(polled & (MQ_POLLED_IN | MQ_POLLED_OUT))) {
		mq_watch(c, d, bits);
		return 0;
	}
	if (mq_enter(c) || mq_lock(c, d))
		return 0;
	polled = q->polled;
	/* Not beyond what it can count to: then for good. */
	if (polled < MQ_POLLERS_MOST)
		atom_store_release(&q->polled, polled + MQ_POLLER);
	/* As in mq_watch. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	mq_fifo_settle(c, q, d);
	lock_release(c, &d->s->lock);
	return polled < MQ_POLLERS_MOST;
}

void mq_poll_end(struct caller *c, const struct mq_desc *d)
{
	struct mqueue *q;

	if (mq_enter(c) || mq_lock(c, d))
		return;
	q = mq_body(c, d->s);
	if (q && q->polled >= MQ_POLLER)
		atom_store_release(&q->polled, q->polled - MQ_POLLER);
	lock_release(c, &d->s->lock);
}
