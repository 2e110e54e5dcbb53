// SPDX-License-Identifier: MIT
/*
 * Calls off the paths that the shim was built for, one case each: what
 * `ipclift bench --never-slower` runs on the kernel and under the shim.
 *
 * The figure "time" is ns of one call, or of one pair of calls that belong
 * together, the best of the rounds.
 */
#include "tool/bench/work/worker.h"

#include "tool/bench/work/frame.h"

#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

#define MANY 32000 /* SEMMSL */
#define PAGE 4096
#define FOUND_KEY 0x424242
#define ARRAY 500 /* SEMOPM */

static int set = -1, queue = -1, segment = -1;
static mqd_t mq = -1;
static char mq_name[64];
static int size; /* of what the case is about */
static unsigned short values[MANY];
static struct sembuf array[ARRAY];
static struct {
	long type;
	char text[65536];
} msg = {.type = 1};
static int epoll = -1;
static void *fixed; /* an address that is free */
static void (*first_call)(void);

static void set_of(int n)
{
	size = n;
	set = semget(IPC_PRIVATE, n, 0600);
	must(set >= 0, "semget");
}

static void queue_make(void)
{
	queue = msgget(IPC_PRIVATE, 0600);
	must(queue >= 0, "msgget");
}

static void mq_make(int flags)
{
	struct mq_attr attr = {.mq_maxmsg = 8, .mq_msgsize = 64};

	snprintf(mq_name, sizeof(mq_name), "/calls-%d", getpid());
	mq = mq_open(mq_name, O_CREAT | O_EXCL | O_RDWR | flags, 0600, &attr);
	must(mq != -1, "mq_open");
}

static void segment_of(int pages)
{
	size = pages;
	segment = shmget(IPC_PRIVATE, (size_t)pages * PAGE, 0600);
	must(segment >= 0, "shmget");
}

static void timed(void (*run)(long n))
{
	figure("time", 0, best_of(run));
}

