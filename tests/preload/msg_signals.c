// SPDX-License-Identifier: MIT
/*
 * msg_signals: what signals do to a process asleep in msgrcv or msgsnd.
 *
 * A handler that runs ends the sleep with EINTR, SA_RESTART or not; a signal
 * that is ignored or blocked does not, and stop and continue begin the call
 * anew. A handler may leave by siglongjmp, or use the very queue: the sleeper
 * is out of it before the handler's first instruction.
 */
#include "msg.h"

static volatile sig_atomic_t handled;
static int queue;
static sigjmp_buf out;

static void count_it(int sig)
{
	(void)sig;
	handled++;
}

static void leave(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

/* What is sent to nobody is received here. */
static void use_queue(int sig)
{
	struct m_buf b;

	(void)sig;
	b.type = 3;
	memset(b.text, 'h', 3000);
	t_quiet(msgsnd(queue, &b, 3000, IPC_NOWAIT) == 0);
	t_quiet(msgrcv(queue, &b, 8192, 3, IPC_NOWAIT) == 3000);
	t_quiet(b.text[2999] == 'h');
	handled++;
}

/* A child that sleeps with a handler set; sending: 10 bytes that do not fit. */
static pid_t sleeper(void (*handler)(int), int flags, int sending)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		int err;

		handled = 0;
		if (handler)
			t_catch(SIGUSR1, handler, flags);
		if (sigsetjmp(out, 1))
			_exit(55);
		if (sending)
			err = t_code(m_send(queue, 2, "0123456789", 0));
		else
			err = t_code((int)m_recv(queue, 8192, 7, 0));
		_exit(t_failed ? 97 : err ? err : handled ? 96 : 0);
	}
	m_asleep(pid);
	return pid;
}

static void interrupts(int sending)
{
	pid_t pid;

	t_story(sending ? "a sender" : "a receiver");
	pid = sleeper(count_it, 0, sending);
	kill(pid, SIGUSR1);
	t_eq(t_join(pid), EINTR);
	pid = sleeper(count_it, SA_RESTART, sending);
	kill(pid, SIGUSR1);
	t_eq(t_join(pid), EINTR);
	pid = sleeper(leave, 0, sending);
	kill(pid, SIGUSR1);
	t_eq(t_join(pid), 55);
	pid = sleeper(SIG_IGN, 0, sending);
	kill(pid, SIGUSR1);
	kill(pid, SIGURG);
	m_asleep(pid);
	kill(pid, SIGSTOP);
	t_true(waitpid(pid, NULL, WUNTRACED) == pid);
	kill(pid, SIGCONT);
	m_asleep(pid);
	if (sending)
		t_quiet(m_recv(queue, 100, 1, 0) == 15);
	else
		t_quiet(m_send(queue, 7, "late", 0) == 0);
	t_eq(t_join(pid), 0);
}

static void stopped_is_last(void)
{
	pid_t a, b;

	t_story("who was stopped waits behind the others");
	a = m_receiver(queue, 10, 0, 0, "second");
	b = m_receiver(queue, 10, 0, 0, "first");
	kill(a, SIGSTOP);
	t_true(waitpid(a, NULL, WUNTRACED) == a);
	kill(a, SIGCONT);
	m_asleep(a);
	t_eq(m_send(queue, 1, "first", 0), 0);
	t_eq(m_send(queue, 1, "second", 0), 0);
	t_eq(t_join(a), 0);
	t_eq(t_join(b), 0);
}

/* Signals at any moment of many calls; a handler that uses the queue too. */
static void storm(void)
{
	struct itimerval often = {{0, 300}, {0, 300}};
	struct m_buf b;
	int bad = 0;

	t_story("handlers in the midst of calls");
	t_catch(SIGALRM, use_queue, 0);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 60000 || handled < 50; i++) {
		size_t n = i % 5 ? (size_t)i % 100 : 2500;
		long got;

		b.type = 1;
		memset(b.text, i, n);
		bad += msgsnd(queue, &b, n, IPC_NOWAIT) != 0;
		memset(&b, 0, 200);
		got = msgrcv(queue, &b, 8192, 1, 0);
		bad += got != (long)n || (n && b.text[n - 1] != (char)i);
	}
	memset(&often, 0, sizeof(often));
	setitimer(ITIMER_REAL, &often, NULL);
	t_true(bad == 0);
	m_holds(queue, 0, 0);
	alarm(T_LIMIT);
	t_catch(SIGALRM, SIG_DFL, 0);
}

int main(void)
{
	t_begin();
	queue = m_queue();
	interrupts(0);
	stopped_is_last();
	storm();
	t_eq(m_set(queue, 0, 0600, 20), 0);
	t_eq(m_send(queue, 1, "0123456789abcde", 0), 0);
	interrupts(1);
	m_takes(queue, 100, 0, 0, "2:0123456789");
	m_holds(queue, 0, 0);
	m_rm(queue);
	return m_end();
}
