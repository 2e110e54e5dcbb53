// SPDX-License-Identifier: MIT
/*
 * ipclift bridge: the command (doc/bridge.md). A process for each line; those
 * that are killed are started again.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/bridge/lines.h"
#include "tool/command.h"
#include "tool/registry.h"
#include "tool/view/metrics.h"

#define METRICS_EVERY 5
/* A process that was killed is started again after so many seconds. */
#define AGAIN_AFTER 1
/* Once the end is asked for; arbitrary. */
#define STOP_TICK_MS 10

/* ---- a line's process ---- */

volatile int link_stops;

static void tick_each(unsigned ms)
{
	const struct timeval t = {ms / 1000, (ms % 1000) * 1000};
	const struct itimerval every = {t, t};

	setitimer(ITIMER_REAL, &every, NULL);
}

void link_ticks(unsigned ms)
{
	tick_each(ms);
	/* It may have been set in between. */
	if (link_stops)
		tick_each(STOP_TICK_MS);
}

static void stop(int signo)
{
	(void)signo;
	link_stops = 1;
	tick_each(STOP_TICK_MS);
}

static void tick(int signo)
{
	(void)signo;
}

static void say(const struct link *l, const char *fmt, va_list args)
{
	char text[600];

	vsnprintf(text, sizeof(text), fmt, args);
	failure("%s: %s", l->name, text);
}

void link_says(const struct link *l, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(l, fmt, args);
	va_end(args);
}

enum outcome link_failed(const struct link *l, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(l, fmt, args);
	va_end(args);
	return FAILED;
}

enum outcome link_gone(const struct link *l)
{
	link_says(l, "the queue was removed%s",
		l->wait ? "; it is waited for" : "");
	return l->wait ? GONE : FAILED;
}

static __attribute__((noreturn)) void child(
	struct link *l, const sigset_t *ends, pid_t parent)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = tick};
	struct caller *c;
	int status;
	size_t i;

	close_range(3, ~0u, 0);
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_handler = stop;
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &sa, NULL);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, ends, NULL);
	c = registry_open(&status);
	/* Behind a change of user, which clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_OK);
	if (c)
		status = l->in ? link_in(l, c) : link_out(l, c);
	fflush(NULL);
	_exit(status);
}

/* ---- all of them ---- */

struct line {
	pid_t pid;    /* 0: it does not run */
	time_t again; /* when it is started again, 0: it is over */
};

static struct line *lines;
static int status;
static int stopping; /* signals that asked for the end */

static time_t seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void start(unsigned i, const sigset_t *ends)
{
	pid_t parent = getpid(), pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		child(&links[i], ends, parent);
	lines[i] = (struct line){0};
	if (pid > 0)
		lines[i].pid = pid;
	else
		lines[i].again = seconds() + AGAIN_AFTER;
}

static void ended(unsigned i, int how)
{
	lines[i] = (struct line){0};
	links[i].counters->connected = 0;
	links[i].counters->waits = WAITS_NOT;
	if (WIFEXITED(how) && WEXITSTATUS(how) != EXIT_AGAIN) {
		if (WEXITSTATUS(how))
			status = EXIT_FAILED;
		return;
	}
	lines[i].again = seconds() + AGAIN_AFTER;
	if (WIFSIGNALED(how))
		failure("%s: its process was ended by signal %d%s",
			links[i].name, WTERMSIG(how),
			stopping ? "" : "; it is started again");
}

static void reap(void)
{
	unsigned i;
	int how;
	pid_t pid;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0)
		for (i = 0; i < n_links; i++)
			if (lines[i].pid == pid)
				ended(i, how);
}

/* Start again what is due; 1 while there is anything. */
static int keep(const sigset_t *ends)
{
	unsigned i;
	int any = 0;

	for (i = 0; i < n_links; i++) {
		if (lines[i].again && stopping)
			lines[i].again = 0;
		else if (lines[i].again && lines[i].again <= seconds())
			start(i, ends);
		any |= lines[i].pid || lines[i].again;
	}
	return any;
}

static void signal_all(int signo)
{
	unsigned i;

	for (i = 0; i < n_links; i++)
		if (lines[i].pid)
			kill(lines[i].pid, signo);
}

/* ---- the command ---- */

static int make_counters(void)
{
	struct counters *all = mmap(NULL, n_links * sizeof(*all),
		PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned i;

	lines = calloc(n_links, sizeof(*lines));
	if (all == MAP_FAILED || !lines)
		return failure("out of memory");
	for (i = 0; i < n_links; i++)
		links[i].counters = &all[i];
	return 0;
}

static void write_metrics(void)
{
	struct text t = {0};

	report_metrics(NULL, &t);
	if (!t.failed)
		metrics_write(bridge_of.metrics, &t);
	text_deinit(&t);
}

/* Until all is over. The first signal asks them to end, the second does not
 * ask. */
static void watch(const sigset_t *ends, const sigset_t *all)
{
	const int shows = !bridge_of.quiet && isatty(2);
	const struct timespec second = {1, 0};
	time_t written = 0, shown = 0, t;
	int signo;

	while (keep(ends)) {
		signo = sigtimedwait(all, NULL, &second);
		if (signo > 0 && signo != SIGCHLD)
			signal_all(stopping++ ? SIGKILL : SIGTERM);
		reap();
		t = seconds();
		if (shows && t != shown)
			report_progress(0);
		shown = t;
		if (bridge_of.metrics && t - written >= METRICS_EVERY) {
			write_metrics();
			written = t;
		}
	}
	if (bridge_of.metrics)
		write_metrics();
	if (shows)
		report_progress(1);
}

static int bridge_main(int argc, char **argv)
{
	struct http *http = NULL;
	sigset_t ends, all;
	unsigned i;
	int err = lines_parse(argc, argv);

	if (!err && !registry_path())
		err = EXIT_USAGE;
	if (!err)
		err = make_counters();
	if (err)
		return err;
	/* Who reads what is told may go; the messages still come. */
	signal(SIGPIPE, SIG_IGN);
	http_ends(&ends);
	all = ends;
	sigaddset(&all, SIGCHLD);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (bridge_of.where) {
		http = http_start(bridge_of.where, report_metrics, NULL, &err);
		if (!http)
			return err;
	}
	for (i = 0; i < n_links; i++)
		start(i, &all);
	watch(&all, &all);
	if (http)
		http_stop(http);
	return status;
}

const struct command bridge_command = {
	.name = "bridge",
	.summary = "carry messages between queues and Redis Streams",
	.usage = "[OPTIONS] out|in msg ID|key:KEY STREAM\n"
		 "[OPTIONS] out|in mq NAME STREAM\n"
		 "[OPTIONS] --file FILE",
	.about =
		"out: what is sent to the queue is appended to a stream of "
		"Redis. in: what is\n"
		"in the stream is sent to the queue. Messages are delivered at "
		"least once:\n"
		"neither a bridge that is killed nor a Redis that is loses "
		"any; "
		"the doubled\n"
		"ones can be dropped (--dedup). Runs until SIGINT or SIGTERM.",
	.more = "FILE of --file has a line \"[OPTIONS] out|in KIND NAME "
		"STREAM\" for each\n"
		"bridge; options before --file hold for each line. The fields "
		"in the stream,\n"
		"what is done about errors, and what Redis keeps: "
		"doc/bridge.md.",
	.options = bridge_options,
	.is = COMMAND_ON_REGISTRY,
	.main = bridge_main,
};
