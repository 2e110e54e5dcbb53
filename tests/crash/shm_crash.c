// SPDX-License-Identifier: MIT
/*
 * shm_crash: one shared memory operation is killed after each of its stores.
 *
 * The shim's sources are compiled into this program with -DIPCLIFT_CRASH, so
 * that crash_point() below comes before every store to the registry. A child
 * prepares, arms the counter and does the operation; it dies at store n = 1, 2,
 * ... until the operation comes to its end. After each death the invariants are
 * looked at with things as they are (inspect/check.h). The parent goes on:
 * nobody is attached, no segment is left that was removed, the rest can be
 * removed, then nothing is in use, nothing promised; a new segment can be made,
 * is zero, attached and removed; and all invariants hold.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "entry/process.h"
#include "inspect/check.h"
#include "object/reap.h"
#include "inspect/taskview.h"

#define SIZE (3 * 4096)
#define KEY 0x5c4a5400

static volatile long left; /* 0 = not armed */

__attribute__((visibility("hidden"))) void crash_point(void);
void crash_point(void)
{
	if (left && --left == 0)
		kill(getpid(), SIGKILL);
}

static int id;
static char *at;

static void with_segment(void)
{
	id = shmget(KEY, SIZE, IPC_CREAT | 0600);
}
static void attached(void)
{
	with_segment();
	at = shmat(id, NULL, 0);
	memset(at, 1, SIZE);
}
static void dest(void)
{
	attached();
	shmctl(id, IPC_RMID, NULL);
}
static void used_before(void)
{
	dest();
	shmdt(at);
}

static void create(void)
{
	shmget(KEY, SIZE, IPC_CREAT | 0600);
}
static void attach(void)
{
	shmat(id, NULL, 0);
}
static void create_attach(void)
{
	id = shmget(IPC_PRIVATE, SIZE, 0600);
	shmat(id, NULL, 0);
}
static void detach(void)
{
	shmdt(at);
}
static void rmid(void)
{
	shmctl(id, IPC_RMID, NULL);
}
static void fork_child(void)
{
	if (!fork())
		_exit(0);
	wait(NULL);
}
static void piece(void)
{
	extern int munmap(void *, size_t);

	munmap(at + 4096, 4096);
}

/* Another process had it attached twice, and died: looking drops that. */
static void dead_attached(void)
{
	pid_t pid;

	with_segment();
	pid = fork();
	if (!pid) {
		shmat(id, NULL, 0);
		shmat(id, NULL, SHM_RDONLY);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, NULL, 0);
}
/* Another process had it, and died, and a child of it that nobody has seen is
 * there as long as we are: looking counts that, and drops the dead one's. */
static void orphan_attached(void)
{
	int hold[2];
	pid_t pid;
	long ret = SYS_fork;
	char c;

	with_segment();
	if (pipe(hold))
		_exit(90);
	pid = fork();
	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	shmat(id, NULL, 0);
	shmat(id, NULL, SHM_RDONLY);
	__asm__ volatile("syscall" : "+a"(ret)::"rcx", "r11", "memory");
	if (ret)
		_exit(0);
	close(hold[1]);
	_exit(read(hold[0], &c, 1) != 0);
}
static void reap(void)
{
	struct shmid_ds ds;

	shmctl(id, IPC_STAT, &ds);
}

static const struct op {
	const char *name;
	void (*prepare)(void);
	void (*run)(void);
} ops[] = {
	{"create", NULL, create},
	{"create and attach, pages used before", used_before, create_attach},
	{"attach", with_segment, attach},
	{"detach", attached, detach},
	{"remove", with_segment, rmid},
	{"remove while attached", attached, rmid},
	{"last detach", dest, detach},
	{"fork", attached, fork_child},
	{"unmap a piece", attached, piece},
	{"reap", dead_attached, reap},
	{"reap, beside a child", orphan_attached, reap},
};

static int look(const char *name, long n)
{
	struct shmid_ds ds;
	struct shm_info info;
	int highest, i, seg, bad = 0;
	char *p;

	highest = shmctl(0, SHM_INFO, (struct shmid_ds *)&info);
	for (i = 0; i <= highest; i++) {
		seg = shmctl(i, SHM_STAT, &ds);
		if (seg < 0)
			continue;
		bad |= ds.shm_nattch != 0 || (ds.shm_perm.mode & SHM_DEST);
		shmctl(seg, IPC_RMID, NULL);
	}
	shmctl(0, SHM_INFO, (struct shmid_ds *)&info);
	bad |= (info.used_ids != 0) << 1 | (info.shm_tot != 0) << 2;
	seg = shmget(KEY, SIZE, IPC_CREAT | IPC_EXCL | 0600);
	p = seg < 0 ? (void *)-1 : shmat(seg, NULL, 0);
	if (p == (void *)-1)
		bad |= 8;
	for (i = 0; p != (void *)-1 && i < SIZE; i++)
		bad |= p[i] ? 16 : 0;
	if (p != (void *)-1) {
		memset(p, 2, SIZE);
		bad |= shmdt(p) ? 32 : 0;
	}
	bad |= shmctl(seg, IPC_RMID, NULL) ? 64 : 0;
	if (bad)
		printf("FAIL %s, store %ld: %#x\n", name, n, bad);
	return bad;
}

static void on_violation(
	void *arg, enum invariant which, const char *what, u64 a, u64 b)
{
	printf("FAIL %s: invariant %d: %s %llu %llu\n", (const char *)arg,
		(int)which, what, (unsigned long long)a, (unsigned long long)b);
}

/* Right after a death a look repairs, as any caller does, and must not take
 * what is in the middle for a fault. */
static int at_once(const char *name)
{
	int err, quiet;
	struct caller *c = process_get(&err);

	return c && !check_live(c, on_violation, (void *)name, &quiet);
}

/* As `ipclift check`: those that are dead first. */
static int whole(const char *name)
{
	struct task_view t;
	struct caller *c;
	struct task_walk at = {0};
	int err, quiet = 0, n = 0, looks;

	c = process_get(&err);
	while (c && task_view_next(c, &at, &t) > 0)
		if (t.gone || t.state == TASK_PREFORK)
			reap_task(c, t.idx);
	/* The first look may have something to repair; the second has not. */
	for (looks = 0; c && looks < 2 && !n && !quiet; looks++)
		n = check_live(c, on_violation, (void *)name, &quiet);
	if (!quiet)
		printf("FAIL %s: not quiet\n", name);
	return !n && quiet;
}

int main(void)
{
	int failed = 0;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
		long n = 0;
		int status;

		do {
			pid_t pid;

			n++;
			pid = fork();
			if (!pid) {
				alarm(10);
				if (ops[k].prepare)
					ops[k].prepare();
				left = n;
				ops[k].run();
				left = 0;
				_exit(0);
			}
			waitpid(pid, &status, 0);
			/* The child of one that was killed in fork. */
			while (wait(NULL) > 0)
				continue;
			failed |= !at_once(ops[k].name);
			failed |= look(ops[k].name, n) != 0;
			failed |= !whole(ops[k].name);
		} while (!WIFEXITED(status) && n < 2000);
		printf("%s %s: %ld crash points\n", failed ? "FAIL" : "ok",
			ops[k].name, n - 1);
	}
	return failed;
}
