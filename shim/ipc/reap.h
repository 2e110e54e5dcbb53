// SPDX-License-Identifier: MIT
/*
 * The dead: what a process leaves is taken back by whoever meets it, in the
 * order in which the kernel ends a process: attachments first, then undo.
 */
#ifndef IPCLIFT_IPC_REAP_H
#define IPCLIFT_IPC_REAP_H

#include "registry/task.h"

/*
 * Look at a task that is suspected. If its process is gone: drop its
 * attachments, apply its undo, free the slot. If it is in another program
 * image (exec): drop the attachments of the last. A nascent task (a child being
 * forked): drop it if that child died or never came to be.
 * 1 if anything was dropped or the process is gone. No lock may be held.
 */
int reap_task(struct caller *c, u32 task);

#endif
