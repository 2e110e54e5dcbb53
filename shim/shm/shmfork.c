// SPDX-License-Identifier: MIT
/*
 * Attachments over fork; see shmfork.h.
 */
#include "shm/shmattach.h"
#include "shm/shmfork.h"
#include "registry/heap.h"

/* Is e counted for t already? A thread that attaches at the same address again
 * and again during one fork must count once, for the child has it once. */
static int has_record(
	struct caller *c, const struct task *t, const struct shm_entry *e)
{
	const struct shm_attach *rec;
	struct walk w = {0};

	for (rec = shm_attach_at(c, t->shm_head);
		rec && shm_attach_walk(c, &w, rec);
		rec = shm_attach_at(c, rec->task_next))
		if (rec->ident == e->ident &&
			SHM_ATTACH_ADDR(rec->addr) == e->addr)
			return 1;
	return 0;
}

/* A record in task t for each of the process's attachments: 0, or -ENOMEM. again:
 * some are there. Own task's lock and t's are held. */
static int copy_records(struct caller *c, struct task *t, int again)
{
	struct shm_attach *rec;
	struct shm_entry *e;
	struct slot *s;
	u32 at = 0, n;

	while ((e = shm_entry_each(c->shm, &at))) {
		n = e->ident ? shm_entry_count_fork(c->shm, e) : 0;
		if (!n || (unlikely(again) && has_record(c, t, e)))
			continue;
		rec = shm_record_new(c, t);
		if (!rec)
			return -ENOMEM;
		s = region_slot(&c->region, FAC_SHM, e->slot_idx);
		lock_acquire(c, &s->lock);
		if (s->ident == e->ident)
			shm_record_link(c, t, s, rec, e, n, c->pid);
		lock_release(c, &s->lock);
	}
	return 0;
}

/* Make a task for a child that is about to exist; task 0 if there is none. No lock
 * may be held but the own task's or a dead one's. */
static struct shm_fork make_task(struct caller *c)
{
	struct shm_fork f = {task_claim_prefork(c), 0};

	if (f.task) {
		f.nonce = (u32)atom_add(&caller_header(c)->stamp, 1);
		atom_store_release(
			&region_task(&c->region, f.task)->image, image_own(c));
		atom_store_release(&region_task(&c->region, f.task)->prefork,
			(u64)f.nonce << 32);
	}
	return f;
}

static int count_child(struct caller *c, struct shm_forking *fork,
	struct shm_fork *ret, int again)
{
	struct task *t;
	int err = 0;

	section_begin(c);
	task_lock_own(c);
	/* With the lock: whoever was attaching is done, or has made a task. */
	if (fork && !again)
		*ret = fork->f;
	if (!ret->task && c->shm->n_used)
		*ret = make_task(c);
	if (ret->task) {
		t = region_task(&c->region, ret->task);
		lock_acquire(c, &t->lock);
		err = copy_records(c, t, again);
		lock_release(c, &t->lock);
		if (fork)
			fork->f = *ret;
	} else if (c->shm->n_used) {
		err = -ENOMEM;
	}
	lock_release(c, &task_own(c)->lock);
	section_end(c);
	return err;
}

int shm_fork_prepare(
	struct caller *c, struct shm_forking *fork, struct shm_fork *ret)
{
	int err;

	*ret = (struct shm_fork){0, 0};
	if (caller_enroll(c))
		return -ENOMEM;
	/* Reap exited tasks first, as before any change of attachments. */
	shm_order_range(c, 0, ~0ULL);
	err = count_child(c, fork, ret, 0);
	if (likely(!err))
		return 0;
	/* The space of children that were killed before their first call: they
	 * had no lifeline that would tell of them. */
	shm_reap_own(c);
	return count_child(c, fork, ret, 1);
}

/* ---- announced forks, and threads that attach meanwhile ---- */

/* How long an attaching thread waits for another's fork; arbitrary. */
#define FORK_WAIT_NS 100000000LL
#define FORK_NAP_NS 50000

static u64 this_thread(void)
{
	return (u64)(uintptr_t)arch_thread_pointer();
}

