// SPDX-License-Identifier: MIT
/*
 * client: every call on whatever the registry holds, none of which may sleep
 * for long. The answers are anybody's guess; what counts is that there are
 * some. Prints "done N calls".
 *
 *	client [SECONDS]
 *
 * With SECONDS it goes on for so long, beside others who change the registry,
 * and SIGALRM ends it where a group of calls takes ten seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MANY 40

/* Arbitrary: each call takes milliseconds at most. */
#define CALL_SECONDS 10

#define SEMS_MOST (1 << 18) /* of sem/semset.h */

static int bounded;
static long calls;
static struct {
	long type;
	char text[70000];
} m;

union semun {
	int val;
	struct semid_ds *ds;
	unsigned short *array;
	struct seminfo *info;
};

static void begin(void)
{
	if (bounded)
		alarm(CALL_SECONDS);
}

static void use_set(int id)
{
	static const struct timespec now = {0, 1000000};
	/* The set may lie in what this changes, and grow: no size that it is
	 * told of holds. */
	static unsigned short all[SEMS_MOST];
	struct semid_ds ds;
	struct sembuf op[20];
	unsigned n, i;

	memset(&ds, 0, sizeof(ds));
	if (semctl(id, 0, IPC_STAT, (union semun){.ds = &ds}) < 0)
		return;
	n = ds.sem_nsems < 40 ? (unsigned)ds.sem_nsems : 40;
	for (i = 0; i < n && i < 6; i++) {
		op[0] = (struct sembuf){(unsigned short)i, 1, IPC_NOWAIT};
		semop(id, op, 1);
		op[0].sem_op = -1;
		semop(id, op, 1);
		op[0].sem_flg = IPC_NOWAIT | SEM_UNDO;
		op[0].sem_op = 1;
		semop(id, op, 1);
		op[0].sem_op = 0;
		semtimedop(id, op, 1, &now);
		semctl(id, (int)i, GETVAL);
		semctl(id, (int)i, GETNCNT);
		semctl(id, (int)i, GETZCNT);
		semctl(id, (int)i, GETPID);
		semctl(id, (int)i, SETVAL, (union semun){.val = 2});
	}
	for (i = 0; i < n && i < 20; i++)
		op[i] = (struct sembuf){
			(unsigned short)i, 1, IPC_NOWAIT | SEM_UNDO};
	semop(id, op, i);
	for (i = 0; i < n && i < 20; i++)
		op[i].sem_op = -1;
	semtimedop(id, op, i, &now);
	if (ds.sem_nsems <= 300) {
		memset(all, 0, 300 * sizeof(all[0]));
		semctl(id, 0, GETALL, (union semun){.array = all});
		semctl(id, 0, SETALL, (union semun){.array = all});
	}
	semctl(id, 0, IPC_SET, (union semun){.ds = &ds});
	calls += 60;
}

static void use_queue(int id)
{
	static const int sizes[] = {0, 50, 700, 1500, 3000, 7000, 20000};
	struct msqid_ds ds;
	unsigned i;

	memset(&ds, 0, sizeof(ds));
	msgctl(id, IPC_STAT, &ds);
	for (i = 0; i < 7; i++) {
		m.type = 1 + i;
		msgsnd(id, &m, (size_t)sizes[i], IPC_NOWAIT);
	}
	msgrcv(id, &m, sizeof(m.text), 3, IPC_NOWAIT | MSG_COPY);
	msgrcv(id, &m, sizeof(m.text), 5, IPC_NOWAIT);
	msgrcv(id, &m, sizeof(m.text), -4, IPC_NOWAIT);
	msgrcv(id, &m, sizeof(m.text), 2, IPC_NOWAIT | MSG_EXCEPT);
	msgctl(id, IPC_SET, &ds);
	for (i = 0; i < 12; i++)
		msgrcv(id, &m, i % 2 ? 60000 : 100, 0,
			IPC_NOWAIT | MSG_NOERROR);
	calls += 27;
}

