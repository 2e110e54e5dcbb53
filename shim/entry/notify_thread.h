// SPDX-License-Identifier: MIT
/*
 * The courier: a thread of a process that is registered for a notification
 * which the sender may not or cannot deliver itself (mq/mqmail.h): it sends
 * its own process the signal, with the code, pid and uid that the kernel would
 * give, or the cookie to its netlink socket.
 *
 * Only a registrant has one, and only where it may be needed: see
 * courier_needed. It is made at the first such registration and stays until the
 * process ends or calls exec; a fork child has none until it registers. It is
 * no thread of libc: it blocks all signals, does not keep a process alive that
 * libc ends, and uses nothing but system calls and the registry. While the
 * process changes its credentials it is away, so that it never has more rights
 * than the process. It does not come back after unshare(CLONE_NEWPID), for then
 * there can be no new thread: strangers do not reach that process any more.
 */
#ifndef IPCLIFT_ENTRY_COURIER_H
#define IPCLIFT_ENTRY_COURIER_H

#include "registry/caller.h"

/* 1 if somebody who may not send a signal to this process may come to send to
 * a queue of the registry. */
int courier_needed(struct caller *c);
/* 0, or -EAGAIN and the like where there can be no thread. c is enrolled. Not
 * in a vfork child. */
int courier_start(struct caller *c);

/* Around what a process of one thread only may do, or what changes its rights:
 * 1 if there was one, which courier_resume then makes anew. */
int courier_pause(void);
void courier_resume(int was);
/* The calling thread ends by exit(2) itself, which libc does not see: if it is
 * the last, the courier goes too. */
void courier_thread_ends(void);

#endif
