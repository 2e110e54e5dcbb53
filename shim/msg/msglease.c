// SPDX-License-Identifier: MIT
/*
 * Leases of System V queues (object/lease.h): the message stays in its cell,
 * out of the order of its queue, with its block if it has one. The receiver has
 * a copy.
 *
 * Keeps INV_LEASE, INV_MSG_CELL (inspect/check.h).
 */
#include "msg/msglease.h"
#include "registry/heap.h"

/* Bytes copied in one hold of the lock: some microseconds. Arbitrary. */
#define FETCH_SLICE 32768u

/* The record's message; the sink if the link is damaged. */
static struct msg *msg_of(const struct caller *c, const struct lease *l)
{
	return link_must(c, l->msg);
}

/* ---- the end of a lease ---- */

/* A block too large to be kept is freed first. From then on the message cannot
 * be put back. 1 if the block has become this thread's (heap_leave). */
static u32 drop_block(struct caller *c, struct lease *l, struct msg *m)
{
	struct msg_block *mb = msg_block_of(m);

	if (l->state == LEASE_HELD) {
		journal_set32(c, &l->state, LEASE_DONE);
		journal_commit(c);
	}
	if (!mb->ref.off)
		return 0;
	if (heap_leave(c, mb->cap, &mb->ref)) {
		journal_commit(c);
		return 1;
	}
	heap_free_at(c, mb->cap, &mb->ref);
	return 0;
}

/*
 * The message is acknowledged: free its memory. This thread's own record is
 * kept for the next lease. at: the reference to the record. A damaged record is
 * dropped, with what it refers to.
 */
static void end(struct caller *c, void *arg, struct ref *at)
{
	struct msgqueue *q = arg;
	struct lease *l = lease_at(c, *at);
	struct msg *m = msg_of(c, l);
	u32 where = msgmem_where(m->size), left = msg_thread(c)->trim_left;

	if (where == MSG_IN_BIG && !c->damaged)
		left |= drop_block(c, l, m);
	if (where != MSG_IN_BIG && where != MSG_IN_CELL)
		msgmem_block_out(c, q, m, where);
	msgmem_give(c, q, m);
	if (lease_is_own(c, l))
		journal_set32(c, &l->state, LEASE_READY);
	else
		lease_free(c, &q->leases, at);
	if (unlikely(c->damaged)) {
		damage_abort(c);
		lease_free(c, &q->leases, at);
		journal_commit(c);
		return;
	}
	journal_commit(c);
	msgmem_trim(c, q, m);
	msg_thread(c)->trim_left |= left;
}

/* The message goes back to its place in the queue; msgqueue_wake follows. 0 if
 * the record was damaged: as end. */
static int put_back(struct caller *c, void *arg, struct ref *at)
{
	struct msgqueue *q = arg;
	struct msg *m = msg_of(c, lease_at(c, *at));

	journal_set32(c, &q->pending, q->pending | MSG_PEND_RECEIVERS);
	/* Once for all messages put back before msgqueue_wake. */
	if (!c->crash_guard)
		msgqueue_crash_guard(c, q);
	msgqueue_relink(c, q, m);
	lease_free(c, &q->leases, at);
	if (unlikely(c->damaged)) {
		damage_abort(c);
		lease_free(c, &q->leases, at);
		journal_commit(c);
		return 0;
	}
	journal_commit(c);
	return 1;
}

static const struct lease_ends ends = {end, put_back};

static u32 walk(struct caller *c, struct msgqueue *q, lease_decide *decide,
	enum task_look look)
{
	return lease_walk(c, &q->leases, decide, look, &ends, q);
}

static int walk_and_wake(struct caller *c, struct slot *s, struct msgqueue *q,
	lease_decide *decide, enum task_look look)
{
	if (likely(!q->leases.used.off) || !walk(c, q, decide, look))
		return 0;
	msgqueue_wake(c, s);
	return 1;
}

int msglease_acknowledge(struct caller *c, struct slot *s, struct msgqueue *q)
{
	return !c->lease_batch &&
	       walk_and_wake(c, s, q, lease_own, TASK_LOOK_NOT);
}

int msglease_reclaim(struct caller *c, struct slot *s, struct msgqueue *q,
	enum task_look look)
{
	return walk_and_wake(c, s, q, lease_orphans, look);
}

/* ---- receiving ---- */

struct lease *msglease_ready(struct caller *c, struct msgqueue *q)
{
	return lease_ready(c, &q->leases, &q->leasing, 0);
}

/* The own record of the message with this stamp. */
static struct ref *find(struct caller *c, struct msgqueue *q, u64 stamp)
{
	struct ref *at = &q->leases.used;
	struct walk w = {0};
	struct lease *l;

	for (; (l = lease_step(c, &w, *at)); at = &l->next)
		if (l->state == LEASE_HELD && l->stamp == stamp &&
			lease_is_own(c, l))
			return at;
	return NULL;
}

