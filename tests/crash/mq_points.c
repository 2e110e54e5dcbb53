// SPDX-License-Identifier: MIT
/*
 * mq_points: each operation of POSIX queues stopped for good at each of its
 * stores to shared memory, and the survivors go on.
 *
 *	mq_points [-q] [--leases] [NAME...]	-q: fewer runs with two deaths
 *
 * Run under a shim that was built with -DIPCLIFT_CRASH and exports crash_arm
 * (queue_points.sh makes one): crash_arm(n) kills the process at its n-th store
 * from there. For every operation and n = 1, 2, ... until it is not reached: a
 * queue is prepared, a victim does the operation and dies. Then once more, with
 * a second one behind it that uses the queue, and so repairs it, and dies at
 * its m-th store.
 *
 * The queue must then be as before the operation or as after it: every message
 * given out once and whole, in order. A sleeper that was let through must be
 * awake without anybody's help, and so must a poller be, who may be woken for
 * nothing; a notification that was due has come; a name is there or not; of
 * what is gone no FIFO is left.
 *
 * With --leases (IPCLIFT_LEASE=mq) what a victim had received is there again in
 * its place; queues are never biased then, so those scenarios are left out.
 */
#define _GNU_SOURCE
#include "../preload/raw.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern void crash_arm(long n) __attribute__((weak));

#define NAME "/points"
#define OTHER "/points-other"
#define POINTS_MAX 2000
#define HELD_MAX 400
#define AWAKE_MS 60
#define EXTRA 3
/* More calls in a row than it takes for a lock to be biased. */
#define CALLS_ALONE 200

enum op {
	RECEIVE,
	SEND,
	HAND_OVER,
	ARM,
	DISARM,
	FIRE,
	CREATE,
	OPEN,
	UNLINK,
	CLOSE_LAST,
};
enum cast { NOBODY, RECEIVER, SENDER };
enum biased { NOT_BIASED, TO_VICTIM, TO_ANOTHER };

static const struct scenario {
	const char *name;
	enum op op;
	int n, size, msgsize; /* messages prepared, their length, mq_msgsize */
	int length, prio;     /* of the message sent, by op or sleeper */
	int spread;	      /* priorities 1 + i * spread % 32000 */
	enum cast who;
	enum biased biased;
	int polled;
} scenarios[] = {
	{"receive one of many", RECEIVE, 20, 60, 64, 0, 0, 0, 0, 0},
	{"receive the only one", RECEIVE, 1, 60, 64, 0, 0, 7, 0, 0},
	{"receive, a level runs dry", RECEIVE, 20, 60, 64, 0, 0, 7, 0, 0},
	{"receive, a leaf runs dry", RECEIVE, 20, 60, 64, 0, 0, 4801, 0, 0},
	{"receive a large one", RECEIVE, 3, 3000, 8192, 0, 0, 7, 0, 0},
	{"receive one that is given back", RECEIVE, 2, 70000, 131072, 0, 0, 7,
		0, 0},
	{"receive, a sender waits", RECEIVE, 5, 60, 64, 50, 0, 7, SENDER, 0},
	{"receive, a large sender", RECEIVE, 3, 3000, 8192, 2500, 0, 7, SENDER,
		0},
	{"receive, a sender of all", RECEIVE, 1, 60, 64, 50, 0, 7, SENDER, 0},
	{"send the first", SEND, 0, 0, 64, 60, 9, 0, 0, 0},
	{"send behind others", SEND, 20, 60, 64, 60, 1, 0, 0, 0},
	{"send above others", SEND, 20, 60, 64, 60, 32000, 7, 0, 0},
	{"send below others", SEND, 20, 60, 64, 60, 0, 7, 0, 0},
	{"send between others", SEND, 20, 60, 64, 60, 5, 7, 0, 0},
	{"send to a new leaf", SEND, 5, 60, 64, 60, 20000, 4801, 0, 0},
	{"send into a new chunk", SEND, 256, 8, 64, 60, 1, 0, 0, 0},
	{"send, small in large", SEND, 2, 3000, 8192, 60, 5, 7, 0, 0},
	{"send a large one", SEND, 2, 3000, 8192, 5000, 5, 7, 0, 0},
	{"send one that is given back", SEND, 2, 3000, 131072, 70000, 5, 7, 0,
		0},
	{"hand over one that is given back", HAND_OVER, 0, 0, 131072, 70000, 7,
		0, RECEIVER, 0},
	{"hand over", HAND_OVER, 0, 0, 64, 60, 7, 0, RECEIVER, 0},
	{"hand over a large one", HAND_OVER, 0, 0, 8192, 5000, 7, 0, RECEIVER,
		0},
	{"biased: send", SEND, 3, 60, 64, 60, 5, 7, 0, TO_VICTIM},
	{"biased: send a large one", SEND, 2, 3000, 8192, 5000, 5, 7, 0,
		TO_VICTIM},
	{"biased: receive", RECEIVE, 3, 60, 64, 0, 0, 7, 0, TO_VICTIM},
	{"biased: receive a large one", RECEIVE, 3, 3000, 8192, 0, 0, 7, 0,
		TO_VICTIM},
	{"biased to another: send", SEND, 3, 60, 64, 60, 5, 7, 0, TO_ANOTHER},
	{"biased to another: receive", RECEIVE, 3, 60, 64, 0, 0, 7, 0,
		TO_ANOTHER},
	{"polled: send the first", SEND, 0, 0, 64, 60, 9, 0, 0, 0, 1},
	{"polled: send the second", SEND, 1, 60, 64, 60, 9, 0, 0, 0, 1},
	{"polled: receive the only one", RECEIVE, 1, 60, 64, 0, 0, 7, 0, 0, 1},
	{"mq_notify", ARM, 1, 60, 64, 0, 0, 0, 0, 0},
	{"mq_notify, taken back", DISARM, 1, 60, 64, 0, 0, 0, 0, 0},
	{"send, notifying", FIRE, 0, 0, 64, 60, 5, 0, 0, 0},
	{"mq_open, creating", CREATE, 0, 0, 64, 0, 0, 0, 0, 0},
	{"mq_open", OPEN, 2, 60, 64, 0, 0, 7, 0, 0},
	{"mq_unlink", UNLINK, 20, 60, 64, 0, 0, 4801, 0, 0},
	{"mq_unlink, large ones", UNLINK, 4, 3000, 8192, 0, 0, 7, 0, 0},
	{"mq_close of the last", CLOSE_LAST, 20, 60, 64, 0, 0, 4801, 0, 0},
};
#define N_SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static const struct scenario *now;
static long point, second; /* where the victim and the repairer die */
static int failures, quick, leases;
static mqd_t q;
static pid_t sleeper, bias_owner;
static char buf[131072];

