// SPDX-License-Identifier: MIT
/*
 * A signal at any instruction of a call.
 *
 *	signal_steps [--every N] [NAME...]
 *
 * A child makes one call, and this process walks through it by single steps and
 * notes where it comes by. Other children then get a signal there, one at each
 * place (--every 1; else at some dozens), whose handler makes such calls too.
 * Each child has a registry of its own, so that what happens at a first time
 * happens each time. In the next rounds the handler forks, and the call goes on
 * in both processes: first in its child and then in it, or in both at once,
 * the child staying. In the last one it leaves the call by siglongjmp. What is
 * looked at: that everybody comes to the end and can go on, that the call and
 * the handler's succeed and leave what they should, and, if IPCLIFT_TOOL names
 * the command, that it finds nothing wrong.
 */
#include "steps.h"
#include <mqueue.h>
#include <sys/msg.h>
#include <sys/shm.h>

#define N_SEMS 60 /* more than a short array, and than a journal at first */
#define LARGE 3000
#define HUGE_SIZE 20000

static int id, other_id;
static mqd_t waits = (mqd_t)-1; /* without O_NONBLOCK */
static mqd_t mq = (mqd_t)-1;
static char name[32];
static struct {
	long type;
	char text[HUGE_SIZE];
} out, in;

/* ---- semaphores ---- */

static void sem_setup(void)
{
	id = semget(IPC_PRIVATE, N_SEMS, 0600);
	MUST(id >= 0);
}

static int array(struct sembuf *ops, int by, int flg)
{
	for (int i = 0; i < N_SEMS; i++)
		ops[i] = (struct sembuf){
			(unsigned short)i, (short)by, (short)flg};
	return N_SEMS;
}

static void sem_up_down(int flg)
{
	struct sembuf ops[N_SEMS];

	MUST(!semop(id, ops, (size_t)array(ops, 1, flg)));
	MUST(!semop(id, ops, (size_t)array(ops, -1, flg)));
	MUST(!semop(id, OPS({0, 1, (short)flg})));
	MUST(!semop(id, OPS({0, -1, (short)flg})));
}

static void sem_plain(void)
{
	sem_up_down(0);
}

static void sem_undo(void)
{
	sem_up_down(SEM_UNDO);
}

static void sem_is(int want)
{
	unsigned short value[N_SEMS];

	MUST(!semctl(id, 0, GETALL, value));
	for (int i = 0; i < N_SEMS; i++)
		MUST(value[i] == want);
}

static void one_call(void)
{
	MUST(!semop(id, OPS({3, 1, 0})));
}

static void one_look_at(void)
{
	struct semid_ds ds;

	MUST(!semctl(id, 0, IPC_STAT, &ds) && !semctl(id, 0, IPC_SET, &ds));
}

static void one_look(void)
{
	MUST(times_right(semctl(id, 3, GETVAL)));
	MUST(semctl(id, 3, GETPID) > 0);
}

static void array_up(int flg)
{
	struct sembuf ops[N_SEMS];

	MUST(!semop(id, ops, (size_t)array(ops, 1, flg)));
}

static void array_call(void)
{
	array_up(0);
}

static void array_look(void)
{
	int n = semctl(id, 0, GETVAL);

	MUST(times_right(n));
	sem_is(n);
}

static void undo_call(void)
{
	array_up(SEM_UNDO);
}

/* The child's went with it. */
static void undo_look(void)
{
	sem_is(1);
}

/* It blocks at the last one, and gives up unless the handler has ended it. */
static void block_call(void)
{
	struct sembuf ops[N_SEMS];
	struct timespec soon = {0, 300000};
	int n = array(ops, 1, SEM_UNDO), ret;

	ops[n - 1].sem_op = -1;
	ret = semtimedop(id, ops, (size_t)n, &soon);
	MUST(ret == -1 && (errno == EAGAIN || errno == EINTR));
}

/* Not so that a child who still waits would be let through. */
static void block_handler(void)
{
	if (kid)
		one_look_at();
	else
		sem_undo();
}

static void block_look(void)
{
	sem_is(0);
	MUST(semctl(id, N_SEMS - 1, GETNCNT) == 0);
}

