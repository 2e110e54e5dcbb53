// SPDX-License-Identifier: MIT
/*
 * Tasks of processes that exited, and who makes others of them.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "registry/lock.h"
#include "registry/task.h"
#include "unit.h"

TestSuite(task, .init = unit_init, .fini = unit_fini, .timeout = 30);

/* The task of a process that has ended, and nothing is left of it. We are
 * somebody else from now on, whose children's tasks begin there. */
static u32 exited(void)
{
	pid_t pid = fork();
	u32 idx = (u32)pid & (N_TASKS - 1);

	if (!pid) {
		unit_forked();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	cr_assert_eq(region_task(&me.region, idx)->pid, (u32)pid);
	/* As if it had a lifeline: it does not seem alive. */
	region_task(&me.region, idx)->life = SYS_OWNER_DIED;
	me.pid = idx + N_TASKS / 2;
	return idx;
}

static void free_task(u32 idx)
{
	struct task *t = region_task(&me.region, idx);

	lock_acquire(&me, &t->lock);
	task_free_locked(&me, t);
	lock_release(&me, &t->lock);
}

Test(task, an_exited_one_becomes_that_of_a_child_to_be)
{
	u32 idx = exited();

	cr_assert_eq(task_claim_prefork(&me), idx);
	cr_expect_eq(region_task(&me.region, idx)->state, TASK_PREFORK);
	cr_expect_eq(me.in_section, 0);
	free_task(idx);
}

/* Who reaps one and finds a child of it that nobody has counted makes a task
 * for that one, with the lock of the first held. */
Test(task, one_that_we_reap_ourselves_is_not_waited_for)
{
	u32 idx = exited(), other;
	struct task *t = region_task(&me.region, idx);

	lock_acquire(&me, &t->lock);
	other = task_claim_prefork(&me);
	cr_expect_eq(me.n_held, 1);
	lock_release(&me, &t->lock);
	cr_assert(other && other != idx);
	cr_expect_eq(me.in_section, 0);
	cr_expect_null(me.robust->pending);
	free_task(other);
}

/* So two such reapers do not wait for each other. */
Test(task, one_that_another_reaps_is_not_waited_for)
{
	u32 idx = exited(), other;
	struct task *t = region_task(&me.region, idx);
	int begun[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(begun), 0);
	pid = fork();
	if (!pid) {
		/* A test that fails leaves nobody. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unit_forked();
		lock_acquire(&me, &t->lock);
		(void)!write(begun[1], "x", 1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(begun[0], &byte, 1), 1);
	other = task_claim_prefork(&me);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert(other && other != idx);
	free_task(other);
	cr_expect_eq(task_claim_prefork(&me), idx, "its reaper has died");
	free_task(idx);
}

/* mincore(2) says of a page that has been swapped out what it says of one that
 * was never used. Here it succeeds and says nothing. */
static void silence_mincore(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mincore, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(90);
}

Test(task, one_whose_page_is_not_in_memory_is_found)
{
	u32 idx = exited(), own = me.task;
	int status;
	pid_t pid = fork();

	if (!pid) {
		silence_mincore();
		_exit(task_next(&me, own) != own ||
			task_next(&me, idx) != idx ||
			task_next(&me, idx + 1) != (own > idx ? own : N_TASKS));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}
