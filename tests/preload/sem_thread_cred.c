// SPDX-License-Identifier: MIT
/*
 * sem_thread_cred: one thread of root's becomes another user by system calls of
 * its own, as file servers do for each client; the other threads do not. Each
 * thread's own rights count, whichever called last.
 *
 * The bug: the credentials were cached for the process, from the thread that
 * had called last.
 */
#include "t.h"

static int set;

static void become(unsigned id)
{
	t_quiet(!syscall(SYS_setresgid, -1, id, -1));
	t_quiet(!syscall(SYS_setresuid, -1, id, -1));
}

static void come_back(void)
{
	t_quiet(!syscall(SYS_setresuid, -1, 0, -1));
	t_quiet(!syscall(SYS_setresgid, -1, 0, -1));
}

/* The first thread calls when this is 1, and the client when it is 2. */
static volatile int turn;

static void give_turn(int to, int back)
{
	__atomic_store_n(&turn, to, __ATOMIC_RELEASE);
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != back)
		t_nap();
}

static void *client(void *arg)
{
	if (arg)
		t_eq(semctl(set, 0, GETVAL), 7);
	become(T_OTHER_UID);
	t_err(semctl(set, 0, GETVAL), EACCES);
	t_err(semop(set, OPS({0, 1, 0})), EACCES);
	if (arg) {
		give_turn(1, 2);
		t_err(semctl(set, 0, GETVAL), EACCES);
		t_err(semop(set, OPS({0, 1, 0})), EACCES);
	}
	return NULL;
}

static void *clients(void *arg)
{
	pthread_t t;

	(void)arg;
	become(T_OTHER_UID);
	t_err(semop(set, OPS({0, 1, 0})), EACCES);
	pthread_create(&t, NULL, client, NULL);
	pthread_join(t, NULL);
	t_err(semop(set, OPS({0, 1, 0})), EACCES);
	come_back();
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	return NULL;
}

int main(void)
{
	struct semid_ds ds;
	pthread_t t;

	t_begin();
	if (geteuid()) {
		t_say("skipped: not root");
		return 0;
	}
	set = t_set(1, VALS(7));
	t_story("one thread becomes another user");
	pthread_create(&t, NULL, client, &set);
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != 1)
		t_nap();
	t_eq(semctl(set, 0, GETVAL), 7);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_eq(semop(set, OPS({0, -1, 0})), 0);
	turn = 2;
	pthread_join(t, NULL);
	t_eq(semctl(set, 0, GETVAL), 7);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_eq(semctl(set, 0, SETVAL, 7), 0);
	t_story("a thread of such a thread");
	pthread_create(&t, NULL, clients, NULL);
	pthread_join(t, NULL);
	t_eq(semctl(set, 0, GETVAL), 8);
	t_story("the first thread itself");
	become(T_OTHER_UID);
	t_err(semctl(set, 0, GETVAL), EACCES);
	t_err(semctl(set, 0, IPC_RMID), EPERM);
	come_back();
	t_eq(semctl(set, 0, IPC_STAT, &ds), 0);
	t_rm(set);
	return t_end();
}
