// SPDX-License-Identifier: MIT
/*
 * app_namespace: a process that uses the registry forks into another pid
 * namespace, where its process ids would be other processes': the child is
 * refused with EXDEV and a line, the parent continues. The same for a vfork
 * child, and for one whose parent has the same number there as the process
 * itself has here.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sembuf up = {0, 1, 0};

/* As struct clone_args of linux/sched.h, which not every libc has. */
static pid_t fork_as(pid_t number)
{
	unsigned long long args[10] = {
		[4] = SIGCHLD, [8] = (unsigned long)&number, [9] = 1};

	return (pid_t)syscall(SYS_clone3, args, sizeof(args));
}

static int end_of(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) != child || !WIFEXITED(status)
		       ? 9
		       : WEXITSTATUS(status);
}

/* Its child is 1 there, and makes one that has our number. */
static int same_number(int id)
{
	pid_t own = getpid(), child;

	if (semop(id, &up, 1) || semop(id, &(struct sembuf){0, -1, 0}, 1) ||
		unshare(CLONE_NEWPID))
		return 1;
	child = fork();
	if (child)
		return end_of(child);
	child = fork_as(own);
	/* Not allowed to choose it. */
	if (child < 0)
		_exit(0);
	if (child)
		_exit(end_of(child));
	child = fork();
	if (child)
		_exit(end_of(child));
	_exit(getppid() != own || semop(id, &up, 1) != -1 || errno != EXDEV);
}

int main(void)
{
	int id = semget(IPC_PRIVATE, 1, 0600), status;

	pid_t child = fork();

	if (child == 0)
		_exit(same_number(id));
	if (end_of(child))
		return 4;
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
