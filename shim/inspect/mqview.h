// SPDX-License-Identifier: MIT
/*
 * The POSIX message queues of a registry, their messages and sleepers, for the
 * command and the mount. Each function takes the queue's lock for one pass and
 * copies out. No descriptor is needed, and no permission is checked: for the
 * process that maps the registry the file's mode decides, and the mount checks
 * its users' rights (mq_view.mode, uid, gid).
 */
#ifndef IPCLIFT_INSPECT_MQVIEW_H
#define IPCLIFT_INSPECT_MQVIEW_H

#include "inspect/leaseview.h"
#include "mq/mqueue.h"

/* A queue. `desc` selects it for mq_stat, mq_status, and the functions below;
 * it has no file descriptor (fd -1), so functions that sleep or poll must not
 * use it. */
struct mq_view {
	struct mq_desc desc;
	u32 idx;
	u32 unlinked; /* it has no name any more; some process has it open */
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
	MQ_VIEW_NOBODY, /* no registration */
};

/*
 * The next queue at index *at or above (*at is then the index after it), in
 * order of index; by name: the one with this name. 1; 0 if there is none;
 * -ENOMEM of enrolling. A registration of exited tasks is dropped first.
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

/* At most n into ret; returns the number there are, or if very many one above
 * n. -EBADF if the queue was removed, and -ENOMEM of enrolling. Leases: the
 * last received first. */
s32 mq_entries(
	struct caller *c, const struct mq_desc *d, struct mq_entry *ret, u32 n);
s32 mq_sleepers(struct caller *c, const struct mq_desc *d,
	struct mq_sleeper *ret, u32 n);
s32 mq_leases(struct caller *c, const struct mq_desc *d, struct lease_view *ret,
	u32 n);

/* 1 if any process has a descriptor of the queue, 0 if none; always 1 for a
 * queue whose FIFO has no name. Which process has one only the kernel knows
 * (/proc/PID/fd: dev and ino of mqueue). */
int mq_in_use(struct caller *c, const struct mq_desc *d);

#endif
