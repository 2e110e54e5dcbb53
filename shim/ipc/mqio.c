// SPDX-License-Identifier: MIT
/*
 * Sending and receiving (KERNEL-SEMANTICS §7.4-7.6).
 *
 * Each is one operation under the queue's lock. The bytes of a small message go
 * by way of the caller's stack, so that no user memory is touched under the
 * lock; a large one is copied into a block of the sending thread before, and
 * under the lock the block changes hands with the item's: no byte is copied
 * there whatever the size. The same blocks carry messages to and from sleepers.
 *
 * The commit point is the journal's; then the message is in (or out), the
 * partner's result is set, and the notification is due.
 */
#include "ipc/mqueue.h"
#include "registry/guard.h"
#include "registry/heap.h"

/* A new block has room for any power of two up to what it is needed for, so
 * that messages of many sizes do not make it grow each time. */
static u64 block_for(u64 need)
{
	u64 size = MQ_COPY_MAX;

	while (size < need)
		size *= 2;
	return heap_block_size(size);
}

/* Into *data a block of at least need bytes; *cap counts only while data is
 * set, and is stored first: a crash never leaves a block of unknown size. */
static int block_make(struct caller *c, struct ref *data, u64 *cap, u64 need)
{
	if (data->off)
		heap_free_at(c, *cap, data);
	atom_store_release(cap, block_for(need));
	return heap_alloc_at(c, *cap, data);
}

int mq_own_block(struct caller *c, u64 need)
{
	struct waiter *w = wait_own(c);

	if (likely(w->sops_ext.off && w->sops_ext_cap >= need))
		return 0;
	return block_make(c, &w->sops_ext, &w->sops_ext_cap, need);
}

/* Exchange an item's block with that of a waiter; part of the operation. */
static void swap_blocks(
	struct caller *c, struct prio_item *item, struct waiter *w)
{
	u64 off = item->data.off, cap = item->cap;

	journal_set64(c, &item->data.off, w->sops_ext.off);
	journal_set64(c, &item->cap, w->sops_ext_cap);
	journal_set64(c, &w->sops_ext.off, off);
	journal_set64(c, &w->sops_ext_cap, cap);
}

static inline char *bytes_at(const struct caller *c, struct ref data)
{
	return region_at(&c->region, data.off);
}

/* Copy len <= MQ_COPY_MAX bytes; both have room up to the next multiple of 8.
 */
static inline void copy_small(char *to, const char *from, u32 len)
{
	u32 i;

	for (i = 0; i < len; i += 8)
		__builtin_memcpy(to + i, from + i, 8);
}

/* Before an operation that inserts len bytes: a free item with room. */
static int item_room(struct caller *c, struct mqueue *q, u32 len)
{
	struct prio_item *item;
	int err = prioq_room(c, &q->msgs);

	if (err || len > MQ_COPY_MAX)
		return err;
	item = prioq_at(c, &q->msgs, q->msgs.free_item);
	if (likely(item->data.off && item->cap >= len))
		return 0;
	return block_make(c, &item->data, &item->cap, MQ_COPY_MAX);
}

/* Insert a message whose bytes are at small, or in w's block. */
static void insert(struct caller *c, struct mqueue *q, const struct mq_msg *m,
	struct waiter *w, int front)
{
	u32 idx = prioq_item_alloc(c, &q->msgs);
	struct prio_item *item = prioq_at(c, &q->msgs, idx);

	if (m->len > MQ_COPY_MAX)
		swap_blocks(c, item, w);
	else if (m->len)
		copy_small(bytes_at(c, item->data),
			m->small ? m->small : bytes_at(c, w->sops_ext), m->len);
	atom_store_release(&item->len, m->len);
	prioq_insert(c, &q->msgs, idx, m->prio, front);
}

/* Give the message to a sleeping receiver; part of the operation. */
static void hand_over(struct caller *c, struct mqueue *q, struct waiter *w,
	const struct mq_msg *m)
{
	struct waiter *own = wait_own(c);
	u64 off = w->sops_ext.off, cap = w->sops_ext_cap;

	if (m->len > MQ_COPY_MAX) {
		journal_set64(c, &w->sops_ext.off, own->sops_ext.off);
		journal_set64(c, &w->sops_ext_cap, own->sops_ext_cap);
		journal_set64(c, &own->sops_ext.off, off);
		journal_set64(c, &own->sops_ext_cap, cap);
	} else if (m->len) {
		copy_small(bytes_at(c, w->sops_ext),
			m->small ? m->small : bytes_at(c, own->sops_ext),
			m->len);
	}
	atom_store_release(&w->msg_prio, m->prio);
	mq_waiter_remove(c, &q->receivers, w, m->len);
	wait_grant(c, w);
}

int mq_try_send(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	const struct mq_msg *m)
{
	struct waiter *w =
		q->receivers.head ? mq_first_waiter(c, &q->receivers) : NULL;
	u32 n = prioq_count(&q->msgs);
	int err;

	if (unlikely(w)) {
		q->cpu = sys_cpu();
		hand_over(c, q, w, m);
		journal_commit(c);
		return 0;
	}
	if (unlikely(n >= q->maxmsg)) {
		if (q->polled)
			mq_fifo_settle(q, d->fd);
		return BLOCKED;
	}
	err = item_room(c, q, m->len);
	if (unlikely(err))
		return err;
	insert(c, q, m, wait_own(c), 0);
	if (n == 0 && unlikely(q->notify.state == MQ_NOTIFY_ARMED))
		mq_notify_fire(c, q);
	mq_ready(q, d->fd, n + 1);
	atom_store_release(&q->mtime, sys_realtime_coarse_ns());
	journal_commit(c);
	if (unlikely(q->notify.state == MQ_NOTIFY_FIRING))
		mq_notify_finish(c, q);
	return 0;
}

