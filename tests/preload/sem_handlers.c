// SPDX-License-Identifier: MIT
/*
 * sem_handlers: signal handlers of a program that uses semaphores are as they
 * are without: nested ones, one-shot ones, those that make every kind of call
 * while their own thread is inside one, those that jump out of it. And all else
 * that deals in signals, sigwait to signalfd, real-time order to SA_RESTART of
 * other calls, is untouched.
 */
#include "t.h"
#include <poll.h>
#include <sys/select.h>
#include <sys/signalfd.h>

static volatile sig_atomic_t handled, wrong, nested, last_value, any_order;
static volatile pid_t sender;
static int set, other_set;
static __thread sigjmp_buf out;

static void catch_info(
	int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = flags | SA_SIGINFO;
	sigaction(sig, &action, NULL);
}

static void tick(int sig, long us)
{
	struct itimerval it = {{0, us}, {0, us}};

	(void)sig;
	setitimer(ITIMER_REAL, &it, NULL);
}

/* ---- nested ---- */

static void inner(int sig)
{
	(void)sig;
	wrong += semop(set, OPS({1, 1, U})) != 0;
	nested++;
}

static void outer(int sig)
{
	(void)sig;
	wrong += semop(set, OPS({0, 1, U}, {2, 0, 0})) != 0;
	raise(SIGUSR2);
	wrong += nested != 1;
	wrong += semop(set, OPS({0, -1, U}, {1, -1, U})) != 0;
	handled++;
}

static void nesting(void)
{
	int w;

	t_story("a handler in a handler in a sleep");
	w = t_fork();
	if (w == 0) {
		t_catch(SIGUSR1, outer, SA_RESTART);
		t_catch(SIGUSR2, inner, SA_RESTART);
		t_err(semop(set, OPS({0, -5, 0})), EINTR);
		t_true(handled == 1 && nested == 1 && !wrong);
		t_row(set, GETVAL, "0 0 0");
		_exit(t_failed);
	}
	t_wait_blocked(set, 0, GETNCNT, 1);
	kill(w, SIGUSR1);
	t_eq(t_join(w), 0);
}

/* ---- every call, in the midst of every call ---- */

static void everything(int sig)
{
	struct semid_ds ds;
	unsigned short v[3];
	int err = errno, id;

	(void)sig;
	id = semget(IPC_PRIVATE, 2, 0600);
	wrong += id < 0;
	wrong += semop(id, OPS({0, 2, U}, {1, 1, 0})) != 0;
	wrong += semop(id, OPS({0, -1, U})) != 0;
	wrong += semctl(id, 0, GETVAL) != 1;
	wrong += semctl(id, 0, IPC_STAT, &ds) != 0 || ds.sem_nsems != 2;
	wrong += semctl(id, 1, SETVAL, 7) != 0;
	wrong += semctl(id, 0, IPC_RMID) != 0;
	wrong += semctl(set, 0, GETALL, v) != 0;
	wrong += semop(set, OPS({2, 1, U})) != 0;
	wrong += semop(set, OPS({2, -1, U})) != 0;
	handled++;
	errno = err;
}

static void in_the_midst(void)
{
	unsigned short v[3];
	int w, id;

	t_story("every call in a handler, every call outside, 1000 signals");
	w = t_fork();
	if (w == 0) {
		t_catch(SIGALRM, everything, SA_RESTART);
		tick(SIGALRM, 200);
		while (handled < 1000 && !wrong) {
			id = semget(IPC_PRIVATE, 3, 0600);
			wrong += semop(set, OPS({0, 1, U})) != 0;
			wrong += semop(set, OPS({0, -1, U}, {1, 1, 0})) != 0;
			wrong += semop(set, OPS({1, -1, 0})) != 0;
			wrong += semctl(set, 0, GETALL, v) != 0;
			wrong += semctl(id, 0, SETALL, v) != 0;
			wrong += semop(id, OPS({0, 0, U}, {1, 1, U})) != 0;
			wrong += semctl(id, 0, IPC_RMID) != 0;
		}
		tick(SIGALRM, 0);
		t_true(!wrong);
		_exit(t_failed);
	}
	t_eq(t_join(w), 0);
	t_row(set, GETVAL, "0 0 0");
	t_row(set, GETNCNT, "0 0 0");
}

static void remove_it(int sig)
{
	(void)sig;
	wrong += semctl(other_set, 0, IPC_RMID) != 0;
}

static void removed_by_own_handler(void)
{
	int w;

	t_story("a handler that removes what its thread waits for");
	other_set = t_set(1, NULL);
	w = t_fork();
	if (w == 0) {
		t_catch(SIGUSR1, remove_it, 0);
		t_err(semop(other_set, OPS({0, -1, U})), EINTR);
		t_err(semop(other_set, OPS({0, -1, U})), EINVAL);
		_exit(t_failed + wrong);
	}
	t_wait_blocked(other_set, 0, GETNCNT, 1);
	kill(w, SIGUSR1);
	t_eq(t_join(w), 0);
}