/* An announcement of this thread that was left by siglongjmp out of the fork: its
 * frame is below ours. (That of a fork which this handler interrupted is above.) */
static int abandoned(const struct shm_forking *fork, u64 self, u64 frame)
{
	return fork->owner == self && fork->frame <= frame &&
	       frame - fork->frame < 8 << 20;
}

struct shm_forking *shm_fork_at(struct shm_process *p, u32 i)
{
	struct shm_more_forks *more;

	if (likely(i < SHM_FORKS))
		return &p->forks[i];
	more = atom_load_acquire(&p->more_forks);
	for (i -= SHM_FORKS; more && i >= SHM_FORKS_PAGE; i -= SHM_FORKS_PAGE)
		more = atom_load_acquire(&more->next);
	return more ? &more->forks[i] : NULL;
}

/* Append a page to the list; threads and handlers may do so at once. 0, or
 * -ENOMEM. */
static __attribute__((noinline)) int more_forks(struct shm_process *p)
{
	struct shm_more_forks *page = sys_mmap_private(SYS_PAGE), *seen;
	struct shm_more_forks **link = &p->more_forks;

	if ((unsigned long)page > -4096UL)
		return -ENOMEM;
	while (seen = NULL, !atom_cas(link, &seen, page))
		link = &seen->next;
	return 0;
}

/* NULL: all are in use. */
static struct shm_forking *announce(struct shm_process *p, u64 frame)
{
	u64 self = this_thread(), seen;
	struct shm_forking *fork;
	u32 i;

	for (i = 0; (fork = shm_fork_at(p, i)); i++) {
		seen = 0;
		if (abandoned(fork, self, frame))
			__atomic_fetch_sub(&p->n_forks, 1, __ATOMIC_RELAXED);
		else if (!atom_cas(&fork->owner, &seen, self))
			continue;
		fork->f = (struct shm_fork){0, 0};
		fork->frame = frame;
		fork->since_ns = sys_monotonic_ns();
		fork->serial = atom_add(&p->fork_serial, 1);
		atom_store_release(&fork->over, 0);
		/* Pairs with shm_change_begin: a full barrier. */
		__atomic_fetch_add(&p->n_forks, 1, __ATOMIC_SEQ_CST);
		return fork;
	}
	return NULL;
}

struct shm_forking *shm_fork_begin(struct shm_process *p)
{
	u64 frame = (u64)(uintptr_t)__builtin_frame_address(0);
	struct shm_forking *fork;

	while (!(fork = announce(p, frame)))
		if (more_forks(p))
			return NULL;
	return fork;
}

int shm_fork_over(struct shm_process *p, struct shm_forking *fork)
{
	/* A thread that began to attach before this store set `changing` before
	 * it looked for forks, so it is seen here; one that begins later sees
	 * `over` and makes no task. */
	__atomic_store_n(&fork->over, 1, __ATOMIC_SEQ_CST);
	return shm_fork_concerns(p) || atom_load_acquire(&fork->f.task);
}

struct shm_fork shm_fork_result(struct caller *c, struct shm_forking *fork)
{
	struct shm_fork f;

	/* A thread that attaches and has not seen `over` holds the lock. */
	task_lock_own(c);
	f = fork->f;
	lock_release(c, &task_own(c)->lock);
	return f;
}

void shm_fork_end(struct shm_process *p, struct shm_forking *fork)
{
	__atomic_fetch_sub(&p->n_forks, 1, __ATOMIC_RELAXED);
	atom_store_release(&fork->owner, 0);
}

static int in_use(const struct shm_forking *fork)
{
	return atom_load_acquire(&fork->owner) &&
	       !atom_load_acquire(&fork->over);
}

/* 1 if another thread's fork is under way that may be over soon. */
static int must_wait(struct caller *c)
{
	u64 now = sys_monotonic_ns(), self = this_thread();
	const struct shm_forking *fork;
	u32 i;

	for (i = 0; (fork = shm_fork_at(c->shm, i)); i++)
		/* It may have begun after `now`. */
		if (in_use(fork) && fork->owner != self &&
			(s64)(now - fork->since_ns) < FORK_WAIT_NS)
			return 1;
	return 0;
}

