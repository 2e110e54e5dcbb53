// SPDX-License-Identifier: MIT
/*
 * mq_random: random calls on message queues, and a line of text for each
 * result.
 *
 *	mq_random [--calls N] [--seed S] [--digest]
 *
 * Run on the kernel and under a shim it shows by `cmp` whether the shim is the
 * kernel (compare.sh --bin mq_random). A driver commands helpers by
 * pipes, one call at a time: H1 is root, H2 is root with nice 3, H3 is uid
 * 65534 (with an even seed, then without signals: else root too). A helper's
 * call may block: that it has is seen in /proc, and each call that may wake one
 * is followed by a wait for the answers of those that a model of the queue says
 * are woken. Descriptors are numbers of a small table in each process; the
 * driver forks nothing with open queues, so each has its own.
 */
#define _GNU_SOURCE
#include "../option.h"
#include "choice.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* No timeout is asked for on purpose. */
#pragma GCC diagnostic ignored "-Wnonnull"

#define N_HELPERS 3
#define N_NAMES 5
#define N_FDS 3
#define FIRST_FD 40
#define ANSWER_MS 10000

enum op {
	OPEN,
	CLOSE,
	UNLINK,
	SEND,
	RECEIVE,
	GETATTR,
	SETATTR,
	NOTIFY,
	POLL,
	STAT,
	DUP,
	READ,
	CHMOD,
	N_OPS
};

struct call {
	int op, fd, name, flags, arg, size, block;
	unsigned prio;
	long maxmsg, msgsize;
};

struct answer {
	long ret;
	int err;
	char text[200];
};

struct helper {
	pid_t pid;
	int to, from, uid, nice;
	bool busy;
	struct call call;
	/* what the driver knows of its descriptors: queue number or 0 */
};

static struct helper helper[N_HELPERS] = {
	{.uid = 0}, {.uid = 0, .nice = 3}, {.uid = 65534}};
static uint64_t hash = 14695981039346656037u;
static long n_calls = 200000, seed = 1, call_no;
static int digest;
static volatile sig_atomic_t n_usr1;

static void say(const char *text)
{
	if (!digest) {
		puts(text);
		return;
	}
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211u;
}

static _Noreturn void die(const char *what)
{
	fflush(stdout);
	fprintf(stderr, "mq_random: call %ld: %s: %s\n", call_no, what,
		strerror(errno));
	for (int i = 0; i < N_HELPERS; i++)
		if (helper[i].pid > 0)
			kill(helper[i].pid, SIGKILL);
	exit(2);
}

/* ---- in a helper ---- */

static void on_usr1(int sig)
{
	(void)sig;
	n_usr1++;
}

static const char *name_of(int n)
{
	static const char *const names[] = {"/a", "/bb", "/ccc", "/d d", "/e"};

	return names[n];
}

static long do_open(const struct call *c)
{
	struct mq_attr attr = {
		.mq_maxmsg = c->maxmsg, .mq_msgsize = c->msgsize};
	int fd = mq_open(
		name_of(c->name), c->flags, c->arg, c->maxmsg ? &attr : NULL);

	if (fd < 0 || fd == c->fd)
		return fd;
	/* to its number in the table, closing what was there */
	dup3(fd, c->fd, O_CLOEXEC);
	close(fd);
	return c->fd;
}