/* ---- order and content ---- */

static void in_order(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	wrong += info->si_signo != sig || info->si_code != SI_QUEUE ||
		 info->si_pid != sender;
	wrong += info->si_value.sival_int != last_value + 1 && !any_order;
	last_value = last_value + 1;
	wrong += semop(set, OPS({2, 1, 0}, {1, 0, 0})) != 0;
}

static long queue_to(pid_t pid, pid_t tid, int sig, int value)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_code = SI_QUEUE;
	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	if (tid)
		return syscall(SYS_rt_tgsigqueueinfo, pid, tid, sig, &info);
	return syscall(SYS_rt_sigqueueinfo, pid, sig, &info);
}

static void real_time(void)
{
	enum { SIGNALS = 3000 };
	int w;

	/*
	 * To a thread: every one arrives, whole. Known difference: one that
	 * comes while an earlier one is kept for the end of a section can
	 * overtake it, so their order is not looked at.
	 */
	for (int to_thread = 0; to_thread < 2; to_thread++) {
		t_story(to_thread ? "3000 real-time signals to a thread"
				  : "3000 real-time signals to a process");
		sender = getpid();
		any_order = to_thread;
		w = t_fork();
		if (w == 0) {
			catch_info(SIGRTMIN + 3, in_order, SA_RESTART);
			semop(set, OPS({0, 1, 0}));
			while (last_value < SIGNALS && !wrong) {
				wrong += semop(set, OPS({0, 1, U})) != 0;
				wrong += semop(set, OPS({0, -1, U})) != 0;
			}
			t_true(!wrong);
			_exit(t_failed);
		}
		t_eq(semop(set, OPS({0, -1, 0})), 0);
		for (int i = 1; i <= SIGNALS; i++) {
			/* a few at once, then let them be taken */
			while (queue_to(
				       w, to_thread ? w : 0, SIGRTMIN + 3, i) &&
				errno == EAGAIN)
				t_nap();
			if (i % 8 == 0)
				while (semctl(set, 2, GETVAL) < i - 8 &&
					kill(w, 0) == 0 && i < SIGNALS)
					sched_yield();
		}
		t_eq(t_join(w), 0);
		t_eq(semctl(set, 2, GETVAL), SIGNALS);
		t_eq(semctl(set, 2, SETVAL, 0), 0);
	}
}

static void once(int sig)
{
	struct sigaction now;

	sigaction(sig, NULL, &now);
	wrong += now.sa_handler != SIG_DFL;
	handled++;
}

static void one_shot(void)
{
	int w;

	t_story("a one-shot handler runs once, however it is met");
	w = t_fork();
	if (w == 0) {
		struct sigaction now;

		for (int i = 0; i < 300; i++) {
			t_catch(SIGALRM, once, SA_RESETHAND);
			setitimer(ITIMER_REAL,
				&(struct itimerval){{0, 0}, {0, 50 + i}}, NULL);
			while (handled == i) {
				wrong += semop(set, OPS({0, 1, U})) != 0;
				wrong += semop(set, OPS({0, -1, U})) != 0;
			}
			sigaction(SIGALRM, NULL, &now);
			wrong += now.sa_handler != SIG_DFL ||
				 ((unsigned)now.sa_flags &
					 (SA_RESETHAND | SA_SIGINFO)) !=
					 SA_RESETHAND;
		}
		t_true(handled == 300 && !wrong);
		alarm(0);
		kill(getpid(), SIGALRM);
		_exit(0);
	}
	t_eq(t_join(w), 1000 + SIGALRM);
}

/* ---- what has nothing to do with us ---- */

static void count_it(int sig)
{
	(void)sig;
	handled++;
}

static void other_calls(void)
{
	int fds[2], w;
	char c;

	t_story("read restarts with SA_RESTART, and not without");
	t_eq(pipe(fds), 0);
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		w = t_fork();
		if (w == 0) {
			semop(set, OPS({0, 1, 0}, {0, -1, 0}));
			t_catch(SIGUSR1, count_it, flags);
			if (flags)
				t_eq(read(fds[0], &c, 1), 1);
			else
				t_err(read(fds[0], &c, 1), EINTR);
			t_true(handled == 1);
			_exit(t_failed);
		}
		for (int i = 0; i < 30; i++)
			t_nap();
		kill(w, SIGUSR1);
		for (int i = 0; i < 30; i++)
			t_nap();
		if (flags)
			t_quiet(write(fds[1], "x", 1) == 1);
		t_eq(t_join(w), 0);
	}
	close(fds[0]);
	close(fds[1]);
}

