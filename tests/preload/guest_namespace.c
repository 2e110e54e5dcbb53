// SPDX-License-Identifier: MIT
/*
 * guest_namespace: a process that uses the registry forks into another pid
 * namespace. Its ids would be somebody else's there: the child is refused with
 * EXDEV and a line, the parent goes on. A vfork child alike.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	struct sembuf up = {0, 1, 0};
	int id = semget(IPC_PRIVATE, 1, 0600), status;

	if (id < 0 || semop(id, &up, 1) || unshare(CLONE_NEWPID))
		return 1;
	if (vfork() == 0)
		_exit(semop(id, &up, 1) != -1 || errno != EXDEV);
	if (wait(&status) < 0 || status)
		return 2;
	/* The namespace ends with its first process. */
	if (semop(id, &up, 1) || semctl(id, 0, GETVAL) != 2 ||
		semctl(id, 0, GETPID) != getpid())
		return 3;
	return semctl(id, 0, IPC_RMID) != 0;
}
