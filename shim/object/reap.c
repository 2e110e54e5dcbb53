// SPDX-License-Identifier: MIT
/*
 * One function for all that the dead leave; see reap.h.
 */
#include "object/reap.h"
#include "registry/lock.h"

/* Arbitrary: how long after a fork was begun whose parent died in it a child
 * of it may still turn up. */
#define PREFORK_GRACE_NS 5000000000ULL

/* A child that runs adopts its task at once (shm/shmfork.c). */
static int prefork_dead(struct caller *c, struct task *t)
{
	u32 pid = t->pid;

	if ((u32)atom_load_acquire(&t->prefork))
		return task_child_gone(c, t);
	if (pid == c->pid || !identity_process_gone(pid, t->start, 1))
		return 0;
	if (sys_boottime_ns() - t->use_seq > PREFORK_GRACE_NS)
		return 1;
	if (task_may_have_child(c, t))
		return 0;
	/* Asked again: one that is not looked for any more, since it has made
	 * itself known, has said here who it is before (shm/shmfork.c). */
	return !(u32)atom_load_acquire(&t->prefork);
}

/* The task is gone, with all that it had. */
#define REAPED_ALL 2

static int reap_live(struct caller *c, struct task *t)
{
	if (task_gone(c, t)) {
		shm_release_locked(c, t, ~0u);
		undo_release_locked(c, t);
		task_free_locked(c, t);
		return REAPED_ALL;
	}
	if (!t->shm_head.off)
		return 0;
	if (task_suspect(t) && task_changed_image(c, t))
		return shm_release_locked(c, t, t->epoch + 1);
	return shm_release_locked(c, t, t->epoch);
}

int reap_task(struct caller *c, u32 task)
{
	struct task *t = region_task(&c->region, task);
	const struct header *h = caller_header(c);
	int changed = 0;

	lock_acquire(c, &t->lock);
	if (t->state == TASK_PREFORK && prefork_dead(c, t)) {
		shm_release_locked(c, t, ~0u);
		task_free_locked(c, t);
		changed = 1;
	} else if (t->state == TASK_LIVE) {
		changed = reap_live(c, t);
	}
	lock_release(c, &t->lock);
	/* The kernel woke one sleeper only. Those whom the undo lets go are
	 * woken by now, in its order. */
	if (changed == REAPED_ALL)
		sys_futex_wake(&t->life, 0x7fffffff);
	if (changed && (h->shm.dest || h->shm.pool))
		shm_sweep_empty(c);
	return changed != 0;
}
