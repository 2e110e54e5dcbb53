// SPDX-License-Identifier: MIT
/*
 * ipc_namespace: a process that leaves its IPC namespace, by unshare, setns or
 * clone, by name or number, finds the other one's objects and none of the
 * first's: sets, queues and segments with the same keys exist in both. Its
 * SEM_UNDO is applied as at its exit, its attachments stay and are counted, its
 * open descriptors still refer to the old queues. Only the calling thread
 * changes its namespace.
 *
 * The bug: all namespaces of a program's children were one registry.
 */
#include "mq.h"
#include "shm.h"
#include <stdint.h>
#include <sys/msg.h>

#ifndef CLONE_NEWIPC
#define CLONE_NEWIPC 0x08000000
#endif
#define KEY 0x1907
#define NR_PIDFD_OPEN 434
#define NR_CLONE3 435
#define STACK (256 * 1024)

struct text {
	long type;
	char text[8];
};

static char **arguments;
static int set, queue, segment, to[2], from[2];
static mqd_t open_queue;
static char *at;

/* Between the two processes of a scene. */
static void say(int *end)
{
	if (write(end[1], "x", 1) != 1)
		t_say("FAIL pipe");
}

static void hear(int *end)
{
	char c;

	if (read(end[0], &c, 1) != 1)
		t_say("FAIL pipe");
}

static int own_namespace(void)
{
	return open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC);
}

/* One of each kind, with KEY and NAME; the set's value tells whose it is. */
static void objects_make(int value)
{
	struct text m = {1, "m"};

	m.text[0] = (char)('0' + value);
	set = semget(KEY, 1, IPC_CREAT | IPC_EXCL | 0600);
	queue = msgget(KEY, IPC_CREAT | IPC_EXCL | 0600);
	segment = shmget(KEY, 4096, IPC_CREAT | IPC_EXCL | 0600);
	t_true(set >= 0 && queue >= 0 && segment >= 0);
	t_eq(semctl(set, 0, SETVAL, value), 0);
	t_eq(msgsnd(queue, &m, 1, 0), 0);
	at = shmat(segment, NULL, 0);
	t_true(at != (void *)-1);
	at[0] = m.text[0];
	open_queue = q_open(NAME, RW | NB, 4, 16);
	t_eq(q_put(open_queue, m.text, 0), 0);
}

static void objects_remove(void)
{
	t_eq(semctl(set, 0, IPC_RMID), 0);
	t_eq(msgctl(queue, IPC_RMID, NULL), 0);
	t_eq(shmdt(at), 0);
	t_eq(shmctl(segment, IPC_RMID, NULL), 0);
	q_done(open_queue);
}

/* Are those of `value` the ones that are here? */
static void objects_are(int value)
{
	int id = semget(KEY, 0, 0), q = msgget(KEY, 0), s = shmget(KEY, 0, 0);
	mqd_t m = mq_open(NAME, RW);
	struct msqid_ds st;
	char *p;

	t_eq(semctl(id, 0, GETVAL), value);
	t_eq(msgctl(q, IPC_STAT, &st), 0);
	t_eq((int)st.msg_qnum, 1);
	p = shmat(s, NULL, 0);
	t_true(p != (void *)-1 && p[0] == '0' + value);
	t_eq(shmdt(p), 0);
	t_eq(q_count(m), 1);
	t_eq(mq_close(m), 0);
}

static void nothing_here(void)
{
	struct seminfo info;

	t_err(semget(KEY, 0, 0), ENOENT);
	t_err(msgget(KEY, 0), ENOENT);
	t_err(shmget(KEY, 0, 0), ENOENT);
	t_err(mq_open(NAME, RW), ENOENT);
	t_eq(semctl(0, 0, SEM_INFO, &info), 0);
	t_eq(info.semusz, 0);
}

/* ---- children that find nothing, make their own and leave the rest alone */

static int child_of_new(void *arg)
{
	(void)arg;
	t_failed = 0;
	alarm(T_LIMIT);
	nothing_here();
	objects_make(2);
	objects_are(2);
	t_eq(t_join(fork() ?: (objects_are(2), _exit(t_failed), 0)), 0);
	objects_remove();
	nothing_here();
	_exit(t_failed);
}

/* With its parent's memory. */
static int child_of_vfork(void *arg)
{
	int id;

	(void)arg;
	nothing_here();
	id = semget(KEY, 1, IPC_CREAT | 0600);
	t_eq(semctl(id, 0, GETVAL), 0);
	t_eq(semctl(id, 0, IPC_RMID), 0);
	_exit(t_failed);
}

static void by_unshare(void)
{
	pid_t pid = t_fork();

	if (!pid) {
		t_eq(unshare(CLONE_NEWIPC), 0);
		child_of_new(NULL);
	}
	t_eq(t_join(pid), 0);
	pid = t_fork();
	if (!pid) {
		t_eq(syscall(SYS_unshare, CLONE_NEWIPC), 0);
		child_of_new(NULL);
	}
	t_eq(t_join(pid), 0);
}

