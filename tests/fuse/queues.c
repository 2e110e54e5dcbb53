// SPDX-License-Identifier: MIT
/*
 * Some POSIX queues, as mqueue.sh wants to see them:
 *
 *	queues make		/a empty, /b with five bytes and a notification
 *				of each kind beside it, /c of user 65534
 *	queues unlink NAME	mq_unlink
 *	queues send NAME	a message of five bytes
 *
 * `make` prints its pid and waits for a line, so that the registrations stay.
 */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void on_message(union sigval v)
{
	(void)v;
}

static mqd_t made(const char *name, mode_t mode)
{
	mqd_t q = mq_open(name, O_RDWR | O_CREAT, mode, NULL);

	if (q == (mqd_t)-1)
		perror(name);
	return q;
}

static void register_for(const char *name, int how)
{
	struct sigevent ev = {.sigev_notify = how};

	if (how == SIGEV_SIGNAL)
		ev.sigev_signo = SIGRTMIN;
	if (how == SIGEV_THREAD)
		ev.sigev_notify_function = on_message;
	if (mq_notify(made(name, 0600), &ev))
		perror("mq_notify");
}

static int make_queues(void)
{
	mqd_t b;

	umask(0);
	made("/a", 0644);
	b = made("/b", 0600);
	if (mq_send(b, "hello", 5, 3) || mq_send(b, "", 0, 9))
		perror("mq_send");
	register_for("/b.none", SIGEV_NONE);
	register_for("/b.signal", SIGEV_SIGNAL);
	register_for("/b.thread", SIGEV_THREAD);
	if (setegid(65534) || seteuid(65534))
		perror("seteuid");
	made("/c", 0640);
	made("/c2", 0666);
	if (seteuid(0) || setegid(0))
		perror("seteuid");
	printf("%d\n", getpid());
	fflush(stdout);
	getchar();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "make"))
		return make_queues();
	if (argc == 3 && !strcmp(argv[1], "send"))
		return mq_send(mq_open(argv[2], O_WRONLY), "hello", 5, 1) != 0;
	if (argc == 3 && !strcmp(argv[1], "unlink"))
		return mq_unlink(argv[2]) != 0;
	return 2;
}