static void execute(const struct call *c, struct answer *a)
{
	static char buf[8192];
	struct timespec until = {1, 0};
	struct mq_attr attr;
	struct sigevent ev;
	struct pollfd p;
	struct stat st;
	unsigned prio = 0;
	char *at;

	memset(a, 0, sizeof(*a));
	memset(&ev, 0, sizeof(ev));
	errno = 0;
	switch (c->op) {
	case OPEN:
		a->ret = do_open(c);
		break;
	case CLOSE:
		a->ret = mq_close(c->fd);
		break;
	case UNLINK:
		a->ret = mq_unlink(name_of(c->name));
		break;
	case SEND:
		memset(buf, 'a' + c->arg % 26, sizeof(buf));
		a->ret = mq_timedsend(
			c->fd, buf, c->size, c->prio, c->block ? NULL : &until);
		break;
	case RECEIVE:
		memset(buf, 0, 1);
		a->ret = mq_timedreceive(
			c->fd, buf, c->size, &prio, c->block ? NULL : &until);
		if (a->ret >= 0)
			sprintf(a->text, "%c %u", a->ret ? buf[0] : '-', prio);
		break;
	case GETATTR:
		a->ret = mq_getattr(c->fd, &attr);
		if (!a->ret)
			sprintf(a->text, "%ld %ld %ld %ld", attr.mq_flags,
				attr.mq_maxmsg, attr.mq_msgsize,
				attr.mq_curmsgs);
		break;
	case SETATTR:
		attr.mq_flags = c->flags;
		a->ret = mq_setattr(c->fd, &attr, NULL);
		break;
	case NOTIFY:
		ev.sigev_notify = c->arg;
		ev.sigev_signo = SIGUSR1;
		a->ret = mq_notify(c->fd, c->flags ? &ev : NULL);
		break;
	case POLL:
		p = (struct pollfd){c->fd, POLLIN | POLLOUT, 0};
		a->ret = poll(&p, 1, 0);
		sprintf(a->text, "%x", p.revents);
		break;
	case STAT:
		a->ret = fstat(c->fd, &st);
		if (!a->ret)
			sprintf(a->text, "%o %u %ld %ld", st.st_mode, st.st_uid,
				(long)st.st_size, (long)st.st_nlink);
		break;
	case DUP:
		a->ret = dup3(c->fd, c->arg, O_CLOEXEC);
		break;
	case READ:
		a->ret = read(c->fd, a->text, 99);
		at = strstr(a->text, "NOTIFY_PID:");
		if (at)
			strcpy(at, atoi(at + 11) ? "yes" : "no");
		break;
	case CHMOD:
		a->ret = fchmod(c->fd, c->arg);
		break;
	}
	a->err = a->ret < 0 ? errno : 0;
	sprintf(a->text + strlen(a->text), " u%d", n_usr1);
}

static _Noreturn void helper_run(struct helper *h, int from, int to)
{
	struct call c;
	struct answer a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGUSR1, on_usr1);
	if (h->nice)
		nice(h->nice);
	if (h->uid &&
		(setgroups(0, NULL) || setresgid(h->uid, h->uid, h->uid) ||
			setresuid(h->uid, h->uid, h->uid)))
		_exit(3);
	while (read(from, &c, sizeof(c)) == sizeof(c)) {
		execute(&c, &a);
		if (write(to, &a, sizeof(a)) != sizeof(a))
			break;
	}
	_exit(0);
}

/* ---- the driver ---- */

static void start(struct helper *h)
{
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		die("pipe");
	h->busy = false;
	h->pid = fork();
	if (h->pid < 0)
		die("fork");
	if (!h->pid)
		helper_run(h, down[0], up[1]);
	close(down[0]);
	close(up[1]);
	h->to = down[1];
	h->from = up[0];
}