static void by_clone(void)
{
	char *stack = t_pages(STACK / 4096, PROT_READ | PROT_WRITE) + STACK;
	uint64_t args3[8] = {CLONE_NEWIPC, 0, 0, 0, SIGCHLD};
	pid_t pid;

	pid = clone(child_of_new, stack, CLONE_NEWIPC | SIGCHLD, NULL);
	t_eq(t_join(pid), 0);
	pid = clone(child_of_vfork, stack,
		CLONE_NEWIPC | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	t_eq(t_join(pid), 0);
	pid = (pid_t)syscall(
		SYS_clone, CLONE_NEWIPC | SIGCHLD, NULL, NULL, NULL, 0);
	if (!pid)
		child_of_new(NULL);
	t_eq(t_join(pid), 0);
	pid = (pid_t)syscall(NR_CLONE3, args3, sizeof(args3));
	if (!pid)
		child_of_new(NULL);
	t_eq(t_join(pid), 0);
}

/* ---- what goes along */

/* A child of its own call and attachment; the program that it executes is where
 * it is. */
static void goes_along(void)
{
	struct shmid_ds st;
	pid_t pid = t_fork();
	char *mine;

	if (pid) {
		hear(from);
		t_eq(semctl(set, 0, GETVAL), 4);
		t_eq(shmctl(segment, IPC_STAT, &st), 0);
		t_eq((int)st.shm_nattch, 3);
		say(to);
		hear(from);
		t_eq(semctl(set, 0, GETVAL), 1);
		t_eq(shmctl(segment, IPC_STAT, &st), 0);
		t_eq((int)st.shm_nattch, 3);
		say(to);
		hear(from);
		t_eq(shmctl(segment, IPC_STAT, &st), 0);
		t_eq((int)st.shm_nattch, 2);
		q_say(open_queue);
		q_say(open_queue);
		t_eq(q_put(open_queue, "1", 0), 0);
		say(to);
		t_eq(t_join(pid), 0);
		t_eq(shmctl(segment, IPC_STAT, &st), 0);
		t_eq((int)st.shm_nattch, 1);
		return;
	}
	mine = shmat(segment, NULL, 0);
	t_eq(semop(set, OPS({0, 3, U})), 0);
	say(from);
	hear(to);
	t_eq(unshare(CLONE_NEWIPC), 0);
	say(from);
	hear(to);
	nothing_here();
	t_true(mine[0] == '1' && at[0] == '1');
	t_eq(shmdt(mine), 0);
	t_err(shmdt(mine), EINVAL);
	t_eq(q_put(open_queue, "more", 0), 0);
	t_eq(q_count(open_queue), 2);
	nothing_here();
	say(from);
	hear(to);
	objects_make(5);
	execl(arguments[0], arguments[0], "seen", NULL);
	_exit(97);
}

/* ---- back, and to others */

static void back_and_forth(void)
{
	pid_t pid = t_fork(), other;
	int first, second, pidfd;

	if (pid) {
		t_eq(t_join(pid), 0);
		return;
	}
	first = own_namespace();
	t_eq(unshare(CLONE_NEWIPC), 0);
	second = own_namespace();
	objects_make(2);
	t_eq(semop(set, OPS({0, 5, U})), 0);
	t_eq(setns(first, CLONE_NEWIPC), 0);
	objects_are(1);
	t_eq(setns(second, 0), 0);
	objects_are(2);
	other = t_fork();
	if (!other) {
		t_eq(setns(first, CLONE_NEWIPC), 0);
		objects_are(1);
		t_eq(syscall(SYS_setns, second, CLONE_NEWIPC), 0);
		objects_are(2);
		t_eq(unshare(CLONE_NEWIPC), 0);
		nothing_here();
		objects_make(3);
		say(from);
		hear(to);
		objects_are(3);
		_exit(t_failed);
	}
	hear(from);
	pidfd = (int)syscall(NR_PIDFD_OPEN, other, 0);
	t_eq(setns(pidfd, CLONE_NEWIPC), 0);
	objects_are(3);
	say(to);
	t_eq(t_join(other), 0);
	objects_are(3);
	t_eq(setns(second, CLONE_NEWIPC), 0);
	objects_are(2);
	_exit(t_failed);
}

/* ---- a thread goes alone */

static void *thread_leaves(void *arg)
{
	(void)arg;
	t_eq(semop(set, OPS({0, 3, U})), 0);
	t_eq(unshare(CLONE_NEWIPC), 0);
	nothing_here();
	say(from);
	hear(to);
	nothing_here();
	return NULL;
}

static void thread_alone(void)
{
	pid_t pid = t_fork();
	pthread_t thread;

	if (pid) {
		t_eq(t_join(pid), 0);
		t_eq(semctl(set, 0, GETVAL), 1);
		return;
	}
	pthread_create(&thread, NULL, thread_leaves, NULL);
	hear(from);
	t_eq(semctl(set, 0, GETVAL), 4);
	t_true(semget(KEY, 0, 0) == set);
	say(to);
	pthread_join(thread, NULL);
	t_eq(semctl(set, 0, GETVAL), 4);
	_exit(t_failed);
}

static void refused(void)
{
	pid_t pid = t_fork();

	if (!pid) {
		t_become(T_OTHER_UID, T_OTHER_UID);
		t_err(unshare(CLONE_NEWIPC), EPERM);
		t_err(setns(own_namespace(), CLONE_NEWIPC), EPERM);
		t_true(semget(KEY, 0, 0) == set);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
}

int main(int argc, char **argv)
{
	arguments = argv;
	t_begin();
	if (argc > 1) {
		objects_are(5);
		return t_failed;
	}
	if (pipe(to) || pipe(from))
		return 99;
	t_story("children of new namespaces");
	objects_make(1);
	by_unshare();
	by_clone();
	objects_are(1);
	t_story("what goes along");
	goes_along();
	objects_are(1);
	t_story("back and forth");
	back_and_forth();
	t_story("a thread alone");
	thread_alone();
	t_story("refused");
	refused();
	objects_are(1);
	objects_remove();
	return t_failed;
}
