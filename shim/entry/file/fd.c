// SPDX-License-Identifier: MIT
/*
 * The table of the process's own descriptors that are message queues or files
 * of procfs.h, and the calls that close and copy them.
 *
 * The table is private memory, two levels by number, made by the first mq_open
 * or procfs_open; a fork child has its own copy. An entry is written when a
 * descriptor is made (mq_open, open, dup, fcntl) and cleared before its number is
 * closed or replaced, so a number that was closed and now refers to a file is
 * never taken for a queue. If the close was not seen, fstat(2) tells, in all
 * calls but mq_send, mq_receive and most closes. A descriptor that was inherited
 * over exec or received from a socket is not in the table: it is recognised by
 * the inode of its FIFO at the first mq_* call, or at a poll in a process that
 * has used queues; in one that has not, fdarrive.c notices its arrival.
 *
 * In a vfork child the table is the parent's: it is used but not changed.
 *
 * A call on a descriptor that is not served goes to the next definition: libc's,
 * or another preload's. That costs such a call one more load.
 */
/* Else the headers rename fcntl to fcntl64; off_t has 64 bits anyway. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <linux/close_range.h>
#include "entry/file/fd.h"
#include "entry/world.h"
#include "object/controlfile.h"
#include "registry/cancel.h"

struct fd_entry *fd_table[FD_CHUNKS] SYS_FAR_BSS;
int fd_used;	   /* a queue was opened or looked for */
static u32 fd_top; /* fd_end() */

u32 fd_end(void)
{
	return __atomic_load_n(&fd_top, __ATOMIC_RELAXED);
}

/* Threads may race here. A number that this loses is noted again at the next
 * entry_make for it. */
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
		chunk = sys_mmap_private(size);
		if ((unsigned long)chunk > -4096UL)
			return NULL;
		if (!__atomic_compare_exchange_n(at, &seen, chunk, 0,
			    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			sys_call(__NR_munmap, chunk, size);
	}
	note_top(fd);
	return fd_entry(fd);
}

static u64 pack(u32 info, u32 changes)
{
	return (u64)changes << 32 | info;
}

/* By whoever opens or closes the number, so without a check of `changes`. */
static void entry_set(struct fd_entry *e, u64 ident, u32 info, u64 pos)
{
	struct fd_entry is = fd_entry_read(e);
	u64 lo = is.ident, hi = pack(is.info, is.changes);

	e->pos = pos;
	e->sig = 0;
	while (!atom_cas16(e, &lo, &hi, ident, pack(info, (u32)(hi >> 32) + 1)))
		;
}

/* Note what was found out about a number; `changes` is what it had before that. 0
 * if it has changed since, and nothing was noted. */
static int entry_note(struct fd_entry *e, u32 changes, u64 ident, u32 info)
{
	struct fd_entry is = fd_entry_read(e);
	u64 lo = is.ident, hi = pack(is.info, is.changes);

	while ((u32)(hi >> 32) == changes)
		if (atom_cas16(e, &lo, &hi, ident, pack(info, changes + 1))) {
			e->pos = 0;
			e->sig = 0;
			return 1;
		}
	return 0;
}

void fd_forget(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	if (unlikely(e && e->info))
		entry_set(e, 0, 0, 0);
}

struct caller *fd_table_owner(void)
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
	if (unlikely(world_moved) && !d->nameless) {
		fd_arrived(d->fd);
		return;
	}
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
	u64 ident = fd_entry_read(fd_entry(fd)).ident;

	fd_forget(fd);
	return ident;
}

long fd_closed_proc(u64 ident)
{
	struct caller *c = fd_table_owner();

	if (!c || proc_at(ident) == PROC_NO_FILE)
		return 0;
	return controlfile_commit(c, proc_at(ident));
}

void fd_arrived(int fd)
{
	struct fd_entry *e = entry_make(fd);

	fd_used = 1;
	if (e)
		entry_set(e, 0, FD_UNKNOWN, 0);
}

