// SPDX-License-Identifier: MIT
/*
 * What sets, queues and segments have in common: finding or creating by key,
 * and removal (doc/kernel-semantics.md §1.2, §2). What differs is in each
 * facility's struct object_class.
 *
 * Creation is one operation under the facility's lock; its commit point is the
 * store of slot.ident. Removal has three steps, and header.removing lets the
 * next owner of the facility's lock finish them if a thread dies in between:
 *   1 key and ident are cleared (commit: the object is not found any more)
 *   2 the class's `empty` ends sleepers and drops what the object refers to
 *   3 body and idx are freed
 */
#ifndef IPCLIFT_OBJECT_OBJECT_H
#define IPCLIFT_OBJECT_OBJECT_H

#include "index/ids.h"
#include "registry/lock.h"

#define OBJ_CREAT 01000
#define OBJ_EXCL 02000

/* What IPC_STAT and IPC_SET have of every object. A facility's struct has it as
 * fields of its own and as one struct. */
#define OBJECT_STAT_FIELDS \
	s64 ctime;         \
	s32 key, id;       \
	u32 uid, gid, cuid, cgid, mode, seq
struct object_stat {
	OBJECT_STAT_FIELDS;
};
#define OBJECT_STAT                         \
	union {                             \
		struct object_stat object;  \
		struct {                    \
			OBJECT_STAT_FIELDS; \
		};                          \
	}

/* Copy them; ident is what the slot's was. Locked, or of one moment by
 * lock_peek_valid. */
void object_stat(const struct caller *c, const struct slot *s, u64 ident,
	struct object_stat *ret);
/* How a call that reads an object selects it, and which rights it needs. */
enum object_by {
	OBJECT_BY_ID,	   /* IPC_STAT: an id; read permission */
	OBJECT_BY_IDX,	   /* SEM_STAT ...: an index; the same */
	OBJECT_BY_IDX_ANY, /* SEM_STAT_ANY ...: an index; nothing */
};
/* Find the object of an id and check that the caller has the rights `want`
 * (PERM_*), or may change and remove it: 0 with its slot and ident; -EINVAL,
 * -EIDRM, and -EACCES or -EPERM. No lock, no enrolment: it may be removed at
 * any time. */
int object_allowed(struct caller *c, enum facility f, s32 id, u32 want,
	struct slot **ret, u64 *ret_ident);
int object_owned(struct caller *c, enum facility f, s32 id, struct slot **ret,
	u64 *ret_ident);
/* What IPC_STAT needs of a facility. */
struct object_stat_class {
	enum facility facility;
	/* The object to *ret, which begins with a struct object_stat; without
	 * the lock, unless `locked`: 1; 0 if it must be read again; -EBUSY if
	 * the lock must be taken, for an exited task has left something to
	 * do. */
	int (*fill)(struct caller *c, const struct slot *s, u64 ident,
		int locked, void *ret);
	/* Take the lock and do that: 0, -EIDRM, -EINVAL. */
	int (*lock)(struct caller *c, struct slot *s, u64 ident);
};
/* IPC_STAT and the like: 0, or the id if selected by index; -EINVAL, -EACCES,
 * -EIDRM. */
int object_stat_by(struct caller *c, const struct object_stat_class *k, s32 id,
	enum object_by by, struct object_stat *ret);
/* IPC_SET's part of these fields, journaled; slot lock held. */
void object_set_locked(
	struct caller *c, struct slot *s, u32 uid, u32 gid, u32 mode);

struct object_class {
	enum facility facility;
	/* Size check of an object that exists: 0 or -EINVAL. May be NULL. */
	int (*check)(struct caller *c, const struct slot *s, u64 size);
	/* Limits before creation: 0, -EINVAL, -ENOSPC. */
	int (*admit)(struct caller *c, u64 size);
	/* Objects allowed at most, and which limit that is. */
	s32 (*max_objects)(struct caller *c);
	u32 max_limit;
	/* Bytes of the body for this size; and its contents, written to memory
	 * that is not reachable yet (no journal). */
	u64 (*body_size)(u64 size);
	/* 1: a body of up to BODY_SIZE bytes has a fixed place for each idx, so
	 * it is not allocated, and it can be prefetched together with the slot
	 * (layout.h SLOTS). One facility has that. */
	int has_bodies;
	void (*init)(struct caller *c, struct slot *s, u64 gen, u64 size);
	/* For bodies so large that writing them takes long (HEAP_LARGE). Early:
	 * does init's work before the facility's lock is taken. Scrub: after
	 * removal, without a lock, makes operations fail that other threads are
	 * still about to do on the body without one. May be NULL. */
	void (*init_early)(void *body, u64 gen, u64 size);
	void (*scrub)(void *body, u64 bytes);
	/* Added to the facility's total (semaphores, pages). */
	u64 (*weight)(u64 size);
	/* Step 2 of removal; slot lock held. May be run twice. 1: HOLD_LEAVES
	 * sleepers were cancelled, others are left; call it again after
	 * lock_pause. */
	int (*empty)(struct caller *c, struct slot *s);
	/* In step 3, part of the operation: 1 if the body is not to be freed,
	 * but is now in a list of the facility, whose `settle` empties and
	 * frees it. May be NULL. */
	int (*keep)(struct caller *c, struct slot *s);
	/* What removals have left to be done without a lock; called after the
	 * facility's was released. May be NULL. */
	void (*settle)(struct caller *c);
	/* Take and free the slot's lock, with the class's own repair. */
	void (*lock)(struct caller *c, struct slot *s);
	/* Before a removal is committed, slot lock held: make our death wake a
	 * sleeper, which then finishes the removal. `empty` ends it
	 * (wait_crash_guard_end). May be NULL. */
	void (*crash_guard)(struct caller *c, struct slot *s);
};

/* semget(2), msgget(2), shmget(2): the id, or -ENOENT -EEXIST -EINVAL -EACCES
 * -ENOSPC -ENOMEM. size: semaphores or bytes. flg: OBJ_CREAT, OBJ_EXCL, the mode.
 * No lock may be held. */
int object_get(struct caller *c, const struct object_class *k, s32 key,
	u64 size, s32 flg);

/* IPC_RMID: 0, -EINVAL, -EPERM, -ENOMEM. No lock may be held. */
int object_remove(struct caller *c, const struct object_class *k, s32 id);

/*
 * The steps of removal for a facility whose rules of removal differ. Retire:
 * step 1; the facility's lock is held, the slot's may be. Finish: steps 2 and
 * 3; the slot's must not be held.
 */
void object_retire_locked(
	struct caller *c, const struct object_class *k, struct slot *s);
void object_finish_locked(
	struct caller *c, const struct object_class *k, struct slot *s);

/* Take the facility's lock and finish what a dead owner left. */
void object_fac_lock(struct caller *c, const struct object_class *k);
void object_fac_unlock(struct caller *c, const struct object_class *k);

#endif
