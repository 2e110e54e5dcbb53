// SPDX-License-Identifier: MIT
/*
 * Names, creation, removal: see mqueue.h.
 *
 * Creation is one operation under the facility's lock, whose commit point is
 * the store of slot.ident; the FIFO is made before, and header.mq_fifo lets the
 * next owner of the lock unlink it if the queue did not come to be. Unlinking
 * takes the key away and puts the queue on the list of orphans; when it is not
 * in use any more it is removed in the steps of object.h.
 *
 * Keeps INV_MQ_NAME, INV_MQ_ORPHAN (inspect/check.h).
 */
#include <linux/fcntl.h>
#include <linux/resource.h>
#include "mq/mqueue.h"
#include "object/lease.h"
#include "index/keyhash.h"
#include "object/limits.h"
#include "object/perm.h"
#include "object/reap.h"
#include "registry/damage.h"
#include "registry/heap.h"

#define CREATE_ENTRIES (IDS_ENTRIES + KEYHASH_ENTRIES + HEAP_ENTRIES + 16)
/* What the kernel charges a message and a tree node (64-bit). */
#define CHARGE_MSG 48
#define CHARGE_NODE 48
/* Orphans looked at in each mq_open(O_CREAT) and mq_unlink. */
#define SWEEP_FEW 2

static struct id_table *table(struct caller *c)
{
	return &caller_header(c)->ids[FAC_MQ];
}

static struct slot *slot_at(const struct caller *c, u32 idx)
{
	return region_slot(&c->region, FAC_MQ, idx & ids_mask(c));
}

static u32 slot_idx(const struct caller *c, const struct slot *s)
{
	return region_slot_idx(&c->region, FAC_MQ, s);
}

/* ---- locks ---- */

/* 1 if the last owner died in a polled queue: its FIFO is to be settled. */
static int lock_slot(struct caller *c, struct slot *s)
{
	int died = lock_acquire(c, &s->lock);
	struct mqueue *q;

	if (likely(!died && !s->bias))
		return 0;
	q = s->ident & IDENT_LIVE ? mq_body(c, s) : NULL;
	if (s->bias)
		users_bias_end(c, s, q ? &q->users : NULL);
	return died && q && q->polled;
}

void mq_lock_any(struct caller *c, struct slot *s)
{
	const struct mq_desc none = {.s = s, .ident = s->ident, .fd = -1};

	if (unlikely(lock_slot(c, s)))
		mq_fifo_settle(c, mq_body(c, s), &none);
}

int mq_lock(struct caller *c, const struct mq_desc *d)
{
	u64 off = atom_load_relaxed(&d->s->body.off);

	/* All these change in every call; a partner on another CPU has them. */
	if (likely(off))
		__builtin_prefetch(region_at(&c->region, off), 1);
	__builtin_prefetch(mq_thread(c)->fetch[0], 1);
	__builtin_prefetch(mq_thread(c)->fetch[1], 1);
	__builtin_prefetch(mq_thread(c)->fetch[2], 1);
	if (unlikely(lock_slot(c, d->s)) && d->s->ident == d->ident)
		mq_fifo_settle(c, mq_body(c, d->s), d);
	if (likely(atom_load_acquire(&d->s->ident) == d->ident))
		return 0;
	lock_release(c, &d->s->lock);
	return -EBADF;
}

/* ---- removal ---- */

static void drop_block(struct caller *c, struct prio_block *block)
{
	if (block->data.off)
		heap_free_at(c, block->cap, &block->data);
}

/* Both locks are held, the slot's is released. */
static void remove_rest(struct caller *c, struct slot *s)
{
	struct header *h = caller_header(c);
	struct mqueue *q = mq_body(c, s);
	u64 size, off;
	int freed = 0;

	if (q) {
		prioq_free(c, &q->msgs, drop_block);
		while (lease_dispose(c, &q->leases, NULL))
			;
		mq_fifo_unlink(c, q->token);
	}
	heap_acquire(c);
	off = s->body.off;
	size = q ? q->body_size : 0;
	if (off && size)
		freed = heap_free_locked(c, size, &s->body);
	ids_free_locked(c, FAC_MQ, slot_idx(c, s));
	journal_set64(c, &h->removing[FAC_MQ], 0);
	journal_commit(c);
	if (freed)
		heap_discard(c, off, size);
	heap_release(c);
	lock_release(c, &s->lock);
}

