// SPDX-License-Identifier: MIT
/*
 * A program for memory_back.sh: processes that each made one large call.
 *
 *	app_memory mq N	N processes send and receive a message of 16 MiB
 *	app_memory setall N	N processes SETALL of 32,000
 *	app_memory full N	N processes asleep in mq_send, of 16 MiB
 *
 * All are alive when "done" is printed, and nothing is left but them; they end
 * when standard input does.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (16L << 20)
#define N_SEMS 32000

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static mqd_t open_queue(int i)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = SIZE};
	char name[32];
	mqd_t q;

	snprintf(name, sizeof(name), "/memory-%d", i);
	q = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	if (q < 0)
		die("mq_open");
	mq_unlink(name);
	return q;
}

static void mq(int i)
{
	char *text = calloc(1, SIZE);
	mqd_t q = open_queue(i);

	strcpy(text + SIZE - 5, "end");
	if (mq_send(q, text, SIZE, 0))
		die("mq_send");
	memset(text, 0, SIZE);
	if (mq_receive(q, text, SIZE, NULL) != SIZE ||
		strcmp(text + SIZE - 5, "end"))
		die("mq_receive");
	mq_close(q);
}

static void setall(void)
{
	static unsigned short values[N_SEMS];
	int id = semget(IPC_PRIVATE, N_SEMS, 0600);

	values[N_SEMS - 1] = 3;
	if (id < 0 || semctl(id, 0, SETALL, values) ||
		semctl(id, N_SEMS - 1, GETVAL) != 3)
		die("SETALL");
	if (semctl(id, 0, IPC_RMID))
		die("IPC_RMID");
}

/* The second message has no space. */
static void full(int i, int told)
{
	char *text = calloc(1, SIZE);
	mqd_t q = open_queue(i);

	if (mq_send(q, text, 1, 0))
		die("mq_send");
	write(told, "d", 1);
	mq_send(q, text, SIZE, 0);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0, i, told[2], end[2];
	char c;

	if (pipe(told) || pipe(end))
		die("pipe");
	for (i = 0; i < n; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(end[1]);
		if (!strcmp(argv[1], "mq"))
			mq(i);
		else if (!strcmp(argv[1], "setall"))
			setall();
		else
			full(i, told[1]);
		write(told[1], "d", 1);
		read(end[0], &c, 1);
		_exit(0);
	}
	for (i = 0; i < n; i++)
		if (read(told[0], &c, 1) != 1)
			return 1;
	puts("done");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	close(end[1]);
	if (!strcmp(argv[1], "full"))
		return 0;
	while (wait(&i) > 0)
		if (i)
			return 1;
	return 0;
}
