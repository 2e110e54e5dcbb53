// SPDX-License-Identifier: MIT
/*
 * mq_io: the errors of sending and receiving and their order, priorities,
 * sizes, bad pointers (doc/kernel-semantics.md §7.4-7.6, Q1).
 */
#include "mq.h"

static char buf[8192];

static void send_errors(void)
{
	struct timespec bad = {-1, 0}, bad2 = {0, 1000000000}, past = {1, 0};
	mqd_t q = q_open(NAME, O_WRONLY, 2, 16);

	t_story("mq_send: errors in order");
	t_err(mq_timedsend(-1, buf, 99, 99999, (void *)8), EFAULT);
	t_err(mq_timedsend(-1, buf, 99, 99999, &bad), EINVAL);
	t_err(mq_timedsend(q, buf, 1, 0, &bad), EINVAL);
	t_err(mq_timedsend(q, buf, 1, 0, &bad2), EINVAL);
	t_err(mq_send(-1, buf, 99, 32768), EINVAL);
	t_err(mq_send(-1, buf, 99, 1), EBADF);
	t_err(mq_send(0, buf, 99, 1), EBADF);
	t_err(mq_send(q, NULL, 17, 1), EMSGSIZE);
	t_err(mq_send(q, NULL, 16, 1), EFAULT);
	t_err(mq_send(q, t_kernel_half(), 16, 1), EFAULT);
	t_eq(mq_timedsend(q, buf, 16, 32767, &past), 0);
	t_eq(mq_send(q, NULL, 0, 0), 0);
	t_err(mq_timedsend(q, buf, 16, 0, &past), ETIMEDOUT);
	t_err(mq_timedsend(q, NULL, 16, 0, &past), EFAULT);
	t_eq(fcntl(q, F_SETFL, O_NONBLOCK), 0);
	t_err(mq_timedsend(q, buf, 16, 0, &past), EAGAIN);
	t_err(mq_timedsend(q, buf, 16, 0, &bad), EINVAL);
	t_err(mq_send(q, buf, 1, 0), EAGAIN);
	t_err(mq_receive(q, buf, 16, NULL), EBADF);
	t_eq(q_count(q), 2);
	q_done(q);
}

static void receive_errors(void)
{
	struct timespec bad = {-1, 0}, past = {1, 0};
	unsigned prio = 5;
	mqd_t q = q_open(NAME, RW, 4, 16);

	t_story("mq_receive: errors in order");
	t_err(mq_timedreceive(-1, buf, 1, NULL, (void *)8), EFAULT);
	t_err(mq_timedreceive(-1, buf, 1, NULL, &bad), EINVAL);
	t_err(mq_receive(-1, buf, 1, NULL), EBADF);
	t_err(mq_receive(0, buf, 1, NULL), EBADF);
	t_err(mq_receive(q, buf, 15, NULL), EMSGSIZE);
	t_err(mq_timedreceive(q, buf, 16, NULL, &past), ETIMEDOUT);
	t_err(mq_timedreceive(q, NULL, 16, NULL, &past), ETIMEDOUT);
	t_eq(q_put(q, "abc", 9), 0);
	t_err(mq_receive(q, buf, 15, NULL), EMSGSIZE);
	t_story("a bad pointer loses the message");
	t_err(mq_receive(q, NULL, 16, NULL), EFAULT);
	t_eq(q_count(q), 0);
	t_eq(q_put(q, "abc", 9), 0);
	t_err(mq_receive(q, buf, 16, (unsigned *)8), EFAULT);
	t_eq(q_count(q), 0);
	t_eq(q_put(q, "", 9), 0);
	t_eq(mq_receive(q, NULL, 16, &prio), 0);
	t_eq(prio, 9);
	t_eq(q_put(q, "abc", 9), 0);
	t_eq(mq_timedreceive(q, buf, SIZE_MAX, NULL, &past), 3);
	t_eq(fcntl(q, F_SETFL, O_NONBLOCK), 0);
	t_err(mq_timedreceive(q, buf, 16, NULL, &past), EAGAIN);
	t_err(mq_timedreceive(q, buf, 16, NULL, &bad), EINVAL);
	q_done(q);

	t_story("a buffer at the edge of memory, and one that is read-only");
	q = q_open(NAME, RW | NB, 4, 16);
	t_eq(q_put(q, "abcd", 0), 0);
	t_eq(mq_receive(q, t_cliff() - 4, 16, NULL), 4);
	t_eq(q_put(q, "abcde", 0), 0);
	t_err(mq_receive(q, t_cliff() - 4, 16, NULL), EFAULT);
	t_eq(q_put(q, "abcde", 0), 0);
	t_err(mq_receive(q, t_pages(1, PROT_READ), 16, NULL), EFAULT);
	t_eq(mq_send(q, t_cliff() - 16, 16, 0), 0);
	t_err(mq_send(q, t_cliff() - 15, 16, 0), EFAULT);
	q_done(q);
}

