// SPDX-License-Identifier: MIT
/*
 * Sending and receiving (doc/kernel-semantics.md §7.4-7.6).
 *
 * Each is one operation under the queue's lock. The bytes of a small message go
 * by way of the caller's stack, so that no user memory is touched under the
 * lock; a large one is first copied into a block of the sending thread, which
 * under the lock is exchanged for the item's block: no byte is copied there,
 * whatever the size. The same blocks carry messages to and from sleepers.
 *
 * The commit point is the journal's: then the message is in (or out) and the
 * sleeping partner's result is set. The FIFO is made readier, and a notification
 * recorded, before that.
 *
 * Keeps INV_MQ_BLOCK (inspect/check.h).
 */
#include "base/copy.h"
#include "mq/mqlease.h"
#include "object/reap.h"
#include "registry/guard.h"
#include "registry/heap.h"

/* A new block has space for any power of two up to what it is needed for, so
 * that messages of many sizes do not make it grow each time. */
static u64 block_for(u64 need)
{
	u64 size = MQ_COPY_MAX;

	while (size < need)
		size *= 2;
	return heap_block_size(size);
}

/* Make *data a block of at least need bytes. *cap is meaningful only while data
 * is set, and is stored first: a crash never leaves a block of unknown size. */
static int block_make(struct caller *c, struct ref *data, u64 *cap, u64 need)
{
	u64 size = block_for(need);

	if (data->off)
		heap_free_at(c, *cap, data);
	atom_store_release(cap, size);
	return heap_alloc_at(c, size, data);
}

int mq_own_block(struct caller *c, u64 need)
{
	struct waiter *w = wait_own(c);
	int err;

	if (likely(w->ext.off && w->ext_cap >= need))
		return 0;
	err = block_make(c, &w->ext, &w->ext_cap, need);
	if (unlikely(err == -ENOMEM) && msg_spare(c))
		err = block_make(c, &w->ext, &w->ext_cap, need);
	return err;
}

/* Exchange an item's block with that of a waiter; part of the operation. */
static void swap_blocks(
	struct caller *c, struct prio_block *block, struct waiter *w)
{
	u64 off = block->data.off, cap = block->cap;

	journal_set64(c, &block->data.off, w->ext.off);
	journal_set64(c, &block->cap, w->ext_cap);
	journal_set64(c, &w->ext.off, off);
	journal_set64(c, &w->ext_cap, cap);
}

static inline char *bytes_at(const struct caller *c, struct ref data)
{
	return ref_must(c, data);
}

/* The bytes of an item: in the item itself (MQ_COPY_MAX at most), or its block. */
static inline char *place_bytes(const struct caller *c, const struct mqueue *q,
	const struct prio_place *at)
{
	if (likely(q->msgs.inline_data))
		return at->data;
	return bytes_at(c, ((struct prio_block *)(void *)at->data)->data);
}

/* 1 if a message can be inserted without the heap. */
static inline int has_space(
	const struct caller *c, const struct mqueue *q, u32 len, u32 prio)
{
	const struct prio_block *block;

	if (unlikely(!prioq_has_space(c, &q->msgs, prio)))
		return 0;
	/* A large message brings its block with it. */
	if (likely(q->msgs.inline_data) || !len || len > MQ_COPY_MAX)
		return 1;
	block = prioq_data(c, &q->msgs, prioq_next_free(&q->msgs));
	return block->data.off && block->cap >= len;
}

/* Before an operation that inserts len bytes: a free item with space. */
static int item_reserve(struct caller *c, struct mqueue *q, u32 len, u32 prio)
{
	struct prio_block *block;
	int err;

	if (likely(has_space(c, q, len, prio)))
		return 0;
	err = prioq_reserve(c, &q->msgs, prio);
	if (err || has_space(c, q, len, prio))
		return err;
	block = prioq_data(c, &q->msgs, prioq_next_free(&q->msgs));
	return block_make(c, &block->data, &block->cap, MQ_COPY_MAX);
}

