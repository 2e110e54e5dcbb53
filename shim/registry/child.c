// SPDX-License-Identifier: MIT
/*
 * The task of a child to be forked, and whether somebody may still be that
 * child; see task.h.
 */
#include "base/file.h"
#include "registry/image.h"
#include "registry/region/mapped.h"
#include "registry/task.h"

/* Arbitrary: how long after a fork was begun whose parent died in it a child of
 * it may still turn up, where nobody can be asked for it. */
#define PREFORK_GRACE_NS 5000000000ULL

/* use_seq of a prefork task: when the fork began, in ns since boot; 0: the
 * child was found (shmfork.h). Start times are in 1/100 s. */
#define TICK_NS 10000000ULL

/* Claimed, and no lifeline of it has fired: by one that lives, or that never had
 * a lifeline. Without a system call, but for the page. */
static int likely_alive(struct caller *c, const struct task *t)
{
	return !caller_reserve(c, t, sizeof(*t)) &&
	       atom_load_acquire(&t->claim) && !task_suspect(t);
}

u32 task_claim_prefork(struct caller *c)
{
	struct task *own = task_own(c), *t;
	u32 i, idx;
	int got;

	for (i = 0; i < N_TASKS; i++) {
		/* Away from where probing for the next pids starts. */
		idx = (c->pid + N_TASKS / 2 + i) & (N_TASKS - 1);
		t = region_task(&c->region, idx);
		/* Those of the living are seldom to be had, and to ask for each
		 * costs several system calls. */
		if (i < TASK_PROBES && likely_alive(c, t))
			continue;
		got = task_take(c, idx);
		/* A page for which there is no space; another page may have what
		 * an exited process left. */
		if (got < 0)
			i += TASKS_A_PAGE - 1 - idx % TASKS_A_PAGE;
		if (got <= 0)
			continue;
		/* The claim, which has set TASK_FREE with the pid, keeps others
		 * from storing here; readers act on none of this before `state`,
		 * the last store, says PREFORK. Who dies before leaves a claim
		 * without a state, which the next claimer takes over. */
		atom_store_release(&t->start, own->start);
		atom_store_release(&t->mm, own->mm);
		atom_store_release(&t->life, 0);
		atom_store_release(&t->exec_life, 0);
		atom_store_release(&t->life_birth, 0);
		atom_store_release(&t->epoch, 0);
		atom_store_release(&t->candidate, 0);
		atom_store_release(&t->image, 0);
		/* Not what it was for the last child: somebody may come by a
		 * record that has just been that one's. */
		atom_store_release(&t->prefork, 0);
		atom_store_release(&t->use_seq, sys_boottime_ns());
		atom_store_release(&t->state, TASK_PREFORK);
		return idx;
	}
	return 0;
}

int task_is_known(const struct caller *c, u32 pid)
{
	u32 i, idx;

	for (i = 0; i < TASK_PROBES; i++) {
		const struct task *t;

		idx = (pid + i) & (N_TASKS - 1);
		t = region_task(&c->region, idx);
		if (task_may_be_read(c, idx) && t->pid == pid &&
			t->state == TASK_LIVE &&
			identity_same(t->start, identity_birth(pid)))
			return 1;
	}
	return 0;
}

int task_child_named(const struct caller *c, u32 pid)
{
	u32 i = 1;

	for (; (i = task_next(c, i)) < N_TASKS; i++) {
		const struct task *t = region_task(&c->region, i);

		if (t->state == TASK_PREFORK &&
			(u32)atom_load_acquire(&t->prefork) == pid)
			return 1;
	}
	return 0;
}

/*
 * By what a child has of its parent and another process has not: the same
 * stack, as exec would have changed it, a start no earlier than the fork began,
 * this registry mapped, and no record of its own or that names it. What cannot be
 * read of it (it is another user's, or no descriptor is free) is taken for right
 * where there is an image lock. Whether that is held has been asked by
 * task_may_have_child's caller: then somebody has what the parent had. In
 * task_child_expected it has not: the process's attachments, if they can be read
 * at all, are counted once it is known.
 */
static int may_be_child(const struct caller *c, const struct task *t, u32 pid)
{
	int locked = atom_load_acquire(&t->image) > IMAGE_UNKNOWN;
	u64 since = t->use_seq / TICK_NS;
	struct sys_process p;

	if (!pid)
		return 0;
	if (sys_process_read(pid, 0, &p)) {
		if (p.ending || p.start + 2 < since ||
			(p.stack != t->mm && (p.stack > 1 || !locked)))
			return 0;
	} else if (!locked || sys_call(__NR_kill, pid, 0) == -ESRCH) {
		return 0;
	}
	return !task_is_known(c, pid) && !task_child_named(c, pid) &&
	       mapped_any(c, pid) != 0;
}

int task_child_expected(const struct caller *c, u32 pid)
{
	u32 i = 1;

	for (; (i = task_next(c, i)) < N_TASKS; i++) {
		const struct task *t = region_task(&c->region, i);

		if (t->state == TASK_PREFORK && t->use_seq &&
			!(u32)atom_load_acquire(&t->prefork) &&
			may_be_child(c, t, pid))
			return 1;
	}
	return 0;
}

int task_child_none(const struct caller *c, const struct task *t)
{
	u64 image = atom_load_acquire(&t->image);

	return identity_process_gone(t->pid, t->start, 1) && image &&
	       !image_held(c, image);
}

int task_child_gone(const struct caller *c, const struct task *t)
{
	u32 pid = (u32)atom_load_acquire(&t->prefork);
	u64 birth = atom_load_acquire(&t->life_birth);
	int found = !t->use_seq;
	struct sys_process p;

	if (identity_process_gone(pid, birth, birth != 0))
		return 1;
	/* Found (shmfork.h): it counts for itself now. */
	if (found && task_is_known(c, pid))
		return 1;
	/* It said itself who it was, and its parent did not. */
	if (!birth && task_child_none(c, t))
		return 1;
	/* It has called exec before it made itself known. */
	if (!sys_process_read(pid, 0, &p) || t->mm <= 1 || p.stack <= 1)
		return 0;
	if (p.stack != t->mm)
		return 1;
	return !identity_stack_tells(t->mm) && mapped_any(c, pid) == 0;
}

/* Its pid, or 0 if there is none. */
static u32 find_child(
	const struct caller *c, const struct task *t, struct file_dir *proc)
{
	const char *name;
	int pid;

	while ((name = file_dir_next(proc))) {
		pid = file_number(name);
		if (pid > 0 && may_be_child(c, t, (u32)pid))
			return (u32)pid;
	}
	return 0;
}

int task_may_have_child(struct caller *c, struct task *t)
{
	u64 image = atom_load_acquire(&t->image);
	struct file_dir proc;

	if (may_be_child(c, t, t->candidate))
		return 1;
	if (t->mm <= 1 || file_dir_open(&proc, "/proc"))
		return image > IMAGE_UNKNOWN ||
		       sys_boottime_ns() - t->use_seq <= PREFORK_GRACE_NS;
	atom_store_release(&t->candidate, find_child(c, t, &proc));
	file_dir_close(&proc);
	return t->candidate != 0;
}
