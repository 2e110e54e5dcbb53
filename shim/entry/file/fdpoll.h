// SPDX-License-Identifier: MIT
/*
 * Who polls a queue's descriptor, or will, so that its FIFO is kept in step
 * (mq_watch): poll and its kin, and what hands a descriptor to others. For
 * syscall(), and exec.
 */
#ifndef IPCLIFT_ENTRY_FILE_FDPOLL_H
#define IPCLIFT_ENTRY_FILE_FDPOLL_H

/* What is executed now may poll a queue that it is left, without us. any: also
 * those that would be closed, for file actions may copy them. 1 if it is left
 * any. */
int fd_executing(int any);
/* This process, not a child of it, is about to execute something: what its
 * descriptors' FD_CLOEXEC means for its registrations. */
void fd_closing(void);
/* Descriptors are sent by sendmsg(2): who gets them may poll them, too. */
void entry_sending(const void *msghdr);
/* Somebody polls these, and how long is not seen. */
void entry_watch_poll(const void *fds, unsigned long n);
void entry_watch_select(int n, const void *in, const void *out);
void entry_watch_epoll(int op, int fd, const void *event);

#endif
