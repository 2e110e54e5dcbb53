// SPDX-License-Identifier: MIT
/*
 * killed_no_robust: sleepers that are refused robust lists are killed, and what
 * comes next is not for them.
 *
 * The bug: nobody marked them dead, so a unit and a message were handed to
 * processes that had been gone for seconds.
 */
#include "seccomp.h"
#include "mq.h"
#include <sys/msg.h>

#define QUEUE "/t-killed-no-robust"

static int set, queue, mq;
static struct {
	long type;
	char text[8];
} m = {1, "hello"};

static void take(int how)
{
	char text[8];

	deny_two(SYS_set_robust_list, SYS_get_robust_list, EPERM);
	if (how == 0)
		semop(set, OPS({0, -1, 0}));
	else if (how == 1)
		msgrcv(queue, &m, sizeof(m.text), 0, 0);
	else
		mq_receive(mq, text, sizeof(text), NULL);
}

int main(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 8};
	struct msqid_ds ds = {0};
	pid_t pids[6];
	int i;

	t_story("two killed sleepers of each kind");
	set = t_set(1, VALS(0));
	queue = msgget(IPC_PRIVATE, 0600);
	mq = mq_open(QUEUE, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	mq_unlink(QUEUE);
	for (i = 0; i < 6; i++) {
		pids[i] = t_fork();
		if (!pids[i]) {
			take(i % 3);
			_exit(0);
		}
	}
	t_wait_blocked(set, 0, GETNCNT, 2);
	for (i = 0; i < 6; i++)
		if (i % 3)
			t_asleep(pids[i]);
	for (i = 0; i < 6; i++) {
		kill(pids[i], SIGKILL);
		t_eq(t_join(pids[i]), 1000 + SIGKILL);
	}
	t_row(set, GETNCNT, "0");
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
