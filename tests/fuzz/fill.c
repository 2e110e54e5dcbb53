// SPDX-License-Identifier: MIT
/*
 * fill: one of everything that a registry can hold, for the fuzzers to damage.
 *
 * Makes sets, queues and segments in all their states, leaves processes asleep
 * on them that hold undo and attachments, prints "ready" and waits for a line
 * on stdin, so that the registry is copied while it is quiet. Then all end.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "filled.h"

static pid_t parent;

/* Until it sleeps, or is gone: one after the other they are entered in the same
 * order each time, so that a fuzzer's input means the same. */
static void await_sleep(pid_t pid)
{
	char path[64], line[512], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (;;) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
		close(fd);
		if (n <= 0)
			return;
		line[n] = 0;
		state = strrchr(line, ')');
		if (state && strchr("SZX", state[2]))
			return;
		sched_yield();
	}
}

/* A process that does something, most often for ever. */
static void child(void (*what)(int), int arg)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		what(arg);
		_exit(0);
	}
	await_sleep(pid);
}

/* ---- semaphores ---- */

static void sleep_single(int id)
{
	semop(id, &(struct sembuf){0, -9, 0}, 1);
}

static void sleep_zero(int id)
{
	semop(id, &(struct sembuf){1, 0, 0}, 1);
}

static void sleep_array(int id)
{
	struct sembuf many[20];
	int i;

	for (i = 0; i < 20; i++)
		many[i] = (struct sembuf){i, -5, SEM_UNDO};
	semop(id, many, 20);
}

static void hold_undo(int id)
{
	struct sembuf up[3] = {
		{0, 1, SEM_UNDO}, {2, 2, SEM_UNDO}, {4, 1, SEM_UNDO}};

	semop(id, up, 3);
	for (;;)
		pause();
}

static void fill_sem(void)
{
	int one = semget(IPC_PRIVATE, 1, 0600);
	int five = semget(0x11, 5, IPC_CREAT | 0640), i;
	int many = semget(0x12, 40, IPC_CREAT | 0666);

	semop(one, &(struct sembuf){0, 3, 0}, 1);
	semctl(five, 1, SETVAL, 4);
	child(hold_undo, five);
	child(hold_undo, many);
	child(sleep_single, five);
	child(sleep_zero, five);
	child(sleep_single, many);
	for (i = 0; i < 3; i++)
		child(sleep_array, many);
	for (i = 0; i < 20; i++)
		semget(0x100 + i, 1 + i % 3, IPC_CREAT | 0600);
	for (i = 0; i < 20; i += 4)
		semctl(semget(0x100 + i, 0, 0), 0, IPC_RMID);
}

/* ---- System V queues ---- */

struct message {
	long type;
	char text[70000];
};
static struct message m;

static void receive_other(int id)
{
	msgrcv(id, &m, sizeof(m.text), 77, 0);
}

static void send_more(int id)
{
	m.type = 5;
	msgsnd(id, &m, 900, 0);
}

static void fill_msg(void)
{
	static const int sizes[] = {
		0, 1, 40, 100, 200, 400, 900, 1500, 3000, 7000, 20000, 60000};
	int mixed = msgget(0x21, IPC_CREAT | 0600);
	int empty = msgget(0x22, IPC_CREAT | 0600);
	int full = msgget(0x23, IPC_CREAT | 0600), i;
	struct msqid_ds ds;

	msgctl(mixed, IPC_STAT, &ds);
	ds.msg_qbytes = 4 << 20;
	msgctl(mixed, IPC_SET, &ds);
	for (i = 0; i < 120; i++) {
		m.type = 1 + i * 7 % 11;
		memset(m.text, 'a' + i % 26, sizeof(m.text));
		msgsnd(mixed, &m, (size_t)sizes[i % 12], IPC_NOWAIT);
	}
	/* Warm blocks, free cells. */
	for (i = 0; i < 60; i++)
		msgrcv(mixed, &m, sizeof(m.text), i % 3 ? 0 : -4, IPC_NOWAIT);
	m.type = 3;
	while (!msgsnd(full, &m, 1000, IPC_NOWAIT))
		;
	child(receive_other, empty);
	child(receive_other, mixed);
	child(send_more, full);
}

/* ---- segments ---- */

static void attach_and_wait(int id)
{
	shmat(id, NULL, 0);
	shmat(id, NULL, SHM_RDONLY);
	for (;;)
		pause();
}

static void fill_shm(void)
{
	int small = shmget(0x31, 5000, IPC_CREAT | 0600);
	int gone = shmget(IPC_PRIVATE, 100000, 0600), i, id;
	char *p = shmat(small, NULL, 0);

	if (p != (void *)-1)
		memset(p, 's', 5000);
	child(attach_and_wait, small);
	child(attach_and_wait, gone);
	usleep(100000);
	shmctl(gone, IPC_RMID, NULL);
	for (i = 0; i < 6; i++) {
		id = shmget(IPC_PRIVATE, 4096 << i, 0600);
		p = shmat(id, NULL, 0);
		if (p == (void *)-1)
			continue;
		memset(p, i, 4096 << i);
		shmdt(p);
		if (i % 2)
			shmctl(id, IPC_RMID, NULL);
	}
}

/* ---- POSIX queues ---- */

