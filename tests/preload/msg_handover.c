// SPDX-License-Identifier: MIT
/*
 * msg_handover: receivers and senders that sleep, and what wakes them (vectors
 * M3, M4, M5).
 */
#include "msg.h"

static void vector_m3(void)
{
	int id = m_queue();
	pid_t a, b, c;

	t_story("M3: by place in the queue, those that match");
	a = m_receiver(id, 10, 0, 0, "one");
	b = m_receiver(id, 10, 5, 0, "two");
	c = m_receiver(id, 10, 0, 0, "three");
	t_eq(m_send(id, 5, "one", 0), 0);
	t_eq(m_send(id, 5, "two", 0), 0);
	t_eq(m_send(id, 6, "three", 0), 0);
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
	t_eq(t_join(c), 0);
	m_holds(id, 0, 0);
	t_true(m_stat(id).msg_lrpid == c && m_stat(id).msg_lspid == getpid());
	t_true(m_stat(id).msg_rtime != 0 && m_stat(id).msg_stime != 0);
	t_story("not for them: queued; < 0 takes what comes first");
	a = m_receiver(id, 10, -4, 0, "low");
	b = m_receiver(id, 10, 7, MSG_EXCEPT, "other");
	t_eq(m_send(id, 7, "queued", 0), 0);
	m_holds(id, 1, 6);
	t_eq(m_send(id, 4, "low", 0), 0);
	t_eq(m_send(id, 3, "other", 0), 0);
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
	m_holds(id, 1, 6);
	m_rm(id);
}

static void senders_that_do_not_fit(void)
{
	int id = m_queue();
	pid_t large, small;
	long before;

	t_story("who does not fit into what came free is not woken");
	t_eq(m_set(id, (int)getuid(), 0600, 10), 0);
	t_eq(m_send(id, 1, "eight on", 0), 0);
	t_eq(m_send(id, 2, "in", 0), 0);
	/* The first to sleep on a queue has no timer that could wake it. */
	large = m_sender(id, 3, "six on");
	small = m_sender(id, 4, "on");
	before = t_switches(large);
	m_takes(id, 10, 2, 0, "2:in");
	t_eq(t_join(small), 0);
	t_eq(t_switches(large), before);
	m_takes(id, 10, 1, 0, "1:eight on");
	t_eq(t_join(large), 0);
	m_rm(id);
}

static void vector_m4(void)
{
	int id = m_queue();
	pid_t a, b;

	t_story("M4: too small a buffer");
	a = m_receiver(id, 2, 0, 0, "");
	b = m_receiver(id, 10, 0, 0, "hello");
	t_eq(m_send(id, 1, "hello", 0), 0);
	t_eq(t_join(a), E2BIG);
	t_eq(t_join(b), 0);
	a = m_receiver(id, 2, 0, 0, "");
	b = m_receiver(id, 3, 0, 0, "");
	t_eq(m_send(id, 1, "hello", 0), 0);
	t_eq(t_join(a), E2BIG);
	t_eq(t_join(b), E2BIG);
	m_holds(id, 1, 5);
	m_takes(id, 10, 0, 0, "1:hello");
	a = m_receiver(id, 2, 0, MSG_NOERROR, "he");
	t_eq(m_send(id, 1, "hello", 0), 0);
	t_eq(t_join(a), 0);
	m_holds(id, 0, 0);
	m_rm(id);
}

static void vector_m5(void)
{
	int id = m_queue();
	pid_t a, b;

	t_story("M5: a small message passes a big one");
	t_eq(m_set(id, 0, 0600, 20), 0);
	t_eq(m_send(id, 1, "123456789012345", 0), 0);
	t_eq(m_send(id, 2, "12345", 0), 0);
	a = m_sender(id, 3, "1234567890");
	b = m_sender(id, 4, "12");
	m_takes(id, 20, 2, 0, "2:12345");
	t_eq(t_join(b), 0);
	m_asleep(a);
	m_holds(id, 2, 17);
	t_story("a full queue blocks even what a receiver waits for");
	b = m_receiver(id, 20, 9, 0, "nine-nine");
	t_err(m_send(id, 9, "nine-nine", IPC_NOWAIT), EAGAIN);
	t_story("more room by IPC_SET");
	t_eq(m_set(id, 0, 0600, 100), 0);
	t_eq(t_join(a), 0);
	m_asleep(b);
	t_eq(m_send(id, 9, "nine-nine", 0), 0);
	t_eq(t_join(b), 0);
	m_holds(id, 3, 27);
	m_rm(id);
}

