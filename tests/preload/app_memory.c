// SPDX-License-Identifier: MIT
/*
 * A program for memory_back.sh: processes that each made one large call.
 *
 *	app_memory mq N	N processes send and receive a message of 16 MiB
 *	app_memory setall N	N processes SETALL of 32,000
 *	app_memory full N	N processes asleep in mq_send, of 16 MiB
 *	app_memory closed N	N processes in which a thread was asleep so when
 *				another closed the last descriptor of the
 *				queue, which held 16 MiB; its time ran out
 *	app_memory undo N	N processes, one after the other, lock and
 *				unlock with SEM_UNDO in a set of 32,000 that is
 *				theirs all, and in one that they remove; these
 *				have ended by then
 *	app_memory asleep N	N processes, one after the other, killed asleep
 *				in msgrcv on a queue to which nobody sends
 *
 * All are alive when "done" is printed, and nothing is left but them; they end
 * when standard input does.
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
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
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

struct late {
	mqd_t q;
	char *text;
	_Atomic int tid;
	int err;
};

static void *send_late(void *arg)
{
	struct late *l = arg;
	struct timespec limit;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec++;
	l->tid = gettid();
	l->err = mq_timedsend(l->q, l->text, SIZE, 0, &limit) ? errno : 0;
	return NULL;
}

static int is_asleep(int tid)
{
	char path[64], text[512], *end;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		die(path);
	close(fd);
	text[n] = 0;
	end = strrchr(text, ')');
	return end && end[2] == 'S';
}

static void closed(int i)
{
	struct late l = {.q = open_queue(i), .text = calloc(1, SIZE)};
	pthread_t t;

	memset(l.text, 1, SIZE);
	if (mq_send(l.q, l.text, SIZE, 0))
		die("mq_send");
	if (pthread_create(&t, NULL, send_late, &l))
		die("pthread_create");
	while (!l.tid || !is_asleep(l.tid))
		sched_yield();
	mq_close(l.q);
	pthread_join(t, NULL);
	if (l.err != ETIMEDOUT)
		die("mq_timedsend ended otherwise");
}

static void lock_and_unlock(int id)
{
	struct sembuf lock = {0, 1, SEM_UNDO}, unlock = {0, -1, SEM_UNDO};

	if (id < 0 || semop(id, &lock, 1) || semop(id, &unlock, 1))
		die("semop");
}

static int undo(int n)
{
	int shared = semget(IPC_PRIVATE, N_SEMS, 0600), own, status;

	while (n--) {
		if (!fork()) {
			own = semget(IPC_PRIVATE, N_SEMS, 0600);
			lock_and_unlock(shared);
			lock_and_unlock(own);
			if (semctl(own, 0, IPC_RMID))
				die("IPC_RMID");
			_exit(0);
		}
		if (wait(&status) < 0 || status)
			return 1;
	}
	return semctl(shared, 0, IPC_RMID) != 0;
}

static int asleep(int n)
{
	int id = msgget(IPC_PRIVATE, 0600);
	struct {
		long type;
		char text[100];
	} m;
	pid_t pid;

	while (n--) {
		pid = fork();
		if (!pid)
			_exit(msgrcv(id, &m, sizeof(m.text), 0, 0) < 0);
		while (!is_asleep(pid))
			sched_yield();
		kill(pid, SIGKILL);
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return msgctl(id, IPC_RMID, NULL) != 0;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0, i, told[2], end[2];
	char c;

	if (pipe(told) || pipe(end))
		die("pipe");
	if (argc > 1 && !strcmp(argv[1], "undo")) {
		if (undo(n))
			return 1;
		n = 0;
	}
	if (argc > 1 && !strcmp(argv[1], "asleep")) {
		if (asleep(n))
			return 1;
		n = 0;
	}
	for (i = 0; i < n; i++) {
		if (fork())
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(end[1]);
		if (!strcmp(argv[1], "mq"))
			mq(i);
		else if (!strcmp(argv[1], "setall"))
			setall();
		else if (!strcmp(argv[1], "closed"))
			closed(i);
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
