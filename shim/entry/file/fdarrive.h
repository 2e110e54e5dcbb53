// SPDX-License-Identifier: MIT
/*
 * Descriptors of queues that reach a program which has not used a queue itself:
 * over exec, by SCM_RIGHTS, by pidfd_getfd(2). They are noted in the table of
 * fd.h as FD_UNKNOWN, so that read, fstat, fcntl and the like look them up.
 */
#ifndef IPCLIFT_ENTRY_FILE_FDARRIVE_H
#define IPCLIFT_ENTRY_FILE_FDARRIVE_H

/* In the environment of a program that is left a queue's descriptor (exec.c);
 * taken out of it before the program's own code runs. */
#define FD_ARRIVE_MARK "IPCLIFT_QUEUE_LEFT=1"

/* When the library is loaded. Without that variable it only walks the
 * environment. */
void fdarrive_at_load(void);
/* Note the descriptors in what recvmsg(2) has filled in. */
void entry_received(const void *msghdr);
/* Note the result of pidfd_getfd(2), and return it. */
long entry_got(long fd);

#endif
