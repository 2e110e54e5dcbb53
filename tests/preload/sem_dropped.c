// SPDX-License-Identifier: MIT
/*
 * sem_dropped: programs whose first call comes after they have changed or given
 * up their user id, as daemons do.
 */
#include "t.h"

static void drop_effective(void)
{
	t_eq(seteuid(T_OTHER_UID), 0);
}

static void drop_all(void)
{
	t_eq(setgroups(0, NULL), 0);
	t_eq(setgid(T_OTHER_UID), 0);
	t_eq(setuid(T_OTHER_UID), 0);
}

static void drop_real(void)
{
	t_eq(setreuid(T_OTHER_UID, T_OTHER_UID), 0);
}

static void drop_each(void)
{
	t_eq(setresuid(T_OTHER_UID, T_OTHER_UID, T_OTHER_UID), 0);
}

static void handler(int sig)
{
	(void)sig;
}

/* With the handler of before; and with undo. */
static void child_of(int id)
{
	pid_t pid = t_fork();

	if (!pid) {
		t_err(semop(id, OPS({0, -1, 0})), EINTR);
		_exit(t_failed);
	}
	t_wait_blocked(id, 0, GETNCNT, 1);
	kill(pid, SIGUSR1);
	t_eq(t_join(pid), 0);
	pid = t_fork();
	/* It says nothing: its parent goes on at the same time. */
	if (!pid)
		_exit(semop(id, OPS({0, -1, U})) != 0);
	t_wait_blocked(id, 0, GETNCNT, 1);
	t_eq(semop(id, OPS({0, 1, 0})), 0);
	t_eq(t_join(pid), 0);
	t_eq(semctl(id, 0, GETVAL), 1);
}

/* A process of its own; its child shares what it made. */
static void works(const char *how, void (*drop)(void))
{
	struct sigaction act = {.sa_handler = handler};
	struct semid_ds ds;
	pid_t pid;
	int id;

	t_story(how);
	pid = t_fork();
	if (pid) {
		t_eq(t_join(pid), 0);
		return;
	}
	sigaction(SIGUSR1, &act, NULL);
	drop();
	id = semget(IPC_PRIVATE, 1, 0600);
	t_true(id >= 0);
	t_eq(semctl(id, 0, IPC_STAT, &ds), 0);
	t_eq(ds.sem_perm.uid, T_OTHER_UID);
	child_of(id);
	t_rm(id);
	_exit(t_failed);
}

int main(void)
{
	t_begin();
	works("effective user", drop_effective);
	works("all", drop_all);
	works("setreuid", drop_real);
	works("setresuid", drop_each);
	return t_end();
}