/* Insert a message whose bytes are at small, or in w's block. */
static inline void insert(struct caller *c, struct mqueue *q,
	const struct mq_msg *m, struct waiter *w)
{
	u32 idx = prioq_item_alloc(c, &q->msgs);
	struct prio_place at = prioq_place(c, &q->msgs, idx);

	if (unlikely(m->len > MQ_COPY_MAX))
		swap_blocks(c, (struct prio_block *)(void *)at.data, w);
	else if (m->len)
		copy_bytes(place_bytes(c, q, &at),
			m->small ? m->small : bytes_at(c, w->ext), m->len);
	atom_store_release(&at.item->len, m->len);
	prioq_insert_len(c, &q->msgs, idx, m->len, m->prio, 0);
}

/* As hand_over's beginning, to one that leases what it gets: its record has the
 * block of a large message, and a copy of a small one. */
static __attribute__((noinline)) void hand_over_leased(struct caller *c,
	struct mqueue *q, struct waiter *w, const struct mq_msg *m)
{
	struct waiter *own = wait_own(c);
	struct lease *l = ref_must(c, w->lease_mq);
	struct prio_block was = {l->data, l->cap};
	struct mq_msg kept = *m;

	if (m->len > MQ_COPY_MAX) {
		kept.small = NULL;
		journal_set_ref(c, &l->data, own->ext);
		journal_set64(c, &l->cap, own->ext_cap);
		journal_set_ref(c, &own->ext, was.data);
		journal_set64(c, &own->ext_cap, was.cap);
	} else if (m->len) {
		if (!kept.small)
			kept.small = bytes_at(c, own->ext);
		copy_bytes(bytes_at(c, w->ext), kept.small, m->len);
	}
	mqlease_hold(c, q, l, &kept);
}

/* Give the message to a sleeping receiver; part of the operation. */
static void hand_over(struct caller *c, struct mqueue *q, struct waiter *w,
	const struct mq_msg *m)
{
	struct waiter *own = wait_own(c);
	u64 off = w->ext.off, cap = w->ext_cap;

	if (unlikely(w->lease_mq.off)) {
		hand_over_leased(c, q, w, m);
	} else if (m->len > MQ_COPY_MAX) {
		journal_set64(c, &w->ext.off, own->ext.off);
		journal_set64(c, &w->ext_cap, own->ext_cap);
		journal_set64(c, &own->ext.off, off);
		journal_set64(c, &own->ext_cap, cap);
	} else if (m->len) {
		copy_bytes(bytes_at(c, w->ext),
			m->small ? m->small : bytes_at(c, own->ext), m->len);
	}
	atom_store_release(&w->msg_prio, m->prio);
	mq_waiter_remove(c, &q->receivers, w, m->len);
	wait_grant(c, w);
}

/* What the next call under the lock will most likely need (mq_lock). */
static inline void fetch_next_time(
	struct caller *c, const struct mqueue *q, u32 idx)
{
	mq_thread(c)->fetch[0] = prioq_data(c, &q->msgs, idx);
	mq_thread(c)->fetch[1] = prioq_at(c, &q->msgs, idx);
	mq_thread(c)->fetch[2] = prioq_free_at(&q->msgs, q->msgs.n_free);
}

static inline void stamp(struct mqueue *q)
{
	s64 now = sys_realtime_coarse_ns();

	if (unlikely(q->mtime != now))
		atom_store_release(&q->mtime, now);
}

int mq_try_send(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	const struct mq_msg *m)
{
	struct waiter *w = q->receivers.head ? mqlease_next_waiter(c, q) : NULL;
	u32 n = prioq_count(&q->msgs);
	int err, tell = 0;

	if (unlikely(w)) {
		hand_over(c, q, w, m);
		journal_commit(c);
		return 0;
	}
	if (unlikely(n >= q->maxmsg)) {
		mq_settle(c, q, d);
		return BLOCKED;
	}
	err = item_reserve(c, q, m->len, m->prio);
	if (unlikely(err))
		return err;
	fetch_next_time(c, q, prioq_next_free(&q->msgs));
	insert(c, q, m, wait_own(c));
	if (unlikely(c->damaged))
		return damage_abort(c);
	mq_raise(c, q, d, n + 1);
	stamp(q);
	if (n == 0 && unlikely(q->notify.state == MQ_NOTIFY_ARMED))
		tell = mq_notify_fire(c, q);
	journal_commit(c);
	mq_settle(c, q, d);
	if (unlikely(tell))
		mq_notify_tell(c, q);
	return 0;
}

