// SPDX-License-Identifier: MIT
/*
 * POSIX message queues: doc/kernel-semantics.md §7. All functions return a
 * count or 0, or -errno.
 *
 * mqueue.c    names, creation, removal
 * mqattr.c    what stat, mq_getattr and the status line show, and what sets it
 * mqio.c      sending and receiving
 * mqwait.c    sleeping, order of sleepers, hand-over to them
 * mqlease.c   messages received and not acknowledged
 * mqfifo.c    the FIFO behind a descriptor, and its readiness for poll
 * mqnotify.c  mq_notify; mqpending.c notifications that the sender cannot
 *             deliver itself; mqregistration.c this process's own registrations
 *
 * A queue is in a slot of FAC_MQ: its key is a hash of the name; mode, uid and
 * gid are those of the file that the kernel would show. It has a FIFO in the
 * directory REGISTRY.mq; an mqd_t is a descriptor of that FIFO. So the kernel
 * itself counts the descriptors, whichever way they are passed on: a queue is in
 * use while its FIFO has a reader, and an unlinked one that is not in use is
 * freed by whoever notices first (close, the next mq_open or mq_unlink).
 */
#ifndef IPCLIFT_MQ_MQUEUE_H
#define IPCLIFT_MQ_MQUEUE_H

#include "index/ids.h"
#include "index/prioq.h"
#include "object/users.h"
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "registry/lock.h"
#include "registry/wait.h"

#define MQ_N_PRIOS 32768u
#define MQ_HARD_MAXMSG 65536
#define MQ_HARD_MSGSIZE 16777216
/* Items beyond maxmsg: a sleeping sender's that a receive lets in before its own
 * is free, and those put back by cancelled receivers or by leases. Arbitrary. */
#define MQ_SPARE_ITEMS 64u
#define MQ_STATUS_SIZE 80 /* first st_size, and space for the status line */

#define MQ_O_ACCMODE 3
#define MQ_O_RDONLY 0
#define MQ_O_WRONLY 1
#define MQ_O_RDWR 2
#define MQ_O_CREAT 0100
#define MQ_O_EXCL 0200
#define MQ_O_NONBLOCK 04000
#define MQ_O_DIRECT 040000
#define MQ_O_LARGEFILE 0100000
#define MQ_O_TRUNC 01000
#define MQ_O_CLOEXEC 02000000

/* What the FIFO's open file description has for F_SETSIG, which nothing else uses:
 * this plus the access mode of the mqd_t and the bits below; 0 means O_RDWR. */
#define MQ_FIFO_SIG 33
#define MQ_FIFO_READ 4	/* the file offset is at the status line's end */
#define MQ_FIFO_LARGE 8 /* open(2) made it, which sets O_LARGEFILE */
#define MQ_FIFO_LONG 16 /* with READ: at the end of a longer line */
#define MQ_FIFO_LAST 31

/* Internal result: a handler with SA_RESTART ran, begin again. */
#define MQ_ERESTART 512

/* What POSIX queues keep of a thread from call to call, in its private memory.
 */
struct mq_thread {
	/* What the next call will most likely use (bytes, item, entry of the
	 * stack of free items): prefetched while its queue's lock is taken. */
	const void *fetch[3];
	/* Notifications sent under the lock now held (mq/mqpending.h), 16 bits
	 * each; a handler's come after those of the call it interrupted. 0 =
	 * none. */
	u64 pending;
	u32 large_calls; /* in a row: mq_own_trim */
};
_Static_assert(sizeof(struct mq_thread) <= sizeof(((struct caller *)0)->of_mq),
	"caller.of_mq");

static inline struct mq_thread *mq_thread(const struct caller *c)
{
	return (struct mq_thread *)(void *)c->of_mq;
}

/*
 * What is known of a descriptor's number: the beginning of its entry in the
 * process's table (entry/file/fd.h). Without MQ_NUMBER_OURS, or with another
 * ident, it is not the queue's any more.
 */
