// SPDX-License-Identifier: MIT
/*
 * mq_wait: sleeping senders and receivers: hand-over, order by nice and
 * arrival, timeouts, signals with and without SA_RESTART, cancellation,
 * changes under a sleeper (doc/kernel-semantics.md §1.9, §7.6, §11.3).
 */
#include "mq.h"

static mqd_t q;
static volatile sig_atomic_t handled;

/* A child that receives once and exits with the first letter, or says errno. */
static pid_t receiver(int niceness)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		char buf[8192];
		ssize_t n;

		if (niceness && nice(niceness) == -1 && errno)
			_exit(90);
		n = mq_receive(q, buf, sizeof(buf), NULL);
		_exit(n < 0 ? errno : n == 0 ? 0 : buf[0]);
	}
	t_asleep(pid);
	return pid;
}

static pid_t sender(const char *text, unsigned prio, int niceness)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		if (niceness && nice(niceness) == -1 && errno)
			_exit(90);
		_exit(q_put(q, text, prio) ? errno : 0);
	}
	t_asleep(pid);
	return pid;
}

static void hand_over(void)
{
	pid_t a, b, c;

	t_story("a message goes straight to the receiver that waits longest");
	q = q_open(NAME, RW, 3, 32);
	a = receiver(0);
	b = receiver(0);
	t_eq(q_put(q, "x", 1), 0);
	t_eq(t_join(a), 'x');
	t_eq(q_count(q), 0);
	t_eq(q_put(q, "y", 9), 0);
	t_eq(t_join(b), 'y');
	t_eq(q_count(q), 0);
	q_done(q);

	t_story("Q2: a receive lets the first sender in, whatever its "
		"priority");
	q = q_open(NAME, RW, 1, 32);
	t_eq(q_put(q, "first", 3), 0);
	a = sender("low", 1, 0);
	b = sender("high", 8, 0);
	q_say(q);
	t_eq(t_join(a), 0);
	t_eq(q_count(q), 1);
	q_say(q);
	t_eq(t_join(b), 0);
	q_say(q);
	t_eq(q_count(q), 0);
	q_done(q);

	t_story("large messages change hands too");
	q = q_open(NAME, RW, 1, 8192);
	a = receiver(0);
	{
		char big[8192];

		memset(big, 'B', sizeof(big));
		t_eq(mq_send(q, big, 8192, 0), 0);
		t_eq(t_join(a), 'B');
		memset(big, 'C', sizeof(big));
		t_eq(mq_send(q, big, 8000, 0), 0);
		memset(big, 'D', sizeof(big));
		a = t_fork();
		if (a == 0)
			_exit(mq_send(q, big, 7000, 2) ? errno : 0);
		t_asleep(a);
		q_say(q);
		t_eq(t_join(a), 0);
		q_say(q);
	}
	q_done(q);

	t_story("waiters in the order of nice, then of arrival");
	q = q_open(NAME, RW, 1, 32);
	a = receiver(5);
	b = receiver(0);
	c = receiver(0);
	q_put(q, "1", 0);
	t_eq(t_join(b), '1');
	q_put(q, "2", 0);
	t_eq(t_join(c), '2');
	b = receiver(3);
	q_put(q, "3", 0);
	t_eq(t_join(b), '3');
	q_put(q, "4", 0);
	t_eq(t_join(a), '4');
	q_put(q, "full", 0);
	a = sender("a", 9, 5);
	b = sender("b", 1, 0);
	q_say(q);
	t_eq(t_join(b), 0);
	q_say(q);
	t_eq(t_join(a), 0);
	q_say(q);
	q_done(q);
}

static void killed(void)
{
	pid_t a, b;

	t_story("a killed sleeper leaves its place");
	q = q_open(NAME, RW, 1, 32);
	a = receiver(0);
	b = receiver(0);
	kill(a, SIGKILL);
	t_eq(t_join(a), 1000 + SIGKILL);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(t_join(b), 'x');
	t_eq(q_put(q, "full", 0), 0);
	a = sender("a", 0, 0);
	b = sender("b", 0, 0);
	kill(a, SIGKILL);
	t_eq(t_join(a), 1000 + SIGKILL);
	q_say(q);
	t_eq(t_join(b), 0);
	q_say(q);
	t_eq(q_count(q), 0);
	q_done(q);
}

