// SPDX-License-Identifier: MIT
/*
 * Tasks of processes that exited, and who makes others of them.
 */
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "inspect/taskview.h"
#include "registry/heap.h"
#include "registry/lock.h"
#include "object/reap.h"
#include "registry/task.h"
#include "sem/semset.h"
#include "shm/shm.h"
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

/* A process that holds a lock: stopped, for all that others can tell. */
static pid_t holder(struct lock *lock)
{
	int begun[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(begun), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		unit_forked();
		lock_acquire(&me, lock);
		(void)!write(begun[1], "x", 1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(begun[0], &byte, 1), 1);
	return pid;
}

/* What the first call of another process must not wait for: the set in which an
 * exited one has a unit. */
Test(task, one_with_a_unit_of_a_set_that_is_held_is_left_to_others)
{
	s32 id = sem_get(&me, 0, 1, 0600);
	struct sop take = {0, 1, SEM_FLG_UNDO};
	struct slot *s = region_slot(&me.region, FAC_SEM, (u32)id & 0x7fff);
	pid_t pid = fork(), other;
	u32 idx;

	if (!pid) {
		unit_forked();
		_exit(sem_op(&me, id, &take, 1, NULL) != 0);
	}
	idx = (u32)pid & (N_TASKS - 1);
	waitpid(pid, NULL, 0);
	other = holder(&s->lock);
	cr_expect_eq(reap_task_unheld(&me, idx), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	other = holder(&region_task(&me.region, idx)->lock);
	cr_expect_eq(reap_task_unheld(&me, idx), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	cr_expect_eq(region_task(&me.region, idx)->undo_head.off != 0, 1);
	cr_expect_eq(reap_task_unheld(&me, idx), 1);
	cr_expect_eq(sem_getval(&me, id, 0), 0);
	sem_remove(&me, id);
}

/* The same of a segment that it had attached. */
Test(task, one_with_a_segment_that_is_held_is_left_to_others)
{
	s32 id = shm_get(&me, 0, 4096, 0600);
	struct slot *s = region_slot(&me.region, FAC_SHM, (u32)id & 0x7fff);
	pid_t pid = fork(), other;
	struct shm_stat st;
	u64 at;
	u32 idx;

	if (!pid) {
		unit_forked();
		_exit(shm_at(&me, id, 0, 0, &at) != 0);
	}
	idx = (u32)pid & (N_TASKS - 1);
	waitpid(pid, NULL, 0);
	other = holder(&s->lock);
	cr_expect_eq(reap_task_unheld(&me, idx), 0);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	cr_expect_eq(reap_task_unheld(&me, idx), 1);
	cr_expect_eq(shm_stat(&me, id, OBJECT_BY_ID, &st), 0);
	cr_expect_eq(st.nattch, 0);
	shm_remove(&me, id);
}

/* mincore(2) says of a page that has been swapped out what it says of one that
 * was never used. Here it succeeds and says nothing. */
Test(task, one_whose_page_is_not_in_memory_is_found)
{
	u32 idx = exited(), own = me.task;
	int status;
	pid_t pid = fork();

	if (!pid) {
		unit_filter(SYS_mincore, SECCOMP_RET_ERRNO);
		_exit(task_next(&me, own) != own ||
			task_next(&me, idx) != idx ||
			task_next(&me, idx + 1) != (own > idx ? own : N_TASKS));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect_eq(status, 0);
}

/* ---- the dead that somebody has made up ---- */

#define MADE_UP 60000u

/* As many tasks of processes that are not there, each with an adjustment of the
 * set: whoever may write the file can. */
static void make_up(s32 id)
{
	struct header *h = caller_header(&me);
	struct slot *s = region_slot(&me.region, FAC_SEM, (u32)id);
	struct semset *set = region_at(&me.region, s->body.off);
	u64 off, first = set->undo_all.unit;
	struct ref *ref = region_at(&me.region, EVENTS_OFF);
	struct undo *u, *after = NULL;
	struct task *t;
	u32 i, idx;

	for (i = 0; i < MADE_UP; i++) {
		cr_assert_eq(
			heap_alloc_at(&me, sizeof(struct undo) + 8, ref), 0);
		off = ref->off;
		ref->off = 0;
		idx = 1 + i + (1 + i >= me.task);
		t = region_task(&me.region, idx);
		h->task_pages[idx / TASKS_A_PAGE / 64] |=
			1ULL << idx / TASKS_A_PAGE % 64;
		u = region_at(&me.region, off);
		*u = (struct undo){.ident = s->ident,
			.slot_idx = (u32)id,
			.task = idx,
			.n_nonzero = 1,
			.is_active = 1,
			.n_sems = 2,
			.cap = 4};
		u->adj[0] = 1;
		u->active_prev = u->set_prev =
			(struct ref){after ? region_off(&me.region, after) : 0};
		if (after)
			after->active_next = after->set_next =
				(struct ref){off};
		else
			set->undo_all.unit = set->undo_active.unit =
				(u32)(off / 64);
		after = u;
		t->start = 1;
		t->undo_head.off = off;
		t->state = TASK_LIVE;
		t->life = SYS_OWNER_DIED;
		t->life_tid = 0x3f000000u + i;
		t->pid = 0x3f000000u + i;
	}
	after->active_next = after->set_next = (struct ref){first * 64};
	set->n_active += MADE_UP;
	set->n_adj += MADE_UP;
}

/* Seconds of the processor that a call takes which meets them all. */
static double meet_all(void)
{
	struct sop up = {1, 1, SEM_FLG_UNDO};
	s32 id = sem_get(&me, 0, 2, 0600);
	clock_t begun;

	make_up(id);
	begun = clock();
	cr_assert_eq(sem_op(&me, id, &up, 1, NULL), 0);
	return (double)(clock() - begun) / CLOCKS_PER_SEC;
}

/* Each death was worth a thousand looks at records of threads. */
Test(task, the_dead_that_are_made_up_do_not_hold_up_a_call)
{
	double few = meet_all(), many;

	caller_header(&me)->thread_high = N_THREADS;
	many = meet_all();
	cr_expect_lt(
		many, 4 * few + .5, "%f s, %f with few records", many, few);
	cr_expect_eq(task_next(&me, me.task + 1), N_TASKS);
}

/* As many tasks of a process that lives, and all records of threads said to be
 * in use. */
Test(task, the_living_that_are_made_up_are_listed_in_a_moment)
{
	struct header *h = caller_header(&me);
	u64 birth = region_task(&me.region, me.task)->start;
	struct task_walk at = {0};
	struct task_view v;
	u32 i, found = 0;
	struct task *t;
	clock_t begun;

	for (i = 1; i < MADE_UP; i++) {
		if (i == me.task)
			continue;
		t = region_task(&me.region, i);
		h->task_pages[i / TASKS_A_PAGE / 64] |=
			1ULL << i / TASKS_A_PAGE % 64;
		t->start = birth;
		t->state = TASK_LIVE;
		t->pid = (u32)getpid();
	}
	h->thread_high = N_THREADS;
	for (i = 2; i < N_THREADS; i++)
		region_thread(&me.region, i)->claims = 1;
	begun = clock();
	while (found < 500 && task_view_next(&me, &at, &v) > 0)
		found++;
	cr_expect_eq(found, 500);
	cr_expect_lt((double)(clock() - begun) / CLOCKS_PER_SEC, .2);
	for (i = 2; i < N_THREADS; i++)
		region_thread(&me.region, i)->claims = 0;
	for (i = 1; i < MADE_UP; i++)
		if (i != me.task)
			*region_task(&me.region, i) = (struct task){0};
}
