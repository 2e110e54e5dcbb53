// SPDX-License-Identifier: MIT
/*
 * msgrcv (doc/kernel-semantics.md §5.3, §5.4). From the choice of a message
 * until it is in the caller's buffer no signal handler runs, as in the kernel.
 */
#include "base/usdt.h"
#include "msg/msg.h"
#include "msg/msgcall.h"
#include "object/reap.h"
#include "registry/guard.h"
#include "registry/heap.h"

/* Most bytes copied in one hold of a lock. */
#define COPY_SLICE 4096u
/* Times that MSG_COPY starts over before it copies in one hold. Arbitrary. */
#define COPY_TRIES 100
/* Tries to get memory for a message that a cancelled thread puts back: a full
 * file system may soon have space again. Arbitrary. */
#define BACK_TRIES 200
#define BACK_NS 10000000

/* ---- spinning before the sleep ---- */

static int poll_any(u64 count, u64 arg)
{
	(void)count, (void)arg;
	return 1;
}

static int poll_filled(u64 count, u64 arg)
{
	return MSG_BYTES(count) >= arg;
}

static void await_message(struct spin *spin, const struct msgqueue *q, u64 seen)
{
	struct sleep_poll poll = {&q->count, seen, poll_any, 0, 0};

	if (atom_load_relaxed(&q->users.streaming)) {
		poll.enough = poll_filled;
		poll.arg = q->qbytes / 8 * 7;
		poll.batch = 1;
	}
	sleep_spin(spin, &poll);
}

/* ---- the sleep ---- */

struct request {
	char *user;
	u64 size; /* space for text */
	s64 want;
	u32 mode;
	s32 flg;
	int cancellable;
};

struct receiver {
	struct sleeper sl; /* first */
	const struct request *r;
};

static char *payload(struct caller *c, const struct parcel *p)
{
	if (p->where == MSG_IN_CELL)
		return p->text;
	return msgmem_block(c, msg_own_blocks(c), p->where, p->size);
}

/* Copy to the caller's buffer: the length or -EFAULT (the message is lost). No
 * lock is held. */
static s64 copy_out(
	struct caller *c, const struct request *r, const struct parcel *p)
{
	u64 n = p->size < r->size ? p->size : r->size;
	const char *text = payload(c, p);
	s64 ret = n;

	if (unlikely(guard_target(c, r->user, TYPE_SIZE + n) || !text)) {
		ret = -EFAULT;
	} else {
		*(user_type *)r->user = p->type;
		copy_bytes(r->user + TYPE_SIZE, text, n);
	}
	if (p->where == MSG_IN_BIG)
		msgmem_drop_big(c);
	return ret;
}

static void parcel_of_waiter(struct caller *c, struct parcel *p)
{
	const struct msg_wait *got = &wait_own(c)->msg;

	*p = (struct parcel){
		got->type, got->size, got->stamp, got->where, NULL};
}

/* Copy a large message that was handed over on lease into this thread's block:
 * 0, or -errno. Without memory the message goes back. */
static s32 fetch_handed(struct caller *c, struct slot *s, struct parcel *p)
{
	u64 ident = wait_own(c)->ident;
	s32 err;

	p->where = msgmem_where(p->size);
	if (unlikely(!size_believed(c, p->size)))
		return -EIO;
	err = msgmem_own_block(c, p->where, p->size);
	if (err == -ENOMEM) {
		msglease_give_back(c, s, ident, p->stamp);
		return err;
	}
	return msglease_fetch(c, s, ident, p);
}

static s32 receiver_finish(struct caller *c, struct sleeper *sl, s32 result)
{
	struct receiver *rv = (struct receiver *)sl;
	struct parcel p;

	if (result < 0)
		return result;
	parcel_of_waiter(c, &p);
	c->lease_stamp = p.stamp;
	if (unlikely(p.where == MSG_IN_LEASE)) {
		result = fetch_handed(c, sl->slot, &p);
		if (result)
			return result;
	}
	return copy_out(c, rv->r, &p);
}

/* A message handed over meanwhile goes to another receiver or into the
 * queue. */
static void receiver_abandon(struct caller *c, struct sleeper *sl, s32 result)
{
	const struct sys_timespec nap = {0, BACK_NS};
	u64 ident = wait_own(c)->ident;
	struct parcel p;
	int err = -ENOMEM, i;

	if (result < 0)
		return;
	parcel_of_waiter(c, &p);
	if (unlikely(wait_own(c)->msg.lease.off)) {
		msglease_give_back(c, sl->slot, ident, p.stamp);
		return;
	}
	p.text = payload(c, &p);
	if (p.size <= MSG_INLINE)
		p.where = MSG_IN_CELL;
	for (i = 0; p.text && err == -ENOMEM && i < BACK_TRIES; i++) {
		if (i)
			sys_call(__NR_nanosleep, &nap, NULL);
		if (msg_lock(c, sl->slot, ident))
			break;
		err = msgqueue_send(c, sl->slot, msg_body(c, sl->slot), &p, 0);
		lock_release(c, &sl->slot->lock);
	}
	msgmem_drop_big(c);
}

