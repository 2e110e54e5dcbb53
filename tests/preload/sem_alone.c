// SPDX-License-Identifier: MIT
/*
 * sem_alone: a thread that has a set to itself for thousands of operations may
 * take a fast path that has looked everything up before. Then something
 * changes: rights, its own identity, the set, the limits, a handler in the
 * middle. Each change counts from the next operation on.
 */
#include "t.h"

/* More operations in a row than any short way needs to set in. */
#define LONG 20000

static int set;

/* Up and down in turn; how many failed. */
static int alone(int n)
{
	int i, failed = 0;

	for (i = 0; i < n; i++)
		failed += semop(set, OPS({0, i % 2 ? -1 : 1, 0})) != 0;
	return failed;
}

static void mode(int bits)
{
	struct semid_ds ds = {0};

	ds.sem_perm.uid = ds.sem_perm.gid = T_OTHER_UID;
	ds.sem_perm.mode = (unsigned short)bits;
	t_eq(semctl(set, 0, IPC_SET, &ds), 0);
}

static void rights_go_and_come(void)
{
	t_say("-- rights");
	t_eq(alone(LONG), 0);
	mode(0200);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_err(semop(set, OPS({0, 0, NW})), EACCES);
	mode(0400);
	t_err(semop(set, OPS({0, -1, 0})), EACCES);
	t_eq(semctl(set, 0, GETVAL), 1);
	mode(0600);
	t_eq(semop(set, OPS({0, -1, 0})), 0);
	t_eq(alone(LONG), 0);
	t_row(set, GETVAL, "0 0");
}

static void edges(void)
{
	t_say("-- values and numbers");
	t_eq(alone(LONG), 0);
	t_err(semop(set, OPS({0, -1, NW})), EAGAIN);
	t_err(semop(set, OPS({2, 1, 0})), EFBIG);
	t_err(semop(set, (struct sembuf *)8, 1), EFAULT);
	t_eq(semop(set, OPS({1, 32767, 0})), 0);
	t_err(semop(set, OPS({1, 1, 0})), ERANGE);
	t_eq(semop(set, OPS({0, 0, 0})), 0);
	t_err(semop(set, OPS({1, 0, NW})), EAGAIN);
	t_row(set, GETVAL, "0 32767");
	t_eq(semctl(set, 1, SETVAL, 0), 0);
}

static void removed_and_made_again(void)
{
	int old = set, i;

	t_say("-- another set in the same place");
	t_eq(alone(LONG), 0);
	t_eq(semctl(set, 0, IPC_RMID), 0);
	t_err(semop(old, OPS({0, 1, 0})), EINVAL);
	/* Once round the indices, so that the place is taken again. */
	for (i = 0; i < 200; i++) {
		set = semget(IPC_PRIVATE, 2, 0600);
		if (set < 0)
			t_eq(set, 0);
		if ((set - old) % 32768 == 0)
			break;
		semctl(set, 0, IPC_RMID);
	}
	t_true((set - old) % 32768 == 0 && set != old);
	t_eq(alone(LONG), 0);
	t_err(semop(old, OPS({0, 1, 0})), EINVAL);
	t_row(set, GETVAL, "0 0");
}

/* A child counts along, and its parent goes on alone once it is gone. */
static void shared_for_a_while(void)
{
	int child, i;

	t_say("-- not alone");
	t_eq(alone(LONG), 0);
	child = t_fork();
	if (child == 0) {
		t_eq(alone(LONG), 0);
		t_eq(semop(set, OPS({1, 7, 0})), 0);
		_exit(t_failed);
	}
	for (i = 0; i < LONG; i++)
		if (semop(set, OPS({0, 1, 0})))
			t_failed = 1;
	t_eq(t_join(child), 0);
	t_true(semctl(set, 0, GETVAL) == LONG);
	t_pid_is(set, 1, child);
	t_eq(semctl(set, 0, SETVAL, 0), 0);
	t_eq(alone(LONG), 0);
	t_pid_is(set, 0, getpid());
}

static volatile int handled;

static void handler(int sig)
{
	(void)sig;
	if (semop(set, OPS({1, 1, 0})) == 0)
		handled++;
}

static void in_a_handler_too(void)
{
	struct itimerval every = {{0, 200}, {0, 200}}, never = {0};
	int i;

	t_say("-- handlers that use the same set");
	t_eq(semctl(set, 1, SETVAL, 0), 0);
	signal(SIGALRM, handler);
	setitimer(ITIMER_REAL, &every, NULL);
	for (i = 0; i < 200 && handled < 100; i++)
		if (alone(LONG))
			t_failed = 1;
	setitimer(ITIMER_REAL, &never, NULL);
	t_true(handled > 0);
	t_true(semctl(set, 1, GETVAL) == handled);
	t_eq(semctl(set, 0, GETVAL), 0);
	signal(SIGALRM, SIG_DFL);
}

static void as_somebody_else(void)
{
	t_say("-- somebody else");
	t_eq(alone(LONG), 0);
	if (setresuid(T_OTHER_UID - 1, T_OTHER_UID - 1, 0))
		t_failed = 1;
	t_err(semop(set, OPS({0, 1, 0})), EACCES);
}

int main(void)
{
	int child;

	t_begin();
	/* whoever serves semaphores is met as root first */
	t_rm(t_set(1, NULL));
	child = t_fork();
	if (child == 0) {
		/* No capability that would let it do what its rights do not */
		t_become(T_OTHER_UID, T_OTHER_UID);
		set = semget(IPC_PRIVATE, 2, 0600);
		rights_go_and_come();
		edges();
		removed_and_made_again();
		shared_for_a_while();
		in_a_handler_too();
		semctl(set, 0, IPC_RMID);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	set = semget(IPC_PRIVATE, 1, 0600);
	child = t_fork();
	if (child == 0) {
		as_somebody_else();
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_eq(semctl(set, 0, IPC_RMID), 0);
	return t_end();
}
