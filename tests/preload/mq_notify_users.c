// SPDX-License-Identifier: MIT
/*
 * mq_notify_users: a sender that may write the queue notifies the registrant
 * whoever that is: kill(2) would refuse, the kernel's notification does not ask
 * (doc/kernel-semantics.md §7.7). The signal is pending when mq_send returns.
 */
#include "mq_notify.h"
#include "raw.h"

#define OTHER (T_OTHER_UID - 1)
#define TEXT_MAX 32

static mqd_t q;
static int reg(mqd_t d, int signo, int value)
{
	return n_register(d, SIGEV_SIGNAL, signo, value);
}

/* A process of that user that sends to d, and may not kill `victim`. */
static pid_t other_sends(mqd_t d, uid_t uid, pid_t victim)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		t_become(uid, uid);
		if (kill(victim, 0) == 0 || errno != EPERM)
			_exit(97);
		_exit(q_put(d, "x", 0) ? errno : 0);
	}
	return pid;
}

static void check_last(int signo, pid_t pid, uid_t uid, int value)
{
	t_eq(last.si_signo, signo);
	t_eq(last.si_code, SI_MESGQ);
	t_eq(last.si_errno, 0);
	t_true(last.si_pid == pid);
	t_true(last.si_uid == uid);
	t_eq(last.si_value.sival_int, value);
}

static void handler_way(void)
{
	pid_t pid;

	t_story("root is told by another user");
	t_eq(reg(q, SIGUSR1, 4711), 0);
	pid = other_sends(q, T_OTHER_UID, getpid());
	t_eq(t_join(pid), 0);
	t_eq(n_signals, 1);
	check_last(SIGUSR1, pid, T_OTHER_UID, 4711);
	t_story("only once, and not while there are messages");
	pid = other_sends(q, OTHER, getpid());
	t_eq(t_join(pid), 0);
	t_eq(n_signals, 1);
	n_drain(q);
	t_story("again, a real-time signal");
	t_eq(reg(q, SIGRTMIN + 3, -5), 0);
	pid = other_sends(q, OTHER, getpid());
	t_eq(t_join(pid), 0);
	t_eq(n_signals, 2);
	check_last(SIGRTMIN + 3, pid, OTHER, -5);
	n_drain(q);
	t_story("taken back, nothing comes");
	t_eq(reg(q, SIGUSR1, 1), 0);
	t_eq(mq_notify(q, NULL), 0);
	t_eq(t_join(other_sends(q, OTHER, getpid())), 0);
	t_eq(n_signals, 2);
	n_drain(q);
}

static void waiting_ways(void)
{
	struct timespec none = {0, 0};
	siginfo_t info;
	sigset_t set;
	pid_t pid;

	t_story("blocked and waited for");
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	t_eq(reg(q, SIGUSR1, 7), 0);
	t_err(sigtimedwait(&set, &info, &none), EAGAIN);
	pid = other_sends(q, T_OTHER_UID, getpid());
	t_eq(sigwaitinfo(&set, &info), SIGUSR1);
	last = info;
	check_last(SIGUSR1, pid, T_OTHER_UID, 7);
	t_eq(t_join(pid), 0);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	n_drain(q);
	t_eq(n_signals, 2);
}

/* A child and its parent wait for each other, a byte each way. */
struct meeting {
	int ready[2], go[2];
};

static struct meeting meet(void)
{
	struct meeting m;

	if (pipe(m.ready) || pipe(m.go))
		_exit(98);
	return m;
}

static void part(const struct meeting *m)
{
	for (int i = 0; i < 2; i++) {
		close(m->ready[i]);
		close(m->go[i]);
	}
}

/* The child has come that far. */
static void await_child(const struct meeting *m)
{
	char c;

	t_eq(read(m->ready[0], &c, 1), 1);
}

/* The child says so, and goes on when the parent lets it. */
static void say_ready(const struct meeting *m)
{
	write(m->ready[1], "r", 1);
}

static void await_parent(const struct meeting *m)
{
	char c;

	say_ready(m);
	while (read(m->go[0], &c, 1) < 0)
		;
}

static void let_go(const struct meeting *m)
{
	write(m->go[1], "g", 1);
}

