// SPDX-License-Identifier: MIT
/*
 * Descriptors of queues that come from elsewhere into a program which has not
 * used a queue: over exec, by SCM_RIGHTS, by pidfd_getfd(2). They are noted in
 * the table of fd.h, so that read, fstat, fcntl and the like ask there.
 */
#ifndef IPCLIFT_ENTRY_FILE_FDARRIVE_H
#define IPCLIFT_ENTRY_FILE_FDARRIVE_H

/* In the environment of a program that is left a queue's descriptor (exec.c);
 * taken out of it before the program's own code runs. */
#define FD_ARRIVE_MARK "IPCLIFT_QUEUE_LEFT=1"

/* When the library is loaded; without that variable a look at each of the
 * environment. */
void fdarrive_at_load(void);
/* recvmsg(2) has filled this. */
void entry_received(const void *msghdr);
/* pidfd_getfd(2) has answered; the same. */
long entry_got(long fd);

#endif
