// SPDX-License-Identifier: MIT
/*
 * The POSIX message queues of a registry, what one holds, and who sleeps on it:
 * for the command and the mount. Each function takes the queue's lock for one
 * pass and copies out. No descriptor is needed, and no permission is asked:
 * the one who maps the registry is asked by the file's mode, and a mount asks
 * for others (mq_view.mode, uid, gid).
 */
#ifndef IPCLIFT_INSPECT_MQVIEW_H
#define IPCLIFT_INSPECT_MQVIEW_H

#include "inspect/leaseview.h"
#include "mq/mqueue.h"

/* A queue. `desc` names it for mq_stat, mq_status, and the functions below; it
 * has no file descriptor (fd -1), so none that sleeps or polls may use it. */
struct mq_view {
	struct mq_desc desc;
	u32 idx;
	u32 unlinked; /* its name is gone; some process has it open */
	u32 mode, uid, gid;
	u32 maxmsg, msgsize; /* bytes */
	u32 curmsgs;
	u64 qsize;  /* bytes in the queue */
	u64 charge; /* to RLIMIT_MSGQUEUE of ruid */
	u32 ruid;
	u32 n_receivers, n_senders; /* asleep */
	u32 notify_how; /* MQ_VIEW_*: how notify_pid is told of a message */
	u32 notify_signo, notify_pid;
	s64 atime, mtime, ctime; /* ns, as stat(2) shows them */
	u32 name_len;
	char name[MQ_NAME_MAX + 1]; /* without the slash, zero-terminated */
};
enum {
	MQ_VIEW_SIGNAL, /* as sigev_notify */
	MQ_VIEW_NOTHING,
	MQ_VIEW_THREAD,
	MQ_VIEW_NOBODY, /* nobody asked */
};

/*
 * The next queue at index *at or above (*at is then the next to ask for), in
 * order of index; by name: the one of this name. 1; 0 if there is none; -ENOMEM
 * of enrolling. A registration of exited tasks is dropped first.
 */
int mq_view_next(struct caller *c, u32 *at, struct mq_view *ret);
int mq_view_find(
	struct caller *c, const char *name, size_t len, struct mq_view *ret);

/* A message, in the order in which they are received. */
struct mq_entry {
	u32 prio;
	u32 len; /* bytes */
};
/* A thread asleep in mq_send or mq_receive. */
struct mq_sleeper {
	u32 pid, tid;
	u32 sending;   /* a message of prio and len */
	u32 prio, len; /* of a receiver ~0 */
	s64 since;     /* realtime seconds */
};

/* At most n into ret; the number there are, or for many one above n. -EBADF if
 * the queue is gone, and -ENOMEM of enrolling. Leases: the last received first.
 */
s32 mq_entries(
	struct caller *c, const struct mq_desc *d, struct mq_entry *ret, u32 n);
s32 mq_sleepers(struct caller *c, const struct mq_desc *d,
	struct mq_sleeper *ret, u32 n);
s32 mq_leases(struct caller *c, const struct mq_desc *d, struct lease_view *ret,
	u32 n);

/* Which process holds descriptors of the queue is known to the kernel alone
 * (/proc/PID/fd: dev and ino of mqueue). 1 if any does, 0 if none; always 1 for
 * a queue whose FIFO has no name. */
int mq_in_use(struct caller *c, const struct mq_desc *d);

#endif
