// SPDX-License-Identifier: MIT
/*
 * One queue's memory and order, for the files of the message module. The slot's
 * lock is held unless stated otherwise.
 */
#ifndef IPCLIFT_MSG_MSGQUEUE_H
#define IPCLIFT_MSG_MSGQUEUE_H

#include "base/copy.h"
#include "index/rbtree.h"
#include "object/users.h"
#include "object/object.h"
#include "registry/wait.h"

/* The largest payload in the message's own cell: 17 units of 64 bytes. */
#define MSG_INLINE (17u * 64u - (u32)sizeof(struct msg))
/* Journal capacity that one operation on a queue takes at most. */
#define MSG_ENTRIES (RBTREE_ENTRIES + 40u)

/* Where a payload is: a block of the thread, or (MSG_IN_CELL) not in one. */
enum {
	MSG_IN_TIER0, /* 2 KiB; also where small messages are handed over */
	MSG_IN_TIER1,
	MSG_IN_TIER2,
	MSG_IN_BIG,
	MSG_IN_CELL,
	MSG_IN_LEASE, /* handed over: in the receiver's record (msglease.h) */
};

/* msg_wait.mode: which messages, and whether longer ones are cut. */
enum {
	MSG_TAKE_ANY,
	MSG_TAKE_TYPE,
	MSG_TAKE_NOT_TYPE,
	MSG_TAKE_UP_TO,
	MSG_TAKE_COPY, /* want is a position */
	MSG_TAKE_CUT = 0x100,
};
#define MSG_TAKE_HOW(mode) ((mode)&0xff)

/* What this module keeps of a thread from call to call, in private memory. */
struct msg_thread {
	/* Cell and chunk that the last call used: prefetched when its queue is
	 * locked again. */
	const void *fetch[2];
	u32 sent_in_row; /* messages since one was received */
	u32 trim_left;	 /* msgmem_trim has left something to do */
};
_Static_assert(
	sizeof(struct msg_thread) <= sizeof(((struct caller *)0)->of_msg),
	"caller.of_msg");

static inline struct msg_thread *msg_thread(const struct caller *c)
{
	return (struct msg_thread *)(void *)c->of_msg;
}

/* msgqueue.pending */
#define MSG_PEND_SENDERS 1u
#define MSG_PEND_RECEIVERS 2u
/* Receivers that match the youngest message. No other message is sent before
 * all of them are woken: whoever takes the lock does that first. */
#define MSG_PEND_YOUNGEST 4u

/* waiter.kind; and of struct users */
enum {
	MSG_Q_SENDER = USER_SENDER,
	MSG_Q_RECEIVER = USER_RECEIVER,
};

/* A message on its way into the queue or out of it. */
struct parcel {
	s64 type;
	u64 size;
	u64 stamp; /* 0: not in the order yet */
	u32 where;
	char *text; /* of MSG_IN_CELL: private memory of the caller */
};

static inline struct msgqueue *msg_body(
	const struct caller *c, const struct slot *s)
{
	return ref_at(c, ref_relaxed(&s->body));
}
static inline struct msg *msg_at(const struct caller *c, u32 link)
{
	return rbtree_at(c, link);
}
/* The same of a link that cannot be 0 (damage.h: the sink, if it is). */
static inline struct msg *msg_must(const struct caller *c, u32 link)
{
	return link_must(c, link);
}
static inline struct msg_blocks *msg_own_blocks(const struct caller *c)
{
	return &region_thread(&c->region, c->thread)->blocks;
}

/* ---- msgmem.c ---- */

/* Which block a payload of this size takes. */
u32 msgmem_where(u64 size);
/* The block at `where` of a thread; NULL if it has none (or it is damaged). */
char *msgmem_block(
	const struct caller *c, struct msg_blocks *b, u32 where, u64 size);
/* Make sure that this thread has a block for this; no slot lock is held. 0 or
 * -ENOMEM. */
int msgmem_own_block(struct caller *c, u32 where, u64 size);
/* The reference to this thread's block is damaged: clear it. */
void msgmem_lose_block(struct caller *c, u32 where);
/* Give back a big block that is no longer needed. No slot lock is held. */
void msgmem_drop_big(struct caller *c);

/* A cell for a message of this size, as the first part of an operation: the
 * journal is empty when it is called. NULL: no memory. msgmem_has_space: 1 if
 * that needs no heap. */
struct msg *msgmem_take(struct caller *c, struct msgqueue *q, u64 size);
int msgmem_has_space(const struct msgqueue *q, u64 size);
/* Give a cell back, as part of an operation. */
void msgmem_give(struct caller *c, struct msgqueue *q, struct msg *m);
/* Exchange the payload of a message larger than MSG_INLINE with the thread's
 * own block, as the message leaves the queue (out) or enters it (in). Parts of
 * an operation. */
void msgmem_block_out(
	struct caller *c, struct msgqueue *q, struct msg *m, u32 where);
void msgmem_block_in(struct caller *c, struct msgqueue *q, struct msg *m);
/* After the commit of an operation that gave the cell m back: return memory
 * that is not needed. Operations of their own. Pages are not given back under
 * the queue's lock: if msg_thread.trim_left is set, this thread owns a block of
 * them; heap_settle follows without the lock, and then, locked again,
 * trim_rest, until it returns 0. */
void msgmem_trim(struct caller *c, struct msgqueue *q, struct msg *m);
int msgmem_trim_rest(struct caller *c, struct msgqueue *q);
/* 0 if it would find nothing to do after m, still in the queue, has left. */
int msgmem_trim_due(
	const struct caller *c, const struct msgqueue *q, const struct msg *m);
/* Of a removed queue: 1 if freeing its memory takes longer than a lock should
 * be held. */
