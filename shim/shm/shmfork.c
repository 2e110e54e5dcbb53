// SPDX-License-Identifier: MIT
/*
 * Attachments over fork; see shmfork.h.
 */
#include "shm/shmattach.h"
#include "shm/shmfork.h"
#include "shm/shmhost.h"
#include "registry/heap.h"

/* A record in task t for each of the process's attachments. Own task's lock
 * and t's are held. */
static void copy_records(struct caller *c, struct task *t, u32 pid)
{
	struct shm_attach *rec;
	struct shm_entry *e;
	struct slot *s;
	u32 at = 0, n;

	while ((e = shm_entry_each(c->shm, &at))) {
		n = e->ident ? shm_entry_count_fork(c->shm, e) : 0;
		if (!n)
			continue;
		rec = shm_record_new(c, t);
		if (!rec)
			return;
		s = region_slot(&c->region, FAC_SHM, e->slot_idx);
		lock_acquire(c, &s->lock);
		if (s->ident == e->ident)
			shm_record_link(c, t, s, rec, e, n, pid);
		lock_release(c, &s->lock);
	}
}

void shm_fork_prepare(struct caller *c, struct shm_fork *ret)
{
	struct task *t;
	u32 idx;

	*ret = (struct shm_fork){0, 0};
	if (!c->shm->n_used || caller_enroll(c))
		return;
	/* The dead first, here too. */
	shm_host_order(c, 0, ~0ULL);
	section_begin(c);
	idx = task_claim_nascent(c);
	if (!idx) {
		section_end(c);
		return;
	}
	t = region_task(&c->region, idx);
	task_lock_own(c);
	lock_acquire(c, &t->lock);
	ret->task = idx;
	ret->nonce = (u32)atom_add(&caller_header(c)->stamp, 1);
	atom_store_release(&t->nascent, (u64)ret->nonce << 32);
	copy_records(c, t, c->pid);
	lock_release(c, &t->lock);
	lock_release(c, &task_own(c)->lock);
	section_end(c);
}

static int is_mine(const struct task *t, const struct shm_fork *f)
{
	return t->state == TASK_NASCENT && t->nascent >> 32 == f->nonce;
}

static void give_up(struct caller *c, const struct shm_fork *f)
{
	struct task *t = region_task(&c->region, f->task);

	lock_acquire(c, &t->lock);
	if (is_mine(t, f)) {
		shm_release_locked(c, t, ~0u);
		task_free_locked(c, t);
	}
	lock_release(c, &t->lock);
	shm_sweep(c);
}

void shm_fork_parent(struct caller *c, const struct shm_fork *f, s32 child)
{
	struct task *t = region_task(&c->region, f->task);
	u64 seen = (u64)f->nonce << 32;

	if (!f->task)
		return;
	if (child < 0) {
		give_up(c, f);
		return;
	}
	/* By now the child may have taken it over, and it be another's. */
	lock_acquire(c, &t->lock);
	if (is_mine(t, f))
		atom_store_release(&t->life_birth, sys_boottime_ns());
	lock_release(c, &t->lock);
	atom_cas(&t->nascent, &seen, seen | (u32)child);
}

/* Move the chain of t, and its records, to the own task: one operation. Both
 * locks are held. The own task may have records of an earlier process, for use.
 */
static void adopt(struct caller *c, struct task *t)
{
	struct task *own = task_own(c);
	struct shm_attach *rec, *last = NULL, *last_free = NULL;

	for (rec = shm_attach_at(c, t->shm_head); rec;
		rec = shm_attach_at(c, rec->task_next)) {
		journal_set32(c, &rec->task, c->task);
		journal_set32(c, &rec->epoch, own->epoch);
		last = rec;
	}
	for (rec = shm_attach_at(c, t->shm_free); rec;
		rec = shm_attach_at(c, rec->free_next))
		last_free = rec;
	if (last) {
		journal_set_ref(c, &last->task_next, own->shm_head);
		journal_set_ref(c, &own->shm_head, t->shm_head);
	}
	if (last_free) {
		journal_set_ref(c, &last_free->free_next, own->shm_free);
		journal_set_ref(c, &own->shm_free, t->shm_free);
	}
	journal_set_ref(c, &t->shm_head, (struct ref){0});
	journal_set_ref(c, &t->shm_free, (struct ref){0});
	journal_commit(c);
}

