// SPDX-License-Identifier: MIT
/*
 * shm_locked: a real-time program locks its memory before its first IPC call,
 * and may lock 8 MiB only.
 */
#include "shm.h"
#include <sys/resource.h>

/* capset(2); musl has no header of it. */
#define CAP_VERSION_3 0x20080522u
#define CAP_LOCK_BIT (1u << 14)

static void drop_lock_capability(void)
{
	struct {
		unsigned version;
		int pid;
	} h = {CAP_VERSION_3, 0};
	struct {
		unsigned effective, permitted, inheritable;
	} d[2];

	memset(d, 0, sizeof(d));
	t_eq(syscall(SYS_capget, &h, d), 0);
	d[0].effective &= ~CAP_LOCK_BIT;
	d[0].permitted &= ~CAP_LOCK_BIT;
	t_eq(syscall(SYS_capset, &h, d), 0);
}

/* In a child: everything once. */
static void use(void *flags)
{
	struct rlimit limit = {8 << 20, 8 << 20};
	int set, id;
	char *p;

	drop_lock_capability();
	t_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	t_eq(mlockall(*(int *)flags), 0);
	set = semget(IPC_PRIVATE, 1, 0600);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_eq(semctl(set, 0, IPC_RMID), 0);
	id = s_seg(3 * PAGE);
	p = s_at(id);
	p[0] = 1;
	t_eq(shmdt(p), 0);
	p = shmat(id, NULL, SHM_RDONLY);
	t_eq(p[0], 1);
	t_eq(mlockall(*(int *)flags | MCL_CURRENT), 0);
	t_eq(shmdt(p), 0);
	s_rm(id);
}

int main(void)
{
	int flags[] = {MCL_CURRENT, MCL_FUTURE, MCL_CURRENT | MCL_FUTURE,
		MCL_FUTURE | MCL_ONFAULT};
	size_t i;

	alarm(T_LIMIT);
	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		t_say("mlockall(%d)", flags[i]);
		t_eq(s_in_child(use, &flags[i]), 0);
	}
	return s_end();
}
