// SPDX-License-Identifier: MIT
/*
 * What objects hold, out of the registry and back into it: for save and
 * restore. A dump is one moment of its object, taken under its lock in one
 * pass. Undo records, sleepers and attachments belong to processes and are not
 * part of it.
 *
 * A load makes an object that was just made, and that nobody else uses, what it
 * was when it was dumped. Each load is one operation; no permission is asked.
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

/* An object that there is: what tells it from any other, and its index. */
struct dump_name {
	u64 ident;
	u32 idx;
	s32 key;
};

/* How ids go on, of each facility. */
struct dump_ids {
	u32 seq, cursor;
	s32 last_idx, next_id;
};

/*
 * Errors of all: -EINVAL, -EIDRM or -EBADF if there is no such object, -ENOMEM
 * of enrolling. At most cap semaphores, or bytes of messages (each with its
 * head, oldest or next first), into ret; how much there is: a caller with too
 * little space asks again.
 */
int dump_perm(struct caller *c, enum facility f, s32 id, struct dump_perm *ret);
s64 dump_sems(struct caller *c, s32 id, struct dump_sem *ret, u64 cap);
s64 dump_messages(
	struct caller *c, s32 id, struct dump_msgqueue *ret, void *to, u64 cap);
int dump_segment(struct caller *c, s32 id, struct dump_segment *ret);
s64 dump_mq_messages(struct caller *c, const struct mq_desc *d,
	struct dump_mqueue *ret, void *to, u64 cap);
/*
 * All objects of a facility at one moment, and how its ids go on: at most cap
 * of them into ret; how many there are. No lock may be held; the facility's is
 * only while the ids are read and which generation is the next, and those of an
 * older one are listed then, without a lock: an object removed before the walk
 * comes to it is not. Of a registry that is a copy (caller.detached) the moment
 * is the copy's. -ENOMEM of enrolling.
 *
 * An object that stands in the list and is there later was there all the time
 * between, so what is taken of those that still are is a part of that moment:
 * no key twice, and everything that was not removed meanwhile. (A set or queue
 * so large that its memory is made ready first takes its generation then: it
 * may be listed although it came a little later.)
 */
s64 dump_list(struct caller *c, enum facility f, struct dump_name *ret, u64 cap,
	struct dump_ids *ret_ids);
/* 1 while it is there. */
int dump_is_there(
	const struct caller *c, enum facility f, const struct dump_name *name);

/* The opposite, into an object that was just made (restore): 0, or the errors
 * above. sems: -EINVAL if the set has another size than n. */
int load_perm(
	struct caller *c, enum facility f, s32 id, const struct dump_perm *p);
int load_sems(struct caller *c, s32 id, const struct dump_sem *sems, u32 n);
int load_msgqueue(struct caller *c, s32 id, const struct dump_msgqueue *m);
int load_segment(struct caller *c, s32 id, const struct dump_segment *p);
/* For the time of filling: how many messages go into the queue, which may be
 * more than it was made for by what came back from leases (MQ_SPARE_ITEMS). */
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
