// SPDX-License-Identifier: MIT
/*
 * killed_unmarked: processes are killed whose deaths the kernel does not tell: their
 * memory is taken before they end (process_mrelease(2), as the kernel itself does
 * when there is none left), or they have broken their robust lists. What comes next
 * is not for them.
 *
 * The bug: a unit and a message went to such sleepers; the notification that such a
 * one had asked for was refused to others.
 */
#include "mq.h"
#include <sched.h>
#include <sys/msg.h>

#define NR_PIDFD_OPEN 434
#define NR_MRELEASE 448

/* More than are asked for in one hold of a lock. */
#define SLEEPERS 6

static int set, queue, mq;
static struct {
	long type;
	char text[8];
} m = {1, "hello"};

static void take(int how)
{
	char text[8];

	if (how == 0)
		semop(set, OPS({0, -1, 0}));
	else if (how == 1)
		msgrcv(queue, &m, sizeof(m.text), 0, 0);
	else
		mq_receive(mq, text, sizeof(text), NULL);
	_exit(0);
}

static void kill_and_release(pid_t pid)
{
	int fd = (int)syscall(NR_PIDFD_OPEN, pid, 0);

	t_quiet(fd >= 0);
	kill(pid, SIGKILL);
	/* An older kernel has no such call. */
	syscall(NR_MRELEASE, fd, 0);
	close(fd);
	t_quiet(t_join(pid) == 1000 + SIGKILL);
}

static void registered(void)
{
	struct sigevent none = {.sigev_notify = SIGEV_NONE},
			usr1 = {.sigev_notify = SIGEV_SIGNAL,
				.sigev_signo = SIGUSR1};
	static void *head[3];
	pid_t pid = t_fork();

	if (!pid) {
		mq_notify(mq, &usr1);
		/* As if it had broken it. */
		head[0] = head;
		syscall(SYS_set_robust_list, head, 24);
		pause();
	}
	t_asleep(pid);
	t_err(mq_notify(mq, &none), EBUSY);
	kill_and_release(pid);
	t_eq(mq_notify(mq, &none), 0);
	t_eq(mq_notify(mq, NULL), 0);
}

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 8};
	struct msqid_ds ds = {0};
	pid_t pids[3 * SLEEPERS];
	cpu_set_t one;
	int i;

	t_story("killed sleepers of each kind, whose memory is taken");
	/* So they do not run before that is so. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	set = t_set(1, VALS(0));
	queue = msgget(IPC_PRIVATE, 0600);
	mq = q_open("/t-unmarked", RW, 4, 8);
	mq_unlink("/t-unmarked");
	registered();
	for (i = 0; i < 3 * SLEEPERS; i++) {
		pids[i] = t_fork();
		if (!pids[i])
			take(i % 3);
		t_asleep(pids[i]);
	}
	for (i = 0; i < 3 * SLEEPERS; i++)
		kill_and_release(pids[i]);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_row(set, GETVAL, "1");
	t_eq(msgsnd(queue, &m, sizeof(m.text), 0), 0);
	msgctl(queue, IPC_STAT, &ds);
	t_say("messages: %ld", (long)ds.msg_qnum);
	t_eq(mq_send(mq, "hello", 6, 0), 0);
	mq_getattr(mq, &attr);
	t_say("messages: %ld", attr.mq_curmsgs);
	msgctl(queue, IPC_RMID, NULL);
	t_rm(set);
	return t_end();
}
