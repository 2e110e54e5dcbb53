// SPDX-License-Identifier: MIT
/*
 * A program for tool_save_live.sh: objects that stay, and objects that come and
 * go.
 *
 *	app_churn keep	make the ones that stay; exit
 *	app_churn verify	0 if all of them are there with what they held
 *	app_churn churn SEED	remove and make others, until killed
 *	app_churn wide	a segment of 64 GiB with two pages in use
 *	app_churn wide-is	0 if it is that
 *	app_churn fill MIB	a segment full of bytes that are not zero
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define N_KEPT 40
#define N_MOVED 400
#define KEPT(i) (1000 + (i))
#define MOVED(i) (5000 + (i))
#define WIDE (64UL << 30)

static struct {
	long type;
	char text[64];
} m = {.type = 1};

static const char *name_of(const char *what, int i)
{
	static char name[32];

	snprintf(name, sizeof(name), "/%s-%d", what, i);
	return name;
}

static void die(const char *what, int i)
{
	fprintf(stderr, "%s %d: ", what, i);
	perror(NULL);
	exit(1);
}

static void keep(void)
{
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 64};
	int i, id;
	mqd_t q;
	char *p;

	for (i = 0; i < N_KEPT; i++) {
		id = semget(KEPT(i), 1, IPC_CREAT | 0600);
		if (id < 0 || semctl(id, 0, SETVAL, i + 1))
			die("set", i);
		id = msgget(KEPT(i), IPC_CREAT | 0600);
		snprintf(m.text, sizeof(m.text), "message %d", i);
		if (id < 0 || msgsnd(id, &m, sizeof(m.text), 0))
			die("queue", i);
		id = shmget(KEPT(i), 10000, IPC_CREAT | 0600);
		p = id < 0 ? NULL : shmat(id, NULL, 0);
		if (!p || p == (void *)-1)
			die("segment", i);
		snprintf(p + 5000, 64, "bytes %d", i);
		shmdt(p);
		q = mq_open(name_of("kept", i), O_CREAT | O_RDWR, 0600, &attr);
		if (q < 0 || mq_send(q, m.text, sizeof(m.text), 3))
			die("mq", i);
		mq_close(q);
	}
}

static void verify(void)
{
	char text[64];
	int i, id;
	mqd_t q;
	char *p;

	for (i = 0; i < N_KEPT; i++) {
		id = semget(KEPT(i), 1, 0);
		if (id < 0 || semctl(id, 0, GETVAL) != i + 1)
			die("set", i);
		snprintf(text, sizeof(text), "message %d", i);
		id = msgget(KEPT(i), 0);
		if (id < 0 ||
			msgrcv(id, &m, sizeof(m.text), 0, IPC_NOWAIT) < 0 ||
			strcmp(m.text, text))
			die("queue", i);
		q = mq_open(name_of("kept", i), O_RDONLY);
		if (q < 0 || mq_receive(q, m.text, sizeof(m.text), NULL) < 0 ||
			strcmp(m.text, text))
			die("mq", i);
		mq_close(q);
		snprintf(text, sizeof(text), "bytes %d", i);
		id = shmget(KEPT(i), 10000, 0);
		p = id < 0 ? NULL : shmat(id, NULL, SHM_RDONLY);
		if (!p || p == (void *)-1 || strcmp(p + 5000, text))
			die("segment", i);
		shmdt(p);
	}
}

/* Others may have been faster: no error is one. */
static void churn(unsigned seed)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
	int key;

	for (;;) {
		key = MOVED(rand_r(&seed) % N_MOVED);
		semctl(semget(key, 1, 0), 0, IPC_RMID);
		semget(key, 1, IPC_CREAT | 0600);
		msgctl(msgget(key, 0), IPC_RMID, NULL);
		msgget(key, IPC_CREAT | 0600);
		shmctl(shmget(key, 1, 0), IPC_RMID, NULL);
		shmget(key, 100, IPC_CREAT | 0600);
		if (key % 20)
			continue;
		mq_unlink(name_of("moved", key));
		mq_close(mq_open(
			name_of("moved", key), O_CREAT | O_RDWR, 0600, &attr));
	}
}

static char *attach(int id)
{
	char *p = id < 0 ? NULL : shmat(id, NULL, 0);

	if (!p || p == (void *)-1)
		die("segment", id);
	return p;
}

static void wide(int make)
{
	char *p = attach(
		shmget(99, WIDE, make ? IPC_CREAT | SHM_NORESERVE | 0600 : 0));

	if (make) {
		strcpy(p + 12345, "near");
		strcpy(p + WIDE - 5, "far");
	}
	exit(strcmp(p + 12345, "near") || strcmp(p + WIDE - 5, "far") ||
		p[WIDE / 2]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	size_t size;

	if (!strcmp(what, "keep"))
		keep();
	else if (!strcmp(what, "verify"))
		verify();
	else if (!strcmp(what, "churn") && argc > 2)
		churn((unsigned)atoi(argv[2]));
	else if (!strncmp(what, "wide", 4))
		wide(!what[4]);
	else if (!strcmp(what, "fill") && argc > 2) {
		size = (size_t)atoi(argv[2]) << 20;
		memset(attach(shmget(
			       98, size, IPC_CREAT | SHM_NORESERVE | 0600)),
			'x', size);
	} else {
		return 2;
	}
	return 0;
}
