// SPDX-License-Identifier: MIT
/*
 * app_streams VERB: libc's own streams on a queue's descriptor. What they
 * say goes to descriptor 9.
 *
 *   make      the queue "/streams" is made, with a message
 *   ready     what poll says of it, and a message passes through
 *   copied    the queue is copied onto standard output, and taken from there
 *   by-line   the same on a stream that is flushed at each line
 *   input     the queue, inherited as standard input, is read by stdin
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

static int input(void)
{
	char line[100] = "", buf[64];
	int n = 0;

	say("number", fileno(stdin));
	say("first", getchar());
	say("back", ungetc('q', stdin));
	say(fgets(line, sizeof(line), stdin) ? line : "none", 0);
	say("at its end", getchar());
	say("eof", !!feof(stdin));
	rewind(stdin);
	say("eof", !!feof(stdin));
	say("scanned", scanf("QSIZE:%d", &n));
	say("bytes", n);
	say("at", ftell(stdin));
	say("seek", fseek(stdin, 10, SEEK_SET));
	say("read", (long)fread(buf, 1, sizeof(buf), stdin));
	buf[6] = 0;
	say(buf + 1, 0);
	say("error", !!ferror(stdin));
	say("close", fclose(stdin));
	say("closed", read(0, buf, 1));
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "make"))
		return make();
	if (!strcmp(verb, "ready"))
		return pass();
	if (!strcmp(verb, "input"))
		return input();
	return copied(argc > 2, !strcmp(verb, "by-line"));
}