/* The slice is over. In a queue with leases: has a process exited with one? */
static void receiver_recheck(struct caller *c, struct sleeper *sl)
{
	struct waiter *w = wait_own(c);
	struct slot *s = sl->slot;
	struct msgqueue *q = msg_body(c, s);

	if (!q || !atom_load_relaxed(&q->leasing))
		return;
	task_check_lifeline(c);
	if (msg_lock(c, s, w->ident))
		return;
	msglease_reclaim(c, s, msg_body(c, s), TASK_LOOK);
	lock_release(c, &s->lock);
}

const struct sleep_class msg_receiver_class = {
	.lock = msg_lock_any,
	.remove = msgcall_remove,
	.recheck = receiver_recheck,
	.finish_removal = msg_finish_removal,
	.finish = receiver_finish,
	.abandon = receiver_abandon,
};

/* A block for what a sender may hand over, small or big. */
static int prepare_sleep(struct caller *c)
{
	int err;

	msgmem_drop_big(c);
	err = msgmem_own_block(c, MSG_IN_TIER0, 0);
	if (unlikely(err == -ENOMEM) && msg_spare(c))
		err = msgmem_own_block(c, MSG_IN_TIER0, 0);
	return err;
}

/* There is no message; the lock is held and is released. */
static s64 receive_wait(struct caller *c, struct slot *s, struct msgqueue *q,
	const struct request *r, const struct lease *l)
{
	struct receiver rv = {
		.sl = {&msg_receiver_class, s, .cancellable = r->cancellable},
		.r = r,
	};
	struct msg_wait wait = {
		.want = r->want, .max_size = r->size, .mode = r->mode};
	s32 id = IDENT_ID(s->ident), result;
	u32 note = lease_keep(c) + 1;

	wait.lease.off = l ? region_off(&c->region, l) : 0;
	msgcall_enqueue(c, s, q, MSG_Q_RECEIVER, &wait, &rv.sl);
	lock_release(c, &s->lock);
	/* A handler may run from here on (struct tries: slept). */
	section_end(c);
	USDT3(msg_wait, id, 0, r->want);
	result = sleep_run(c, &rv.sl);
	USDT2(msg_granted, id, result);
	/* The lease is delivered (object/lease.h). */
	lease_note_end(c, FAC_MSG, note);
	return result;
}

#define AGAIN 1

/* State from one try to the next. */
struct tries {
	int slept;  /* the section has ended */
	int linked; /* the lifeline is, if it can be: only once */
	u32 noted;  /* lease_note */
	struct spin spin;
};

/* Receive from a queue that is biased to this thread: 0 if p has the message,
 * -EIO, NOT_BIASED. */
static inline int biased_receive(struct caller *c, struct slot *s, u64 ident,
	const struct request *r, struct parcel *p)
{
	struct msgqueue *q;
	struct msg *m;
	int can, err = NOT_BIASED;

	if (!users_bias_enter(c, s, ident))
		return NOT_BIASED;
	q = msg_body(c, s);
	m = q ? msgqueue_select(c, q, r->mode, r->want) : NULL;
	can = m && (m->size <= r->size || (r->mode & MSG_TAKE_CUT)) &&
	      (m->size <= MSG_INLINE || !msg_own_blocks(c)->big.off) &&
	      !msgmem_trim_due(c, q, m);
	if (likely(can))
		err = msgqueue_take_biased(c, q, m, p);
	users_bias_leave(c);
	return err;
}

/* The queue is empty and its sender runs on another CPU: spin before taking the
 * lock, which would take its cache line from the sender. */
static inline void spin_first(struct caller *c, const struct slot *s,
	const struct request *r, struct tries *t)
{
	struct msgqueue *q = msg_body(c, s);
	u16 hint;
	u64 seen;

	if (unlikely(!q) || t->spin.spinning || (r->flg & MSG_IPC_NOWAIT) ||
		q->users.thread[USER_RECEIVER] != c->thread)
		return;
	hint = atom_load_relaxed(users_spin(&q->users, r->want));
	seen = atom_load_relaxed(&q->count);
	if (MSG_NUM(seen) || !users_elsewhere(c, &q->users) ||
		!spin_begin(&t->spin, hint))
		return;
	await_message(&t->spin, q, seen);
}

