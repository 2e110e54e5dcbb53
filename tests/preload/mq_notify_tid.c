// SPDX-License-Identifier: MIT
/*
 * mq_notify_tid: a thread registers for a notification and ends, and a later
 * thread of the same process gets its number. The process is notified
 * nevertheless.
 *
 * The bug: the existence of a thread with that number was taken as a sign that
 * the process had called exec, and the notification was dropped.
 */
#include "mq_notify.h"
#include "pidns.h"

static mqd_t queue;
static volatile pid_t number;

static void *register_here(void *arg)
{
	(void)arg;
	t_quiet(!n_register(queue, SIGEV_SIGNAL, SIGUSR1, 1));
	number = syscall(SYS_gettid);
	return NULL;
}

static void registrant(int out)
{
	const struct timespec limit = {5, 0};
	struct p_thread p;
	sigset_t set;
	pthread_t t;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, register_here, NULL);
	pthread_join(t, NULL);
	t = p_thread(&p, number);
	t_quiet(write(out, "x", 1) == 1);
	t_quiet(sigtimedwait(&set, NULL, &limit) == SIGUSR1);
	p.stay = 0;
	pthread_join(t, NULL);
}

int main(void)
{
	int from[2];
	pid_t pid;
	char c;

	t_begin();
	if (!p_enter())
		return 0;
	if (pipe(from))
		return 1;
	queue = q_open(NAME, RW, 4, 32);
	pid = t_fork();
	if (!pid) {
		registrant(from[1]);
		_exit(t_failed);
	}
	t_eq(read(from[0], &c, 1), 1);
	t_err(n_register(queue, SIGEV_SIGNAL, SIGUSR2, 2), EBUSY);
	t_eq(q_put(queue, "hello", 1), 0);
	t_eq(t_join(pid), 0);
	n_drain(queue);
	q_done(queue);
	return t_end();
}