static char state_of(pid_t pid)
{
	char path[40], text[400], *end;
	FILE *f;
	size_t n;

	sprintf(path, "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

/* Its answer is there, or it sleeps and goes on sleeping: false. */
static bool answered(struct helper *h)
{
	struct pollfd p = {h->from, POLLIN, 0};
	struct timespec nap = {0, 50000};
	int asleep = 0;

	for (long i = 0; i < ANSWER_MS * 20; i++) {
		if (poll(&p, 1, 0) == 1)
			return true;
		/* An answer is written before the helper sleeps again. */
		asleep = state_of(h->pid) == 'S' ? asleep + 1 : 0;
		if (asleep >= 6)
			return poll(&p, 1, 0) == 1;
		nanosleep(&nap, NULL);
	}
	die("no answer");
}

static void print_answer(struct helper *h)
{
	char line[400];
	struct answer a;

	if (read(h->from, &a, sizeof(a)) != sizeof(a))
		die("answer");
	h->busy = false;
	snprintf(line, sizeof(line), "%ld H%d op %d fd %d = %ld %s %s", call_no,
		(int)(h - helper), h->call.op, h->call.fd, a.ret,
		a.err ? strerrorname_np(a.err) : "", a.text);
	say(line);
}

/* The caller's result, or that it sleeps; then those that it has woken tell
 * theirs, in the order of helpers. */
static void collect(int first)
{
	char line[80];

	for (int k = 0; k < N_HELPERS; k++) {
		int i = (first + k) % N_HELPERS;
		struct helper *h = &helper[i];

		if (h->busy && answered(h))
			print_answer(h);
		else if (h->busy) {
			snprintf(line, sizeof(line), "%ld H%d sleeps", call_no,
				i);
			say(line);
		}
	}
}

static void choose(struct call *c)
{
	static const unsigned char often[] = {OPEN, OPEN, OPEN, CLOSE, UNLINK,
		SEND, SEND, SEND, SEND, SEND, SEND, SEND, SEND, RECEIVE,
		RECEIVE, RECEIVE, RECEIVE, RECEIVE, RECEIVE, GETATTR, SETATTR,
		NOTIFY, NOTIFY, POLL, POLL, STAT, DUP, READ, CHMOD};
	static const int modes[] = {0600, 0644, 0666, 0, 0622, 0604};
	static const int sizes[] = {0, 1, 5, 16, 17, 64, 300, 600};

	memset(c, 0, sizeof(*c));
	c->op = often[pick(sizeof(often))];
	c->fd = FIRST_FD + pick(N_FDS);
	c->name = pick(N_NAMES);
	c->block = pick(8) == 0;
	switch (c->op) {
	case OPEN:
		c->flags = pick(3) | (pick(4) ? O_CREAT : 0) |
			   (pick(8) ? 0 : O_EXCL) | (pick(2) ? O_NONBLOCK : 0);
		if (!pick(40))
			c->flags |= 3;
		c->arg = modes[pick(6)];
		if (pick(10)) {
			c->maxmsg = pick(30) ? 1 + pick(4) : (long)pick(14) - 1;
			c->msgsize = pick(30) ? sizes[3 + pick(5)]
					      : (long)pick(9000) - 5;
			if (!c->maxmsg)
				c->maxmsg = -1;
		}
		break;
	case SEND:
		c->size = sizes[pick(pick(3) ? 4 : 8)];
		c->prio = pick(3) ? pick(4) : pick(33000);
		c->arg = (int)(call_no % 26);
		break;
	case RECEIVE:
		c->size = pick(12) ? 8192 : sizes[pick(8)];
		break;
	case SETATTR:
		c->flags = pick(2) ? O_NONBLOCK : pick(6) ? 0 : 1;
		break;
	case NOTIFY:
		c->flags = pick(4) != 0;
		/* The shim cannot signal a process of another user. */
		c->arg = pick(12) ? (seed % 2 ? pick(2) : SIGEV_NONE) : 7;
		break;
	case DUP:
		c->arg = FIRST_FD + pick(N_FDS);
		break;
	case CHMOD:
		c->arg = modes[pick(6)];
		break;
	}
}

static void step(void)
{
	struct helper *h = &helper[pick(N_HELPERS)];
	struct call c;
	char line[80];

	choose(&c);
	if (h->busy) {
		/* Asleep: interrupt it, kill it, or leave it. */
		uint32_t what = pick(10);

		if (what < 3) {
			kill(h->pid, SIGUSR1);
		} else if (what == 3) {
			kill(h->pid, SIGKILL);
			waitpid(h->pid, NULL, 0);
			close(h->to);
			close(h->from);
			start(h);
			snprintf(line, sizeof(line), "%ld H%d killed", call_no,
				(int)(h - helper));
			say(line);
		}
		collect((int)(h - helper));
		return;
	}
	h->call = c;
	h->busy = true;
	if (write(h->to, &c, sizeof(c)) != sizeof(c))
		die("write");
	collect((int)(h - helper));
	if (digest && call_no % 1000 == 0)
		printf("%ld %016lx\n", call_no, (unsigned long)hash);
}

int main(int argc, char **argv)
{
	static const struct option_of options[] = {
		{"calls", .number = &n_calls},
		{"seed", .number = &seed},
		{"digest", .flag = &digest},
		{0},
	};

	options_only(argc, argv, options);
	choice_seed(seed);
	/* The registry is made by root before a helper is somebody else. */
	mq_unlink("/first");
	if (seed % 2)
		helper[2].uid = 0;
	for (int i = 0; i < N_HELPERS; i++)
		start(&helper[i]);
	for (call_no = 1; call_no <= n_calls; call_no++)
		step();
	for (int i = 0; i < N_HELPERS; i++)
		kill(helper[i].pid, SIGKILL);
	for (int i = 0; i < N_NAMES; i++)
		mq_unlink(name_of(i));
	return 0;
}