/* The queue is empty and yet a sender sleeps: there was no memory for its message
 * when there was space. Take the message from it directly. */
static void take_from_sender(struct caller *c, struct mqueue *q,
	struct waiter *w, struct mq_msg *ret, char *small)
{
	struct waiter *own = wait_own(c);
	struct prio_block was = {w->ext, w->ext_cap};

	ret->len = w->msg_len;
	ret->prio = w->msg_prio % MQ_N_PRIOS;
	ret->small = small;
	if (ret->len > MQ_COPY_MAX) {
		ret->small = NULL;
		journal_set_ref(c, &w->ext, own->ext);
		journal_set64(c, &w->ext_cap, own->ext_cap);
		journal_set_ref(c, &own->ext, was.data);
		journal_set64(c, &own->ext_cap, was.cap);
	} else if (ret->len) {
		copy_bytes(small, bytes_at(c, w->ext), ret->len);
	}
	mq_waiter_remove(c, &q->senders, w, 0);
	wait_grant(c, w);
}

/* The sender that has waited longest puts its message in, now that there is
 * space; part of the operation. */
static void let_sender_in(struct caller *c, struct mqueue *q, struct waiter *w)
{
	struct mq_msg m = {.small = NULL,
		.len = w->msg_len,
		.prio = w->msg_prio % MQ_N_PRIOS};

	insert(c, q, &m, w);
	mq_waiter_remove(c, &q->senders, w, 0);
	wait_grant(c, w);
}

/* Take the first message out; part of the operation. Its item is to be freed
 * once nothing else is taken. */
static inline u32 take_first(
	struct caller *c, struct mqueue *q, struct mq_msg *ret, char *small)
{
	struct prio_place at;
	u32 idx = prioq_take_place(c, &q->msgs, &ret->prio, &at);

	ret->len = at.item->len;
	ret->small = NULL;
	/* Neither the caller's buffer nor the block may be shorter. */
	if (unlikely(ret->len > ret->capacity || ret->len > MQ_HARD_MSGSIZE)) {
		damage_met(c);
		ret->len = 0;
	}
	if (likely(ret->len <= MQ_COPY_MAX)) {
		if (likely(ret->len))
			copy_bytes(small, place_bytes(c, q, &at), ret->len);
		ret->small = small;
	} else {
		swap_blocks(
			c, (struct prio_block *)(void *)at.data, wait_own(c));
	}
	return idx;
}

/* The same for a receiver with a lease: a large message's block goes to its
 * record. */
static __attribute__((noinline)) u32 take_leased(struct caller *c,
	struct mqueue *q, struct mq_msg *ret, char *small, struct lease *l)
{
	struct prio_place at;
	u32 idx = prioq_take_place(c, &q->msgs, &ret->prio, &at);
	struct prio_block *block = (struct prio_block *)(void *)at.data;
	struct prio_block was = {l->data, l->cap};

	ret->noted = lease_note(c, FAC_MQ, l);
	ret->len = at.item->len;
	ret->small = small;
	if (unlikely(ret->len > ret->capacity || ret->len > MQ_HARD_MSGSIZE)) {
		damage_met(c);
		ret->len = 0;
	}
	if (ret->len > MQ_COPY_MAX) {
		ret->small = NULL;
		ret->leased = region_off(&c->region, l);
		journal_set_ref(c, &l->data, block->data);
		journal_set64(c, &l->cap, block->cap);
		journal_set_ref(c, &block->data, was.data);
		journal_set64(c, &block->cap, was.cap);
	} else if (ret->len) {
		copy_bytes(small, place_bytes(c, q, &at), ret->len);
	}
	mqlease_hold(c, q, l, ret);
	return idx;
}

/* Before a receiver takes a message: acknowledge what it had, and put back what
 * exited ones had. 0 with *ret, the record for what it gets, or NULL; -ENOMEM. */
