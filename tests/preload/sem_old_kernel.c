// SPDX-License-Identifier: MIT
/*
 * sem_old_kernel: sleepers where futex_waitv(2) is refused: by a kernel before
 * 5.16 (ENOSYS), or by a filter of system calls, which says ENOSYS or EPERM.
 * They sleep, which is seen in the processor time they take, and what ends
 * their sleep elsewhere ends it here: a holder's death, a time limit, a signal.
 */
#include "t.h"

#include "seccomp.h"
#include <mqueue.h>
#include <sys/resource.h>

#define NR_FUTEX_WAITV 449
/* A sleeper takes some thousands of us; half a second of spinning takes all of
 * it, on however busy a machine a good part. */
#define MOST_US 100000

static int set;

static long used_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000L +
	       u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static int code_of(int ret)
{
	int err = errno;

	if (used_us() > MOST_US)
		return 200;
	errno = err;
	return t_code(ret);
}

static void half_a_second(void)
{
	struct timespec t = {0, 500000000};

	nanosleep(&t, NULL);
}

static pid_t holder(void)
{
	pid_t pid = t_fork();

	if (pid == 0) {
		semop(set, OPS({0, -1, U}));
		for (;;)
			pause();
	}
	t_true(t_poll(set, 0, GETVAL, 0));
	return pid;
}

static void no_op(int sig)
{
	(void)sig;
}

static void sleepers(int err)
{
	const struct timespec limit = {0, 600000000};
	pid_t held, taker, timed, signalled;

	set = t_set(1, VALS(1));
	held = holder();
	taker = t_fork();
	if (!taker) {
		deny_two(NR_FUTEX_WAITV, NR_FUTEX_WAITV, err);
		_exit(code_of(semop(set, OPS({0, -1, 0}))));
	}
	t_wait_blocked(set, 0, GETNCNT, 1);
	signalled = t_fork();
	if (!signalled) {
		struct sigaction sa = {
			.sa_handler = no_op, .sa_flags = SA_RESTART};

		sigaction(SIGUSR1, &sa, NULL);
		deny_two(NR_FUTEX_WAITV, NR_FUTEX_WAITV, err);
		_exit(code_of(semop(set, OPS({0, -3, 0}))));
	}
	t_wait_blocked(set, 0, GETNCNT, 2);
	/* Nobody waits for it to sleep: its time may be over before that is seen. */
	timed = t_fork();
	if (!timed) {
		deny_two(NR_FUTEX_WAITV, NR_FUTEX_WAITV, err);
		_exit(code_of(semtimedop(set, OPS({0, -2, 0}), &limit)));
	}
	half_a_second();
	t_eq(kill(signalled, SIGUSR1), 0);
	t_eq(t_join(signalled), EINTR);
	t_eq(t_join(timed), EAGAIN);
	t_eq(kill(held, SIGKILL), 0);
	t_eq(t_join(held), 1000 + SIGKILL);
	t_eq(t_join(taker), 0);
	t_rm(set);
}

static void queue(int err)
{
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
	mqd_t q = mq_open("/sem_old_kernel", O_RDWR | O_CREAT, 0600, &attr);
	struct timespec until;
	pid_t pid;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	pid = t_fork();
	if (!pid) {
		char text[8];

		deny_two(NR_FUTEX_WAITV, NR_FUTEX_WAITV, err);
		_exit(code_of((int)mq_timedreceive(
			q, text, sizeof(text), NULL, &until)));
	}
	t_eq(t_join(pid), ETIMEDOUT);
	pid = t_fork();
	if (!pid) {
		char text[8];

		deny_two(NR_FUTEX_WAITV, NR_FUTEX_WAITV, err);
		until.tv_sec += 10;
		_exit(code_of((int)mq_timedreceive(
			q, text, sizeof(text), NULL, &until)));
	}
	half_a_second();
	t_eq(mq_send(q, "x", 1, 0), 0);
	t_eq(t_join(pid), 0);
	mq_close(q);
	mq_unlink("/sem_old_kernel");
}

int main(void)
{
	t_begin();
	t_say("-- ENOSYS");
	sleepers(ENOSYS);
	queue(ENOSYS);
	t_say("-- EPERM");
	sleepers(EPERM);
	queue(EPERM);
	return t_end();
}
