// SPDX-License-Identifier: MIT
/*
 * app_holds: one call at a size at which a lock might be held for long; for
 * locks_held.sh.
 *
 *	app_holds CASE
 *
 * makes ready, runs "$IPCLIFT_TOOL locks --on", which resets the times, makes
 * the call and runs "$IPCLIFT_TOOL locks --json". --list names the cases that
 * have a bound, --all all of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEMS 32000
#define MESSAGES 100000
#define SLEEPERS 1500
#define MIB (1 << 20)

#define MUST(cond)                                                       \
	do {                                                             \
		if (!(cond)) {                                           \
			fprintf(stderr, "%d: %s: %s\n", __LINE__, #cond, \
				strerror(errno));                        \
			exit(1);                                         \
		}                                                        \
	} while (0)

static int id, id2;
static unsigned short values[SEMS];
static char *buf;
static mqd_t mq;

static void tool(const char *command, const char *what)
{
	char *argv[] = {
		getenv("IPCLIFT_TOOL"), (char *)command, (char *)what, NULL};
	int status;
	pid_t pid = vfork();

	if (!pid) {
		unsetenv("LD_PRELOAD");
		execv(argv[0], argv);
		_exit(127);
	}
	MUST(waitpid(pid, &status, 0) == pid && !status);
}

static int op(int set, int num, int n, int flg)
{
	struct sembuf sop = {num, n, flg};

	return semop(set, &sop, 1);
}

/* ---- sets ---- */

static void set_made(void)
{
	MUST((id = semget(IPC_PRIVATE, SEMS, 0600)) >= 0);
}
static void set_all(void)
{
	for (int i = 0; i < SEMS; i++)
		values[i] = i % 100;
	MUST(!semctl(id, 0, SETALL, values));
}
static void get_all(void)
{
	MUST(!semctl(id, 0, GETALL, values));
}
static void set_remove(void)
{
	MUST(!semctl(id, 0, IPC_RMID));
}

static atomic_int n_returned; /* of the sleepers */

static void *sleeper(void *arg)
{
	op(id, (int)(long)arg, -1, 0);
	atomic_fetch_add(&n_returned, 1);
	return NULL;
}
/* n threads, each asleep on a semaphore of its own, or all on one. */
static void sleepers(int n, int apart)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (long i = 0; i < n; i++)
		MUST(!pthread_create(
			&thread, &attr, sleeper, (void *)(i * apart)));
	for (int i = 0; i < (apart ? n : 1); i++)
		while (semctl(id, i * apart, GETNCNT) < (apart ? 1 : n))
			usleep(1000);
}
static void set_slept(void)
{
	set_made();
	sleepers(30, 1000);
}
static void crowd(void)
{
	set_made();
	sleepers(SLEEPERS, 0);
}
static void set_val(void)
{
	MUST(!semctl(id, 0, SETVAL, SLEEPERS));
}
static void count_sleepers(void)
{
	MUST(semctl(id, 0, GETNCNT) == SLEEPERS);
}
static pid_t holder;
static void crowd_behind_undo(void)
{
	int status;

	set_made();
	MUST(!semctl(id, 0, SETVAL, SLEEPERS));
	holder = fork();
	if (!holder) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		MUST(!op(id, 0, -SLEEPERS, SEM_UNDO));
		raise(SIGSTOP);
		/* Its task stays, and so what is known of its lock. */
		MUST(!unshare(CLONE_NEWIPC));
		pause();
	}
	MUST(waitpid(holder, &status, WUNTRACED) == holder);
	sleepers(SLEEPERS, 0);
}
static void undo_of(int sig)
{
	int status;

	MUST(!kill(holder, sig));
	MUST(sig == SIGCONT || waitpid(holder, &status, 0) == holder);
	/* Who looks at the value gives back what a dead one held, and goes on with
	 * the pass in another's place. Not GETNCNT: that asks for each sleeper. */
	do
		semctl(id, 0, GETVAL);
	while (atomic_load(&n_returned) < SLEEPERS && !usleep(50000));
}
static void undo_of_dead(void)
{
	undo_of(SIGKILL);
}
static void undo_of_leaving(void)
{
	undo_of(SIGCONT);
}
static void many_ops(void)
{
	struct sembuf sops[500];

	for (int i = 0; i < 500; i++)
		sops[i] = (struct sembuf){i * 64, 1, SEM_UNDO};
	MUST(!semop(id, sops, 500));
}

/* ---- System V queues ---- */