/* Free chunks of an empty queue, one per hold; their pages without the lock. */
__attribute__((noinline)) void msglease_trim(
	struct caller *c, struct slot *s, u64 ident)
{
	struct msgqueue *q;

	while (msg_thread(c)->trim_left) {
		heap_settle_bare(c);
		msg_thread(c)->trim_left = 0;
		if (msg_lock(c, s, ident))
			return;
		q = msg_body(c, s);
		msg_thread(c)->trim_left = q && msgmem_trim_rest(c, q);
		lock_release(c, &s->lock);
	}
}

/* m satisfies the request; the lock is held and is released. */
static inline s64 receive_found(struct caller *c, struct slot *s, u64 ident,
	struct msgqueue *q, const struct request *r, struct msg *m,
	struct parcel *p)
{
	s64 ret;

	if (unlikely(m->size > r->size && !(r->mode & MSG_TAKE_CUT))) {
		ret = -E2BIG;
	} else if (unlikely(m->size > MSG_INLINE &&
			    msg_own_blocks(c)->big.off &&
			    msgmem_where(m->size) == MSG_IN_BIG)) {
		/* Left by a call that never returned. */
		lock_release(c, &s->lock);
		msgmem_drop_big(c);
		return SLEEP_RETRY;
	} else {
		ret = msgqueue_take(c, s, q, m, p);
		if (unlikely(s->ident != ident))
			q = NULL;
	}
	msgcall_release(c, s, q);
	if (unlikely(msg_thread(c)->trim_left))
		msglease_trim(c, s, ident);
	return ret ? ret : copy_out(c, r, p);
}

/* The same where what is received is leased. */
static __attribute__((noinline)) s64 receive_leased(struct caller *c,
	struct slot *s, u64 ident, struct msgqueue *q, const struct request *r,
	struct msg *m, struct parcel *p, struct tries *t)
{
	u64 size = atom_load_relaxed(&m->size);
	u32 where = msgmem_where(size);
	struct lease *l;
	s64 ret;

	if (size > r->size && !(r->mode & MSG_TAKE_CUT)) {
		lock_release(c, &s->lock);
		return -E2BIG;
	}
	if (unlikely(!size_believed(c, size))) {
		lock_release(c, &s->lock);
		return -EIO;
	}
	if (where != MSG_IN_CELL &&
		!msgmem_block(c, msg_own_blocks(c), where, size)) {
		lock_release(c, &s->lock);
		ret = msgmem_own_block(c, where, size);
		if (!ret && !msgmem_block(c, msg_own_blocks(c), where, size)) {
			msgmem_lose_block(c, where);
			ret = -EIO;
		}
		return ret ? ret : SLEEP_RETRY;
	}
	l = msglease_ready(c, q);
	t->noted = l ? lease_note(c, FAC_MSG, l) : 0;
	ret = l ? msgqueue_take_leased(c, s, q, m, p, l) : -ENOMEM;
	lock_release(c, &s->lock);
	if (unlikely(msg_thread(c)->trim_left))
		msglease_trim(c, s, ident);
	c->lease_stamp = p->stamp;
	if (!ret && where != MSG_IN_CELL)
		ret = msglease_fetch(c, s, ident, p);
	return ret ? ret : copy_out(c, r, p);
}

/* Before a message is selected: 0, or SLEEP_RETRY with the lock released. */
static __attribute__((noinline)) s64 lease_begin(struct caller *c,
	struct slot *s, u64 ident, struct msgqueue *q, struct tries *t)
{
	const struct task *own = task_own(c);
	int found;

	/* The lifeline, by which others notice our exit. */
	if (!t->linked &&
		(!atom_load_relaxed(&own->life) || task_suspect(own))) {
		lock_release(c, &s->lock);
		t->linked = 1;
		task_check_lifeline(c);
		return SLEEP_RETRY;
	}
	msg_thread(c)->trim_left = 0;
	found = msglease_acknowledge(c, s, q) ||
		msglease_reclaim(c, s, q, TASK_LOOK_NOT);
	if (likely(!found && !msg_thread(c)->trim_left))
		return 0;
	lock_release(c, &s->lock);
	msglease_trim(c, s, ident);
	return SLEEP_RETRY;
}

/* There is no message; the lock is held and is released. */
static inline s64 receive_none(struct caller *c, struct slot *s,
	struct msgqueue *q, const struct request *r, struct tries *t)
{
	const struct msg_blocks *own = msg_own_blocks(c);
	struct lease *l = NULL;
	s64 ret;