/* n turns of a statement that must be true */
#define TURNS(name, statement)                    \
	static void name(long n)                  \
	{                                         \
		while (n-- > 0)                   \
			must((statement), #name); \
	}

/* --- semaphores ------------------------------------------------------- */

TURNS(getall, !semctl(set, 0, GETALL, values))
TURNS(setall, !semctl(set, 0, SETALL, values))
TURNS(setval, !semctl(set, 0, SETVAL, 1))
TURNS(getncnt, !semctl(set, 0, GETNCNT))
TURNS(sem_eagain,
	semop(set, &(struct sembuf){0, -1, IPC_NOWAIT}, 1) && errno == EAGAIN)
TURNS(sem_life, (set = semget(IPC_PRIVATE, size, 0600)) >= 0 &&
			!semctl(set, 0, IPC_RMID))

static void sem_stat(long n)
{
	struct semid_ds ds;

	while (n-- > 0)
		must(!semctl(set, 0, IPC_STAT, &ds), "IPC_STAT");
}

static void sem_timed(long n)
{
	const struct timespec limit = {1, 0};

	for (; n > 0; n--) {
		struct sembuf up = {0, 1, 0}, down = {0, -1, 0};

		must(!semtimedop(set, &up, 1, &limit) &&
				!semtimedop(set, &down, 1, &limit),
			"semtimedop");
	}
}

static void sem_array(long n)
{
	for (; n > 0; n--) {
		must(!semop(set, array, (size_t)size), "semop");
		for (int i = 0; i < size; i++)
			array[i].sem_op = (short)-array[i].sem_op;
	}
}

TURNS(sem_find, semget(FOUND_KEY, 1, 0600) == set)
TURNS(sem_miss, semget(FOUND_KEY + 1, 1, 0600) < 0 && errno == ENOENT)
TURNS(sem_zero, !semop(set, &(struct sembuf){0, 0, 0}, 1))
TURNS(getval, semctl(set, 0, GETVAL) == 0)
TURNS(getval_held, semctl(set, 1, GETVAL) > 0)

static void bench_sem_find(void)
{
	size = 1;
	set = semget(FOUND_KEY, 1, IPC_CREAT | 0600);
	must(set >= 0, "semget");
	timed(strstr(case_name, "miss") ? sem_miss : sem_find);
}
static void bench_sem_zero(void)
{
	set_of(1);
	timed(sem_zero);
}
static void bench_getval(void)
{
	set_of(1);
	timed(getval);
}
static void bench_getall(void)
{
	set_of(strstr(case_name, "1000") ? 1000 : 8);
	timed(getall);
}
static void bench_setall(void)
{
	set_of(strstr(case_name, "32000") ? MANY : 1000);
	timed(setall);
}
static void bench_setval(void)
{
	set_of(1);
	timed(setval);
}
static void bench_getncnt(void)
{
	set_of(1);
	timed(getncnt);
}
static void bench_sem_stat(void)
{
	set_of(1);
	timed(sem_stat);
}
static void bench_sem_eagain(void)
{
	set_of(1);
	timed(sem_eagain);
}
static void bench_sem_life(void)
{
	size = atoi(strrchr(case_name, '-') + 1);
	timed(sem_life);
}
static void bench_sem_timed(void)
{
	set_of(1);
	timed(sem_timed);
}

/* sops-N, sops-undo-N: an array over N semaphores, up and down in turn. */
static void bench_sops(void)
{
	int undo = strstr(case_name, "undo") ? SEM_UNDO : 0;

	set_of(atoi(strrchr(case_name, '-') + 1));
	for (int i = 0; i < size; i++)
		array[i] = (struct sembuf){(unsigned short)i, 1, (short)undo};
	timed(sem_array);
}

/* Wait until so many processes sleep on the semaphore. */
static void sleepers_wait(int num, int cmd, int n)
{
	while (semctl(set, num, cmd) < n)
		sleep_ms(1);
}

/* beside-N: an array on two semaphores while N arrays sleep on others. */
static void bench_beside(void)
{
	int n = atoi(strrchr(case_name, '-') + 1);

	set_of(n + 3);
	for (int i = 0; i < n; i++)
		if (!partner_fork()) {
			struct sembuf two[2] = {{(unsigned short)i, -1, 0},
				{(unsigned short)n, -1, 0}};

			semop(set, two, 2);
			partner_exit();
		}
	for (int i = 0; i < n; i++)
		sleepers_wait(i, GETNCNT, 1);
	size = 2;
	for (int i = 0; i < 2; i++)
		array[i] = (struct sembuf){(unsigned short)(n + 1 + i), 1, 0};
	timed(sem_array);
	partners_kill();
}

/* sleeping-CALL-N: a call on a semaphore on which N processes sleep, for more
 * units than it ever has: each call sees to it that they sleep on. */
static void sem_pair(long n)
{
	for (; n > 0; n--)
		must(!semop(set, &(struct sembuf){0, 1, 0}, 1) &&
				!semop(set, &(struct sembuf){0, -1, 0}, 1),
			"semop");
}
TURNS(getncnt_all, semctl(set, 0, GETNCNT) == size)

static void bench_sleeping(void)
{
	int n = atoi(strrchr(case_name, '-') + 1);

	set_of(1);
	for (int i = 0; i < n; i++)
		if (!partner_fork()) {
			semop(set, &(struct sembuf){0, -5, 0}, 1);
			partner_exit();
		}
	sleepers_wait(0, GETNCNT, n);
	sleep_ms(1); /* asleep in fact, not on the way there */
	size = n;
	timed(strstr(case_name, "getncnt") ? getncnt_all : sem_pair);
	partners_kill();
}

/* held-CALL-N: a call on a semaphore of which N processes hold a unit with
 * SEM_UNDO: each call sees to it that all of them are alive. */
static void bench_held(void)
{
	int n = atoi(strrchr(case_name, '-') + 1);
	struct sembuf hold = {1, 1, SEM_UNDO};
	void (*run)(long n) = sem_array;

	set_of(2);
	for (int i = 0; i < n; i++)
		if (!partner_fork()) {
			semop(set, &hold, 1);
			for (;;)
				pause();
		}
	while (semctl(set, 1, GETVAL) < n)
		sleep_ms(1);
	if (strstr(case_name, "getval"))
		run = getval_held;
	else if (strstr(case_name, "getall"))
		run = getall;
	size = 1;
	array[0] = (struct sembuf){1, 1, 0};
	timed(run);
	partners_kill();
}

/*
 * herd-up, herd-zero: ns a sleeper, until all of a hundred have gone on. Whether
 * they sleep is asked for beside the time that is taken, for asking has a case
 * of its own (sleeping-getncnt-*), and how often it is done is chance.
 */
#define HERD 100
static double herd(long n)
{
	int zero = strstr(case_name, "zero") != NULL;
	double t, sum = 0;

	for (; n > 0; n--) {
		struct sembuf go = {0, (short)(zero ? -1 : HERD), 0};
		struct sembuf back = {1, -HERD, 0}, shut = {0, 1, 0};

		if (zero)
			must(!semop(set, &shut, 1) &&
					!semop(set,
						&(struct sembuf){2, HERD, 0},
						1),
				"semop");
		while (semctl(set, 0, zero ? GETZCNT : GETNCNT) < HERD)
			sched_yield();
		t = now_ns();
		must(!semop(set, &go, 1) && !semop(set, &back, 1), "semop");
		sum += now_ns() - t;
	}
	return sum;
}

static void herd_member(int zero)
{
	struct sembuf begin = {2, -1, 0}, wait = {0, (short)(zero ? 0 : -1), 0},
		      done = {1, 1, 0};

	while ((!zero || !semop(set, &begin, 1)) && !semop(set, &wait, 1) &&
		!semop(set, &done, 1))
		;
	partner_exit();
}

static void bench_herd(void)
{
	int zero = strstr(case_name, "zero") != NULL;
	double best = NEVER;
	long n;

	set_of(3);
	for (int i = 0; i < HERD; i++)
		if (!partner_fork())
			herd_member(zero);
	n = (long)(16 * (double)round_ms * 1e6 / herd(16)) + 1;
	for (long i = 0; i < n_rounds; i++)
		keep_min(&best, herd(n) / (double)n);
	figure("time", 0, best / HERD);
	partners_kill();
}

/* --- messages --------------------------------------------------------- */

TURNS(msg_pair, !msgsnd(queue, &msg, (size_t)size, 0) &&
			msgrcv(queue, &msg, (size_t)size, 0, 0) == size)
TURNS(msg_empty, msgrcv(queue, &msg, 1, 0, IPC_NOWAIT) < 0 && errno == ENOMSG)
TURNS(msg_life, (queue = msgget(IPC_PRIVATE, 0600)) >= 0 &&
			!msgctl(queue, IPC_RMID, NULL))

static void msg_stat(long n)
{
	struct msqid_ds ds;

	while (n-- > 0)
		must(!msgctl(queue, IPC_STAT, &ds), "IPC_STAT");
}

static void bench_msg_pair(void)
{
	size = atoi(strrchr(case_name, '-') + 1);
	queue_make();
	if (msgsnd(queue, &msg, (size_t)size, IPC_NOWAIT)) {
		fprintf(stderr, "# msgmax is less than %d\n", size);
		exit(CANNOT_BE_TIMED);
	}
	must(msgrcv(queue, &msg, (size_t)size, 0, 0) == size, "msgrcv");
	timed(msg_pair);
}

/* The oldest of N different types out, a new one in. */
static void msg_types(long n)
{
	for (; n > 0; n--) {
		must(msgrcv(queue, &msg, 8, 0, 0) == 8, "msgrcv");
		must(!msgsnd(queue, &msg, 8, 0), "msgsnd");
	}
}

static void bench_msg_types(void)
{
	size = atoi(strrchr(case_name, '-') + 1);
	queue_make();
	for (int i = 1; i <= size; i++) {
		msg.type = i * 7919L % 10007 + 1;
		must(!msgsnd(queue, &msg, 8, 0), "msgsnd");
	}
	timed(msg_types);
}

TURNS(msg_find, msgget(FOUND_KEY, 0600) == queue)

static void bench_msg_find(void)
{
	queue = msgget(FOUND_KEY, IPC_CREAT | 0600);
	must(queue >= 0, "msgget");
	timed(msg_find);
}
static void bench_msg_empty(void)
{
	queue_make();
	timed(msg_empty);
}
static void bench_msg_stat(void)
{
	queue_make();
	timed(msg_stat);
}
static void bench_msg_life(void)
{
	timed(msg_life);
}

/* --- POSIX queues ----------------------------------------------------- */

TURNS(mq_empty, mq_receive(mq, msg.text, 64, NULL) < 0 && errno == EAGAIN)
TURNS(mq_pair, !mq_send(mq, msg.text, 64, 0) &&
		       mq_receive(mq, msg.text, 64, NULL) == 64)

static void mq_attr(long n)
{
	struct mq_attr attr;

	while (n-- > 0)
		must(!mq_getattr(mq, &attr), "mq_getattr");
}

static void mq_reopen(long n)
{
	for (; n > 0; n--) {
		mqd_t q = mq_open(mq_name, O_RDWR);

		must(q != -1 && !mq_close(q), "mq_open");
	}
}

static void mq_life(long n)
{
	for (; n > 0; n--) {
		mq_make(0);
		must(!mq_close(mq) && !mq_unlink(mq_name), "mq_unlink");
	}
}

static void mq_poll(long n)
{
	struct pollfd p = {mq, POLLIN, 0};

	for (; n > 0; n--)
		must(!mq_send(mq, msg.text, 64, 0) && poll(&p, 1, -1) == 1 &&
				mq_receive(mq, msg.text, 64, NULL) == 64,
			"poll");
}

static void mq_epoll(long n)
{
	struct epoll_event e;

	for (; n > 0; n--)
		must(!mq_send(mq, msg.text, 64, 0) &&
				epoll_wait(epoll, &e, 1, -1) == 1 &&
				mq_receive(mq, msg.text, 64, NULL) == 64,
			"epoll");
}

static void bench_mq_empty(void)
{
	mq_make(O_NONBLOCK);
	timed(mq_empty);
}
static void bench_mq_pair(void)
{
	mq_make(0);
	timed(mq_pair);
}
static void bench_mq_attr(void)
{
	mq_make(0);
	timed(mq_attr);
}
static void bench_mq_reopen(void)
{
	mq_make(0);
	timed(mq_reopen);
}
static void bench_mq_life(void)
{
	timed(mq_life);
}
static void bench_mq_poll(void)
{
	mq_make(0);
	timed(mq_poll);
}
static void bench_mq_epoll(void)
{
	struct epoll_event e = {.events = EPOLLIN};

	mq_make(0);
	epoll = epoll_create1(0);
	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, mq, &e), "epoll_ctl");
	timed(mq_epoll);
}