static void queue_made(void)
{
	struct msqid_ds ds;

	tool("set", "msgmax=16777216");
	MUST((id = msgget(IPC_PRIVATE, 0600)) >= 0);
	MUST(!msgctl(id, IPC_STAT, &ds));
	ds.msg_qbytes = 1 << 30;
	MUST(!msgctl(id, IPC_SET, &ds));
	MUST((buf = malloc(16 * MIB + 8)));
	memset(buf, 1, 16 * MIB + 8);
}
static void put(int n, size_t size, long type)
{
	*(long *)buf = type;
	while (n--)
		MUST(!msgsnd(id, buf, size, 0));
}
static void queue_small(void)
{
	queue_made();
	put(MESSAGES, 50, 1);
}
static void queue_mid(void)
{
	queue_made();
	put(20000, 2000, 1);
}
static void queue_big(void)
{
	queue_made();
	put(8, 8 * MIB, 1);
}
static void queue_typed(void)
{
	queue_small();
	put(1, 50, 2);
}
static void queue_remove(void)
{
	MUST(!msgctl(id, IPC_RMID, NULL));
}
#ifndef MSG_COPY
#define MSG_COPY 040000
#endif
#ifndef MSG_EXCEPT
#define MSG_EXCEPT 020000
#endif
static void queue_copy(void)
{
	MUST(msgrcv(id, buf, 100, MESSAGES - 1, MSG_COPY | IPC_NOWAIT) == 50);
}
static void queue_except(void)
{
	MUST(msgrcv(id, buf, 100, 1, MSG_EXCEPT | IPC_NOWAIT) == 50);
}
static void queue_receive_big(void)
{
	for (int i = 0; i < 8; i++)
		MUST(msgrcv(id, buf, 8 * MIB, 0, IPC_NOWAIT) == 8 * MIB);
}
static void queue_drain(void)
{
	for (int i = 0; i < 20000; i++)
		MUST(msgrcv(id, buf, 2000, 0, IPC_NOWAIT) == 2000);
}
static void *receiver(void *arg)
{
	struct {
		long type;
		char text[64];
	} m;

	msgrcv(id, &m, 64, (long)arg, 0);
	return NULL;
}
static void queue_crowd(void)
{
	pthread_attr_t attr;
	pthread_t thread;

	queue_made();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (long i = 0; i < SLEEPERS; i++)
		MUST(!pthread_create(&thread, &attr, receiver, (void *)5L));
	sleep(1);
}
static void queue_too_large(void)
{
	struct msqid_ds ds;

	put(1, 100, 5);
	MUST(!msgctl(id, IPC_STAT, &ds) && ds.msg_qnum == 1);
}
static void queue_set(void)
{
	struct msqid_ds ds;

	MUST(!msgctl(id, IPC_STAT, &ds));
	MUST(!msgctl(id, IPC_SET, &ds));
}

/* ---- POSIX queues ---- */

static void mq_make(long n, long size)
{
	struct mq_attr attr = {.mq_maxmsg = n, .mq_msgsize = size};

	mq = mq_open("/holds", O_CREAT | O_RDWR, 0600, &attr);
	MUST(mq != (mqd_t)-1);
}
static void mq_fill(long n, long size)
{
	MUST((buf = calloc(1, size)));
	mq_make(n, size);
	while (n--)
		MUST(!mq_send(mq, buf, size, n % 32768));
}
static void mq_small(void)
{
	mq_fill(60000, 60);
}
static void mq_mid(void)
{
	mq_fill(5000, 8192);
}
static void mq_big(void)
{
	mq_fill(4, 16 * MIB);
}
static void mq_remove(void)
{
	MUST(!mq_unlink("/holds") && !mq_close(mq));
}
static void mq_open_large(void)
{
	mq_make(65536, 16 * MIB);
}
static void mq_send_all(void)
{
	mq_fill(60000, 60);
}

/* ---- segments ---- */

static void seg_made(void)
{
	MUST((id = shmget(IPC_PRIVATE, 256 * MIB, 0600)) >= 0);
	MUST((buf = shmat(id, NULL, 0)) != (void *)-1);
	memset(buf, 1, 256 * MIB);
	MUST(!shmdt(buf));
}
static void seg_remove(void)
{
	MUST(!shmctl(id, IPC_RMID, NULL));
}
static void seg_attach(void)
{
	MUST((id2 = shmget(IPC_PRIVATE, 256 * MIB, 0600)) >= 0);
	MUST((buf = shmat(id2, NULL, 0)) != (void *)-1);
	memset(buf, 1, 16 * MIB);
	MUST(!shmdt(buf));
	MUST(!shmctl(id2, IPC_RMID, NULL));
}
static void seg_many(void)
{
	MUST((id = shmget(IPC_PRIVATE, 4096, 0600)) >= 0);
	for (int i = 0; i < 1000; i++)
		MUST(shmat(id, NULL, 0) != (void *)-1);
}
static void seg_fork(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(!shmctl(id, IPC_RMID, NULL));
}

/* ---- many ---- */

