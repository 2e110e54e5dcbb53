// SPDX-License-Identifier: MIT
/*
 * app_streams VERB: libc's own streams on a queue's descriptor. What they
 * say goes to descriptor 9.
 *
 *   make      the queue "/streams" is made, with a message
 *   ready     what poll says of it, and a message passes through
 *   copied    the queue is copied onto standard output, and taken from there
 *   by-line   the same on a stream that is flushed at each line
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOLD 9

static void say(const char *what, long ret)
{
	int err = errno;
	char line[200];
	int n = snprintf(line, sizeof(line), "%s %ld %s\n", what, ret,
		ret < 0 ? strerror(err) : "");

	if (write(TOLD, line, (size_t)n) != n)
		_exit(99);
	errno = 0;
}

static void ready(mqd_t q)
{
	struct pollfd p = {q, POLLIN | POLLOUT, 0};

	say("poll", poll(&p, 1, 0));
	say("revents", p.revents);
}

static int make(void)
{
	struct mq_attr a = {.mq_maxmsg = 2, .mq_msgsize = 64};
	mqd_t q = mq_open("/streams", O_CREAT | O_RDWR, 0600, &a);

	return q < 0;
}

static int pass(void)
{
	mqd_t q = mq_open("/streams", O_RDWR | O_NONBLOCK);
	char text[64];

	ready(q);
	say("send", mq_send(q, "one", 3, 0));
	ready(q);
	say("send", mq_send(q, "two", 3, 0));
	ready(q);
	say("receive", mq_receive(q, text, sizeof(text), NULL));
	say("receive", mq_receive(q, text, sizeof(text), NULL));
	ready(q);
	say("receive", mq_receive(q, text, sizeof(text), NULL));
	return 0;
}

/* Somebody polls, or nobody has yet. */
static int copied(int polled, int by_line)
{
	mqd_t q = mq_open("/streams", O_RDWR);
	int saved = dup(1);

	if (by_line)
		setvbuf(stdout, NULL, _IOLBF, 0);
	if (polled)
		ready(q);
	printf("before\n");
	say("flush", fflush(stdout));
	say("dup2", dup2(q, 1));
	printf("lost\n");
	say("flush", fflush(stdout));
	say("error", !!ferror(stdout));
	clearerr(stdout);
	ready(q);
	say("dup2", dup2(saved, 1));
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "make"))
		return make();
	if (!strcmp(verb, "ready"))
		return pass();
	return copied(argc > 2, !strcmp(verb, "by-line"));
}
