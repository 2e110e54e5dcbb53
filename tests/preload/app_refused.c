// SPDX-License-Identifier: MIT
/*
 * app_refused PROGRAM ARGS: run it where madvise(2) is refused by a filter of
 * system calls (EPERM), as some sandboxes do.
 */
#include "seccomp.h"

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	deny_two(SYS_madvise, SYS_madvise, EPERM);
	execvp(argv[1], argv + 1);
	return 127;
}
