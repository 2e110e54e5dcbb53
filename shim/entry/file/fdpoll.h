// SPDX-License-Identifier: MIT
/*
 * Tells the queue when its descriptor is polled, or may be by a process it is
 * handed to, so that its FIFO is kept in step (mqfifo.c): poll and its kin,
 * sendmsg, exec.
 */
#ifndef IPCLIFT_ENTRY_FILE_FDPOLL_H
#define IPCLIFT_ENTRY_FILE_FDPOLL_H

/* Before exec: the program may poll queues whose descriptors it inherits, unseen
 * by us. any: also those with FD_CLOEXEC, which file actions may copy. 1 if it
 * inherits any. */
int fd_executing(int any);
/* Before exec in this process, not in a child of it: registrations for
 * notification end with descriptors that FD_CLOEXEC closes. */
void fd_closing(void);
/* Before sendmsg(2): whoever gets the descriptors may poll them, too. */
void entry_sending(const void *msghdr);
/* These are polled from now on; the end of that is not seen. */
void entry_watch_poll(const void *fds, unsigned long n);
void entry_watch_select(int n, const void *in, const void *out);
void entry_watch_epoll(int op, int fd, const void *event);

#endif