static void order(void)
{
	mqd_t q = q_open(NAME, RW | NB, 3, 16);

	t_story("Q1: the highest priority first, the oldest first within one");
	t_eq(q_put(q, "a1", 1), 0);
	t_eq(q_put(q, "b5", 5), 0);
	t_eq(q_put(q, "c5", 5), 0);
	t_err(q_put(q, "d9", 9), EAGAIN);
	q_say(q);
	q_say(q);
	q_say(q);
	q_say(q);
	q_done(q);
	t_story("all orders of a few priorities");
	q = q_open(NAME, RW | NB, 10, 16);
	for (int round = 0; round < 60; round++) {
		unsigned x = round * 2654435761u, last = 40000, prio;
		char text[16];
		int seq = 0, wrong = 0;

		for (int i = 0; i < 10; i++) {
			x = x * 1664525 + 1013904223;
			sprintf(text, "%d", i);
			q_put(q, text, (x >> 16) % (1 + round % 12) * 2730);
		}
		for (int i = 0; i < 10; i++) {
			ssize_t n = mq_receive(q, text, 16, &prio);

			text[n > 0 ? n : 0] = 0;
			if (prio > last || (prio == last && atoi(text) < seq))
				wrong++;
			last = prio;
			seq = atoi(text);
		}
		t_quiet(wrong == 0 && q_count(q) == 0);
	}
	q_done(q);
}

static void sizes(void)
{
	static const int len[] = {0, 1, 7, 8, 9, 63, 64, 65, 511, 512, 513,
		1000, 4096, 4097, 8191, 8192};
	static char in[8192], out[8192];
	mqd_t q = q_open(NAME, RW | NB, 4, 8192);

	t_story("messages of every size, large and small mixed");
	for (size_t i = 0; i < sizeof(len) / sizeof(len[0]); i++) {
		int other = len[(i * 7 + 3) % 16];

		for (int k = 0; k < 8192; k++)
			in[k] = (char)(k * 31 + i);
		t_eq(mq_send(q, in, len[i], 5), 0);
		t_eq(mq_send(q, in + 8192 - other, other, 5), 0);
		t_eq(mq_send(q, in, len[i], 6), 0);
		memset(out, 0, sizeof(out));
		t_eq(mq_receive(q, out, 8192, NULL), len[i]);
		t_true(!memcmp(in, out, len[i]));
		t_eq(mq_receive(q, out, 8192, NULL), len[i]);
		t_true(!memcmp(in, out, len[i]));
		t_eq(mq_receive(q, out, 8192, NULL), other);
		t_true(!memcmp(in + 8192 - other, out, other));
		t_true(other == 8192 || out[other] == 0 || len[i] > other);
	}
	q_done(q);
}

int main(void)
{
	t_begin();
	send_errors();
	receive_errors();
	order();
	sizes();
	return t_end();
}
