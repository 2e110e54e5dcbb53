// SPDX-License-Identifier: MIT
/*
 * A program for tool_objects.sh and tool_save.sh: objects of all four kinds.
 *
 *	app_objects make    a set, a queue, a segment, a POSIX queue; exit
 *	app_objects print   all their contents, which empties the queues
 *	app_objects use     attach the segment, hold a semaphore, and sleep in
 *	                      msgrcv (a child), mq_receive (a child) until killed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#define KEY 0x51
#define SHM_SIZE 3000000

static struct {
	long type;
	char text[8192];
} m;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void send(int id, long type, size_t size)
{
	m.type = type;
	memset(m.text, 'a' + (int)type, size);
	if (msgsnd(id, &m, size, IPC_NOWAIT))
		die("msgsnd");
}

static void make(void)
{
	struct mq_attr attr = {.mq_maxmsg = 5, .mq_msgsize = 4000};
	static const char bytes[4000] = "bytes";
	unsigned short values[] = {1, 20, 300};
	int set = semget(KEY, 3, IPC_CREAT | 0640);
	int queue = msgget(KEY, IPC_CREAT | 0600);
	int seg = shmget(KEY, SHM_SIZE, IPC_CREAT | 0600);
	mqd_t q = mq_open("/jobs", O_CREAT | O_RDWR, 0620, &attr);
	struct sembuf op = {1, 1, 0};
	char *p;

	if (set < 0 || queue < 0 || seg < 0 || q < 0)
		die("make");
	semctl(set, 0, SETALL, values);
	semop(set, &op, 1);
	send(queue, 5, 100);
	send(queue, 3, 8000);
	send(queue, 5, 0);
	p = shmat(seg, NULL, 0);
	strcpy(p, "first");
	strcpy(p + 2500000, "far");
	shmdt(p);
	mq_send(q, bytes, 10, 2);
	mq_send(q, bytes, 4000, 7);
	mq_send(q, bytes, 0, 2);
}

static void print_messages(int id)
{
	ssize_t n;

	while ((n = msgrcv(id, &m, sizeof(m.text), 0, IPC_NOWAIT)) >= 0)
		printf("message %ld of %zd %c\n", m.type, n,
			n ? m.text[n - 1] : '-');
}

static void print(void)
{
	int set = semget(KEY, 0, 0), queue = msgget(KEY, 0);
	int seg = shmget(KEY, 0, 0), i;
	mqd_t q = mq_open("/jobs", O_RDWR | O_NONBLOCK);
	struct semid_ds sem;
	struct msqid_ds msg;
	struct shmid_ds shm;
	struct mq_attr attr;
	unsigned prio;
	ssize_t n;
	char *p;

	semctl(set, 0, IPC_STAT, &sem);
	msgctl(queue, IPC_STAT, &msg);
	shmctl(seg, IPC_STAT, &shm);
	printf("set %d mode %o otime %ld ctime %ld\n", set, sem.sem_perm.mode,
		(long)sem.sem_otime, (long)sem.sem_ctime);
	for (i = 0; i < 3; i++)
		printf("value %d pid %d\n", semctl(set, i, GETVAL),
			semctl(set, i, GETPID));
	printf("queue %d: %lu messages, %lu bytes, pids %d %d, times %ld %ld\n",
		queue, (long)msg.msg_qnum, (long)msg.msg_cbytes, msg.msg_lspid,
		msg.msg_lrpid, (long)msg.msg_stime, (long)msg.msg_rtime);
	print_messages(queue);
	printf("segment %d: %zu, pids %d %d, times %ld %ld\n", seg,
		shm.shm_segsz, shm.shm_cpid, shm.shm_lpid, (long)shm.shm_atime,
		(long)shm.shm_dtime);
	p = shmat(seg, NULL, SHM_RDONLY);
	if (p == (void *)-1)
		die("shmat");
	printf("%s, %d, %s\n", p, p[5000], p + 2500000);
	shmdt(p);
	mq_getattr(q, &attr);
	printf("/jobs %ld of %ld, %ld\n", attr.mq_curmsgs, attr.mq_maxmsg,
		attr.mq_msgsize);
	while ((n = mq_receive(q, m.text, sizeof(m.text), &prio)) >= 0)
		printf("priority %u of %zd %.5s\n", prio, n, n ? m.text : "-");
}

static int child(void)
{
	pid_t parent = getpid();

	if (fork())
		return 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		exit(1);
	return 1;
}

static void use(void)
{
	struct sembuf down = {0, -1, SEM_UNDO};
	int seg = shmget(KEY, 0, 0);

	if (shmat(seg, NULL, 0) == (void *)-1 ||
		shmat(seg, NULL, SHM_RDONLY) == (void *)-1)
		die("shmat");
	if (semop(semget(KEY, 0, 0), &down, 1))
		die("semop");
	if (child())
		msgrcv(msgget(KEY, 0), &m, 64, 77, 0);
	if (child()) {
		mqd_t q = mq_open("/empty", O_CREAT | O_RDWR, 0600, NULL);

		mq_receive(q, m.text, sizeof(m.text), NULL);
	}
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "make"))
		make();
	else if (!strcmp(argv[1], "print"))
		print();
	else
		use();
	return 0;
}
