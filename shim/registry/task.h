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
 * The lifeline is quick but not certain: the kernel stops its walk at an entry of
 * the application's that is no longer mapped, and after 2,048 entries, or does not
 * walk at all (set_robust_list with another list, the OOM reaper). So whoever would
 * wait for what exited tasks hold, or reports what tasks hold, asks task_gone also
 * about those whose lifeline has not fired: a sleeper at each slice, a call that is
 * about to fail with EAGAIN, others as enum task_look says. If robust lists are
 * refused, the lifeline counts as fired from the start.
 *
 * A task is found by its pid: slots are probed from pid mod N_TASKS. A process
 * finds its own again after exec (pid and birth are the same: identity.h).
 */
#ifndef IPCLIFT_REGISTRY_TASK_H
#define IPCLIFT_REGISTRY_TASK_H

#include "registry/caller.h"
#include "registry/identity.h"
#include "registry/thread.h"

/* Tasks probed for a pid. Arbitrary. */
#define TASK_PROBES 64u

/* Find out where this process's stack starts (struct task's mm). Its fork children
 * inherit the answer. */
void task_learn_stack(u32 pid);
/* The same, and return it. */
u64 task_own_stack(const struct caller *c);

static inline struct task *task_own(const struct caller *c)
{
	return region_task(&c->region, c->task);
}

/* Take the own task's lock, as lock_acquire; in a section, so that no signal handler
 * can fork in between and return here in the child, whose own task is another. */
int task_lock_own(struct caller *c);

/* Make sure that this process's lifeline is on a robust list. Called before the
 * first undo record is made and whenever one is used: one load if it is. */
void task_link_lifeline(struct caller *c);
/* The pid of this process, if its task is of a program image before this one;
 * else 0, or a parent's. */
extern u32 task_next_image;

/* 1 if the lifeline has fired: the process may be gone. */
static inline int task_suspect(const struct task *t)
{
	return ((atom_load_acquire(&t->life) |
			atom_load_acquire(&t->exec_life)) &
		       SYS_OWNER_DIED) != 0;
}
/* 0 if it certainly has not; reads one cache line. Else ask task_suspect. */
static inline u32 task_may_be_suspect(const struct task *t)
{
	return (atom_load_acquire(&t->life) & SYS_OWNER_DIED) |
	       atom_load_acquire(&t->exec_used);
}
static inline void task_check_lifeline(struct caller *c)
{
	const struct task *t = task_own(c);

	if (unlikely(!atom_load_relaxed(&t->life) || task_suspect(t)))
		task_link_lifeline(c);
}

/* 1 if the process is gone, or will be without running again; 0 for a free
 * task. One system call if it has been waited for, else up to seven. */
int task_gone(const struct caller *c, const struct task *t);
/*
 * Whether to ask task_gone of a task whose lifeline has not fired: some ten
 * microseconds, so not when anybody has found it alive within TASK_LOOK_NS.
 * TASK_LOOK_NOW, for few, also asks whether it has been waited for, which is
 * one system call, at any time.
 */
enum task_look {
	TASK_LOOK_NOT,
	TASK_LOOK,
	TASK_LOOK_NOW,
};
#define TASK_LOOK_NS 1000000000ULL /* arbitrary */
/* How many are few; arbitrary. */
#define TASK_FEW 4u
/* 1 if the process of a task is gone, as far as `look` goes; one that is
 * suspect is asked for in any case. Not of a prefork task. */
int task_look_slow(const struct caller *c, struct task *t, enum task_look look);
static inline int task_look(
	const struct caller *c, struct task *t, enum task_look look)
{
	return unlikely(look || task_suspect(t)) && task_look_slow(c, t, look);
}
/* 1 if TASK_LOOK would ask nothing at `now` (sys_monotonic_ns): for a walk over
 * many tasks, which reads the clock once. */
static inline int task_looked_lately(const struct task *t, u64 now)
{
	return !task_suspect(t) &&
	       now - atom_load_relaxed(&t->alive_ns) < TASK_LOOK_NS;
}

