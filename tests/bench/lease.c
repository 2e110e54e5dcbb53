// SPDX-License-Identifier: MIT
/*
 * lease CASE [SIZE]: what a message costs, for tests/bench/leases; one number.
 *   msg, mq          ns a send and receive of SIZE bytes, by one thread
 *   trip             ns a round trip of 64 bytes between two processes, by two
 *                    System V queues
 *   back             us from the kill of a receiver to a sleeping one's having its
 *                    message (with leases)
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 8192
#define PAIRS 100000
#define TRIPS 50000
#define KILLS 21

static struct {
	long type;
	char text[LONGEST];
} text = {.type = 1};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static int queue(void)
{
	int id = msgget(IPC_PRIVATE, 0600);

	must(id >= 0, "msgget");
	return id;
}

static double msg_pair(size_t size)
{
	int id = queue(), i;
	double t = now_ns();

	for (i = 0; i < PAIRS; i++)
		must(!msgsnd(id, &text, size, 0) &&
				msgrcv(id, &text, sizeof(text.text), 0, 0) ==
					(ssize_t)size,
			"msg");
	t = (now_ns() - t) / PAIRS;
	msgctl(id, IPC_RMID, NULL);
	return t;
}

static double mq_pair(size_t size)
{
	struct mq_attr attr = {.mq_maxmsg = 10, .mq_msgsize = LONGEST};
	mqd_t q = mq_open("/lease_bench", O_CREAT | O_RDWR, 0600, &attr);
	double t;
	int i;

	must(q >= 0, "mq_open");
	t = now_ns();
	for (i = 0; i < PAIRS; i++)
		must(!mq_send(q, text.text, size, 0) &&
				mq_receive(q, text.text, LONGEST, NULL) ==
					(ssize_t)size,
			"mq");
	t = (now_ns() - t) / PAIRS;
	mq_close(q);
	mq_unlink("/lease_bench");
	return t;
}

static pid_t child(void)
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static double trip(void)
{
	int there = queue(), back = queue(), i;
	pid_t pid = child();
	double t;

	if (!pid)
		for (;;)
			if (msgrcv(there, &text, 64, 0, 0) < 0 ||
				msgsnd(back, &text, 64, 0))
				_exit(0);
	t = now_ns();
	for (i = 0; i < TRIPS; i++)
		must(!msgsnd(there, &text, 64, 0) &&
				msgrcv(back, &text, 64, 0, 0) == 64,
			"trip");
	t = (now_ns() - t) / TRIPS;
	msgctl(there, IPC_RMID, NULL);
	msgctl(back, IPC_RMID, NULL);
	waitpid(pid, NULL, 0);
	return t;
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double back(void)
{
	volatile double *got = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double took[KILLS];
	int id = queue(), i, k;
	pid_t pid[2];

	for (k = 0; k < KILLS; k++) {
		for (i = 0; i < 2; i++) {
			got[i] = 0;
			pid[i] = child();
			if (!pid[i]) {
				msgrcv(id, &text, 64, 0, 0);
				got[i] = now_ns();
				for (;;)
					pause();
			}
			usleep(20000);
		}
		msgsnd(id, &text, 64, 0);
		while (!got[0])
			usleep(1000);
		took[k] = now_ns();
		kill(pid[0], SIGKILL);
		waitpid(pid[0], NULL, 0);
		for (i = 0; !got[1] && i < 3000; i++)
			usleep(1000);
		took[k] = got[1] ? (got[1] - took[k]) / 1000 : 1e12;
		kill(pid[1], SIGKILL);
		waitpid(pid[1], NULL, 0);
		msgrcv(id, &text, 64, 0, IPC_NOWAIT);
	}
	msgctl(id, IPC_RMID, NULL);
	qsort(took, KILLS, sizeof(took[0]), by_number);
	return took[KILLS / 2];
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	size_t size = argc > 2 ? (size_t)atoi(argv[2]) : 64;
	double t;

	if (size < 1 || size > LONGEST)
		size = 64;
	if (!strcmp(what, "msg"))
		t = msg_pair(size);
	else if (!strcmp(what, "mq"))
		t = mq_pair(size);
	else if (!strcmp(what, "trip"))
		t = trip();
	else if (!strcmp(what, "back"))
		t = back();
	else
		return 2;
	printf("%.1f\n", t);
	return 0;
}
