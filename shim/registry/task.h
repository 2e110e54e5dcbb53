// SPDX-License-Identifier: MIT
/*
 * Tasks: the processes that use the registry, and how their death is noticed.
 *
 * A task's lifeline is a futex word on the robust list of one of its threads,
 * for good: the kernel marks it OWNER_DIED when that thread ends or calls exec,
 * before the process can be waited for. Whoever sees the mark asks task_gone
 * whether the process is gone too. A thread that is not the leader has two
 * such words there, for exec changes its thread id before the list is walked.
 *
 * A task is found by its pid: slots are probed from pid mod N_TASKS. A process
 * finds its own again after exec (pid and start time are the same).
 */
#ifndef IPCLIFT_REGISTRY_TASK_H
#define IPCLIFT_REGISTRY_TASK_H

#include "registry/caller.h"

/* Tasks probed for a pid. Arbitrary. */
#define TASK_PROBES 64u
#define TASKS_A_PAGE ((u32)(SYS_PAGE / sizeof(struct task)))

/* With a full descriptor table or without /proc a start time is unknown, 0. */
static inline int task_same_start(u64 a, u64 b)
{
	return !a || !b || a == b;
}

/* 0 if the page of this task was never used: in a full file system it cannot
 * even be read. */
int task_is_there(const struct task *t);

static inline struct task *task_own(const struct caller *c)
{
	return region_task(&c->region, c->task);
}

/* Take the own task's lock: whose task that is must not change in between, by a
 * signal handler that forks and returns in the child. As lock_acquire. */
int task_lock_own(struct caller *c);

/* Make sure that the own lifeline is linked; call it before the first undo
 * record is made and whenever one is used: one load if it is. */
void task_link_lifeline(struct caller *c);
/* 1 if the lifeline has fired: the process may be gone. */
static inline int task_suspect(const struct task *t)
{
	return ((atom_load_acquire(&t->life) |
			atom_load_acquire(&t->exec_life)) &
		       SYS_OWNER_DIED) != 0;
}
static inline void task_check_lifeline(struct caller *c)
{
	const struct task *t = task_own(c);

	if (unlikely(!atom_load_relaxed(&t->life) || task_suspect(t)))
		task_link_lifeline(c);
}

/* 1 if the process is gone, or will be without running again; 0 for a free
 * task. A system call or two. */
int task_gone(const struct caller *c, const struct task *t);

/* Of a suspect task that is not gone: 1 if its process has called exec since,
 * 0 if only the thread of the lifeline ended (or it cannot be told). */
int task_changed_image(const struct task *t);

/* The first index >= from of a task that is claimed, or N_TASKS: for walking
 * over all. Pages of the table that were never used are not read. */
u32 task_next(const struct caller *c, u32 from);

/* Claim a slot for a child to be forked (TASK_NASCENT, with the parent's pid
 * and start); 0 if the table is full. */
u32 task_claim_nascent(struct caller *c);

/*
 * Of a nascent task whose parent died before it said which child it had: 1 if
 * some process may be that child, that is, has the parent's stack, is not
 * older than the fork and has not made itself known. Reads all of /proc, but
 * not as long as the one that it found last time may still be it. t's lock is
 * held.
 */
int task_may_have_child(struct caller *c, struct task *t);

/* Free a task whose undo and attachment records are all gone;
 * its lock is held. */
void task_free_locked(struct caller *c, struct task *t);

#endif
