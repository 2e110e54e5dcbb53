// SPDX-License-Identifier: MIT
/*
 * sem_signals: what signals do to a process asleep in semop.
 *
 * A handler that runs ends the sleep with EINTR, SA_RESTART or not; so does
 * stop and continue (under the shim once it sleeps: who is stopped between the
 * queue and the sleep sleeps on); a signal that is ignored or blocked does not.
 * A handler may leave by siglongjmp or call semop itself; either way the
 * sleeper is out of the queue before the handler's first instruction. What a
 * waker has given is kept, whatever signals come later. While it is stopped it
 * is in no queue (stopped_sleepers.c has the rest).
 */
#include "mq.h"
#include <sys/prctl.h>

static volatile sig_atomic_t handled, seen_count, seen_ret, seen_errno;
static int set;
static sigjmp_buf out;

static void count_it(int sig)
{
	(void)sig;
	handled++;
	seen_count = semctl(set, 0, GETNCNT) + semctl(set, 0, GETZCNT);
}

/* Children that sleep in semop or semtimedop after some preparation. */
static pid_t sleeper_with(void (*prepare)(int), int arg, short op)
{
	struct timespec hour = {3600, 7};
	pid_t pid = t_fork();

	if (pid == 0) {
		int err;

		prepare(arg);
		if (arg & 1)
			err = t_code(semop(set, OPS({0, op, 0})));
		else
			err = t_code(semtimedop(set, OPS({0, op, 0}), &hour));
		t_quiet(hour.tv_sec == 3600 && hour.tv_nsec == 7);
		t_quiet(seen_count == 0);
		_exit(t_failed ? 97 : err);
	}
	t_wait_blocked(set, 0, op ? GETNCNT : GETZCNT, 1);
	return pid;
}

static void catching(int arg)
{
	t_catch(SIGUSR1, count_it, arg & 2 ? SA_RESTART : 0);
}

static void on_other_stack(int arg)
{
	static char stack[65536];
	stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};

	sigaltstack(&alt, NULL);
	t_catch(SIGUSR1, count_it, SA_ONSTACK | (arg & 2 ? SA_RESTART : 0));
}

static void eintr(void)
{
	static const char *const names[] = {
		"semtimedop",
		"semop",
		"semtimedop, SA_RESTART",
		"semop, SA_RESTART",
	};
	int w;

	for (int arg = 0; arg < 4; arg++) {
		t_say("-- a handler: %s", names[arg]);
		w = sleeper_with(catching, arg, -1);
		kill(w, SIGUSR1);
		t_eq(t_join(w), EINTR);
		t_row(set, GETNCNT, "0");
		t_row(set, GETVAL, "0");
	}
	t_story("a handler on its own stack");
	w = sleeper_with(on_other_stack, 3, -1);
	kill(w, SIGUSR1);
	t_eq(t_join(w), EINTR);

	t_story("a wait for zero");
	t_eq(semctl(set, 0, SETVAL, 1), 0);
	w = sleeper_with(catching, 3, 0);
	kill(w, SIGUSR1);
	t_eq(t_join(w), EINTR);
	t_row(set, GETZCNT, "0");
	t_eq(semctl(set, 0, SETVAL, 0), 0);
}

static void ignoring(int arg)
{
	sigset_t usr2;

	(void)arg;
	signal(SIGUSR1, SIG_IGN);
	t_catch(SIGUSR2, count_it, 0);
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
}

static void ignored(void)
{
	int w;

	t_story("signals that are ignored, by choice or by default, or "
		"blocked");
	for (int arg = 0; arg < 2; arg++) {
		w = sleeper_with(ignoring, arg, -1);
		kill(w, SIGUSR1);
		kill(w, SIGWINCH);
		kill(w, SIGCHLD);
		kill(w, SIGUSR2);
		kill(w, SIGCONT);
		t_nap();
		t_row(set, GETNCNT, "1");
		t_eq(semop(set, OPS({0, 1, 0})), 0);
		t_eq(t_join(w), 0);
		t_row(set, GETVAL, "0");
	}
}