static mqd_t open_queue(const char *name, long maxmsg, long size)
{
	struct mq_attr a = {.mq_maxmsg = maxmsg, .mq_msgsize = size};

	return mq_open(name, O_CREAT | O_RDWR, 0600, &a);
}

static void mq_receiver(int n)
{
	static char buf[8192];

	mq_receive(open_queue("/empty", 10, 128), buf, sizeof(buf), NULL);
	(void)n;
}

static void mq_sender(int n)
{
	static char buf[8192];

	mq_send(open_queue("/full", 4, 4096), buf, 4000, (unsigned)n);
}

static void mq_registrant(int n)
{
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};

	(void)n;
	mq_notify(open_queue("/told", 10, 128), &ev);
	for (;;)
		pause();
}

static void fill_mq(void)
{
	static char buf[8192];
	mqd_t many = open_queue("/many", 10, 200);
	mqd_t large = open_queue("/large", 8, 8000);
	mqd_t full = open_queue("/full", 4, 4096);
	mqd_t unlinked = open_queue("/unlinked", 4, 64);
	int i;

	for (i = 0; i < 10; i++)
		mq_send(many, buf, (size_t)i * 20, (unsigned)(i * 701 % 7000));
	for (i = 0; i < 3; i++)
		mq_receive(many, buf, sizeof(buf), NULL);
	for (i = 0; i < 6; i++)
		mq_send(large, buf, (size_t)i * 1300, (unsigned)i / 2);
	for (i = 0; i < 4; i++)
		mq_send(full, buf, 3000, 1);
	mq_send(unlinked, buf, 10, 0);
	mq_unlink("/unlinked");
	child(mq_receiver, 0);
	child(mq_sender, 3);
	child(mq_registrant, 0);
}

/* ---- leases, and the ring of events ---- */

/* This program again, with IPCLIFT_LEASE: it has one of each kind of message of
 * both queues, acknowledged some, and goes, or sleeps for more. */
static void leaser(const char *how)
{
	static char buf[8192];
	int id = msgget(0x24, 0), i;
	mqd_t small = open_queue("/leased", 9, 60);
	mqd_t large = open_queue("/leased-large", 9, 8000);

	for (i = 0; i < 3; i++)
		if (msgrcv(id, &m, sizeof(m.text), 0, IPC_NOWAIT) < 0 ||
			mq_receive(small, buf, sizeof(buf), NULL) < 0 ||
			mq_receive(large, buf, sizeof(buf), NULL) < 0)
			_exit(1);
	if (*how == 'd')
		raise(SIGKILL);
	for (;;)
		if (*how == 's')
			msgrcv(id, &m, sizeof(m.text), 78, 0);
		else
			pause();
}

static void start_leaser(int how)
{
	const char word[] = {(char)how, 0};

	setenv("IPCLIFT_LEASE", "msg,mq", 1);
	execl("/proc/self/exe", "fill", word, NULL);
}

static void fill_leases(void)
{
	static char buf[8192];
	int id = msgget(0x24, IPC_CREAT | 0600), i;
	mqd_t small = open_queue("/leased", 9, 60);
	mqd_t large = open_queue("/leased-large", 9, 8000);

	for (i = 0; i < 9; i++) {
		m.type = 1 + i % 2;
		msgsnd(id, &m, i % 3 ? 40 : 4500, IPC_NOWAIT);
		mq_send(small, buf, 50, (unsigned)i);
		mq_send(large, buf, 3000, (unsigned)i);
	}
	child(start_leaser, 'p');
	child(start_leaser, 's');
	child(start_leaser, 'd');
}

static void fill_events(void)
{
	semget(IPC_PRIVATE, 1 << 30, 0600);
	msgget(0x999, 0);
	m.type = 1;
	msgsnd(msgget(0x22, 0), &m, sizeof(m.text), IPC_NOWAIT);
	shmget(IPC_PRIVATE, ~0UL >> 1, 0600);
}

/* What filled.c makes half a SETALL and a queue that is still to be emptied of:
 * known by its size, and by its qbytes. */
static void fill_halves(void)
{
	static unsigned short all[HALF_SETALL];
	struct msqid_ds ds;
	int set = semget(IPC_PRIVATE, HALF_SETALL, 0600);
	int id = msgget(IPC_PRIVATE, 0600), i;

	for (i = 0; i < HALF_SETALL; i++)
		all[i] = 7;
	semctl(set, 0, SETALL, all);
	memset(&ds, 0, sizeof(ds));
	msgctl(id, IPC_STAT, &ds);
	ds.msg_qbytes = REMAINS_QBYTES;
	msgctl(id, IPC_SET, &ds);
	for (i = 0; i < 40; i++) {
		m.type = 1 + i % 3;
		msgsnd(id, &m, i % 4 ? 40 : i % 8 ? 3000 : 9000, IPC_NOWAIT);
	}
}

int main(int argc, char **argv)
{
	char line[8];

	if (argc > 1) {
		leaser(argv[1]);
		return 0;
	}
	parent = getpid();
	fill_sem();
	fill_msg();
	fill_shm();
	fill_mq();
	/* Last, so that what stands before keeps its place. */
	fill_leases();
	fill_events();
	fill_halves();
	/* Until they are asleep. */
	usleep(700000);
	puts("ready");
	fflush(stdout);
	if (read(0, line, sizeof(line)) < 0)
		return 1;
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	return 0;
}