/* A message as it is told from others. */
struct seen {
	int prio, len, text;
};
struct list {
	int n;
	struct seen at[HELD_MAX];
};

static void bad(const char *what, long a, long b)
{
	failures++;
	printf("WRONG %s, point %ld.%ld: %s (%ld, %ld; %s)\n", now->name, point,
		second, what, a, b, strerror(errno));
}

static void need(int good, const char *what)
{
	if (good)
		return;
	bad(what, 0, 0);
	exit(1);
}

/* ---- what a queue holds ---- */

static int send_to(mqd_t to, int prio, int len, int text)
{
	memset(buf, text, (size_t)len);
	return mq_send(to, buf, (size_t)len, (unsigned)prio);
}

static int receive_from(mqd_t from, struct seen *ret)
{
	const struct timespec past = {0, 0};
	unsigned prio = 0;
	ssize_t len = mq_timedreceive(from, buf, sizeof(buf), &prio, &past);

	if (len < 0)
		return 0;
	*ret = (struct seen){(int)prio, (int)len, len ? buf[0] : 0};
	for (ssize_t i = 1; i < len; i++)
		if (buf[i] != buf[0])
			bad("torn", i, len);
	return 1;
}

static void insert(struct list *l, int prio, int len, int text)
{
	int i = l->n++;

	for (; i > 0 && l->at[i - 1].prio < prio; i--)
		l->at[i] = l->at[i - 1];
	l->at[i] = (struct seen){prio, len, text};
}

static void take(struct list *l)
{
	memmove(l->at, l->at + 1, (size_t)--l->n * sizeof(l->at[0]));
}

static int same(const struct list *a, const struct list *b)
{
	return a->n == b->n &&
	       !memcmp(a->at, b->at, (size_t)a->n * sizeof(a->at[0]));
}

static void drain(mqd_t from, struct list *ret)
{
	ret->n = 0;
	while (ret->n < HELD_MAX && receive_from(from, &ret->at[ret->n]))
		ret->n++;
}

/* ---- the scene ---- */

