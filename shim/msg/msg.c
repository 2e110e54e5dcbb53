// SPDX-License-Identifier: MIT
/*
 * Message queues: creation, removal, and the commands of msgctl(2)
 * (doc/kernel-semantics.md §5.1, §5.5, §5.6).
 */
#include "object/controlfile.h"
#include "object/limits.h"
#include "msg/msg.h"
#include "msg/msgqueue.h"
#include "object/object.h"
#include "object/perm.h"
#include "object/reap.h"
#include "registry/damage.h"
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "registry/task.h"

static struct limits *limits(struct caller *c)
{
	return &caller_header(c)->limits;
}

/* ---- the class ---- */

static int class_admit(struct caller *c, u64 size)
{
	(void)c, (void)size;
	return 0;
}

static s32 class_max(struct caller *c)
{
	return limits(c)->msgmni;
}

static u64 class_body_size(u64 size)
{
	(void)size;
	return sizeof(struct msgqueue);
}

static void class_init(struct caller *c, struct slot *s, u64 gen, u64 size)
{
	struct msgqueue *q = msg_body(c, s);

	(void)gen, (void)size;
	if (likely(q))
		*q = (struct msgqueue){.qbytes = (u32)limits(c)->msgmnb};
}

static u64 class_weight(u64 size)
{
	(void)size;
	return 0;
}

static int class_empty(struct caller *c, struct slot *s)
{
	struct msgqueue *q = msg_body(c, s);

	if (!q)
		return 0;
	if (unlikely(msgqueue_cancel_some(c, q, -EIDRM)))
		return 1;
	if (likely(!msgmem_much(q)))
		msgmem_free_all(c, q);
	return 0;
}

/* ---- removed queues with too much memory to free in one hold ---- */

static int class_keep(struct caller *c, struct slot *s)
{
	struct ref *remains = &caller_header(c)->msg_remains;
	struct msgqueue *q = msg_body(c, s);

	if (likely(!q || !msgmem_much(q)))
		return 0;
	journal_set64(c, &q->stamp, remains->off);
	journal_set32(c, &q->lrpid, c->tid);
	journal_set64(c, &remains->off, s->body.off);
	return 1;
}

static struct msgqueue *remains_at(const struct caller *c, struct ref ref)
{
	return region_span(&c->region, ref, sizeof(struct msgqueue));
}

/* Bodies checked for a dead remover, each by a walk over the thread records.
 * Arbitrary: bodies further on are reached when those before them are empty. */
#define REMAINS_ASKED 64u
/* In place of the remover, once the body was freed: a list that leads to it
 * again is damaged. */
#define REMAINS_FREED (~0u)

/* The reference in the list to a body that this thread is to empty: it removed
 * the queue, or the thread that did is gone. NULL if there is none. */
static struct ref *find_remains(struct caller *c)
{
	struct ref *at = &caller_header(c)->msg_remains;
	struct walk w = {0};
	struct msgqueue *q;
	u32 asked = 0;

	while ((q = remains_at(c, *at)) && walk_goes_on(c, &w, at->off)) {
		if (unlikely(q->lrpid == REMAINS_FREED)) {
			q = NULL;
			break;
		}
		if (q->lrpid == c->tid ||
			(asked++ < REMAINS_ASKED && thread_gone(c, q->lrpid)))
			return at;
		at = (struct ref *)(void *)&q->stamp;
	}
	if (unlikely(c->damaged || (at->off && !q)))
		atom_store_release(&at->off, 0);
	return NULL;
}

/* One hold of the facility's lock. 0 if nothing is left to do. */
static int remains_step(struct caller *c)
{
	struct ref *at = find_remains(c);
	struct msgqueue *q = at ? remains_at(c, *at) : NULL;
	u64 next;

	if (!q)
		return 0;
	if (q->lrpid != c->tid)
		atom_store_release(&q->lrpid, c->tid);
	if (msgmem_free_some(c, q))
		return 1;
	heap_acquire(c);
	next = q->stamp;
	journal_set32(c, &q->lrpid, REMAINS_FREED);
	heap_free_locked(c, sizeof(*q), at);
	journal_set64(c, &at->off, next);
	journal_commit(c);
	heap_release(c);
	return 1;
}

static const struct object_class msg_class;

