// SPDX-License-Identifier: MIT
/*
 * The records of threads: finding one by its number, and asking whether the
 * thread that a word names still runs. Claiming one is task.h's.
 */
#ifndef IPCLIFT_REGISTRY_THREAD_H
#define IPCLIFT_REGISTRY_THREAD_H

#include "registry/caller.h"

/* The next record of a thread that was ever used, from this index on, or
 * N_THREADS. Fills no holes, whatever header.thread_high says. */
u32 thread_next(const struct region *r, u32 from);

/* The first record of a thread with this number, or NULL; looks at all. */
struct thread *thread_of(const struct caller *c, u32 tid);

/* The record at idx, which may be any number, if it is of a thread with this
 * number; else NULL. */
struct thread *thread_at(const struct caller *c, u32 idx, u32 tid);

/* 1 if the thread that a word of ours names (a waker, a remover) is gone, as far
 * as that can be told. Every such thread has a record; 1 too if there is none.
 * Cost: some system calls and a look at all records. Of a lock's owner
 * lock_owner_gone (lock.h) asks for less. */
int thread_gone(const struct caller *c, u32 tid);

/* For wait_dead (wait.h): 1 if the sleeper w of a thread's record, whose word
 * `alive` reads so, died. One that was refused robust lists is not marked by the
 * kernel, and is asked for: one system call or a few. */
int thread_sleeper_dead(const struct waiter *w, u32 alive);

/* Of a sleeper w that is not in its futex. EXITED: the kernel has not marked it, for
 * its memory was taken before it ended (process_mrelease(2), an out-of-memory
 * kill), or its application has broken its robust list. traced: 1 if one that a
 * tracer has stopped counts as stopped. Some system calls, and reads of /proc. */
enum thread_left { THREAD_THERE, THREAD_STOPPED, THREAD_EXITED };
enum thread_left thread_sleeper_left(const struct waiter *w, int traced);

#endif
