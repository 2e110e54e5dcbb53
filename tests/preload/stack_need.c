// SPDX-License-Identifier: MIT
/*
 * stack_need: how much stack each call needs. Each is made on a stack of its
 * own, painted before, as a coroutine, a thread of the smallest size or a
 * handler on an alternate stack may have it: what handlers call stays below 2
 * KiB, everything else below 4, the first call of a process as well, and each
 * once more where it meets what killed processes have left. (Names are
 * bound at once: what the loader needs is not counted.)
 */
#include "mq.h"
#include "raw.h"
#include "shm.h"
#include <sys/msg.h>
#include <sys/uio.h>

#define AREA 65536
#define PAINT 0xa5
#define FOR_HANDLERS 2048
#define FOR_THREADS 4096

static unsigned char area[AREA] __attribute__((aligned(4096)));
static int sem, many, msg, shm, control, status;
static mqd_t q, full;
static char *at;

/* Call fn on the painted stack. */
static void on_stack(void (*fn)(void))
{
	void *top = area + AREA;

	__asm__ volatile("movq %%rsp, %%rbx\n\t"
			 "movq %0, %%rsp\n\t"
			 "call *%1\n\t"
			 "movq %%rbx, %%rsp"
			 : "+r"(top), "+r"(fn)
			 :
			 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9",
			 "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			 "xmm5", "xmm6", "xmm7", "memory", "cc");
}

static size_t need(void (*fn)(void))
{
	size_t i;

	memset(area, PAINT, AREA);
	on_stack(fn);
	for (i = 0; i < AREA && area[i] == PAINT; i++)
		;
	return AREA - i;
}

/* ---- the calls ---- */

static struct {
	long type;
	char text[100];
} m = {1, "text"};
static char buf[8192];
static struct semid_ds sd;
static struct msqid_ds md;
static struct shmid_ds hd;
static unsigned short values[100];
static union {
	int val;
	void *ptr;
} arg;

static void do_semop(void)
{
	semop(sem, OPS({0, 1, 0}, {0, -1, 0}));
}
static void do_undo(void)
{
	semop(sem, OPS({0, 1, U}));
	semop(sem, OPS({0, -1, U}));
}
static struct sembuf ops[500];

static void do_array(void)
{
	for (int i = 0; i < 200; i++)
		ops[i] = (struct sembuf){(unsigned short)(i % 100),
			i < 100 ? 1 : -1, i % 2 ? U : 0};
	semop(many, ops, 200);
}
/* As many as SEMOPM of the kernel; the last one waits. */
static void do_array_wait(void)
{
	struct timespec t = {0, 1000000};

	for (int i = 0; i < 500; i++)
		ops[i] = (struct sembuf){
			(unsigned short)(i % 100), i < 499 ? 1 : -100, 0};
	semtimedop(many, ops, 500, &t);
}
static void do_wait(void)
{
	struct timespec t = {0, 1000000};

	semtimedop(sem, OPS({0, -1, 0}), &t);
}
static void do_wait_undo(void)
{
	struct timespec t = {0, 1000000};

	semtimedop(many, OPS({1, -1, U}, {2, -1, U}), &t);
}
static void do_semctl(void)
{
	arg.ptr = &sd;
	semctl(sem, 0, IPC_STAT, arg);
	semctl(sem, 0, GETVAL);
	arg.val = 0;
	semctl(sem, 0, SETVAL, arg);
	arg.ptr = values;
	semctl(many, 0, GETALL, arg);
	semctl(many, 0, SETALL, arg);
}
static void do_semget(void)
{
	int id = semget(IPC_PRIVATE, 10, 0600);

	semctl(id, 0, IPC_RMID);
}
static void do_msg(void)
{
	msgsnd(msg, &m, 50, 0);
	msgrcv(msg, &m, 100, 0, IPC_NOWAIT);
}
static void do_msg_none(void)
{
	msgrcv(msg, &m, 100, -5, IPC_NOWAIT);
}
static void do_msgctl(void)
{
	msgctl(msg, IPC_STAT, &md);
	msgctl(msgget(IPC_PRIVATE, 0600), IPC_RMID, NULL);
}
static void do_mq(void)
{
	mq_send(q, "x", 1, 0);
	mq_receive(q, buf, sizeof(buf), NULL);
}
static void do_mq_long(void)
{
	mq_send(q, buf, 4000, 0);
	mq_receive(q, buf, sizeof(buf), NULL);
}
static void do_mq_wait(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec--;
	mq_timedreceive(q, buf, sizeof(buf), NULL, &t);
	t.tv_sec++;
	mq_timedreceive(q, buf, sizeof(buf), NULL, &t);
	mq_timedsend(full, "x", 1, 0, &t);
}
static void do_mq_poll(void)
{
	struct pollfd p = {q, POLLIN | POLLOUT, 0};

	poll(&p, 1, 0);
	do_mq();
}
static void do_mq_attr(void)
{
	struct mq_attr a;

	mq_getattr(q, &a);
	mq_setattr(q, &a, NULL);
}
static void do_mq_notify(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_NONE};

	mq_notify(q, &ev);
	mq_notify(q, NULL);
}
static void do_mq_open(void)
{
	struct mq_attr a = {.mq_maxmsg = 2, .mq_msgsize = 8};

	mq_close(mq_open("/stack", O_CREAT | O_RDWR, 0600, &a));
	mq_close(mq_open("/stack", O_RDWR));
	mq_unlink("/stack");
}
static void do_shmat(void)
{
	at = shmat(shm, NULL, 0);
	shmdt(at);
}
static void do_shmctl(void)
{
	shmctl(shm, IPC_STAT, &hd);
	shmctl(shmget(IPC_PRIVATE, 5000, 0600), IPC_RMID, NULL);
}
static void do_procfs(void)
{
	int fd = open("/proc/sysvipc/sem", O_RDONLY);

	read(fd, buf, sizeof(buf));
	close(fd);
}
static void do_control(void)
{
	struct iovec iov = {buf, 100};

	control = open("/proc/sys/kernel/msgmax", O_RDWR);
	pread(control, buf, 100, 0);
	readv(control, &iov, 1);
	iov.iov_len = 1;
	writev(control, &iov, 1);
	write(control, "8192\n", 5);
	close(control);
}
static void do_mq_file(void)
{
	struct stat st;

	fstat(q, &st);
	lseek(q, 0, SEEK_SET);
	read(q, buf, 80);
	fcntl(q, F_GETFL);
}
static void do_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		syscall(SYS_exit_group, 0);
	waitpid(pid, &status, 0);
}
static void do_first_sem(void)
{
	semget(0x77, 1, IPC_CREAT | 0600);
}
static void do_first_mq(void)
{
	struct mq_attr a = {.mq_maxmsg = 2, .mq_msgsize = 8};

	mq_open("/first", O_CREAT | O_RDWR, 0600, &a);
}
static void do_first_shm(void)
{
	shmat(shmget(0x77, 5000, IPC_CREAT | 0600), NULL, 0);
}
static void do_first_msg(void)
{
	msgget(0x77, IPC_CREAT | 0600);
}