/* Both are other users, to root and to each other. */
static void between_other_users(void)
{
	struct meeting m = meet();
	pid_t pid, from;

	t_story("one other user is told by another");
	pid = t_fork();
	if (pid == 0) {
		sigset_t set;
		siginfo_t info;

		t_become(OTHER, OTHER);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		sigprocmask(SIG_BLOCK, &set, NULL);
		t_eq(reg(q, SIGUSR2, 99), 0);
		say_ready(&m);
		t_eq(sigwaitinfo(&set, &info), SIGUSR2);
		t_eq(info.si_code, SI_MESGQ);
		t_eq(info.si_uid, T_OTHER_UID);
		t_eq(info.si_value.sival_int, 99);
		_exit(t_failed);
	}
	await_child(&m);
	t_err(reg(q, SIGUSR1, 1), EBUSY);
	from = other_sends(q, T_OTHER_UID, pid);
	t_eq(t_join(pid), 0);
	t_eq(t_join(from), 0);
	n_drain(q);

	t_story("the default action ends a process");
	pid = t_fork();
	if (pid == 0) {
		signal(SIGUSR2, SIG_DFL);
		t_become(OTHER, OTHER);
		t_eq(reg(q, SIGUSR2, 99), 0);
		say_ready(&m);
		for (;;)
			pause();
	}
	await_child(&m);
	t_eq(t_join(other_sends(q, T_OTHER_UID, pid)), 0);
	t_eq(t_join(pid), 1000 + SIGUSR2);
	n_drain(q);
	part(&m);
}

static void becoming_another(void)
{
	struct meeting m = meet();
	pid_t pid;

	t_story("who becomes another user after it registered is told too");
	pid = t_fork();
	if (pid == 0) {
		n_signals = 0;
		t_eq(reg(q, SIGUSR1, 12), 0);
		t_become(OTHER, OTHER);
		await_parent(&m);
		t_eq(n_signals, 1);
		t_eq(last.si_uid, T_OTHER_UID);
		_exit(t_failed);
	}
	await_child(&m);
	t_eq(t_join(other_sends(q, T_OTHER_UID, pid)), 0);
	let_go(&m);
	t_eq(t_join(pid), 0);
	n_drain(q);
	part(&m);
}

static void two_queues(void)
{
	mqd_t r = q_open("/u", RW, 4, TEXT_MAX);
	pid_t a, b;

	t_story("two queues of one process");
	n_signals = 0;
	t_eq(reg(q, SIGUSR1, 1), 0);
	t_eq(reg(r, SIGUSR1, 2), 0);
	b = other_sends(r, OTHER, getpid());
	t_eq(t_join(b), 0);
	t_eq(n_signals, 1);
	check_last(SIGUSR1, b, OTHER, 2);
	a = other_sends(q, T_OTHER_UID, getpid());
	t_eq(t_join(a), 0);
	t_eq(n_signals, 2);
	check_last(SIGUSR1, a, T_OTHER_UID, 1);
	n_drain(q);
	t_eq(mq_close(r), 0);
	t_eq(mq_unlink("/u"), 0);
}

