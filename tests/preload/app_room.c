// SPDX-License-Identifier: MIT
/*
 * app_room DIR [c]: queues in a registry on a file system that runs full, for
 * mq_room.sh. DIR is on it; c: the cancelled ones.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char fill[4096];
static mqd_t q;
static volatile int got;

static struct timespec in_seconds(int n)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += n;
	return t;
}

static int other; /* a queue of System V, which takes what is left */

/* The file system, and what the registry has of it and does not use. */
static void fill_up(void)
{
	static struct {
		long type;
		char text[8192];
	} m = {.type = 1};
	int fd = open(fill, O_RDWR | O_CREAT, 0600);
	size_t size;

	while (write(fd, m.text, 4096) > 0)
		;
	close(fd);
	for (size = 8192; size; size /= 2)
		while (!msgsnd(other, &m, size - (size == 1), IPC_NOWAIT))
			;
}

static void empty(void)
{
	unlink(fill);
	msgctl(other, IPC_RMID, NULL);
}

static void make_other(void)
{
	struct msqid_ds ds;

	other = msgget(IPC_PRIVATE, 0600);
	msgctl(other, IPC_STAT, &ds);
	ds.msg_qbytes = 64 << 20;
	msgctl(other, IPC_SET, &ds);
}

static void nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static mqd_t make(long maxmsg, long msgsize)
{
	struct mq_attr attr = {.mq_maxmsg = maxmsg, .mq_msgsize = msgsize};
	mqd_t d;

	make_other();
	d = mq_open("/room", O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	mq_unlink("/room");
	if (d < 0)
		printf("mq_open: %s\n", strerror(errno));
	return d;
}

static long count(void)
{
	struct mq_attr attr;

	return mq_getattr(q, &attr) ? -1 : attr.mq_curmsgs;
}

/* A sender sleeps at a full queue; there is no memory when its turn has come,
 * and then there is again. */
static void sender_asleep(long msgsize)
{
	struct timespec until = in_seconds(10);
	char buf[8192];
	unsigned prio = 0;
	int status;
	pid_t pid;

	q = make(1, msgsize);
	mq_send(q, "first", 5, 1);
	pid = fork();
	if (!pid) {
		memset(buf, 's', sizeof(buf));
		_exit(mq_timedsend(q, buf, 6, 20000, &until) ? errno : 0);
	}
	nap(200);
	fill_up();
	printf("received %zd", mq_receive(q, buf, sizeof(buf), &prio));
	printf(" of %u\n", prio);
	empty();
	until = in_seconds(4);
	printf("received %zd",
		mq_timedreceive(q, buf, sizeof(buf), &prio, &until));
	printf(" of %u\n", prio);
	waitpid(pid, &status, 0);
	printf("sender: %s, left %ld\n", strerror(WEXITSTATUS(status)),
		count());
	mq_close(q);
}

static void *receives(void *arg)
{
	struct sched_param none = {0};
	char buf[8192];

	(void)arg;
	/* Woken, it does not run before it is cancelled. */
	sched_setscheduler(0, SCHED_BATCH, &none);
	got = mq_receive(q, buf, sizeof(buf), NULL) > 0;
	return NULL;
}

/* Cancelled when the message has been handed to it: it goes back, or the thread
 * returns with it. */
static void cancelled(void)
{
	/* Each wants memory of a size that nothing before it has given back. */
	static const long sizes[] = {8192, 64, 192, 320, 448};
	pthread_t thread;
	char buf[8192];
	int lost = 0, sent;
	cpu_set_t cpus;
	pid_t pid;

	CPU_ZERO(&cpus);
	CPU_SET(sched_getcpu(), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);

	for (int i = 0; i < 5; i++) {
		q = make(4, sizes[i]);
		got = 0;
		pthread_create(&thread, NULL, receives, NULL);
		nap(100);
		fill_up();
		/* It may still not sleep, on a busy machine. */
		sent = !mq_send(q, "x", 1, 0);
		pthread_cancel(thread);
		pid = fork();
		if (!pid) {
			nap(20);
			empty();
			_exit(0);
		}
		pthread_join(thread, NULL);
		waitpid(pid, NULL, 0);
		lost += sent && !got && count() != 1;
		if (count() > 0)
			mq_receive(q, buf, sizeof(buf), NULL);
	}
	printf("lost %d\n", lost);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	snprintf(fill, sizeof(fill), "%s/fill", argc > 1 ? argv[1] : ".");
	alarm(60);
	if (argc > 2) {
		cancelled();
		return 0;
	}
	sender_asleep(64);
	sender_asleep(8192);
	return 0;
}
