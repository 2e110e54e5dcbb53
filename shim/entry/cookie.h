// SPDX-License-Identifier: MIT
/*
 * mq_notify(2) with SIGEV_THREAD as the kernel knows it: not a function but a
 * netlink socket (in sigev_signo), which is sent 32 bytes (sigev_value points
 * to them), the last of them 1 when a message came and 2 when the registration
 * was taken back. libc makes a thread of that; by syscall() anybody may use it.
 */
#ifndef IPCLIFT_ENTRY_COOKIE_H
#define IPCLIFT_ENTRY_COOKIE_H

#include "registry/layout.h"

/* What the kernel says of such a socket: 0 with its inode, -EBADF, -ENOTSOCK,
 * -EINVAL. */
int cookie_socket(int sock, u64 *ret_ino);
/* 0 if cookie_send can work here: the kernel has message queues and lets us
 * make one. -ENOSYS, -EMFILE, -ENOSPC, -ENOMEM. */
int cookie_possible(void);
/* As the kernel does it: to the socket with that number or, if another file has
 * it by now, to any descriptor of the same inode. woken: a message came. No
 * thread-local variables are used. */
void cookie_send(int sock, u64 ino, const u64 cookie[4], int woken);

#endif