/* --- segments --------------------------------------------------------- */

static void shm_attach(long n)
{
	for (; n > 0; n--) {
		void *p = shmat(segment, fixed, 0);

		must(p != (void *)-1 && !shmdt(p), "shmat");
	}
}

static void shm_stat(long n)
{
	struct shmid_ds ds;

	while (n-- > 0)
		must(!shmctl(segment, IPC_STAT, &ds), "IPC_STAT");
}

/* shm-life-N: made, attached, every page written, detached, removed. */
static void shm_life(long n)
{
	for (; n > 0; n--) {
		char *p;

		segment_of(size);
		p = shmat(segment, NULL, 0);
		must(p != (void *)-1, "shmat");
		for (int i = 0; i < size; i++)
			p[(long)i * PAGE] = 1;
		must(!shmdt(p) && !shmctl(segment, IPC_RMID, NULL), "shmdt");
	}
}

static void bench_shm_attach(void)
{
	segment_of(256);
	if (!strcmp(case_name, "shm-attach-at")) {
		fixed = mmap(NULL, 256 * PAGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(fixed != MAP_FAILED && !munmap(fixed, 256 * PAGE), "mmap");
	}
	timed(shm_attach);
}
TURNS(shm_find, shmget(FOUND_KEY, 1, 0600) == segment)

static void bench_shm_find(void)
{
	segment = shmget(FOUND_KEY, PAGE, IPC_CREAT | 0600);
	must(segment >= 0, "shmget");
	timed(shm_find);
}
static void bench_shm_stat(void)
{
	segment_of(1);
	timed(shm_stat);
}
static void bench_shm_life(void)
{
	size = atoi(strrchr(case_name, '-') + 1);
	timed(shm_life);
}

/* --- processes -------------------------------------------------------- */

/* A child that does something and ends, waited for. */
static void child(long n)
{
	for (; n > 0; n--) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			if (first_call)
				first_call();
			_exit(0);
		}
		must(waitpid(pid, &status, 0) == pid && !status, "fork");
	}
}