int msgmem_much(const struct msgqueue *q);
/* Free all memory of a removed queue, or (some) as much as one hold should, 1
 * if there is more. If it is cut off by a death it can be run again. A large
 * block becomes this thread's: heap_settle follows. */
void msgmem_free_all(struct caller *c, struct msgqueue *q);
int msgmem_free_some(struct caller *c, struct msgqueue *q);
/* Free one piece of spare memory: warm blocks or, of an empty queue, a chunk. 1
 * if something was freed, and there may be more; heap_settle follows. */
int msgmem_spare_some(struct caller *c, struct msgqueue *q);
/* 1 if msgmem_spare_some would find anything. Without the lock a hint. */
int msgmem_has_spare(const struct msgqueue *q);

/* Free the block of a message that is in no queue. Operations of their own. 1
 * if a large one has become this thread's. */
int msgmem_free_block(struct caller *c, u64 size, struct msg_block *mb);

static inline struct msg_block *msg_block_of(struct msg *m)
{
	return (struct msg_block *)m->text;
}

/* ---- msg.c ---- */

/* Finish a removal that its dead owner began. No lock may be held. */
void msg_finish_removal(struct caller *c);

/* ---- msgqueue.c ---- */

/* Take the lock, whatever is in the slot, revoking its bias, and finish what a
 * dead owner left. msg_lock: only if the object still has this ident, else
 * -EIDRM. */
void msg_lock_any(struct caller *c, struct slot *s);
int msg_lock(struct caller *c, struct slot *s, u64 ident);
/* 1 if a message of so many bytes fits (§5.2): bytes and number within qbytes. */
static inline int msg_fits(const struct msgqueue *q, u64 size)
{
	return MSG_BYTES(q->count) + size <= q->qbytes &&
	       MSG_NUM(q->count) + 1 <= q->qbytes;
}
/* The message that a receiver takes, or NULL. */
struct msg *msgqueue_select(
	const struct caller *c, struct msgqueue *q, u32 mode, s64 want);

/*
 * Find the message at a position of the queue, for MSG_COPY, in several holds
 * of the lock, since it may be far behind; from the beginning again if another
 * thread had the lock in between. Begin with zeros. 1: at->m is found; 0:
 * continue in another hold; -ENOMSG. whole: in one hold.
 */
struct msg_seek {
	struct msg *m;
	u64 left;  /* steps to go */
	u64 count; /* lock.count of the last hold */
	u32 begun; /* how often */
};
int msgqueue_seek(const struct caller *c, const struct slot *s,
	struct msgqueue *q, u64 position, struct msg_seek *at, int whole);

/* Send: to the first waiting receiver that takes it, else into the queue. pid
 * 0: a message put back. 0, -ENOMEM or, as all here, -EIO (damage.h).
 * Operations of their own. If more than HOLD_LEAVES receivers have too small
 * buffers, others have the lock in between: as after msgqueue_wake, the queue
 * may be gone. */
int msgqueue_send(struct caller *c, struct slot *s, struct msgqueue *q,
	struct parcel *p, u32 pid);
/* Take m out for the caller; its payload ends in p. An operation of its own,
 * followed by waking senders: as after msgqueue_wake, the queue may be gone. */
int msgqueue_take(struct caller *c, struct slot *s, struct msgqueue *q,
	struct msg *m, struct parcel *p);
/* As msgqueue_take, but on lease: m is unlinked, and the record l refers to it
 * with its cell and block. p: as there, without the text of a large message,
 * which msglease_fetch copies. */
int msgqueue_take_leased(struct caller *c, struct slot *s, struct msgqueue *q,
	struct msg *m, struct parcel *p, struct lease *l);
/* m, which was on lease, goes back to the place that its stamp gives it: part
 * of an operation. */
void msgqueue_relink(struct caller *c, struct msgqueue *q, struct msg *m);
/* Sending and receiving by bias: an operation of its own, inside bias_enter, so
 * nobody sleeps on the queue. put: the caller has found space
 * (msgmem_has_space). take: the caller has made sure that no memory is to be
 * given back afterwards (msgmem_trim_due), which would need the lock. */
int msgqueue_put_biased(
	struct caller *c, struct msgqueue *q, const struct parcel *p);
int msgqueue_take_biased(
	struct caller *c, struct msgqueue *q, struct msg *m, struct parcel *p);

/* Queue this thread's waiter; an operation of its own. */
void msgqueue_enqueue(struct caller *c, struct slot *s, struct msgqueue *q,
	u32 kind, const struct msg_wait *wait);
/* Take any waiter out with a result: part of an operation. */
void msgqueue_dequeue(
	struct caller *c, struct msgqueue *q, struct waiter *w, s32 result);
/*
 * Before the commit of an operation that sets msgqueue.pending: if we die after
 * it, a sleeper is woken and does the rest. Also before a removal;
 * msgqueue_cancel_some ends it.
 *
 * Then msgqueue_wake wakes the sleepers that pending names, and clears it.
 * After HOLD_LEAVES sleepers others may have the lock (lock_pause): whoever
 * takes it finds pending and continues that (msg_lock_any) before anything
 * else, so a woken sleeper cannot queue again before all are woken. The queue
 * may be removed meanwhile, which slot.ident tells; the lock is held
 * nevertheless.
 */
void msgqueue_crash_guard(struct caller *c, struct msgqueue *q);
void msgqueue_wake(struct caller *c, struct slot *s);
/* Both: commit the operation with these bits in pending, and wake. */
void msgqueue_commit_and_wake(
	struct caller *c, struct slot *s, struct msgqueue *q, u32 pending);
/* End every sleeper with a result (RMID), or HOLD_LEAVES of them: then 1. */
int msgqueue_cancel_some(struct caller *c, struct msgqueue *q, s32 result);

#endif
