// SPDX-License-Identifier: MIT
/*
 * shm: what System V shared memory costs in the world it is run in.
 *
 *	shm [--rounds N] CASE		(shm --list names the cases)
 *
 * prints `CASE ns_per_op`, the best of several inner rounds. Nothing is
 * asserted. `compare --bin shm` runs it on the kernel and under the shim and
 * prints the ratio.
 *
 *   shm-attach		attach and detach a segment of 1 MiB; its pages exist
 *   shm-attach-touch	the same, and every page is written
 *   shm-cold		the same as shm-attach, the pages touched once before
 *			in this process, so that its page tables are filled
 *   shm-churn-4k	create, attach, touch, remove, detach: 4 KiB
 *   shm-churn-64k	64 KiB
 *   shm-churn-1m	1 MiB
 *   shm-keyed-64k	64 KiB by a key that is new each time
 *   shm-first-touch	the first write to a page that nobody wrote before; per
 *			page of 32 MiB segments
 *   shm-get		shmget of a key that exists
 *   shm-stat		IPC_STAT
 *   shm-fork		fork and wait, one segment attached
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define MIB (1 << 20)
#define KEY 0x53484d00

static int n_rounds = 7;
static double round_ns = 30e6;
static int id = -1;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
	perror(what);
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	exit(1);
}

static char *attach(int seg)
{
	char *p = shmat(seg, NULL, 0);

	if (p == (void *)-1)
		die("shmat");
	return p;
}

static void touch(char *p, size_t len)
{
	for (size_t i = 0; i < len; i += PAGE)
		((volatile char *)p)[i] = 1;
}

static int create(key_t key, size_t size)
{
	int seg = shmget(key, size, IPC_CREAT | 0600);

	if (seg < 0)
		die("shmget");
	return seg;
}

static void op_attach(void)
{
	if (shmdt(attach(id)))
		die("shmdt");
}

static void op_touch(void)
{
	char *p = attach(id);

	touch(p, MIB);
	if (shmdt(p))
		die("shmdt");
}

static void churn(key_t key, size_t size)
{
	int seg = create(key, size);
	char *p = attach(seg);

	touch(p, size);
	if (shmctl(seg, IPC_RMID, NULL) || shmdt(p))
		die("churn");
}

static void op_churn_4k(void)
{
	churn(IPC_PRIVATE, PAGE);
}
static void op_churn_64k(void)
{
	churn(IPC_PRIVATE, 65536);
}
static void op_churn_1m(void)
{
	churn(IPC_PRIVATE, MIB);
}
static void op_keyed(void)
{
	static key_t key = KEY + 1;

	churn(key++, 65536);
}

static void op_get(void)
{
	if (shmget(KEY, 0, 0) != id)
		die("shmget");
}

static void op_stat(void)
{
	struct shmid_ds ds;

	if (shmctl(id, IPC_STAT, &ds))
		die("IPC_STAT");
}

static void op_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		die("fork");
}

/* A segment of 1 MiB whose pages exist, written by another process. */
static void set_up(void)
{
	pid_t pid;

	id = create(KEY, MIB);
	pid = fork();
	if (!pid) {
		touch(attach(id), MIB);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void set_up_cold(void)
{
	set_up();
	op_touch();
}

static void set_up_fork(void)
{
	set_up();
	touch(attach(id), MIB);
}

static const struct bench {
	const char *name;
	void (*set_up)(void);
	void (*op)(void);
} benches[] = {
	{"shm-attach", set_up, op_attach},
	{"shm-attach-touch", set_up, op_touch},
	{"shm-cold", set_up_cold, op_attach},
	{"shm-churn-4k", NULL, op_churn_4k},
	{"shm-churn-64k", NULL, op_churn_64k},
	{"shm-churn-1m", NULL, op_churn_1m},
	{"shm-keyed-64k", NULL, op_keyed},
	{"shm-first-touch", NULL, NULL},
	{"shm-get", set_up, op_get},
	{"shm-stat", set_up, op_stat},
	{"shm-fork", set_up_fork, op_fork},
};

static double per_op(void (*op)(void))
{
	double best = 1e18, start, t;
	long i, n = 1;

	op();
	for (int r = 0; r < n_rounds; r++) {
		do {
			start = now_ns();
			for (i = 0; i < n; i++)
				op();
			t = now_ns() - start;
			if (t < round_ns / 2)
				n *= 2;
		} while (t < round_ns / 2);
		if (t / n < best)
			best = t / n;
	}
	return best;
}

static double first_touch(void)
{
	const size_t size = 32 * MIB;
	double best = 1e18, start, t;

	for (int r = 0; r < n_rounds; r++) {
		char *p;

		id = create(IPC_PRIVATE, size);
		p = attach(id);
		start = now_ns();
		touch(p, size);
		t = (now_ns() - start) / (size / PAGE);
		shmctl(id, IPC_RMID, NULL);
		shmdt(p);
		id = -1;
		if (t < best)
			best = t;
	}
	return best;
}

int main(int argc, char **argv)
{
	size_t n = sizeof(benches) / sizeof(benches[0]), i;
	const char *name = argc > 1 ? argv[argc - 1] : "";

	if (argc == 4 && !strcmp(argv[1], "--rounds"))
		n_rounds = atoi(argv[2]);
	for (i = 0; i < n; i++) {
		const struct bench *b = &benches[i];

		if (!strcmp(name, "--list")) {
			puts(b->name);
			continue;
		}
		if (strcmp(name, b->name))
			continue;
		if (b->set_up)
			b->set_up();
		printf("%s %.1f\n", b->name,
			b->op ? per_op(b->op) : first_touch());
		if (id >= 0)
			shmctl(id, IPC_RMID, NULL);
		return 0;
	}
	return strcmp(name, "--list") ? 2 : 0;
}
