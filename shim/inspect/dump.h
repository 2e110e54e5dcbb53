// SPDX-License-Identifier: MIT
/*
 * Copying the contents of objects out of the registry and back into it, for
 * save and restore. A dump shows its object at one moment, taken under its lock
 * in one pass. Undo records, sleepers and attachments belong to processes and
 * are not part of it.
 *
 * A load fills an object that was just created, and that no other process uses,
 * with a dump. Each load is one operation; permissions are not checked.
 */
#ifndef IPCLIFT_INSPECT_DUMP_H
#define IPCLIFT_INSPECT_DUMP_H

#include "mq/mqueue.h"
#include "msg/msg.h"
#include "sem/sem.h"
#include "shm/shm.h"

/* What every object of a slot has. */
struct dump_perm {
	u32 uid, gid, cuid, cgid, mode;
	u32 pad;
	s64 ctime;
};

struct dump_sem {
	u32 value, pid;
	s64 otime;
};

struct dump_msgqueue {
	u64 qbytes;
	s64 stime, rtime;
	u32 lspid, lrpid;
};

struct dump_segment {
	s64 atime, dtime;
	u32 cpid, lpid;
	u32 noreserve, pad;
};

struct dump_mqueue {
	s64 atime, mtime, ctime; /* ns */
	u32 ruid, pad;
};

/* In front of each message's bytes; padded to 8. */
struct dump_message {
	s64 type; /* of a POSIX queue the priority */
	u64 size; /* bytes */
};

/* An existing object: what distinguishes it from any other, and its index. */
struct dump_name {
	u64 ident;
	u32 idx;
	s32 key;
};

/* Where ids continue, for each facility. */
struct dump_ids {
	u32 seq, cursor;
	s32 last_idx, next_id;
};

/*
 * Errors of all: -EINVAL, -EIDRM or -EBADF if there is no such object, -ENOMEM
 * of enrolling. At most cap semaphores, or bytes of messages (each with its
 * head, oldest or next first), are stored in ret; the result is how much there
 * is: a caller with too little space calls again.
 */
int dump_perm(struct caller *c, enum facility f, s32 id, struct dump_perm *ret);
s64 dump_sems(struct caller *c, s32 id, struct dump_sem *ret, u64 cap);
s64 dump_messages(
	struct caller *c, s32 id, struct dump_msgqueue *ret, void *to, u64 cap);
int dump_segment(struct caller *c, s32 id, struct dump_segment *ret);
s64 dump_mq_messages(struct caller *c, const struct mq_desc *d,
	struct dump_mqueue *ret, void *to, u64 cap);
/*
 * All objects of a facility at one moment, and where its ids continue: at most
 * cap of them into ret; returns how many there are. No lock may be held; the
 * facility's is held only to read the ids and the next generation. Objects of
 * older generations are then listed without a lock; one that is removed before
 * the walk reaches it is not listed. In a copy of a registry (caller.detached)
 * the moment is the copy's. -ENOMEM of enrolling.
 *
 * An object that is in the list and exists later has existed all the time, so
 * the objects that still exist are a part of that moment: no key twice, and all
 * that were not removed meanwhile. (A set or queue so large that its memory is
 * prepared first takes its generation then: it may be listed although it was
 * created a little later.)
 */
s64 dump_list(struct caller *c, enum facility f, struct dump_name *ret, u64 cap,
	struct dump_ids *ret_ids);
/* 1 while the object exists. */
int dump_is_there(
	const struct caller *c, enum facility f, const struct dump_name *name);

/* The opposite, into an object that was just made (restore): 0, or the errors
 * above. sems: -EINVAL if the set has another size than n. */
int load_perm(
	struct caller *c, enum facility f, s32 id, const struct dump_perm *p);
int load_sems(struct caller *c, s32 id, const struct dump_sem *sems, u32 n);
int load_msgqueue(struct caller *c, s32 id, const struct dump_msgqueue *m);
int load_segment(struct caller *c, s32 id, const struct dump_segment *p);
/* While the queue is filled: how many messages fit, which may be more than
 * mq_maxmsg since leases may have been put back (MQ_SPARE_ITEMS). */
int load_mq_room(struct caller *c, const struct mq_desc *d, u32 maxmsg);
int load_mqueue(struct caller *c, const struct mq_desc *d,
	const struct dump_perm *p, const struct dump_mqueue *m);
/* The facility's lock is taken; cursors out of range are -EINVAL. */
int load_ids(struct caller *c, enum facility f, const struct dump_ids *ids);

static inline u64 dump_message_space(u64 size)
{
	return sizeof(struct dump_message) + ((size + 7) & ~7ULL);
}

#endif
