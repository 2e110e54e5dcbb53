// SPDX-License-Identifier: MIT
/*
 * shm_large_removed: while the pages of a large segment go back, others make,
 * attach and remove segments. Not by the clock: the remover is stopped before
 * and after the system call that frees the pages, and the others' calls are
 * made in between, which a lock held by it would block for ever.
 */
#include "shm.h"
#include "syscalls.h"

#define LARGE (64 << 20)
#define MADV_REMOVE_PAGES 9

static int places, others;

static void removes(void)
{
	int id = shmget(IPC_PRIVATE, LARGE, 0600);
	char *p = shmat(id, NULL, 0);

	if (p == BAD)
		_exit(1);
	memset(p, 1, LARGE);
	/* The last detachment destroys the one, IPC_RMID the other. */
	shmctl(id, IPC_RMID, NULL);
	syscalls_shown();
	shmdt(p);
	syscalls_hidden();
	id = shmget(IPC_PRIVATE, LARGE, 0600);
	p = shmat(id, NULL, 0);
	memset(p, 1, LARGE);
	shmdt(p);
	syscalls_shown();
	shmctl(id, IPC_RMID, NULL);
	syscalls_hidden();
}

static int make_one(void)
{
	int id = shmget(IPC_PRIVATE, 3 * PAGE, 0600);
	char *p = shmat(id, NULL, 0);
	int good = p != BAD;

	if (good)
		p[PAGE] = 1;
	return good && !shmdt(p) && !shmctl(id, IPC_RMID, NULL);
}

/* Where the pages go back: the kernel's own call, or the library's. */
static void at_call(const struct user_regs_struct *r)
{
	if (r->orig_rax == SYS_shmdt || r->orig_rax == SYS_shmctl ||
		(r->orig_rax == SYS_madvise && r->rdx == MADV_REMOVE_PAGES)) {
		places++;
		others += make_one();
	}
}

int main(void)
{
	pid_t pid;
	int i;

	t_begin();
	alarm(T_LIMIT);
	t_true(make_one());
	pid = syscalls_child(removes);
	for (i = 0; i < 2; i++) {
		t_story(i ? "IPC_RMID" : "the last shmdt");
		t_quiet(syscalls_run(pid, NULL) >= 0);
		places = others = 0;
		t_true(syscalls_run(pid, at_call) > 0);
		t_true(places >= 2);
		t_true(others == places);
	}
	t_true(syscalls_run(pid, NULL) < 0);
	return t_failed;
}
