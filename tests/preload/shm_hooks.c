// SPDX-License-Identifier: MIT
/*
 * shm_hooks: an application that stands before munmap, mmap and shmdt with
 * functions of its own, as memory registration caches do (UCX, Open MPI): they
 * look at each call and pass it on to what comes after them. What they pass on
 * counts, and they are called neither for nothing nor in the midst of ours.
 */
#include "shm.h"
#include <dlfcn.h>
#include <stdint.h>

static int n_munmap, n_shmdt, inside, nested;

int munmap(void *addr, size_t len)
{
	static int (*next)(void *, size_t);
	int ret;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "munmap");
	n_munmap++;
	nested += inside++;
	ret = next(addr, len);
	inside--;
	return ret;
}

int shmdt(const void *addr)
{
	static int (*next)(const void *);
	int ret;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "shmdt");
	n_shmdt++;
	nested += inside++;
	ret = next(addr);
	inside--;
	return ret;
}

static unsigned long nattch(int id)
{
	struct shmid_ds ds;

	return shmctl(id, IPC_STAT, &ds) ? 99 : ds.shm_nattch;
}

int main(void)
{
	const size_t page = 4096;
	char *a, *b;
	int id, calls;

	t_begin();
	id = shmget(IPC_PRIVATE, 4 * page, 0600);
	a = shmat(id, NULL, 0);
	b = shmat(id, NULL, 0);
	t_true(a != (void *)-1 && b != (void *)-1);
	a[0] = 1;
	t_true(b[0] == 1 && nattch(id) == 2);
	calls = n_munmap;
	t_eq(shmdt(b), 0);
	t_true(n_shmdt == 1 && n_munmap == calls && nattch(id) == 1);
	/* the hook's munmap over the middle, the first page, the rest */
	t_eq(munmap(a + page, page), 0);
	t_true(nattch(id) == 2);
	t_eq(munmap(a, page), 0);
	t_true(nattch(id) == 1);
	t_eq(munmap(a + 2 * page, 2 * page), 0);
	t_true(nattch(id) == 0 && n_munmap == calls + 3);
	t_err(shmdt(a), EINVAL);
	a = shmat(id, NULL, 0);
	t_true(a != (void *)-1 && a[0] == 1);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	t_eq(shmdt(a), 0);
	t_true(nattch(id) == 99);
	t_eq(nested, 0);
	return t_end();
}
