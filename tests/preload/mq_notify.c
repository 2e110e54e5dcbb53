// SPDX-License-Identifier: MIT
/*
 * mq_notify: which process is notified, when, how, and what ends a registration
 * (doc/kernel-semantics.md §7.7, §9.2).
 */
#include "mq_notify.h"

static mqd_t q;
static void line(mqd_t d, pid_t pid)
{
	char buf[100], *at;
	ssize_t n = pread(d, buf, 0, 0);
	int shown = 0;

	n = read(mq_open(NAME, O_RDONLY), buf, 99);
	buf[n > 0 ? n : 0] = 0;
	at = strstr(buf, "NOTIFY_PID:");
	if (at) {
		shown = atoi(at + 11);
		*at = 0;
	}
	t_say("     %zd %s%s", n, buf,
		shown == 0     ? "nobody"
		: shown == pid ? "registrant"
			       : "other");
}

static int reg(int how, int signo, int value)
{
	return n_register(q, how, signo, value);
}

static void drain(void)
{
	n_drain(q);
}

static void errors(void)
{
	struct sigevent ev;

	t_story("errors");
	memset(&ev, 0, sizeof(ev));
	t_err(syscall(SYS_mq_notify, -1, (void *)8), EFAULT);
	ev.sigev_notify = 4;
	t_err(mq_notify(-1, &ev), EINVAL);
	ev.sigev_notify = 3;
	t_err(mq_notify(-1, &ev), EINVAL);
	ev.sigev_notify = SIGEV_SIGNAL;
	ev.sigev_signo = 65;
	t_err(mq_notify(-1, &ev), EINVAL);
	ev.sigev_signo = -1;
	t_err(mq_notify(-1, &ev), EINVAL);
	ev.sigev_signo = 10;
	t_err(mq_notify(-1, &ev), EBADF);
	t_err(mq_notify(0, &ev), EBADF);
	t_err(mq_notify(-1, NULL), EBADF);
	t_err(mq_notify(0, NULL), EBADF);
}

static void signal_way(void)
{
	pid_t pid;

	t_story("a signal when the queue was empty");
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 4711), 0);
	line(q, getpid());
	t_err(reg(SIGEV_NONE, 0, 0), EBUSY);
	pid = t_fork();
	if (pid == 0) {
		t_err(reg(SIGEV_NONE, 0, 0), EBUSY);
		t_eq(mq_notify(q, NULL), 0);
		line(q, getppid());
		t_eq(q_put(q, "one", 0), 0);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	t_eq(n_signals, 1);
	t_eq(last.si_signo, SIGUSR1);
	t_eq(last.si_code, SI_MESGQ);
	t_eq(last.si_errno, 0);
	t_true(last.si_pid == pid);
	t_true(last.si_uid == getuid());
	t_eq(last.si_value.sival_int, 4711);
	line(q, getpid());
	t_story("only once, and not while there are messages");
	t_eq(q_put(q, "two", 0), 0);
	t_eq(n_signals, 1);
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	t_eq(q_put(q, "three", 0), 0);
	t_eq(n_signals, 1);
	drain();
	t_eq(q_put(q, "four", 0), 0);
	t_eq(n_signals, 2);
	drain();
	t_story("signal 0, and none");
	t_eq(reg(SIGEV_SIGNAL, 0, 1), 0);
	line(q, getpid());
	t_eq(q_put(q, "five", 0), 0);
	line(q, getpid());
	drain();
	t_eq(reg(SIGEV_NONE, 12, 1), 0);
	line(q, getpid());
	t_eq(q_put(q, "six", 0), 0);
	line(q, getpid());
	drain();
	t_eq(n_signals, 2);
	t_story("taken back");
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	t_eq(mq_notify(q, NULL), 0);
	t_eq(mq_notify(q, NULL), 0);
	t_eq(q_put(q, "seven", 0), 0);
	t_eq(n_signals, 2);
	drain();
	t_story("the own send notifies too");
	t_eq(reg(SIGEV_SIGNAL, SIGRTMIN + 3, 99), 0);
	t_eq(q_put(q, "eight", 0), 0);
	t_eq(n_signals, 3);
	t_true(last.si_pid == getpid() && last.si_value.sival_int == 99);
	drain();
}