struct mq_number {
	u64 ident;
	u32 info;
	u32 changes; /* counts stores here; one comes before each close */
};
#define MQ_NUMBER_OURS 4u

/* A queue's descriptor, as the table of entry/file/fd.h has it. */
struct mq_desc {
	struct slot *s;
	u64 ident;
	int fd;
	u32 access;   /* MQ_O_ACCMODE bits */
	u32 nameless; /* 1: an eventfd of its own (mqfifo.c) */
	u32 changes;  /* of number, when this was taken from it */
	const struct mq_number *number; /* NULL: nobody else can close fd */
};

struct mq_limits_attr {
	s64 maxmsg, msgsize;
};

/*
 * mq_open(2); name without its slash, of name_len bytes < PATH_MAX. attr NULL =
 * defaults. The descriptor; *ret is filled. -EACCES -ENAMETOOLONG -EEXIST
 * -EINVAL -ENOENT -ENOSPC -EMFILE -ENFILE -ENOMEM.
 */
int mqueue_open(struct caller *c, const char *name, size_t name_len, u32 oflag,
	u32 mode, const struct mq_limits_attr *attr, struct mq_desc *ret);
/* mq_unlink(2): 0, -ENOENT -EPERM -EACCES -ENAMETOOLONG. */
int mqueue_unlink(struct caller *c, const char *name, size_t name_len);

/* The queue whose FIFO has this inode: 0 with *ret (access not set), or
 * -EBADF. Looks at every queue: for descriptors that came over exec or a
 * socket. */
int mq_find_inode(struct caller *c, u64 dev, u64 ino, struct mq_desc *ret);

/* The queue of this name: 0 with *ret (fd -1, access not set), or -ENOENT,
 * -ENOMEM, -ENAMETOOLONG, -EACCES for an impossible name. */
int mq_find_name(
	struct caller *c, const char *name, size_t len, struct mq_desc *ret);

/* 0 if mq_closing would do nothing. Takes no lock: 1 also for a queue whose lock
 * is held. */
int mq_closing_concerns(const struct caller *c, const struct mq_desc *d);
/* Before the number is marked as closed: end this process's registration for
 * notification (mq_notify(3)), if it has one. */
void mq_unregister(struct caller *c, const struct mq_desc *d);
/* Before close(2) of a descriptor by this process, and after it. */
void mq_closing(struct caller *c, const struct mq_desc *d);
void mq_closed(struct caller *c, const struct mq_desc *d);

/*
 * mq_timedsend(2), mq_timedreceive(2). timeout was read and is valid, or NULL.
 * user pointers are unchecked. Not polled and without a wait: no system call.
 * -EMSGSIZE -EFAULT -ENOMEM -EAGAIN -ETIMEDOUT -EINTR, -MQ_ERESTART.
 */
int mqueue_send(struct caller *c, const struct mq_desc *d, const void *user,
	u64 len, u32 prio, const struct sys_timespec *timeout);
long mqueue_receive(struct caller *c, const struct mq_desc *d, void *user,
	u64 len, u32 *user_prio, const struct sys_timespec *timeout);

struct mq_event {
	u32 how; /* 0 signal, 1 none, 2 thread */
	u32 signo;
	u64 value;
	u32 notify_thread; /* this process has one (mqpending.h) */
	u32 by_socket;
	int sock; /* with by_socket: struct mq_pending */
	u64 sock_ino;
	u64 cookie[4];
};
/* mq_notify(2): ev NULL takes the own registration back. For how == 2 and not
 * by_socket the caller is the thread that will wait: mq_notify_wait. 0, -EBUSY,
 * -EBADF. */
int mq_set_notify(
	struct caller *c, const struct mq_desc *d, const struct mq_event *ev);
/* This process is about to call exec. closes: 1 if that closes this descriptor of
 * the queue, which ends its registration, else 0. Some loads if it has none and
 * the queue's lock is free. */
