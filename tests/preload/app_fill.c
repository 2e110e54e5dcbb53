// SPDX-License-Identifier: MIT
/*
 * app_fill: make sets of many sizes until one fails; print the errno. Then use
 * the sets, with and without undo, and remove them; and make sets once more. On
 * a file system that runs full no call may end in a signal.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

static int ids[100000], n;

static int fill(void)
{
	for (n = 0; n < 100000; n++) {
		ids[n] = semget(n + 1, n % 64 ? 1 : 250, IPC_CREAT | 0600);
		if (ids[n] < 0)
			return errno;
	}
	return 0;
}

int main(void)
{
	struct sembuf up = {0, 1, 0}, undo = {0, 1, SEM_UNDO};
	int err = fill(), first = n, i, status;

	printf("%s\n", err ? strerrorname_np(err) : "no end");
	for (i = 0; i < n; i++) {
		if (semop(ids[i], &up, 1) || semctl(ids[i], 0, GETVAL) != 1)
			return 1;
		if (semop(ids[i], &undo, 1) && errno != ENOMEM &&
			errno != ENOSPC)
			return 2;
		if (semget(i + 1, 0, 0) != ids[i])
			return 3;
	}
	for (i = 0; i < 32768; i += 100)
		semctl(i, 0, SEM_STAT_ANY, &(struct semid_ds){0});
	/* More processes than there is space for. */
	for (i = 0; i < 300; i++)
		if (fork() == 0) {
			semop(ids[0], &undo, 1);
			_exit(0);
		}
	while (wait(&status) > 0)
		if (status)
			return 4;
	for (i = 0; i < n; i++)
		if (semctl(ids[i], 0, IPC_RMID))
			return 5;
	fill();
	printf("%s\n", n >= first / 2 ? "again" : "much less again");
	return 0;
}