/*
 * Take over the record of a thread that has exited, for as long as it takes to
 * give back what the record holds: 1 with c->thread = idx, or 0 if it cannot be
 * taken over. Return: the record is free for anybody, and c->thread is `own`,
 * the caller's own one, again.
 *
 * It is claimed as by a new thread: by compare-and-swap of its tid, once
 * nothing of the exited thread is under way (no journal to be rolled back, in no
 * queue, no waker's name in its word, and the lock of the object that it last
 * slept at was held once since, so that no waker's rollback comes to it any
 * more). From then on only the caller stores to it. What is freed is freed by the
 * record's own journal and under the heap's lock, which names that journal. If
 * the caller dies there, the record has the caller's tid and an open journal, so
 * it cannot be taken over until the heap's next owner has rolled that back; from
 * then on it is the record of an exited thread again. In the caller's own record
 * nothing is under way meanwhile.
 *
 * In a section, with no lock held and nothing reserved beyond what is so for
 * every operation; between the two nothing but freeing is allowed.
 */
int task_adopt_record(struct caller *c, u32 idx);
void task_return_record(struct caller *c, u32 own);

/*
 * Of a suspect task that is not gone: 1 if its process has called exec since,
 * 0 if only the thread of the lifeline ended, or it cannot be told.
 *   exec_life fired in the kernel      1: nothing but exec does that
 *   nobody holds its image lock       1: whoever asks (image.h)
 *   the stack begins elsewhere        1
 *   it begins at the same place       0, if that is random; else
 *   the thread of `life` is there     1: only exec makes a thread leave its
 *                                     list (the same number: its birth tells)
 *   /proc/PID/maps has the registry   0; if not, 1
 *   none of this may be read          0, until it makes a call: of another
 *                                     user's process whose thread had ended,
 *                                     without an image lock (it never attached)
 *                                     or with a child that still holds it
 */
int task_changed_image(const struct caller *c, const struct task *t);

/* 1 if a task of this one's page was ever claimed: others, in a full file system,
 * cannot even be read. One load. */
int task_may_be_read(const struct caller *c, u32 idx);

/* The first index >= from of a task that is claimed, or N_TASKS: for walking
 * over all. Pages of the table that were never used are not read. */
u32 task_next(const struct caller *c, u32 from);

/*
 * Make a task the caller's (claim = its pid, state 0): a free one, or that of an
 * exited process with no undo record and no attachment. 1, 0 if it is not to be
 * had, -ENOMEM. May lock it, without waiting: no lock may be held but tasks'.
 * Stores nothing else: what it says is still the exited one's.
 */
int task_take(struct caller *c, u32 idx);

/* Claim a slot for a child to be forked (TASK_PREFORK, with the parent's pid
 * and start); 0 if the table is full. Locks as task_take. */
u32 task_claim_prefork(struct caller *c);

/* 1 if a process has a task of its own. */
int task_is_known(const struct caller *c, u32 pid);

/* 1 if a prefork task is that of the child with this pid. Looks at all tasks.
 */
int task_child_named(const struct caller *c, u32 pid);

/* 1 if it may be the child of a prefork task whose parent has not said which it
 * had (task_may_have_child): then that one counts for it. Likewise; and reads
 * the process's /proc/PID/stat for each such task. */
int task_child_expected(const struct caller *c, u32 pid);

/* Of a prefork task whose child's number is known: 1 if that is gone, or in
 * another program image, so that it has nothing of what is counted for it. */
int task_child_gone(const struct caller *c, const struct task *t);

/* Of a prefork task: 1 if its parent is gone, and nobody has what that had. */
int task_child_none(const struct caller *c, const struct task *t);

/*
 * Of a prefork task whose parent died before it said which child it had, where
 * somebody holds its image lock or that cannot be asked: 1 if some process may
 * be that child, that is, has the parent's stack and something of the registry
 * mapped, is not older than the fork, has not made itself known and is nobody
 * else's. Reads all of /proc, but not as long as the one that it found last
 * time may still be it. Without /proc, or if the parent could not read its own:
 * 1 if there is an image lock, else 1 for five seconds from the fork on. t's
 * lock is held.
 */
int task_may_have_child(struct caller *c, struct task *t);

/* Free a task whose undo and attachment records are all gone;
 * its lock is held. */
void task_free_locked(struct caller *c, struct task *t);

#endif