static mqd_t make(const char *name, int oflag)
{
	struct mq_attr attr = {
		.mq_maxmsg = now->who == SENDER ? now->n : HELD_MAX,
		.mq_msgsize = now->msgsize};

	return mq_open(name, O_RDWR | O_CREAT | oflag, 0600, &attr);
}

static void prepare(struct list *before)
{
	int i, prio, text;

	before->n = 0;
	q = make(NAME, O_EXCL);
	need(q >= 0, "mq_open");
	for (i = 0; i < now->n; i++) {
		prio = 1 + i * now->spread % 32000;
		text = 'a' + i % 26;
		need(!send_to(q, prio, now->size, text), "setup");
		insert(before, prio, now->size, text);
	}
}

static int asleep_in_futex(pid_t pid)
{
	char path[40], text[80] = "";
	FILE *f;
	int nr;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	nr = atoi(text);
	return nr == 202 || nr == 449;
}

static pid_t start(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return 0;
}

/* Exits with the first byte of what it received, or 1 for a message sent. */
static void sleeper_start(void)
{
	int seen = 0;

	sleeper = start();
	if (!sleeper) {
		alarm(10);
		if (now->who == SENDER)
			_exit(send_to(q, now->prio, now->length, 'w') ? 99 : 1);
		if (mq_receive(q, buf, sizeof(buf), NULL) != now->length)
			_exit(99);
		for (int i = 1; i < now->length; i++)
			if (buf[i] != buf[0])
				_exit(98);
		_exit(buf[0]);
	}
	while (seen < 3) {
		siginfo_t info = {0};

		waitid(P_PID, (id_t)sleeper, &info,
			WEXITED | WNOHANG | WNOWAIT);
		if (info.si_pid) {
			bad("the sleeper ended", info.si_code, info.si_status);
			return;
		}
		seen = asleep_in_futex(sleeper) ? seen + 1 : 0;
		usleep(100);
	}
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Its exit status, or -1 if it goes on sleeping for so many ms. How long one
 * that was woken waits for a CPU does not count; its alarm ends what runs on. */
static int sleeper_wait(int ms)
{
	long slept = 0, last = now_ms(), now;
	int status;

	for (; sleeper && slept <= ms; last = now) {
		if (waitpid(sleeper, &status, WNOHANG) == sleeper) {
			sleeper = 0;
			return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
		}
		usleep(200);
		now = now_ms();
		if (asleep_in_futex(sleeper))
			slept += now - last;
	}
	return -1;
}

/* Use the queue so long alone that its lock is biased. */
static void become_sole_user(void)
{
	struct seen seen;

	for (int i = 0; i < CALLS_ALONE; i++) {
		send_to(q, 32767, 8, 'x');
		receive_from(q, &seen);
	}
}

static void bias_owner_start(void)
{
	int ready[2];
	char byte;

	need(!pipe(ready), "pipe");
	bias_owner = start();
	if (!bias_owner) {
		become_sole_user();
		need(write(ready[1], "r", 1) == 1, "pipe");
		for (;;)
			pause();
	}
	need(read(ready[0], &byte, 1) == 1, "pipe");
	close(ready[0]);
	close(ready[1]);
}

static int notify(mqd_t of, int on)
{
	struct sigevent ev = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};

	return mq_notify(of, on ? &ev : NULL);
}

/* Not by name, so that nobody brings it in step: as one who sleeps in poll. */
static int polled(void)
{
	struct pollfd p = {q, POLLIN | POLLOUT, 0};
	struct timespec none = {0, 0};
	long ret = raw(SYS_ppoll, (long)&p, 1, (long)&none, 0);

	return ret < 0 ? 0 : p.revents;
}

static int signal_came(void)
{
	const struct timespec none = {0, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &none) == SIGUSR1;
}

/* ---- victims ---- */

/* 0 or 1: the operation failed. */
static int operate(void)
{
	struct mq_attr attr;
	struct seen seen;

	/* Records that a first call makes are not the subject. */
	mq_getattr(q, &attr);
	if (now->biased == TO_VICTIM)
		become_sole_user();
	if (now->op == DISARM)
		notify(q, 1);
	crash_arm(point);
	switch (now->op) {
	case RECEIVE:
		return !receive_from(q, &seen);
	case SEND:
	case HAND_OVER:
	case FIRE:
		return send_to(q, now->prio, now->length, 'S') != 0;
	case ARM:
		return notify(q, 1) != 0;
	case DISARM:
		return notify(q, 0) != 0;
	case CREATE:
		return make(OTHER, O_EXCL) < 0;
	case OPEN:
		return mq_open(NAME, O_RDWR) < 0;
	case UNLINK:
		return mq_unlink(NAME) != 0;
	default:
		return mq_close(q) != 0;
	}
}

