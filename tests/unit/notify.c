// SPDX-License-Identifier: MIT
/*
 * mq_notify in a registry that somebody else may write: what stands there does
 * not make who sends a message send signals.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "mq/mqpending.h"
#include "mq/mqregistration.h"
#include "mq/mqueue.h"
#include "object/sidefile.h"
#include "unit.h"

TestSuite(notify, .init = unit_init, .fini = unit_fini, .timeout = 60);

/* A process on the registry that does nothing; its task. */
static pid_t bystander(u32 *ret_task)
{
	int done[2];
	pid_t pid;

	cr_assert_eq(pipe(done), 0);
	pid = fork();
	if (!pid) {
		unit_forked();
		if (caller_enroll(&me) ||
			write(done[1], &me.task, sizeof(me.task)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	cr_assert_eq(
		read(done[0], ret_task, sizeof(*ret_task)), sizeof(*ret_task));
	close(done[0]);
	close(done[1]);
	return pid;
}

/* Somebody writes another process, and SIGKILL, into a registration; a message
 * comes. Which signal ended that process, if SIGTERM came after it. */
static int redirected(mode_t mode)
{
	const struct mq_event ev = {.signo = SIGUSR1};
	const struct mq_limits_attr attr = {5, 64};
	struct mq_desc d;
	struct mqueue *q;
	int fd, status;
	pid_t pid;
	u32 task;

	/* Of the registry's file unit.c has removed the name. */
	fd = open(me.region.path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	fchmod(fd, mode);
	close(fd);
	pid = bystander(&task);
	cr_assert_geq(mqueue_open(&me, "n", 1, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &attr, &d),
		0);
	cr_assert_eq(mq_set_notify(&me, &d, &ev), 0);
	q = mq_body(&me, d.s);
	q->notify.task = task;
	q->notify.pid = (u32)pid;
	q->notify.start = region_task(&me.region, task)->start;
	q->notify.image = region_task(&me.region, task)->epoch;
	q->notify.signo = SIGKILL;
	cr_assert_eq(mqueue_send(&me, &d, "x", 1, 0, NULL), 0);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	mqueue_unlink(&me, "n", 1);
	close(d.fd);
	mq_closed(&me, &d);
	unlink(me.region.path);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

Test(notify, of_a_registry_of_ones_own_the_sender_sends_the_signal)
{
	cr_expect_eq(redirected(0600), SIGKILL);
}

Test(notify, of_one_that_others_may_write_it_sends_none)
{
	cr_expect_eq(redirected(0660), SIGTERM);
	cr_expect_eq(redirected(0606), SIGTERM);
}

/* Whose directory the FIFOs are in can have put a link there: to something that
 * is opened by who asks whether a queue is used. */
Test(notify, no_link_is_followed_to_a_fifo)
{
	const u64 token[2] = {0x123, 0x456};
	char path[sidefile_path_size(&me)], fifo[80];

	cr_assert_eq(sidefile_make_dir(&me), 0);
	sidefile_path(&me, token, path);
	snprintf(fifo, sizeof(fifo), "/dev/shm/unit-%d.fifo", getpid());
	cr_assert_eq(mkfifo(fifo, 0600), 0);
	cr_assert_eq(rename(fifo, path), 0);
	cr_expect_eq(mq_fifo_unused(&me, token), 1, "itself");
	cr_assert_eq(rename(path, fifo), 0);
	cr_assert_eq(symlink(fifo, path), 0);
	cr_expect_eq(mq_fifo_unused(&me, token), 0, "by a link");
	unlink(fifo);
	sidefile_unlink(&me, token);
	*strrchr(path, '/') = 0;
	rmdir(path);
}

/* What came of a registration of our own for SIGUSR1 with a value of 7 that
 * somebody changed by `damage`. */
static siginfo_t told(mode_t mode, void (*damage)(struct mq_notify *n))
{
	const struct mq_event ev = {.signo = SIGUSR1, .value = 7};
	const struct mq_limits_attr attr = {5, 64};
	const struct timespec none = {0, 0};
	siginfo_t info = {0};
	struct mq_desc d;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = open(me.region.path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	fchmod(fd, mode);
	close(fd);
	cr_assert_geq(mqueue_open(&me, "n", 1, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &attr, &d),
		0);
	cr_assert_eq(mq_set_notify(&me, &d, &ev), 0);
	damage(&((struct mqueue *)mq_body(&me, d.s))->notify);
	cr_assert_eq(mqueue_send(&me, &d, "x", 1, 0, NULL), 0);
	if (sigtimedwait(&set, &info, &none) < 0)
		info.si_signo = 0;
	mqueue_unlink(&me, "n", 1);
	close(d.fd);
	mq_closed(&me, &d);
	unlink(me.region.path);
	return info;
}

static void nothing(struct mq_notify *n)
{
	(void)n;
}

static void other_value(struct mq_notify *n)
{
	n->value = 0xdeadbeef;
	n->signo = SIGUSR2;
}

/* As if it were one that was told long ago. */
static void other_stamp(struct mq_notify *n)
{
	n->stamp--;
}

Test(notify, what_a_process_is_told_is_what_it_has_asked_for)
{
	const mode_t modes[] = {0600, 0660, 0606};
	siginfo_t info;
	size_t i;

	for (i = 0; i < 3; i++) {
		info = told(modes[i], nothing);
		cr_expect_eq(info.si_signo, SIGUSR1);
		cr_expect_eq(info.si_value.sival_int, 7);
		info = told(modes[i], other_value);
		cr_expect_eq(info.si_signo, SIGUSR1);
		cr_expect_eq(info.si_value.sival_int, 7);
	}
	cr_expect_eq(told(0660, other_stamp).si_signo, 0);
}

/* A registration that was taken back is forgotten, too, and the oldest of more
 * than there is space for. */
Test(notify, what_is_over_is_not_remembered)
{
	struct mq_notify n = {.how = SIGEV_SIGNAL, .signo = SIGUSR1, .pid = 7};
	struct mq_notify got;
	u64 i;

	for (i = 1; i <= MQREGISTRATION_MOST + 3; i++) {
		n.stamp = i;
		n.value = 2 * i;
		mqregistration_put(&n);
	}
	for (i = 1; i <= 3; i++)
		cr_expect_eq(mqregistration_take(7, i, &got), 0);
	cr_expect_eq(mqregistration_take(8, 4, &got), 0, "of another process");
	for (i = 4; i <= MQREGISTRATION_MOST + 3; i++) {
		cr_expect_eq(mqregistration_take(7, i, &got), 1);
		cr_expect_eq(got.value, 2 * i);
		cr_expect_eq(mqregistration_take(7, i, &got), 0, "once");
	}
}

/* A signal handler sends that has interrupted pthread_mutex_lock of a robust
 * mutex: what is pending is that mutex's. The list that the kernel walks when
 * the thread dies is the same afterwards. */
Test(notify, a_sender_in_a_handler_leaves_the_robust_list_whole)
{
	const struct mq_event ev = {
		.how = SIGEV_THREAD, .by_socket = 1, .sock = -1};
	const struct mq_limits_attr attr = {5, 64};
	static u32 mutex[16];
	struct mq_desc d;
	void *node, *first;
	u32 n;

	cr_assert_geq(mqueue_open(&me, "n", 1, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &attr, &d),
		0);
	cr_assert_eq(mq_set_notify(&me, &d, &ev), 0);
	first = me.robust->next;
	me.robust->pending = (char *)&mutex[8] - me.robust->futex_offset;
	cr_expect_eq(mqueue_send(&me, &d, "x", 1, 0, NULL), 0);
	me.robust->pending = NULL;
	node = me.robust->next;
	cr_expect_eq(node, first);
	for (n = 0; n < 100 && node != (void *)me.robust; n++)
		node = *(void **)node;
	cr_expect_lt(n, 100);
	mqueue_unlink(&me, "n", 1);
	close(d.fd);
	mq_closed(&me, &d);
}

/* ---- what is delivered by the registrant's notification thread ---- */

static const struct mq_event by_thread = {
	.signo = SIGUSR1, .value = 7, .notify_thread = 1};

/* A queue in a registry that others may write, registered. */
static struct mq_desc registered(const char *name)
{
	const struct mq_limits_attr attr = {5, 64};
	struct mq_desc d;
	int fd = open(me.region.path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	fchmod(fd, 0606);
	close(fd);
	cr_assert_geq(mqueue_open(&me, name, 1, MQ_O_RDWR | MQ_O_CREAT, 0600,
			      &attr, &d),
		0);
	cr_assert_eq(mq_set_notify(&me, &d, &by_thread), 0);
	return d;
}

static void forget(const char *name, struct mq_desc *d)
{
	mqueue_unlink(&me, name, 1);
	close(d->fd);
	mq_closed(&me, d);
	unlink(me.region.path);
}

static u32 next_pending(struct mq_pending *ret)
{
	return mqpending_next(&me.region, me.task, me.pid,
		region_task(&me.region, me.task)->start, ret);
}

/* As entry/notify_thread.c: how many signals are sent. */
static u32 deliver_all(void)
{
	struct mq_pending m;
	struct mq_notify n;
	u32 k, sent = 0;

	while ((k = next_pending(&m))) {
		mqpending_begin(&me.region, k);
		sent += (u32)mqregistration_tell(me.pid, m.stamp, &n);
		mqpending_done(&me.region, k);
	}
	return sent;
}

/* Another process sends; or is killed before its commit. */
static pid_t sender(struct mq_desc *d, int killed)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	unit_forked();
	if (killed) {
		mq_lock(&me, d);
		mq_notify_fire(&me, mq_body(&me, d->s));
		kill(getpid(), SIGKILL);
	}
	_exit(mqueue_send(&me, d, "x", 1, 0, NULL) != 0);
}

static int armed(struct mq_desc *d)
{
	return mq_body(&me, d->s)->notify.state == MQ_NOTIFY_ARMED;
}

/* Until there is one to be delivered. */
static u32 wait_pending(struct mq_pending *ret)
{
	u32 k, i;

	for (i = 0; !(k = next_pending(ret)) && i < 5000; i++)
		usleep(1000);
	return k;
}

Test(notify, of_a_killed_senders_notification_the_next_message_is_told)
{
	struct mq_desc d = registered("n");
	struct mq_pending m;
	int status;
	pid_t pid;

	waitpid(sender(&d, 1), &status, 0);
	cr_assert(WIFSIGNALED(status));
	cr_expect_eq(deliver_all(), 1, "too early");
	cr_assert_eq(mq_lock(&me, &d), 0);
	lock_release(&me, &d.s->lock);
	cr_expect(armed(&d), "rolled back");
	pid = sender(&d, 0);
	cr_expect_neq(wait_pending(&m), 0);
	cr_expect_eq(deliver_all(), 1);
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0);
	cr_expect(!armed(&d));
	forget("n", &d);
}

/* The signal of one queue is sent, and handled: that another queue has a message
 * by then is a signal of its own. */
Test(notify, a_signal_that_is_being_delivered_stands_for_no_other)
{
	struct mq_desc d = registered("n"), e = registered("o");
	struct mq_pending m;
	struct mq_notify n;
	int status;
	pid_t first, second;
	u32 k;

	first = sender(&d, 0);
	k = wait_pending(&m);
	cr_assert_neq(k, 0);
	mqpending_begin(&me.region, k);
	cr_expect_eq(mqregistration_tell(me.pid, m.stamp, &n), 1);
	second = sender(&e, 0);
	waitpid(second, &status, 0);
	cr_expect_eq(status, 0);
	cr_expect(!armed(&e));
	mqpending_done(&me.region, k);
	waitpid(first, &status, 0);
	cr_expect_eq(status, 0);
	cr_expect_eq(deliver_all(), 1);
	forget("n", &d);
	forget("o", &e);
}
