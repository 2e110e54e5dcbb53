// SPDX-License-Identifier: MIT
/*
 * msgsnd (doc/kernel-semantics.md §5.2, §5.4).
 */
#include "base/usdt.h"
#include "msg/msg.h"
#include "msg/msgcall.h"
#include "object/controlfile.h"
#include "object/limits.h"
#include "object/reap.h"
#include "registry/guard.h"

/* ---- spinning before the sleep ---- */

static int poll_space(u64 count, u64 arg)
{
	return MSG_BYTES(count) <= arg;
}

static void await_space(struct caller *c, struct spin *spin,
	const struct msgqueue *q, u64 seen, u64 size)
{
	struct sleep_poll poll = {&q->count, seen, poll_space,
		size < q->qbytes ? q->qbytes - size : 0, 0};

	if (msg_thread(c)->sent_in_row >= STREAM_FROM) {
		poll.arg = q->qbytes / 8;
		poll.batch = 1;
	}
	sleep_spin(spin, &poll);
}

/* The receiver has begun to drain what we stream: wait until it has. No lock is
 * held. */
static __attribute__((noinline)) void await_turn(
	struct caller *c, const struct slot *s)
{
	const struct msgqueue *q = msg_body(c, s);
	const struct users *u = &q->users;
	u32 last = atom_load_relaxed(&s->lock.journal);

	if (!q || last == c->thread ||
		last != atom_load_relaxed(&u->thread[USER_RECEIVER]) ||
		atom_load_relaxed(&u->recent.cpu) ==
			atom_load_relaxed(&u->other.cpu))
		return;
	sleep_batch(&(struct sleep_poll){
		&q->count, 0, poll_space, q->qbytes / 8, 1});
}

/* ---- the sleep ---- */

static s32 sender_finish(struct caller *c, struct sleeper *sl, s32 result)
{
	(void)c, (void)sl;
	return result;
}

/* All senders that fit have been woken: there is no wake-up to pass on. */
static void sender_abandon(struct caller *c, struct sleeper *sl, s32 result)
{
	(void)sl, (void)result;
	msgmem_drop_big(c);
}

static const struct sleep_class sender_class = {
	.lock = msg_lock_any,
	.remove = msgcall_remove,
	.finish_removal = msg_finish_removal,
	.finish = sender_finish,
	.abandon = sender_abandon,
};

/* The queue is full; the lock is held and is released. */
static s32 send_wait(struct caller *c, struct slot *s, struct msgqueue *q,
	const struct parcel *p, int cancellable)
{
	struct sleeper sl = {&sender_class, s, .cancellable = cancellable};
	struct msg_wait wait = {.want = p->type, .max_size = p->size};
	s32 id = IDENT_ID(s->ident), result;

	/* The block must be untouched when we try again: see send_large. */
	sl.stay = p->where != MSG_IN_CELL;
	msgcall_enqueue(c, s, q, MSG_Q_SENDER, &wait, &sl);
	lock_release(c, &s->lock);
	if (sl.stay)
		section_end(c);
	USDT3(msg_wait, id, 1, p->type);
	result = sleep_run(c, &sl);
	USDT2(msg_granted, id, result);
	return result;
}

/* ---- on a queue that is biased to this thread (users.h) ---- */

/* No thread sleeps on a biased queue. What needs the heap or fails takes the
 * lock. */
static inline int biased_send(
	struct caller *c, struct slot *s, u64 ident, const struct parcel *p)
{
	struct msgqueue *q;
	int fits, err = NOT_BIASED;

	if (!users_bias_enter(c, s, ident))
		return NOT_BIASED;
	q = msg_body(c, s);
	fits = q && msg_fits(q, p->size) &&
	       msgmem_has_space(
		       q, p->where == MSG_IN_CELL ? p->size : MSG_INLINE + 1);
	if (likely(fits))
		err = msgqueue_put_biased(c, q, p);
	users_bias_leave(c);
	return err;
}

/* ---- the call ---- */

/* At each send, lock held. */
static inline void note_streaming(struct caller *c, struct msgqueue *q)
{
	u32 streaming = msg_thread(c)->sent_in_row >= STREAM_FROM;

	if (!streaming)
		msg_thread(c)->sent_in_row++;
	if (unlikely(q->users.streaming != streaming))
		atom_store_release(&q->users.streaming, streaming);
}