	if (msglease_concerns(c, q) &&
		msglease_reclaim(c, s, q,
			r->flg & MSG_IPC_NOWAIT ? TASK_LOOK_NOW : TASK_LOOK)) {
		lock_release(c, &s->lock);
		return SLEEP_RETRY;
	}
	if (r->flg & MSG_IPC_NOWAIT) {
		lock_release(c, &s->lock);
		return -ENOMSG;
	}
	if (!own->tier[MSG_IN_TIER0].off || own->big.off) {
		lock_release(c, &s->lock);
		ret = prepare_sleep(c);
		return ret ? ret : SLEEP_RETRY;
	}
	if (users_elsewhere(c, &q->users) &&
		spin_begin(&t->spin, *users_spin(&q->users, r->want))) {
		u64 seen = q->count;

		lock_release(c, &s->lock);
		await_message(&t->spin, q, seen);
		return SLEEP_RETRY;
	}
	spin_note(users_spin(&q->users, r->want), t->spin.result);
	if (unlikely(msglease_wanted(c, q)) && !(l = msglease_ready(c, q))) {
		lock_release(c, &s->lock);
		return -ENOMEM;
	}
	*t = (struct tries){.slept = 1};
	return receive_wait(c, s, q, r, l);
}

/* One try under the lock, which is released; in a section. A length, -errno, or
 * SLEEP_RETRY: from the access check on. */
static s64 receive_once(struct caller *c, struct slot *s, u64 ident,
	const struct request *r, struct tries *t)
{
	char text[MSG_INLINE];
	struct parcel p = {.text = text};
	struct msgqueue *q;
	struct msg *m;
	s64 ret;

	ret = biased_receive(c, s, ident, r, &p);
	if (likely(ret != NOT_BIASED))
		return likely(!ret) ? copy_out(c, r, &p) : ret;
	spin_first(c, s, r, t);
	ret = msg_lock(c, s, ident);
	if (unlikely(ret))
		return ret;
	q = msg_body(c, s);
	users_note(c, s, &q->users, USER_RECEIVER);
	msg_thread(c)->sent_in_row = 0;
	if (msglease_concerns(c, q)) {
		ret = lease_begin(c, s, ident, q, t);
		if (ret)
			return ret;
	}
	m = msgqueue_select(c, q, r->mode, r->want);
	if (unlikely(c->damaged)) {
		ret = damage_abort(c);
		lock_release(c, &s->lock);
		return ret;
	}
	if (unlikely(!m))
		return receive_none(c, s, q, r, t);
	spin_found(&t->spin);
	spin_note(users_spin(&q->users, r->want), t->spin.result);
	t->spin = (struct spin){0};
	if (unlikely(msglease_wanted(c, q)))
		return receive_leased(c, s, ident, q, r, m, &p, t);
	return receive_found(c, s, ident, q, r, m, &p);
}

static s64 receive(struct caller *c, s32 id, const struct request *r)
{
	struct slot *s;
	u64 ident;
	struct tries t = {0};
	s64 ret;

	s = ids_find(c, FAC_MSG, id, &ident);
	if (unlikely(!s))
		return -EINVAL;
	for (;;) {
		ret = perm_check_of(c, s, ident, PERM_R);
		if (unlikely(ret))
			return ret;
		t.slept = 0;
		section_begin(c);
		ret = receive_once(c, s, ident, r, &t);
		if (!t.slept)
			section_end(c);
		if (unlikely(t.noted))
			lease_note_end(c, FAC_MSG, t.noted);
		if (likely(ret > SLEEP_ANEW))
			return ret;
		if (atom_load_acquire(&s->ident) != ident)
			return ret == SLEEP_ANEW ? -EINVAL : -EIDRM;
	}
}

/* ---- MSG_COPY ---- */

/* Progress of a copy: the message may leave while the lock is not held. */
struct copying {
	struct msg_seek seek;
	struct msg *m;
	u64 stamp;
	u64 done;
	u64 capacity; /* of the buffer */
};

/*
 * One hold of the lock: a slice of the message's text to the buffer at p. 0
 * when all is copied, AGAIN, or -errno.
 */
static s64 copy_slice(struct caller *c, struct slot *s, const struct request *r,
	struct copying *at, struct parcel *p)
{
	u64 max = caller_header(c)->limits.msgmax, n, size;
	int whole = at->seek.begun > COPY_TRIES, found;
	const char *from;
	struct msg *m;

