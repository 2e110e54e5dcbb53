// SPDX-License-Identifier: MIT
/*
 * The task of a child to be forked, and whether somebody may still be that
 * child; see task.h.
 */
#include "base/file.h"
#include "registry/task.h"

u32 task_claim_nascent(struct caller *c)
{
	struct task *own = task_own(c), *t;
	u32 i, idx;
	u64 claim;

	for (i = 0; i < N_TASKS; i++) {
		/* Away from where probing starts for pids of the near future.
		 */
		idx = (c->pid + N_TASKS / 2 + i) & (N_TASKS - 1);
		t = region_task(&c->region, idx);
		if (caller_room(c, t, sizeof(*t)))
			return 0;
		claim = atom_load_acquire(&t->claim);
		if (!idx || claim || !atom_cas(&t->claim, &claim, (u64)c->pid))
			continue;
		atom_store_release(&t->start, own->start);
		atom_store_release(&t->mm, own->mm);
		atom_store_release(&t->life, 0);
		atom_store_release(&t->exec_life, 0);
		atom_store_release(&t->epoch, 0);
		atom_store_release(&t->candidate, 0);
		/* Not what it was for the last child: somebody may come by a
		 * record that has just been that one's. */
		atom_store_release(&t->nascent, 0);
		atom_store_release(&t->use_seq, sys_monotonic_ns());
		atom_store_release(&t->state, TASK_NASCENT);
		return idx;
	}
	return 0;
}

static int is_known(const struct caller *c, u32 pid, u64 start)
{
	int there = 0;
	u32 i, idx;

	for (i = 0; i < TASK_PROBES; i++) {
		const struct task *t;

		idx = (pid + i) & (N_TASKS - 1);
		t = region_task(&c->region, idx);
		if (i == 0 || idx % TASKS_A_PAGE == 0)
			there = task_is_there(t);
		if (there && t->pid == pid &&
			task_same_start(t->start, start) &&
			t->state == TASK_LIVE)
			return 1;
	}
	return 0;
}

static int may_be_child(const struct caller *c, const struct task *t, u32 pid)
{
	/* use_seq: when the fork was begun, in ns; start: in 1/100 s. */
	u64 since = t->use_seq / 10000000;
	struct sys_process p;

	return pid && sys_process_read(pid, 0, &p) && !p.ending &&
	       p.stack == t->mm && p.start + 2 >= since &&
	       !is_known(c, pid, p.start);
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
	struct file_dir proc;

	if (t->mm <= 1 || may_be_child(c, t, t->candidate))
		return 1;
	if (file_dir_open(&proc, "/proc"))
		return 1;
	atom_store_release(&t->candidate, find_child(c, t, &proc));
	file_dir_close(&proc);
	return t->candidate != 0;
}
