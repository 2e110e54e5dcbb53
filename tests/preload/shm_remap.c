// SPDX-License-Identifier: MIT
/*
 * shm_remap: mremap(2) that shrinks an attachment in place, also beyond its end,
 * or leaves the old place mapped (MREMAP_DONTUNMAP); and what is free then is
 * free for mmap(2) with MAP_FIXED_NOREPLACE, as is the place of a segment that
 * was detached.
 */
#include "shm.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#define MAYMOVE 1
#define FIXED 2
#define DONTUNMAP 4

static const size_t page = 4096;
static int id;

static int nattch(void)
{
	struct shmid_ds ds;

	return shmctl(id, IPC_STAT, &ds) ? -1 : (int)ds.shm_nattch;
}

static char *remap(char *old, size_t old_len, size_t len, int flags, char *to)
{
	return (char *)syscall(SYS_mremap, old, old_len, len, flags, to);
}

/* On a place that must be free. */
static int maps(char *at, size_t len)
{
	char *p = mmap(at, len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p == MAP_FAILED)
		return 0;
	if (p != at)
		munmap(p, len);
	return p == at && !p[0] && ++p[len - 1] == 1;
}

static void in_place(void)
{
	char *p = shmat(id, NULL, 0), *other;

	t_story("shrunk in place");
	memset(p, 7, 4 * page);
	t_true(!maps(p, page));
	t_true(!maps(p + 3 * page, page));
	t_true(mremap(p, 4 * page, 2 * page, 0) == p);
	t_eq(nattch(), 1);
	t_eq(p[page], 7);
	t_true(!maps(p, 4 * page));
	t_true(maps(p + 2 * page, page));
	t_true(!maps(p + 2 * page, page));
	t_true(mremap(p, 2 * page, page, MREMAP_MAYMOVE) == p);
	t_true(maps(p + page, page));
	t_eq(shmdt(p), 0);
	t_eq(nattch(), 0);
	t_true(p[2 * page - 1] == 1 && p[3 * page - 1] == 1);
	t_true(maps(p, page));
	t_true(maps(p + 3 * page, page));
	t_story("and the segment comes elsewhere");
	other = shmat(id, NULL, 0);
	t_true(other + 4 * page <= p || other >= p + 4 * page);
	t_eq(other[0], 7);
	t_eq(shmdt(other), 0);
	t_eq(munmap(p, 4 * page), 0);
	t_eq(nattch(), 0);
}

/* len pages that are free, with one of ours behind them. */
static char *free_place(int n)
{
	char *p = t_pages(n + 1, PROT_READ | PROT_WRITE);

	p[(size_t)n * page] = 5;
	munmap(p, (size_t)n * page);
	return p;
}

static void beyond_its_end(void)
{
	char *at = free_place(8), *p = shmat(id, at, 0);
	unsigned char in[9];

	t_story("shrunk from beyond its end");
	t_true(p == at);
	t_eq(nattch(), 1);
	t_true(remap(p, 9 * page, page, 0, NULL) == p);
	t_eq(nattch(), 1);
	t_eq(p[0], 7);
	t_err(mincore(p, 9 * page, in), ENOMEM);
	t_eq(mincore(p, page, in), 0);
	t_err(mincore(p + 8 * page, page, in), ENOMEM);
	t_eq(shmdt(p), 0);
	t_eq(nattch(), 0);
}

static void kept(void)
{
	char *p = shmat(id, NULL, 0), *to = free_place(8), *q;

	t_story("moved, and left where it was");
	q = remap(p, 4 * page, 4 * page, MAYMOVE | DONTUNMAP, NULL);
	t_true(q != MAP_FAILED && q != p);
	t_eq(nattch(), 2);
	q[page] = 8;
	t_eq(p[page], 8);
	t_eq(munmap(q, 4 * page), 0);
	t_eq(nattch(), 1);
	t_true(remap(p, page, page, MAYMOVE | FIXED | DONTUNMAP, to) == to);
	t_true(to[0] == 7 && p[0] == 7);
	t_err((long)remap(p, 2 * page, page, MAYMOVE | DONTUNMAP, NULL),
		EINVAL);
	t_err((long)remap(p, page, page, DONTUNMAP, NULL), EINVAL);
	t_err((long)remap(p, page, page, FIXED, to), EINVAL);
	t_err((long)remap(p, page, page, 8, to), EINVAL);
	t_err((long)remap(p, page, 0, MAYMOVE, NULL), EINVAL);
	t_eq(munmap(to, page), 0);
	t_eq(shmdt(p), 0);
	t_eq(nattch(), 0);
}

int main(void)
{
	t_begin();
	id = shmget(IPC_PRIVATE, 4 * page, 0600);
	t_true(id >= 0);
	in_place();
	beyond_its_end();
	kept();
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	return t_end();
}