static void long_ones(void)
{
	static char text[8193];
	int id = m_queue();
	pid_t a, b;

	t_story("long messages handed over");
	memset(text, 'x', 8192);
	memcpy(text, "begin", 5);
	memcpy(text + 8187, "end..", 5);
	a = m_receiver(id, 8192, 0, 0, text);
	b = m_receiver(id, 8192, 0, 0, text + 5000);
	t_eq(m_send(id, 1, text, 0), 0);
	t_eq(m_send(id, 1, text + 5000, 0), 0);
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
	t_eq(m_send(id, 1, text, 0), 0);
	t_eq(m_send(id, 1, text, 0), 0);
	a = m_sender(id, 2, text);
	b = m_sender(id, 3, text);
	t_true(m_recv(id, 8192, 0, 0) == 8192 &&
		!memcmp(m_buf.text, text, 8192));
	t_true(m_recv(id, 8192, 1, 0) == 8192);
	t_true(m_recv(id, 8192, 2, 0) == 8192 &&
		!memcmp(m_buf.text, text, 8192));
	t_true(m_recv(id, 8192, 3, 0) == 8192 &&
		!memcmp(m_buf.text, text, 8192));
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
	m_rm(id);
}

static void removal(void)
{
	int id = m_queue();
	pid_t a, b, c;

	t_story("removed, killed, lost the right");
	t_eq(m_set(id, 0, 0600, 10), 0);
	t_eq(m_send(id, 1, "0123456789", 0), 0);
	a = m_receiver(id, 10, 5, 0, "");
	b = m_sender(id, 1, "x");
	c = m_receiver(id, 10, 6, 0, "");
	kill(c, SIGKILL);
	t_eq(t_join(c), 1000 + SIGKILL);
	m_rm(id);
	t_eq(t_join(a), EIDRM);
	t_eq(t_join(b), EIDRM);
	t_err(m_send(id, 1, "x", 0), EINVAL);
	t_err(m_recv(id, 1, 0, 0), EINVAL);
	id = m_queue();
	t_eq(m_set(id, 0, 0606, 100), 0);
	a = t_fork();
	if (a == 0) {
		t_become(T_OTHER_UID, T_OTHER_UID);
		_exit(t_code((int)m_recv(id, 10, 0, 0)));
	}
	m_asleep(a);
	b = m_receiver(id, 10, 0, 0, "to b");
	t_eq(m_set(id, 0, 0600, 100), 0);
	t_eq(t_join(a), EACCES);
	m_asleep(b);
	t_eq(m_send(id, 1, "to b", 0), 0);
	t_eq(t_join(b), 0);
	m_rm(id);
}

static int thread_queue;
static volatile pid_t thread_tid;

static void *receive_in_thread(void *arg)
{
	(void)arg;
	thread_tid = (pid_t)syscall(SYS_gettid);
	return (void *)m_recv(thread_queue, 10, 0, 0);
}

static void thread_ids(void)
{
	int id = thread_queue = m_queue();
	pthread_t t;
	void *ret;

	t_story("lrpid of a hand-over is the thread's id");
	pthread_create(&t, NULL, receive_in_thread, NULL);
	while (!thread_tid)
		t_nap();
	m_asleep(thread_tid);
	t_eq(m_send(id, 1, "abc", 0), 0);
	pthread_join(t, &ret);
	t_true((long)ret == 3);
	t_true(m_stat(id).msg_lrpid == thread_tid);
	t_eq(m_send(id, 1, "abc", 0), 0);
	pthread_create(&t, NULL, receive_in_thread, NULL);
	pthread_join(t, &ret);
	t_true(m_stat(id).msg_lrpid == getpid());
	m_rm(id);
}

int main(void)
{
	t_begin();
	vector_m3();
	senders_that_do_not_fit();
	vector_m4();
	vector_m5();
	long_ones();
	removal();
	thread_ids();
	return m_end();
}
