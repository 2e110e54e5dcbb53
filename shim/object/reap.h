// SPDX-License-Identifier: MIT
/*
 * Exited tasks: what a process leaves is taken back by the next that comes across
 * it, in the order in which the kernel ends a process: attachments first, then undo.
 */
#ifndef IPCLIFT_OBJECT_REAP_H
#define IPCLIFT_OBJECT_REAP_H

#include "registry/task.h"

/*
 * Look at a task that is suspected. If its process is gone: drop its
 * attachments, apply its undo, free the slot. If it is in another program
 * image (exec): drop the attachments of the last. A prefork task (a child being
 * forked): drop it if that child died or never came to be.
 * 1 if anything was dropped or the process is gone. No lock may be held.
 */
int reap_task(struct caller *c, u32 task);
/*
 * The same for a process's first call, which has nothing to do with the objects of
 * that task: 0, and it is left to others, where its lock or that of a set or
 * segment that it has records of is held, for a process may be stopped with it.
 * Who takes one of them after it was looked at is waited for.
 */
int reap_task_unheld(struct caller *c, u32 task);

/*
 * Memory that threads which are gone left in their records: what is more than
 * `least` bytes of a record goes back (task_adopt_record). Of one task, as far
 * as its threads are found at once; 0: of all. No lock may be held. The bytes.
 */
u64 reap_records(struct caller *c, u32 task, u64 least);

/*
 * Supplied by the facilities that keep records of a task; they know reap_task,
 * and this layer knows no facility. Task lock held.
 */

/* shm: unlink and free the attachments of program images before epoch (~0:
 * all). 1 if there was any. */
int shm_release_locked(struct caller *c, struct task *t, u32 epoch);
/* shm, sem: 1 if the lock of an object that the task has records of is held by
 * another, or its owner by bias is inside. */
int shm_release_waits(const struct caller *c, const struct task *t);
int undo_release_waits(const struct caller *c, const struct task *t);
/* shm: remove segments whose removal was waiting for their last detach, and
 * give back the pages that exited tasks were giving back. No lock may be
 * held. */
void shm_sweep_empty(struct caller *c);
/* msg: free the payload blocks of the caller's own record. */
void msg_release_blocks(struct caller *c);
/*
 * msg: give back what queues keep for messages to come (warm blocks, and of an
 * empty queue its chunks). After -ENOMEM, with no lock held: 1 if there was
 * any, so that another try is worth while. One hold of a queue's lock for each
 * piece; costs nothing but a look at each queue where nothing is kept.
 */
int msg_spare(struct caller *c);
/*
 * sem: apply and free all SEM_UNDO records of a task whose process is gone.
 * Needs no space. NULL when all are; else a set whose pass over many sleepers
 * is left: the task's lock is given back, undo_pass_left called, and all begins
 * again. Who dies in between leaves a set that is marked (lock_pause), and a
 * task with records that others find.
 */
struct slot *undo_release_locked(struct caller *c, struct task *t);
void undo_pass_left(struct caller *c, struct slot *s);

#endif