/* 1 if the victim died at its point. */
static int victim_run(void)
{
	pid_t pid = start();
	int status, failed;

	if (!pid) {
		alarm(10);
		failed = operate();
		crash_arm(0);
		_exit(failed);
	}
	if (now->op == CLOSE_LAST) {
		mq_close(q);
		q = -1;
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status))
		bad("the operation failed", status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		bad("the operation hangs", status, 0);
	return WIFSIGNALED(status);
}

/* Somebody who goes on, and dies as well; 1 if it did at its point. */
static int repairer_run(void)
{
	struct mq_attr attr;
	pid_t pid = start();
	int status;

	if (!pid) {
		alarm(10);
		crash_arm(second);
		if (now->op == CREATE)
			mq_unlink(OTHER);
		else if (now->op == UNLINK || now->op == CLOSE_LAST)
			mq_unlink("/points-none");
		else
			mq_getattr(q, &attr);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		bad("the repairer hangs", status, 0);
	return WIFSIGNALED(status);
}

/* ---- verdicts ---- */

static int fifos(void)
{
	char path[300];
	struct dirent *e;
	int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s.mq", getenv("IPCLIFT_REGISTRY"));
	dir = opendir(path);
	while (dir && (e = readdir(dir)))
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/* Before or after; died: either will do. 1 if it was after. */
static int judge_contents(const struct list *before, const struct list *after,
	const struct list *got, int died)
{
	if (same(got, after))
		return 1;
	if (!died || !same(got, before))
		bad("contents", got->n, before->n);
	return 0;
}

static void judge_transfer(const struct list *before, int died)
{
	struct list after = *before, got, sooner = *before;
	int awake = -1, happened, left;
	/* Before anybody has touched the queue. */
	int told = now->op == FIRE && signal_came();
	int ready = now->polled ? polled() : 0;
	const int is_back = leases && died && now->op == RECEIVE;

	if (now->op == RECEIVE && !is_back)
		take(&after);
	if (now->op == SEND || now->op == FIRE)
		insert(&after, now->prio, now->length, 'S');
	if (now->who == SENDER) {
		awake = sleeper_wait(AWAKE_MS);
		insert(&after, now->prio, now->length, 'w');
		insert(&sooner, now->prio, now->length, 'w');
	} else if (now->op != FIRE) {
		/* What is free must not be in use as well. */
		for (int i = 0; i < EXTRA; i++) {
			if (send_to(q, 0, 8, '0' + i))
				bad("no room", errno, i);
			insert(&after, 0, 8, '0' + i);
			insert(&sooner, 0, 8, '0' + i);
		}
	}
	drain(q, &got);
	happened = judge_contents(&sooner, &after, &got, died);
	if (now->who == SENDER) {
		/* One that is back does not tell whether it had been taken. */
		if (happened && !is_back && awake != 1)
			bad("the sender was not woken", awake, 0);
		if (awake < 0 && sleeper_wait(1000) != 1)
			bad("the sender", 0, 0);
	}
	left = before->n + (happened ? now->op == SEND ? 1 : -1 : 0);
	/* Who polls already is not told of one that comes back. */
	if (now->polled && !is_back &&
		(!(ready & POLLOUT) || (left && !(ready & POLLIN))))
		bad("a sleeping poller is not woken", ready, left);
	if (now->op != FIRE)
		return;
	/* Once too often, if it died before the message was in. */
	if (happened && !told)
		bad("notification", happened, 0);
	if (signal_came())
		bad("told when it was used", happened, told);
	if (notify(q, 1) == 0 && !happened)
		bad("registration lost", 0, 0);
	notify(q, 0);
}

static void judge_hand_over(int died)
{
	int got = sleeper_wait(AWAKE_MS);
	struct list rest;

	if (got < 0 && died) {
		send_to(q, 1, now->length, 'Z');
		got = sleeper_wait(1000);
		drain(q, &rest);
		/* Woken by what was sent next though it had been handed the
		 * other: then it was not woken in time. */
		if (got != 'Z' || rest.n)
			bad("the receiver", got, rest.n);
		return;
	}
	drain(q, &rest);
	if (got != 'S' || rest.n)
		bad("the receiver", got, rest.n);
}

static void judge_notify(const struct list *before, int died)
{
	struct list got;
	int err;

	(void)died;
	/* Whose process is gone is not registered. */
	err = notify(q, 1);
	if (err || notify(q, 0))
		bad("mq_notify", err, errno);
	drain(q, &got);
	judge_contents(before, before, &got, 0);
}

static void judge_create(int died)
{
	mqd_t other = mq_open(OTHER, O_RDWR);

	if (other < 0 && !died)
		bad("not created", errno, 0);
	if (other < 0)
		other = make(OTHER, O_EXCL);
	if (other < 0 || send_to(other, 3, 5, 'q'))
		bad("of no use", errno, 0);
	mq_close(other);
	if (mq_unlink(OTHER))
		bad("mq_unlink", errno, 0);
}

static void judge_name(const struct list *before, int died)
{
	mqd_t again = mq_open(NAME, O_RDWR);
	struct list got;

	if (again >= 0 && now->op == UNLINK && !died)
		bad("not unlinked", 0, 0);
	if (again < 0 && now->op != UNLINK)
		bad("the name is gone", errno, 0);
	drain(q, &got);
	judge_contents(before, before, &got, 0);
	if (again >= 0)
		mq_close(again);
}

static void clean_up(void)
{
	struct seen seen;
	mqd_t other;

	if (bias_owner)
		kill(bias_owner, SIGKILL), waitpid(bias_owner, NULL, 0);
	bias_owner = 0;
	if (q >= 0) {
		if (send_to(q, 3, 8, 'q') || !receive_from(q, &seen) ||
			seen.len != 8 || seen.text != 'q')
			bad("of no use", errno, 0);
		mq_close(q);
		mq_unlink(NAME);
	}
	/* What is left of dead users is freed by those who come. */
	other = make(OTHER, O_EXCL);
	mq_close(other);
	mq_unlink(OTHER);
	if (fifos())
		bad("FIFOs left", fifos(), 0);
}

/* One run. 1 if the victim came to its point; *ret_second: and the repairer. */
static int run(int *ret_second)
{
	struct list before;
	int died;

	prepare(&before);
	if (now->op == CLOSE_LAST)
		mq_unlink(NAME);
	if (now->op == FIRE)
		notify(q, 1);
	if (now->polled)
		/* By number: that it is over is not seen, so the queue is kept
		 * in step from now on, as for one who sleeps there. */
		syscall(SYS_poll, &(struct pollfd){q, POLLIN | POLLOUT, 0}, 1,
			0);
	if (now->who != NOBODY)
		sleeper_start();
	if (now->biased == TO_ANOTHER)
		bias_owner_start();
	died = victim_run();
	*ret_second = died && second ? repairer_run() : 0;
	switch (now->op) {
	case HAND_OVER:
		judge_hand_over(died);
		break;
	case ARM:
	case DISARM:
		judge_notify(&before, died);
		break;
	case CREATE:
		judge_create(died);
		break;
	case OPEN:
	case UNLINK:
		judge_name(&before, died);
		break;
	case CLOSE_LAST:
		break;
	default:
		judge_transfer(&before, died);
	}
	clean_up();
	return died;
}

static void all_points(void)
{
	long runs = 0, step = quick ? 7 : 1;
	int again;

	for (point = 1; point < POINTS_MAX; point++) {
		second = 0;
		runs++;
		if (!run(&again))
			break;
		/* A sleeper's run takes longest. */
		if (quick && now->who != NOBODY)
			continue;
		for (second = quick ? 1 + point % 7 : 1; second < POINTS_MAX;
			second += step) {
			runs++;
			run(&again);
			if (!again)
				break;
		}
	}
	printf("%-32s %4ld points, %ld runs\n", now->name, point - 1, runs);
}

static int wanted(int argc, char **argv)
{
	int i, named = 0;

	for (i = 1; i < argc; i++) {
		named |= argv[i][0] != '-';
		if (!strcmp(argv[i], now->name))
			return 1;
	}
	return !named;
}

int main(int argc, char **argv)
{
	sigset_t set;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int k = 1; k < argc; k++) {
		quick |= !strcmp(argv[k], "-q");
		leases |= !strcmp(argv[k], "--leases");
	}
	if (!crash_arm) {
		fprintf(stderr, "mq_points: not under a shim with crash_arm\n");
		return 77;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < N_SCENARIOS; i++) {
		now = &scenarios[i];
		if (wanted(argc, argv) && !(leases && now->biased))
			all_points();
	}
	printf("%d wrong\n", failures);
	return failures != 0;
}