static void waiting_receiver(void)
{
	char buf[32];
	pid_t pid;

	t_story("a receiver that waits gets the message, nobody is told");
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	pid = t_fork();
	if (pid == 0)
		_exit(mq_receive(q, buf, 32, NULL) == 1 ? 0 : errno);
	t_asleep(pid);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(t_join(pid), 0);
	t_eq(n_signals, 3);
	line(q, getpid());
	t_story("Q2: nor when a receive lets a sender in");
	t_eq(mq_notify(q, NULL), 0);
	for (int i = 0; i < 4; i++)
		t_eq(q_put(q, "1", 0), 0);
	pid = t_fork();
	if (pid == 0)
		_exit(q_put(q, "2", 0) ? errno : 0);
	t_asleep(pid);
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	t_eq(mq_receive(q, buf, 32, NULL), 1);
	t_eq(t_join(pid), 0);
	t_eq(n_signals, 3);
	t_eq(q_count(q), 4);
	t_eq(mq_notify(q, NULL), 0);
	drain();
}

static void removal(void)
{
	mqd_t other, copy;
	pid_t pid;
	int pipes[2], ready[2];
	char c, byte;

	t_story("closing any descriptor of the queue takes it away");
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	copy = dup(q);
	t_eq(close(copy), 0);
	line(q, getpid());
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	other = mq_open(NAME, O_RDONLY);
	t_eq(mq_close(other), 0);
	line(q, getpid());
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	other = mq_open(NAME, O_RDONLY);
	t_eq(dup2(0, other), other);
	close(other);
	line(q, getpid());
	t_story("that of another process does not");
	t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
	pid = t_fork();
	if (pid == 0) {
		mq_close(q);
		_exit(0);
	}
	t_join(pid);
	line(q, getpid());
	t_eq(mq_notify(q, NULL), 0);
	t_story("exit and SIGKILL of the registrant");
	for (int i = 0; i < 2; i++) {
		pipe(pipes);
		pid = t_fork();
		if (pid == 0) {
			t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
			write(pipes[1], "x", 1);
			while (i)
				pause();
			_exit(0);
		}
		read(pipes[0], &c, 1);
		t_err(i ? reg(SIGEV_NONE, 0, 0) : (errno = EBUSY, -1), EBUSY);
		if (i)
			kill(pid, SIGKILL);
		t_join(pid);
		line(q, pid);
		t_eq(reg(SIGEV_NONE, 0, 0), 0);
		t_eq(mq_notify(q, NULL), 0);
		close(pipes[0]);
		close(pipes[1]);
	}
	t_story("exec closes the descriptor");
	pipe(pipes);
	pipe(ready);
	pid = t_fork();
	if (pid == 0) {
		t_eq(reg(SIGEV_SIGNAL, SIGUSR1, 1), 0);
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		dup2(pipes[1], 1);
		dup2(pipes[0], 0);
		execl("/bin/cat", "cat", (char *)NULL);
		_exit(1);
	}
	/* Not before the child has registered: we would be first. */
	t_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	for (int i = 0; i < 1000 && reg(SIGEV_NONE, 0, 0); i++)
		t_nap();
	line(q, getpid());
	t_eq(mq_notify(q, NULL), 0);
	kill(pid, SIGKILL);
	t_join(pid);
	close(pipes[0]);
	close(pipes[1]);
}

/* A program that executes itself twice; with `keep` the descriptor stays, with
 * 2 another one does not. */
static int executed(const char *self, int image, int keep)
{
	char arg[2][16];

	q = mq_open(NAME, RW);
	if (keep)
		fcntl(q, F_SETFD, 0);
	if (keep == 2)
		mq_open(NAME, RW);
	t_say("     image %d: %s", image,
		reg(SIGEV_SIGNAL, SIGUSR1, 1) ? t_errname(errno)
					      : "registered");
	if (image == 2)
		return t_failed;
	sprintf(arg[0], "%d", image + 1);
	sprintf(arg[1], "%d", keep);
	execl(self, self, arg[0], arg[1], (char *)NULL);
	return 90;
}

