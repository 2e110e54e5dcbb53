// SPDX-License-Identifier: MIT
/*
 * The messages and sleepers of a queue, for the command and the mount. Each
 * function takes the queue's lock for one pass and copies out; with very many
 * messages that pass is long (about 10 ns per message), and users of the queue
 * wait.
 */
#ifndef IPCLIFT_INSPECT_MSGVIEW_H
#define IPCLIFT_INSPECT_MSGVIEW_H

#include "inspect/leaseview.h"
#include "msg/msg.h"

/* A message, in the order of sending. */
struct msg_entry {
	s64 type;
	u64 size; /* bytes */
};

/* What a receiver waits for; a sender has MSG_WANT_SPACE. */
enum msg_want {
	MSG_WANT_ANY,	   /* msgtyp 0 */
	MSG_WANT_TYPE,	   /* that type */
	MSG_WANT_NOT_TYPE, /* any other (MSG_EXCEPT) */
	MSG_WANT_UP_TO,	   /* the lowest type up to it */
	MSG_WANT_SPACE,
};

/* A thread asleep in msgsnd or msgrcv. */
struct msg_sleeper {
	u32 pid, tid;
	u32 want;  /* MSG_WANT_* */
	s64 type;  /* wanted; a sender's own */
	u64 size;  /* space in the buffer; a sender's message */
	s64 since; /* realtime seconds */
};

/* At most n into ret; returns the number there are, or if very many one above
 * n. -EINVAL, -EACCES, -EIDRM, and -ENOMEM of enrolling. Sleepers: receivers
 * first, each in its order; leases: the last received first. */
s64 msg_entries(struct caller *c, s32 id, struct msg_entry *ret, u64 n);
s32 msg_sleepers(struct caller *c, s32 id, struct msg_sleeper *ret, u32 n);
s32 msg_leases(struct caller *c, s32 id, struct lease_view *ret, u32 n);

#endif
