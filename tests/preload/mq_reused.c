// SPDX-License-Identifier: MIT
/*
 * mq_reused: the number of a queue's descriptor that is another file by now.
 *
 * First it was closed by calls that the shim does not see (an inlined system
 * call, like io_uring's and libc's own): all later calls act on the new file.
 * Then a thread closes it by name and opens another file while calls on the
 * queue are under way, which is polled: not a byte of that file is read or
 * written, and no message is lost.
 */
#include "mq.h"
#include "raw.h"

#define BYTES "contents"

static char path[64];
static volatile int stop;

static int is_new(mqd_t q, int fd)
{
	if (fd < 0)
		return 0;
	if (fd != q) {
		raw(SYS_dup2, fd, q, 0, 0);
		raw(SYS_close, fd, 0, 0, 0);
	}
	return 1;
}

static void as_a_file(mqd_t q)
{
	struct stat st;
	char buf[64] = "";
	struct pollfd p = {q, POLLIN, 0};

	t_eq(lseek(q, 0, SEEK_CUR), 0);
	t_eq(read(q, buf, sizeof(buf)), 8);
	t_true(!memcmp(buf, BYTES, 8));
	t_eq(pread(q, buf, 4, 4), 4);
	t_true(!memcmp(buf, "ents", 4));
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_size, 8);
	t_eq(fcntl(q, F_GETFL) & O_ACCMODE, O_RDWR);
	t_eq(write(q, "more", 4), 4);
	t_eq(lseek(q, 0, SEEK_END), 12);
	t_eq(ftruncate(q, 8), 0);
	t_eq(fstat(q, &st), 0);
	t_eq(st.st_size, 8);
	t_eq(poll(&p, 1, 0), 1);
	t_eq(p.revents, POLLIN);
}

static void closed_unseen(void)
{
	char buf[64];
	mqd_t q;
	int fds[2];

	t_story("a file in its place");
	q = q_open(NAME, RW, 2, 32);
	raw(SYS_close, q, 0, 0, 0);
	t_true(is_new(q, (int)raw(SYS_open, (long)path, O_RDWR, 0, 0)));
	as_a_file(q);
	t_err(mq_send(q, "x", 1, 0), EBADF);
	t_err(mq_receive(q, buf, sizeof(buf), NULL), EBADF);
	t_err(mq_getattr(q, &(struct mq_attr){0}), EBADF);
	t_eq(close(q), 0);
	mq_unlink(NAME);
	t_story("a pipe in its place");
	q = q_open(NAME, RW, 2, 32);
	raw(SYS_close, q, 0, 0, 0);
	t_eq(raw(SYS_pipe, (long)fds, 0, 0, 0), 0);
	t_true(is_new(q, fds[0]));
	t_eq(write(fds[1], BYTES, 8), 8);
	t_eq(read(q, buf, sizeof(buf)), 8);
	t_true(!memcmp(buf, BYTES, 8));
	close(q);
	close(fds[1]);
	mq_unlink(NAME);
	t_story("closed at once, the queue registered by another number");
	q = q_open(NAME, RW, 2, 32);
	fds[0] = dup(q);
	raw(SYS_close, q, 0, 0, 0);
	t_true(is_new(q, (int)raw(SYS_open, (long)path, O_RDWR, 0, 0)));
	t_eq(mq_notify(fds[0], &(struct sigevent){.sigev_notify = SIGEV_NONE}),
		0);
	t_eq(close(q), 0);
	t_err(fcntl(q, F_GETFD), EBADF);
	t_err(mq_notify(fds[0], &(struct sigevent){.sigev_notify = SIGEV_NONE}),
		EBUSY);
	t_eq(close(fds[0]), 0);
	mq_unlink(NAME);
	t_story("a queue again");
	q = q_open(NAME, RW, 2, 32);
	t_eq(q_put(q, "x", 0), 0);
	q_say(q);
	q_done(q);
}

/* ---- closed by name, in another thread ---- */

static mqd_t shared;

static void *sends(void *arg)
{
	(void)arg;
	while (!stop) {
		mq_send(shared, "x", 1, 0);
		mq_receive(shared, (char[32]){0}, 32, NULL);
	}
	return NULL;
}

static void closed_meanwhile(void)
{
	struct pollfd p = {.events = POLLIN | POLLOUT};
	char buf[64];
	unsigned wrong = 0;
	pthread_t thread;
	int keep, n;
	mqd_t q;

	t_story("closed by name during calls");
	q = q_open(NAME, RW | NB, 2, 32);
	shared = p.fd = dup(q);
	poll(&p, 1, 0);
	pthread_create(&thread, NULL, sends, NULL);
	for (int i = 0; i < 3000; i++) {
		/* The file stands where the queue was, for a moment. */
		keep = open(path, O_RDWR);
		dup2(keep, shared);
		if (i % 2)
			sched_yield();
		if (lseek(keep, 0, SEEK_CUR))
			wrong++;
		dup2(q, shared);
		close(keep);
	}
	stop = 1;
	pthread_join(thread, NULL);
	keep = open(path, O_RDONLY);
	n = (int)read(keep, buf, sizeof(buf));
	t_eq(n, 8);
	t_true(!memcmp(buf, BYTES, 8));
	t_eq(wrong, 0);
	while (mq_receive(q, buf, sizeof(buf), NULL) > 0)
		;
	p.fd = q;
	t_eq(poll(&p, 1, 0), 1);
	t_eq(p.revents, POLLOUT);
	close(keep);
	close(shared);
	q_done(q);
}

int main(void)
{
	int fd;

	t_begin();
	/* High, so that it is in nobody's way. */
	fd = fcntl(memfd_create("file", 0), F_DUPFD, 100);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	write(fd, BYTES, 8);
	closed_unseen();
	closed_meanwhile();
	close(fd);
	return t_end();
}
