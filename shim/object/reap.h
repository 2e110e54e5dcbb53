// SPDX-License-Identifier: MIT
/*
 * Exited tasks: what a process leaves is freed by the next process that finds
 * it, in the order in which the kernel ends a process: attachments first, then
 * undo.
 */
#ifndef IPCLIFT_OBJECT_REAP_H
#define IPCLIFT_OBJECT_REAP_H

#include "registry/task.h"

/*
 * Check a task that is suspected. If its process has exited: drop its
 * attachments, apply its undo, free the slot. If it is in another program
 * image (exec): drop the attachments of the last. A prefork task (a child being
 * forked): drop it if that child died or was never made.
 * 1 if anything was dropped or the process has exited. No lock may be held.
 */
int reap_task(struct caller *c, u32 task);
/*
 * The same for a process's first call, which need not concern the objects of
 * that task: 0, leaving it to others, if the task's lock or that of a set or
 * segment of which it has records is held, for its owner may be stopped. If a
 * thread takes one of them after that check, it is waited for.
 */
int reap_task_unheld(struct caller *c, u32 task);

/*
 * Free memory that exited threads left in their records, if a record has more
 * than `least` bytes (task_adopt_record). task: of one task, as far as its
 * threads are found at once; 0: of all. No lock may be held. Returns the bytes
 * freed.
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
/* msg: free the payload blocks of this thread's record. */
void msg_release_blocks(struct caller *c);
/*
 * msg: free the spare memory of queues (warm blocks, and chunks of an empty
 * queue). After -ENOMEM, with no lock held: 1 if there was any, so that another
 * try is worth while. One hold of a queue's lock per piece; a queue without
 * spare memory costs a read.
 */
int msg_spare(struct caller *c);
/*
 * sem: apply and free all SEM_UNDO records of a task whose process has exited.
 * Needs no space. NULL when all are done; else a set whose pass over many
 * sleepers is left to be made: the caller releases the task's lock, calls
 * undo_pass_left, and begins again. If it dies in between, the set is marked
 * (lock_pause), and others find the task's remaining records.
 */
struct slot *undo_release_locked(struct caller *c, struct task *t);
void undo_pass_left(struct caller *c, struct slot *s);

#endif