static int ids[20000];
static void sets_make(void)
{
	for (int i = 0; i < 20000; i++)
		MUST((ids[i] = semget(i + 1, 1, IPC_CREAT | 0600)) >= 0);
}
static void sets_remove(void)
{
	for (int i = 0; i < 20000; i++)
		MUST(!semctl(ids[i], 0, IPC_RMID));
}
static void infos(void)
{
	struct seminfo info;

	MUST(semctl(0, 0, SEM_INFO, &info) >= 0);
	MUST(msgctl(0, 12 /* MSG_INFO */, (struct msqid_ds *)(void *)&info) >=
		0);
}
static void queues_make(void)
{
	for (int i = 0; i < 20000; i++)
		MUST((ids[i] = msgget(i + 1, IPC_CREAT | 0600)) >= 0);
}
static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*before)(void), (*call)(void);
	int open; /* without a bound: see locks_held.sh */
} cases[] = {
	{"semget 32,000", nothing, set_made},
	{"SETALL 32,000", set_made, set_all},
	{"GETALL 32,000", set_made, get_all},
	{"SETALL 32,000, 30 asleep", set_slept, set_all},
	{"GETALL 32,000, 30 asleep", set_slept, get_all},
	{"IPC_RMID of 32,000", set_made, set_remove},
	{"IPC_RMID of 32,000, 30 asleep", set_slept, set_remove},
	{"semop of 500 with undo", set_made, many_ops},
	{"SETVAL 1,500 with 1,500 asleep", crowd, set_val},
	{"IPC_RMID with 1,500 asleep", crowd, set_remove},
	{"SEM_UNDO with 1,500 asleep", crowd_behind_undo, undo_of_dead},
	{"who leaves, 1,500 asleep", crowd_behind_undo, undo_of_leaving, 1},
	{"GETNCNT of 1,500 asleep", crowd, count_sleepers, 1},
	{"20,000 semget", nothing, sets_make, 1},
	{"20,000 IPC_RMID of sets", sets_make, sets_remove, 1},
	{"SEM_INFO, MSG_INFO of 20,000", queues_make, infos, 1},
	{"IPC_RMID of 100,000 messages", queue_small, queue_remove},
	{"IPC_RMID of 20,000 x 2,000 bytes", queue_mid, queue_remove, 1},
	{"IPC_RMID of 8 x 8 MiB", queue_big, queue_remove},
	{"msgsnd of 20,000 x 2,000 bytes", nothing, queue_mid, 1},
	{"msgsnd of 8 x 8 MiB", nothing, queue_big},
	{"msgrcv of 20,000 x 2,000 bytes", queue_mid, queue_drain, 1},
	{"msgrcv of 8 x 8 MiB", queue_big, queue_receive_big},
	{"MSG_COPY at 100,000", queue_small, queue_copy},
	{"MSG_EXCEPT behind 100,000", queue_typed, queue_except},
	{"IPC_SET with 1,500 asleep", queue_crowd, queue_set},
	{"msgsnd, for 1,500 too large", queue_crowd, queue_too_large},
	{"IPC_RMID with 1,500 receivers", queue_crowd, queue_remove},
	{"mq_open of 65,536 x 16 MiB", nothing, mq_open_large, 1},
	{"mq_send of 60,000 x 60 bytes", nothing, mq_send_all, 1},
	{"mq_send of 4 x 16 MiB", nothing, mq_big},
	{"mq_unlink of 60,000 x 60 bytes", mq_small, mq_remove, 1},
	{"mq_unlink of 5,000 x 8 KiB", mq_mid, mq_remove},
	{"mq_unlink of 4 x 16 MiB", mq_big, mq_remove},
	{"IPC_RMID of 256 MiB", seg_made, seg_remove},
	{"shmget, shmat of 256 MiB", nothing, seg_attach, 1},
	{"fork with 1,000 attachments", seg_many, seg_fork, 1},
};

int main(int argc, char **argv)
{
	const struct sched_param priority = {0};
	size_t n = sizeof(cases) / sizeof(cases[0]), i;

	if (argc == 2 && argv[1][0] == '-') {
		for (i = 0; i < n; i++)
			if (!cases[i].open || !strcmp(argv[1], "--all"))
				puts(cases[i].name);
		return 0;
	}
	for (i = 0; i < n && argc == 2; i++) {
		if (strcmp(cases[i].name, argv[1]))
			continue;
		alarm(60);
		/* Whoever is woken does not preempt who holds a lock. */
		MUST(!sched_setscheduler(0, SCHED_BATCH, &priority));
		/* The registry is there, and we in it. */
		semctl(semget(IPC_PRIVATE, 1, 0600), 0, IPC_RMID);
		cases[i].before();
		tool("locks", "--on");
		cases[i].call();
		tool("locks", "--json");
		_exit(0);
	}
	return 2;
}
