// SPDX-License-Identifier: MIT
/*
 * raw.h - a system call by an instruction of the program's own, which no
 * library sees; and what is asked of the kernel by it.
 */
#ifndef RAW_H
#define RAW_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* What the kernel answers: -errno on failure. */
static inline long raw(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	register long r9 __asm__("r9") = 0;
	long ret;

	__asm__ volatile(
		"syscall"
		: "=a"(ret)
		: "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
		: "rcx", "r11", "memory");
	return ret;
}

/* In a chroot the kernel makes none. */
static inline int no_user_namespaces(void)
{
	long pid = raw(SYS_fork, 0, 0, 0, 0);
	int status;

	if (!pid)
		raw(SYS_exit_group,
			raw(SYS_unshare, CLONE_NEWUSER, 0, 0, 0) != 0, 0, 0, 0);
	return waitpid((pid_t)pid, &status, 0) != pid || status;
}

#endif