void mq_notify_executing(struct caller *c, const struct mq_desc *d, u32 closes);
/* End a registration that this process made before exec, if exec closed the queue:
 * that is, if all its descriptors were opened since. Some loads if there is none
 * and the queue's lock is free. */
void mq_notify_after_exec(
	struct caller *c, const struct mq_desc *d, int (*opened_here)(int fd));
/* After a registration with how == 2, by the same thread: 1 when a message
 * came, 0 when the registration was removed. */
int mq_notify_wait(struct caller *c, const struct mq_desc *d);

struct mq_stat {
	u64 ino;
	u32 mode, uid, gid, nlink;
	s64 atime, mtime, ctime; /* ns */
	s64 size;
	u32 maxmsg, msgsize, curmsgs;
};
int mq_stat(struct caller *c, const struct mq_desc *d, struct mq_stat *ret);
/* fchmod(2), fchown(2): -1 leaves uid or gid. */
int mq_chmod(struct caller *c, const struct mq_desc *d, u32 mode);
int mq_chown(struct caller *c, const struct mq_desc *d, u32 uid, u32 gid);
/* ftruncate(2) to 0 <= size < 2^31: only the size that stat(2) shows. */
int mq_set_size(struct caller *c, const struct mq_desc *d, s64 size);
/* utimensat(2): ns since the epoch, MQ_TIME_OMIT, or MQ_TIME_NOW for now, which
 * who may write may say, too. 0, -EPERM, -EACCES. */
#define MQ_TIME_OMIT ((s64)1 << 62)
#define MQ_TIME_NOW (MQ_TIME_OMIT + 1)
int mq_set_times(
	struct caller *c, const struct mq_desc *d, s64 atime, s64 mtime);
/* "/name", with " (deleted)" if it was unlinked, and no zero: its length; cut
 * at cap. */
size_t mq_path(
	struct caller *c, const struct mq_desc *d, char *buf, size_t cap);
/* open(2) of a queue that is open by another descriptor already: a new
 * description. As mqueue_open of an existing one, but access mode 3 counts as
 * both, and only O_CLOEXEC closes it at exec. */
int mqueue_open_again(struct caller *c, const struct mq_desc *d, u32 oflag,
	struct mq_desc *ret);
/* atime and ctime are now. */
void mq_touch(struct caller *c, const struct mq_desc *d);
/* What mq_getattr(2) says but for the flags, mostly without the lock: 0 or
 * -EBADF. */
struct mq_numbers {
	u32 maxmsg, msgsize, curmsgs;
};
int mq_numbers(
	struct caller *c, const struct mq_desc *d, struct mq_numbers *ret);

/* What reading the queue's file shows (§9.2). notify* and signo are 0 while nobody
 * is registered. */
struct mq_status {
	u64 bytes;
	u32 notify, signo, notify_pid;
};
int mq_status(struct caller *c, const struct mq_desc *d, struct mq_status *ret);
/*
 * Does fd refer to another file now, or may it have at some time since d was
 * taken? Then what fcntl said of fd meanwhile may not be the queue's, and the
 * call starts again, as if made after the change. Changes that are not seen (an
 * inlined system call) are found only if the table has no queue for the number.
 * No system call while the number is the queue's; else one.
 */
int mq_number_changed(const struct caller *c, const struct mq_desc *d);
/* Somebody polls (MQ_POLLED_*): bring the FIFO in step with the queue; operations
 * keep it so from now on. */
void mq_watch(struct caller *c, const struct mq_desc *d, u32 bits);
/* Take out bytes that libc may have written to the FIFO itself, and make poll
 * right again: how many there were. */
u32 mq_clean(struct caller *c, const struct mq_desc *d);
/*
 * The caller is about to poll, and will tell when it is done: the FIFO is in step
 * from begin to end, and only operations in that time pay for it (two system
 * calls a message). 1, or 0 if there is no end to be told: it is kept in step
 * for good. mq_poll_end uses only d's s and ident. A poller that is killed,
 * cancelled or left by a jump leaves the queue kept in step for good.
 */