static void timeouts(void)
{
	struct timespec until, now;
	char buf[32];
	pid_t a;

	t_story("timeouts are moments");
	q = q_open(NAME, RW, 1, 32);
	until = t_in(30);
	t_err(mq_timedreceive(q, buf, 32, NULL, &until), ETIMEDOUT);
	clock_gettime(CLOCK_REALTIME, &now);
	t_true(now.tv_sec > until.tv_sec ||
		(now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
	t_err(mq_timedreceive(q, buf, 32, NULL, &until), ETIMEDOUT);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(mq_timedreceive(q, buf, 32, NULL, &until), 1);
	t_eq(q_put(q, "x", 0), 0);
	until = t_in(30);
	t_err(mq_timedsend(q, buf, 1, 0, &until), ETIMEDOUT);
	t_eq(q_count(q), 1);
	until = t_in(10000);
	a = t_fork();
	if (a == 0)
		_exit(mq_timedsend(q, "y", 1, 0, &until) ? errno : 0);
	t_asleep(a);
	q_say(q);
	t_eq(t_join(a), 0);
	q_say(q);
	until.tv_sec = LONG_MAX;
	a = t_fork();
	if (a == 0)
		_exit(mq_timedreceive(q, buf, 32, NULL, &until) == 1 ? 0
								     : errno);
	t_asleep(a);
	t_eq(q_put(q, "z", 0), 0);
	t_eq(t_join(a), 0);
	q_done(q);
}

static void count_it(int sig)
{
	(void)sig;
	handled++;
}

static void catch_with(void (*fn)(int), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = fn;
	action.sa_flags = flags;
	sigaction(SIGUSR1, &action, NULL);
}

static sigjmp_buf out;
static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void fill(int sig)
{
	(void)sig;
	handled += q_put(q, "by the handler", 3) == 0;
}

static void signals(void)
{
	char buf[32];
	pid_t a;
	int status;

	t_story("a handler without SA_RESTART");
	q = q_open(NAME, RW, 1, 32);
	a = t_fork();
	if (a == 0) {
		catch_with(count_it, 0);
		_exit(mq_receive(q, buf, 32, NULL) < 0 ? errno : 0);
	}
	t_asleep(a);
	kill(a, SIGUSR1);
	t_eq(t_join(a), EINTR);
	t_story("with SA_RESTART the call goes on");
	a = t_fork();
	if (a == 0) {
		catch_with(count_it, SA_RESTART);
		if (mq_receive(q, buf, 32, NULL) != 2)
			_exit(errno);
		_exit(handled == 2 ? 0 : 80 + handled);
	}
	t_asleep(a);
	kill(a, SIGUSR1);
	t_asleep(a);
	kill(a, SIGUSR1);
	t_asleep(a);
	t_eq(q_put(q, "go", 0), 0);
	t_eq(t_join(a), 0);
	t_story("and keeps its timeout, as often as it is interrupted");
	catch_with(count_it, SA_RESTART);
	a = t_fork();
	if (a == 0) {
		struct timespec until = t_in(60);

		_exit(mq_timedreceive(q, buf, 32, NULL, &until) < 0 ? errno
								    : 0);
	}
	/* A timeout that began anew each time would not end. */
	while (waitpid(a, &status, WNOHANG) == 0) {
		kill(a, SIGUSR1);
		t_nap();
	}
	t_true(WIFEXITED(status) && WEXITSTATUS(status) == ETIMEDOUT);
	signal(SIGUSR1, SIG_DFL);
	t_story("a sender");
	t_eq(q_put(q, "full", 0), 0);
	a = t_fork();
	if (a == 0) {
		catch_with(count_it, 0);
		_exit(q_put(q, "x", 0) ? errno : 0);
	}
	t_asleep(a);
	kill(a, SIGUSR1);
	t_eq(t_join(a), EINTR);
	a = t_fork();
	if (a == 0) {
		catch_with(count_it, SA_RESTART);
		_exit(q_put(q, "x", 0) ? errno : 0);
	}
	t_asleep(a);
	kill(a, SIGUSR1);
	t_asleep(a);
	q_say(q);
	t_eq(t_join(a), 0);
	q_say(q);
	t_story("stop and continue, and ignored signals");
	a = t_fork();
	if (a == 0) {
		signal(SIGUSR1, SIG_IGN);
		_exit(mq_receive(q, buf, 32, NULL) == 4 ? 0 : errno);
	}
	t_asleep(a);
	kill(a, SIGUSR1);
	kill(a, SIGSTOP);
	waitpid(a, &status, WUNTRACED);
	kill(a, SIGCONT);
	t_asleep(a);
	t_eq(q_put(q, "cont", 0), 0);
	t_eq(t_join(a), 0);
	t_story("a handler that leaves by siglongjmp leaves no sleeper");
	a = t_fork();
	if (a == 0) {
		catch_with(jump, SA_RESTART);
		if (sigsetjmp(out, 1) == 0) {
			mq_receive(q, buf, 32, NULL);
			_exit(91);
		}
		_exit(q_put(q, "left", 0) ? errno : 0);
	}
	t_asleep(a);
	kill(a, SIGUSR1);
	t_eq(t_join(a), 0);
	t_eq(q_count(q), 1);
	q_say(q);
	t_story("a handler that sends what its own thread waits for");
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		a = t_fork();
		if (a == 0) {
			ssize_t n;

			catch_with(fill, flags);
			n = mq_receive(q, buf, 32, NULL);
			if (flags)
				_exit(n == 14 && handled == 1 ? 0 : 81);
			_exit(n == -1 && errno == EINTR ? 0 : 82);
		}
		t_asleep(a);
		kill(a, SIGUSR1);
		t_eq(t_join(a), 0);
		t_eq(q_count(q), !flags);
		if (!flags)
			q_say(q);
	}
	t_story("given first, then a signal: success");
	for (int i = 0; i < 20; i++) {
		a = t_fork();
		if (a == 0) {
			catch_with(count_it, 0);
			_exit(mq_receive(q, buf, 32, NULL) == 4 ? 0 : errno);
		}
		t_asleep(a);
		q_put(q, "give", 0);
		kill(a, SIGUSR1);
		t_quiet(t_join(a) == 0 && q_count(q) == 0);
	}
	q_done(q);
}

static int taker(const char *want)
{
	char buf[32];
	int a = t_fork();

	if (a == 0) {
		ssize_t n = mq_receive(q, buf, 32, NULL);

		_exit(n < 0 ? errno : strncmp(buf, want, 32) != 0);
	}
	t_asleep(a);
	return a;
}

/* The kernel begins a call anew that it was stopped in: behind all others, and
 * on what has the descriptor's number by then. */
static void stopped_is_last(void)
{
	int a, b, status;

	t_story("who was stopped waits behind the others");
	q = q_open(NAME, RW, 2, 32);
	a = taker("second");
	b = taker("first");
	kill(a, SIGSTOP);
	t_true(waitpid(a, &status, WUNTRACED) == a);
	kill(a, SIGCONT);
	t_asleep(a);
	t_eq(q_put(q, "first", 0), 0);
	t_eq(q_put(q, "second", 0), 0);
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
	q_done(q);
}

static volatile int cleaned;
static volatile pid_t thread_tid;
static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *receive_thread(void *arg)
{
	char buf[32];

	(void)arg;
	pthread_cleanup_push(clean, NULL);
	thread_tid = (pid_t)syscall(SYS_gettid);
	mq_receive(q, buf, 32, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *send_thread(void *arg)
{
	(void)arg;
	pthread_cleanup_push(clean, NULL);
	thread_tid = (pid_t)syscall(SYS_gettid);
	q_put(q, "never", 0);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *pending_thread(void *arg)
{
	char buf[32];

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (!cleaned)
		t_nap();
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	mq_receive(q, buf, 32, NULL);
	return NULL;
}

static void cancel_one(void *(*fn)(void *))
{
	pthread_t thread;
	void *ret = NULL;
	int before = cleaned;

	thread_tid = 0;
	pthread_create(&thread, NULL, fn, NULL);
	while (!thread_tid)
		t_nap();
	t_asleep(thread_tid);
	pthread_cancel(thread);
	pthread_join(thread, &ret);
	t_true(ret == PTHREAD_CANCELED);
	t_eq(cleaned - before, 1);
}

static void cancellation(void)
{
	pthread_t thread;
	void *ret = NULL;

	t_story("cancelled in its sleep a thread takes and sends nothing");
	q = q_open(NAME, RW, 1, 32);
	cancel_one(receive_thread);
	t_eq(q_put(q, "kept", 0), 0);
	t_eq(q_count(q), 1);
	cancel_one(send_thread);
	q_say(q);
	t_eq(q_count(q), 0);
	t_story("a call is a cancellation point even if it need not sleep");
	t_eq(q_put(q, "kept", 0), 0);
	cleaned = 0;
	pthread_create(&thread, NULL, pending_thread, NULL);
	pthread_cancel(thread);
	cleaned = 1;
	pthread_join(thread, &ret);
	t_true(ret == PTHREAD_CANCELED);
	t_eq(q_count(q), 1);
	q_done(q);
}

static void *close_it(void *arg)
{
	t_asleep(*(pid_t *)arg);
	mq_close(q);
	return NULL;
}

static void under_a_sleeper(void)
{
	struct mq_attr attr = {.mq_flags = O_NONBLOCK};
	char buf[32];
	pthread_t thread;
	mqd_t other;
	pid_t a;

	t_story("O_NONBLOCK and unlink do not disturb a sleeper");
	q = q_open(NAME, RW, 1, 32);
	a = receiver(0);
	t_eq(mq_setattr(q, &attr, NULL), 0);
	t_eq(mq_unlink(NAME), 0);
	t_nap();
	t_eq(q_put(q, "s", 0), 0);
	t_eq(t_join(a), 's');
	mq_close(q);
	t_story("nor does a close by another thread");
	q = q_open(NAME, RW, 1, 32);
	other = mq_open(NAME, RW);
	a = t_fork();
	if (a == 0) {
		pid_t self = getpid();

		pthread_create(&thread, NULL, close_it, &self);
		_exit(mq_receive(q, buf, 32, NULL) == 1 ? 0 : errno);
	}
	t_asleep(a);
	t_nap();
	t_asleep(a);
	t_eq(q_put(other, "c", 0), 0);
	t_eq(t_join(a), 0);
	mq_close(other);
	q_done(q);
}

int main(void)
{
	t_begin();
	hand_over();
	killed();
	timeouts();
	signals();
	stopped_is_last();
	cancellation();
	under_a_sleeper();
	return t_end();
}
