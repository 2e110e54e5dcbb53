// SPDX-License-Identifier: MIT
/*
 * A program for tool_strict.sh: the kernel's own IPC calls, by instructions of
 * its own, and what each answers.
 *
 *	app_kernel native   syscall
 *	app_kernel x32      syscall, with the bit of x32
 *	app_kernel i386     int 0x80, ipc(2) among them
 *	app_kernel ns       what a getppid costs, the best of many, in ns
 *
 * "NAME ok" or "NAME errno". Arguments are such that a kernel that serves them
 * says something else than ENOSYS. A second name is for a second facility.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "raw.h"

static const struct call {
	const char *name;
	long nr, nr_i386, a, b, c, d;
} calls[] = {
	{"semget", 64, 393, 77, 1, 01600, 0},
	{"semop", 65, 0, 999999, 0, 0, 0},
	{"semctl", 66, 394, 999999, 0, 0, 0},
	{"semtimedop", 220, 420, 999999, 0, 0, 0},
	{"msgget", 68, 399, 77, 01600, 0, 0},
	{"msgsnd", 69, 400, 999999, 0, 0, 0},
	{"msgrcv", 70, 401, 999999, 0, 0, 0},
	{"msgctl", 71, 402, 999999, 0, 0, 0},
	{"shmget", 29, 395, 77, 1, 01600, 0},
	{"shmat", 30, 397, 999999, 0, 0, 0},
	{"shmdt", 67, 398, 4096, 0, 0, 0},
	{"shmctl", 31, 396, 999999, 0, 0, 0},
	{"mq_open", 240, 277, 0, 0, 0, 0},
	{"mq_unlink", 241, 278, 0, 0, 0, 0},
	{"mq_timedsend", 242, 279, -1, 0, 0, 0},
	{"mq_timedreceive", 243, 280, -1, 0, 0, 0},
	{"mq_notify", 244, 281, -1, 0, 0, 0},
	{"mq_getsetattr", 245, 282, -1, 0, 0, 0},
	{"mq_timedsend64", 0, 418, -1, 0, 0, 0},
	{"mq_timedreceive64", 0, 419, -1, 0, 0, 0},
	/* ipc(2): SEMGET, with a version in the upper half; MSGGET, SHMGET */
	{"ipc-semget", 0, 117, 0x10002, 78, 1, 01600},
	{"ipc-msgget", 0, 117, 13, 78, 01600, 0},
	{"ipc-shmget", 0, 117, 23, 78, 1, 01600},
};

static long enter_i386(long nr, long a, long b, long c, long d)
{
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(nr), "b"(a), "c"(b), "d"(c), "S"(d), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)ret;
}

static void tell(const char *name, long ret)
{
	if (ret < 0)
		printf("%s %s\n", name, strerrorname_np((int)-ret));
	else
		printf("%s ok\n", name);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void tell_ns(void)
{
	uint64_t best = ~0ULL, t;
	int i, k;

	for (i = 0; i < 2000; i++) {
		t = now();
		for (k = 0; k < 500; k++)
			raw(SYS_getppid, 0, 0, 0, 0);
		t = now() - t;
		best = t < best ? t : best;
	}
	printf("%.1f\n", (double)best / 500);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	size_t i;

	if (!strcmp(how, "ns"))
		tell_ns();
	for (i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		const struct call *c = &calls[i];

		if (!strcmp(how, "native") && c->nr)
			tell(c->name, raw(c->nr, c->a, c->b, c->c, c->d));
		if (!strcmp(how, "x32") && c->nr)
			tell(c->name, raw(c->nr | 0x40000000, c->a, c->b, c->c,
					      c->d));
		if (!strcmp(how, "i386") && c->nr_i386)
			tell(c->name,
				enter_i386(c->nr_i386, c->a, c->b, c->c, c->d));
	}
	return 0;
}