static void setall_call(void)
{
	unsigned short value[N_SEMS];

	for (int i = 0; i < N_SEMS; i++)
		value[i] = 5;
	MUST(!semctl(id, 0, SETALL, value));
}

/* Nor between another's +1 and -1. */
static void setall_handler(void)
{
	if (kid)
		one_look_at();
	else
		sem_plain();
}

static void setall_look(void)
{
	sem_is(5);
}

static void set_new(void)
{
	int set = semget(IPC_PRIVATE, 1, 0600);

	/* if the handler forked between the calls, both remove it */
	MUST(set >= 0);
	MUST(!semctl(set, 0, IPC_RMID) || shared->forked);
	set = semget((key_t)getpid(), 3, IPC_CREAT | IPC_EXCL | 0600);
	if (set >= 0)
		MUST(!semctl(set, 0, IPC_RMID) || shared->forked);
	else
		MUST(errno == EEXIST);
}

static void nothing(void)
{
}

/* ---- message queues ---- */

static void msg_setup(void)
{
	id = msgget(IPC_PRIVATE, 0600);
	MUST(id >= 0);
	for (int i = 0; i < HUGE_SIZE; i++)
		out.text[i] = (char)(i * 7 + 1);
}

static size_t msg_size;

static void msg_receive(void)
{
	MUST(msgrcv(id, &in, HUGE_SIZE, 1, IPC_NOWAIT) == (ssize_t)msg_size);
}

static void msg_is_whole(void)
{
	MUST(!memcmp(in.text, out.text, msg_size));
	memset(&in, 0, sizeof(in));
}

static void msg_pair(void)
{
	static struct {
		long type;
		char text[HUGE_SIZE];
	} other = {.type = 9};

	memset(other.text, 'h', msg_size);
	MUST(!msgsnd(id, &other, msg_size, IPC_NOWAIT));
	MUST(msgrcv(id, &other, HUGE_SIZE, 9, IPC_NOWAIT) == (ssize_t)msg_size);
	for (size_t i = 0; i < msg_size; i++)
		MUST(other.text[i] == 'h');
}

static void msg_call(void)
{
	out.type = 1;
	MUST(!msgsnd(id, &out, msg_size, IPC_NOWAIT));
}

static void msg_look(void)
{
	int n = 0;

	while (msgrcv(id, &in, HUGE_SIZE, 0, IPC_NOWAIT) == (ssize_t)msg_size) {
		msg_is_whole();
		n++;
	}
	MUST(errno == ENOMSG && times_right(n));
}

static void rcv_setup(void)
{
	msg_setup();
	msg_call();
	msg_call();
}

static void rcv_look(void)
{
	int n = 1;

	msg_is_whole();
	while (msgrcv(id, &in, HUGE_SIZE, 0, IPC_NOWAIT) == (ssize_t)msg_size) {
		msg_is_whole();
		n++;
	}
	MUST(errno == ENOMSG && (n == 2 || (n == 1 && shared->forked)));
}

static void small_setup(void)
{
	msg_size = 40;
	msg_setup();
}

static void large_setup(void)
{
	msg_size = LARGE;
	msg_setup();
}

static void large_rcv_setup(void)
{
	msg_size = LARGE;
	rcv_setup();
}

static void larger_setup(void)
{
	struct msqid_ds ds;

	msg_size = 5000;
	msg_setup();
	MUST(!msgctl(id, IPC_STAT, &ds));
}

static void msg_new(void)
{
	int q = msgget(IPC_PRIVATE, 0600);

	MUST(q >= 0 && !msgctl(q, IPC_RMID, NULL));
}

/* ---- shared memory ---- */

static void shm_setup(void)
{
	id = shmget(IPC_PRIVATE, 10000, 0600);
	MUST(id >= 0);
}

static void shm_call(void)
{
	char *p = shmat(id, NULL, 0);

	MUST(p != (void *)-1);
	if (p == (void *)-1)
		return;
	p[5000] = 7;
	MUST(!shmdt(p));
}

static void shm_look(void)
{
	struct shmid_ds ds;
	char *p = shmat(id, NULL, 0);

	MUST(p != (void *)-1 && p[5000] == 7 && !shmdt(p));
	MUST(!shmctl(id, IPC_STAT, &ds) && ds.shm_nattch == 0);
}

