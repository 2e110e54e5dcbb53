// SPDX-License-Identifier: MIT
/*
 * The calls on a descriptor that a queue and a file of procfs.h answer each in
 * its way.
 */
#ifndef IPCLIFT_ENTRY_FILE_FDCALL_H
#define IPCLIFT_ENTRY_FILE_FDCALL_H

/* fcntl on a queue's descriptor: -errno. */
long entry_fcntl(int fd, int cmd, long arg);

#endif