static void recover_fifo(struct caller *c)
{
	struct header *h = caller_header(c);
	u64 token[2] = {h->mq_fifo[0], h->mq_fifo[1]};
	struct mqueue *q;
	u32 idx = 0;

	if (!token[0])
		return;
	for (; (idx = ids_next(c, FAC_MQ, idx)) < IDX_MAX; idx++) {
		q = slot_at(c, idx)->ident ? mq_body(c, slot_at(c, idx)) : NULL;
		if (q && q->token[0] == token[0] && q->token[1] == token[1])
			break;
	}
	if (idx == IDX_MAX)
		mq_fifo_unlink(c, token);
	atom_store_release(&h->mq_fifo[0], 0);
}

static void fac_lock(struct caller *c)
{
	struct header *h = caller_header(c);
	struct slot *s;

	if (likely(!lock_acquire(c, &h->fac_lock[FAC_MQ].lock)))
		return;
	keyhash_repair(c, FAC_MQ);
	recover_fifo(c);
	if (!h->removing[FAC_MQ])
		return;
	s = slot_at(c, h->removing[FAC_MQ] - 1);
	if (s->ident & IDENT_LIVE) {
		atom_store_release(&h->removing[FAC_MQ], 0);
	} else {
		mq_lock_any(c, s);
		remove_rest(c, s);
	}
}

/* Also frees the block of a message that leave_message has left. */
static void fac_unlock(struct caller *c)
{
	section_begin(c);
	lock_release(c, &caller_header(c)->fac_lock[FAC_MQ].lock);
	if (!c->n_held)
		heap_settle(c);
	section_end(c);
}

/* The queue of a link of the list of orphans, or NULL: a damaged one ends the
 * list. */
static struct mqueue *orphan_at(struct caller *c, u32 link)
{
	return link ? mq_body(c, slot_at(c, link - 1)) : NULL;
}

/* Into and out of the ring of orphans; part of the operation. A new one is the
 * next to be looked at: a process that unlinks what it opens may end soon. */
static void orphan_insert(struct caller *c, u32 idx, struct mqueue *q)
{
	struct header *h = caller_header(c);
	struct mqueue *next = orphan_at(c, h->mq_orphans);
	struct mqueue *prev = next ? orphan_at(c, next->orphan_prev) : NULL;
	u32 self = idx + 1;

	journal_set32(c, &q->orphan_next, prev ? h->mq_orphans : self);
	journal_set32(c, &q->orphan_prev, prev ? next->orphan_prev : self);
	if (prev) {
		journal_set32(c, &prev->orphan_next, self);
		journal_set32(c, &next->orphan_prev, self);
	}
	journal_set32(c, &h->mq_orphans, self);
}

static void orphan_remove(struct caller *c, u32 idx, struct mqueue *q)
{
	struct header *h = caller_header(c);
	struct mqueue *next = orphan_at(c, q->orphan_next);
	struct mqueue *prev = orphan_at(c, q->orphan_prev);

	if (h->mq_orphans == idx + 1)
		journal_set32(
			c, &h->mq_orphans, next == q ? 0 : q->orphan_next);
	if (next == q || !next || !prev)
		return;
	journal_set32(c, &prev->orphan_next, q->orphan_next);
	journal_set32(c, &next->orphan_prev, q->orphan_prev);
}

/* Messages that go in one hold, unless one of them is large. Arbitrary. */
#define FEW_MESSAGES 16

/*
 * Of a queue that nobody can reach any more some messages go, up to a large
 * one, whose block becomes the thread's own: to give its pages back takes
 * milliseconds and needs no lock. 1: there may be others. Slot lock held.
 */