static __attribute__((noinline)) int lease_begin(struct caller *c,
	const struct mq_desc *d, struct mqueue *q, struct lease **ret)
{
	struct waiter *w;

	mqlease_begin(c, d, q);
	if (!mqlease_wanted(c, q))
		return 0;
	*ret = mqlease_ready(c, q);
	if (!*ret)
		return -ENOMEM;
	/* See take_from_sender: by way of the queue. */
	w = prioq_count(&q->msgs) ? NULL : mq_next_waiter(c, &q->senders);
	if (unlikely(w && w->msg_len <= q->msgsize &&
		     !item_reserve(
			     c, q, w->msg_len, w->msg_prio % MQ_N_PRIOS))) {
		let_sender_in(c, q, w);
		if (unlikely(c->damaged))
			return damage_abort(c);
		mq_raise(c, q, d, 1);
		journal_commit(c);
		mq_settle(c, q, d);
	}
	return 0;
}

int mq_try_receive(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	struct mq_msg *ret, char *small)
{
	struct lease *l = NULL;
	struct waiter *w = NULL;
	u32 n, idx;

	if (mqlease_concerns(c, q)) {
		int err = lease_begin(c, d, q, &l);

		if (err)
			return err;
	}
	n = prioq_count(&q->msgs);
	if (unlikely(q->senders.head))
		w = mq_next_waiter(c, &q->senders);
	if (unlikely(n == 0 && w && !l && w->msg_len <= q->msgsize)) {
		take_from_sender(c, q, w, ret, small);
		if (unlikely(c->damaged))
			return damage_abort(c);
		stamp(q);
		journal_commit(c);
		return 0;
	}
	if (unlikely(n == 0)) {
		mq_settle(c, q, d);
		return BLOCKED;
	}
	if (unlikely(w && w->msg_len > MQ_HARD_MSGSIZE))
		w = NULL;
	if (unlikely(w))
		item_reserve(c, q, w->msg_len, w->msg_prio % MQ_N_PRIOS);
	idx = unlikely(l != NULL) ? take_leased(c, q, ret, small, l)
				  : take_first(c, q, ret, small);
	if (mqlease_concerns(c, q))
		mqlease_taken(c, q, idx, l);
	/* Without memory the sender stays asleep until the next receive. Tested
	 * only now, for the message just taken may have left enough. */
	if (unlikely(w && (c->damaged || !has_space(c, q, w->msg_len,
						 w->msg_prio % MQ_N_PRIOS))))
		w = NULL;
	if (unlikely(w))
		let_sender_in(c, q, w);
	prioq_item_free(c, &q->msgs, idx);
	if (unlikely(c->damaged))
		return damage_abort(c);
	if (likely(!w))
		mq_raise(c, q, d, n - 1);
	fetch_next_time(c, q, idx);
	stamp(q);
	journal_commit(c);
	mq_settle(c, q, d);
	return 0;
}

/* ---- on a queue that is biased to us ---- */

#define NOT_BIASED 2

/* Nobody sleeps there. What needs the heap or a system call takes the lock. */
static inline int biased_send(struct caller *c, const struct mq_desc *d,
	struct mqueue *q, const struct mq_msg *m)
{
	int fits, err = 0;

	if (!users_bias_enter(c, d->s, d->ident))
		return NOT_BIASED;
	fits = prioq_count(&q->msgs) < q->maxmsg && !q->polled &&
	       q->notify.state == MQ_NOTIFY_NONE &&
	       has_space(c, q, m->len, m->prio);
	if (likely(fits)) {
		insert(c, q, m, wait_own(c));
		if (unlikely(c->damaged))
			err = damage_abort(c);
		stamp(q);
		journal_commit(c);
	}
	users_bias_leave(c);
	return likely(fits) ? err : NOT_BIASED;
}

static inline int biased_receive(struct caller *c, const struct mq_desc *d,
	struct mqueue *q, struct mq_msg *ret, char *small)
{
	int some, err = NOT_BIASED;

	if (!users_bias_enter(c, d->s, d->ident))
		return NOT_BIASED;
	some = prioq_count(&q->msgs) && !q->polled;
	if (likely(some)) {
		err = 0;
		prioq_item_free(c, &q->msgs, take_first(c, q, ret, small));
		if (unlikely(c->damaged))
			err = damage_abort(c);
		stamp(q);
		journal_commit(c);
	} else if (!q->polled) {
		/* As certain as under the lock. */
		err = BLOCKED;
	}
	users_bias_leave(c);
	return err;
}