static void class_settle(struct caller *c)
{
	struct header *h = caller_header(c);
	int more;

	if (likely(!atom_load_relaxed(&h->msg_remains.off)) || c->n_held)
		return;
	section_begin(c);
	do {
		object_fac_lock(c, &msg_class);
		more = remains_step(c);
		lock_release(c, &h->fac_lock[FAC_MSG].lock);
		heap_settle(c);
	} while (more);
	section_end(c);
}

static void class_crash_guard(struct caller *c, struct slot *s)
{
	struct msgqueue *q = msg_body(c, s);

	if (q)
		msgqueue_crash_guard(c, q);
}

static const struct object_class msg_class = {
	.facility = FAC_MSG,
	.admit = class_admit,
	.max_objects = class_max,
	.max_limit = LIMIT_MSGMNI,
	.body_size = class_body_size,
	.init = class_init,
	.weight = class_weight,
	.empty = class_empty,
	.lock = msg_lock_any,
	.crash_guard = class_crash_guard,
	.keep = class_keep,
	.settle = class_settle,
};

int msg_get(struct caller *c, s32 key, s32 flg)
{
	return object_get(c, &msg_class, key, 0, flg);
}

int msg_remove(struct caller *c, s32 id)
{
	return object_remove(c, &msg_class, id);
}

void msg_finish_removal(struct caller *c)
{
	object_fac_lock(c, &msg_class);
	object_fac_unlock(c, &msg_class);
}

/* ---- giving spare memory back when the file system is full ---- */

/* Holds of one queue's lock, each of which gives a piece back, so that others
 * can use the queue in between. Arbitrary. */
#define SPARE_HOLDS 64

static int spare_of_queue(struct caller *c, u32 idx)
{
	struct msgqueue *q;
	struct slot *s;
	u64 ident;
	int any = 0, more = 1, i;

	s = ids_find_idx(c, FAC_MSG, (s32)idx, &ident);
	q = s ? msg_body(c, s) : NULL;
	for (i = 0; q && msgmem_has_spare(q) && more && i < SPARE_HOLDS; i++) {
		if (msg_lock(c, s, ident))
			break;
		q = msg_body(c, s);
		more = q && msgmem_spare_some(c, q);
		lock_release(c, &s->lock);
		heap_settle_bare(c);
		any |= more;
	}
	return any;
}

int msg_spare(struct caller *c)
{
	u32 idx = 0;
	int any = 0;

	/* The caller's own enrolment may be what found no memory. */
	if (caller_enroll(c) || journal_reserve(c, MSG_ENTRIES))
		return 0;
	section_begin(c);
	for (; (idx = ids_next(c, FAC_MSG, idx)) < IDX_MAX; idx++)
		any |= spare_of_queue(c, idx);
	section_end(c);
	return any;
}

/* ---- commands ---- */

static void copy_stat(struct caller *c, const struct slot *s, u64 ident,
	const struct msgqueue *q, struct msg_stat *ret)
{
	u64 count = atom_load_relaxed(&q->count);

	*ret = (struct msg_stat){
		.stime = q->stime,
		.rtime = q->rtime,
		.cbytes = MSG_BYTES(count),
		.qnum = MSG_NUM(count),
		.qbytes = q->qbytes,
		.lspid = q->lspid,
		.lrpid = q->lrpid,
	};
	object_stat(c, s, ident, &ret->object);
}

/* The fields that the bias owner changes inside its section. */
static int same_use(const struct msg_stat *a, const struct msg_stat *b)
{
	return a->cbytes == b->cbytes && a->qnum == b->qnum &&
	       a->stime == b->stime && a->rtime == b->rtime &&
	       a->lspid == b->lspid && a->lrpid == b->lrpid;
}

/* A biased queue is copied twice: if both copies are equal, and the bias owner
 * was outside its section before, between and after, they are of one moment. */
static int copy_agrees(struct caller *c, const struct slot *s, u64 ident,
	const struct msgqueue *q, struct msg_stat *ret)
{
	struct msg_stat again;

	if (bias_look(&c->region, s))
		return 0;
	copy_stat(c, s, ident, q, ret);
	if (likely(!atom_load_acquire(&s->bias)))
		return 1;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (bias_look(&c->region, s))
		return 0;
	copy_stat(c, s, ident, q, &again);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !bias_look(&c->region, s) && same_use(ret, &again);
}