static void call_sem(void)
{
	if (semctl(set, 0, GETVAL) < 0 ||
		semop(set, &(struct sembuf){0, 1, 0}, 1))
		_exit(1);
	semop(set, &(struct sembuf){0, -1, 0}, 1);
}
static void call_undo(void)
{
	if (semop(set, &(struct sembuf){0, 1, SEM_UNDO}, 1))
		_exit(1);
}
static void call_msg(void)
{
	if (msgsnd(queue, &msg, 8, 0) || msgrcv(queue, &msg, 8, 0, 0) != 8)
		_exit(1);
}
static void call_semget(void)
{
	if (semget(0x7e577e57, 1, 0600) >= 0 || errno != ENOENT)
		_exit(1);
}
static void call_shmget(void)
{
	if (shmget(0x7e577e57, 1, 0600) >= 0 || errno != ENOENT)
		_exit(1);
}
static void call_mq_open(void)
{
	if (mq_open("/calls-none", O_RDWR) != -1 || errno != ENOENT)
		_exit(1);
}

/* first-*: in a process whose parent has made no such call. */
static void bench_first(void)
{
	first_call = strstr(case_name, "semget")   ? call_semget
		     : strstr(case_name, "shmget") ? call_shmget
						   : call_mq_open;
	timed(child);
}

