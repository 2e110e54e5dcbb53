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
#include "bench.h"

#include <sys/ipc.h>
#include <sys/shm.h>

#define PAGE 4096
#define MIB (1 << 20)
#define KEY 0x53484d00

static int id = -1;

static void clean_up(void)
{
	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
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

/* --- the cases --------------------------------------------------------- */

static void (*op)(void);

static void run_op(long n)
{
	while (n-- > 0)
		op();
}

static void time_of(void (*what)(void))
{
	op = what;
	op();
	report("", best_of(run_op));
}

static void case_attach(void)
{
	set_up();
	time_of(op_attach);
}

static void case_attach_touch(void)
{
	set_up();
	time_of(op_touch);
}

static void case_cold(void)
{
	set_up_cold();
	time_of(op_attach);
}

static void case_churn_4k(void)
{
	time_of(op_churn_4k);
}

static void case_churn_64k(void)
{
	time_of(op_churn_64k);
}

static void case_churn_1m(void)
{
	time_of(op_churn_1m);
}

static void case_keyed_64k(void)
{
	time_of(op_keyed);
}

static void case_get(void)
{
	set_up();
	time_of(op_get);
}

static void case_stat(void)
{
	set_up();
	time_of(op_stat);
}

static void case_fork(void)
{
	set_up_fork();
	time_of(op_fork);
}

static void case_first_touch(void)
{
	const size_t size = 32 * MIB;
	double best = NEVER, start;

	for (long r = 0; r < n_rounds; r++) {
		char *p;

		id = create(IPC_PRIVATE, size);
		p = attach(id);
		start = now_ns();
		touch(p, size);
		keep_min(&best, (now_ns() - start) / (size / PAGE));
		shmctl(id, IPC_RMID, NULL);
		shmdt(p);
		id = -1;
	}
	report("", best);
}

static const struct bench benches[] = {
	{"shm-attach", case_attach},
	{"shm-attach-touch", case_attach_touch},
	{"shm-cold", case_cold},
	{"shm-churn-4k", case_churn_4k},
	{"shm-churn-64k", case_churn_64k},
	{"shm-churn-1m", case_churn_1m},
	{"shm-keyed-64k", case_keyed_64k},
	{"shm-first-touch", case_first_touch},
	{"shm-get", case_get},
	{"shm-stat", case_stat},
	{"shm-fork", case_fork},
	{0},
};

int main(int argc, char **argv)
{
	bench_main(argc, argv, NULL, benches, clean_up);
	return 0;
}
