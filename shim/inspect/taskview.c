// SPDX-License-Identifier: MIT
/*
 * Reading tasks; see taskview.h.
 */
#include "inspect/taskview.h"

#include <time.h>
#include <unistd.h>

#include "shm/shmattach.h"
#include "sem/undo.h"

/* Only for tasks that are claimed: the page of another may be a hole. */
static int is_of_task(struct caller *c, const struct thread *th, u32 task)
{
	return task_may_be_read(c, task) &&
	       region_task(&c->region, task)->start == th->start;
}

/* The threads of the tasks from w->at on. */
static void count_threads(struct caller *c, struct task_walk *w)
{
	u32 i = 1;

	*w = (struct task_walk){w->at, w->at, w->at + TASK_WALK_STEP, {0}};
	for (; (i = thread_next(&c->region, i)) < N_THREADS; i++) {
		const struct thread *th = region_thread(&c->region, i);
		u32 tid = atom_load_acquire(&th->tid),
		    task = atom_load_relaxed(&th->task);

		if (tid && task - w->from < TASK_WALK_STEP && task < N_TASKS &&
			is_of_task(c, th, task) &&
			!identity_thread_gone(tid, th->birth))
			w->threads[task - w->from]++;
	}
}

static u32 life_of(const struct task *t)
{
	u32 life = atom_load_acquire(&t->life);

	if (!life)
		return TASK_LIFE_NONE;
	if ((life & SYS_OWNER_DIED) && !t->life_tid)
		return TASK_LIFE_REFUSED;
	return task_suspect(t) ? TASK_LIFE_FIRED : TASK_LIFE_LINKED;
}

/* Start time in clock ticks; of a prefork task its parent's. */
static u64 started(const struct task *t)
{
	u64 birth = t->start;

	if (!(birth & BIRTH_INODE))
		return birth;
	return identity_birth(t->pid) == birth ? sys_start_time(t->pid, NULL)
					       : 0;
}

/* Clock ticks since boot as seconds since 1970; 0 if it is not known. */
static s64 realtime_of(u64 ticks)
{
	struct timespec boot, now;
	long hz = sysconf(_SC_CLK_TCK);
	s64 booted; /* with its fraction, which may make a second */

	if (!ticks || hz <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) ||
		clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	booted = (now.tv_sec - boot.tv_sec) * 1000000000ll + now.tv_nsec -
		 boot.tv_nsec;
	return (booted + (s64)(ticks * (1000000000ull / (u64)hz))) /
	       1000000000ll;
}

/* The task's lock is held. */
static void fill(struct caller *c, const struct task *t, struct task_view *v)
{
	const struct shm_attach *rec;
	const struct undo *u;
	struct walk w = {0}, x = {0};

	v->pid = t->pid;
	v->state = t->state;
	v->child = t->state == TASK_PREFORK ? (u32)t->prefork : 0;
	v->start = started(t);
	v->life = life_of(t);
	v->life_tid = v->life == TASK_LIFE_NONE ? 0 : t->life_tid;
	v->epoch = t->epoch;
	for (u = undo_at(c, t->undo_head); u && undo_walk(c, &w, u);
		u = undo_at(c, u->task_next))
		v->n_undo += u->ident != 0;
	for (rec = shm_attach_at(c, t->shm_head);
		rec && shm_attach_walk(c, &x, rec);
		rec = shm_attach_at(c, rec->task_next))
		v->n_attach += rec->ident != 0;
}

int task_view_next(struct caller *c, struct task_walk *w, struct task_view *ret)
{
	int err = caller_enroll(c);

	if (err)
		return err;
	while ((w->at = task_next(c, w->at)) < N_TASKS) {
		struct task *t = region_task(&c->region, w->at);

		if (w->at >= w->counted)
			count_threads(c, w);
		*ret = (struct task_view){.idx = w->at++};
		lock_acquire(c, &t->lock);
		if (t->pid && t->state != TASK_FREE)
			fill(c, t, ret);
		lock_release(c, &t->lock);
		if (!ret->pid)
			continue;
		ret->started = realtime_of(ret->start);
		ret->gone = ret->state == TASK_LIVE && task_gone(c, t);
		if (!ret->gone)
			ret->n_threads = w->threads[ret->idx - w->from];
		return 1;
	}
	return 0;
}