static void shm_new(void)
{
	int segment = shmget(IPC_PRIVATE, 5000, 0600);

	MUST(segment >= 0 && !shmctl(segment, IPC_RMID, NULL));
}

static void shm_handler(void)
{
	shm_call();
	shm_new();
}

/* ---- POSIX message queues ---- */

static void mq_make(long size)
{
	struct mq_attr attr = {.mq_maxmsg = 8, .mq_msgsize = size};

	snprintf(name, sizeof(name), "/steps.%d", (int)getpid());
	mq = mq_open(name, O_CREAT | O_EXCL | O_RDWR | O_NONBLOCK, 0600, &attr);
	MUST(mq != (mqd_t)-1);
	msg_size = (size_t)size;
	for (int i = 0; i < HUGE_SIZE; i++)
		out.text[i] = (char)(i * 5 + 3);
}

static void mq_small(void)
{
	mq_make(40);
}

static void mq_large(void)
{
	mq_make(LARGE);
}

static void mq_call(void)
{
	MUST(!mq_send(mq, out.text, msg_size, 1));
}

static void mq_take(void)
{
	unsigned prio;

	MUST(mq_receive(mq, in.text, msg_size, &prio) == (ssize_t)msg_size);
	MUST(prio == 1);
}

static void mq_is_whole(void)
{
	MUST(!memcmp(in.text, out.text, msg_size));
	memset(&in, 0, sizeof(in));
}

static void mq_pair(void)
{
	char text[LARGE];
	unsigned prio;

	memset(text, 'h', sizeof(text));
	MUST(!mq_send(mq, text, msg_size, 9));
	MUST(mq_receive(mq, text, msg_size, &prio) == (ssize_t)msg_size);
	MUST(prio == 9);
	for (size_t i = 0; i < msg_size; i++)
		MUST(text[i] == 'h');
}

/* How many are left; the queue goes. */
static int mq_drain(void)
{
	int n = 0;

	while (mq_receive(mq, in.text, msg_size, NULL) == (ssize_t)msg_size) {
		mq_is_whole();
		n++;
	}
	MUST(errno == EAGAIN);
	MUST(!mq_close(mq) && !mq_unlink(name));
	return n;
}

static void mq_look(void)
{
	MUST(times_right(mq_drain()));
}

static void mq_rcv_setup(void)
{
	mq_large();
	mq_call();
	mq_call();
}

/* Not so that a child who still receives would get it. */
static void mq_rcv_handler(void)
{
	struct mq_attr attr;

	if (kid)
		MUST(!mq_getattr(mq, &attr));
	else
		mq_pair();
}

static void mq_rcv_look(void)
{
	int n;

	mq_is_whole();
	n = mq_drain();
	MUST(n == 1 || (n == 0 && shared->forked));
}

static void mq_block_setup(void)
{
	mq_large();
	waits = mq_open(name, O_RDWR);
	MUST(waits != (mqd_t)-1);
}

/* Nobody sends, or the handler, which takes its message again. */
static void mq_block_call(void)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 300000;
	if (soon.tv_nsec >= 1000000000) {
		soon.tv_nsec -= 1000000000;
		soon.tv_sec++;
	}
	MUST(mq_timedreceive(waits, in.text, msg_size, NULL, &soon) == -1);
	MUST(errno == ETIMEDOUT || errno == EINTR);
}

static void mq_block_look(void)
{
	MUST(!mq_close(waits));
	MUST(mq_drain() == 0);
}

static void mq_new(void)
{
	char own[40];
	mqd_t q;

	snprintf(own, sizeof(own), "/own.%d.%d", (int)getpid(), in_handler);
	q = mq_open(own, O_CREAT | O_RDWR, 0600, NULL);
	MUST(q != (mqd_t)-1 && !mq_close(q));
	MUST(!mq_unlink(own) || (shared->forked && errno == ENOENT));
}

static void mq_control(void)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGWINCH};
	struct mq_attr attr;

	MUST(!mq_getattr(mq, &attr) && attr.mq_msgsize == LARGE);
	MUST(!mq_setattr(mq, &attr, NULL));
	/* the handler's call, or the forked child's, may be faster */
	MUST(!mq_notify(mq, &event) || errno == EBUSY);
	MUST(!mq_notify(mq, NULL));
}