static int leave_messages(struct caller *c, struct mqueue *q)
{
	const struct thread *th = region_thread(&c->region, c->thread);
	struct prio_block *block;
	struct prio_place at;
	u32 idx, prio, n;

	for (n = 0; prioq_count(&q->msgs) && !q->msgs.inline_data; n++) {
		if (th->ready.off || n == FEW_MESSAGES)
			return 1;
		idx = prioq_take_place(c, &q->msgs, &prio, &at);
		block = (struct prio_block *)(void *)at.data;
		heap_leave(c, block->cap, &block->data);
		prioq_item_free(c, &q->msgs, idx);
		if (unlikely(c->damaged)) {
			damage_abort(c);
			return 0;
		}
		journal_commit(c);
		drop_block(c, block);
	}
	return 0;
}

/* Of remove_unused: whether it may take long, or is not to. */
enum removal {
	REMOVE_NOW,
	REMOVE_BY_STEPS,
};
/* What it says: nothing done, or freed, or one step of several done. */
#define REMOVED 1
#define REMOVED_SOME 2

/* Free an unlinked queue unless it is in use. Facility lock held. By steps:
 * call it again, after fac_unlock, while it says so; if that one dies, a sweep
 * does. */
static int remove_unused(struct caller *c, u32 idx, enum removal how)
{
	struct header *h = caller_header(c);
	struct slot *s = slot_at(c, idx);
	struct mqueue *q = s->ident & IDENT_LIVE ? mq_body(c, s) : NULL;

	if (!q || !q->unlinked || !mq_fifo_unused(c, q->token))
		return 0;
	mq_lock_any(c, s);
	if (mq_first_waiter(c, &q->receivers) ||
		mq_first_waiter(c, &q->senders)) {
		lock_release(c, &s->lock);
		return 0;
	}
	if (how == REMOVE_BY_STEPS && leave_messages(c, q)) {
		lock_release(c, &s->lock);
		return REMOVED_SOME;
	}
	mq_notify_drop(c, q);
	atom_store_release(&h->removing[FAC_MQ], (u64)idx + 1);
	orphan_remove(c, idx, q);
	journal_publish(c, &s->ident, 0);
	remove_rest(c, s);
	return REMOVED;
}

/* After fac_unlock: the steps that are left. */
static void remove_steps(struct caller *c, u32 idx, u64 ident)
{
	int more = 1;

	while (more) {
		fac_lock(c);
		more = slot_at(c, idx)->ident == ident &&
		       remove_unused(c, idx, REMOVE_BY_STEPS) == REMOVED_SOME;
		fac_unlock(c);
	}
}

/* Look at the next few orphans, and go on behind those still in use, so that
 * each has its turn. Facility lock held. */
static void sweep_few(struct caller *c)
{
	struct header *h = caller_header(c);
	u32 first, n, kept = 0;
	struct mqueue *q;

	for (n = 0; n < SWEEP_FEW; n++) {
		first = h->mq_orphans;
		q = orphan_at(c, first);
		if (!q || first == kept)
			return;
		if (remove_unused(c, first - 1, REMOVE_BY_STEPS) == REMOVED)
			continue;
		atom_store_release(&h->mq_orphans, q->orphan_next);
		if (!kept)
			kept = first;
	}
}

/* Look at each orphan, once. Facility lock held. */
static void sweep_all(struct caller *c)
{
	u32 at = caller_header(c)->mq_orphans, next, last;
	struct mqueue *q = orphan_at(c, at);
	struct walk w = {0};

	last = q ? q->orphan_prev : 0;
	for (; (q = orphan_at(c, at)) && walk_goes_on(c, &w, at); at = next) {
		next = at == last ? 0 : q->orphan_next;
		remove_unused(c, at - 1, REMOVE_NOW);
	}
}

void mq_closed(struct caller *c, const struct mq_desc *d)
{
	struct mqueue *q = mq_body(c, d->s);

	if (!q || !atom_load_acquire(&q->unlinked) ||
		atom_load_acquire(&d->s->ident) != d->ident || caller_enroll(c))
		return;
	remove_steps(c, slot_idx(c, d->s), d->ident);
}

