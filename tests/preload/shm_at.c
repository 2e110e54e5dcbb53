// SPDX-License-Identifier: MIT
/*
 * shm_at: shmat's and shmdt's errors in their order, addresses, protections,
 * and the pieces that nattch counts (H2).
 */
#include "shm.h"

static void errors(void)
{
	int id = s_seg(3 * PAGE), gone = s_seg(1);
	char *hole = s_hole(16);

	shmctl(gone, IPC_RMID, NULL);
	t_story("errors");
	t_err(shmat(-1, hole + 1, 0), EINVAL);
	t_err(shmat(gone, NULL, 0), EINVAL);
	t_err(shmat(0x7fffffff, NULL, 0), EINVAL);
	t_err(shmat(id, hole + 1, 0), EINVAL);
	t_err(shmat(id, NULL, SHM_REMAP), EINVAL);
	t_err(shmat(id, (void *)1, SHM_RND | SHM_REMAP), EINVAL);
	t_err(shmat(id, (void *)-4096l, 0), EINVAL);
	t_err(shmat(id, (void *)0x7ffffffff000ul, 0), ENOMEM);
	s_nattch(id, 0);
	t_eq(s_stat(id).shm_atime, 0);
	t_err(shmdt(hole), EINVAL);
	t_err(shmdt(hole + 1), EINVAL);
	t_err(shmdt(NULL), EINVAL);
	t_err(shmdt((void *)-4096l), EINVAL);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(shmat(id, NULL, 0), EACCES);
		t_err(shmat(id, NULL, SHM_RDONLY), EACCES);
		t_err(shmat(id, (void *)1, 0), EINVAL);
	}
	t_story("rounded to address 0");
	t_eq(shmat(id, (void *)1, SHM_RND), 0);
	s_nattch(id, 1);
	t_eq(shmat(id, (void *)4095, SHM_RND), 0);
	s_nattch(id, 1);
	t_err(shmdt((void *)1), EINVAL);
	t_eq(mprotect(NULL, PAGE, PROT_READ), 0);
	s_nattch(id, 2);
	t_eq(shmdt(NULL), 0);
	s_nattch(id, 0);
	t_err(shmdt(NULL), EINVAL);
	shmctl(id, IPC_SET, &(struct shmid_ds){.shm_perm.mode = 0606});
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		t_err(shmat(id, (void *)1, SHM_RND), EPERM);
	}
	s_rm(id);
	id = shmget(IPC_PRIVATE, 1, 0604);
	AS(T_OTHER_UID, T_OTHER_UID)
	{
		void *p;

		t_err(shmat(id, NULL, 0), EACCES);
		t_err(shmat(id, NULL, SHM_RDONLY | SHM_EXEC), EACCES);
		p = shmat(id, NULL, SHM_RDONLY);
		t_true(p != BAD);
		t_eq(shmdt(p), 0);
	}
	s_rm(id);
}

/* Where a process that has attached nothing yet finds space, which is where it
 * and its libraries are given more, it may attach. */
