// SPDX-License-Identifier: MIT
/*
 * app_notified: one side of a notification between two users. `wait` makes a
 * queue, registers for a signal, says "ready", waits for it and prints what it
 * received and how many threads it had; `send` sends to the queue. `thread`
 * registers for a thread, says "ready" and waits to be killed; `unlink` removes
 * the queue's name.
 */
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int n_threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int n = 0;

	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

static int wait_for_it(mqd_t q)
{
	struct timespec limit = {20, 0};
	struct sigevent ev;
	siginfo_t info;
	sigset_t set;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_SIGNAL;
	ev.sigev_signo = SIGUSR1;
	ev.sigev_value.sival_int = 42;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (mq_notify(q, &ev)) {
		perror("mq_notify");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	if (sigtimedwait(&set, &info, &limit) != SIGUSR1) {
		perror("sigtimedwait");
		return 1;
	}
	printf("code %d from %d, value %d, threads %d\n", info.si_code,
		(int)info.si_uid, info.si_value.sival_int, n_threads());
	return 0;
}

static void nothing(union sigval value)
{
	(void)value;
}

static int wait_by_thread(mqd_t q)
{
	struct sigevent ev;

	memset(&ev, 0, sizeof(ev));
	ev.sigev_notify = SIGEV_THREAD;
	ev.sigev_notify_function = nothing;
	if (mq_notify(q, &ev)) {
		perror("mq_notify");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 32};
	int ret;
	mqd_t q;

	umask(0);
	q = mq_open("/notified", O_RDWR | O_CREAT, 0666, &attr);
	if (q < 0 || argc != 2) {
		perror("mq_open");
		return 1;
	}
	if (!strcmp(argv[1], "send")) {
		ret = mq_send(q, "hi", 2, 0);
		if (ret)
			perror("mq_send");
		return ret != 0;
	}
	if (!strcmp(argv[1], "thread"))
		return wait_by_thread(q);
	if (!strcmp(argv[1], "unlink")) {
		mq_close(q);
		return mq_unlink("/notified") != 0;
	}
	ret = wait_for_it(q);
	mq_unlink("/notified");
	return ret;
}