static void use_segment(int id)
{
	struct shmid_ds ds;
	char *p;

	shmctl(id, IPC_STAT, &ds);
	p = shmat(id, NULL, 0);
	if (p != (void *)-1)
		shmdt(p);
	p = shmat(id, NULL, SHM_RDONLY);
	if (p != (void *)-1)
		shmdt(p);
	shmctl(id, IPC_SET, &ds);
	calls += 6;
}

static void use_mq(const char *name)
{
	static char buf[70000];
	struct timespec soon;
	struct mq_attr a;
	unsigned prio;
	mqd_t q = mq_open(name, O_RDWR | O_NONBLOCK);
	int i;

	if (q == (mqd_t)-1)
		return;
	memset(&a, 0, sizeof(a));
	mq_getattr(q, &a);
	for (i = 0; i < 6; i++)
		mq_send(q, buf, (size_t)(i * 700) % (size_t)(a.mq_msgsize | 1),
			(unsigned)(i * 500));
	for (i = 0; i < 8; i++)
		mq_receive(q, buf, sizeof(buf), &prio);
	clock_gettime(CLOCK_REALTIME, &soon);
	mq_timedreceive(q, buf, sizeof(buf), &prio, &soon);
	mq_notify(q, &(struct sigevent){.sigev_notify = SIGEV_NONE});
	mq_notify(q, NULL);
	mq_close(q);
	calls += 20;
}

static void use_all(void)
{
	static const char *const names[] = {"/many", "/large", "/full",
		"/empty", "/told", "/new", "/leased", "/leased-large"};
	struct semid_ds sem;
	struct msqid_ds msg;
	struct shmid_ds shm;
	int i, id;

	for (i = 0; i < MANY; i++) {
		begin();
		id = semctl(i, 0, SEM_STAT, (union semun){.ds = &sem});
		if (id >= 0)
			use_set(id);
	}
	for (i = 0; i < MANY; i++) {
		begin();
		id = msgctl(i, MSG_STAT, &msg);
		if (id >= 0)
			use_queue(id);
	}
	for (i = 0; i < MANY; i++) {
		begin();
		id = shmctl(i, SHM_STAT, &shm);
		if (id >= 0)
			use_segment(id);
	}
	for (i = 0; i < 8; i++) {
		begin();
		use_mq(names[i]);
	}
}

static void make_all(void)
{
	struct mq_attr a = {.mq_maxmsg = 10, .mq_msgsize = 100};
	int i;

	begin();
	for (i = 0; i < 5; i++) {
		semget(0x500 + i, 1 + i, IPC_CREAT | 0600);
		msgget(0x500 + i, IPC_CREAT | 0600);
		shmget(0x500 + i, 5000 << i, IPC_CREAT | 0600);
	}
	mq_close(mq_open("/new", O_CREAT | O_RDWR, 0600, &a));
	calls += 17;
}

static void remove_all(void)
{
	struct semid_ds sem;
	struct msqid_ds msg;
	struct shmid_ds shm;
	int i, id;

	for (i = 0; i < MANY; i++) {
		begin();
		id = semctl(i, 0, SEM_STAT, (union semun){.ds = &sem});
		if (id >= 0)
			semctl(id, 0, IPC_RMID);
		id = msgctl(i, MSG_STAT, &msg);
		if (id >= 0)
			msgctl(id, IPC_RMID, NULL);
		id = shmctl(i, SHM_STAT, &shm);
		if (id >= 0)
			shmctl(id, IPC_RMID, NULL);
	}
	mq_unlink("/many");
	mq_unlink("/large");
	mq_unlink("/full");
	mq_unlink("/empty");
	mq_unlink("/leased");
	calls += 3 * MANY;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 0);
	unsigned rounds = 0;
	int status = 0;

	bounded = argc > 1;
	do {
		make_all();
		use_all();
		/* With and without undo and attachments to be given back. */
		if (fork() == 0) {
			use_all();
			_exit(0);
		}
		wait(&status);
		if (WIFSIGNALED(status))
			raise(WTERMSIG(status));
		begin();
		if (!bounded || ++rounds % 4 == 0)
			remove_all();
	} while (time(NULL) < end);
	printf("done %ld calls\n", calls);
	return 0;
}