static __attribute__((noinline)) void make_tasks(struct caller *c)
{
	struct shm_forking *fork;
	struct shm_fork f;
	u32 i;

	/* The child inherits what identifies this process: so find it out now. */
	task_check_lifeline(c);
	for (i = 0; (fork = shm_fork_at(c->shm, i)); i++) {
		if (!in_use(fork) || fork->f.task)
			continue;
		f = make_task(c);
		/* The child may be made between the two. */
		fork->f.nonce = f.nonce;
		atom_store_release(&fork->f.task, f.task);
	}
}

void shm_change_begin(struct caller *c)
{
	const struct sys_timespec nap = {0, FORK_NAP_NS};

	for (;;) {
		task_lock_own(c);
		shm_table_begin(c->shm);
		__atomic_store_n(&c->shm->changing, 1, __ATOMIC_SEQ_CST);
		if (likely(!__atomic_load_n(
			    &c->shm->n_forks, __ATOMIC_SEQ_CST)))
			return;
		if (!must_wait(c)) {
			make_tasks(c);
			return;
		}
		shm_change_end(c);
		sys_call(__NR_nanosleep, &nap, NULL);
	}
}

void shm_change_end(struct caller *c)
{
	atom_store_release(&c->shm->changing, 0);
	shm_table_end(c->shm);
	lock_release(c, &task_own(c)->lock);
}

static int is_mine(const struct task *t, const struct shm_fork *f)
{
	return t->state == TASK_PREFORK && t->prefork >> 32 == f->nonce;
}

static __attribute__((noinline)) void attach_for(struct caller *c,
	const struct shm_fork *f, struct slot *s, const struct shm_entry *e)
{
	struct task *t = region_task(&c->region, f->task);
	struct shm_attach *rec;

	lock_acquire(c, &t->lock);
	rec = is_mine(t, f) && !has_record(c, t, e) ? shm_record_new(c, t)
						    : NULL;
	if (rec) {
		lock_acquire(c, &s->lock);
		if (s->ident == e->ident)
			shm_record_link(c, t, s, rec, e, 1, c->pid);
		lock_release(c, &s->lock);
	}
	lock_release(c, &t->lock);
}

void shm_attach_for_forks(
	struct caller *c, struct slot *s, const struct shm_entry *e)
{
	struct shm_forking *fork;
	u32 i;

	if (likely(!c->shm->n_forks))
		return;
	for (i = 0; (fork = shm_fork_at(c->shm, i)); i++)
		if (in_use(fork) && fork->f.task)
			attach_for(c, &fork->f, s, e);
}

struct shm_fork shm_found_begin(struct caller *c)
{
	struct shm_fork f = make_task(c);
	struct task *t = region_task(&c->region, f.task);

	/* Until shm_found_end names the child, it counts as ours, and is dropped
	 * if we die. */
	if (f.task) {
		atom_store_release(&t->image, 0);
		atom_store_release(&t->use_seq, 0);
	}
	return f;
}

void shm_found_has(struct caller *c, const struct shm_fork *f, struct slot *s,
	const struct shm_entry *e)
{
	if (f->task)
		attach_for(c, f, s, e);
}

void shm_found_end(
	struct caller *c, const struct shm_fork *f, u32 child, u64 image)
{
	struct task *t = region_task(&c->region, f->task);
	struct sys_process p;

