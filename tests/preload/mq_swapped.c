// SPDX-License-Identifier: MIT
/*
 * mq_swapped: while a thread is in the midst of a call on a queue, at many places
 * of it, another one puts a file where the queue's descriptor was, and at a later
 * place the queue back. The call acts on the queue or finds none; it does not
 * sleep, for the queue does not block, and leaves the file as it is.
 *
 * The bug: whether the call may sleep was asked of the number, which was the
 * file's by then; and what one thread found out of the number was noted over
 * what the other had done with it.
 */
#include "mq.h"
#include <poll.h>
#include <sys/ptrace.h>

/* Instructions from one place to the next; arbitrary, so that it takes seconds. */
#define STRIDE 97
/* From the file's coming to the queue's coming back. */
static const int later[] = {17, 400, 100000};
#define N_LATER (sizeof(later) / sizeof(later[0]))

static struct shared {
	volatile pid_t tid;
	volatile int go, done, sends;
	volatile long result, error;
} * sh;
static int ask[2], answer[2], file = -1;
static mqd_t queue, number;

/* The calls, each when it is told to. */
static void *calls(void *arg)
{
	char text[32];

	(void)arg;
	sh->tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		while (!sh->go)
			;
		if (sh->go < 0)
			return NULL;
		errno = 0;
		sh->result = sh->sends ? mq_send(number, "x", 1, 0)
				       : mq_receive(number, text, 32, NULL);
		sh->error = errno;
		sh->go = 0;
		sh->done = 1;
	}
}

/* 'f': the file comes, 'q': the queue comes back, 'e': and is empty, 'p': does
 * poll see a message in it? 'c': is the file as it was? */
static char obey(char what)
{
	struct pollfd p = {.fd = number, .events = POLLIN};
	char text[32];

	if (what == 'p')
		return !mq_send(queue, "x", 1, 0) && poll(&p, 1, 0) == 1 &&
		       mq_receive(queue, text, 32, NULL) == 1;
	if (what == 'f')
		return dup2(file, number) == number;
	if (what == 'q')
		return dup2(queue, number) == number;
	if (what == 'c')
		return lseek(file, 0, SEEK_CUR) == 0 &&
		       lseek(file, 0, SEEK_END) == 8 &&
		       lseek(file, 0, SEEK_SET) == 0;
	while (mq_receive(queue, text, 32, NULL) >= 0)
		;
	return errno == EAGAIN;
}

static void program(void)
{
	struct pollfd p = {.events = POLLIN | POLLOUT};
	pthread_t t;
	char what, is;

	alarm(5 * T_LIMIT);
	close(ask[1]);
	file = memfd_create("file", 0);
	queue = q_open(NAME, RW | NB, 2, 32);
	p.fd = queue;
	number = dup(queue);
	if (write(file, "contents", 8) != 8 || lseek(file, 0, SEEK_SET) ||
		poll(&p, 1, 0) != 1 || pthread_create(&t, NULL, calls, NULL))
		_exit(1);
	while (read(ask[0], &what, 1) == 1) {
		is = obey(what);
		if (write(answer[1], &is, 1) != 1)
			_exit(1);
	}
	pthread_join(t, NULL);
	_exit(mq_unlink(NAME) != 0);
}

/* One instruction of the call. 0: it is over. */
static int step(void)
{
	int status;

	return !sh->done && !ptrace(PTRACE_SINGLESTEP, sh->tid, 0, 0) &&
	       waitpid(sh->tid, &status, __WALL) == sh->tid &&
	       WIFSTOPPED(status);
}

/* The rest of the call, at full speed. */
static void finish(void)
{
	int status;

	if (sh->done)
		return;
	t_quiet(ptrace(PTRACE_CONT, sh->tid, 0, 0) == 0);
	while (!sh->done) {
		/* A signal stops it. */
		if (waitpid(sh->tid, &status, __WALL | WNOHANG) == sh->tid)
			ptrace(PTRACE_CONT, sh->tid, 0, 0);
		poll(NULL, 0, 1);
	}
	t_quiet(ptrace(PTRACE_INTERRUPT, sh->tid, 0, 0) == 0);
	t_quiet(waitpid(sh->tid, &status, __WALL) == sh->tid);
}

/* It may have to wait for a lock that the call holds, which then goes on. */
static int asked(char what)
{
	struct pollfd told = {.fd = answer[0], .events = POLLIN};
	char is = 0;
	int i;

	if (write(ask[1], &what, 1) != 1)
		return 0;
	while (poll(&told, 1, sh->done ? -1 : 20) == 0)
		for (i = 0; i < STRIDE && step(); i++)
			;
	return read(answer[0], &is, 1) == 1 && is;
}

static int as_expected(int sends)
{
	if (sh->result < 0)
		return sh->error == EBADF || (!sends && sh->error == EAGAIN);
	return sends && sh->result == 0;
}

/* The file comes at this place. 0: the call was over before. */
static int swap_at(long place, int wait, int sends, int *bad)
{
	long i;
	int over;

	sh->sends = sends;
	sh->done = 0;
	sh->go = 1;
	for (i = 0; i < place && step(); i++)
		;
	over = sh->done;
	*bad += !asked('f');
	for (i = 0; i < wait && step(); i++)
		;
	*bad += !asked('q');
	finish();
	*bad += !as_expected(sends) || !asked('c') || !asked('e');
	return !over;
}

/* The call begins with the file there, and the queue comes at this place. */
static int queue_comes_at(long place, int *bad)
{
	long i;
	int over;

	*bad += !asked('f');
	sh->sends = 0;
	sh->done = 0;
	sh->go = 1;
	for (i = 0; i < place && step(); i++)
		;
	over = sh->done;
	*bad += !asked('q');
	finish();
	*bad += !as_expected(0) || !asked('c') || !asked('p');
	return !over;
}

static void story(const char *name, int sends)
{
	unsigned i, places = 0;
	int bad = 0;
	long at;

	t_story(name);
	for (i = 0; sends >= 0 && i < N_LATER; i++)
		for (at = 0; swap_at(at, later[i], sends, &bad); at += STRIDE)
			places++;
	for (at = 0; sends < 0 && queue_comes_at(at, &bad); at += STRIDE / 8)
		places++;
	t_true(places > 0);
	t_eq(bad, 0);
}

int main(void)
{
	int status;
	pid_t pid;

	t_begin();
	alarm(5 * T_LIMIT);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED || pipe(ask) || pipe(answer))
		return 1;
	pid = t_fork();
	if (!pid)
		program();
	close(ask[0]);
	close(answer[1]);
	while (!sh->tid)
		sched_yield();
	t_true(ptrace(PTRACE_SEIZE, sh->tid, 0, 0) == 0);
	t_quiet(ptrace(PTRACE_INTERRUPT, sh->tid, 0, 0) == 0);
	t_quiet(waitpid(sh->tid, &status, __WALL) == sh->tid);
	story("mq_receive", 0);
	story("mq_send", 1);
	story("mq_receive where the queue comes", -1);
	sh->go = -1;
	ptrace(PTRACE_DETACH, sh->tid, 0, 0);
	close(ask[1]);
	t_true(waitpid(pid, &status, 0) == pid && status == 0);
	return t_end();
}