static int stat_fill(struct caller *c, const struct slot *s, u64 ident,
	int locked, void *ret)
{
	const struct msgqueue *q = msg_body(c, s);

	if (locked) {
		copy_stat(c, s, ident, q, ret);
		return 1;
	}
	if (!q || bias_look(&c->region, s) == BIAS_DIED)
		return -EBUSY;
	return copy_agrees(c, s, ident, q, ret);
}

int msg_stat(struct caller *c, s32 id, enum object_by by, struct msg_stat *ret)
{
	static const struct object_stat_class k = {
		FAC_MSG, stat_fill, msg_lock};

	return object_stat_by(c, &k, id, by, &ret->object);
}

/* msgmnb is a limit that only makes IPC_SET fail: with `roomy` there is
 * none. */
static int may_set_qbytes(struct caller *c, u32 qbytes)
{
	controlfile_drain(c);
	if (qbytes <= (u32)limits(c)->msgmnb ||
		caller_header(c)->profile == LIMITS_ROOMY)
		return 0;
	if (perm_capable(c, CRED_SYS_RESOURCE))
		return 0;
	return limit_hit(
		c, LIMIT_MSGMNB, (u32)limits(c)->msgmnb, qbytes, -EPERM);
}

int msg_set(struct caller *c, s32 id, u32 uid, u32 gid, u32 mode, u64 qbytes)
{
	struct msgqueue *q;
	struct slot *s;
	u64 ident;
	int err = object_owned(c, FAC_MSG, id, &s, &ident);

	/* The kernel's field is an int. */
	if (!err)
		err = may_set_qbytes(c, (u32)qbytes);
	if (err)
		return err;
	if (uid == 0xffffffffu || gid == 0xffffffffu)
		return -EINVAL;
	err = caller_enroll(c);
	if (!err)
		err = msg_lock(c, s, ident);
	if (err)
		return err;
	q = msg_body(c, s);
	object_set_locked(c, s, uid, gid, mode);
	journal_set64(c, &q->qbytes, (u32)qbytes);
	msgqueue_commit_and_wake(
		c, s, q, MSG_PEND_RECEIVERS | MSG_PEND_SENDERS);
	lock_release(c, &s->lock);
	return 0;
}

/* Messages and bytes of all queues. Under the facility's lock no body is
 * freed. */
static void add_up(struct caller *c, u32 highest, struct msg_info *ret)
{
	u64 num = 0, bytes = 0, ident, count;
	struct slot *s;
	u32 i;

	for (i = ids_next(c, FAC_MSG, 0); i <= highest;
		i = ids_next(c, FAC_MSG, i + 1)) {
		s = region_slot(&c->region, FAC_MSG, i);
		ident = atom_load_acquire(&s->ident);
		if (!(ident & IDENT_LIVE) || !msg_body(c, s))
			continue;
		count = atom_load_acquire(&msg_body(c, s)->count);
		/* Do not count what an owner, busy or dead, has half done. */
		if ((lock_busy(&s->lock) || bias_look(&c->region, s)) &&
			!msg_lock(c, s, ident)) {
			count = msg_body(c, s)->count;
			lock_release(c, &s->lock);
		}
		num += MSG_NUM(count);
		bytes += MSG_BYTES(count);
	}
	ret->msgmap = (s32)num;
	ret->msgtql = (s32)bytes;
}

int msg_info(struct caller *c, int totals, struct msg_info *ret)
{
	struct id_table *t = &caller_header(c)->ids[FAC_MSG];
	const struct limits *l = limits(c);
	int highest, err = caller_enroll(c);

	if (err)
		return err;
	controlfile_drain(c);
	object_fac_lock(c, &msg_class);
	*ret = (struct msg_info){
		.msgpool = totals ? (s32)t->in_use : 512000,
		.msgmap = 16384,
		.msgmax = l->msgmax,
		.msgmnb = l->msgmnb,
		.msgmni = l->msgmni,
		.msgssz = 16,
		.msgtql = 16384,
		.msgseg = 65535,
	};
	highest = t->in_use ? ids_highest_locked(c, FAC_MSG) : 0;
	if (totals && t->in_use)
		add_up(c, highest, ret);
	else if (totals)
		ret->msgmap = ret->msgtql = 0;
	object_fac_unlock(c, &msg_class);
	return highest;
}
