// SPDX-License-Identifier: MIT
/*
 * app_first [no-fd]: a first call that is to fail. Prints the errno's name,
 * or "served". With "no-fd" the descriptor table is full first. All calls that
 * follow must fail alike.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sem.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct sembuf up = {0, 1, 0};
	int err, i;

	if (argc > 1 && !strcmp(argv[1], "no-fd"))
		while (open("/dev/null", O_RDONLY) >= 0)
			;
	errno = 0;
	if (semget(IPC_PRIVATE, 1, 0600) >= 0) {
		puts("served");
		return 0;
	}
	err = errno;
	for (i = 0; i < 3; i++) {
		errno = 0;
		if (semop(0, &up, 1) != -1 || errno != err ||
			semctl(0, 0, GETVAL) != -1 || errno != err ||
			semget(1, 1, IPC_CREAT | 0600) != -1 || errno != err) {
			puts("changes its mind");
			return 1;
		}
	}
	puts(strerrorname_np(err));
	return 0;
}
