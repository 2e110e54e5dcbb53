// SPDX-License-Identifier: MIT
/*
 * What a fork child inherits. It has its parent's mappings from its first
 * instruction, so they must be counted before it exists: the parent makes a
 * task for it (TASK_PREFORK) with a record for each attachment, and the child,
 * once it runs, moves the records to the task that its pid gives it. Whoever
 * of the two is killed when, the records are dropped if there is no child.
 *
 * Another thread may attach meanwhile, and the child have that or not. No lock
 * can be held over libc's fork, for the application's handlers run in it. So a
 * fork is announced first, by one compare-and-swap, and who attaches says so
 * before it looks whether there are forks; either the one sees the attachment
 * and counts it, or the other sees the fork. It waits until that is over, as
 * the kernel would let it; for FORK_WAIT_NS, for the application's handlers may
 * wait for it. After that, and where it runs in such a handler itself, it makes
 * a record for the child, too, before it maps anything, and a task if there is
 * none: the child, which has the mapping only if it knows of that task, keeps
 * the record or drops it. (A child that was made just before and had nothing to
 * take over keeps it until it ends or calls exec: one too many, for one too few
 * would give its memory away.)
 *
 * Around fork(2) and clone(2) by name or number, without CLONE_VM. A child made
 * in another way is noticed at its own first served call, or when what it has
 * could be given away (shmunseen.c). What went all the same is taken from it at
 * that call.
 */
#ifndef IPCLIFT_SHM_SHMFORK_H
#define IPCLIFT_SHM_SHMFORK_H

#include "shm/shmmap.h"
#include "registry/image.h"

/* Something is attached, or about to be: shm_fork_prepare is needed. */
static inline int shm_fork_concerns(const struct shm_process *p)
{
	return p->n_used || atom_load_relaxed(&p->attaching);
}

/* Announce a fork of this thread: for shm_fork_end, or NULL if there are too
 * many at once: then it is as if nobody attached meanwhile. */
struct shm_forking *shm_fork_begin(struct shm_process *p);
/* Before the fork, in the parent: counts what the child will have. */
void shm_fork_prepare(
	struct caller *c, struct shm_forking *fork, struct shm_fork *ret);
/* After it, in the parent: nobody waits for it any more. What its child is to
 * take over, under own task's lock if c is not NULL. */
struct shm_fork shm_fork_over(struct caller *c, struct shm_forking *fork);
void shm_fork_end(struct shm_process *p, struct shm_forking *fork);
/* With what fork returned (child < 0: it failed); f->task may be 0. */
void shm_fork_parent(struct caller *c, const struct shm_fork *f, s32 child);
/*
 * A child that was not seen to be made has segments attached, and nobody has
 * counted that: begin (task 0: there is no memory), has for each part of one
 * that is mapped, end. From end on it is as if it had been prepared for, and
 * lasts until the child makes itself known, ends or calls exec. image: whose
 * child it may be, for children of its own (image.h). A section; no lock but a
 * dead task's may be held.
 */
struct shm_fork shm_found_begin(struct caller *c);
void shm_found_has(struct caller *c, const struct shm_fork *f, struct slot *s,
	const struct shm_entry *e);
void shm_found_end(
	struct caller *c, const struct shm_fork *f, u32 child, u64 image);
/* In a child: its parent's forks are not its own. Mostly there are none, and a
 * store would cost the child a copy of the page. */
static inline void shm_forks_clear(struct shm_process *p)
{
	u32 i;

	if (likely(!p->n_forks))
		return;
	for (i = 0; i < SHM_FORKS; i++)
		p->forks[i].owner = 0;
	p->n_forks = 0;
}
/* The same in one that inherits nothing, and makes no call yet. */
static inline void shm_fork_forget(struct shm_process *p)
{
	shm_forks_clear(p);
	image_leave(0);
}
/* In the child, at the end of the fork or at its first call, whatever comes
 * first. f: as prepared, if nothing was announced; task 0 = not at all. */
void shm_fork_child(struct caller *c, const struct shm_fork *f);

/* Own task's lock, for an attachment, with the forks seen to; to be given back
 * by shm_attach_end. */
void shm_attach_begin(struct caller *c);
void shm_attach_end(struct caller *c);
/* It is mapped and counted, and not yet in the table. */
void shm_attach_for_forks(
	struct caller *c, struct slot *s, const struct shm_entry *e);

#endif