/* A child does not inherit it; the parent's end or exec takes it away. */
static void lives(const char *self)
{
	struct meeting m = meet();
	pid_t pid, child;

	t_story("fork: the child is not told");
	n_signals = 0;
	t_eq(reg(q, SIGUSR1, 3), 0);
	pid = t_fork();
	if (pid == 0) {
		await_parent(&m);
		_exit(n_signals);
	}
	await_child(&m);
	child = other_sends(q, OTHER, getpid());
	t_eq(t_join(child), 0);
	t_eq(n_signals, 1);
	let_go(&m);
	t_eq(t_join(pid), 0);
	n_drain(q);
	t_story("... but may register for itself");
	pid = t_fork();
	if (pid == 0) {
		n_signals = 0;
		t_eq(reg(q, SIGUSR1, 4), 0);
		t_eq(t_join(other_sends(q, OTHER, getpid())), 0);
		t_eq(n_signals, 1);
		n_drain(q);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	t_story("killed");
	pid = t_fork();
	if (pid == 0) {
		t_eq(reg(q, SIGUSR1, 4), 0);
		say_ready(&m);
		for (;;)
			pause();
	}
	await_child(&m);
	kill(pid, SIGKILL);
	t_eq(t_join(pid), 1000 + SIGKILL);
	t_eq(reg(q, SIGUSR1, 5), 0);
	t_eq(mq_notify(q, NULL), 0);
	t_story("exec with the descriptor kept: no signal, which would kill");
	pid = t_fork();
	if (pid == 0) {
		t_eq(fcntl(q, F_SETFD, 0), 0);
		t_eq(reg(q, SIGUSR1, 4), 0);
		dup2(m.ready[1], 40);
		dup2(m.go[0], 41);
		execl(self, self, "executed", (char *)NULL);
		_exit(90);
	}
	await_child(&m);
	t_err(reg(q, SIGUSR1, 5), EBUSY);
	t_eq(t_join(other_sends(q, OTHER, pid)), 0);
	t_eq(reg(q, SIGUSR1, 5), 0);
	t_eq(mq_notify(q, NULL), 0);
	let_go(&m);
	t_eq(t_join(pid), 0);
	n_drain(q);
	part(&m);
}

static int executed(void)
{
	char c;

	write(40, "r", 1);
	return read(41, &c, 1) == 1 ? 0 : 1;
}

/* A process of several threads may not. */
static void single_threaded(void)
{
	pid_t pid;

	t_story("a registrant may still leave its user namespace");
	if (no_user_namespaces()) {
		t_say("no user namespaces are made here");
		return;
	}
	pid = t_fork();
	if (pid == 0) {
		t_eq(reg(q, SIGUSR1, 4), 0);
		t_eq(unshare(CLONE_NEWUSER), 0);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	pid = t_fork();
	if (pid == 0) {
		t_eq(reg(q, SIGUSR1, 4), 0);
		t_eq(syscall(SYS_unshare, CLONE_NEWUSER), 0);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	t_eq(reg(q, SIGUSR1, 4), 0);
	t_eq(mq_notify(q, NULL), 0);
}

static void *end_by_number(void *arg)
{
	__atomic_store_n((long *)arg, syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return NULL;
}

/* The first thread of its process has ended, and /proc shows no descriptor of
 * it any more. */
static void *stays(void *arg)
{
	char line[256] = "";
	pid_t pid;
	FILE *f;

	(void)arg;
	do {
		f = fopen("/proc/self/stat", "r");
		if (!f || !fgets(line, sizeof(line), f))
			_exit(95);
		fclose(f);
	} while (!strstr(line, ") Z "));
	pid = t_fork();
	if (pid == 0) {
		t_err(reg(q, SIGUSR1, 5), EBUSY);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	t_eq(t_join(other_sends(q, OTHER, getpid())), 0);
	t_eq(n_signals, 1);
	n_drain(q);
	_exit(t_failed);
}

/* The last thread ends the process, also where libc does not see it. */
static void ending(void)
{
	long tid = 0, seen;
	pthread_t t;
	pid_t pid;

	t_story("a registrant ends with its last thread");
	pid = t_fork();
	if (pid == 0) {
		t_eq(reg(q, SIGUSR1, 4), 0);
		pthread_exit(NULL);
	}
	t_eq(t_join(pid), 0);
	pid = t_fork();
	if (pid == 0) {
		t_eq(reg(q, SIGUSR1, 4), 0);
		syscall(SYS_exit, 0);
	}
	t_eq(t_join(pid), 0);
	t_story("not with another one, who is told all the same");
	pid = t_fork();
	if (pid == 0) {
		n_signals = 0;
		t_eq(reg(q, SIGUSR1, 4), 0);
		pthread_create(&t, NULL, end_by_number, &tid);
		while (!(seen = __atomic_load_n(&tid, __ATOMIC_SEQ_CST)) ||
			!syscall(SYS_tgkill, getpid(), seen, 0))
			sched_yield();
		t_eq(t_join(other_sends(q, OTHER, getpid())), 0);
		t_eq(n_signals, 1);
		n_drain(q);
		_exit(t_failed);
	}
	t_eq(t_join(pid), 0);
	t_story("nor with its first one");
	pid = t_fork();
	if (pid == 0) {
		n_signals = 0;
		t_eq(reg(q, SIGUSR1, 4), 0);
		pthread_create(&t, NULL, stays, NULL);
		syscall(SYS_exit, 0);
	}
	t_eq(t_join(pid), 0);
}

int main(int argc, char **argv)
{
	t_begin();
	if (argc > 1)
		return executed();
	n_catch(SIGUSR1);
	n_catch(SIGRTMIN + 3);
	q = q_open(NAME, RW, 4, TEXT_MAX);
	handler_way();
	waiting_ways();
	between_other_users();
	becoming_another();
	two_queues();
	lives(argv[0]);
	single_threaded();
	ending();
	q_done(q);
	return t_end();
}
