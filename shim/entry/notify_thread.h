// SPDX-License-Identifier: MIT
/*
 * The notification thread: a thread of a process that is registered for a
 * notification which the sender may not or cannot deliver itself
 * (mq/mqpending.h): it sends its own process the signal, with the code, pid and
 * uid that the kernel would give, or the cookie to its netlink socket.
 *
 * Only a registrant has one, and only where it may be needed: see
 * notify_thread_needed. It is made at the first such registration and stays
 * until the process ends or calls exec; a fork child has none until it
 * registers. It is no thread of libc: it blocks all signals, does not keep a
 * process alive that libc ends, and uses nothing but system calls and the
 * registry. While the process changes its credentials it is away, so that it
 * never has more rights than the process. It does not come back after
 * unshare(CLONE_NEWPID), for then there can be no new thread: other users do
 * not reach that process any more.
 */
#ifndef IPCLIFT_ENTRY_NOTIFY_THREAD_H
#define IPCLIFT_ENTRY_NOTIFY_THREAD_H

#include "registry/caller.h"

/* 1 if somebody who may not send a signal to this process may come to send to
 * a queue of the registry. */
int notify_thread_needed(struct caller *c);
/* 0, or -EAGAIN and the like where there can be no thread. c is enrolled. Not
 * in a vfork child. */
int notify_thread_start(struct caller *c);

/* Around what a process of one thread only may do, or what changes its rights:
 * 1 if there was one, which notify_thread_resume then makes anew. */
int notify_thread_pause(void);
void notify_thread_resume(int was);
/* The calling thread ends by exit(2) itself, which libc does not see: if it is
 * the last, the notification thread goes too. */
void notify_thread_ends(void);

#endif