	if (!f->task)
		return;
	/* Note now what identifies the child, since its parent may be gone. */
	atom_store_release(
		&t->mm, sys_process_read(child, 0, &p) ? p.stack : 0);
	atom_store_release(&t->life_birth, identity_birth(child));
	atom_store_release(&t->image, image);
	atom_store_release(&t->prefork, (u64)f->nonce << 32 | child);
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

/* Note which child it is, with its birth, for its pid may be reused before the
 * child has said anything. 0 if it is gone. */
static int note_child(struct caller *c, const struct shm_fork *f, u32 child)
{
	struct task *t = region_task(&c->region, f->task);
	u64 seen = (u64)f->nonce << 32, birth;

	if (!is_mine(t, f))
		return 1;
	birth = identity_birth(child);
	if (!birth && sys_call(__NR_kill, child, 0) == -ESRCH)
		return 0;
	/* By now the child may have taken its records, and the task be another's.
	 */
	lock_acquire(c, &t->lock);
	if (is_mine(t, f)) {
		atom_store_release(&t->life_birth, birth);
		atom_cas(&t->prefork, &seen, seen | child);
	}
	lock_release(c, &t->lock);
	return 1;
}

void shm_fork_parent(struct caller *c, const struct shm_fork *f, s32 child)
{
	if (f->task && (child < 0 || !note_child(c, f, (u32)child)))
		give_up(c, f);
}

/* Journal entries that adopt_some needs besides two a record. */
#define ADOPT_ENTRIES 8

/* Move the first of t's records to the own task, as many as the journal has
 * space for: an operation of its own. Both tasks' locks are held. Should we die
 * between two, what is still t's goes as that of a child that is gone. */
static void adopt_some(struct caller *c, struct task *t, struct walk *w)
{
	struct task *own = task_own(c);
	struct ref first = t->shm_head, next = first;
	struct shm_attach *rec, *last = NULL;

	while (journal_left(c) >= ADOPT_ENTRIES &&
		(rec = shm_attach_at(c, next)) && shm_attach_walk(c, w, rec)) {
		journal_set32(c, &rec->task, c->task);
		journal_set32(c, &rec->epoch, own->epoch);
		next = rec->task_next;
		last = rec;
	}
	if (last) {
		journal_set_ref(c, &last->task_next, own->shm_head);
		journal_set_ref(c, &own->shm_head, first);
	} else {
		next.off = 0; /* a damaged list */
	}
	journal_set_ref(c, &t->shm_head, next);
	journal_commit(c);
}

/* The own task may have free records that an earlier process left. */
static void adopt_free(struct caller *c, struct task *t)
{
	struct task *own = task_own(c);
	struct shm_attach *rec, *last = NULL;
	struct walk w = {0};

	for (rec = shm_attach_at(c, t->shm_free);
		rec && shm_attach_walk(c, &w, rec);
		rec = shm_attach_at(c, rec->free_next))
		last = rec;
	if (last) {
		journal_set_ref(c, &last->free_next, own->shm_free);
		journal_set_ref(c, &own->shm_free, t->shm_free);
	}
	journal_set_ref(c, &t->shm_free, (struct ref){0});
	journal_commit(c);
}

/* Without more journal than every thread has, for there may be no space. */
static void take_over(struct caller *c, const struct shm_fork *f)
{
	struct task *t = region_task(&c->region, f->task), *own = task_own(c);
	struct walk w = {0};

	lock_acquire(c, &own->lock);
	lock_acquire(c, &t->lock);
	if (is_mine(t, f)) {
		while (t->shm_head.off)
			adopt_some(c, t, &w);
		adopt_free(c, t);
		if (t->spare.off)
			heap_free_at(c, t->spare_size, &t->spare);
		task_free_locked(c, t);
	}
	lock_release(c, &t->lock);
	lock_release(c, &own->lock);
}

/* Unmap e: the segment is gone, or there is no memory for a record. */
static void take_away(struct caller *c, struct shm_entry *e)
{
	shm_unmap(c, e);
	shm_entry_remove(c->shm, e);
}

/* Make a record for an entry that has none: 0, or -errno. The own task's lock is
 * held. */
static int make_record(struct caller *c, struct shm_entry *e)
{
	struct task *own = task_own(c);
	struct shm_attach *rec = shm_record_new(c, own);
	struct slot *s = region_slot(&c->region, FAC_SHM, e->slot_idx);
	int err = 0;

	if (!rec)
		return -ENOMEM;
	e->rec = region_off(&c->region, rec);
	lock_acquire(c, &s->lock);
	if (s->ident == e->ident && shm_body(c, s))
		shm_record_link(
			c, own, s, rec, e, shm_entry_count(c->shm, e), c->pid);
	else
		err = -EIDRM;
	lock_release(c, &s->lock);
	return err;
}

/* The inherited table's entries refer to the parent's records: find this process's
 * record for each entry, and make those that are missing. */
static void bind_entries(struct caller *c)
{
	struct task *own = task_own(c);
	struct shm_attach *rec;
	struct shm_entry *e;
	struct walk w = {0};
	u32 at = 0, n;

	while ((e = shm_entry_each(c->shm, &at)))
		e->rec = 0;
	for (rec = shm_attach_at(c, own->shm_head);
		rec && shm_attach_walk(c, &w, rec);
		rec = shm_attach_at(c, rec->task_next)) {
		e = rec->ident ? shm_entry_unbound(c->shm,
					 SHM_ATTACH_ADDR(rec->addr), rec->ident)
			       : NULL;
		if (e) {
			e->rec = region_off(&c->region, rec);
			n = shm_entry_count(c->shm, e);
			if (n != rec->count)
				shm_record_recount(c, rec, n, 0, 0);
		} else if (rec->ident) {
			shm_record_unlink(c, own, rec, c->pid);
		}
	}
	at = 0;
	while ((e = shm_entry_each(c->shm, &at)))
		if (!e->rec && e->ident && make_record(c, e))
			take_away(c, e);
}

/* Put our pid in the prefork record, before we have a task of our own: else, if
 * the parent is dead, it would look as if there were no child. */
static void say_who(struct caller *c, const struct shm_fork *f)
{
	struct task *t = region_task(&c->region, f->task);
	u64 seen = (u64)f->nonce << 32, birth;

	atom_cas(&t->prefork, &seen, seen | c->pid);
	/* If the parent has found out our birth (note_child), that spares us
	 * three system calls. */
	birth = atom_load_acquire(&t->life_birth);
	if ((birth & BIRTH_INODE) && is_mine(t, f) &&
		(u32)atom_load_acquire(&t->prefork) == c->pid)
		identity_learned(c->pid, birth);
}

/* What was announced for the fork that made this child: the latest of this
 * thread's, for a handler may have forked within a fork. */
static struct shm_fork announced(
	struct shm_process *p, const struct shm_fork *f)
{
	const struct shm_forking *fork = NULL, *one;
	u64 self = this_thread();
	u32 i;

