// SPDX-License-Identifier: MIT
/*
 * mq_orphans_many: a server that keeps queues open which it has unlinked. To
 * create, unlink and close another queue costs about as much as beside as many
 * queues with names: instructions of this process, counted by single steps.
 * (Each creation and each unlink walked along the whole list of them, twice.)
 */
#include "mq.h"
#include <sys/ptrace.h>

#define MANY 240
/* Instructions, of ten thousands. A few of the others are looked at, which takes
 * 2,700; to go along the list took 35,000. */
#define MORE 8000

static const char *name(int i)
{
	static char buf[16];

	snprintf(buf, sizeof(buf), "/many%d", i);
	return buf;
}

static mqd_t make(int i)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 16};

	return mq_open(name(i), O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
}

static void make_and_drop(void)
{
	mqd_t q = make(MANY);

	if (q < 0 || mq_unlink(name(MANY)) || mq_close(q))
		_exit(1);
}

/* The first call in a process does more. */
static void in_child(void)
{
	make_and_drop();
	if (ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(2);
	raise(SIGSTOP);
	make_and_drop();
	raise(SIGSTOP);
	_exit(0);
}

static long counted(void)
{
	pid_t pid = fork();
	int status;
	long n = 0;

	if (!pid)
		in_child();
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	while (!ptrace(PTRACE_SINGLESTEP, pid, 0, 0) &&
		waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) &&
		WSTOPSIG(status) == SIGTRAP)
		n++;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return n;
}

int main(void)
{
	long named, orphans;
	mqd_t q[MANY];
	int i;

	t_begin();
	t_story("with names");
	for (i = 0; i < MANY; i++) {
		q[i] = make(i);
		t_quiet(q[i] >= 0);
	}
	named = counted();
	t_true(named > 0);
	t_story("without");
	for (i = 0; i < MANY; i++)
		t_quiet(!mq_unlink(name(i)));
	orphans = counted();
	t_true(orphans > 0);
	t_true(orphans <= named + MORE);
	t_story("they go in any order");
	for (i = 0; i < MANY; i++)
		t_quiet(!mq_close(q[i * 7 % MANY]));
	t_err(mq_open(name(0), O_RDWR), ENOENT);
	return t_end();
}
