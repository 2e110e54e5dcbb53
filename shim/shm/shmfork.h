// SPDX-License-Identifier: MIT
/*
 * What a fork child inherits. It has its parent's mappings from its first
 * instruction, so they must be counted before it exists: the parent makes a
 * task for it (TASK_PREFORK) with a record for each attachment, and the child,
 * once it runs, moves the records to the task that its pid gives it. Whoever
 * of the two is killed when, the records are dropped if there is no child.
 *
 * Another thread may attach or detach meanwhile, and the child have that or not:
 * all of it. No lock can be held over libc's fork, for the application's handlers
 * run in it. So a fork is announced first, by one compare-and-swap, and who changes
 * mappings says so (changing) before it looks whether there are forks; either the
 * one sees the change, waits for its end and counts what is attached by then, or the
 * other sees the fork. It waits until that is over, as the kernel would let it; for
 * FORK_WAIT_NS, for the application's handlers may wait for it. After that, and where
 * it runs in such a handler itself, it makes a task for the child, if there is none,
 * before it maps anything, and a record once it has: the child keeps the record or
 * drops it. (A child that was made just before and had nothing to take over keeps
 * it until it ends or calls exec: one too many, for one too few would give its
 * memory away.) shmdt never waits: the child has its record already, and drops it.
 *
 * Who stores to what (P: thread of the parent with own task's lock; F: the thread
 * that forks; C: the child, alone in its memory):
 *
 *	forks[].owner, n_forks	F: announced, over; C: none
 *	forks[].f		F in shm_fork_prepare, P in make_tasks: own lock
 *	changing		P: 1 before it looks for forks, 0 behind the change
 *	n_used			P, before changing is 0 again; F reads changing first
 *	entry.state		P: UNUSED -> MAPPING before anything is mapped ->
 *				USED once it is mapped, counted for P and, if it did
 *				not wait, for the child. USED -> UNMAPPING before
 *				anything is unmapped -> UNUSED when it is
 *	held, held_len		P: once a place is taken, not before; off again
 *				before it is given up
 *	passing			any thread, in a section, around what it maps for a
 *				moment without own lock
 *	the child's task	F or P: PREFORK, records; then its pid: F, C. C: the
 *				records are its own, free. Whoever finds C dead: free
 *
 * The kernel copies an address space with all its threads' mapping calls shut out,
 * so what C reads of these is as old as its mappings: a store behind such a call
 * is seen only with the call's effect. So of a change that was under way C finds
 * changing (or passing) set, and takes back what no entry that is USED accounts for
 * (shmchild.c); MAPPING and UNMAPPING are as if not there, and records without an
 * entry are dropped (bind_entries), for the parent has one of its own.
 *
 * Left where nobody waits any more: a place that is taken, inaccessible, before
 * `held` could say so, or still when it did not any more, stays taken in C. And of
 * munmap, mremap and their like by the application (shmapp.c) C's entries may say
 * what was there before.
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
#include "registry/task.h"

/*
 * Something is attached, or about to be: shm_fork_prepare is needed. In this
 * order: whoever was attaching and is not any more is in n_used by now.
 */
static inline int shm_fork_concerns(const struct shm_process *p)
{
	return atom_load_acquire(&p->changing) || atom_load_relaxed(&p->n_used);
}

/* Announce a fork of this thread: for shm_fork_end, or NULL if there is no
 * memory for one more at once: then it is as if nobody attached meanwhile. */
struct shm_forking *shm_fork_begin(struct shm_process *p);
/* Before the fork, in the parent: counts what the child will have. */
void shm_fork_prepare(
	struct caller *c, struct shm_forking *fork, struct shm_fork *ret);
/* After it, in the parent: nobody waits for it any more, or makes a task for its
 * child. 1: one may have been made, or is being made; ask for the result. Whether
 * anything is attached must not be asked before this: another thread could make
 * the task in between, which then nobody would give its child's number, and which
 * would count as attached until the parent ends. */
int shm_fork_over(struct shm_process *p, struct shm_forking *fork);
/* Behind it: what the child is to take over. Takes own task's lock, which who is
 * still making a task holds. */
struct shm_fork shm_fork_result(struct caller *c, struct shm_forking *fork);
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
/* The announcement with number i, or NULL behind the last. */
struct shm_forking *shm_fork_at(struct shm_process *p, u32 i);
/* In a child: its parent's forks are not its own. Mostly there are none, and a
 * store would cost the child a copy of the page. */
static inline void shm_forks_clear(struct shm_process *p)
{
	struct shm_forking *fork;
	u32 i;

	if (likely(!p->n_forks))
		return;
	for (i = 0; (fork = shm_fork_at(p, i)); i++)
		fork->owner = 0;
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

/* Own task's lock, for whatever changes what is mapped, or its table, with the
 * forks seen to; to be given back by shm_change_end. */
void shm_change_begin(struct caller *c);
void shm_change_end(struct caller *c);
/* The same for shmdt, which waits for no fork: a child has what is half unmapped
 * taken away (shm_child_finish). */
static inline void shm_detach_begin(struct caller *c)
{
	task_lock_own(c);
	shm_table_begin(c->shm);
	c->shm->changing = 1;
}
/* In a child, first: what other threads of its parent were in the middle of is
 * taken back (shmchild.c). */
void shm_child_finish(struct caller *c);
/* It is mapped and counted, and not yet in the table. */
void shm_attach_for_forks(
	struct caller *c, struct slot *s, const struct shm_entry *e);

#endif
