// SPDX-License-Identifier: MIT
/*
 * A queue as a file: what stat(2) and read(2) say of it, its owner, mode, times
 * and name. What is changed is changed under the slot's lock, a store a field.
 */
#include "mq/mqueue.h"
#include "object/perm.h"

static s64 later(s64 a, s64 b)
{
	return a > b ? a : b;
}

/* The queue of d with its lock, or NULL: *ret_err is -EBADF. */
static struct mqueue *lock_queue(
	struct caller *c, const struct mq_desc *d, int *ret_err)
{
	struct mqueue *q = mq_body(c, d->s);

	*ret_err = q ? mq_enter(c) : -EBADF;
	if (!*ret_err)
		*ret_err = mq_lock(c, d);
	return *ret_err ? NULL : q;
}

/* A message changes mtime, and with it what atime and ctime are seen as, until
 * utimensat(2) says otherwise. */
static s64 seen_time(const struct mqueue *q, s64 time)
{
	return q->mtime == q->set_mtime ? time : later(time, q->mtime);
}

int mq_numbers(
	struct caller *c, const struct mq_desc *d, struct mq_numbers *ret)
{
	struct slot *s = d->s;
	const struct mqueue *q;
	u32 tries = 0;
	u64 count;
	int err;

	do {
		if (!lock_peek_begin(&s->lock, &count) ||
			bias_look(&c->region, s) == BIAS_DIED)
			continue;
		q = mq_body(c, s);
		if (!q)
			break;
		*ret = (struct mq_numbers){
			q->maxmsg, q->msgsize, prioq_count(&q->msgs)};
		if (lock_peek_valid(&s->lock, count))
			return atom_load_relaxed(&s->ident) == d->ident
				       ? 0
				       : -EBADF;
	} while (lock_peek_again(c, &s->lock, tries++));
	q = lock_queue(c, d, &err);
	if (!q)
		return err;
	*ret = (struct mq_numbers){
		q->maxmsg, q->msgsize, prioq_count(&q->msgs)};
	lock_release(c, &s->lock);
	return 0;
}

int mq_stat(struct caller *c, const struct mq_desc *d, struct mq_stat *ret)
{
	struct slot *s = d->s;
	int err;
	struct mqueue *q = lock_queue(c, d, &err);

	if (!q)
		return err;
	*ret = (struct mq_stat){
		.ino = q->ino ? q->ino
			      : region_slot_idx(&c->region, FAC_MQ, s) + 1,
		.mode = s->mode,
		.uid = s->uid,
		.gid = s->gid,
		.nlink = !q->unlinked,
		.atime = seen_time(q, q->atime),
		.mtime = q->mtime,
		.ctime = seen_time(q, q->ctime),
		.size = q->file_size,
		.maxmsg = q->maxmsg,
		.msgsize = q->msgsize,
		.curmsgs = prioq_count(&q->msgs),
	};
	lock_release(c, &s->lock);
	return 0;
}

/* Bits of a mode. */
#define SET_UID 04000u
#define SET_GID 02000u
#define GROUP_X 00010u

/* 1 if the caller may leave the set-group-ID bit on the queue. */
static int may_keep_sgid(struct caller *c, const struct slot *s)
{
	return perm_in_group(perm_cred(c), s->gid) ||
	       perm_capable(c, CRED_FSETID);
}

int mq_chmod(struct caller *c, const struct mq_desc *d, u32 mode)
{
	int err;
	struct mqueue *q = lock_queue(c, d, &err);

	if (!q)
		return err;
	if (perm_owner_file(c, d->s)) {
		if (unlikely(mode & SET_GID) && !may_keep_sgid(c, d->s))
			mode &= ~SET_GID;
		atom_store_release(&d->s->mode, mode & 07777);
		atom_store_release(&q->ctime, sys_realtime_coarse_ns());
	} else {
		err = -EPERM;
	}
	lock_release(c, &d->s->lock);
	return err;
}

/*
 * What chown(2) leaves of the mode, root's too, and even if it changes neither
 * id: no set-user-ID, and no set-group-ID where the group may execute or who
 * calls is not of the group that the queue had.
 */
static u32 given_mode(struct caller *c, const struct slot *s)
{
	u32 mode = s->mode & ~SET_UID;

	if (unlikely(mode & SET_GID) &&
		((mode & GROUP_X) || !may_keep_sgid(c, s)))
		mode &= ~SET_GID;
	return mode;
}

/* May the caller change the owner to uid and the group to gid (~0: leave it)?
 * Without CAP_CHOWN only the owner, who may name itself and a group that it is in,
 * even where that changes nothing. With both ~0 anybody, unless the mode changes
 * (given_mode): that is the owner's. Root's capability is asked of the kernel: the
 * FIFO is of the same owner as long as nobody gave the queue away. */
