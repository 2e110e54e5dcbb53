// SPDX-License-Identifier: MIT
/*
 * child_returns: a signal handler that came in a sleep forks, as a daemon does,
 * and the parent ends; the child returns into the call, which was the parent's,
 * and is interrupted there as that one would have been, or begins it again.
 *
 * The bug: the child could get the records that its parent had had in the
 * registry, took the call for its own, and slept for a grant that could not
 * come.
 */
#include "msg.h"
#include "mq.h"
#include <sys/prctl.h>

static int set, queue;
static mqd_t q;

static void forking(int sig)
{
	pid_t parent = getpid();

	(void)sig;
	if (fork())
		_exit(0);
	/* Until it has been waited for. */
	while (!kill(parent, 0))
		t_nap();
}

static int sleeps_in_semop(void)
{
	return semop(set, OPS({0, -1, 0}));
}
static int sleeps_in_semop_undo(void)
{
	return semop(set, OPS({0, -1, U}, {1, -1, U}));
}
static int sleeps_in_msgrcv(void)
{
	return m_recv(queue, 64, 2, 0) < 0 ? -1 : 0;
}
static int sleeps_in_msgsnd(void)
{
	return m_send(queue, 1, "more", 0);
}
static int sleeps_in_mq_receive(void)
{
	char text[8];

	return mq_receive(q, text, sizeof(text), NULL) < 0 ? -1 : 0;
}

/* The process that has to come out of the call. */
static pid_t started(int (*call)(void), int flags)
{
	struct sigaction act = {.sa_handler = forking, .sa_flags = flags};
	pid_t pid = t_fork();

	if (!pid) {
		sigaction(SIGUSR1, &act, NULL);
		_exit(t_code(call()));
	}
	t_asleep(pid);
	kill(pid, SIGUSR1);
	t_eq(t_join(pid), 0);
	return pid;
}

/* Of the child, which is ours by now. */
static int code_of_child(void)
{
	int status;

	if (wait(&status) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static void interrupted(int (*call)(void))
{
	started(call, 0);
	t_eq(code_of_child(), EINTR);
}

int main(void)
{
	char text[8] = "a";
	int i;

	t_begin();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	set = semget(IPC_PRIVATE, 2, 0600);
	queue = m_queue();
	q = q_open(NAME, RW, 2, 8);
	t_story("semop");
	for (i = 0; i < 3; i++)
		interrupted(sleeps_in_semop);
	interrupted(sleeps_in_semop_undo);
	t_row(set, GETVAL, "0 0");
	t_row(set, GETNCNT, "0 0");
	t_story("msgrcv");
	for (i = 0; i < 3; i++)
		interrupted(sleeps_in_msgrcv);
	t_story("msgsnd");
	while (!m_send(queue, 1, "more", IPC_NOWAIT))
		;
	for (i = 0; i < 3; i++)
		interrupted(sleeps_in_msgsnd);
	t_story("mq_receive");
	for (i = 0; i < 3; i++)
		interrupted(sleeps_in_mq_receive);
	t_story("mq_receive, which begins again");
	started(sleeps_in_mq_receive, SA_RESTART);
	t_eq(mq_send(q, text, 1, 0), 0);
	t_eq(code_of_child(), 0);
	q_done(q);
	msgctl(queue, IPC_RMID, NULL);
	semctl(set, 0, IPC_RMID);
	return t_end();
}