static const struct {
	const char *name;
	void (*fn)(void);
	size_t most;
} calls[] =
	{
		{"semop", do_semop, FOR_HANDLERS},
		{"semop with undo", do_undo, FOR_HANDLERS},
		{"semop of 200", do_array, FOR_HANDLERS},
		{"semtimedop of 500 that waits", do_array_wait, FOR_HANDLERS},
		{"semtimedop that waits", do_wait, FOR_HANDLERS},
		{"the same with undo", do_wait_undo, FOR_HANDLERS},
		{"semctl", do_semctl, FOR_HANDLERS},
		{"msgsnd, msgrcv", do_msg, FOR_HANDLERS},
		{"msgrcv of nothing", do_msg_none, FOR_HANDLERS},
		{"mq_send, mq_receive", do_mq, FOR_HANDLERS},
		{"the same, long", do_mq_long, FOR_HANDLERS},
		{"mq_timedreceive, mq_timedsend", do_mq_wait, FOR_HANDLERS},
		{"the same, polled", do_mq_poll, FOR_HANDLERS},
		{"mq_getattr", do_mq_attr, FOR_HANDLERS},
		{"shmat, shmdt", do_shmat, FOR_HANDLERS},
		{"semget, IPC_RMID", do_semget, FOR_THREADS},
		{"msgget, msgctl", do_msgctl, FOR_THREADS},
		{"shmget, shmctl", do_shmctl, FOR_THREADS},
		{"mq_open, mq_close, mq_unlink", do_mq_open, FOR_THREADS},
		{"mq_notify", do_mq_notify, FOR_THREADS},
		{"a queue as a file", do_mq_file, FOR_THREADS},
		{"/proc/sysvipc", do_procfs, FOR_THREADS},
		{"a control file", do_control, FOR_THREADS},
		{"fork", do_fork, FOR_THREADS},
},
  firsts[] = {
	  {"semget", do_first_sem, FOR_THREADS},
	  {"msgget", do_first_msg, FOR_THREADS},
	  {"shmat", do_first_shm, FOR_THREADS},
	  {"mq_open", do_first_mq, FOR_THREADS},
};

