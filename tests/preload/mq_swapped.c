// SPDX-License-Identifier: MIT
/*
 * mq_swapped: while a thread is in the middle of a call on a queue, at many
 * places of it, another one replaces the queue's descriptor by a file's, and at
 * a later place by the queue's again. The call acts on the queue or finds none;
 * it does not sleep, for the queue is O_NONBLOCK, and does not change the file.
 *
 * The bug: whether the call may sleep was decided by the flags of the number,
 * which was the file's by then; and one thread's result of looking up the
 * number overwrote what the other had done with it.
 */
#include "mq.h"
#include "stepped.h"

/* Instructions from one place to the next; arbitrary, so that it takes seconds.
 */
#define STRIDE 97
/* From the file's coming to the queue's coming back. */
static const int later[] = {17, 400, 100000};
#define N_LATER (sizeof(later) / sizeof(later[0]))

static struct shared {
	volatile int sends;
	volatile long result, error;
} * sh;
static int file = -1;
static mqd_t queue, number;

/* The calls, each when it is told to. */
static void *calls(void *arg)
{
	char text[32];

	(void)arg;
	stepped->tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		while (!stepped->go)
			;
		if (stepped->go < 0)
			return NULL;
		errno = 0;
		sh->result = sh->sends ? mq_send(number, "x", 1, 0)
				       : mq_receive(number, text, 32, NULL);
		sh->error = errno;
		stepped->go = 0;
		stepped->done = 1;
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
	char what;
	int is;

	alarm(5 * T_LIMIT);
	close(stepped_ask[1]);
	file = memfd_create("file", 0);
	queue = q_open(NAME, RW | NB, 2, 32);
	p.fd = queue;
	number = dup(queue);
	if (write(file, "contents", 8) != 8 || lseek(file, 0, SEEK_SET) ||
		poll(&p, 1, 0) != 1 || pthread_create(&t, NULL, calls, NULL))
		_exit(1);
	while (read(stepped_ask[0], &what, 1) == 1) {
		is = obey(what);
		if (write(stepped_answer[1], &is, sizeof(is)) < 0)
			_exit(1);
	}
	pthread_join(t, NULL);
	_exit(mq_unlink(NAME) != 0);
}

static int asked(char what)
{
	return stepped_asked(what, &(long){0}) == 1;
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
	stepped_begin(1, place);
	over = stepped->done;
	*bad += !asked('f');
	for (i = 0; i < wait && stepped_step(); i++)
		;
	*bad += !asked('q');
	stepped_finish();
	*bad += !as_expected(sends) || !asked('c') || !asked('e');
	return !over;
}

/* The call begins with the file there, and the queue comes at this place. */
static int queue_comes_at(long place, int *bad)
{
	int over;

	*bad += !asked('f');
	sh->sends = 0;
	stepped_begin(1, place);
	over = stepped->done;
	*bad += !asked('q');
	stepped_finish();
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
	pid_t pid;

	t_begin();
	alarm(5 * T_LIMIT);
	sh = t_shared(sizeof(*sh));
	if (!stepped_make())
		return 1;
	pid = stepped_start(program);
	story("mq_receive", 0);
	story("mq_send", 1);
	story("mq_receive where the queue comes", -1);
	stepped->go = -1;
	stepped_end(pid);
	return t_end();
}