static void doing_nothing(int arg)
{
	(void)arg;
}

static void stop_and_continue(void)
{
	int w, status;

	t_story("stop and continue");
	for (int arg = 0; arg < 2; arg++) {
		w = sleeper_with(doing_nothing, arg, -1);
		t_asleep(w);
		kill(w, SIGSTOP);
		waitpid(w, &status, WUNTRACED);
		t_true(WIFSTOPPED(status));
		kill(w, SIGCONT);
		t_eq(t_join(w), EINTR);
		t_row(set, GETNCNT, "0");
	}
}

static volatile struct {
	int go, going, passes;
} * busy;

/* While busy->go; not beyond its parent. */
static void operate(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		busy->going = busy->go;
		if (!busy->going) {
			t_nap();
			continue;
		}
		t_quiet(!semop(set, OPS({0, 1, 0})) &&
			!semop(set, OPS({0, -1, 0})));
		busy->passes++;
	}
}

/* Its exit status, or that of a killed one if it does not end within a second. */
static int ends_with(pid_t pid)
{
	time_t began = t_now();
	siginfo_t info;

	do {
		info.si_pid = 0;
		waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid)
			return t_join(pid);
		t_nap();
	} while (t_now() - began < 2);
	kill(pid, SIGKILL);
	return t_join(pid);
}

/*
 * Under the shim each operation of another process has its name in the
 * sleeper's word for a moment, and again soon after.
 */
static void stop_beside_operations(void)
{
	int status, wrong = 0, was;
	pid_t pid;

	t_story("stop and continue beside operations, 40 times");
	busy = t_shared(4096);
	pid = t_fork();
	if (!pid)
		operate();
	for (int i = 0; i < 40; i++) {
		pid_t w = sleeper_with(doing_nothing, i, -5);

		t_asleep(w);
		was = busy->passes;
		busy->go = 1;
		while (busy->passes == was)
			t_nap();
		kill(w, SIGSTOP);
		wrong += waitpid(w, &status, WUNTRACED) != w ||
			 !WIFSTOPPED(status);
		kill(w, SIGCONT);
		wrong += ends_with(w) != EINTR;
		busy->go = 0;
		while (busy->going)
			t_nap();
	}
	t_eq(wrong, 0);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	munmap((void *)busy, 4096);
	t_eq(semctl(set, 0, SETVAL, 0), 0);
}

static void while_stopped(void)
{
	int w, status;

	t_story("a stopped process is not queued, and is given nothing");
	w = sleeper_with(doing_nothing, 1, -1);
	t_asleep(w);
	kill(w, SIGSTOP);
	waitpid(w, &status, WUNTRACED);
	t_row(set, GETNCNT, "0");
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_row(set, GETVAL, "1");
	kill(w, SIGCONT);
	t_eq(t_join(w), EINTR);
	t_eq(semop(set, OPS({0, -1, NW})), 0);
}

/* The shim holds an answer "asleep" for a few microseconds (wait_stopped). */
static void stopped_after_a_count(void)
{
	int status, wrong = 0;

	t_story("stopped at once behind a count that found it asleep, 100 "
		"times");
	for (int i = 0; i < 100; i++) {
		pid_t w = sleeper_with(doing_nothing, 1, -1);

		t_asleep(w);
		for (int j = 0; j < 100; j++)
			wrong += semctl(set, 0, GETNCNT) != 1;
		kill(w, SIGSTOP);
		waitpid(w, &status, WUNTRACED);
		if (i & 1)
			wrong += semctl(set, 0, GETNCNT) != 0;
		wrong += semop(set, OPS({0, 1, 0})) != 0;
		wrong += semctl(set, 0, GETVAL) != 1;
		kill(w, SIGCONT);
		wrong += t_join(w) != EINTR;
		wrong += semop(set, OPS({0, -1, NW})) != 0;
	}
	t_eq(wrong, 0);
}

