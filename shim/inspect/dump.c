// SPDX-License-Identifier: MIT
/*
 * Dumping and loading objects; see dump.h.
 */
#include "inspect/dump.h"
#include "msg/msgqueue.h"
#include "object/lease.h"
#include "registry/journal/reserve.h"
#include "sem/sem.h"
#include "sem/semop.h"
#include "shm/shmattach.h"

/* ---- locks ---- */

static void lock_slot(struct caller *c, enum facility f, struct slot *s)
{
	if (f == FAC_SEM)
		sem_lock_any(c, s);
	else if (f == FAC_MSG)
		msg_lock_any(c, s);
	else if (f == FAC_MQ)
		mq_lock_any(c, s);
	else
		lock_acquire(c, &s->lock);
}

static void unlock_slot(struct caller *c, enum facility f, struct slot *s)
{
	if (f == FAC_SEM)
		sem_unlock(c, s);
	else
		lock_release(c, &s->lock);
}

/* The object with its lock held; NULL with *ret_err. */
static struct slot *begin(
	struct caller *c, enum facility f, s32 id, int *ret_err)
{
	struct slot *s;
	u64 ident;

	*ret_err = caller_enroll(c);
	if (*ret_err)
		return NULL;
	s = ids_find(c, f, id, &ident);
	*ret_err = -EINVAL;
	if (!s)
		return NULL;
	lock_slot(c, f, s);
	if (atom_load_acquire(&s->ident) == ident && s->body.off)
		return s;
	unlock_slot(c, f, s);
	*ret_err = -EIDRM;
	return NULL;
}

/* ---- permissions ---- */

static void get_perm(const struct slot *s, struct dump_perm *ret)
{
	*ret = (struct dump_perm){.uid = s->uid,
		.gid = s->gid,
		.cuid = s->cuid,
		.cgid = s->cgid,
		.mode = s->mode,
		.ctime = s->ctime};
}

/* Part of the current operation. */
static void set_perm(
	struct caller *c, struct slot *s, const struct dump_perm *p)
{
	journal_set32(c, &s->uid, p->uid);
	journal_set32(c, &s->gid, p->gid);
	journal_set32(c, &s->cuid, p->cuid);
	journal_set32(c, &s->cgid, p->cgid);
	journal_set32(c, &s->mode, p->mode);
	journal_set64(c, (u64 *)&s->ctime, (u64)p->ctime);
}

int dump_perm(struct caller *c, enum facility f, s32 id, struct dump_perm *ret)
{
	struct slot *s;
	int err;

	s = begin(c, f, id, &err);
	if (!s)
		return err;
	get_perm(s, ret);
	unlock_slot(c, f, s);
	return 0;
}

int load_perm(
	struct caller *c, enum facility f, s32 id, const struct dump_perm *p)
{
	struct slot *s;
	int err;

	s = begin(c, f, id, &err);
	if (!s)
		return err;
	set_perm(c, s, p);
	journal_commit(c);
	unlock_slot(c, f, s);
	return 0;
}

/* ---- semaphores ---- */

s64 dump_sems(struct caller *c, s32 id, struct dump_sem *ret, u64 cap)
{
	struct semset *set;
	struct slot *s;
	s64 n;
	u32 i;
	int err;

	s = begin(c, FAC_SEM, id, &err);
	if (!s)
		return err;
	set = sem_body(c, s);
	n = set ? (s64)sem_count(s) : -EINVAL;
	for (i = 0; (s64)i < n && i < cap; i++) {
		struct sem *sem = &sem_array(set)[i];

		/* So that both words are read at one moment. */
		sem_own(sem);
		ret[i] = (struct dump_sem){SEM_VALUE(sem->lo), SEM_PID(sem->lo),
			SEM_OTIME(sem->hi)};
	}
	sem_unlock(c, s);
	return n;
}

