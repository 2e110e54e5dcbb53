// SPDX-License-Identifier: MIT
/*
 * The user's directory of registries, /dev/shm/ipclift-<uid>: "default", the
 * named ones, and the private ones ("private.XXXXXX").
 *
 * A private registry belongs to a keeper (keeper.h), which holds a lock of its
 * open file description on the file for as long as the file is to stay. A
 * private registry without that lock has lost its keeper; home_sweep removes
 * it once no process uses it. Making and sweeping exclude each other by a
 * flock on the directory.
 *
 * The registry file itself is flocked by those who map it (region.c), which is
 * a lock of another kind and does not meet ours.
 */
#ifndef IPCLIFT_TOOL_HOME_H
#define IPCLIFT_TOOL_HOME_H

#include <stddef.h>

#define HOME_PATH_MAX 256

/*
 * Open the directory, making it if make is set (mode 0700). Returns a
 * descriptor, or -errno: -ENOENT, -EACCES if it is somebody else's, open to
 * others, or no directory. path (HOME_PATH_MAX bytes) receives its name in any
 * case.
 */
int home_open(int make, char *path);

/* NULL, or what is wrong with NAME as the name of a registry. */
const char *home_name_fault(const char *name);

/* A fresh private registry: its name into path (HOME_PATH_MAX bytes), and the
 * descriptor whose lock keeps it. Or -errno. */
int home_make_private(char *path);

/* 1 if a process stands in the file's task table or has it mapped; with
 * or_may also if one was started with its name in the environment. */
int home_in_use(const char *path, int or_may);

/* Remove a registry's file, and the directory PATH.mq with the FIFOs of its
 * message queues. */
void home_remove(const char *path);

/* Remove private registries that their keepers have left behind. */
void home_sweep(void);

#endif