/* Lock held and given back, after a try. */
static inline void release(
	struct caller *c, const struct mq_desc *d, struct mqueue *q)
{
	/* One with leases is never biased; one that is polled needs the lock in
	 * each call, which would end the bias again. */
	if (likely(!q->receivers.head && !q->senders.head &&
		    !mqlease_concerns(c, q) && !q->polled))
		users_bias_consider(c, d->s, &q->users);
	lock_release(c, &d->s->lock);
}

/* How often, and how long between, memory is asked for to put a message back.
 * Arbitrary: a full file system may have space again soon. */
#define BACK_TRIES 200
#define BACK_NS 10000000

/* From the own block to the front of the queue, or to a sleeper: 0, -ENOMEM. */
static int put_back(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	const struct mq_msg *m)
{
	struct waiter *w = mqlease_next_waiter(c, q);
	struct prio_place at;
	u32 idx;

	if (w) {
		hand_over(c, q, w, m);
		journal_commit(c);
		return 0;
	}
	if (prioq_reserve(c, &q->msgs, m->prio))
		return -ENOMEM;
	idx = prioq_item_alloc(c, &q->msgs);
	at = prioq_place(c, &q->msgs, idx);
	if (!q->msgs.inline_data)
		swap_blocks(
			c, (struct prio_block *)(void *)at.data, wait_own(c));
	else if (m->len)
		copy_bytes(at.data, mq_own_bytes(c), m->len);
	atom_store_release(&at.item->len, m->len);
	prioq_insert_len(c, &q->msgs, idx, m->len, m->prio, 1);
	if (unlikely(c->damaged))
		return damage_abort(c);
	mq_raise(c, q, d, prioq_count(&q->msgs));
	journal_commit(c);
	mq_settle(c, q, d);
	return 0;
}

void mq_put_back(struct caller *c, const struct mq_desc *d, u32 len, u32 prio)
{
	const struct sys_timespec nap = {0, BACK_NS};
	struct mq_msg m = {.small = NULL, .len = len, .prio = prio};
	struct mqueue *q = mq_body(c, d->s);
	int err, i;

	for (i = 0; q && !mq_lock(c, d); i++) {
		err = put_back(c, d, q, &m);
		/* Rather at another priority than not at all. */
		if (err == -ENOMEM && i == BACK_TRIES)
			m.prio = q->msgs.first;
		lock_release(c, &d->s->lock);
		if (err != -ENOMEM || i > BACK_TRIES)
			return;
		sys_call(__NR_nanosleep, &nap, NULL);
	}
}

/* ---- the calls ---- */

static inline int send_once(struct caller *c, const struct mq_desc *d,
	struct mqueue *q, const struct mq_msg *m)
{
	int err = biased_send(c, d, q, m);

	if (likely(err != NOT_BIASED))
		return err;
	err = mq_lock(c, d);
	if (unlikely(err))
		return err;
	users_note(c, d->s, &q->users, USER_SENDER);
	err = mq_try_send(c, d, q, m);
	release(c, d, q);
	mq_notify_end(c);
	return err;
}

/* The block is filled and handed on in one section: a handler that sends would
 * fill it too. */
static __attribute__((noinline)) int send_large(struct caller *c,
	const struct mq_desc *d, const void *user, struct mq_msg *m,
	const struct sys_timespec *timeout)
{
	int err;

	section_begin(c);
	err = mq_own_block(c, m->len);
	if (!err) {
		copy_bytes(mq_own_bytes(c), user, m->len);
		err = unlikely(c->damaged)
			      ? damage_abort(c)
			      : send_once(c, d, mq_body(c, d->s), m);
	}
	if (err == BLOCKED)
		err = mq_sleep_send(c, d, m, timeout);
	mq_own_trim(c, m->len);
	section_end(c);
	return err;
}

int mqueue_send(struct caller *c, const struct mq_desc *d, const void *user,
	u64 len, u32 prio, const struct sys_timespec *timeout)
{
	struct mqueue *q = mq_body(c, d->s);
	struct mq_msg m = {.len = (u32)len, .prio = prio};
	char small[MQ_COPY_MAX];
	int err;

	if (unlikely(!q))
		return -EBADF;
	if (unlikely(len > q->msgsize))
		return -EMSGSIZE;
	err = mq_enter(c);
	if (unlikely(err))
		return err;
	if (unlikely(guard_source(c, user, len)))
		return -EFAULT;
	if (unlikely(len > MQ_COPY_MAX))
		return send_large(c, d, user, &m, timeout);
	copy_bytes(small, user, len);
	m.small = small;
	err = send_once(c, d, q, &m);
	if (likely(err != BLOCKED))
		return err;
	section_begin(c);
	err = mq_sleep_send(c, d, &m, timeout);
	section_end(c);
	return err;
}

