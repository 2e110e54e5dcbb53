// SPDX-License-Identifier: MIT
/*
 * Tables that are full: the documented error, nothing lost, and it works again
 * as soon as one place is free (doc/limits.md).
 */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "index/ids.h"
#include "registry/identity.h"
#include "registry/task.h"
#include "shm/shm.h"
#include "shm/shmfork.h"
#include "unit.h"

TestSuite(limits, .init = unit_init, .fini = unit_fini, .timeout = 120);
TestSuite(limits_named, .init = unit_init_named, .fini = unit_fini,
	.timeout = 120);
TestSuite(limits_extended, .init = unit_init_extended, .timeout = 120);

/* What a child of ours gets when it enrolls. */
static int child_enrolls(void)
{
	pid_t pid = fork();
	int status, err;
	s32 id;

	if (!pid) {
		caller_refresh(&me);
		err = caller_enroll(&me);
		if (!err) {
			id = sem_get(&me, 0, 1, 0600);
			err = sem_op(&me, id, &(struct sop){0, 1, 0}, 1, NULL);
			sem_remove(&me, id);
		}
		_exit(-err);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EFAULT;
}

/* A task of ours at every place that is free; those are freed again. */
static void fill_tasks(int full)
{
	u32 i;

	for (i = 1; i < N_TASKS; i++) {
		struct task *t = region_task(&me.region, i);

		if (i == me.task)
			continue;
		cr_assert_eq(caller_reserve(&me, t, sizeof(*t)), 0);
		t->start = identity_birth(me.pid);
		atom_store_release(
			&t->claim, full ? me.pid | (u64)TASK_LIVE << 32 : 0);
	}
}

Test(limits, tasks_full_is_enospc_until_one_is_free)
{
	u32 one = (me.task + 30000) % N_TASKS;

	fill_tasks(1);
	cr_expect_eq(child_enrolls(), -ENOSPC);
	cr_expect_eq(sem_get(&me, 0x77, 1, 0600 | OBJ_CREAT), 0,
		"who has a task goes on");
	region_task(&me.region, one)->claim = 0;
	cr_expect_eq(child_enrolls(), 0);
	cr_expect_eq(child_enrolls(), 0, "the dead one's is taken over");
	fill_tasks(0);
	sem_remove(&me, 0);
}

/* Each record in the name of a thread that lives: ours. */
static void fill_threads(int full)
{
	struct header *h = caller_header(&me);
	u32 i;

	for (i = 1; i < N_THREADS; i++) {
		struct thread *th = region_thread(&me.region, i);

		if (i == me.thread)
			continue;
		cr_assert_eq(caller_reserve(&me, th, THREAD_STRIDE), 0);
		atom_store_release(&th->tid, full ? me.tid : 0);
	}
	atom_store_release(&h->thread_high, N_THREADS);
}

Test(limits, threads_full_is_enospc_until_one_is_free)
{
	fill_threads(1);
	cr_expect_eq(child_enrolls(), -ENOSPC);
	cr_expect_eq(sem_get(&me, 0x77, 1, 0600 | OBJ_CREAT), 0,
		"who has a record goes on");
	region_thread(&me.region, N_THREADS - 1)->tid = 0;
	cr_expect_eq(child_enrolls(), 0);
	cr_expect_eq(child_enrolls(), 0, "the dead one's is taken over");
	fill_threads(0);
	sem_remove(&me, 0);
}

/* Attaches, and makes a child that nobody has prepared, once the table is full. */
static void parent_of_unseen(s32 id, int told, int go)
{
	const struct shm_fork none = {0};
	u64 at;
	char c;

	static u32 image_found;

	/* No vfork child, of whose memory others know: it has an image lock. */
	me.image_found = &image_found;
	me.generation = 1;
	unit_forked();
	if (shm_at(&me, id, 0, 0, &at) || write(told, "", 1) != 1 ||
		read(go, &c, 1) != 1)
		_exit(1);
	if (fork())
		_exit(0);
	caller_refresh(&me);
	me.generation++;
	shm_fork_child(&me, &none);
	if (me.thread || write(told, "", 1) != 1 || read(go, &c, 1) != 1)
		_exit(1);
	/* Now there are records. */
	_exit(shm_fork_again(&me) || write(told, "", 1) != 1 ||
		read(go, &c, 1) != 0 || shm_dt(&me, at));
}

Test(limits_named, a_child_without_a_record_keeps_its_segment)
{
	s32 id = shm_get(&me, 0, SYS_PAGE, 0600);
	int told[2], go[2], status;
	struct shm_stat st;
	pid_t parent;
	char c;

	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	cr_assert(!pipe(told) && !pipe(go));
	parent = fork();
	if (!parent) {
		close(go[1]);
		parent_of_unseen(id, told[1], go[0]);
	}
	cr_assert_eq(read(told[0], &c, 1), 1);
	fill_threads(1);
	cr_assert_eq(write(go[1], "", 1), 1);
	cr_assert_eq(waitpid(parent, &status, 0), parent);
	cr_assert_eq(status, 0);
	cr_assert_eq(read(told[0], &c, 1), 1);
	fill_threads(0);
	cr_expect_eq(shm_stat(&me, id, OBJECT_BY_ID, &st), 0);
	cr_expect_eq(st.nattch, 1);
	cr_expect_eq(shm_remove(&me, id), 0);
	cr_expect_eq(shm_stat(&me, id, OBJECT_BY_ID, &st), 0);
	cr_expect_eq(st.nattch, 1);
	cr_assert_eq(write(go[1], "", 1), 1);
	cr_assert_eq(read(told[0], &c, 1), 1);
	cr_expect_eq(shm_stat(&me, id, OBJECT_BY_ID, &st), 0);
	cr_expect_eq(st.nattch, 1);
	close(go[1]);
	cr_expect_gt(waitpid(-1, &status, 0), 0);
	cr_expect_eq(status, 0);
	cr_expect_lt(shm_stat(&me, id, OBJECT_BY_ID, &st), 0);
}

Test(limits_extended, sixteen_million_ids_and_one_more)
{
	u32 i, idx = 0;
	s32 id;

	for (i = 0; i < IDX_MAX; i++) {
		cr_assert_eq(ids_alloc_locked(&me, FAC_SEM, &idx, &id), 0,
			"at %u", i);
		journal_commit(&me);
	}
	cr_expect_eq(ids_alloc_locked(&me, FAC_SEM, &idx, &id), -ENOSPC);
	journal_abort(&me);
	ids_free_locked(&me, FAC_SEM, 12345678);
	journal_commit(&me);
	cr_expect_eq(ids_alloc_locked(&me, FAC_SEM, &idx, &id), 0);
	journal_commit(&me);
	cr_expect_eq(idx, 12345678);
	cr_expect_eq(ids_alloc_locked(&me, FAC_SEM, &idx, &id), -ENOSPC);
	journal_abort(&me);
	cr_expect_eq(ids_highest_locked(&me, FAC_SEM), IDX_MAX - 1);
}