static void mq_control_look(void)
{
	MUST(mq_drain() == 0);
}

/* A second descriptor of the queue is closed; the number is then a file's. */
static void close_setup(void)
{
	mq_small();
	waits = mq_open(name, O_RDWR | O_NONBLOCK);
	MUST(waits != (mqd_t)-1);
}

static void close_call(void)
{
	MUST(!mq_close(waits));
}

static void close_range_call(void)
{
	MUST(!syscall(
		SYS_close_range, (unsigned)mq + 1, (unsigned)mq + 100, 0));
}

static void close_handler(void)
{
	if (mq_send(waits, out.text, msg_size, 1))
		MUST(errno == EBADF);
	else
		MUST(mq_receive(mq, in.text, msg_size, NULL) ==
			(ssize_t)msg_size);
}

static void reopen_handler(void)
{
	waits = mq_open(name, O_RDWR | O_NONBLOCK);
	MUST(waits != (mqd_t)-1);
}

static void close_look(void)
{
	char text[16] = {1};
	int fd = open("/dev/zero", O_RDONLY);

	while (fd >= 0 && fd < (int)waits && dup(fd) < (int)waits)
		;
	if (fcntl((int)waits, F_GETFL) >= 0 && fd <= (int)waits)
		MUST(read((int)waits, text, 10) == 10 && !text[0]);
	MUST(mq_drain() == 0);
}

/* ---- the rest of System V ---- */

static void keyed(void)
{
	key_t key = (key_t)(getpid() * 4 + in_handler);

	/* if the handler forked between the calls, both remove it */
	id = msgget(key, IPC_CREAT | 0600);
	MUST(id >= 0);
	MUST(!msgctl(id, IPC_RMID, NULL) || shared->forked);
	id = shmget(key, 100, IPC_CREAT | 0600);
	MUST(id >= 0);
	MUST(!shmctl(id, IPC_RMID, NULL) || shared->forked);
}

static void keyed_call(void)
{
	int set = id;

	keyed();
	id = set;
}

static void control_call(void)
{
	struct semid_ds ds;
	struct seminfo info;

	MUST(!semctl(id, 0, IPC_STAT, &ds) && ds.sem_nsems == N_SEMS);
	MUST(!semctl(id, 0, IPC_SET, &ds));
	MUST(semctl(id, 0, SEM_INFO, &info) >= 0);
	MUST(semctl(id, 1, GETNCNT) == 0 && semctl(id, 1, GETZCNT) == 0);
	MUST(!semctl(id, 1, SETVAL, 0));
}