int load_sems(struct caller *c, s32 id, const struct dump_sem *sems, u32 n)
{
	struct semset *set;
	struct slot *s;
	u32 i;
	int err;

	s = begin(c, FAC_SEM, id, &err);
	if (!s)
		return err;
	set = sem_body(c, s);
	err = set && s->size == n ? journal_reserve(c, 2 * n + 8) : -EINVAL;
	for (i = 0; !err && i < n; i++) {
		struct sem *sem = &sem_array(set)[i];

		sem_own(sem);
		journal_set64(c, &sem->lo,
			(u64)sems[i].pid << 32 | (sem->lo & 0xffff0000) |
				(sems[i].value & 0x7fff));
		journal_set64(c, &sem->hi, hi_stamp(sem->hi, sems[i].otime));
	}
	journal_commit(c);
	sem_unlock(c, s);
	journal_trim(c);
	return err;
}

/* ---- messages ---- */

struct sink {
	char *to;
	u64 cap, used;
};

/* What does not fit is only counted. */
static void put_message(struct sink *k, s64 type, u64 size, const void *bytes)
{
	u64 space = dump_message_space(size);

	if (bytes && k->used + space <= k->cap) {
		struct dump_message *m = (void *)(k->to + k->used);

		*m = (struct dump_message){type, size};
		__builtin_memcpy((char *)(m + 1), bytes, size);
		__builtin_memset(
			(char *)(m + 1) + size, 0, space - sizeof(*m) - size);
	}
	k->used += space;
}

static void put_msg(struct caller *c, struct msg *m, struct sink *k)
{
	u64 size = m->size;
	const void *text = m->text;

	if (size > MSG_INLINE)
		text = ref_peek(c, msg_block_of(m)->ref, size);
	if (text)
		put_message(k, m->node.key, size, text);
	else
		damage_met(c);
}

/* The oldest lease younger than that. Leased messages are dumped as if put
 * back, for their holder does not exist where the dump is loaded. */
static const struct lease *next_leased(
	const struct caller *c, const struct leases *ls, u64 stamp)
{
	const struct lease *l, *best = NULL;
	struct ref at = ls->used;
	struct walk w = {0};

	for (; (l = lease_step(c, &w, at)); at = l->next)
		if (l->state == LEASE_HELD && l->stamp > stamp &&
			(!best || l->stamp < best->stamp))
			best = l;
	return best;
}

s64 dump_messages(
	struct caller *c, s32 id, struct dump_msgqueue *ret, void *to, u64 cap)
{
	const struct lease *l;
	struct sink k = {to, cap, 0};
	struct walk w = {0};
	struct msgqueue *q;
	struct slot *s;
	struct msg *m;
	int err;

	s = begin(c, FAC_MSG, id, &err);
	if (!s)
		return err;
	q = msg_body(c, s);
	if (q) {
		*ret = (struct dump_msgqueue){
			q->qbytes, q->stime, q->rtime, q->lspid, q->lrpid};
		l = next_leased(c, &q->leases, 0);
		for (m = msg_at(c, (u32)q->ends);
			m && walk_goes_on(c, &w, rbtree_link(c, m));
			m = msg_at(c, m->next)) {
			for (; l && l->stamp < m->stamp;
				l = next_leased(c, &q->leases, l->stamp))
				put_msg(c, msg_must(c, l->msg), &k);
			put_msg(c, m, &k);
		}
		for (; l; l = next_leased(c, &q->leases, l->stamp))
			put_msg(c, msg_must(c, l->msg), &k);
		err = c->damaged ? damage_abort(c) : 0;
	}
	lock_release(c, &s->lock);
	return err ? err : q ? (s64)k.used : -EINVAL;
}

int load_msgqueue(struct caller *c, s32 id, const struct dump_msgqueue *m)
{
	struct msgqueue *q;
	struct slot *s;
	int err;

	s = begin(c, FAC_MSG, id, &err);
	if (!s)
		return err;
	q = msg_body(c, s);
	if (q) {
		journal_set64(c, &q->qbytes, m->qbytes);
		journal_set64(c, (u64 *)&q->stime, (u64)m->stime);
		journal_set64(c, (u64 *)&q->rtime, (u64)m->rtime);
		journal_set32(c, &q->lspid, m->lspid);
		journal_set32(c, &q->lrpid, m->lrpid);
		journal_commit(c);
	}
	lock_release(c, &s->lock);
	return q ? 0 : -EINVAL;
}

