// SPDX-License-Identifier: MIT
/*
 * One function for all that exited tasks leave; see reap.h.
 */
#include "object/reap.h"
#include "object/sleep.h"
#include "registry/heap.h"
#include "registry/journal/reserve.h"
#include "registry/lock.h"

/* A running child adopts its task at once (shm/shmfork.c); one that is stopped,
 * or starved, does so later, and keeps all that is counted for it until
 * then. */
static int prefork_dead(struct caller *c, struct task *t)
{
	u32 pid = t->pid;

	if ((u32)atom_load_acquire(&t->prefork))
		return task_child_gone(c, t);
	if (pid == c->pid || !identity_process_gone(pid, t->start, 1))
		return 0;
	/* 0: the thread that found it died before it stored that. */
	if (!t->use_seq || task_child_none(c, t))
		return 1;
	if (task_may_have_child(c, t))
		return 0;
	/* Read again: a child that is not looked for any more, since it has
	 * made itself known, has stored its identity here before
	 * (shm/shmfork.c). */
	return !(u32)atom_load_acquire(&t->prefork);
}

/* Result: the task is freed with all that it had; or there is a pass to be
 * made, and then the rest. */
#define REAPED_ALL 2
#define REAPED_SOME 3

static int reap_live(struct caller *c, struct task *t, struct slot **ret_pass)
{
	if (task_gone(c, t)) {
		shm_release_locked(c, t, ~0u);
		*ret_pass = undo_release_locked(c, t);
		if (unlikely(*ret_pass))
			return REAPED_SOME;
		task_free_locked(c, t);
		return REAPED_ALL;
	}
	if (!t->shm_head.off)
		return 0;
	if (task_suspect(t) && task_changed_image(c, t))
		return shm_release_locked(c, t, t->epoch + 1);
	return shm_release_locked(c, t, t->epoch);
}

/* ---- the records of threads ---- */

/* Records read when a task is reaped, beginning anywhere; a cache line each.
 * Arbitrary: memory of others waits for their next owner, or for gc. */
#define RECORD_LOOKS 1024u
/* And per second, for a thread that finds many exited tasks at once, which
 * another user may have forged: milliseconds, added to the microseconds of
 * each. */
#define LOOKS_A_SECOND (64 * RECORD_LOOKS)

static u64 size_of(struct ref ref, u64 size)
{
	return ref.off ? heap_block_size(size) : 0;
}

static u64 held_by(const struct thread *th)
{
	const struct msg_blocks *b = &th->blocks;
	u64 held = size_of(th->waiter.ext, th->waiter.ext_cap) +
		   size_of(th->journal.ext, journal_ext_size(th->journal.cap)) +
		   size_of(th->ready, th->ready_size) +
		   size_of(b->big, b->big_cap);
	u32 t;

	for (t = 0; t < MSG_TIERS; t++)
		held += size_of(b->tier[t], 2048ULL << t);
	return held;
}

/* Free the record's payload blocks, its ext and journal. journal_adopt, part of
 * taking it over, frees spare and ready. */
static u64 record_empty(struct caller *c, u32 idx)
{
	struct thread *th = region_thread(&c->region, idx);
	u64 held = held_by(th);
	u32 own = c->thread;

	if (!task_adopt_record(c, idx))
		return 0;
	if (th->waiter.ext.off)
		heap_free_at(c, th->waiter.ext_cap, &th->waiter.ext);
	msg_release_blocks(c);
	journal_drop(c);
	task_return_record(c, own);
	return held;
}

static u64 record_look(struct caller *c, u32 idx, u32 task, u64 least)
{
	const struct thread *th = region_thread(&c->region, idx);

	if (!idx || idx == c->thread || !region_has_row(&c->region, th) ||
		!region_has_row(&c->region, (const char *)(th + 1) - 1) ||
		(task && th->task != task))
		return 0;
	if (th->waiter.state == WAIT_QUEUED && wait_dead(&th->waiter))
		sleep_remove_dead(c, idx);
	return held_by(th) > least ? record_empty(c, idx) : 0;
}

u64 reap_records(struct caller *c, u32 task, u64 least)
{
	struct header *h = caller_header(c);
	u32 high = atom_load_acquire(&h->thread_high), n, idx;
	u64 freed = 0;

	if (caller_enroll(c) || c->n_held || high > N_THREADS)
		return 0;
	section_begin(c);
	if (task && high > RECORD_LOOKS) {
		idx = atom_add(&h->thread_hint, RECORD_LOOKS) % high;
		for (n = 0; n < RECORD_LOOKS; n++, idx = (idx + 1) % high)
			freed += record_look(c, idx, task, least);
	} else {
		for (idx = 1; (idx = thread_next(&c->region, idx)) < N_THREADS;
			idx++)
			freed += record_look(c, idx, task, least);
	}
	section_end(c);
	return freed;
}

/* May the thread read as many records as one task is worth? */
static int looks_left(struct caller *c)
{
	u64 now = sys_monotonic_ns();

	if (now - c->looks_ns > 1000000000ULL) {
		c->looks_ns = now;
		c->looks = 0;
	}
	if (c->looks >= LOOKS_A_SECOND)
		return 0;
	c->looks += RECORD_LOOKS;
	return 1;
}

/* ---- a task ---- */

/* One hold of the task's lock. */
static int reap_once(struct caller *c, struct task *t, struct slot **ret_pass)
{
	int changed = 0;

	lock_acquire(c, &t->lock);
	if (t->state == TASK_PREFORK && prefork_dead(c, t)) {
		shm_release_locked(c, t, ~0u);
		task_free_locked(c, t);
		changed = 1;
	} else if (t->state == TASK_LIVE) {
		changed = reap_live(c, t, ret_pass);
	}
	lock_release(c, &t->lock);
	return changed;
}

int reap_task_unheld(struct caller *c, u32 task)
{
	struct task *t = region_task(&c->region, task);
	int waits;

	if (!lock_try(c, &t->lock))
		return 0;
	waits = shm_release_waits(c, t) || undo_release_waits(c, t);
	lock_release(c, &t->lock);
	return waits ? 0 : reap_task(c, task);
}

int reap_task(struct caller *c, u32 task)
{
	struct task *t = region_task(&c->region, task);
	const struct header *h = caller_header(c);
	int changed, some = 0;
	struct slot *pass = NULL;

	while ((changed = reap_once(c, t, &pass)) == REAPED_SOME) {
		undo_pass_left(c, pass);
		some = 1;
	}
	/* The kernel woke one sleeper only. Those that the undo lets through
	 * are woken by now, in its order. */
	if (changed == REAPED_ALL) {
		sys_futex_wake(&t->life, 0x7fffffff);
		if (looks_left(c))
			reap_records(c, task, HEAP_OWN_MOST);
	}
	changed |= some;
	if (changed && (h->shm.dest || h->shm.pool))
		shm_sweep_empty(c);
	return changed != 0;
}
