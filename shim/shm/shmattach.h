// SPDX-License-Identifier: MIT
/*
 * Attachment records: which process has which segment attached, in the registry.
 *
 * A record is for one attachment of one process. It is in the chain of the
 * process's task and, while in use, in the segment's list. A process that is
 * killed or calls exec cannot drop its own records: its lifeline fires, and
 * whoever needs a segment's nattch first drops what such processes left
 * (shm_settle).
 *
 * Segments that were removed while attached are in the list of those pending
 * destruction. The last detach destroys them; if a process's death was the last,
 * whoever notices that does.
 *
 * Lock order: facility, task, slot. A segment is destroyed under facility and
 * slot lock, so whoever holds the slot's lock of a live segment keeps it.
 */
#ifndef IPCLIFT_SHM_SHMATTACH_H
#define IPCLIFT_SHM_SHMATTACH_H

#include "object/object.h"
#include "object/reap.h"
#include "shm/shmmap.h"
#include "shm/shmrun.h"
#include "registry/damage.h"
#include "registry/image.h"
#include "registry/task.h"

#define SHM_MODE_DEST 01000u
#define SHM_MODE_LOCKED 02000u

static inline struct shm_segment *shm_body(
	const struct caller *c, const struct slot *s)
{
	return ref_at(c, ref_relaxed(&s->body));
}
/* By a link of the list of those pending destruction: idx + 1, NULL if it is 0.
 */
static inline struct shm_segment *shm_dest_at(const struct caller *c, u32 link)
{
	return link ? shm_body(c, region_slot(&c->region, FAC_SHM,
					  (link - 1) & (IDX_MAX - 1)))
		    : NULL;
}
static inline struct shm_attach *shm_attach_at(
	const struct caller *c, struct ref ref)
{
	return ref_at(c, ref);
}

/* A walk along records has come to rec: 1, or 0 if it has been there before,
 * which counts as damage (registry/damage.h). */
static inline int shm_attach_walk(
	const struct caller *c, struct walk *w, const struct shm_attach *rec)
{
	return walk_goes_on(c, w, region_off(&c->region, rec));
}

/* ---- records; the lock of task t is held ---- */

/* A record that is not in use (t->shm_free), or NULL without memory. */
struct shm_attach *shm_record_new(struct caller *c, struct task *t);
/* Put it to use for the attachment e: nattch, atime, lpid. The slot's lock is
 * held; an operation of its own. */
void shm_record_link(struct caller *c, struct task *t, struct slot *s,
	struct shm_attach *rec, const struct shm_entry *e, u32 count, u32 pid);
/* The opposite: nattch, dtime, lpid; takes the slot's lock. 1 if nobody has
 * the segment any more and it is to be destroyed for that. */
int shm_record_unlink(
	struct caller *c, struct task *t, struct shm_attach *rec, u32 pid);
/* The attachment has `count` fragments now: nattch and lpid; atime if any was
 * opened, dtime if any was closed. Takes the slot's lock. */
void shm_record_recount(struct caller *c, struct shm_attach *rec, u32 count,
	int opened, int closed);
/* shm_release_locked, for the reaper: object/reap.h. */

/* ---- segments; no lock held ---- */

/* Lock the segment of (s, ident) with no exited task attached to it. 0, or
 * -EIDRM with no lock held. */
int shm_settle(
	struct caller *c, struct slot *s, u64 ident, struct shm_segment **ret);

/* ---- children that were not seen to be made (shmunseen.c) ---- */

/*
 * Before this process attaches anything: shm_image_succeed, with no lock held,
 * drops what the image before exec had; shm_image_make makes the image lock, under
 * the own task's lock and as a part of the attach, so that no fork child gets half
 * of it.
 */
void shm_image_succeed(struct caller *c);
void shm_image_make(struct caller *c);
/* This process detaches the segment; a child of it may still have it (shmunseen.c).
 * Slot's lock held. */
void shm_past_add(struct caller *c, struct shm_segment *seg);
static inline void shm_past(struct caller *c, struct shm_segment *seg)
{
	if (unlikely(seg->past[0] != image_own(c)))
		shm_past_add(c, seg);
}
/* Before a segment that nobody is known to have may be destroyed: count it for
 * such children. No lock but a dead task's may be held. */
void shm_count_unseen(struct caller *c, struct slot *s, u64 ident);
/* Before the records of a task are dropped whose process is gone or in another
 * image: count what its children have. Its lock is held. */
void shm_count_orphans(struct caller *c, struct task *t);

/* 1 if certainly no exited task is attached to it, else 0. Needs no lock: for a
 * copy that is validated afterwards (lock_peek_valid). */
int shm_none_suspect(struct caller *c, const struct shm_segment *seg);
/* After an attach: if nattch has grown much since exited tasks were last looked
 * for, look for them, so that their records do not pile up. */
#define SHM_TIDY_MIN 16u /* arbitrary */
void shm_tidy_slow(struct caller *c, struct slot *s, u64 ident);
static inline void shm_tidy(struct caller *c, struct slot *s, u64 ident)
{
	const struct shm_segment *seg = shm_body(c, s);

	if (unlikely(seg && atom_load_relaxed(&seg->nattch) >
				    atom_load_relaxed(&seg->tidy_at)))
		shm_tidy_slow(c, s, ident);
}
/* Before an attach or detach: reap exited tasks, so that times and pids change in
 * the right order; left out where very many have it, or many change at once. */
#define SHM_ORDER_MOST 64u /* arbitrary */
void shm_order_slow(struct caller *c, struct slot *s, u64 ident);
static inline void shm_order(struct caller *c, struct slot *s, u64 ident)
{
	const struct shm_segment *seg = shm_body(c, s);
	u32 n = seg ? atom_load_relaxed(&seg->nattch) : 0;

	if (n && n <= SHM_ORDER_MOST)
		shm_order_slow(c, s, ident);
}
/* The same for all that this process has attached in a range, SHM_ORDER_MOST at
 * most: how many. No lock held. */
u32 shm_order_range(struct caller *c, u64 addr, u64 len);
/* Where space is short: give back what every exited task has of the segments that
 * this process has attached. A system call or two for each task that has them.
 * No lock held. */
void shm_reap_own(struct caller *c);
/* Destroy the segment if nobody has it and it is pending destruction, or all
 * such are (shm_rmid_forced). */
void shm_destroy_unused(struct caller *c, struct slot *s, u64 ident);
/* Destroy those pending destruction that nobody has. (shm_sweep_empty in
 * object/reap.h does the same without looking for exited tasks.) */
void shm_sweep(struct caller *c);

#endif
