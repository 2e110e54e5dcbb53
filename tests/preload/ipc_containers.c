// SPDX-License-Identifier: MIT
/*
 * ipc_containers: what the container tests of the Linux Test Project check,
 * written from their descriptions. One side makes an object, the other looks
 * for it: a child as it comes (none), one made by clone(CLONE_NEWIPC), one that
 * calls unshare. Each has the limits that a new namespace has. Then two
 * containers side by side on the same key, each of which locks its own
 * semaphore and passes its own messages.
 *
 * Not here: mqueue file systems that a container mounts (mqns_03, mqns_04); the
 * kernel's mounts show the kernel's queues.
 */
#include "mq.h"
#include <sys/msg.h>
#include <sys/shm.h>

#ifndef CLONE_NEWIPC
#define CLONE_NEWIPC 0x08000000
#endif
#define KEY 124426
#define STACK (256 * 1024)

enum way { NONE, CLONE, UNSHARE };
static const char *const way_names[] = {"none", "clone", "unshare"};

struct text {
	long type;
	char text[8];
};

struct container {
	enum way way;
	int (*body)(void *);
	void *arg;
};

static int container_begin(void *arg)
{
	struct container *box = arg;

	t_failed = 0;
	alarm(T_LIMIT);
	if (box->way == UNSHARE)
		t_eq(unshare(CLONE_NEWIPC), 0);
	_exit(box->body(box->arg) || t_failed);
}

static pid_t container(enum way way, int (*body)(void *), void *arg)
{
	struct container box = {way, body, arg};
	char *stack = t_pages(STACK / 4096, PROT_READ | PROT_WRITE) + STACK;

	return clone(container_begin, stack,
		SIGCHLD | (way == CLONE ? CLONE_NEWIPC : 0), &box);
}

/* How many of a segment, a set and the two queues are there. */
static int found(void)
{
	return (shmget(KEY, 100, 0) >= 0) + (semget(KEY, 1, 0) >= 0) +
	       (msgget(KEY, 0) >= 0) + (mq_open(NAME, O_RDWR) >= 0);
}

static int looks(void *arg)
{
	return found() != *(int *)arg;
}

static void parent_makes(void)
{
	int shm = shmget(KEY, 100, IPC_CREAT | 0600);
	int sem = semget(KEY, 1, IPC_CREAT | 0600);
	int msg = msgget(KEY, IPC_CREAT | 0600), all = 4, nothing = 0;
	mqd_t q = q_open(NAME, RW, 4, 16);
	enum way way;

	for (way = NONE; way <= UNSHARE; way++) {
		t_story(way_names[way]);
		t_eq(t_join(container(
			     way, looks, way == NONE ? &all : &nothing)),
			0);
	}
	t_eq(shmctl(shm, IPC_RMID, NULL), 0);
	t_eq(semctl(sem, 0, IPC_RMID), 0);
	t_eq(msgctl(msg, IPC_RMID, NULL), 0);
	q_done(q);
}

static int makes(void *arg)
{
	(void)arg;
	t_true(shmget(KEY, 100, IPC_CREAT | IPC_EXCL | 0600) >= 0);
	t_true(semget(KEY, 1, IPC_CREAT | IPC_EXCL | 0600) >= 0);
	t_true(msgget(KEY, IPC_CREAT | IPC_EXCL | 0600) >= 0);
	q_open(NAME, RW, 4, 16);
	return 0;
}

static void child_makes(void)
{
	enum way way;

	for (way = CLONE; way <= UNSHARE; way++) {
		t_story(way_names[way]);
		t_eq(t_join(container(way, makes, NULL)), 0);
		t_true(found() == 0);
	}
}

/* ---- limits: those of the maker are not handed on */

static int set_limit(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);
	int failed = fd < 0 || write(fd, text, strlen(text)) < 0;

	return close(fd) || failed;
}

static int limits(void *arg)
{
	struct msginfo msg = {0};
	struct seminfo sem = {0};

	(void)arg;
	t_true(msgctl(0, IPC_INFO, (struct msqid_ds *)(void *)&msg) >= 0);
	t_true(semctl(0, 0, IPC_INFO, &sem) >= 0);
	t_true(msg.msgmax == 8192);
	t_true(sem.semopm == 500);
	t_true(!set_limit("/proc/sys/kernel/msgmax", "600"));
	return 0;
}

static void limits_are_new(void)
{
	struct msginfo msg = {0};
	enum way way;

	t_true(!set_limit("/proc/sys/kernel/msgmax", "5000"));
	t_true(!set_limit(
		"/proc/sys/kernel/sem", "32000 1024000000 300 32000"));
	for (way = CLONE; way <= UNSHARE; way++) {
		t_story(way_names[way]);
		t_eq(t_join(container(way, limits, NULL)), 0);
		t_true(msgctl(0, IPC_INFO, (struct msqid_ds *)(void *)&msg) >=
			0);
		t_true(msg.msgmax == 5000);
	}
}

/* ---- two side by side */

static int first[2], second[2];

static void step(int *tell, int *wait)
{
	char c = 0;

	if (tell && write(tell[1], "x", 1) != 1)
		t_failed = 1;
	if (wait && read(wait[0], &c, 1) != 1)
		t_failed = 1;
}

/* Holds its semaphore and has its message while the other one does so, too. */
static int side(void *arg)
{
	int one = *(int *)arg == 1;
	int sem = semget(KEY, 1, IPC_CREAT | IPC_EXCL | 0600);
	int msg = msgget(KEY, IPC_CREAT | IPC_EXCL | 0600);
	struct text m = {1, {(char)('0' + *(int *)arg)}};

	t_eq(semctl(sem, 0, SETVAL, 1), 0);
	t_eq(semop(sem, OPS({0, -1, NW | U})), 0);
	t_eq(msgsnd(msg, &m, 1, 0), 0);
	step(one ? first : second, one ? second : first);
	t_err(semop(sem, OPS({0, -1, NW})), EAGAIN);
	m.text[0] = 0;
	t_eq(msgrcv(msg, &m, 1, 0, NW), 1);
	t_true(m.text[0] == '0' + *(int *)arg);
	t_err(msgrcv(msg, &m, 1, 0, NW), ENOMSG);
	step(one ? first : second, one ? second : first);
	return 0;
}

static void two(enum way way)
{
	int one = 1, other = 2;
	int out = open("/dev/null", O_WRONLY), keep = dup(1);
	pid_t a, b;

	t_story(way_names[way]);
	/* Their lines would come as they run. */
	dup2(out, 1);
	a = container(way, side, &one);
	b = container(way, side, &other);
	dup2(keep, 1);
	close(keep);
	close(out);
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
}

int main(void)
{
	t_begin();
	if (pipe(first) || pipe(second))
		return 99;
	parent_makes();
	child_makes();
	limits_are_new();
	two(CLONE);
	two(UNSHARE);
	return t_end();
}