void fd_enter_dir(struct caller *c, int fd)
{
	struct fd_entry *e;

	if (c->pid != process_page.pid)
		return;
	e = entry_make(fd);
	if (e)
		entry_set(e, 0, FD_DIR, 0);
}

void fd_ask_again(void)
{
	struct fd_entry *e;
	u32 fd;

	for (fd = 0; fd < fd_end(); fd++) {
		e = fd_entry((int)fd);
		if (e && (e->info & FD_MQ) && !(e->info & FD_NAMELESS))
			entry_set(e, 0, FD_UNKNOWN, 0);
	}
}

static int unknown_is_mq(struct caller *c, int fd)
{
	struct mq_desc d;

	if (!c)
		return 0;
	/* In a vfork child it is not noted. */
	if (!fd_lookup(c, fd, &d))
		return world_moved || (fd_entry(fd)->info & FD_MQ);
	return fd_is_elsewhere(c, fd) && !process_home(0);
}

int fd_still_mq(int fd)
{
	struct fd_entry *e = fd_entry(fd);
	const struct mqueue *q;
	struct mq_desc d;
	struct stat st;
	int err;
	struct caller *c;

	if (fd_is_unknown(fd) && !process_routes(FAC_MQ))
		return 0;
	c = process_get(&err);
	if (fd_is_unknown(fd))
		return unknown_is_mq(c, fd);
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
	if (fd_table_owner())
		entry_note(e, d.changes, 0, 0);
	return 0;
}

/* Another thread has changed the number since it was looked at. */
#define CHANGED 1

static int find(struct caller *c, int fd, struct mq_desc *ret)
{
	struct fd_entry *e = fd_entry(fd);
	u32 changes = e ? fd_entry_read(e).changes : 0;
	struct stat st;
	long sig;

	if (sys_call(__NR_fstat, fd, &st))
		return -EBADF;
	e = c->pid == process_page.pid && !world_moved ? entry_make(fd) : NULL;
	/* We are a signal handler, or another thread is closing this number: an
	 * entry made now would outlive the close. */
	if (e && (atom_load_acquire(&e->info) & FD_CLOSING))
		e = NULL;
	if (!S_ISFIFO(st.st_mode) ||
		mq_find_inode(c, st.st_dev, st.st_ino, ret)) {
		if (e && !entry_note(e, changes, 0, FD_OTHER))
			return CHANGED;
		return -EBADF;
	}
	sig = sys_call(__NR_fcntl, fd, F_GETSIG);
	/* Opened in one direction only, by somebody else (/proc/PID/fd): to keep
	 * its readiness right (mqfifo.c) both are needed. */
	if (sys_call(__NR_fcntl, fd, F_GETFL) % 4 != MQ_O_RDWR)
		return -EBADF;
	ret->fd = fd;
	ret->changes = changes;
	ret->number = (const struct mq_number *)(const void *)fd_entry(fd);
	ret->access = sig >= MQ_FIFO_SIG && sig <= MQ_FIFO_SIG + MQ_FIFO_LAST
			      ? (sig - MQ_FIFO_SIG) & MQ_O_ACCMODE
			      : MQ_O_RDWR;
	if (!e)
		return 0;
	if (!entry_note(e, changes, ret->ident, FD_MQ | ret->access))
		return CHANGED;
	ret->changes++;
	/* Another thread may have put another file there meanwhile. */
	return fd_still_mq(fd) ? 0 : -EBADF;
}

int fd_lookup_slow(struct caller *c, int fd, struct mq_desc *ret)
{
	int err;

	if (fd_is_proc(fd))
		return -EBADF;
	fd_used = 1;
	do
		err = find(c, fd, ret);
	while (unlikely(err == CHANGED));
	/* The process that it came from may be polling it unseen by us. */
	if (!err)
		mq_watch(c, ret, MQ_POLLED_IN | MQ_POLLED_OUT);
	return err;
}