/* ---- names ---- */

static s32 name_key(const char *name, size_t len)
{
	u32 h = 0x811c9dc5u;
	size_t i;

	for (i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 0x01000193u;
	return h ? (s32)h : 1;
}

static int name_check(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (name[i] == '/')
			return -EACCES;
	if ((len == 1 && name[0] == '.') ||
		(len == 2 && name[0] == '.' && name[1] == '.'))
		return -EACCES;
	return len > MQ_NAME_MAX ? -ENAMETOOLONG : 0;
}

static int name_is(const struct mqueue *q, const char *name, size_t len)
{
	size_t i;

	if (q->name_len != len)
		return 0;
	for (i = 0; i < len; i++)
		if (q->name[i] != name[i])
			return 0;
	return 1;
}

/* Facility lock held. */
static struct slot *find(struct caller *c, const char *name, size_t len)
{
	struct slot *s = keyhash_find_locked(c, FAC_MQ, name_key(name, len));
	struct walk w = {0};

	while (s && !(mq_body(c, s) && name_is(mq_body(c, s), name, len)))
		s = walk_goes_on(c, &w, region_off(&c->region, s))
			    ? keyhash_next_locked(c, FAC_MQ, s)
			    : NULL;
	return s;
}

/* ---- creation ---- */

struct creation {
	const char *name;
	size_t name_len;
	u32 oflag, mode;
	s64 maxmsg, msgsize;
	u64 charge, rlimit;
	u32 ruid;
};

static s64 smaller(s64 a, s64 b)
{
	return a < b ? a : b;
}

static u64 charged(struct caller *c, u32 ruid)
{
	u64 sum = 0;
	u32 idx = 0;

	for (; (idx = ids_next(c, FAC_MQ, idx)) < IDX_MAX; idx++) {
		struct slot *s = slot_at(c, idx);
		struct mqueue *q = s->ident & IDENT_LIVE ? mq_body(c, s) : NULL;

		if (q && q->ruid == ruid)
			sum += q->charge;
	}
	return sum;
}

/* Who pays for a queue, and how much he may spend. */
static void read_purse(struct caller *c, struct creation *n)
{
	u64 limit[2] = {~0ULL, 0};

	if (c->cred->charge) {
		c->cred->charge(c->cred, &n->ruid, &n->rlimit);
		return;
	}
	/* Read only where it is looked at: 0.25 us. */
	if (caller_header(c)->limits.mq_rlimit)
		sys_call(__NR_prlimit64, 0, RLIMIT_MSGQUEUE, NULL, limit);
	n->rlimit = limit[0];
	n->ruid = sys_call(__NR_getuid);
}

static int over_rlimit(struct caller *c, const struct creation *n)
{
	return caller_header(c)->limits.mq_rlimit &&
	       charged(c, n->ruid) + n->charge > n->rlimit;
}

static int over_queues_max(struct caller *c)
{
	return table(c)->in_use >= (u32)caller_header(c)->limits.mq_queues_max;
}

/* Steps 10 to 14 of §7.2. */
static int admit(struct caller *c, struct creation *n)
{
	const struct limits *l = &caller_header(c)->limits;
	s64 msg_max = l->mq_msg_max, size_max = l->mq_msgsize_max;
	int resource = -1;

	if (over_queues_max(c))
		sweep_all(c);
	if (over_queues_max(c)) {
		resource = perm_capable(c, CRED_SYS_RESOURCE);
		if (!resource)
			return limit_hit(c, LIMIT_QUEUES_MAX,
				(u32)l->mq_queues_max, 0, -ENOSPC);
	}
	if (n->maxmsg <= 0 || n->msgsize <= 0)
		return -EINVAL;
	if (n->maxmsg > msg_max || n->msgsize > size_max) {
		if (resource < 0)
			resource = perm_capable(c, CRED_SYS_RESOURCE);
		if (!resource)
			return n->maxmsg > msg_max
				       ? limit_hit(c, LIMIT_MSG_MAX, msg_max,
						 n->maxmsg, -EINVAL)
				       : limit_hit(c, LIMIT_MSGSIZE_MAX,
						 size_max, n->msgsize, -EINVAL);
		if (n->maxmsg > MQ_HARD_MAXMSG || n->msgsize > MQ_HARD_MSGSIZE)
			return -EINVAL;
	}
	n->charge = (u64)n->maxmsg * n->msgsize + n->maxmsg * CHARGE_MSG +
		    smaller(n->maxmsg, MQ_N_PRIOS) * CHARGE_NODE;
	read_purse(c, n);
	if (over_rlimit(c, n))
		sweep_all(c);
	if (over_rlimit(c, n))
		return limit_hit(c, LIMIT_RLIMIT_MSGQUEUE, n->rlimit, n->charge,
			-EMFILE);
	return 0;
}

static u32 inline_data(const struct creation *n)
{
	return n->msgsize <= MQ_COPY_MAX ? (n->msgsize + 7) & ~7u : 0;
}

static u64 body_size(const struct creation *n)
{
	return sizeof(struct mqueue) +
	       prioq_table_size(n->maxmsg + MQ_SPARE_ITEMS, inline_data(n));
}

/* Nobody can reach them yet. */
static void fill(struct caller *c, struct slot *s, const struct creation *n,
	const struct mq_fifo *fifo)
{
	const struct cred *cred = perm_cred(c);
	struct mqueue *q = mq_body(c, s);
	s64 now = sys_realtime_coarse_ns();
	size_t i;

	if (unlikely(!q))
		return;
	*q = (struct mqueue){
		.maxmsg = n->maxmsg,
		.msgsize = n->msgsize,
		.level = MQ_LEVEL_UNKNOWN,
		.mtime = now,
		.atime = now,
		.ctime = now,
		.ruid = n->ruid,
		.name_len = n->name_len,
		.charge = n->charge,
		.dev = fifo->dev,
		.ino = fifo->ino,
		.token = {fifo->token[0], fifo->token[1]},
		.body_size = body_size(n),
		.file_size = MQ_STATUS_SIZE,
	};
	for (i = 0; i < n->name_len; i++)
		q->name[i] = n->name[i];
	prioq_init(&q->msgs, n->maxmsg + MQ_SPARE_ITEMS, inline_data(n),
		sizeof(*q));
	atom_store_release(&s->key, name_key(n->name, n->name_len));
	atom_store_release(&s->mode, n->mode & 07777 & ~fifo->umask);
	atom_store_release(&s->uid, perm_file_uid(cred));
	atom_store_release(&s->cuid, perm_file_uid(cred));
	atom_store_release(&s->gid, perm_file_gid(cred));
	atom_store_release(&s->cgid, perm_file_gid(cred));
	atom_store_release(&s->size, (u32)n->maxmsg);
	atom_store_release(&s->ctime, now / 1000000000);
}

static void directory_changed(struct caller *c)
{
	atom_store_release(&caller_header(c)->mq_changed, sys_realtime_sec());
}

/* Facility lock held, the FIFO is made. 0, -ENOSPC, -ENOMEM. */
static int enter(struct caller *c, const struct creation *n,
	const struct mq_fifo *fifo, struct mq_desc *ret)
{
	struct id_table *t = table(c);
	struct slot *s = NULL;
	u32 idx;
	s32 id;
	int err;

	keyhash_write_begin(c, FAC_MQ);
	keyhash_grow_locked(c, FAC_MQ);
	heap_acquire(c);
	err = ids_alloc_locked(c, FAC_MQ, &idx, &id);
	if (!err) {
		s = slot_at(c, idx);
		err = heap_alloc_locked(c, body_size(n), &s->body);
		if (!err && unlikely(!mq_body(c, s)))
			err = -EIO;
	}
	if (!err) {
		fill(c, s, n, fifo);
		keyhash_insert_locked(c, FAC_MQ, idx);
		ret->s = s;
		ret->ident = IDENT(t->gen, id);
		journal_set64(c, &t->gen, id_table_next_gen(t->gen));
		journal_publish(c, &s->ident, ret->ident);
		directory_changed(c);
	} else {
		journal_abort(c);
	}
	heap_release(c);
	keyhash_write_end(c, FAC_MQ);
	return err;
}

static int create(struct caller *c, struct creation *n, struct mq_desc *ret)
{
	struct header *h = caller_header(c);
	struct mq_fifo fifo;
	int fd, err;

	sweep_few(c);
	err = admit(c, n);
	if (!err)
		err = journal_reserve(c, CREATE_ENTRIES);
	if (err)
		return err;
	fd = mq_fifo_make(c, n->oflag, &fifo);
	ret->nameless = fd >= 0 && fifo.nameless;
	err = fd < 0 ? fd : enter(c, n, &fifo, ret);
	if (err && fd >= 0) {
		mq_fifo_unlink(c, fifo.token);
		sys_call(__NR_close, fd);
	}
	atom_store_release(&h->mq_fifo[0], 0);
	return err ? err : fd;
}

/* need: more than the access mode asks for. */
static int open_existing(struct caller *c, struct slot *s, u32 oflag, u32 need,
	struct mq_desc *ret)
{
	static const u32 rights[] = {
		PERM_R, PERM_W, PERM_R | PERM_W, PERM_R | PERM_W};
	struct mqueue *q = mq_body(c, s);
	int err, fd;

	err = perm_check_file(c, s, need | rights[oflag & MQ_O_ACCMODE]);
	if (err)
		return err;
	fd = mq_fifo_open(c, q, oflag, &ret->nameless);
	if (fd < 0)
		return fd;
	ret->s = s;
	ret->ident = s->ident;
	ret->fd = fd;
	if ((q->polled || q->level != MQ_LEVEL_UNKNOWN) && !mq_lock(c, ret)) {
		/* If we are the only one the FIFO has begun anew. */
		atom_store_release(&q->level, MQ_LEVEL_UNKNOWN);
		mq_settle(c, q, ret);
		lock_release(c, &s->lock);
	}
	return fd;
}

/* Step 3 comes before 4, but we open last: see whether we could have. */
static int or_no_descriptor(int err)
{
	int fd = sys_call(__NR_eventfd2, 0, 02000000);

	if (fd >= 0)
		sys_call(__NR_close, fd);
	return fd == -EMFILE || fd == -ENFILE ? fd : err;
}

static int find_or_create(
	struct caller *c, struct creation *n, struct mq_desc *ret)
{
	u32 oflag = n->oflag;
	struct slot *s;
	int fd;

	mq_fifo_prepare(c);
	fac_lock(c);
	s = find(c, n->name, n->name_len);
	if (s && (oflag & MQ_O_CREAT) && (oflag & MQ_O_EXCL))
		fd = -EEXIST;
	else if (s && (oflag & MQ_O_ACCMODE) == MQ_O_ACCMODE)
		fd = -EINVAL;
	else if (s)
		fd = open_existing(c, s, oflag, 0, ret);
	else if (oflag & MQ_O_CREAT)
		fd = create(c, n, ret);
	else
		fd = -ENOENT;
	fac_unlock(c);
	return fd;
}

int mqueue_open(struct caller *c, const char *name, size_t name_len, u32 oflag,
	u32 mode, const struct mq_limits_attr *attr, struct mq_desc *ret)
{
	const struct limits *l = &caller_header(c)->limits;
	struct creation n = {name, name_len, oflag, mode,
		.maxmsg = attr ? attr->maxmsg
			       : smaller(l->mq_msg_max, l->mq_msg_default),
		.msgsize = attr ? attr->msgsize
				: smaller(l->mq_msgsize_max,
					  l->mq_msgsize_default)};
	int fd = name_check(name, name_len);

	*ret = (struct mq_desc){.fd = -1};
	if (!fd)
		fd = mq_enter(c);
	if (fd)
		return or_no_descriptor(fd);
	fd = find_or_create(c, &n, ret);
	if (unlikely(fd == -ENOMEM) && msg_spare(c))
		fd = find_or_create(c, &n, ret);
	if (fd < 0)
		return or_no_descriptor(fd);
	ret->fd = fd;
	ret->access = oflag & MQ_O_ACCMODE;
	return fd;
}

int mqueue_open_again(struct caller *c, const struct mq_desc *d, u32 oflag,
	struct mq_desc *ret)
{
	struct mqueue *q = mq_body(c, d->s);
	int fd = q ? mq_enter(c) : -EBADF;

	*ret = (struct mq_desc){.fd = -1};
	if (fd)
		return fd;
	fac_lock(c);
	fd = d->s->ident != d->ident
		     ? -EBADF
		     : open_existing(c, d->s, oflag | MQ_O_LARGEFILE,
			       oflag & MQ_O_TRUNC ? PERM_W : 0, ret);
	fac_unlock(c);
	if (fd < 0)
		return fd;
	ret->fd = fd;
	ret->access = oflag & MQ_O_ACCMODE;
	if (!(oflag & MQ_O_CLOEXEC)) {
		sys_call(__NR_fcntl, fd, F_SETFD, 0);
		/* What is executed may poll it without us. */
		mq_watch(c, ret, MQ_POLLED_IN | MQ_POLLED_OUT);
	}
	if (oflag & MQ_O_TRUNC)
		mq_set_size(c, ret, 0);
	return fd;
}

int mqueue_unlink(struct caller *c, const char *name, size_t name_len)
{
	struct mqueue *q;
	struct slot *s;
	int err = name_check(name, name_len), done = 0;
	u64 ident = 0;
	u32 idx = 0;

	/* No more journal than every thread has: removing needs no space. */
	if (!err)
		err = caller_enroll(c);
	if (err)
		return err;
	mq_fifo_prepare(c);
	fac_lock(c);
	s = find(c, name, name_len);
	err = !s ? -ENOENT : 0;
	/* The directory is sticky and root's. */
	if (!err && !perm_owner_file(c, s) && perm_file_uid(perm_cred(c)))
		err = -EPERM;
	if (!err) {
		q = mq_body(c, s);
		idx = slot_idx(c, s);
		keyhash_write_begin(c, FAC_MQ);
		keyhash_remove_locked(c, FAC_MQ, idx);
		journal_set32(c, &q->unlinked, 1);
		orphan_insert(c, idx, q);
		journal_commit(c);
		keyhash_shrink_locked(c, FAC_MQ);
		keyhash_write_end(c, FAC_MQ);
		atom_store_release(&q->ctime, sys_realtime_coarse_ns());
		directory_changed(c);
		ident = s->ident;
		done = remove_unused(c, idx, REMOVE_BY_STEPS);
		if (!done)
			sweep_few(c);
	}
	fac_unlock(c);
	if (done == REMOVED_SOME)
		remove_steps(c, idx, ident);
	return err;
}

int mq_find_name(
	struct caller *c, const char *name, size_t len, struct mq_desc *ret)
{
	struct slot *s;
	int err = name_check(name, len);

	if (!err)
		err = caller_enroll(c);
	if (err)
		return err;
	fac_lock(c);
	s = find(c, name, len);
	if (s)
		*ret = (struct mq_desc){.s = s, .ident = s->ident, .fd = -1};
	fac_unlock(c);
	return s ? 0 : -ENOENT;
}

int mq_find_inode(struct caller *c, u64 dev, u64 ino, struct mq_desc *ret)
{
	u32 idx = 0;

	for (; (idx = ids_next(c, FAC_MQ, idx)) < IDX_MAX; idx++) {
		struct slot *s = slot_at(c, idx);
		u64 ident = atom_load_acquire(&s->ident);
		struct mqueue *q;

		if (!(ident & IDENT_LIVE))
			continue;
		q = mq_body(c, s);
		if (!q || q->dev != dev || q->ino != ino ||
			atom_load_acquire(&s->ident) != ident)
			continue;
		*ret = (struct mq_desc){.s = s, .ident = ident, .fd = -1};
		return 0;
	}
	return -EBADF;
}