static u32 chain_length(struct caller *c, const struct task *t)
{
	struct shm_attach *rec;
	u32 n = 0;

	for (rec = shm_attach_at(c, t->shm_head); rec;
		rec = shm_attach_at(c, rec->task_next))
		n++;
	return n;
}

static void take_over(struct caller *c, const struct shm_fork *f)
{
	struct task *t = region_task(&c->region, f->task), *own = task_own(c);
	u32 n;

	lock_acquire(c, &own->lock);
	lock_acquire(c, &t->lock);
	n = chain_length(c, t);
	if (is_mine(t, f) && !journal_reserve(c, 2 * n + 8)) {
		adopt(c, t);
		if (t->spare.off)
			heap_free_at(c, t->spare_size, &t->spare);
		task_free_locked(c, t);
	}
	lock_release(c, &t->lock);
	lock_release(c, &own->lock);
}

/* The table's entries name records of the parent: find the own one of each,
 * and make those that are missing. */
static void bind_entries(struct caller *c)
{
	struct task *own = task_own(c);
	struct shm_attach *rec;
	struct shm_entry *e;
	struct slot *s;
	u32 at = 0;

	while ((e = shm_entry_each(c->shm, &at)))
		e->rec = 0;
	for (rec = shm_attach_at(c, own->shm_head); rec;
		rec = shm_attach_at(c, rec->task_next)) {
		e = rec->ident ? shm_entry_unbound(c->shm,
					 SHM_ATTACH_ADDR(rec->addr), rec->ident)
			       : NULL;
		if (e)
			e->rec = region_off(&c->region, rec);
		else if (rec->ident)
			shm_record_unlink(c, own, rec, c->pid);
	}
	at = 0;
	while ((e = shm_entry_each(c->shm, &at))) {
		if (e->rec || !e->ident)
			continue;
		rec = shm_record_new(c, own);
		if (!rec)
			return;
		s = region_slot(&c->region, FAC_SHM, e->slot_idx);
		e->rec = region_off(&c->region, rec);
		lock_acquire(c, &s->lock);
		if (s->ident == e->ident)
			shm_record_link(c, own, s, rec, e,
				shm_entry_count(c->shm, e), c->pid);
		lock_release(c, &s->lock);
	}
}

/* What the host kept from its children (MADV_DONTFORK) is not there. */
static void drop_unforked(struct caller *c, struct shm_entry *e)
{
	struct shm_process *p = c->shm;
	u64 from, to;
	u32 i;

	for (i = e->frags; i; i = p->frags[i].next) {
		from = p->frags[i].from;
		to = p->frags[i].to;
		if (from == to || !(p->frags[i].attr & SHM_ATTR_DONTFORK))
			continue;
		if (e->kind != SHM_DUPLICATE)
			shm_restore_home(c, e->addr + from * SYS_PAGE,
				(to - from) * SYS_PAGE);
		p->frags[i].to = from;
	}
	if (!shm_entry_count(p, e))
		shm_entry_remove(p, e);
}

/* What another thread of the parent was in the middle of. */
static void finish_changes(struct caller *c)
{
	struct shm_process *p = c->shm;
	u32 i;

	for (i = 1; i < p->high; i++) {
		struct shm_entry *e = &p->entries[i];

		if (e->state == SHM_UNMAPPING)
			shm_unmap(c, e);
		if (e->state != SHM_USED)
			e->state = SHM_UNUSED;
	}
	for (i = 0; i < 2; i++)
		if (p->tried[i] == HOME_IN_WORK)
			p->tried[i] = HOME_UNKNOWN;
	if (p->cap)
		shm_table_rebuild(p);
	for (i = 1; i < p->high; i++)
		if (p->entries[i].state == SHM_USED && p->entries[i].frags)
			drop_unforked(c, &p->entries[i]);
}

/* Its parent may be dead, and whoever looks for the child must not find none
 * while it is on its way: before it makes itself known. */
static void say_who(struct caller *c, const struct shm_fork *f)
{
	u64 seen = (u64)f->nonce << 32;

	atom_cas(&region_task(&c->region, f->task)->nascent, &seen,
		seen | c->pid);
}

void shm_fork_child(struct caller *c, const struct shm_fork *f)
{
	if (f->task)
		say_who(c, f);
	finish_changes(c);
	if (!c->shm->n_used || caller_enroll(c))
		return;
	/* Before the task has any record: a lifeline is what ends them. */
	task_check_lifeline(c);
	if (f->task)
		take_over(c, f);
	task_lock_own(c);
	bind_entries(c);
	lock_release(c, &task_own(c)->lock);
}