static void proc_call(void)
{
	char text[400];
	int fd = open("/proc/sysvipc/sem", O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	MUST(fd >= 0 && n >= 0 && !close(fd));
	text[n > 0 ? n : 0] = '\0';
	/* the descriptor has one offset, whoever reads */
	MUST((strstr(text, "semid") && strstr(text, " 60 ")) || shared->forked);
}

/* Two sets that stand at one place of a short table, and are biased. */
static void lent_use(int set)
{
	for (int i = 0; i < 300; i++) {
		MUST(!semop(set, OPS({0, 1, 0})));
		MUST(!semop(set, OPS({0, -1, 0})));
	}
}

static void biased_setup(void)
{
	id = semget(IPC_PRIVATE, 1, 0600);
	for (int i = 0; i < 8; i++)
		other_id = semget(IPC_PRIVATE, 1, 0600);
	MUST(id >= 0 && other_id % 8 == id % 8);
	lent_use(id);
}

static void biased_call(void)
{
	MUST(!semop(id, OPS({0, 1, 0})));
}

static void biased_handler(void)
{
	lent_use(other_id);
}

static void biased_look(void)
{
	MUST(times_right(semctl(id, 0, GETVAL)));
	MUST(semctl(other_id, 0, GETVAL) == 0);
}

/* What the kernel has no space for does not concern another call. */
static void get_call(void)
{
	int segment = shmget(IPC_PRIVATE, 10000, 0600);

	MUST(segment >= 0);
}

static void get_handler(void)
{
	int segment = shmget(IPC_PRIVATE, 10000, 0600 | SHM_HUGETLB);

	if (segment >= 0)
		MUST(!shmctl(segment, IPC_RMID, NULL));
}

static void user_setup(void)
{
	sem_setup();
	MUST(!seteuid(0) || geteuid());
}

static void user_call(void)
{
	MUST(semctl(id, 0, GETVAL) == 0 || errno == EACCES);
}

static void user_handler(void)
{
	MUST(!seteuid(T_OTHER_UID) || getuid());
}

static void user_look(void)
{
	if (geteuid() == T_OTHER_UID)
		MUST(semctl(id, 0, GETVAL) == -1 && errno == EACCES);
}

/* ---- sigaction ---- */

static void on_one(int sig)
{
	(void)sig;
}

static void on_two(int sig)
{
	(void)sig;
}

static void action_call(void)
{
	struct sigaction act = {.sa_handler = on_one, .sa_flags = SA_NODEFER};

	MUST(!sigaction(SIGUSR2, &act, NULL));
}

static void action_handler(void)
{
	struct sigaction act = {.sa_handler = on_two, .sa_flags = SA_RESTART};

	MUST(!sigaction(SIGUSR2, &act, NULL));
}

/* Whichever was last, all of it. */
static void action_look(void)
{
	struct sigaction act;

	MUST(!sigaction(SIGUSR2, NULL, &act));
	MUST((act.sa_handler == on_one) == !!(act.sa_flags & SA_NODEFER));
}

/* ---- what is walked through ---- */

static void all_calls(void)
{
	set_new();
	msg_new();
	shm_new();
}

/* Of the kernel's queues a user may have few. */
static void names_remove(void)
{
	char own[40];

	mq_unlink(name);
	for (int i = 0; i < 2; i++) {
		snprintf(own, sizeof(own), "/own.%d.%d", (int)getpid(), i);
		mq_unlink(own);
	}
}

static const struct step_op ops[] = {
	{"first call", nothing, set_new, all_calls, nothing},
	{"semop", sem_setup, one_call, sem_plain, one_look},
	{"semop, array", sem_setup, array_call, sem_plain, array_look},
	{"semop, undo", sem_setup, undo_call, sem_undo, undo_look},
	{"semop, blocked", sem_setup, block_call, block_handler, block_look},
	{"SETALL", sem_setup, setall_call, setall_handler, setall_look},
	{"semget, IPC_RMID", sem_setup, set_new, set_new, nothing},
	{"msgsnd, small", small_setup, msg_call, msg_pair, msg_look},
	{"msgsnd, large", large_setup, msg_call, msg_pair, msg_look},
	{"msgsnd, larger", larger_setup, msg_call, msg_pair, msg_look},
	{"msgrcv", large_rcv_setup, msg_receive, msg_pair, rcv_look},
	{"shmat, shmdt", shm_setup, shm_call, shm_handler, shm_look},
	{"mq_send, small", mq_small, mq_call, mq_pair, mq_look},
	{"mq_send, large", mq_large, mq_call, mq_pair, mq_look},
	{"mq_receive", mq_rcv_setup, mq_take, mq_rcv_handler, mq_rcv_look},
	{"mq_timedreceive", mq_block_setup, mq_block_call, mq_rcv_handler,
		mq_block_look},
	{"mq_notify", mq_large, mq_control, mq_control, mq_control_look},
	{"msgget, shmget", sem_setup, keyed_call, keyed_call, nothing},
	{"semctl", sem_setup, control_call, control_call, nothing},
	{"/proc/sysvipc", sem_setup, proc_call, proc_call, nothing},
	{"semop, biased", biased_setup, biased_call, biased_handler,
		biased_look},
	{"shmget", nothing, get_call, get_handler, nothing},
	{"seteuid", user_setup, user_call, user_handler, user_look},
	{"sigaction", sem_setup, action_call, action_handler, action_look},
	{"mq_close", close_setup, close_call, close_handler, close_look},
	{"close_range", close_setup, close_range_call, reopen_handler,
		close_look},
	{"mq_open", nothing, mq_new, mq_new, nothing},
};

int main(int argc, char **argv)
{
	return steps_main(
		ops, sizeof(ops) / sizeof(ops[0]), names_remove, argc, argv);
}