static int may_give(struct caller *c, const struct slot *s, u32 uid, u32 gid)
{
	const struct cred *cred = perm_cred(c);
	int owner = perm_owner_file(c, s), root = !perm_file_uid(cred);

	if (uid != ~0u && !root && (!owner || uid != s->uid))
		return 0;
	if (gid != ~0u && !root &&
		(!owner || (gid != s->gid && !perm_in_group(cred, gid))))
		return 0;
	return owner || given_mode(c, s) == s->mode;
}

int mq_chown(struct caller *c, const struct mq_desc *d, u32 uid, u32 gid)
{
	int err;
	struct mqueue *q = lock_queue(c, d, &err);

	if (!q)
		return err;
	if (may_give(c, d->s, uid, gid)) {
		atom_store_release(&d->s->mode, given_mode(c, d->s));
		if (uid != ~0u)
			atom_store_release(&d->s->uid, uid);
		if (gid != ~0u)
			atom_store_release(&d->s->gid, gid);
		atom_store_release(&q->ctime, sys_realtime_coarse_ns());
	} else {
		err = -EPERM;
	}
	lock_release(c, &d->s->lock);
	return err;
}

int mq_set_size(struct caller *c, const struct mq_desc *d, s64 size)
{
	s64 now = sys_realtime_coarse_ns();
	int err;
	struct mqueue *q = lock_queue(c, d, &err);

	if (!q)
		return err;
	atom_store_release(&q->file_size, size);
	atom_store_release(&q->ctime, now);
	atom_store_release(&q->mtime, now);
	lock_release(c, &d->s->lock);
	return 0;
}

/* MQ_TIME_NOW means the same as writing: who may write may say it. */
static int may_set_times(
	struct caller *c, const struct slot *s, s64 atime, s64 mtime)
{
	if (perm_owner_file(c, s))
		return 0;
	if (atime != MQ_TIME_NOW || mtime != MQ_TIME_NOW)
		return -EPERM;
	return perm_check_file(c, s, PERM_W);
}

static s64 chosen_time(s64 wanted, s64 was, s64 now)
{
	return wanted == MQ_TIME_OMIT  ? was
	       : wanted == MQ_TIME_NOW ? now
				       : wanted;
}

int mq_set_times(
	struct caller *c, const struct mq_desc *d, s64 atime, s64 mtime)
{
	s64 now = sys_realtime_coarse_ns();
	int err;
	struct mqueue *q = lock_queue(c, d, &err);

	if (!q)
		return err;
	if (atime != MQ_TIME_OMIT || mtime != MQ_TIME_OMIT) {
		err = may_set_times(c, d->s, atime, mtime);
		if (!err) {
			atime = chosen_time(atime, seen_time(q, q->atime), now);
			mtime = chosen_time(mtime, q->mtime, now);
			atom_store_release(&q->atime, atime);
			atom_store_release(&q->ctime, now);
			atom_store_release(&q->mtime, mtime);
			atom_store_release(&q->set_mtime, mtime);
		}
	}
	lock_release(c, &d->s->lock);
	return err;
}

size_t mq_path(struct caller *c, const struct mq_desc *d, char *buf, size_t cap)
{
	static const char deleted[] = " (deleted)";
	struct mqueue *q = mq_body(c, d->s);
	size_t n = 0, i;

	if (!q || atom_load_acquire(&d->s->ident) != d->ident)
		return 0;
	if (n < cap)
		buf[n++] = '/';
	for (i = 0; i < q->name_len && i < MQ_NAME_MAX && n < cap; i++)
		buf[n++] = q->name[i];
	for (i = 0; q->unlinked && deleted[i] && n < cap; i++)
		buf[n++] = deleted[i];
	return n;
}

void mq_touch(struct caller *c, const struct mq_desc *d)
{
	struct mqueue *q = mq_body(c, d->s);
	s64 now = sys_realtime_coarse_ns();

	if (!q)
		return;
	atom_store_release(&q->atime, now);
	atom_store_release(&q->ctime, now);
}

int mq_status(struct caller *c, const struct mq_desc *d, struct mq_status *ret)
{
	const struct mq_notify *notify;
	int err;
	struct mqueue *q = lock_queue(c, d, &err);

	if (!q)
		return err;
	mq_notify_drop_dead(c, q);
	notify = &q->notify;
	*ret = (struct mq_status){.bytes = prioq_bytes(&q->msgs)};
	if (notify->state == MQ_NOTIFY_ARMED) {
		ret->notify = notify->how;
		ret->signo = notify->how == 0 ? notify->signo : 0;
		ret->notify_pid = notify->pid;
	}
	lock_release(c, &d->s->lock);
	return 0;
}
