// SPDX-License-Identifier: MIT
/*
 * The task of a child to be forked, and whether somebody may still be that
 * child; see task.h.
 */
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

struct sys_dirent {
	u64 ino;
	s64 off;
	u16 len;
	unsigned char type;
	char name[];
};

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

/* 0 if it is not the name of a process. */
static u32 pid_of_name(const char *name)
{
	u32 pid = 0;

	for (; *name >= '0' && *name <= '9'; name++)
		pid = pid * 10 + (u32)(*name - '0');
	return *name ? 0 : pid;
}

/* Its pid, or 0 if there is none. */
static u32 find_child(const struct caller *c, const struct task *t, long fd)
{
	char buf[2048] __attribute__((aligned(8)));
	long n, at;

	while ((n = sys_call(__NR_getdents64, fd, buf, sizeof(buf))) > 0)
		for (at = 0; at < n;) {
			const struct sys_dirent *d = (void *)(buf + at);
			u32 pid = pid_of_name(d->name);

			if (may_be_child(c, t, pid))
				return pid;
			at += d->len;
		}
	return 0;
}

int task_may_have_child(struct caller *c, struct task *t)
{
	long fd;

	if (t->mm <= 1 || may_be_child(c, t, t->candidate))
		return 1;
	fd = sys_call(__NR_open, "/proc", 0200000 | 02000000, 0);
	if (fd < 0)
		return 1;
	atom_store_release(&t->candidate, find_child(c, t, fd));
	sys_call(__NR_close, fd);
	return t->candidate != 0;
}