int mq_poll_begin(struct caller *c, const struct mq_desc *d, u32 bits);
void mq_poll_end(struct caller *c, const struct mq_desc *d);

/* ---- between the files of this module ---- */

/* Messages up to this size are copied by way of the stack; larger ones travel
 * in blocks that change hands. Arbitrary: eight cache lines. */
#define MQ_COPY_MAX 512u
/* Journal entries of a receive that lets a sender through. */
#define MQ_ENTRIES (PRIOQ_ENTRIES + 32u)
_Static_assert(PRIOQ_N_PRIOS == MQ_N_PRIOS, "priorities");
#define BLOCKED 1

static inline struct mqueue *mq_body(
	const struct caller *c, const struct slot *s)
{
	struct ref ref = ref_relaxed(&s->body);

	if (unlikely(ref_leads_nowhere(ref.off)))
		return NULL;
	return (struct mqueue *)(c->region.base + ref.off);
}
/* Take the queue's lock, revoking its bias, and settle the FIFO if
 * the last owner died; mq_lock: -EBADF if it is not the queue of ident any more
 * (the lock is then not held). */
void mq_lock_any(struct caller *c, struct slot *s);
int mq_lock(struct caller *c, const struct mq_desc *d);

/* Enroll, with journal capacity for any operation here. */
static inline int mq_enter(struct caller *c)
{
	int err = caller_enroll(c);

	return likely(!err) ? journal_reserve(c, MQ_ENTRIES) : err;
}

/* mqio.c */
struct mq_msg {
	const char *small; /* its bytes, or NULL: in the own block */
	u32 len, prio;
	/* Receiving: where it goes to, and once it is there (delivered) what
	 * the call returns. */
	void *user;
	u64 capacity; /* there */
	u32 *user_prio;
	long ret;
	int delivered;
	u64 leased; /* offset of the record that has its bytes (mqlease_fetch) */
	u32 noted;  /* lease_note */
};
/* Copy a received message out. Its block may be used again then. */
void mq_deliver(struct caller *c, struct mq_msg *m);
/* The own waiter's block, at least need bytes. No lock but the slot's may be
 * held, nothing journaled. 0, -ENOMEM. */
int mq_own_block(struct caller *c, u64 need);
/*
 * At the end of a call that used it, for len bytes. A large one goes back, but
 * from the MQ_LARGE_CALLS-th call in a row on that needs one: to fill the pages
 * of 16 MiB anew for each message takes sixteen times as long. Then the next
 * call for less gives it back, or the end of the thread.
 */
#define MQ_LARGE_CALLS 4u /* arbitrary */
static inline void mq_own_trim(struct caller *c, u64 len)
{
	struct waiter *w = wait_own(c);

	if (likely(w->ext_cap <= HEAP_OWN_MOST))
		return;
	if (len <= HEAP_OWN_MOST)
		mq_thread(c)->large_calls = 0;
	else if (++mq_thread(c)->large_calls > MQ_LARGE_CALLS)
		return;
	heap_trim(c, w->ext_cap, &w->ext);
}
static inline char *mq_own_bytes(const struct caller *c)
{
	return ref_must(c, wait_own(c)->ext);
}
/* One try under the lock, or BLOCKED; s->lock is held. */
int mq_try_send(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	const struct mq_msg *m);
int mq_try_receive(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	struct mq_msg *ret, char *small);
/* A message that a cancelled receiver was given goes back to the front. */
void mq_put_back(struct caller *c, const struct mq_desc *d, u32 len, u32 prio);

/* mqwait.c */
/* The first live sleeper of a queue, or NULL; exited tasks are cancelled. */
struct waiter *mq_first_waiter(struct caller *c, struct wait_queue *queue);
/* The same for who is about to be given something: one that is stopped begins
 * its call again. An operation of its own. */