static void jump(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void jump_out(void)
{
	int w;

	t_story("a handler that leaves by siglongjmp leaves no sleeper");
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		w = t_fork();
		if (w == 0) {
			t_catch(SIGUSR1, jump, flags);
			if (sigsetjmp(out, 1) == 0) {
				semop(set, OPS({0, -1, U}));
				_exit(96);
			}
			/* tell, and live on until told */
			semop(set, OPS({1, 1, 0}));
			semop(set, OPS({2, -1, 0}));
			/* a second sleep, from within the same process */
			if (sigsetjmp(out, 1) == 0) {
				semop(set, OPS({0, -5, U}));
				_exit(95);
			}
			_exit(t_code(semop(set, OPS({0, -1, 0}))));
		}
		t_wait_blocked(set, 0, GETNCNT, 1);
		kill(w, SIGUSR1);
		t_eq(semop(set, OPS({1, -1, 0})), 0);
		t_wait_blocked(set, 2, GETNCNT, 1);
		t_row(set, GETNCNT, "0 0 1");
		t_eq(semop(set, OPS({0, 1, 0})), 0);
		t_row(set, GETVAL, "1 0 0");
		t_eq(semop(set, OPS({0, 2, 0})), 0);
		t_row(set, GETVAL, "3 0 0");
		t_eq(semop(set, OPS({2, 1, 0})), 0);
		t_wait_blocked(set, 0, GETNCNT, 1);
		kill(w, SIGUSR1);
		t_eq(t_join(w), 0);
		t_row(set, GETVAL, "2 0 0");
		t_row(set, GETNCNT, "0 0 0");
		t_eq(semop(set, OPS({0, -2, 0})), 0);
	}
}

static void post(int sig)
{
	(void)sig;
	seen_count = semctl(set, 0, GETNCNT);
	seen_ret = semop(set, OPS({0, 1, 0}));
	handled++;
}

static void take(int sig)
{
	struct timespec ms = {0, 1000000};

	(void)sig;
	seen_ret = semtimedop(set, OPS({0, -1, 0}), &ms);
	seen_errno = errno;
	seen_count = semctl(set, 0, GETNCNT);
	handled++;
}

static void post_in_handler(void)
{
	int w;

	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		t_story("a handler that posts what its own thread waits for");
		w = t_fork();
		if (w == 0) {
			t_catch(SIGUSR1, post, flags);
			t_err(semop(set, OPS({0, -1, 0})), EINTR);
			t_true(handled == 1 && seen_ret == 0);
			t_true(seen_count == 0);
			t_row(set, GETVAL, "1 0 0");
			t_pid_is(set, 0, getpid());
			t_eq(semop(set, OPS({0, -1, NW})), 0);
			_exit(t_failed);
		}
		t_quiet(t_poll(set, 0, GETNCNT, 1));
		kill(w, SIGUSR1);
		t_eq(t_join(w), 0);

		t_story("a handler that sleeps itself");
		w = t_fork();
		if (w == 0) {
			t_catch(SIGUSR1, take, flags);
			t_err(semop(set, OPS({0, -1, 0})), EINTR);
			t_true(handled == 1 && seen_ret == -1);
			t_true(seen_errno == EAGAIN && seen_count == 0);
			_exit(t_failed);
		}
		t_quiet(t_poll(set, 0, GETNCNT, 1));
		kill(w, SIGUSR1);
		t_eq(t_join(w), 0);
		t_row(set, GETVAL, "0 0 0");
		t_row(set, GETNCNT, "0 0 0");
	}
}

