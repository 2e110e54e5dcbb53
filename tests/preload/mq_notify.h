// SPDX-License-Identifier: MIT
/*
 * mq_notify.h - what the mq_notify programs share, on top of mq.h: a handler
 * that keeps what it was told, registering, and emptying a queue.
 */
#ifndef MQ_NOTIFY_H
#define MQ_NOTIFY_H

#include "mq.h"

static volatile sig_atomic_t n_signals;
static siginfo_t last;

static inline void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	last = *info;
	n_signals++;
}

/* on_signal() for sig from now on */
static inline void n_catch(int sig)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_signal;
	action.sa_flags = SA_SIGINFO;
	sigaction(sig, &action, NULL);
}

/* By mq_notify(3), the value an int. */
static inline int n_register(mqd_t q, int how, int signo, int value)
{
	struct sigevent ev;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = how;
	ev.sigev_signo = signo;
	ev.sigev_value.sival_int = value;
	return mq_notify(q, &ev);
}

/* Messages of 32 bytes at most. */
static inline void n_drain(mqd_t q)
{
	struct timespec past = {1, 0};
	char buf[32];

	while (mq_timedreceive(q, buf, sizeof(buf), NULL, &past) >= 0)
		;
}

#endif
