// SPDX-License-Identifier: MIT
/*
 * msg_cancel: msgsnd and msgrcv are cancellation points, and a thread that is
 * cancelled in one takes or sends nothing. syscall() is no cancellation point.
 */
#include "msg.h"

static int queue, n_cleanups;
static volatile pid_t tid;
static volatile int go;
static struct m_buf big;

static void cleanup(void *arg)
{
	(void)arg;
	n_cleanups++;
}

enum { RECEIVE, SEND, SEND_LONG, PENDING_RECEIVE, PENDING_SEND, DISABLED };

static void *run(void *arg)
{
	long what = (long)arg, ret = 0;
	struct m_buf b;
	int old;

	pthread_cleanup_push(cleanup, NULL);
	if (what == PENDING_RECEIVE || what == PENDING_SEND) {
		tid = (pid_t)syscall(SYS_gettid);
		while (!go)
			;
	}
	if (what == DISABLED)
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	tid = (pid_t)syscall(SYS_gettid);
	if (what == SEND || what == PENDING_SEND)
		ret = m_send(queue, 5, "x", 0);
	else if (what == SEND_LONG)
		ret = msgsnd(queue, &big, 8000, 0);
	else
		ret = msgrcv(
			queue, &b, sizeof(b.text), what == DISABLED ? 9 : 0, 0);
	if (what == DISABLED)
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	pthread_cleanup_pop(0);
	return (void *)ret;
}

static pthread_t start(long what)
{
	pthread_t t;

	tid = 0;
	go = 0;
	pthread_create(&t, NULL, run, (void *)what);
	while (!tid)
		t_nap();
	return t;
}

static int cancel_asleep(long what)
{
	pthread_t t = start(what);
	void *ret;

	m_asleep(tid);
	pthread_cancel(t);
	pthread_join(t, &ret);
	return ret == PTHREAD_CANCELED;
}

static int cancel_before(long what)
{
	pthread_t t = start(what);
	void *ret;

	pthread_cancel(t);
	go = 1;
	pthread_join(t, &ret);
	return ret == PTHREAD_CANCELED;
}

static void *receive_ever(void *arg)
{
	struct m_buf b;
	long n = 0;

	(void)arg;
	/* counted in memory that outlives the thread */
	for (;;) {
		if (msgrcv(queue, &b, sizeof(b.text), 0, 0) < 0)
			break;
		__atomic_add_fetch(&go, 1, __ATOMIC_SEQ_CST);
		n++;
	}
	return (void *)n;
}

/*
 * Send and cancel at once: what the receiver did not count must be in the
 * queue. On the kernel glibc may lose the message that arrives with the
 * cancellation, so the line is the same for both and only a shim is held to it.
 */
static void together(void)
{
	int sent = 0, lost = 0, shim = getenv("IPCLIFT_REGISTRY") != NULL;

	t_story("cancelled as the message comes");
	for (int i = 0; i < 300; i++) {
		pthread_t t;

		go = 0;
		pthread_create(&t, NULL, receive_ever, NULL);
		if (i % 3)
			for (volatile int spin = 0; spin < i * 100; spin++)
				;
		sent = m_send(queue, 1, i % 2 ? "abc" : big.text, 0) == 0;
		pthread_cancel(t);
		pthread_join(t, NULL);
		while (m_recv(queue, 8192, 0, IPC_NOWAIT) >= 0)
			go++;
		lost += sent - go;
	}
	t_true(!shim || lost == 0);
}

int main(void)
{
	pthread_t t;
	void *ret;

	t_begin();
	memset(big.text, 'L', 5000);
	big.type = 5;
	queue = m_queue();
	t_true(cancel_asleep(RECEIVE));
	t_true(n_cleanups == 1);
	t_true(cancel_before(PENDING_RECEIVE));
	t_eq(m_send(queue, 1, "still there", 0), 0);
	m_takes(queue, 20, 0, 0, "1:still there");
	t_eq(m_set(queue, 0, 0600, 5), 0);
	t_true(cancel_before(PENDING_SEND));
	t_eq(m_send(queue, 1, "full!", 0), 0);
	t_true(cancel_asleep(SEND));
	t_true(cancel_asleep(SEND_LONG));
	t_true(n_cleanups == 5);
	m_takes(queue, 20, 0, 0, "1:full!");
	m_holds(queue, 0, 0);
	t_eq(m_set(queue, 0, 0600, 16384), 0);
#ifdef __GLIBC__ /* musl's signal ends the call with EINTR */
	t_story("disabled: it goes on");
	t = start(DISABLED);
	m_asleep(tid);
	pthread_cancel(t);
	m_asleep(tid);
	t_eq(m_send(queue, 9, "abc", 0), 0);
	pthread_join(t, &ret);
	t_true(ret == (void *)3 || ret == PTHREAD_CANCELED);
	m_holds(queue, 0, 0);
#else
	(void)t, (void)ret;
#endif
	together();
	m_rm(queue);
	return m_end();
}