static void executing(const char *self)
{
	pid_t pid;

	static const char *const names[] = {
		"closed it", "kept it", "closed one of two"};

	for (int keep = 0; keep < 3; keep++) {
		t_say("-- registered again after exec, which %s", names[keep]);
		pid = t_fork();
		if (pid == 0) {
			/* exec closing any of them would end it. */
			for (int fd = 3; fd < 100; fd++)
				close(fd);
			_exit(executed(self, 0, keep));
		}
		t_eq(t_join(pid), 0);
		t_eq(reg(SIGEV_NONE, 0, 0), 0);
		t_eq(mq_notify(q, NULL), 0);
	}
}

static volatile int ran;
static volatile int right_value, unblocked, other_thread;
static pthread_t main_thread;

static void in_thread(union sigval v)
{
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	unblocked = !sigismember(&set, SIGUSR1) && !sigismember(&set, SIGTERM);
	other_thread = !pthread_equal(pthread_self(), main_thread);
	right_value = v.sival_int == 815;
	ran++;
}

static int wait_ran(int n)
{
	for (int i = 0; i < 5000 && ran < n; i++)
		t_nap();
	return ran;
}

static void thread_way(void)
{
	struct sigevent ev;
	pthread_attr_t attr;

	t_story("SIGEV_THREAD");
	main_thread = pthread_self();
	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_THREAD;
	ev.sigev_notify_function = in_thread;
	ev.sigev_value.sival_int = 815;
	t_err(mq_notify(-1, &ev), EBADF);
	t_eq(mq_notify(q, &ev), 0);
	line(q, getpid());
	t_err(mq_notify(q, &ev), EBUSY);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(wait_ran(1), 1);
	t_true(right_value && unblocked && other_thread);
	line(q, getpid());
	drain();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	ev.sigev_notify_attributes = &attr;
	t_eq(mq_notify(q, &ev), 0);
	pthread_attr_destroy(&attr);
	t_eq(q_put(q, "x", 0), 0);
	t_eq(wait_ran(2), 2);
	drain();
	t_story("taken back, it does not run");
	ev.sigev_notify_attributes = NULL;
	t_eq(mq_notify(q, &ev), 0);
	t_eq(mq_notify(q, NULL), 0);
	t_eq(mq_notify(q, &ev), 0);
	t_eq(close(dup(q)), 0);
	t_eq(q_put(q, "x", 0), 0);
	line(q, getpid());
	t_eq(ran, 2);
	drain();
}

/* The registration waits for the queue to be empty once. */
static void used_alone(void)
{
	mqd_t own = q_open("/notify_alone", RW, 4, 32);
	char buf[64];
	int good = 0;

	t_story("a queue that its registrant has had to itself for long");
	t_eq(q_put(own, "x", 0), 0);
	t_eq(n_register(own, SIGEV_NONE, 0, 0), 0);
	for (int i = 0; i < 3000; i++)
		good += !mq_send(own, "y", 1, 0) &&
			mq_receive(own, buf, sizeof(buf), NULL) == 1;
	t_eq(good, 3000);
	t_eq(mq_receive(own, buf, sizeof(buf), NULL), 1);
	t_eq(q_put(own, "z", 0), 0);
	t_eq(n_register(own, SIGEV_NONE, 0, 0), 0);
	t_eq(mq_close(own), 0);
	t_eq(mq_unlink("/notify_alone"), 0);
}

int main(int argc, char **argv)
{
	t_begin();
	if (argc > 2)
		return executed(argv[0], atoi(argv[1]), atoi(argv[2]));
	n_catch(SIGUSR1);
	n_catch(SIGRTMIN + 3);
	q = q_open(NAME, RW, 4, 32);
	errors();
	signal_way();
	waiting_receiver();
	removal();
	executing(argv[0]);
	thread_way();
	used_alone();
	q_done(q);
	return t_end();
}