/* ---- segments ---- */

int dump_segment(struct caller *c, s32 id, struct dump_segment *ret)
{
	const struct shm_segment *seg;
	struct slot *s;
	int err;

	s = begin(c, FAC_SHM, id, &err);
	if (!s)
		return err;
	seg = shm_body(c, s);
	if (seg)
		*ret = (struct dump_segment){seg->atime, seg->dtime, seg->cpid,
			seg->lpid, (seg->flags & SHM_SEG_NORESERVE) != 0, 0};
	lock_release(c, &s->lock);
	return seg ? 0 : -EINVAL;
}

int load_segment(struct caller *c, s32 id, const struct dump_segment *p)
{
	struct shm_segment *seg;
	struct slot *s;
	int err;

	s = begin(c, FAC_SHM, id, &err);
	if (!s)
		return err;
	seg = shm_body(c, s);
	if (seg) {
		journal_set64(c, (u64 *)&seg->atime, (u64)p->atime);
		journal_set64(c, (u64 *)&seg->dtime, (u64)p->dtime);
		journal_set32(c, &seg->cpid, p->cpid);
		journal_set32(c, &seg->lpid, p->lpid);
		journal_commit(c);
	}
	lock_release(c, &s->lock);
	return seg ? 0 : -EINVAL;
}

/* ---- POSIX queues ---- */

static void put_item(struct caller *c, const struct mqueue *q,
	const struct prioq_walk *walk, struct sink *k)
{
	const struct prioq *p = &q->msgs;
	u32 len = prioq_at(c, p, walk->item)->len;
	const void *bytes = prioq_data(c, p, walk->item);

	if (!p->inline_data && len)
		bytes = ref_peek(
			c, ((const struct prio_block *)bytes)->data, len);
	if (!bytes || len > q->msgsize || len > MQ_HARD_MSGSIZE)
		damage_met(c);
	else
		put_message(k, walk->prio, len, len ? bytes : "");
}

/* Those on lease were first in their priority. */
static void put_leased(struct caller *c, const struct mqueue *q, struct sink *k)
{
	const struct lease *l = next_leased(c, &q->leases, 0);
	const void *bytes;

	for (; l; l = next_leased(c, &q->leases, l->stamp)) {
		bytes = l->len ? ref_peek(c, l->data, l->len) : "";
		if (!bytes || l->len > q->msgsize || l->prio >= MQ_N_PRIOS)
			damage_met(c);
		else
			put_message(k, l->prio, l->len, bytes);
	}
}

/* The queue with its lock held; NULL with *ret_err. `enter`: caller_enroll, or
 * mq_enter of those who store. */
static struct mqueue *begin_mq(struct caller *c, const struct mq_desc *d,
	int (*enter)(struct caller *c), int *ret_err)
{
	struct mqueue *q;

	*ret_err = enter(c);
	if (!*ret_err)
		*ret_err = mq_lock(c, d);
	if (*ret_err)
		return NULL;
	q = mq_body(c, d->s);
	if (q)
		return q;
	lock_release(c, &d->s->lock);
	*ret_err = -EBADF;
	return NULL;
}

s64 dump_mq_messages(struct caller *c, const struct mq_desc *d,
	struct dump_mqueue *ret, void *to, u64 cap)
{
	struct sink k = {to, cap, 0};
	struct prioq_walk walk = {0, 0, 0};
	int err;
	struct mqueue *q = begin_mq(c, d, caller_enroll, &err);

	if (!q)
		return err;
	*ret = (struct dump_mqueue){q->atime, q->mtime, q->ctime, q->ruid, 0};
	put_leased(c, q, &k);
	while (prioq_walk_next(c, &q->msgs, &walk))
		put_item(c, q, &walk, &k);
	err = c->damaged ? damage_abort(c) : 0;
	lock_release(c, &d->s->lock);
	return err ? err : (s64)k.used;
}

int load_mq_room(struct caller *c, const struct mq_desc *d, u32 maxmsg)
{
	int err;
	struct mqueue *q = begin_mq(c, d, mq_enter, &err);

	if (!q)
		return err;
	journal_set32(c, &q->maxmsg, maxmsg);
	journal_commit(c);
	lock_release(c, &d->s->lock);
	return 0;
}