void mq_deliver(struct caller *c, struct mq_msg *m)
{
	m->delivered = 1;
	m->ret = m->len;
	/* The length comes from another process: check it. */
	if (unlikely(m->len > m->capacity || m->len > MQ_HARD_MSGSIZE)) {
		m->ret = -EIO;
		return;
	}
	/* The message has left the queue: a bad pointer loses it. */
	if (unlikely(guard_target(c, m->user, m->len))) {
		m->ret = -EFAULT;
		return;
	}
	if (m->len)
		copy_bytes(
			m->user, m->small ? m->small : mq_own_bytes(c), m->len);
	if (!m->user_prio)
		return;
	if (unlikely(guard_target(c, m->user_prio, sizeof(*m->user_prio))))
		m->ret = -EFAULT;
	else
		__builtin_memcpy(m->user_prio, &m->prio, sizeof(m->prio));
}

static inline int receive_once(struct caller *c, const struct mq_desc *d,
	struct mqueue *q, struct mq_msg *m, char *small)
{
	int err = biased_receive(c, d, q, m, small);

	if (likely(err != NOT_BIASED))
		return err;
	if (mqlease_concerns(c, q))
		task_check_lifeline(c);
	err = mq_lock(c, d);
	if (unlikely(err))
		return err;
	users_note(c, d->s, &q->users, USER_RECEIVER);
	err = mq_try_receive(c, d, q, m, small);
	release(c, d, q);
	if (mqlease_concerns(c, q))
		mqlease_settle(c);
	return err;
}

/* The queue is empty and its sender runs on another CPU: to take the lock only to
 * find it empty would hold the sender up. */
static inline int must_wait(const struct caller *c, const struct mqueue *q)
{
	const struct users *u = &q->users;

	return !PRIOQ_N(atom_load_relaxed(&q->msgs.count)) &&
	       atom_load_relaxed(&u->thread[USER_RECEIVER]) == c->thread &&
	       users_elsewhere(c, u);
}

static long receive(struct caller *c, const struct mq_desc *d, void *user,
	u64 len, u32 *user_prio, const struct sys_timespec *timeout)
{
	struct mqueue *q = mq_body(c, d->s);
	struct mq_msg m = {
		.user = user, .capacity = len, .user_prio = user_prio};
	char small[MQ_COPY_MAX];
	int err, looked;

	if (unlikely(!q))
		return -EBADF;
	if (unlikely(len < q->msgsize))
		return -EMSGSIZE;
	err = mq_enter(c);
	if (unlikely(err))
		return err;
	/* Until a large message is out of this thread's block, no handler may
	 * run that makes a call which uses the block. */
	section_begin(c);
	err = BLOCKED;
	looked = !must_wait(c, q);
	if (likely(looked))
		err = receive_once(c, d, q, &m, small);
	if (unlikely(err == BLOCKED))
		err = mq_sleep_receive(c, d, &m, small, looked, timeout);
	if (unlikely(!err && m.leased && !m.delivered))
		err = mqlease_fetch(c, d, m.leased, m.len);
	if (unlikely(!err && !m.small)) {
		if (!m.delivered)
			mq_deliver(c, &m);
		mq_own_trim(c, m.len);
	}
	section_end(c);
	if (likely(!err && !m.delivered))
		mq_deliver(c, &m);
	if (unlikely(m.noted))
		lease_note_end(c, FAC_MQ, m.noted);
	return unlikely(err) ? err : m.ret;
}

long mqueue_receive(struct caller *c, const struct mq_desc *d, void *user,
	u64 len, u32 *user_prio, const struct sys_timespec *timeout)
{
	int tries = 0;
	long ret;

	/* Only a lease needs memory. */
	do
		ret = receive(c, d, user, len, user_prio, timeout);
	while (unlikely(ret == -ENOMEM) && !tries++ && msg_spare(c));
	return ret;
}