int fd_is_elsewhere(struct caller *c, int fd)
{
	struct mq_desc d;
	u32 at = 0;

	while (process_enter_other(c, &at))
		if (!fd_lookup(c, fd, &d))
			return 1;
	if (at)
		process_home(0);
	return 0;
}

int fd_is_away_slow(int fd)
{
	struct mq_desc d;
	struct caller *c;
	int err;

	if (likely(!world_moved) || !process_routes(FAC_MQ))
		return 0;
	c = process_get(&err);
	return c && fd_lookup(c, fd, &d) && fd_is_elsewhere(c, fd);
}

u32 fd_access(int fd)
{
	struct mq_desc d;
	struct caller *c;
	int err;

	if (likely(!fd_is_unknown(fd)))
		return fd_entry(fd)->info & FD_ACCESS;
	if (fd_is_away(fd))
		return (u32)process_home(fd_access(fd));
	c = process_get(&err);
	return c && !fd_lookup(c, fd, &d) ? d.access : MQ_O_RDWR;
}

/* ---- close, dup ---- */

/* A served number that is being closed or replaced. */
struct closing {
	u32 kind; /* FD_MQ, FD_PROC, or 0 */
	u64 ident;
	struct mq_desc mq;
	int away; /* the caller is of another IPC namespace until close_end */
};

/* By the table it is a queue's, and to close it has no effect on the registry: so
 * it does no harm if it is another file by now, and no system call is made to
 * find that out. */
static int closes_unasked(int fd)
{
	const struct fd_entry *e = fd_entry(fd);
	struct mq_desc d;
	struct caller *c;

	if (!e || (e->info & (FD_MQ | FD_NAMELESS)) != FD_MQ)
		return 0;
	c = fd_table_owner();
	if (!c)
		return 0;
	fd_desc(c, fd, e, &d);
	return !mq_closing_concerns(c, &d);
}

/* A signal handler that runs here and finds the number closed must get no
 * notification after that, since in the kernel a handler runs before or after
 * close(2). So the registration ends first. */
static void close_queue(struct caller *c, int fd, const struct mq_desc *d)
{
	mq_unregister(c, d);
	entry_set(fd_entry(fd), d->ident, FD_CLOSING, 0);
	mq_closing(c, d);
}

/* fd is about to be closed or replaced. */
static void close_begin(int fd, struct closing *ret)
{
	struct caller *c;

	ret->kind = 0;
	ret->away = fd_is_away(fd);
	if (unlikely(world_moved && fd_is_unknown(fd)) &&
		(c = fd_table_owner()) && !fd_lookup(c, fd, &ret->mq)) {
		ret->kind = FD_MQ;
		close_queue(c, fd, &ret->mq);
		return;
	}
	/* One that was never looked up has nothing to be undone. */
	if (likely(fd_is_unknown(fd) ||
		    (!closes_unasked(fd) && !fd_is_served(fd)))) {
		fd_forget(fd);
		return;
	}
	c = fd_table_owner();
	if (!c)
		return;
	ret->kind = fd_entry(fd)->info & (FD_MQ | FD_PROC);
	if (ret->kind == FD_PROC) {
		ret->ident = fd_forget_proc(fd);
		return;
	}
	fd_desc(c, fd, fd_entry(fd), &ret->mq);
	close_queue(c, fd, &ret->mq);
}

