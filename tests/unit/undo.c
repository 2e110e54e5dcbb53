// SPDX-License-Identifier: MIT
/*
 * SEM_UNDO over the death of processes, as the registry sees it.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"

TestSuite(undo, .init = unit_init, .fini = unit_fini, .timeout = 60);

static int id;

static void down_and_die(void)
{
	struct sop down = {0, -1, SEM_FLG_UNDO};

	unit_forked();
	_exit(sem_op(&me, id, &down, 1, NULL) != 0);
}

static void use_and_remove(void)
{
	struct sop up = {0, 1, SEM_FLG_UNDO};
	int own;

	unit_forked();
	own = sem_get(&me, 0, 1, 0600);
	_exit(sem_op(&me, own, &up, 1, NULL) || sem_remove(&me, own));
}

static void child(void (*f)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		f();
	waitpid(pid, &status, 0);
	cr_assert_eq(status, 0);
}

Test(undo, applied_when_the_holder_ends)
{
	int i;

	id = sem_get(&me, 0, 1, 0600);
	cr_assert_eq(sem_setval(&me, id, 0, 1), 0);
	for (i = 0; i < 200; i++) {
		child(down_and_die);
		cr_assert_eq(sem_getval(&me, id, 0), 1);
	}
}

/* Programs that make a set, use it and remove it, one after the other. */
Test(undo, records_of_removed_sets_do_not_pile_up)
{
	u64 used;
	int i;

	for (i = 0; i < 20; i++)
		child(use_and_remove);
	used = caller_header(&me)->heap.used;
	for (i = 0; i < 400; i++)
		child(use_and_remove);
	/* 32: what two pages of tasks may hold, of 128 bytes each. */
	cr_assert_leq(caller_header(&me)->heap.used, used + 64 * 128);
}

static void down_and_up_for_ever(void)
{
	struct sop down = {0, -1, SEM_FLG_UNDO}, up = {0, 1, SEM_FLG_UNDO};

	unit_forked();
	for (;;)
		if (sem_op(&me, id, &down, 1, NULL) ||
			sem_op(&me, id, &up, 1, NULL))
			_exit(1);
}

Test(undo, killed_holders_give_back_at_random_moments)
{
	struct sop down = {0, -1, SEM_FLG_UNDO}, up = {0, 1, SEM_FLG_UNDO};
	int i;

	id = sem_get(&me, 0, 1, 0600);
	cr_assert_eq(sem_setval(&me, id, 0, 1), 0);
	for (i = 0; i < 300; i++) {
		pid_t pid = fork();

		if (pid == 0)
			down_and_up_for_ever();
		usleep(unit_random() % 500);
		cr_assert_eq(sem_op(&me, id, &down, 1, NULL), 0);
		cr_assert_eq(sem_op(&me, id, &up, 1, NULL), 0);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	cr_assert_eq(sem_getval(&me, id, 0), 1);
}
