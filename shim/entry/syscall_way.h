/* SPDX-License-Identifier: MIT */
/*
 * How a system call made by syscall(2) is served: the values of syscall_ways
 * (syscall.c), and their order in the table of handlers (arch). For C and
 * assembler.
 */
#ifndef IPCLIFT_ENTRY_SYSCALL_WAY_H
#define IPCLIFT_ENTRY_SYSCALL_WAY_H

#define WAY_KERNEL 0 /* passed on as it is */
#define WAY_SYSV 1
#define WAY_MSG 2
#define WAY_MQ 3
#define WAY_PATH 4
#define WAY_FD 5
#define WAY_WATCHED 6
#define WAY_MAPPING 7
#define WAY_CLONE 8
#define WAY_VFORK 9

/* Higher ones are WAY_KERNEL. */
#define SYSCALL_NUMBERS 448

/*
 * What a clone makes. With CLONE_VM the child has no mappings of its own to be
 * counted; with a stack of its own it returns there, with no frame of ours.
 */
#define CLONE_PASS 0
#define CLONE_AS_FORK 1
#define CLONE_ON_STACK 2

#endif
