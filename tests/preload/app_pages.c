// SPDX-License-Identifier: MIT
/*
 * app_pages SIZE: KiB that the registry takes before N messages of SIZE bytes
 * are sent, with them in the queue, and after they were received. Then traffic
 * of a few messages under a strict seccomp filter, where any system call but
 * read, write and exit kills: says "quiet" if there was none.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N 1000
#define STEADY 6 /* messages in the queue at once */

static struct {
	long type;
	char text[8192];
} buf = {.type = 1};
static size_t size;
static int id;

static long kib(void)
{
	struct stat st;

	return stat(getenv("IPCLIFT_REGISTRY"), &st) ? -1 : st.st_blocks / 2;
}

static void transfer(int n)
{
	int i;

	for (i = 0; i < n; i++) {
		buf.type = 1;
		if (msgsnd(id, &buf, size, 0))
			_exit(2);
	}
}

static void receive(int n)
{
	while (n-- > 0)
		if (msgrcv(id, &buf, sizeof(buf.text), 0, 0) != (ssize_t)size)
			_exit(3);
}

static int steady(void)
{
	pid_t pid = fork();
	int status, i;

	if (!pid) {
		for (i = 0; i < 2000; i++) {
			transfer(STEADY);
			receive(STEADY);
			if (i == 1000 && prctl(PR_SET_SECCOMP, 1))
				_exit(4);
		}
		syscall(SYS_exit, 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	struct msqid_ds ds;
	long before, full;

	size = argc > 1 ? strtoul(argv[1], NULL, 10) : 8192;
	id = msgget(IPC_PRIVATE, 0600);
	if (msgctl(id, IPC_STAT, &ds))
		return 1;
	ds.msg_qbytes = 16 << 20;
	if (msgctl(id, IPC_SET, &ds))
		return 1;
	/* What the first messages of a process make is not the subject. */
	transfer(STEADY);
	receive(STEADY);
	before = kib();
	transfer(N);
	full = kib();
	receive(N);
	printf("%ld %ld %ld\n", before, full, kib());
	printf("%s\n", steady() ? "not quiet" : "quiet");
	return msgctl(id, IPC_RMID, NULL) != 0;
}
