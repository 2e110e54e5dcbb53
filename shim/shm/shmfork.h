// SPDX-License-Identifier: MIT
/*
 * What a fork child inherits. It has its parent's mappings from its first
 * instruction, so they must be counted before it exists: the parent makes a
 * task for it (TASK_PREFORK) with a record for each attachment, and the child,
 * once it runs, moves the records to its own task, found by its pid. Whichever
 * of the two is killed and when, the records are dropped if there is no child.
 *
 * While one thread forks another may attach or detach, and the child must have that
 * change wholly or not at all. No lock can be held over libc's fork, for the
 * application's pthread_atfork handlers run in it. So the forking thread announces
 * its fork first, by one compare-and-swap, and a thread about to change mappings
 * sets `changing` before it looks for announced forks. One of them sees the other:
 *
 * - The forking thread sees the change: it waits for its end and counts what is
 *   attached by then.
 * - The attaching thread sees the fork: it waits until that is over, as it would
 *   in the kernel, but FORK_WAIT_NS at most, for a handler may be waiting for it.
 *   After that, or if it runs in such a handler itself, it makes a task for the
 *   child, if there is none, before it maps anything, and a record once it has;
 *   the child keeps the record or drops it. (A child that was made just before and
 *   had nothing to take over leaves it until it ends or calls exec: one too many,
 *   for one too few would give its memory away.)
 * - shmdt never waits: the child has its record already, and drops it.
 *
 * Who stores to what (P: a thread of the parent that has its task's lock; F: the
 * thread that forks; C: the child, alone in its memory):
 *
 *	forks[].owner, n_forks	F: announced, over; C: none
 *	forks[].f		F in shm_fork_prepare, P in make_tasks: task's lock
 *	changing		P: 1 before it looks for forks, 0 after the change
 *	n_used			P, before changing is 0 again; F reads changing first
 *	entry.state		P: UNUSED -> MAPPING before anything is mapped ->
 *				USED once it is mapped, counted for P and, if it did
 *				not wait, for the child. USED -> UNMAPPING before
 *				anything is unmapped -> UNUSED when it is
 *	held, held_len		P: set after the address range is reserved, cleared
 *				before it is given up
 *	passing			any thread, in a section, around what it maps for a
 *				moment without its task's lock
 *	the child's task	F or P: PREFORK, records; then its pid: F, C. Freed
 *				by C once it has moved the records to its own
 *				task, or by whoever finds that there is no child
 *
 * The kernel copies an address space while it keeps all threads' mapping calls out,
 * so what C reads of these fields matches its mappings: C sees a store made after
 * such a call only together with the call's effect. If a change was under way, C
 * finds changing (or passing) set, and unmaps what no USED entry accounts for
 * (shmchild.c). It treats MAPPING and UNMAPPING as UNUSED, and drops records
 * without an entry (bind_entries), for the parent has records of its own.
 *
 * Known gaps, only where the wait above was given up: an address range reserved
 * without access stays reserved in C if the fork fell between the reservation and
 * the store to `held`, or the other way round. And after munmap, mremap and the
 * like by the application (shmapp.c) C's entries may say what was there before.
 *
 * Covers fork(2) and clone(2) without CLONE_VM, by name or number. A child made
 * in another way is noticed at its own first served call, or when what it has
 * might be given away (shmunseen.c). What was given away before that, it loses at
 * that call.
 */
#ifndef IPCLIFT_SHM_SHMFORK_H
#define IPCLIFT_SHM_SHMFORK_H

#include "shm/shmmap.h"
#include "registry/image.h"
#include "registry/task.h"

/*
 * Is anything attached, or about to be, so that shm_fork_prepare is needed?
 * `changing` is read first: an attach that has just ended is in n_used by then.
 */
static inline int shm_fork_concerns(const struct shm_process *p)
{
	return atom_load_acquire(&p->changing) || atom_load_relaxed(&p->n_used);
}

/* Announce a fork of this thread; shm_fork_end ends that. NULL if there is no
 * memory for one more: then it is as if nobody attached meanwhile. */
struct shm_forking *shm_fork_begin(struct shm_process *p);
/* Before the fork, in the parent: count what the child will have. 0, or -ENOMEM:
 * there is no space to count it in, and the fork must fail, for a child whose
 * attachments are not counted loses them; *ret may have a task even so, which
 * shm_fork_parent gives up. */
int shm_fork_prepare(
	struct caller *c, struct shm_forking *fork, struct shm_fork *ret);
/* After it, in the parent: from now on nobody waits for this fork or makes a task
 * for its child. 1: a task may have been made, or is being made; call
 * shm_fork_result. Whether anything is attached must not be tested before this:
 * another thread could make the task in between, which would then never be given
 * its child's pid, and would count as attached until the parent ends. */
int shm_fork_over(struct shm_process *p, struct shm_forking *fork);
/* After that: what the child is to take over. Takes the own task's lock, which a
 * thread that is still making a task holds. */
struct shm_fork shm_fork_result(struct caller *c, struct shm_forking *fork);
void shm_fork_end(struct shm_process *p, struct shm_forking *fork);
/* With what fork returned (child < 0: it failed); f->task may be 0. */
void shm_fork_parent(struct caller *c, const struct shm_fork *f, s32 child);
/*
 * Count the attachments of a child whose making was not seen: shm_found_begin
 * (task 0: there is no memory), shm_found_has for each mapped part of a segment,
 * shm_found_end. From then on it is as after shm_fork_prepare, until the child
 * makes itself known, ends or calls exec. image: of the parent it may have had, so
 * that children of its own are found in turn (image.h). In a section; no lock but
 * a dead task's may be held.
 */
struct shm_fork shm_found_begin(struct caller *c);
void shm_found_has(struct caller *c, const struct shm_fork *f, struct slot *s,
	const struct shm_entry *e);
void shm_found_end(
	struct caller *c, const struct shm_fork *f, u32 child, u64 image);
/* The announcement with index i, or NULL after the last. */
struct shm_forking *shm_fork_at(struct shm_process *p, u32 i);
/* In a child: clear its parent's announcements. Mostly there are none, and a
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
/* The same in a child that inherits nothing and has made no served call. */
static inline void shm_fork_forget(struct shm_process *p)
{
	shm_forks_clear(p);
	image_leave(0);
}
/* In the child, at the end of the fork or at its first call, whichever comes
 * first. f: what was prepared, used if the fork was not announced; task 0 =
 * nothing was. */
void shm_fork_child(struct caller *c, const struct shm_fork *f);
/* Before it enrolls: the same once more, if no record was to be had then. 0, or
 * -errno: still none. */
int shm_fork_again(struct caller *c);

/* Before any change of mappings or of the table: take the own task's lock, set
 * `changing`, and wait for forks or make tasks as described above. */
void shm_change_begin(struct caller *c);
void shm_change_end(struct caller *c);
/* The same for shmdt, which waits for no fork: what is half unmapped in a child is
 * removed there (shm_child_finish). */
static inline void shm_detach_begin(struct caller *c)
{
	task_lock_own(c);
	shm_table_begin(c->shm);
	c->shm->changing = 1;
}
/* In a child, first: undo what other threads of its parent were in the middle of
 * (shmchild.c). */
void shm_child_finish(struct caller *c);
/* e is mapped and counted, and not yet in the table: count it for the children of
 * announced forks, too. */
void shm_attach_for_forks(
	struct caller *c, struct slot *s, const struct shm_entry *e);

#endif