static void waits(void)
{
	struct timespec second = {1, 0}, none = {0, 0};
	struct signalfd_siginfo from_fd;
	sigset_t usr, old;
	siginfo_t info;
	fd_set empty;
	int sig, fd;

	t_story("sigwait, sigtimedwait, signalfd, sigsuspend, pselect, ppoll");
	t_catch(SIGUSR1, count_it, 0);
	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr, &old);
	handled = 0;
	kill(getpid(), SIGUSR1);
	t_eq(semop(set, OPS({0, 1, U}, {0, -1, U})), 0);
	t_true(sigwait(&usr, &sig) == 0 && sig == SIGUSR1 && !handled);
	queue_to(getpid(), 0, SIGUSR1, 77);
	t_eq(sigtimedwait(&usr, &info, &second), SIGUSR1);
	t_true(info.si_value.sival_int == 77 && !handled);
	fd = signalfd(-1, &usr, SFD_CLOEXEC);
	kill(getpid(), SIGUSR1);
	t_eq(read(fd, &from_fd, sizeof(from_fd)), sizeof(from_fd));
	t_true(from_fd.ssi_signo == SIGUSR1 && !handled);
	close(fd);
	kill(getpid(), SIGUSR1);
	t_err(sigsuspend(&old), EINTR);
	t_true(handled == 1);
	kill(getpid(), SIGUSR1);
	FD_ZERO(&empty);
	t_err(pselect(0, &empty, NULL, NULL, &second, &old), EINTR);
	t_true(handled == 2);
	kill(getpid(), SIGUSR1);
	t_err(ppoll(NULL, 0, &second, &old), EINTR);
	t_true(handled == 3);
	t_err(sigtimedwait(&usr, &info, &none), EAGAIN);
	sigprocmask(SIG_SETMASK, &old, NULL);
	signal(SIGUSR1, SIG_DFL);
}

static void reap(int sig)
{
	int err = errno;

	(void)sig;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		handled++;
	errno = err;
}

static void children(void)
{
	int left = 60, again = 0;

	t_story("SIGCHLD and waitpid: 60 children, each posts and ends");
	handled = 0;
	t_catch(SIGCHLD, reap, SA_RESTART | SA_NOCLDSTOP);
	for (int i = 0; i < 60; i++)
		if (fork() == 0)
			_exit(semop(set, OPS({0, 1, 0})));
	while (left && again < 10000)
		if (semop(set, OPS({0, -1, 0})) == 0)
			left--;
		else if (errno == EINTR)
			again++;
		else
			break;
	t_eq(left, 0);
	while (handled < 60)
		t_nap();
	t_true(handled == 60);
	signal(SIGCHLD, SIG_DFL);
	t_row(set, GETVAL, "0 0 0");
}

/* ---- jumping out ---- */

static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void *jump_once(void *arg)
{
	/* Volatile: read after the jump's setter returned. */
	void *volatile op = arg;

	if (sigsetjmp(out, 1) == 0) {
		semop(set, op, 1);
		return op;
	}
	return NULL;
}

static void jumps(void)
{
	static struct sembuf op = {0, -1, SEM_UNDO};
	struct sembuf twenty[20];
	volatile int n = 0;
	int w;

	t_story("1000 alarms that jump out of semop");
	w = t_fork();
	if (w == 0) {
		for (int i = 0; i < 20; i++)
			twenty[i] = (struct sembuf){1, (short)-1, U};
		t_catch(SIGALRM, jump, 0);
		while (n < 1000) {
			if (sigsetjmp(out, 1) == 0) {
				setitimer(ITIMER_REAL,
					&(struct itimerval){
						{0, 5000}, {0, 150 + n % 50}},
					NULL);
				semop(set, twenty, n % 3 ? 1 : 20);
				_exit(96);
			}
			n = n + 1;
		}
		setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
		t_row(set, GETNCNT, "0 0 0");
		t_eq(semop(set, OPS({0, 1, U}, {1, 1, 0})), 0);
		t_eq(semop(set, OPS({0, -1, U}, {1, -1, 0})), 0);
		_exit(t_failed);
	}
	t_eq(t_join(w), 0);
	t_row(set, GETNCNT, "0 0 0");
	t_row(set, GETVAL, "0 0 0");

	t_story("200 threads that jump out of semop and end");
	w = t_fork();
	if (w == 0) {
		pthread_t t;
		void *ret;

		t_catch(SIGUSR1, jump, SA_RESTART);
		for (int i = 0; i < 200; i++) {
			t_quiet(!pthread_create(&t, NULL, jump_once, &op));
			t_quiet(t_poll(set, 0, GETNCNT, 1));
			pthread_kill(t, SIGUSR1);
			t_quiet(!pthread_join(t, &ret) && !ret);
		}
		_exit(t_failed);
	}
	t_eq(t_join(w), 0);
	t_row(set, GETNCNT, "0 0 0");
	t_row(set, GETVAL, "0 0 0");
}

int main(void)
{
	t_begin();
	set = t_set(3, NULL);
	nesting();
	in_the_midst();
	removed_by_own_handler();
	real_time();
	one_shot();
	other_calls();
	waits();
	children();
	jumps();
	t_rm(set);
	return t_end();
}