int msglease_fetch(
	struct caller *c, struct slot *s, u64 ident, const struct parcel *p)
{
	char *to = msgmem_block(c, msg_own_blocks(c), p->where, p->size);
	u64 done = 0, n;
	const char *from;
	struct ref *at;
	int err = 0;

	for (; !err && done < p->size; done += n) {
		err = msg_lock(c, s, ident);
		if (err)
			return err;
		at = find(c, msg_body(c, s), p->stamp);
		from = at ? region_span(&c->region,
				    msg_block_of(msg_of(c, lease_at(c, *at)))
					    ->ref,
				    p->size)
			  : NULL;
		n = p->size - done < FETCH_SLICE ? p->size - done : FETCH_SLICE;
		if (likely(to && from))
			copy_bytes(to + done, from + done, n);
		else
			err = -EIO;
		if (unlikely(c->damaged))
			err = damage_abort(c);
		lock_release(c, &s->lock);
	}
	return err;
}

void msglease_give_back(struct caller *c, struct slot *s, u64 ident, u64 stamp)
{
	struct msgqueue *q;
	struct ref *at;

	if (msg_lock(c, s, ident))
		return;
	q = msg_body(c, s);
	at = find(c, q, stamp);
	if (at && put_back(c, q, at))
		msgqueue_wake(c, s);
	lock_release(c, &s->lock);
}

/* ---- from outside ---- */

/* End one queue's leases as `decide` says, at most LEASE_MOST put back per hold
 * of the lock; 0, or an error of msg_lock. */
static int settle(
	struct caller *c, struct slot *s, u64 ident, lease_decide *decide)
{
	u32 n_back;
	int err;

	do {
		section_begin(c);
		n_back = 0;
		err = msg_lock(c, s, ident);
		if (!err) {
			n_back = walk(c, msg_body(c, s), decide, TASK_LOOK_NOW);
			if (n_back)
				msgqueue_wake(c, s);
			lock_release(c, &s->lock);
			msglease_trim(c, s, ident);
		}
		section_end(c);
	} while (n_back == LEASE_MOST);
	return err;
}

static int settle_id(struct caller *c, s32 id, lease_decide *decide)
{
	struct slot *s;
	u64 ident;
	int err;

	s = ids_find(c, FAC_MSG, id, &ident);
	if (!s)
		return -EINVAL;
	err = caller_enroll(c);
	if (!err)
		err = journal_reserve(c, MSG_ENTRIES);
	return err ? err : settle(c, s, ident, decide);
}

int msg_acknowledge(struct caller *c, s32 id)
{
	return settle_id(c, id, lease_own);
}

int msg_give_back(struct caller *c, s32 id)
{
	return settle_id(c, id, lease_return);
}

static u32 each_queue(struct caller *c, lease_decide *decide)
{
	u32 idx = 0, n = 0;

	if (caller_enroll(c) || journal_reserve(c, MSG_ENTRIES))
		return 0;
	for (; (idx = ids_next(c, FAC_MSG, idx)) < IDX_MAX; idx++) {
		struct slot *s;
		struct msgqueue *q;
		u64 ident;

		s = ids_find_idx(c, FAC_MSG, (s32)idx, &ident);
		q = s ? msg_body(c, s) : NULL;
		if (q && atom_load_relaxed(&q->leases.used.off))
			n += !settle(c, s, ident, decide);
	}
	return n;
}

void msg_acknowledge_all(struct caller *c)
{
	each_queue(c, lease_ours);
}

void msg_leases_reclaim(struct caller *c)
{
	each_queue(c, lease_orphans);
}

int msg_set_leasing(struct caller *c, s32 id, int on)
{
	struct msgqueue *q;
	struct slot *s;
	u64 ident;
	int err = object_owned(c, FAC_MSG, id, &s, &ident);

	if (!err)
		err = caller_enroll(c);
	if (!err)
		err = journal_reserve(c, MSG_ENTRIES);
	/* msg_lock ends the bias; a queue with leases gets no new one. */
	if (!err)
		err = msg_lock(c, s, ident);
	if (err)
		return err;
	q = msg_body(c, s);
	journal_set32(c, &q->leasing,
		on ? q->leasing | LEASES_ON : q->leasing & ~LEASES_ON);
	/* Sleeping receivers have no record, or a superfluous one. */
	msgqueue_commit_and_wake(c, s, q, MSG_PEND_RECEIVERS);
	lock_release(c, &s->lock);
	return 0;
}

/* ---- the queue's end ---- */

static void drop(struct caller *c, struct lease *l)
{
	struct msg *m = l->state == LEASE_HELD || l->state == LEASE_DONE
				? msg_of(c, l)
				: NULL;

	if (m && !c->damaged && m->size > MSG_INLINE &&
		msg_block_of(m)->ref.off)
		msgmem_free_block(c, m->size, msg_block_of(m));
}

int msglease_dispose(struct caller *c, struct msgqueue *q)
{
	return lease_dispose(c, &q->leases, drop);
}