static void judge(const char *name, size_t n, size_t most)
{
	if (getenv("STACK_NEED"))
		t_say("%6zu %s", n, name);
	else if (n < most)
		t_say("ok   %s needs less than %zu", name, most);
	else
		t_say("FAIL %s needs %zu, not less than %zu", name, n, most);
	t_failed |= n >= most;
}

/* Sleeps at one of the objects until it is killed; n of the kinds of sleep. */
static void sleep_at(int n)
{
	struct sembuf wait = {0, -100, 0};

	if (n == 0)
		semop(sem, &wait, 1);
	else if (n == 1)
		msgrcv(msg, &m, 100, 99, 0);
	else
		mq_receive(q, buf, sizeof(buf), NULL);
}

/*
 * What one leaves that is killed with units of two sets, an attached segment
 * and three threads' worth of sleepers: its children's, killed with it.
 */
static void leave_all(void)
{
	pid_t pids[4];
	int ready[2], i;
	char c;

	if (pipe(ready))
		return;
	for (i = 0; i < 4; i++) {
		pids[i] = t_fork();
		if (pids[i])
			continue;
		semop(sem, OPS({0, 1, U}));
		semop(many, OPS({3, 1, U}, {70, 2, U}));
		if (shmat(shm, NULL, 0) == (void *)-1)
			_exit(1);
		(void)!write(ready[1], "r", 1);
		if (i < 3)
			sleep_at(i);
		for (;;)
			pause();
	}
	for (i = 0; i < 4; i++)
		(void)!read(ready[0], &c, 1);
	for (i = 0; i < 3; i++)
		t_asleep(pids[i]);
	for (i = 0; i < 4; i++)
		kill(pids[i], SIGKILL);
	for (i = 0; i < 4; i++)
		waitpid(pids[i], NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

static void others(void)
{
	char name[80];

	sem = semget(IPC_PRIVATE, 1, 0600);
	many = semget(IPC_PRIVATE, 100, 0600);
	msg = msgget(IPC_PRIVATE, 0600);
	shm = shmget(IPC_PRIVATE, 50000, 0600);
	q = q_open(NAME, RW, 2, 8192);
	full = q_open("/full", RW, 1, 8);
	q_put(full, "x", 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		judge(calls[i].name, need(calls[i].fn), calls[i].most);
	/* The same by who meets what killed ones left. */
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		leave_all();
		snprintf(name, sizeof(name), "%s, beside the killed",
			calls[i].name);
		judge(name, need(calls[i].fn), calls[i].most);
	}
	semctl(sem, 0, IPC_RMID);
	semctl(many, 0, IPC_RMID);
	msgctl(msg, IPC_RMID, NULL);
	shmctl(shm, IPC_RMID, NULL);
	mq_unlink("/full");
	mq_unlink("/first");
	q_done(q);
}

/*
 * Attaches, makes a child that the library does not see made, and is killed:
 * who makes the first call then looks for it. Its number.
 */
static pid_t orphan(void)
{
	int told[2];
	pid_t pid, child = 0;

	if (pipe(told))
		return 0;
	pid = t_fork();
	if (pid == 0) {
		shmat(shmget(0x77, 5000, IPC_CREAT | 0600), NULL, 0);
		child = (pid_t)raw(SYS_fork, 0, 0, 0, 0);
		if (!child)
			for (;;)
				pause();
		(void)!write(told[1], &child, sizeof(child));
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	(void)!read(told[0], &child, sizeof(child));
	close(told[0]);
	close(told[1]);
	return child;
}

static void first_beside_orphan(void)
{
	pid_t child = orphan(), pid = t_fork();

	if (pid == 0) {
		judge("the first call, beside an orphan", need(do_first_msg),
			FOR_THREADS);
		_exit(t_failed);
	}
	t_failed |= t_join(pid) || !child;
	if (child)
		kill(child, SIGKILL);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!getenv("LD_BIND_NOW")) {
		setenv("LD_BIND_NOW", "1", 1);
		execv("/proc/self/exe", argv);
	}
	t_begin();
	/* It takes over the thread record of the one that was killed, since
	 * there is no other yet. */
	first_beside_orphan();
	for (size_t i = 0; i < sizeof(firsts) / sizeof(*firsts); i++) {
		pid_t pid = t_fork();
		char name[40];

		if (pid == 0) {
			snprintf(name, sizeof(name), "the first call, %s",
				firsts[i].name);
			judge(name, need(firsts[i].fn), firsts[i].most);
			_exit(t_failed);
		}
		t_failed |= t_join(pid);
	}
	others();
	semctl(semget(0x77, 0, 0), 0, IPC_RMID);
	msgctl(msgget(0x77, 0), IPC_RMID, NULL);
	shmctl(shmget(0x77, 0, 0), IPC_RMID, NULL);
	return t_end();
}
