// SPDX-License-Identifier: MIT
/*
 * undo_many: more processes with SEM_UNDO on one set than a call reaps have
 * exited before the next call.
 *
 * The bug: with 1,001 exited tasks every command of semctl failed with EIDRM
 * for an existing set: it gave up after a thousand had been reaped.
 */
#include "t.h"

#define MANY 1100 /* more than a thousand */

static pid_t children[MANY];

static void all_at_once(int id, int sig)
{
	int i, ended = 0, ready[2];
	char byte;

	if (pipe(ready))
		t_say("FAIL pipe: errno %d", errno);
	for (i = 0; i < MANY; i++) {
		children[i] = fork();
		if (!children[i]) {
			alarm(T_LIMIT);
			if (semop(id, OPS({0, 1, U})) ||
				write(ready[1], "", 1) != 1)
				_exit(1);
			pause();
			_exit(0);
		}
	}
	for (i = 0; i < MANY; i++)
		ended += read(ready[0], &byte, 1) != 1;
	t_true(ended == 0);
	for (i = 0; i < MANY; i++)
		kill(children[i], sig);
	for (i = 0; i < MANY; i++)
		ended += t_join(children[i]) == 1000 + sig;
	t_true(ended == MANY);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	struct semid_ds ds;
	int id;

	t_begin();
	id = t_set(2, NULL);
	t_story("all are killed, then somebody asks for a value");
	all_at_once(id, SIGKILL);
	t_eq(semctl(id, 0, GETVAL), 0);
	t_story("for who waits");
	all_at_once(id, SIGKILL);
	t_eq(semctl(id, 0, GETNCNT), 0);
	t_story("for the times");
	all_at_once(id, SIGKILL);
	t_eq(semctl(id, 0, IPC_STAT, &ds), 0);
	t_row(id, GETVAL, "0 0");
	t_rm(id);
	return t_end();
}