	for (i = 0; p->n_forks && (one = shm_fork_at(p, i)); i++)
		if (in_use(one) && one->owner == self &&
			(!fork || (s32)(one->serial - fork->serial) > 0))
			fork = one;
	return fork ? fork->f : *f;
}

/* The records become this process's own. Without one for its thread it waits: the
 * prefork record goes on to count for it, or, where there is none, its parent's
 * image lock, which it keeps, tells that somebody has what the parent had. */
static int succeed(struct caller *c, const struct shm_fork *f)
{
	struct shm_process *p = c->shm;
	int err = caller_enroll(c);

	if (unlikely(err)) {
		p->unbound = *f;
		p->is_unbound = 1;
		return err;
	}
	/* Before the task has any record: they are dropped when its lifeline
	 * fires. */
	task_check_lifeline(c);
	shm_image_succeed(c);
	task_lock_own(c);
	shm_image_make(c);
	lock_release(c, &task_own(c)->lock);
	if (f->task)
		take_over(c, f);
	task_lock_own(c);
	bind_entries(c);
	lock_release(c, &task_own(c)->lock);
	/* Last: until now it may be counted as a child not seen to be made. */
	image_leave(c->generation);
	return 0;
}

void shm_fork_child(struct caller *c, const struct shm_fork *prepared)
{
	struct shm_process *p = c->shm;
	struct shm_fork f = announced(p, prepared);

	p->is_unbound = 0;
	if (f.task)
		say_who(c, &f);
	shm_child_finish(c);
	if (p->n_used || f.task)
		succeed(c, &f);
	else
		image_leave(c->generation);
}

int shm_fork_again(struct caller *c)
{
	const struct shm_fork f = c->shm->unbound;

	if (likely(!c->shm->is_unbound))
		return 0;
	c->shm->is_unbound = 0;
	return succeed(c, &f);
}
