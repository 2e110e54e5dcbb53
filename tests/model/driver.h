// SPDX-License-Identifier: MIT
/*
 * driver.h: a driver (role D, root) that commands four helpers by pipes, one
 * call at a time, so that the order of calls is fixed: H1 and H2 are root, H3
 * is uid and gid 65534, H4 is uid 1000, gid 100 and of the group 65534 besides.
 * A helper's call may block; it is interrupted by signals, killed, woken by
 * others. What a call is, and how it is seen that one sleeps, the program knows
 * (struct driven).
 */
#ifndef DRIVER_H
#define DRIVER_H

#include "../option.h"
#include "choice.h"
#include "transcript.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_HELPERS 4
#define PIDS_MAX 65536
#define ANSWER_MS 10000 /* a healthy answer takes microseconds */

struct helper {
	pid_t pid;
	int to, from; /* pipes */
	int uid, gid;
	int blocked_on; /* id of the object; -1: idle */
};

/* What the program gives to the driver. */
struct driven {
	const char *name;
	size_t call_size, result_size; /* bytes that go through the pipes */
	/* in a helper */
	void (*run)(const void *call, void *ret_result);
	/* writes the answers of those who were woken, wherever they slept */
	void (*gather)(void);
	/* writes what D sees of every object, after an end */
	void (*look_at_all)(void);
};
static const struct driven driven;

static struct helper helpers[N_HELPERS] = {
	{.uid = 0, .gid = 0},
	{.uid = 0, .gid = 0},
	{.uid = 65534, .gid = 65534},
	{.uid = 1000, .gid = 100},
};
static struct {
	pid_t pid;
	int role;
} pids[PIDS_MAX];
static int n_pids;

static long n_calls = 200000, seed = 1, call_no;
static int digest;

static _Noreturn void die(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "%s: seed %ld, call %ld: %s: %s\n", driven.name, seed,
		call_no, what, errno ? strerror(errno) : "-");
	for (int i = 0; i < N_HELPERS; i++)
		if (helpers[i].pid > 0)
			kill(helpers[i].pid, SIGKILL);
	exit(2);
}

/* --- roles ---------------------------------------------------------- */

static void role_add(pid_t pid, int role)
{
	int i = n_pids++ % PIDS_MAX;

	pids[i].pid = pid;
	pids[i].role = role;
}

static const char *role_name(int pid)
{
	static const char *const names[] = {"D", "H1", "H2", "H3", "H4"};
	int first = n_pids > PIDS_MAX ? n_pids - PIDS_MAX : 0;

	if (!pid)
		return "0";
	for (int i = n_pids - 1; i >= first; i--)
		if (pids[i % PIDS_MAX].pid == pid)
			return names[pids[i % PIDS_MAX].role];
	return "other user";
}

static void who_say(int role)
{
	if (role)
		say("H%d ", role);
	else
		say("D ");
}

/* --- helpers -------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
}

static void privileges_drop(int uid, int gid)
{
	gid_t more = 65534;

	if (!uid)
		return;
	if (setgroups(uid == 1000, &more) || setresgid(gid, gid, gid) ||
		setresuid(uid, uid, uid))
		_exit(3);
}

static _Noreturn void helper_run(int from, int to)
{
	struct sigaction act = {.sa_handler = on_signal};
	void *call = malloc(driven.call_size);
	void *result = malloc(driven.result_size);

	if (!call || !result)
		_exit(3);
	sigaction(SIGUSR1, &act, NULL);
	act.sa_flags = SA_RESTART;
	sigaction(SIGUSR2, &act, NULL);
	while (read(from, call, driven.call_size) ==
		(ssize_t)driven.call_size) {
		driven.run(call, result);
		if (write(to, result, driven.result_size) !=
			(ssize_t)driven.result_size)
			break;
	}
	_exit(0);
}

static void helper_start(int i)
{
	struct helper *h = &helpers[i];
	pid_t driver = getpid();
	int there[2], back[2];

	if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
		die("pipe2");
	fflush(stdout);
	h->blocked_on = -1;
	h->pid = fork();
	if (h->pid < 0)
		die("fork");
	if (!h->pid) {
		/* in this order: a change of uid would clear the signal */
		privileges_drop(h->uid, h->gid);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != driver)
			_exit(0);
		close(there[1]);
		close(back[0]);
		for (int j = 0; j < N_HELPERS; j++)
			if (j != i && helpers[j].pid > 0) {
				close(helpers[j].to);
				close(helpers[j].from);
			}
		helper_run(there[0], back[1]);
	}
	close(there[0]);
	close(back[1]);
	h->to = there[1];
	h->from = back[0];
	role_add(h->pid, i + 1);
}

