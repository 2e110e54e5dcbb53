// SPDX-License-Identifier: MIT
/*
 * app_streams VERB: libc's own streams on a queue's descriptor. What they
 * say goes to descriptor 9.
 *
 *   make      the queue "/streams" is made, with a message
 *   ready     what poll says of it, and a message passes through
 *   in        standard input is read to its end
 *   wide      and wide characters from it
 *   out       standard output is written, flushed and closed
 *   err       so is standard error
 *   free      the three are closed, and queues opened that get their numbers
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
#include <wchar.h>

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

static int in(void)
{
	char line[100];
	int c;

	c = getchar();
	say("first", c);
	say("pushed back", ungetc(c, stdin));
	say("line", fgets(line, sizeof(line), stdin) ? (long)strlen(line) : -1);
	say("end", getchar() == EOF && feof(stdin) && !ferror(stdin));
	say("again", fseek(stdin, 0, SEEK_SET));
	say("word", scanf("%9s", line));
	say("is", strcmp(line, "QSIZE:0"));
	return 0;
}

static int wide(void)
{
	say("wide", getwchar() != 0);
	return 0;
}

static int written(FILE *f)
{
	int ret = fputs("text\n", f);

	say("fputs", ret < 0 ? ret : 0);
	say("flush", fflush(f));
	say("error", !!ferror(f));
	clearerr(f);
	ret = fprintf(f, "%20000d\n", 7);
	say("long", ret < 0 ? ret : 0);
	say("flush", fflush(f));
	say("error", !!ferror(f));
	say("close", fclose(f));
	return 0;
}

static int free_numbers(void)
{
	mqd_t q[3];
	int i;

	for (i = 0; i < 3; i++)
		close(i);
	for (i = 0; i < 3; i++)
		q[i] = mq_open("/streams", O_RDWR | O_NONBLOCK);
	say("numbers", q[0] * 100 + q[1] * 10 + q[2]);
	ready(q[1]);
	printf("for nobody\n");
	say("flush", fflush(stdout));
	fprintf(stderr, "nor this\n");
	say("error", !!ferror(stderr));
	ready(q[1]);
	say("read", getchar());
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
	if (!strcmp(verb, "in"))
		return in();
	if (!strcmp(verb, "wide"))
		return wide();
	if (!strcmp(verb, "out"))
		return written(stdout);
	if (!strcmp(verb, "err"))
		return written(stderr);
	if (!strcmp(verb, "free"))
		return free_numbers();
	return copied(argc > 2, !strcmp(verb, "by-line"));
}
