// SPDX-License-Identifier: MIT
/*
 * shm_pipe: pages of a segment are put into a pipe (vmsplice), the segment
 * goes, others are made and written to. What comes out of the pipe is what was
 * put in: the kernel goes on holding those pages.
 *
 * The bug: the pages of a segment that was gone became the next segment's, and
 * the pipe carried another process's data.
 */
#include "shm.h"

#include <sys/uio.h>

#define PAGES 4
#define SIZE (PAGES * 4096)

static int pipes[2];

static void splice_in(char *p)
{
	struct iovec iov = {p, SIZE};

	memset(p, 'A', SIZE);
	t_quiet(vmsplice(pipes[1], &iov, 1, 0) == SIZE);
}

/* Another process makes segments of all sizes around. */
static void others(void)
{
	pid_t pid = t_fork();
	size_t size;
	char *p;
	int id;

	if (!pid) {
		for (size = 4096; size <= 4 * SIZE; size += 4096) {
			id = shmget(IPC_PRIVATE, size, 0600);
			p = shmat(id, NULL, 0);
			for (size_t i = 0; i < size; i++)
				t_quiet(!p[i]);
			memset(p, 'S', size);
			shmdt(p);
			shmctl(id, IPC_RMID, NULL);
		}
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
}

static void read_out(void)
{
	char buf[SIZE];
	size_t n = 0, i, wrong = 0;
	ssize_t got;

	while (n < SIZE && (got = read(pipes[0], buf + n, SIZE - n)) > 0)
		n += (size_t)got;
	for (i = 0; i < n; i++)
		wrong += buf[i] != 'A';
	t_eq(n, SIZE);
	t_eq(wrong, 0);
}

int main(void)
{
	int id;
	char *p;
	pid_t pid;

	t_begin();
	if (pipe(pipes))
		t_say("FAIL pipe: errno %d", errno);

	t_story("detached and removed");
	id = shmget(IPC_PRIVATE, SIZE, 0600);
	p = shmat(id, NULL, 0);
	splice_in(p);
	t_eq(shmdt(p), 0);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	others();
	read_out();

	t_story("removed, then detached");
	id = shmget(IPC_PRIVATE, SIZE, 0600);
	p = shmat(id, NULL, 0);
	t_eq(shmctl(id, IPC_RMID, NULL), 0);
	splice_in(p);
	t_eq(shmdt(p), 0);
	others();
	read_out();

	t_story("its only user is killed");
	id = shmget(IPC_PRIVATE, SIZE, 0600);
	pid = t_fork();
	if (!pid) {
		p = shmat(id, NULL, 0);
		shmctl(id, IPC_RMID, NULL);
		splice_in(p);
		kill(getpid(), SIGKILL);
	}
	t_eq(t_join(pid), 1000 + SIGKILL);
	others();
	read_out();
	return t_end();
}