/* fd was closed or replaced. 0, or the error of what had been written to it. */
static long close_end(const struct closing *k)
{
	struct caller *c;
	u32 seen = FD_CLOSING;

	if (likely(!k->kind))
		return 0;
	if (k->kind == FD_PROC)
		return fd_closed_proc(k->ident);
	atom_cas(&fd_entry(k->mq.fd)->info, &seen, 0);
	c = fd_table_owner();
	if (c)
		mq_closed(c, &k->mq);
	return k->away ? process_home(0) : 0;
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

void fd_copied(int fd, int to)
{
	struct fd_entry *from = fd_entry(fd), *e, is;

	if (likely(!fd_is_served(fd) &&
		    !(from && (from->info & (FD_DIR | FD_CLOSING))))) {
		fd_forget(to);
		return;
	}
	if (!fd_table_owner())
		return;
	e = entry_make(to);
	if (!e)
		return;
	is = fd_entry_read(from);
	/* Another thread is closing fd: look up what `to` is when it is used. */
	if (is.info & (FD_MQ | FD_PROC | FD_DIR)) {
		entry_set(e, is.ident, is.info, from->pos);
		e->sig = from->sig;
	} else {
		entry_set(e, 0, FD_UNKNOWN, from->pos);
		e->sig = is.info & FD_UNKNOWN ? from->sig : 0;
	}
}

long entry_dup3(long nr, int fd, int to, int flags)
{
	struct closing k = {0};
	long ret;

	if (nr == __NR_dup) {
		ret = sys_call(nr, fd);
		if (ret >= 0)
			fd_copied(fd, ret);
		return ret;
	}
	/* A failure leaves `to` as it is: fd must be open. */
	if (fd != to && fd_is_served(to) &&
		sys_call(__NR_fcntl, fd, F_GETFD) >= 0)
		close_begin(to, &k);
	ret = sys_call(nr, fd, to, flags);
	if (ret >= 0 && fd != to)
		fd_copied(fd, ret);
	close_end(&k);
	return ret;
}

long entry_close_range(unsigned first, unsigned last, int flags)
{
	unsigned fd;
	long ret;

	if (first > last || (flags & CLOSE_RANGE_CLOEXEC))
		return sys_call(__NR_close_range, first, last, flags);
	for (fd = first; fd <= last && fd < FD_CHUNK * FD_CHUNKS; fd++) {
		if (!fd_entry(fd))
			fd |= FD_CHUNK - 1;
		else if (fd_is_served(fd))
			entry_close(fd);
		else
			fd_forget(fd);
	}
	ret = sys_call(__NR_close_range, first, last, flags);
	/* What a signal handler or another thread opened meanwhile. */
	for (fd = first; fd <= last && fd < FD_CHUNK * FD_CHUNKS; fd++) {
		if (!fd_entry(fd))
			fd |= FD_CHUNK - 1;
		else if (fd_is_served(fd) &&
			 sys_call(__NR_fcntl, fd, F_GETFD) < 0)
			fd_forget(fd);
	}
	return ret;
}

/* Other descriptors are closed and copied by the next definition of the call,
 * which may be another preload library's. */
static int is_known(int fd)
{
	struct fd_entry *e = fd_entry(fd);

	return unlikely(e && (e->info & ~FD_OTHER));
}

EXPORT int close(int fd)
{
	if (likely(!is_known(fd))) {
		fd_forget(fd);
		PROCESS_PASS_ON(int, close, (int), fd);
	}
	cancel_test();
	return process_return(entry_close(fd));
}

EXPORT int dup(int fd)
{
	static void *next;
	int (*real)(int) = (int (*)(int))process_next(&next, "dup");
	int ret = real ? real(fd) : (int)process_return(sys_call(__NR_dup, fd));

	if (ret >= 0)
		fd_copied(fd, ret);
	return ret;
}

EXPORT int dup2(int fd, int to)
{
	if (likely(!is_known(fd) && !is_known(to))) {
		fd_forget(to);
		PROCESS_PASS_ON(int, dup2, (int, int), fd, to);
	}
	return process_return(entry_dup3(__NR_dup2, fd, to, 0));
}

EXPORT int dup3(int fd, int to, int flags)
{
	if (likely(!is_known(fd) && !is_known(to))) {
		fd_forget(to);
		PROCESS_PASS_ON(int, dup3, (int, int, int), fd, to, flags);
	}
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
