// SPDX-License-Identifier: MIT
/*
 * shm.h - what the shm_* programs share: stat of a segment, its nattch as a
 * line, and an end that looks whether a segment is left.
 */
#ifndef SHM_H
#define SHM_H

#include "t.h"
#include <sys/shm.h>

#define PAGE 4096L
#define BAD ((void *)-1)

static inline struct shmid_ds s_stat(int id)
{
	struct shmid_ds ds;

	memset(&ds, 0xaa, sizeof(ds));
	if (shmctl(id, IPC_STAT, &ds) < 0) {
		t_failed = 1;
		t_say("FAIL IPC_STAT: errno %d", errno);
	}
	return ds;
}

#define s_nattch(id, want) t_eq(s_stat(id).shm_nattch, want)

static inline int s_seg(size_t size)
{
	int id = shmget(IPC_PRIVATE, size, 0600);

	if (id < 0) {
		t_say("FAIL shmget: errno %d", errno);
		exit(99);
	}
	return id;
}

static inline char *s_at(int id)
{
	char *p = shmat(id, NULL, 0);

	if (p == BAD) {
		t_say("FAIL shmat: errno %d", errno);
		exit(99);
	}
	return p;
}

static inline void s_rm(int id)
{
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
}

/* A new segment, attached: nobody has written to its page; now text is there.
 */
static inline char *s_fresh(int *ret_seg, const char *text)
{
	char *p;

	*ret_seg = s_seg(PAGE);
	p = s_at(*ret_seg);
	t_true(!*p);
	strcpy(p, text);
	return p;
}

/* A child that has inherited a segment, with "mine" at `at`: says x, y, and z
 * into `out`, and waits for a byte of `in` before the last two. It ends with 0
 * if it finds what it wrote between them. */
static inline int s_inheritor(char *at, int in, int out)
{
	char c;

	alarm(T_LIMIT);
	if (write(out, "x", 1) != 1 || read(in, &c, 1) != 1)
		_exit(91);
	if (strcmp(at, "mine"))
		_exit(92);
	strcpy(at, "the child's");
	if (write(out, "y", 1) != 1)
		_exit(93);
	if (read(in, &c, 1) != 1 || strcmp(at, "the child's"))
		_exit(94);
	if (write(out, "z", 1) != 1)
		_exit(95);
	_exit(0);
}

/* Where nothing is mapped; a hole of n pages, kept free for the moment. */
static inline char *s_hole(long n)
{
	char *p = mmap(
		NULL, n * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, n * PAGE);
	return p;
}

/* How a child that runs f ends. */
static inline int s_in_child(void (*f)(void *), void *arg)
{
	pid_t pid = t_fork();

	if (!pid) {
		f(arg);
		_exit(t_failed);
	}
	return t_join(pid);
}

static inline void s_poke(void *p)
{
	*(volatile char *)p = 1;
}

static inline void s_peek(void *p)
{
	(void)*(volatile char *)p;
}

/* 1000 + SIGSEGV if the page may not be written / read */
#define s_write_dies(p) s_in_child(s_poke, (p))
#define s_read_dies(p) s_in_child(s_peek, (p))

static inline int s_end(void)
{
	struct shm_info info;

	memset(&info, 0, sizeof(info));
	t_cond(__FILE__, __LINE__, "no segment is left behind",
		shmctl(0, SHM_INFO, (void *)&info) == 0 && info.used_ids == 0 &&
			info.shm_tot == 0);
	return t_failed ? 1 : 0;
}

#endif
