// SPDX-License-Identifier: MIT
/*
 * inquiry: a small server and its clients on one System V queue, the way it was
 * done for thirty years. What you will see:
 *
 *	$ cc -o inquiry inquiry.c
 *	$ ./inquiry
 *	client 1: 7 squared is 49
 *	client 2: 11 squared is 121
 *	client 3: 13 squared is 169
 *	served 3 requests, the queue is empty
 *
 * Requests have type 1. A reply's type is the client's process id, so each
 * client takes its own from the queue and nobody else's. Under the shim the
 * same binary does it without the kernel:
 *
 *	$ IPCLIFT_REGISTRY=/dev/shm/demo LD_PRELOAD=libipclift.so ./inquiry
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST 1

struct request {
	long type;
	pid_t client;
	int number;
};

struct reply {
	long type;
	int square;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* The server: answers until it is asked for 0. */
static int serve(int queue)
{
	struct request ask;
	struct reply answer;
	int served = 0;

	for (;;) {
		if (msgrcv(queue, &ask, sizeof(ask) - sizeof(long), REQUEST,
			    0) < 0)
			fail("msgrcv");
		if (ask.number == 0)
			return served;
		answer.type = ask.client;
		answer.square = ask.number * ask.number;
		if (msgsnd(queue, &answer, sizeof(answer) - sizeof(long), 0))
			fail("msgsnd");
		served++;
	}
}

static int inquire(int queue, int number)
{
	struct request ask = {REQUEST, getpid(), number};
	struct reply answer;

	if (msgsnd(queue, &ask, sizeof(ask) - sizeof(long), 0))
		fail("msgsnd");
	if (msgrcv(queue, &answer, sizeof(answer) - sizeof(long), getpid(), 0) <
		0)
		fail("msgrcv");
	return answer.square;
}

int main(void)
{
	static const int numbers[] = {7, 11, 13};
	int queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600), i;
	struct request last = {REQUEST, 0, 0};
	struct msqid_ds state;
	pid_t server;
	int status;

	if (queue < 0)
		fail("msgget");
	server = fork();
	if (server == 0)
		_exit(serve(queue));
	for (i = 0; i < 3; i++) {
		pid_t client = fork();

		if (client == 0) {
			printf("client %d: %d squared is %d\n", i + 1,
				numbers[i], inquire(queue, numbers[i]));
			exit(0);
		}
		/* one after the other, for the sake of the lines' order */
		waitpid(client, &status, 0);
	}
	msgsnd(queue, &last, sizeof(last) - sizeof(long), 0);
	waitpid(server, &status, 0);
	msgctl(queue, IPC_STAT, &state);
	printf("served %d requests, the queue %s\n", WEXITSTATUS(status),
		state.msg_qnum ? "is NOT empty" : "is empty");
	return msgctl(queue, IPC_RMID, NULL) ? 1 : 0;
}
