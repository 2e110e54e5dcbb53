// SPDX-License-Identifier: MIT
/*
 * Notifications that the sender cannot deliver itself: a signal to a process of
 * another user, a cookie for a netlink socket that only the registrant has. The
 * kernel asks for no right to kill there. They are left in header.mq_mail, and
 * the registrant's courier, a thread of it, delivers them (entry/courier.c).
 *
 * The sender waits until that is done, after it has released the queue: so the
 * signal is pending when mq_send returns, as it is in the kernel. It does not
 * wait for ever, since the registrant may be stopped.
 */
#ifndef IPCLIFT_MQ_MQMAIL_H
#define IPCLIFT_MQ_MQMAIL_H

#include "registry/caller.h"

/* Leave what n says for its registrant and wake the courier. Slot lock of the
 * queue held. Its number for mqmail_wait, or 0 if there is no room. */
u32 mqmail_send(struct caller *c, const struct mq_notify *n);
/* Wait until it is delivered, at most for some milliseconds; no lock held. */
void mqmail_wait(struct caller *c, u32 mail);

/*
 * The courier's side. No caller: it may have no thread-local variables.
 * The next mail of the process, with its number, or 0; mqmail_done when it is
 * delivered.
 */
u32 mqmail_next(const struct region *r, u32 task, u32 pid, u64 start,
	struct mq_mail *ret);
void mqmail_done(const struct region *r, u32 mail);

#endif
