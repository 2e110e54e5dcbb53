// SPDX-License-Identifier: MIT
/*
 * mq_killed: a sender is killed at each of its system calls, as it enters and
 * leaves them. If its message is in the queue, the registrant has been
 * notified, without any other call on the queue since. Once by a sender that
 * may kill the registrant, and once by another user.
 */
#include "mq.h"
#include <sys/ptrace.h>

#define STOPS_MAX 200

static mqd_t q;
static sigset_t usr1;

static pid_t sender(uid_t uid)
{
	pid_t pid = t_fork();

	if (pid)
		return pid;
	if (uid)
		t_become(uid, uid);
	/* What a first call does is not the subject. */
	q_count(q);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	q_put(q, "x", 0);
	_exit(0);
}

static int told(long ms)
{
	struct timespec limit = {0, ms * 1000000};

	return sigtimedwait(&usr1, NULL, &limit) == SIGUSR1;
}

/* At its nth stop. 0 if it had ended before. */
static int killed_at(uid_t uid, int nth)
{
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	int status = 0, i, was_told, there;
	pid_t pid;

	t_quiet(!mq_notify(q, &ev));
	pid = sender(uid);
	waitpid(pid, &status, 0);
	for (i = 0; i < nth && WIFSTOPPED(status); i++) {
		ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
		waitpid(pid, &status, 0);
	}
	if (WIFSTOPPED(status)) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
	was_told = told(200);
	there = q_count(q) > 0;
	t_quiet(!there || was_told);
	/* Nor does it come when the queue is used. */
	t_quiet(!told(1));
	if (there)
		mq_receive(q, (char[32]){0}, 32, NULL);
	mq_notify(q, NULL);
	return WIFSIGNALED(status);
}

int main(void)
{
	static const uid_t uids[] = {0, T_OTHER_UID};
	int n;

	t_begin();
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	q = mq_open(NAME, RW | O_CREAT | O_EXCL, 0666,
		&(struct mq_attr){.mq_maxmsg = 4, .mq_msgsize = 32});
	for (int i = 0; i < 2; i++) {
		t_say("-- by %s", i ? "another user" : "one who may kill");
		for (n = 1; n < STOPS_MAX && killed_at(uids[i], n); n++)
			;
		t_true(n > 1 && n < STOPS_MAX);
	}
	q_done(q);
	return t_end();
}