struct waiter *mq_next_waiter(struct caller *c, struct wait_queue *queue);
/* Take a sleeper out with a result, as part of the current operation. */
void mq_waiter_remove(struct caller *c, struct wait_queue *queue,
	struct waiter *w, s32 result);
/*
 * The call cannot go on: sleep in the queue's receivers or senders. Tries again
 * under the lock first. Called in a section, which is left for the time of the
 * sleep. A receiver's message is then in the own block, in small, or delivered.
 * looked: it has found nothing under the lock, so may not sleep, and is done.
 */
int mq_sleep_send(struct caller *c, const struct mq_desc *d,
	const struct mq_msg *m, const struct sys_timespec *timeout);
int mq_sleep_receive(struct caller *c, const struct mq_desc *d,
	struct mq_msg *ret, char *small, int looked,
	const struct sys_timespec *timeout);

/* mqfifo.c */
/* Make the directory, once a process, before it gives up its privileges. */
void mq_fifo_prepare(struct caller *c);
struct mq_fifo {
	u64 token[2], dev, ino;
	u32 umask;
	u32 nameless;
};
/* Make a FIFO and open it: the descriptor, or -errno. Facility lock held;
 * header.mq_fifo names it until the caller clears that. */
int mq_fifo_make(struct caller *c, u32 oflag, struct mq_fifo *ret);
void mq_fifo_unlink(struct caller *c, const u64 token[2]);
/* Open a queue's FIFO: the descriptor, or -errno. */
int mq_fifo_open(
	struct caller *c, const struct mqueue *q, u32 oflag, u32 *ret_nameless);
/* 1 if the descriptor is an eventfd, made where no FIFO could be reached. */
int mq_fifo_is_nameless(int fd);
/* 1 if no process has it open. */
int mq_fifo_unused(struct caller *c, const u64 token[2]);
/*
 * Bring the FIFO in step with the queue; slot lock held. raise: before the commit
 * of an operation that leaves n messages; only makes the FIFO readier. settle:
 * after the commit, or when the queue was found empty or full although poll may
 * have said otherwise; makes it what the queue is now. So a death between the two
 * wakes a poller once too often, never once too seldom.
 */
void mq_fifo_raise(
	struct caller *c, struct mqueue *q, const struct mq_desc *d, u32 n);
void mq_fifo_settle(
	struct caller *c, struct mqueue *q, const struct mq_desc *d);
/* Slots taken in the queue's FIFO, or -1 where nobody has it open or it cannot
 * be reached. Slot lock held. */
int mq_fifo_level(struct caller *c, const struct mqueue *q);
static inline void mq_raise(
	struct caller *c, struct mqueue *q, const struct mq_desc *d, u32 n)
{
	if (unlikely(q->polled))
		mq_fifo_raise(c, q, d, n);
}
static inline void mq_settle(
	struct caller *c, struct mqueue *q, const struct mq_desc *d)
{
	if (unlikely(q->polled))
		mq_fifo_settle(c, q, d);
}

/* mqnotify.c; slot lock held in all. */
/* Part of the current operation, by which the queue gets its first message: the
 * last before its commit. 1 if mq_notify_tell is to follow after it. */
int mq_notify_fire(struct caller *c, struct mqueue *q);
/* Send the signal, or leave it to the notification thread, which mq_notify_end
 * waits for. */
void mq_notify_tell(struct caller *c, struct mqueue *q);
/* When the lock is released. */
void mq_notify_end_slow(struct caller *c);
static inline void mq_notify_end(struct caller *c)
{
	if (unlikely(mq_thread(c)->pending))
		mq_notify_end_slow(c);
}
/* Remove the registration of a process that is gone or has closed the queue by
 * exec. */
void mq_notify_drop_dead(struct caller *c, struct mqueue *q);
/* The queue is about to be removed, which nobody has open: end a registration
 * that is left, whoever's it is, so that the record of a thread that waits for
 * it (SIGEV_THREAD) is free again. Slot lock held; an operation of its own. */
void mq_notify_drop(struct caller *c, struct mqueue *q);

#endif