static int send_parcel(
	struct caller *c, s32 id, struct parcel *p, s32 flg, int cancellable)
{
	struct msgqueue *q;
	struct slot *s;
	struct spin spin = {0};
	u64 ident, seen;
	int err;

	s = ids_find(c, FAC_MSG, id, &ident);
	if (unlikely(!s))
		return -EINVAL;
	for (;;) {
		err = perm_check_of(c, s, ident, PERM_W);
		if (unlikely(err))
			return err;
		err = biased_send(c, s, ident, p);
		if (likely(err != NOT_BIASED))
			return err;
		if (unlikely(msg_thread(c)->sent_in_row >= STREAM_FROM))
			await_turn(c, s);
		err = msg_lock(c, s, ident);
		if (unlikely(err))
			return err;
		q = msg_body(c, s);
		users_note(c, s, &q->users, USER_SENDER);
		if (likely(msg_fits(q, p->size))) {
			spin_found(&spin);
			break;
		}
		if (flg & MSG_IPC_NOWAIT) {
			lock_release(c, &s->lock);
			return -EAGAIN;
		}
		if (users_elsewhere(c, &q->users) &&
			spin_begin(&spin, q->users.spin[0])) {
			seen = q->count;
			lock_release(c, &s->lock);
			await_space(c, &spin, q, seen, p->size);
			continue;
		}
		spin_note(&q->users.spin[0], spin.result);
		spin = (struct spin){0};
		err = send_wait(c, s, q, p, cancellable);
		if (err > SLEEP_ANEW)
			return err;
		if (atom_load_acquire(&s->ident) != ident)
			return err == SLEEP_ANEW ? -EINVAL : -EIDRM;
	}
	spin_note(&q->users.spin[0], spin.result);
	note_streaming(c, q);
	err = msgqueue_send(c, s, q, p, c->pid);
	msgcall_release(c, s, likely(s->ident == ident) ? q : NULL);
	return err;
}

static __attribute__((noinline)) int send_small(struct caller *c, s32 id,
	const char *user, struct parcel *p, s32 flg, int cancellable)
{
	char text[MSG_INLINE];

	copy_bytes(text, user, p->size);
	p->text = text;
	return send_parcel(c, id, p, flg, cancellable);
}

/* The thread's block is in use until the message is queued, so a handler, which
 * may send too, is deferred. A sleep suspends the section: a handler that runs
 * then has ended the call. */
static __attribute__((noinline)) int send_large(struct caller *c, s32 id,
	const char *user, struct parcel *p, s32 flg, int cancellable)
{
	char *text;
	int err;

	section_begin(c);
	err = msgmem_own_block(c, p->where, p->size);
	if (!err) {
		text = msgmem_block(c, msg_own_blocks(c), p->where, p->size);
		if (likely(text)) {
			copy_bytes(text, user, p->size);
			err = send_parcel(c, id, p, flg, cancellable);
		} else {
			err = -EIO;
		}
		if (p->where == MSG_IN_BIG)
			msgmem_drop_big(c);
	}
	section_end(c);
	return err;
}

/* Always -EINVAL. */
static int bad_size(struct caller *c, s32 id, u64 size)
{
	if ((s64)size < 0 || id < 0)
		return -EINVAL;
	return limit_hit(c, LIMIT_MSGMAX, (u64)caller_header(c)->limits.msgmax,
		size, -EINVAL);
}

int msg_send(struct caller *c, s32 id, const void *user, u64 size, s32 flg,
	int cancellable)
{
	const char *text = (const char *)user + TYPE_SIZE;
	struct parcel p = {.size = size};
	int err, tries = 0;

	if (unlikely(guard_source(c, user, TYPE_SIZE)))
		return -EFAULT;
	p.type = *(const user_type *)user;
	controlfile_drain(c);
	if (unlikely((s64)size < 0 ||
		     size > (u64)caller_header(c)->limits.msgmax || id < 0))
		return bad_size(c, id, size);
	if (unlikely(p.type < 1))
		return -EINVAL;
	if (unlikely(guard_source(c, text, size)))
		return -EFAULT;
	err = caller_enroll(c);
	if (!err)
		err = journal_reserve(c, MSG_ENTRIES);
	if (unlikely(err))
		return err;
	p.where = msgmem_where(size);
	do
		err = likely(p.where == MSG_IN_CELL)
			      ? send_small(c, id, text, &p, flg, cancellable)
			      : send_large(c, id, text, &p, flg, cancellable);
	while (unlikely(err == -ENOMEM) && !tries++ && msg_spare(c));
	return err;
}