/* fork-*: in a child of a process that uses what the child uses. */
static void bench_fork_sem(void)
{
	set_of(1);
	call_sem();
	first_call = strstr(case_name, "undo") ? call_undo : call_sem;
	timed(child);
}
static void bench_fork_msg(void)
{
	queue_make();
	call_msg();
	first_call = call_msg;
	timed(child);
}
static void bench_fork_shm(void)
{
	int n = atoi(strrchr(case_name, '-') + 1);

	segment_of(1);
	for (int i = 0; i < n; i++)
		must(shmat(segment, NULL, 0) != (void *)-1, "shmat");
	timed(child);
}

const struct work call_works[] = {
	{"semget-find", bench_sem_find},
	{"semget-miss", bench_sem_find},
	{"semop-zero", bench_sem_zero},
	{"sops-1", bench_sops},
	{"sops-4", bench_sops},
	{"sops-undo-1", bench_sops},
	{"getval", bench_getval},
	{"getall-8", bench_getall},
	{"getall-1000", bench_getall},
	{"setall-1000", bench_setall},
	{"setall-32000", bench_setall},
	{"setval", bench_setval},
	{"getncnt", bench_getncnt},
	{"sem-stat", bench_sem_stat},
	{"sem-eagain", bench_sem_eagain},
	{"semtimedop", bench_sem_timed},
	{"sem-life-1", bench_sem_life},
	{"sem-life-1000", bench_sem_life},
	{"sem-life-32000", bench_sem_life},
	{"sops-100", bench_sops},
	{"sops-500", bench_sops},
	{"sops-undo-500", bench_sops},
	{"beside-10", bench_beside},
	{"beside-100", bench_beside},
	{"beside-300", bench_beside},
	{"sleeping-semop-1", bench_sleeping},
	{"sleeping-semop-10", bench_sleeping},
	{"sleeping-getncnt-1", bench_sleeping},
	{"sleeping-getncnt-10", bench_sleeping},
	{"held-semop-100", bench_held},
	{"held-semop-1000", bench_held},
	{"held-getval-100", bench_held},
	{"held-getall-100", bench_held},
	{"herd-up", bench_herd},
	{"herd-zero", bench_herd},
	{"msgget-find", bench_msg_find},
	{"msg-pair-64", bench_msg_pair},
	{"msg-pair-8192", bench_msg_pair},
	{"msg-pair-32768", bench_msg_pair},
	{"msg-pair-65536", bench_msg_pair},
	{"msg-types-10", bench_msg_types},
	{"msg-types-1000", bench_msg_types},
	{"msg-empty", bench_msg_empty},
	{"msg-stat", bench_msg_stat},
	{"msg-life", bench_msg_life},
	{"mq-pair", bench_mq_pair},
	{"mq-empty", bench_mq_empty},
	{"mq-getattr", bench_mq_attr},
	{"mq-reopen", bench_mq_reopen},
	{"mq-life", bench_mq_life},
	{"mq-poll", bench_mq_poll},
	{"mq-epoll", bench_mq_epoll},
	{"shmget-find", bench_shm_find},
	{"shm-attach", bench_shm_attach},
	{"shm-attach-at", bench_shm_attach},
	{"shm-stat", bench_shm_stat},
	{"shm-life-1", bench_shm_life},
	{"shm-life-16", bench_shm_life},
	{"shm-life-256", bench_shm_life},
	{"first-semget", bench_first},
	{"first-shmget", bench_first},
	{"first-mq_open", bench_first},
	{"fork-sem", bench_fork_sem},
	{"fork-undo", bench_fork_sem},
	{"fork-msg", bench_fork_msg},
	{"fork-shm-1", bench_fork_shm},
	{"fork-shm-1000", bench_fork_shm},
	{0},
};