static void attaches_first(void *arg)
{
	int id = *(int *)arg, i;
	char *hole[64];

	/* Nothing else has space for a page: the next mapping comes here. */
	for (i = 0; i < 64; i++)
		hole[i] = mmap(NULL, PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(hole[63], PAGE);
	t_true(shmat(id, hole[63], 0) == hole[63]);
	t_eq(shmdt(hole[63]), 0);
}

static void first(void)
{
	int id = s_seg(PAGE);

	t_story("the first, where there is room");
	t_eq(s_in_child(attaches_first, &id), 0);
	s_rm(id);
}

static void addresses(void)
{
	int id = s_seg(2 * PAGE), other = s_seg(2 * PAGE);
	char *hole = s_hole(32), *p, *q;

	t_story("addresses");
	t_true(shmat(id, hole, 0) == hole);
	t_true(shmat(id, hole + 4 * PAGE + 77, SHM_RND) == hole + 4 * PAGE);
	hole[5] = 'x';
	t_eq(hole[4 * PAGE + 5], 'x');
	s_nattch(id, 2);
	t_err(shmat(id, hole, 0), EINVAL);
	t_err(shmat(id, hole + PAGE, 0), EINVAL);
	t_err(shmat(other, hole - PAGE, 0), EINVAL);
	t_story("an inner address is none");
	t_err(shmdt(hole + PAGE), EINVAL);
	s_nattch(id, 2);
	t_story("SHM_REMAP replaces");
	t_true(shmat(other, hole, SHM_REMAP) == hole);
	t_eq(hole[5], 0);
	s_nattch(id, 1);
	s_nattch(other, 1);
	t_eq(shmdt(hole), 0);
	t_err(shmdt(hole), EINVAL);
	t_eq(s_write_dies(hole), 1000 + SIGSEGV);
	s_nattch(other, 0);
	t_eq(shmdt(hole + 4 * PAGE), 0);
	t_story("one chosen by the system replaced, and given again");
	p = s_at(id);
	t_true(shmat(other, p, SHM_REMAP) == p);
	s_nattch(id, 0);
	q = s_at(id);
	t_true(q != p);
	q[0] = 'q';
	p[0] = 'p';
	t_eq(q[0], 'q');
	t_eq(shmdt(p), 0);
	t_err(shmat(id, q, 0), EINVAL);
	t_eq(shmdt(q), 0);
	t_true(shmat(id, q, 0) == q);
	t_eq(q[0], 'q');
	t_eq(shmdt(q), 0);
	t_true(shmat(other, q, 0) == q);
	t_eq(q[0], 'p');
	t_eq(shmdt(q), 0);
	t_eq(s_read_dies(q), 1000 + SIGSEGV);
	p = s_at(id);
	t_eq(p[0], 'q');
	t_eq(shmdt(p), 0);
	s_rm(id);
	s_rm(other);
}

/* What a program learns by attaching anywhere and detaching: an address that
 * is free. */
static void free_again(void)
{
	int id = s_seg(4 * PAGE), other = s_seg(2 * PAGE);
	char *p = s_at(id), *q;

	t_story("another segment at a place that was left");
	p[0] = 'i';
	t_eq(shmdt(p), 0);
	t_true(shmat(other, p, 0) == p);
	t_eq(p[0], 0);
	p[0] = 'o';
	t_err(shmat(id, p, 0), EINVAL);
	t_err(shmat(id, p + PAGE, 0), EINVAL);
	q = s_at(id);
	t_true(q != p);
	t_eq(q[0], 'i');
	t_eq(shmdt(p), 0);
	t_eq(shmdt(q), 0);
	t_story("behind it, not aligned, read only");
	t_true(shmat(other, p + 2 * PAGE + 9, SHM_RND) == p + 2 * PAGE);
	t_eq(p[2 * PAGE], 'o');
	t_eq(s_read_dies(p), 1000 + SIGSEGV);
	t_eq(shmdt(p + 2 * PAGE), 0);
	t_true(shmat(other, p, SHM_RDONLY) == p);
	t_eq(p[0], 'o');
	t_eq(s_write_dies(p), 1000 + SIGSEGV);
	t_eq(shmdt(p), 0);
	t_story("also when the first is removed");
	s_rm(id);
	t_true(shmat(other, p, 0) == p);
	t_eq(p[0], 'o');
	s_nattch(other, 1);
	t_eq(shmdt(p), 0);
	t_eq(s_read_dies(p), 1000 + SIGSEGV);
	s_rm(other);
}

static void protections(void)
{
	int id = s_seg(PAGE);
	char *rw = s_at(id), *ro = shmat(id, NULL, SHM_RDONLY), *more[5];

	t_story("read only");
	t_true(ro != BAD && ro != rw);
	rw[0] = 42;
	t_eq(ro[0], 42);
	t_eq(s_write_dies(ro), 1000 + SIGSEGV);
	t_err(mprotect(ro, PAGE, PROT_READ | PROT_WRITE), EACCES);
	t_eq(mprotect(rw, PAGE, PROT_READ), 0);
	t_eq(s_write_dies(rw), 1000 + SIGSEGV);
	t_eq(mprotect(rw, PAGE, PROT_READ | PROT_WRITE), 0);
	s_nattch(id, 2);
	t_eq(shmdt(rw), 0);
	t_eq(s_read_dies(rw), 1000 + SIGSEGV);
	t_eq(shmdt(ro), 0);
	t_eq(s_read_dies(ro), 1000 + SIGSEGV);
	t_story("the same many times");
	for (int i = 0; i < 5; i++)
		more[i] = shmat(id, NULL, i % 2 ? SHM_RDONLY : 0);
	more[0][1] = 9;
	for (int i = 0; i < 5; i++)
		t_eq(more[i][1], 9);
	s_nattch(id, 5);
	for (int i = 4; i >= 0; i--)
		t_eq(shmdt(more[i]), 0);
	s_nattch(id, 0);
	s_rm(id);
}

static void pieces(void)
{
	int id = s_seg(5 * PAGE);
	char *p = s_at(id), *q;

	t_story("pieces");
	t_eq(munmap(p + PAGE, PAGE), 0);
	s_nattch(id, 2);
	t_eq(mprotect(p + 3 * PAGE, PAGE, PROT_READ), 0);
	s_nattch(id, 4);
	t_eq(mprotect(p + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	s_nattch(id, 4);
	t_eq(munmap(p, PAGE), 0);
	s_nattch(id, 3);
	t_err(shmdt(p + 2 * PAGE), EINVAL);
	p[2 * PAGE] = 1;
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	t_eq(s_read_dies(p + 2 * PAGE), 1000 + SIGSEGV);
	t_story("unmapped whole");
	p = s_at(id);
	t_eq(p[2 * PAGE], 1);
	t_eq(mprotect(p, 5 * PAGE, PROT_READ), 0);
	s_nattch(id, 1);
	t_eq(munmap(p, 5 * PAGE), 0);
	s_nattch(id, 0);
	t_err(shmdt(p), EINVAL);
	t_eq(s_read_dies(p), 1000 + SIGSEGV);
	t_story("another mapping in the middle");
	p = s_at(id);
	q = mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	t_true(q == p + PAGE);
	q[0] = 'm';
	s_nattch(id, 2);
	t_eq(shmdt(p), 0);
	s_nattch(id, 0);
	t_eq(q[0], 'm');
	t_eq(s_read_dies(p), 1000 + SIGSEGV);
	p = s_at(id);
	p[PAGE] = 's';
	t_eq(q[0], p == q - PAGE ? 's' : 'm');
	t_eq(shmdt(p), 0);
	t_eq(munmap(q, PAGE), 0);
	for (int i = 0; i < 3; i++) {
		p = s_at(id);
		t_eq(p[PAGE], 's');
		t_eq(shmdt(p), 0);
	}
	t_story("a removed one ends with its last piece");
	p = s_at(id);
	s_rm(id);
	s_nattch(id, 1);
	t_eq(munmap(p + PAGE, PAGE), 0);
	s_nattch(id, 2);
	t_eq(munmap(p, 5 * PAGE), 0);
	t_err(shmctl(id, IPC_STAT, &(struct shmid_ds){.shm_nattch = 0}),
		EINVAL);
}

/* The file of a registry may not be opened any more by then. */
static void another_user(void)
{
	int id, child;

	t_story("read only, by a process that has become another user's");
	if (geteuid()) {
		t_say("ok   needs root");
		return;
	}
	id = s_seg(PAGE);
	t_eq(shmctl(id, IPC_SET,
		     &(struct shmid_ds){.shm_perm = {.mode = 0666}}),
		0);
	child = t_fork();
	if (child == 0) {
		char *p;

		t_eq(setresuid(65534, 65534, 65534), 0);
		p = shmat(id, NULL, SHM_RDONLY);
		t_true(p != BAD);
		t_err(mprotect(p, PAGE, PROT_READ | PROT_WRITE), EACCES);
		_exit(t_failed);
	}
	t_eq(t_join(child), 0);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
}

int main(void)
{
	t_begin();
	another_user();
	first();
	errors();
	addresses();
	free_again();
	protections();
	pieces();
	return s_end();
}