/* The helper is gone, with its undo done, when this returns. */
static void helper_end(int i, bool by_kill)
{
	struct helper *h = &helpers[i];

	if (by_kill)
		kill(h->pid, SIGKILL);
	close(h->to);
	close(h->from);
	if (waitpid(h->pid, NULL, 0) != h->pid)
		die("waitpid");
	h->pid = -1;
}

static bool helper_answered(const struct helper *h)
{
	struct pollfd p = {.fd = h->from, .events = POLLIN};

	return poll(&p, 1, 0) > 0;
}

static void helper_command(struct helper *h, const void *call)
{
	if (write(h->to, call, driven.call_size) != (ssize_t)driven.call_size)
		die("write");
}

static void helper_result(struct helper *h, void *ret_result)
{
	if (read(h->from, ret_result, driven.result_size) !=
		(ssize_t)driven.result_size)
		die("a helper ended");
}

/* --- waiting --------------------------------------------------------- */

static long long clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void pause_us(long us)
{
	struct timespec t = {0, us * 1000};

	nanosleep(&t, NULL);
}

/* Pauses; dies with `what` once clock_ms() is beyond end_ms. */
static void wait_on(long long end_ms, long us, const char *what)
{
	errno = 0;
	if (clock_ms() > end_ms)
		die(what);
	if (us)
		pause_us(us);
}

/* --- signals and ends ------------------------------------------------ */

/* A blocked helper, and what to send it; written down. -1: none is blocked. */
static int signal_pick(int *ret_sig)
{
	static const int signals[] = {
		SIGUSR1, SIGUSR1, SIGUSR2, SIGUSR2, SIGSTOP, SIGURG};
	int i = pick(N_HELPERS), sig;

	sig = PICK_OF(signals);
	if (helpers[i].blocked_on < 0)
		return -1;
	say("signal %s to H%d\n",
		sig == SIGUSR1	 ? "USR1"
		: sig == SIGUSR2 ? "USR2 (restart)"
		: sig == SIGSTOP ? "STOP and CONT"
				 : "URG (ignored)",
		i + 1);
	*ret_sig = sig;
	return i;
}

/* Who is stopped is continued. */
static void signal_send(const struct helper *h, int sig)
{
	kill(h->pid, sig);
	if (sig == SIGSTOP) {
		if (waitpid(h->pid, NULL, WUNTRACED) != h->pid)
			die("waitpid");
		kill(h->pid, SIGCONT);
	}
}

/* Until the call that a signal met has ended. */
static void signal_answered(const struct helper *h)
{
	long long end = clock_ms() + ANSWER_MS;

	while (!helper_answered(h))
		wait_on(end, 20, "a signal did not end the call");
}

/* Some helper exits, if it is idle, or is killed, and another takes its part.
 */
static void end_step(bool by_kill)
{
	int i = pick(N_HELPERS);

	if (helpers[i].blocked_on >= 0 && !by_kill)
		return;
	say("H%d %s\n", i + 1, by_kill ? "is killed" : "exits");
	helpers[i].blocked_on = -1;
	helper_end(i, by_kill);
	driven.gather();
	driven.look_at_all();
	helper_start(i);
}

/* --- the run ---------------------------------------------------------- */

static void helpers_start(void)
{
	signal(SIGPIPE, SIG_IGN);
	role_add(getpid(), 0);
	for (int i = 0; i < N_HELPERS; i++)
		helper_start(i);
}

static void helpers_end(void)
{
	for (int i = 0; i < N_HELPERS; i++)
		helper_end(i, true);
}

/* n_calls steps, each with its number; a hash of all at the end. */
static void steps_run(void (*step)(void))
{
	transcript.quiet = digest;
	for (call_no = 1; call_no <= n_calls; call_no++) {
		say("#%ld ", call_no);
		step();
		if (digest && call_no % 1000 == 0)
			printf("calls %ld hash %016llx\n", call_no,
				(unsigned long long)transcript.hash);
	}
	printf("end %016llx\n", (unsigned long long)transcript.hash);
}

#endif