int load_mqueue(struct caller *c, const struct mq_desc *d,
	const struct dump_perm *p, const struct dump_mqueue *m)
{
	int err;
	struct mqueue *q = begin_mq(c, d, mq_enter, &err);

	if (!q)
		return err;
	set_perm(c, d->s, p);
	journal_set32(c, &q->ruid, m->ruid);
	journal_commit(c);
	atom_store_release(&q->atime, m->atime);
	atom_store_release(&q->mtime, m->mtime);
	atom_store_release(&q->ctime, m->ctime);
	lock_release(c, &d->s->lock);
	return 0;
}

/* ---- ids ---- */

/* Was it made since that generation was the next one? An object takes its
 * generation before its ident is stored. */
static int made_since(const struct id_table *t, u64 gen, u64 ident)
{
	return IDENT_GEN(ident) - (u32)gen <
	       (u32)(atom_load_acquire(&t->gen) - gen);
}

/* If others change the registry: only objects not made since gen. */
static u64 list_walk(struct caller *c, enum facility f, struct dump_name *ret,
	u64 cap, u64 gen)
{
	const struct id_table *t = &caller_header(c)->ids[f];
	const struct slot *s;
	u32 idx = 0;
	u64 n = 0, ident;
	s32 key;

	for (; (idx = ids_next(c, f, idx)) < IDX_MAX; idx++) {
		s = region_slot(&c->region, f, idx);
		ident = atom_load_acquire(&s->ident);
		if (!(ident & IDENT_LIVE) ||
			(!c->detached && made_since(t, gen, ident)))
			continue;
		key = s->key;
		atom_compiler_barrier();
		if (!c->detached && atom_load_acquire(&s->ident) != ident)
			continue;
		if (n < cap)
			ret[n] = (struct dump_name){ident, idx, key};
		n++;
	}
	return n;
}

/* Release the facility's lock; if its last owner died, the next one repairs
 * what it left, on which neither idents nor cursors depend. */
static void unlock_fac(struct caller *c, enum facility f, int died)
{
	struct lock *lock = &caller_header(c)->fac_lock[f].lock;

	if (died)
		lock_pass_on(c, lock);
	else
		lock_release(c, lock);
}

s64 dump_list(struct caller *c, enum facility f, struct dump_name *ret, u64 cap,
	struct dump_ids *ret_ids)
{
	struct header *h = caller_header(c);
	const struct id_table *t = &h->ids[f];
	int err = caller_enroll(c), died = 0;
	u64 gen;

	if (err)
		return err;
	if (!c->detached)
		died = lock_acquire(c, &h->fac_lock[f].lock);
	*ret_ids =
		(struct dump_ids){t->seq, t->cursor, t->last_idx, t->next_id};
	gen = t->gen;
	if (!c->detached)
		unlock_fac(c, f, died);
	return (s64)list_walk(c, f, ret, cap, gen);
}

int dump_is_there(
	const struct caller *c, enum facility f, const struct dump_name *name)
{
	const struct slot *s = region_slot(&c->region, f, name->idx);

	return atom_load_acquire(&s->ident) == name->ident;
}

int load_ids(struct caller *c, enum facility f, const struct dump_ids *ids)
{
	struct header *h = caller_header(c);
	struct id_table *t = &h->ids[f];
	const u32 size = 1u << h->idx_bits;
	int err = caller_enroll(c), died;

	if (err)
		return err;
	if (ids->seq > 0x7fffffffu / size || ids->cursor > size ||
		ids->last_idx >= (s32)size || ids->last_idx < -1 ||
		ids->next_id < -1)
		return -EINVAL;
	died = lock_acquire(c, &h->fac_lock[f].lock);
	journal_set32(c, &t->seq, ids->seq);
	journal_set32(c, &t->cursor, ids->cursor);
	journal_set32(c, (u32 *)&t->last_idx, (u32)ids->last_idx);
	journal_commit(c);
	atom_store_release(&t->next_id, ids->next_id);
	unlock_fac(c, f, died);
	return 0;
}
