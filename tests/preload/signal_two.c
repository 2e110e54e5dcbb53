// SPDX-License-Identifier: MIT
/*
 * Two signals in one call, the second when the first one's trampoline has done
 * its work and not yet returned: both handlers run, and neither signal stays
 * blocked.
 *
 * The bug: what is restored at the end of a section was the mask that the last
 * one had found, in which the first was blocked as its handler's. That thread
 * never got the first signal again.
 */
#include "stops.h"

#define FIRST SIGRTMIN
#define SECOND SIGUSR2
#define STEPS 5000 /* of a trampoline, some hundreds */

static int id;
static volatile sig_atomic_t n_first, n_second;

static void on_first(int sig)
{
	(void)sig;
	n_first++;
}

static void on_second(int sig)
{
	(void)sig;
	n_second++;
}

/* Exit status 0 if all is right behind the call. */
static void run(void)
{
	sigset_t now;
	int bad;

	t_catch(FIRST, on_first, 0);
	t_catch(SECOND, on_second, 0);
	semctl(id, 0, SETVAL, 1);
	stop_here();
	bad = semctl(id, 0, SETVAL, 2) != 0;
	sigprocmask(SIG_BLOCK, NULL, &now);
	bad |= sigismember(&now, FIRST) << 1 | sigismember(&now, SECOND) << 2;
	bad |= (n_first != 1) << 3 | (n_second != 1) << 4;
	_exit(bad);
}

/* The next thing it does is rt_sigreturn(2), by libc's restorer. */
static int at_restorer(pid_t pid)
{
	static const unsigned char begins[8] = {
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f};
	struct user_regs_struct regs;
	long text;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		return 0;
	text = ptrace(PTRACE_PEEKTEXT, pid, (void *)regs.rip, NULL);
	return !memcmp(&text, begins, sizeof(begins));
}

static int step(pid_t pid, int sig, int want)
{
	return !ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)sig) &&
	       stop_wait(pid, want);
}

/* Send one, and let it run to where that is about to be delivered: musl's
 * raise(3), in which it may stand, blocks all. */
static int send(pid_t pid, int sig)
{
	int i, status;

	if (kill(pid, sig))
		return 0;
	for (i = 0; i < STEPS; i++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) ||
			waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return 0;
		if (WSTOPSIG(status) == sig)
			return 1;
	}
	return 0;
}

/* The second comes at the end of what the first one's handler does. */
static int send_both(pid_t pid)
{
	int i;

	if (!send(pid, FIRST) || !step(pid, FIRST, SIGTRAP))
		return 0;
	for (i = 0; i < STEPS && !at_restorer(pid); i++)
		if (!step(pid, 0, SIGTRAP))
			return 0;
	return i < STEPS && send(pid, SECOND) &&
	       !ptrace(PTRACE_DETACH, pid, NULL, (void *)(long)SECOND);
}

int main(void)
{
	pid_t pid;

	t_begin();
	t_story("one signal at the end of another one's trampoline");
	id = t_set(1, VALS(0));
	pid = stop_child(run);
	t_true(stop_wait(pid, SIGSTOP));
	if (stop_shim())
		t_quiet(stop_at(pid, "lock_release", NULL, 1));
	t_true(send_both(pid));
	t_true(t_join(pid) == 0);
	t_rm(id);
	return t_end();
}