/* The sender that has waited longest puts its message in, now that there is
 * room; part of the operation. */
static void let_sender_in(struct caller *c, struct mqueue *q, struct waiter *w)
{
	struct mq_msg m = {
		.small = NULL, .len = w->msg_len, .prio = w->msg_prio};

	insert(c, q, &m, w, 0);
	mq_waiter_remove(c, &q->senders, w, 0);
	wait_grant(c, w);
}

int mq_try_receive(struct caller *c, const struct mq_desc *d, struct mqueue *q,
	struct mq_msg *ret, char *small)
{
	u32 n = prioq_count(&q->msgs), idx;
	struct prio_item *item;
	struct waiter *w = NULL;

	if (unlikely(n == 0)) {
		if (q->polled)
			mq_fifo_settle(q, d->fd);
		return BLOCKED;
	}
	if (unlikely(q->senders.head)) {
		w = mq_first_waiter(c, &q->senders);
		/* Without room it stays asleep, as if there were none. */
		if (w && item_room(c, q, w->msg_len))
			w = NULL;
	}
	idx = prioq_take(c, &q->msgs, &ret->prio);
	item = prioq_at(c, &q->msgs, idx);
	ret->len = item->len;
	ret->small = NULL;
	if (likely(ret->len <= MQ_COPY_MAX)) {
		if (ret->len)
			copy_small(small, bytes_at(c, item->data), ret->len);
		ret->small = small;
	} else {
		swap_blocks(c, item, wait_own(c));
	}
	if (unlikely(w)) {
		q->cpu = sys_cpu();
		let_sender_in(c, q, w);
	} else {
		mq_ready(q, d->fd, n - 1);
	}
	prioq_item_free(c, &q->msgs, idx);
	atom_store_release(&q->mtime, sys_realtime_coarse_ns());
	journal_commit(c);
	return 0;
}

void mq_put_back(struct caller *c, const struct mq_desc *d, u32 len, u32 prio)
{
	struct mq_msg m = {.small = NULL, .len = len, .prio = prio};
	struct mqueue *q = mq_body(c, d->s);
	struct waiter *w;

	if (!q || mq_lock(c, d))
		return;
	w = mq_first_waiter(c, &q->receivers);
	if (w) {
		hand_over(c, q, w, &m);
	} else if (!item_room(c, q, len)) {
		insert(c, q, &m, wait_own(c), 1);
		mq_ready(q, d->fd, prioq_count(&q->msgs));
	}
	journal_commit(c);
	lock_release(c, &d->s->lock);
}

/* ---- the calls ---- */

static inline void copy_in(char *to, const void *user, u64 len)
{
	const volatile char *from = user;

	if (likely(len == 64)) {
		__builtin_memcpy(to, user, 64);
		return;
	}
	if (len > 64) {
		__builtin_memcpy(to, user, len);
		return;
	}
	while (len--)
		*to++ = *from++;
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
		__builtin_memcpy(mq_own_bytes(c), user, m->len);
		err = mq_lock(c, d);
	}
	if (!err) {
		err = mq_try_send(c, d, mq_body(c, d->s), m);
		lock_release(c, &d->s->lock);
	}
	if (err == BLOCKED)
		err = mq_sleep_send(c, d, m, timeout);
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
	copy_in(small, user, len);
	m.small = small;
	err = mq_lock(c, d);
	if (unlikely(err))
		return err;
	err = mq_try_send(c, d, q, &m);
	lock_release(c, &d->s->lock);
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
	/* The message is ours, whatever comes: a bad pointer loses it. */
	if (unlikely(guard_target(c, m->user, m->len))) {
		m->ret = -EFAULT;
		return;
	}
	if (m->len)
		copy_in(m->user, m->small ? m->small : mq_own_bytes(c), m->len);
	if (!m->user_prio)
		return;
	if (unlikely(guard_target(c, m->user_prio, sizeof(*m->user_prio))))
		m->ret = -EFAULT;
	else
		__builtin_memcpy(m->user_prio, &m->prio, sizeof(m->prio));
}

long mqueue_receive(struct caller *c, const struct mq_desc *d, void *user,
	u64 len, u32 *user_prio, const struct sys_timespec *timeout)
{
	struct mqueue *q = mq_body(c, d->s);
	struct mq_msg m = {.user = user, .user_prio = user_prio};
	char small[MQ_COPY_MAX];
	int err;

	if (unlikely(!q))
		return -EBADF;
	if (unlikely(len < q->msgsize))
		return -EMSGSIZE;
	err = mq_enter(c);
	if (unlikely(err))
		return err;
	/* Until a large message is out of the own block, a handler must not
	 * make a call that uses it. */
	section_begin(c);
	err = mq_lock(c, d);
	if (likely(!err)) {
		err = mq_try_receive(c, d, q, &m, small);
		lock_release(c, &d->s->lock);
		if (unlikely(err == BLOCKED))
			err = mq_sleep_receive(c, d, &m, small, timeout);
	}
	if (unlikely(!err && !m.small && !m.delivered))
		mq_deliver(c, &m);
	section_end(c);
	if (unlikely(err))
		return err;
	if (likely(!m.delivered))
		mq_deliver(c, &m);
	return m.ret;
}