/* What was given before the signal is kept; else nothing was given. */
static void race(void)
{
	int w, wrong = 0;

	t_story("given first, then a signal: success, 50 times");
	for (int i = 0; i < 50; i++) {
		w = t_fork();
		if (w == 0) {
			catching(0);
			_exit(t_code(semop(set, OPS({0, -1, 0}))));
		}
		wrong += !t_poll(set, 0, GETNCNT, 1);
		semop(set, OPS({0, 1, 0}));
		kill(w, SIGUSR1);
		wrong += t_join(w) != 0;
		wrong += semctl(set, 0, GETVAL) != 0;
	}
	t_true(wrong == 0);

	t_story("a signal, then +1: either, but never both, 50 times");
	for (int i = 0; i < 50; i++) {
		int code;

		w = t_fork();
		if (w == 0) {
			catching(2);
			_exit(t_code(semop(set, OPS({0, -1, 0}))));
		}
		wrong += !t_poll(set, 0, GETNCNT, 1);
		kill(w, SIGUSR1);
		semop(set, OPS({0, 1, 0}));
		code = t_join(w);
		wrong += code != 0 && code != EINTR;
		wrong += semctl(set, 0, GETVAL) != (code == EINTR);
		semctl(set, 0, SETVAL, 0);
	}
	t_true(wrong == 0);
}

static void only_count(int sig)
{
	(void)sig;
	handled++;
}

static void alarms(void)
{
	struct itimerval tick = {{0, 5000}, {0, 5000}};
	struct itimerval none = {{0, 0}, {0, 0}};
	int w;

	t_story("a timeout by timer signal, with and without SA_RESTART");
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		w = t_fork();
		if (w == 0) {
			t_catch(SIGALRM, only_count, flags);
			/* repeating: the first may come before we sleep */
			setitimer(ITIMER_REAL, &tick, NULL);
			t_err(semop(set, OPS({0, -1, 0})), EINTR);
			t_err(semop(set, OPS({0, 1, 0}, {0, -2, 0})), EINTR);
			setitimer(ITIMER_REAL, &none, NULL);
			t_true(handled >= 2);
			_exit(t_failed);
		}
		t_eq(t_join(w), 0);
		t_row(set, GETNCNT, "0 0 0");
	}
}

static void timeouts(void)
{
	struct timespec ms = {0, 20000000}, t0, t1;
	struct timespec big = {LONG_MAX, 999999999};
	long long ns;
	int w;

	t_story("semtimedop sleeps as long as it was told to");
	clock_gettime(CLOCK_MONOTONIC, &t0);
	t_err(semtimedop(set, OPS({0, -1, 0}), &ms), EAGAIN);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	ns = (t1.tv_sec - t0.tv_sec) * 1000000000ll + t1.tv_nsec - t0.tv_nsec;
	t_true(ns >= 20000000);
	t_true(ms.tv_sec == 0 && ms.tv_nsec == 20000000);
	t_true(t_stat(set).sem_ctime != 0);
	t_row(set, GETNCNT, "0 0 0");

	t_story("a very long timeout is no timeout");
	w = t_fork();
	if (w == 0)
		_exit(t_code(semtimedop(set, OPS({0, -1, 0}), &big)));
	t_wait_blocked(set, 0, GETNCNT, 1);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	t_eq(t_join(w), 0);
	t_true(big.tv_sec == LONG_MAX);

	t_story("being looked at again does not restart the timeout");
	w = t_fork();
	if (w == 0)
		_exit(t_code(semtimedop(set, OPS({0, -3, 0}), &ms)));
	while (waitpid(w, NULL, WNOHANG) == 0) {
		semop(set, OPS({0, 1, 0}));
		semop(set, OPS({0, -1, 0}));
	}
	t_row(set, GETVAL, "0 0 0");
}

/* A signal sent before a call that need not sleep. */
static void raised_before(void)
{
	t_story("a call that need not sleep is not interrupted");
	handled = 0;
	t_catch(SIGUSR1, only_count, 0);
	raise(SIGUSR1);
	t_eq(semop(set, OPS({0, 1, 0})), 0);
	raise(SIGUSR1);
	t_eq(semop(set, OPS({0, -1, 0})), 0);
	t_true(handled == 2);
	signal(SIGUSR1, SIG_DFL);
}

int main(void)
{
	t_begin();
	set = t_set(3, NULL);
	eintr();
	ignored();
	stop_and_continue();
	stop_beside_operations();
	while_stopped();
	stopped_after_a_count();
	jump_out();
	post_in_handler();
	race();
	alarms();
	timeouts();
	raised_before();
	t_rm(set);
	return t_end();
}
