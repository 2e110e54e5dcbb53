// SPDX-License-Identifier: MIT
/*
 * Notifications that the sender cannot deliver itself: a signal to a process of
 * another user, for which the kernel's mq_notify needs no permission to kill, or a
 * cookie for a netlink socket that only the registrant has. They are left in
 * header.mq_pending, and delivered by the notification thread, which runs in the
 * registrant (entry/notify_thread.c).
 *
 * The sender waits until that is done, after it has released the queue: so the
 * signal is pending when mq_send returns, as it is in the kernel. It does not
 * wait for ever, since the registrant may be stopped.
 */
#ifndef IPCLIFT_MQ_MQPENDING_H
#define IPCLIFT_MQ_MQPENDING_H

#include "registry/caller.h"

/* Leave the notification n for its registrant and wake its notification thread.
 * The queue's slot lock is held. The number for mqpending_wait, or 0 if there is
 * no space. */
u32 mqpending_send(struct caller *c, const struct mq_notify *n);
/* Wait until it is delivered, at most for some milliseconds; no lock held. */
void mqpending_wait(struct caller *c, u32 number);

/*
 * The notification thread's side, without a struct caller, since that thread may
 * have no thread-local variables. Returns the number of the process's next
 * notification, or 0; mqpending_begin before it is delivered, mqpending_done
 * afterwards.
 */
u32 mqpending_next(const struct region *r, u32 task, u32 pid, u64 start,
	struct mq_pending *ret);
void mqpending_begin(const struct region *r, u32 number);
void mqpending_done(const struct region *r, u32 number);

#endif