	found = msgqueue_seek(
		c, s, msg_body(c, s), (u64)r->want, &at->seek, whole);
	if (unlikely(c->damaged))
		return damage_abort(c);
	if (found <= 0)
		return found ? found : AGAIN;
	m = at->seek.m;
	size = m->size;
	if (size > r->size && !(r->mode & MSG_TAKE_CUT))
		return -E2BIG;
	if (size > (r->size < max ? r->size : max) || size > at->capacity)
		return -EINVAL;
	if (m != at->m || m->stamp != at->stamp || at->done > size) {
		at->m = m;
		at->stamp = m->stamp;
		at->done = 0;
	}
	p->type = m->node.key;
	p->size = size;
	from = m->text;
	if (size > MSG_INLINE)
		from = region_span(&c->region, msg_block_of(m)->ref, size);
	if (!from)
		return -EIO;
	n = size - at->done;
	if (n > COPY_SLICE && !whole)
		n = COPY_SLICE;
	copy_bytes(p->text + at->done, from + at->done, n);
	at->done += n;
	return at->done < size ? AGAIN : 0;
}

static s64 copy_to(struct caller *c, struct slot *s, u64 ident,
	const struct request *r, struct parcel *p, u64 capacity)
{
	struct copying at = {.capacity = capacity};
	s64 ret;

	do {
		ret = msg_lock(c, s, ident);
		if (ret)
			return ret;
		ret = copy_slice(c, s, r, &at, p);
		lock_release(c, &s->lock);
	} while (ret == AGAIN);
	return ret ? ret : copy_out(c, r, p);
}

/* Copy by way of a buffer: this thread's block, else a mapping. */
static s64 copy_by_buffer(struct caller *c, struct slot *s, u64 ident,
	const struct request *r, u64 capacity)
{
	struct parcel p = {.where = MSG_IN_CELL};
	s64 ret = msgmem_own_block(c, MSG_IN_TIER2, 0);

	if (ret)
		return ret;
	p.text = msgmem_block(c, msg_own_blocks(c), MSG_IN_TIER2, capacity);
	if (p.text)
		return copy_to(c, s, ident, r, &p, capacity);
	p.text = sys_mmap_private(capacity);
	if ((unsigned long)p.text > -4096UL)
		return -ENOMEM;
	ret = copy_to(c, s, ident, r, &p, capacity);
	sys_call(__NR_munmap, p.text, capacity);
	return ret;
}

static s64 receive_copy(struct caller *c, s32 id, const struct request *r)
{
	u64 capacity = caller_header(c)->limits.msgmax;
	struct slot *s;
	u64 ident;
	s64 ret;

	if (r->size < capacity)
		capacity = r->size;
	if (guard_source(c, r->user, capacity))
		return -EFAULT;
	ret = object_allowed(c, FAC_MSG, id, PERM_R, &s, &ident);
	if (ret)
		return ret;
	section_begin(c);
	ret = copy_by_buffer(c, s, ident, r, capacity);
	section_end(c);
	return ret;
}

/* ---- the call ---- */

static u32 mode_of(s64 *type, s32 flg)
{
	u32 mode = flg & MSG_FLG_NOERROR ? (u32)MSG_TAKE_CUT : 0;

	if (flg & MSG_FLG_COPY)
		return mode | MSG_TAKE_COPY;
	if (*type == 0)
		return mode | MSG_TAKE_ANY;
	if (*type < 0) {
		*type = *type == INT64_MIN ? INT64_MAX : -*type;
		return mode | MSG_TAKE_UP_TO;
	}
	return mode |
	       (flg & MSG_FLG_EXCEPT ? MSG_TAKE_NOT_TYPE : MSG_TAKE_TYPE);
}

s64 msg_receive(struct caller *c, s32 id, void *user, u64 size, s64 type,
	s32 flg, int cancellable)
{
	struct request r = {.user = user, .size = size, .flg = flg};
	s64 ret;
	int err, tries = 0;

	if (unlikely(id < 0 || (s64)size < 0))
		return -EINVAL;
	r.mode = mode_of(&type, flg);
	r.want = type;
	r.cancellable = cancellable;
	if (unlikely(flg & MSG_FLG_COPY) &&
		((flg & MSG_FLG_EXCEPT) || !(flg & MSG_IPC_NOWAIT)))
		return -EINVAL;
	err = caller_enroll(c);
	if (!err)
		err = journal_reserve(c, MSG_ENTRIES);
	if (unlikely(err))
		return err;
	if (unlikely(flg & MSG_FLG_COPY))
		return receive_copy(c, id, &r);
	/* Only a lease needs memory, or a long message. */
	do
		ret = receive(c, id, &r);
	while (unlikely(ret == -ENOMEM) && !tries++ && msg_spare(c));
	return ret;
}
