// SPDX-License-Identifier: MIT
/*
 * mq_select_calls: with a queue open, select(2) and poll(2) on many descriptors
 * make no more system calls than on few, and select reads nothing beyond the
 * descriptors that exist, whatever number it is given.
 *
 * The bug: select(getdtablesize(), ...) looked up the descriptor of each bit
 * set in and beyond the caller's sets, in each call again.
 */
#include "mq.h"
#include "syscalls.h"
#include <poll.h>
#include <sys/resource.h>
#include <sys/select.h>

#define FEW 10
#define MANY 900
#define HIGHEST 20000

static struct pollfd polled[MANY];

static void select_of(int n, int told)
{
	struct timeval none = {0, 0};
	fd_set in;
	int i;

	FD_ZERO(&in);
	for (i = 0; i < n; i++)
		FD_SET(polled[i].fd, &in);
	select(told, &in, NULL, NULL, &none);
}

/* Each of them a second time: what a descriptor is has been found out. */
static void looks(void)
{
	struct rlimit limit = {HIGHEST, HIGHEST};
	int fd = open("/dev/null", O_RDONLY), i, again;

	setrlimit(RLIMIT_NOFILE, &limit);
	for (i = 1; i < MANY; i++)
		polled[i] = (struct pollfd){dup(fd), POLLIN, 0};
	polled[0] = (struct pollfd){
		q_open(NAME, RW | O_NONBLOCK, 2, 32), POLLIN, 0};
	for (again = 0; again < 2; again++) {
		syscalls_shown();
		select_of(FEW, polled[0].fd + 1);
		syscalls_hidden();
		syscalls_shown();
		select_of(MANY, polled[0].fd + 1);
		syscalls_hidden();
		syscalls_shown();
		select_of(MANY, HIGHEST);
		syscalls_hidden();
		syscalls_shown();
		poll(polled, FEW, 0);
		syscalls_hidden();
		syscalls_shown();
		poll(polled, MANY, 0);
		syscalls_hidden();
	}
}

int main(void)
{
	int n[10], i;
	pid_t pid;

	t_begin();
	mq_unlink(NAME);
	pid = syscalls_child(looks);
	for (i = 0; i < 10; i++) {
		t_quiet(syscalls_run(pid, NULL) >= 0);
		n[i] = syscalls_run(pid, NULL);
	}
	t_true(n[5] > 0 && n[5] < 16);
	t_true(n[6] == n[5]);
	t_true(n[7] == n[5]);
	t_true(n[8] > 0 && n[8] < 16);
	t_true(n[9] == n[8]);
	t_true(syscalls_run(pid, NULL) < 0);
	t_eq(mq_unlink(NAME), 0);
	return t_failed;
}
